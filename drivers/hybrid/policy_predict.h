/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What policy_concentrate.c expects, from what it has seen: how long a concentration of accesses
 * goes on, where it goes, what a move costs and what it brings (oe-nanri section 2.2).  Pure.
 */
#ifndef _HYBRID_POLICY_PREDICT_H
#define _HYBRID_POLICY_PREDICT_H

#include <linux/types.h>

#define HY_LIVES	32
#define HY_LEFT_ONE	1024	/* a window, as hy_lives_left() counts */

/**
 * struct hy_lives - how long the last concentrations lasted
 * @life: in windows
 * @sum: of these
 * @nr: how many are known
 * @next: the next one is put here
 */
struct hy_lives {
	u32 life[HY_LIVES];
	u64 sum;
	unsigned int nr;
	unsigned int next;
};

void hy_lives_add(struct hy_lives *lives, u32 life);
u32 hy_lives_left(const struct hy_lives *lives, u32 age);

u32 hy_lives_mean(const struct hy_lives *lives);

/**
 * struct hy_returns - do concentrations come back to where they were?
 * @ends: how many have ended, and it is known whether another one came, of those that were the
 *	first at their place and of those that were not; halved from time to time, as is @back
 * @back: of them, so many were followed by another one there
 * @gaps: how many windows later
 * @wait: for so many windows it may be expected; then there is none to come
 */
struct hy_returns {
	u32 ends[2];
	u32 back[2];
	struct hy_lives gaps;
	u32 wait;
};

void hy_returns_back(struct hy_returns *returns, bool again, u32 gap, bool late);
void hy_returns_none(struct hy_returns *returns, bool again);
u32 hy_returns_more(const struct hy_returns *returns, bool again);

enum hy_side { HY_BELOW, HY_ABOVE, HY_SIDES };

/**
 * struct hy_shifts - where concentrations go
 * @ends: how many have ended; halved from time to time, as is @to
 * @to: how often accesses concentrated on what lies beside one
 */
struct hy_shifts {
	u32 ends;
	u32 to[HY_SIDES];
};

void hy_shifts_end(struct hy_shifts *shifts);
void hy_shifts_to(struct hy_shifts *shifts, enum hy_side side);
u32 hy_shifts_ppm(const struct hy_shifts *shifts, enum hy_side side);

/**
 * struct hy_window - what was measured since the last decision
 * @ns: its length
 * @requests: at all members
 * @slow: at all but the fast member: requests, and the integral of those in flight
 * @slow_ns: that
 * @quiet: of @slow those while nothing was copied there
 * @quiet_ns: of @slow_ns likewise
 * @fast: at the fast member
 * @fast_ns: their response times, summed
 */
struct hy_window {
	u64 ns;
	u64 requests;
	u64 slow;
	u64 slow_ns;
	u64 quiet;
	u64 quiet_ns;
	u64 fast;
	u64 fast_ns;
};

/**
 * struct hy_times - response times and costs, learned
 * @slow_ns: response time of the slow members while nothing is copied; 0: not known
 * @fast_ns: of the fast one; 0: not known
 * @extra_ns: by how much a request takes longer while an extent is copied
 * @extra_known: was it ever measured?
 * @extent_ns: how long it takes to move an extent; 0: not known
 */
struct hy_times {
	u64 slow_ns;
	u64 fast_ns;
	u64 extra_ns;
	bool extra_known;
	u64 extent_ns;
};

void hy_times_window(struct hy_times *times, const struct hy_window *w);
void hy_times_fade(struct hy_times *times);
void hy_times_moved(struct hy_times *times, u64 extents, u64 ns);

/**
 * struct hy_move - a move that is thought of
 * @requests: that the region gets in a window
 * @slow: requests that the slow members get in a window, all of them
 * @window_ns: a window's length
 * @left: windows that it is expected to go on, in 1 / HY_LEFT_ONE
 * @ppm: how likely that is
 * @extents: to be moved
 * @extent_bytes: their size
 */
struct hy_move {
	u64 requests;
	u64 slow;
	u64 window_ns;
	u32 left;
	u32 ppm;
	u64 extents;
	u32 extent_bytes;
};

u64 hy_move_gain(const struct hy_times *times, const struct hy_move *move);
u64 hy_move_cost(const struct hy_times *times, const struct hy_move *move);

#endif
