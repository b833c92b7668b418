/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies decide, they never act: they see a snapshot and return placements,
 * targets and tokens.  No I/O, no metadata, no floating point, no clock: pure,
 * also built in userspace by tests/unit and tests/sim.
 *
 * Shares and targets are in parts per million of the requests.
 *
 * Locking: the caller serialises all calls on one policy (hy_pool.policy_lock, a
 * spinlock), so nothing here sleeps or allocates but create and destroy.
 */
#ifndef _HYBRID_POLICY_H
#define _HYBRID_POLICY_H

#include <linux/types.h>
#include <linux/math64.h>
#include <evenkeel/hybrid_format.h>
#include <evenkeel/rtmon.h>
#include "counts.h"

#define HY_PPM		1000000u
#define HY_FIRST_PROBES	7	/* of a member, to know what it takes when idle */

/* Why an extent that might have migrated did not. */
enum hy_reason {
	HY_NOT_COOLDOWN,	/* moved a short while ago */
	HY_NOT_BUSY,		/* all movers are at work, or it is moving already */
	HY_NOT_NOSPACE,		/* no free extent where it should go */
	HY_NOT_RATE,		/* the rate limit */
	HY_NOT_FOREGROUND,	/* it would be in the users' way */
	HY_NOT_CANDIDATE,	/* tokens, but nothing hot on the giver */
	HY_NOT_UNMAPPED,	/* nothing there, or somewhere else by now */
	HY_NOT_RACED,		/* discarded while it was copied */
	HY_NOT_MEMBER,		/* source or destination can't be used */
	HY_NOT_ERROR,		/* the copy failed */
	HY_NOT_BALANCED,	/* nowhere is it better by enough */
	HY_NOT_TOKEN,		/* the tokens are used up */
	HY_NOT_COST,		/* the copy would cost more than it gains */
	HY_NOT_SIZE,		/* it is accessed in requests larger than an extent */
	HY_NOT_PINNED,		/* it is held where it is */
	HY_NOT_SHARE,		/* it has a larger part of the load than is to move */
	HY_REASONS
};

/**
 * struct hy_access - an access to an extent
 * @le: logical extent
 * @offset: where in it the access begins, sectors
 * @weight: how many it stands for: of a CPU that has too many only the last are known.  Who looks
 *	at the proportion of an extent's own accesses has no need of it
 * @member: where the extent is
 * @write: or a read
 * @large: part of a request larger than an extent
 * @pinned: it is held where it is, or is brought where it is to be, by somebody else
 * @ahead: no access yet: a piece of a large request that will come by itself and doesn't show
 *	what it is a piece of
 */
struct hy_access {
	u64 le;
	u32 offset;
	u32 weight;
	u8 member;
	bool write;
	bool large;
	bool pinned;
	bool ahead;
};

/**
 * hy_access_weight - for how many accesses one stands, of those of which only some are known
 * @i: which of those that are known
 * @known: how many are, at least one
 * @all: how many there were, at least @known
 *
 * Return: as alike as integers can be; the sum of all is @all.
 */
static inline u32 hy_access_weight(u32 i, u32 known, u32 all)
{
	return div_u64((u64)(i + 1) * all, known) - div_u64((u64)i * all, known);
}

/**
 * struct hy_dev_snap - what a policy sees of a member
 * @usable: may new extents go there (state active)
 * @requests: foreground requests that completed in the period
 * @reads: of them reads
 * @share: of all requests that came in, in ppm; Q_i of equation (1), hy_measure_shares()
 * @mean_ns: mean response time over both directions in the period, 0: no requests
 * @read_ns: as @mean_ns, reads only
 * @write_ns: writes only
 * @ewma_ns: exponential average over both directions, 0: none yet
 * @occupancy_ns: integral of requests in flight
 * @background_ns: device time taken by migration
 * @probes: small reads while it had nothing to do, made to see how long they take
 * @probe_ns: mean of that
 * @probe_mid_ns: median of the last HY_FIRST_PROBES, once there were so many
 * @quiet: what users saw while no migration was at the member
 * @extents: physical extents
 * @free: of them free
 * @memory: is it used directly, around the block layer?
 */
