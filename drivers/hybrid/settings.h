/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be set while a pool runs, from its text and back.  Pure; the caller
 * serialises.
 */
#ifndef _HYBRID_SETTINGS_H
#define _HYBRID_SETTINGS_H

#include <linux/types.h>
#include "policy.h"
#include "policy_pin.h"

#define HY_MAX_MOVERS	64
#define HY_IDLE_SECTORS	2048	/* 1 MiB */

/*
 * struct hy_settings - what the mover and the committer can be told
 * See settings.c for names, defaults and ranges.
 */
struct hy_settings {
	u32 period_ms;
	u32 candidates;
	u32 cooldown_ms;
	u32 migrate_kbps;
	u32 migrate_share;
	u32 movers;
	u32 low_free;
	u32 commit_ms;
	u32 cache_extents;
	u32 degrade_errors;
	u32 fail_requests;
	u32 fail_flushes;
	u32 tell_ms;
	struct hy_pins pins;
};

void hy_settings_init(struct hy_settings *set);
int hy_settings_set(struct hy_settings *set, const char *key, const char *value,
		    const char **reason);
int hy_settings_emit(const struct hy_settings *set, char *buf, size_t len);

/* How much of the time of a copy a member is charged with, by mean response times. */
u64 hy_copy_part(u64 ns, u64 mine, u64 other);

/* How many copies may be under way off a member with so many requests of users in flight. */
unsigned int hy_movers(const struct hy_settings *set, s64 inflight);
unsigned int hy_idle_movers(const struct hy_settings *set, u32 extent_sectors);

/* As hy_settings_set(), the policy's own keys first. */
int hy_policy_set_any(struct hy_policy *policy, struct hy_settings *set, const char *key,
		      const char *value, const char **reason);
/* "<name> <#args> {<key> <value>}*" into a new policy and settings, and back. */
int hy_policy_parse(const char *text, unsigned int nr, struct hy_policy **policy,
		    struct hy_settings *set, const char **reason);
int hy_policy_format(const struct hy_policy *policy, const struct hy_settings *set,
		     char *args, char *buf, size_t len);

#endif
