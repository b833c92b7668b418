/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What policy_concentrate.c and policy_window.c share: the sub-LUNs and what is known of them.
 */
#ifndef _HYBRID_POLICY_CONCENTRATE_H
#define _HYBRID_POLICY_CONCENTRATE_H

#include <linux/bits.h>
#include <linux/types.h>
#include "policy_predict.h"
#include "policy_util.h"

#define GROUPS	8192u	/* sub-LUNs at most: on a larger volume they are larger */
#define STEP	512u	/* of them looked at before the lock is let go of */

enum { SUBLUN, WINDOW_MS, SHARE, SIZE, EVICT, NR_PARAMS };

#define HOT	BIT(0)	/* in this window's concentration */
#define WAS	BIT(1)	/* in that of the window before */
#define WANTED	BIT(2)	/* belongs on the fast member */
#define RAISED	BIT(3)	/* has been gathered in this window */
#define LOWERED	BIT(4)	/* has been sent away in this window */
#define SHORT	BIT(5)	/* when it was gathered last, some of it had to stay */
#define AGAIN	BIT(6)	/* its concentration is not the first one there */
#define KEPT	BIT(7)	/* WANTED as another one is expected */
#define NONE	BIT(8)	/* it was, and did not come when expected */

#define FORGOTTEN	255u	/* windows after a concentration */

/**
 * struct group - a sub-LUN
 * @now: accesses in this window
 * @last: in the last one
 * @here: extents known to be on the fast member
 * @rate: requests in the last window that it was HOT in
 * @age: windows that its concentration has gone on, 0: none
 * @pause: of them since it was last HOT
 * @since: windows since the last one ended, 0: there is none that is remembered
 * @flags: these
 */
struct group {
	u32 now;
	u32 last;
	u32 here;
	u32 rate;
	u16 age;
	u8 pause;
	u8 since;
	u16 flags;
};

/**
 * struct order - groups, the first of which can be had at once: a heap
 * @nr: how many
 * @at: they
 */
struct order {
	u32 nr;
	u16 at[GROUPS];
};

enum stage { AT_REST, COUNT, BISECT, TALLY, TALLY_HALF, MARK, AGE, WANT, PLAN, QUEUE };

/**
 * struct window_end - how far the end of a window is
 * @stage: what is done with all groups one after the other
 * @at: the group whose turn it is
 * @share: accesses that a concentration has more than
 * @low: the count from which on groups have those is in between
 * @high: these
 * @least: groups with as many accesses are tallied
 * @nr: how many those are
 * @sum: accesses to them
 * @hot: what has as many accesses is concentrated
 * @whole: and so is what has half as many
 * @need: extents that wait to come up
 * @waiting: the least accesses of one that waits and has any; 0: there is none
 * @known: extents known to be on the fast member
 */
struct window_end {
	enum stage stage;
	u32 at;
	u64 share;
	u32 low;
	u32 high;
	u32 least;
	u32 nr;
	u64 sum;
	u32 hot;
	bool whole;
	u64 need;
	u32 waiting;
	u64 known;
};

/**
 * struct concentrate - the policy
 * @param: parameters
 * @fast: the one that was set, or AUTO
 * @member: the fast member; -1: not known yet
 * @credit: of the slow members, for placement
 * @target: likewise
 * @shift: log2 of a group's extents
 * @extent_sectors: an extent's size
 * @extents: of the volume
 * @nr: groups; 0: not known yet
 * @accesses: of all groups in the last window
 * @window: what was measured in this one
 * @rate: requests in the last one, of all and of slow members, and its length
 * @evict: so many groups still have to leave
 * @unknown: on the fast member, not known in which group, at the end of the last window
 * @searched: as many were not found by a search
 * @search: the group that is searched next; == @nr: none
 * @lives: how long concentrations last
 * @shifts: where they go
 * @returns: how often they come back
 * @times: what moves bring and cost
 * @up: extents moved up
 * @down: extents moved down
 * @end: how far the end of a window is
 * @rise: what belongs on the fast member, the most accessed first
 * @leave: what lies there, what is missed least first
 * @group: they
 */
struct concentrate {
	u32 param[NR_PARAMS];
	int fast;
	int member;
	struct hy_credit credit;
	u32 target[EK_MAX_MEMBERS];
	unsigned int shift;
	u32 extent_sectors;
	u64 extents;
	u32 nr;
	u64 accesses;
	struct hy_window window;
	struct { u64 requests, slow, ns; } rate;
	u32 evict;
	u32 unknown;
	u32 searched;
	u32 search;
	struct hy_lives lives;
	struct hy_shifts shifts;
	struct hy_returns returns;
	struct hy_times times;
	u64 up;
	u64 down;
	struct window_end end;
	struct order rise;
	struct order leave;
	struct group group[GROUPS];
};

static inline u64 extents_of(const struct concentrate *c)
{
	return 1ULL << c->shift;
}

/* Is it wanted, and not there or not all of it? */
static inline bool waits(const struct group *g)
{
	return g->flags & WANTED && (!g->here || g->flags & SHORT);
}

/* Which group of two comes first in an order? */
typedef bool (*hy_before)(const struct concentrate *c, u32 a, u32 b);

void hy_order_add(struct concentrate *c, struct order *order, u32 group, hy_before before);
void hy_order_drop(struct concentrate *c, struct order *order, hy_before before);
bool hy_rises_before(const struct concentrate *c, u32 a, u32 b);
bool hy_leaves_before(const struct concentrate *c, u32 a, u32 b);

void hy_window_end(struct concentrate *c);
bool hy_window_go_on(struct concentrate *c, const struct hy_snapshot *snap);

#endif
