// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be set while the pool runs: the policy's own parameters and the
 * mover's and committer's, in one list of keys and values.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "settings.h"

static const struct hy_setting {
	const char *key;
	size_t offset;
	u32 initial;
	u32 min;
	u32 max;
} hy_setting[] = {
#define S(name, initial, min, max) \
	{ #name, offsetof(struct hy_settings, name), initial, min, max }
	S(period_ms, 2000, 10, 3600000),
	S(candidates, 16384, 16, 1 << 24),
	S(cooldown_ms, 10000, 0, 3600000),
	S(migrate_kbps, 131072, 0, U32_MAX),
	S(migrate_share, 50, 0, 100),
	S(movers, 2, 1, HY_MAX_MOVERS),
	S(low_free, 5, 0, 50),
	S(commit_ms, 1000, 1, 3600000),
	S(cache_extents, 0, 0, 65536),
	S(degrade_errors, 1, 1, 1000000),
	S(fail_requests, 16, 1, 1000000),
	S(fail_flushes, 8, 1, 1000),
	S(tell_ms, 30000, 0, 3600000),
#undef S
};

static u32 *setting(struct hy_settings *set, const struct hy_setting *s)
{
	return (void *)set + s->offset;
}

void hy_settings_init(struct hy_settings *set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++)
		*setting(set, &hy_setting[i]) = hy_setting[i].initial;
	set->pins.nr = 0;
}

/**
 * hy_settings_set - change one of the mover's or committer's settings
 * @set: they
 * @key: name
 * @value: decimal number
 * @reason: set on failure
 *
 * Return: 0, -ENOENT: no such key, -EINVAL: not a number or out of range.
 */
int hy_settings_set(struct hy_settings *set, const char *key, const char *value,
		    const char **reason)
{
	unsigned int i;
	u32 v;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++) {
		const struct hy_setting *s = &hy_setting[i];

		if (strcmp(key, s->key))
			continue;
		if (kstrtou32(value, 10, &v) || v < s->min || v > s->max) {
			*reason = "value is no number or out of range";
			return -EINVAL;
		}
		WRITE_ONCE(*setting(set, s), v);
		return 0;
	}
	*reason = "unknown policy argument";
	return -ENOENT;
}

/**
 * hy_movers - how many copies off a member may be under way
 * @set: the settings
 * @inflight: requests of users in flight at the member that gives
 *
 * As many as movers says, or as make up migrate_share of what waits there: in a long queue each
 * copy waits behind all the users, and a few copies would be a small part of what is served.
 *
 * Return: at most HY_MAX_MOVERS.
 */
unsigned int hy_movers(const struct hy_settings *set, s64 inflight)
{
	u32 share = READ_ONCE(set->migrate_share);
	u64 n;

	share = share ? min(share, 99u) : 99;
	n = clamp_t(s64, inflight, 0, HY_MAX_MOVERS * 100) * share;
	return clamp_t(u64, div_u64(n, 100 - share), READ_ONCE(set->movers), HY_MAX_MOVERS);
}

/**
 * hy_idle_movers - how many copies may be under way while no user's request is
 * @set: the settings
 * @extent_sectors: sectors of an extent
 *
 * A migration is announced to all writes before it is copied (epoch.c), which takes some ticks of
 * the clock however small the extent is: two small ones at a time would leave the members idle for
 * most of it. Who comes meanwhile waits for HY_IDLE_SECTORS at most.
 *
 * Return: at most HY_MAX_MOVERS.
 */
unsigned int hy_idle_movers(const struct hy_settings *set, u32 extent_sectors)
{
	return clamp_t(u32, HY_IDLE_SECTORS / extent_sectors, READ_ONCE(set->movers),
		       HY_MAX_MOVERS);
}

/**
 * hy_copy_part - how much of the time of a copy is charged to one of its members
 * @ns: that the copy took, reading and writing
 * @mine: the member's mean response time; 0: not known
 * @other: the other member's
 *
 * A copy waits in both queues as users' requests do.  Charged half, a fast member would have to pay
 * for the time that copies spend in the queue of a slow one, and the slow one would get rid of
 * nothing.  The slow one pays half all the same: it is to get rid of them.
 *
 * Return: ns, half at most.
 */