struct hy_dev_snap {
	bool usable;
	bool memory;
	u64 requests;
	u64 reads;
	u32 share;
	u64 mean_ns;
	u64 read_ns;
	u64 write_ns;
	u64 ewma_ns;
	u64 occupancy_ns;
	u64 background_ns;
	u32 probes;
	u64 probe_ns;
	u64 probe_mid_ns;
	struct ek_rt_quiet quiet;
	u32 extents;
	u32 free;
};

/**
 * struct hy_snapshot - what a policy sees
 * @now_ns: when it was taken
 * @period_ns: the period's length
 * @cooldown_ns: an extent that moved less than this ago stays
 * @logical_extents: of the volume
 * @extent_sectors: an extent's size
 * @first: requests in which the extents that were new in the period are written, all of each
 * @nr: members
 * @dev: they
 */
struct hy_snapshot {
	u64 now_ns;
	u64 period_ns;
	u64 cooldown_ns;
	u64 logical_extents;
	u64 first;
	u32 extent_sectors;
	unsigned int nr;
	struct hy_dev_snap dev[EK_MAX_MEMBERS];
};

/**
 * struct hy_decision - what it wants until the next period
 * @target: P_i in ppm, sums to HY_PPM
 * @receive: tokens: extents that a member should take in
 * @give: tokens: extents that should leave it; sums to what @receive sums to
 * @token_ppm: 0: an extent is a token; otherwise a token is this share of the requests and
 *	a migrated extent uses as many as its own share amounts to
 * @largest: with @token_ppm: a giver's extent with up to so large a share may go even if there are
 *	fewer tokens, ppm
 * @probe: a bit for each member whose idle response time is wanted
 * @probe_now: at once, whether there is a load or not, and the period ends when there are
 *	HY_FIRST_PROBES of each
 * @rest: part of the period, at its end, in which no copy begins, so that what users see without
 *	copies can be measured; ppm
 *
 * Consumed by allocation first (hy_policy_place()), the rest by migration from
 * givers to receivers; nothing rolls over.  A policy may place by its targets and leave them all
 * to migration.
 */
struct hy_decision {
	u32 target[EK_MAX_MEMBERS];
	u32 receive[EK_MAX_MEMBERS];
	u32 give[EK_MAX_MEMBERS];
	u32 token_ppm;
	u32 largest[EK_MAX_MEMBERS];
	u32 probe;
	bool probe_now;
	u32 rest;
};

/**
 * struct hy_range - logical extents that are to move together
 * @first: the first of them
 * @nr: how many
 * @from: those at this member; -1: at any
 * @to: where they go; -1: where a new extent would
 */
struct hy_range {
	u64 first;
	u64 nr;
	int from;
	int to;
};

/**
 * struct hy_moved - what became of a range
 * @there: extents that had nowhere to go or are on their way: at @to, or not at @from
 * @moved: of them on their way
 * @left: those that could not be moved
 * @ns: how long it took
 */
struct hy_moved {
	u64 there;
	u64 moved;
	u64 left;
	u64 ns;
};

/**
 * struct hy_verdict - what is to become of an extent
 * @to: it would go there; -1: it stays
 * @why: it stays
 */
struct hy_verdict {
	int to;
	enum hy_reason why;
};

#define HY_COUNTS_MIN	8	/* that hy_policy_ops.counts must have room for */

struct hy_policy;