u64 hy_copy_part(u64 ns, u64 mine, u64 other)
{
	mine = min_t(u64, mine, BIT_ULL(30));
	other = min_t(u64, other, BIT_ULL(30));
	ns = min_t(u64, ns, BIT_ULL(33));
	if (!mine || mine >= other)
		return ns / 2;
	return div64_u64(ns * mine, mine + other);
}

/* What differs from the defaults, as snprintf(). */
int hy_settings_emit(const struct hy_settings *set, char *buf, size_t len)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++) {
		const struct hy_setting *s = &hy_setting[i];
		u32 v = *setting((struct hy_settings *)set, s);

		if (v != s->initial)
			n += snprintf(n < len ? buf + n : NULL, n < len ? len - n : 0, "%s%s %u",
				      n ? " " : "", s->key, v);
	}
	if (set->pins.nr) {
		n += snprintf(n < len ? buf + n : NULL, n < len ? len - n : 0, "%spin ",
			      n ? " " : "");
		n += hy_pins_emit(&set->pins, n < len ? buf + n : NULL, n < len ? len - n : 0);
	}
	return n;
}

/**
 * hy_policy_set_any - change a parameter of the policy, else a setting
 * @policy: asked first
 * @set: asked next
 * @key: name
 * @value: its new value
 * @reason: set on failure
 *
 * Context: the caller's policy lock.
 * Return: as hy_settings_set().
 */
int hy_policy_set_any(struct hy_policy *policy, struct hy_settings *set, const char *key,
		      const char *value, const char **reason)
{
	int r = hy_policy_set(policy, key, value, reason);
	struct hy_settings defaults;

	if (r == -ENOENT && !strcmp(key, "pin"))
		return hy_pins_set(&set->pins, value, policy->nr, reason);
	if (r == -ENOENT)
		return hy_settings_set(set, key, value, reason);
	/* Every preset's period is the paper's. */
	if (!r && !strcasecmp(key, "preset")) {
		hy_settings_init(&defaults);
		set->period_ms = defaults.period_ms;
	}
	return r;
}

/**
 * hy_policy_parse - make a policy and settings from their text
 * @text: "<name> <#args> {<key> <value>}*", as in the table line
 * @nr: members
 * @policy: set on success
 * @set: filled, defaults where nothing is said
 * @reason: set to a static text on failure
 *
 * Context: sleeps.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int hy_policy_parse(const char *text, unsigned int nr, struct hy_policy **policy,
		    struct hy_settings *set, const char **reason)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	char *rest = copy, *name, *key, *value;
	struct hy_policy *p;
	int r;

	*reason = "out of memory";
	if (!copy)
		return -ENOMEM;
	hy_settings_init(set);
	name = strsep(&rest, " ");
	r = hy_policy_create(name, nr, &p);
	if (r) {
		if (r == -ENOENT)
			*reason = "unknown policy";
		goto out;
	}
	strsep(&rest, " ");	/* how many follow: known to be right */
	while (!r && (key = strsep(&rest, " "))) {
		value = strsep(&rest, " ");
		*reason = "policy argument without a value";
		r = value ? hy_policy_set_any(p, set, key, value, reason) : -EINVAL;
	}
	if (r)
		hy_policy_destroy(p);
	else
		*policy = p;
out:
	kfree(copy);
	return r == -ENOENT ? -EINVAL : r;
}

/**
 * hy_policy_format - policy and settings as in the table line
 * @policy: it
 * @set: they
 * @args: room of EK_POLICY_TEXT_SIZE bytes
 * @buf: filled, NUL terminated
 * @len: its size
 *
 * Context: the caller's policy lock.
 * Return: 0, -ENOSPC if it did not fit.
 */
int hy_policy_format(const struct hy_policy *policy, const struct hy_settings *set,
		     char *args, char *buf, size_t len)
{
	unsigned int words = 0;
	int n, m;
	char *p;

	n = hy_policy_emit(policy, args, EK_POLICY_TEXT_SIZE - 2);
	if (n >= EK_POLICY_TEXT_SIZE - 2)
		n = 0;
	args[n] = '\0';
	if (n)
		args[n++] = ' ';
	m = hy_settings_emit(set, args + n, EK_POLICY_TEXT_SIZE - n);
	if (!m && n)
		args[n - 1] = '\0';
	for (p = args; *p; p++)
		words += *p == ' ';
	words += *args ? 1 : 0;
	n = snprintf(buf, len, "%s %u%s%s", policy->ops->name, words, *args ? " " : "", args);
	return n < len ? 0 : -ENOSPC;
}