/**
 * struct hy_policy_ops - a policy
 * @name: as in the table line
 * @size: of its private part
 * @init: set defaults for policy->nr members
 * @set: change a parameter; *reason set to a static text on error.
 *	-ENOENT: not a key of this policy; -EINVAL: bad value
 * @emit: "key value ..." of what differs from the defaults, snprintf-like
 * @period: a period has ended; NULL: nothing to decide
 * @go_on: a part of what the end of a period began, a short one; true: there is more.  The lock is
 *	let go of between parts.  NULL: periods end at once
 * @place: member for logical extent @le among those with @snap->dev[].usable and
 *	free space; -1 when there is none.  @tokens are what is left of the decision
 *	and are taken from here
 * @accessed: an extent was accessed at a member, one of those that were sampled; NULL: no need
 *	to know
 * @next: the last range has been gone through: which is next?  false: none.  NULL: this policy
 *	moves by tokens
 * @alone: nothing moves but what @next names, and nothing at all without it: no tokens, and what is
 *	cold may not leave a member that fills up
 * @fills: it brings extents to a member as long as there is a place, however hot these are: no room
 *	is made there beside users
 * @moved: a range has been gone through
 * @show: what it has in hand, lines, snprintf-like: some from *@cursor on, which is 0 at first and
 *	moved on, to U64_MAX at the end; NULL: nothing to show
 * @explain: of an extent at a member, " key value ..." of what is known, snprintf-like, and why
 *	it stays there, or where it would go; NULL: it moves by tokens
 * @counts: what is counted of extents: fills at most @max from *@cursor on, which is moved on, to
 *	U64_MAX at the end; @max is at least HY_COUNTS_MIN.  NULL: nothing is
 * @under: a policy that this one is made of; hy_policy_under() is its state
 */
struct hy_policy_ops {
	const char *name;
	size_t size;
	void (*init)(struct hy_policy *policy);
	int (*set)(struct hy_policy *policy, const char *key, const char *value,
		   const char **reason);
	int (*emit)(const struct hy_policy *policy, char *buf, size_t len);
	void (*period)(struct hy_policy *policy, const struct hy_snapshot *snap,
		       struct hy_decision *decision);
	bool (*go_on)(struct hy_policy *policy, const struct hy_snapshot *snap);
	int (*place)(struct hy_policy *policy, const struct hy_snapshot *snap,
		     struct hy_decision *tokens, u64 le);
	void (*accessed)(struct hy_policy *policy, const struct hy_access *access);
	bool (*next)(struct hy_policy *policy, const struct hy_snapshot *snap,
		     struct hy_range *range);
	void (*moved)(struct hy_policy *policy, const struct hy_range *range,
		      const struct hy_moved *moved);
	bool alone;
	bool fills;
	int (*show)(const struct hy_policy *policy, u64 *cursor, char *buf, size_t len);
	int (*explain)(const struct hy_policy *policy, const struct hy_snapshot *snap, u64 le,
		       unsigned int member, struct hy_verdict *verdict, char *buf, size_t len);
	unsigned int (*counts)(const struct hy_policy *policy, u64 *cursor,
			       struct hy_count *count, unsigned int max);
	const struct hy_policy_ops *under;
};

/**
 * struct hy_policy - a policy at work
 * @ops: which
 * @nr: members
 * @priv: its own
 * @under: what it is made of, or NULL
 * @stays: why it let extents stay, counted since the caller took it from here
 */
struct hy_policy {
	const struct hy_policy_ops *ops;
	unsigned int nr;
	void *priv;
	struct hy_policy *under;
	u32 stays[HY_REASONS];
};

/**
 * hy_policy_create - make a policy
 * @name: one of those in policy.c
 * @nr: members, 1 to EK_MAX_MEMBERS
 * @policy: set on success
 *
 * Context: sleeps (GFP_KERNEL).
 * Return: 0; -ENOENT: no such policy; -ENOMEM.
 */
int hy_policy_create(const char *name, unsigned int nr, struct hy_policy **policy);
void hy_policy_destroy(struct hy_policy *policy);

int hy_policy_set(struct hy_policy *policy, const char *key, const char *value,
		  const char **reason);
/* As snprintf(): may return more than @len. */
int hy_policy_emit(const struct hy_policy *policy, char *buf, size_t len);
/* How many words hy_policy_emit() gives. */
unsigned int hy_policy_nr_args(const struct hy_policy *policy);

/* @decision gets the targets and tokens; a policy without a period gives its fixed targets. */
void hy_policy_period(struct hy_policy *policy, const struct hy_snapshot *snap,
		      struct hy_decision *decision);
bool hy_policy_go_on(struct hy_policy *policy, const struct hy_snapshot *snap);
int hy_policy_place(struct hy_policy *policy, const struct hy_snapshot *snap,
		    struct hy_decision *tokens, u64 le);

#endif
