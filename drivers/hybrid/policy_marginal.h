/* SPDX-License-Identifier: GPL-2.0-only */
/* The wardrop policy's objective "marginal"; see policy_marginal.c.  Pure. */
#ifndef _HYBRID_POLICY_MARGINAL_H
#define _HYBRID_POLICY_MARGINAL_H

#include <linux/types.h>
#include "policy_estimate.h"

#define HY_PAIRS	(EK_MAX_MEMBERS * (EK_MAX_MEMBERS - 1) / 2)

/**
 * struct hy_marginal_dev - what is remembered of a member
 * @e: its idle and marginal response times
 * @r: mean response time of the last period
 * @q: its share, ppm
 * @decided_q: the same at the last decision
 * @owed: what it was to give since it was first told to, and has not, ppm
 * @enough: the least share at which it was slower than another one when idle, ppm
 * @wanted: periods in which one that is faster when idle wanted to give to it, whatever the load
 *          was: one that comes in bursts is another one in most periods
 * @opened: periods since it was opened, 0: it was not
 * @wait: periods before it may be opened again
 * @backoff: @wait after the next opening that fails
 */
struct hy_marginal_dev {
	struct hy_estimate e;
	u64 r;
	u32 q;
	u32 decided_q;
	u32 owed;
	u32 enough;
	u8 wanted;
	u8 opened;
	u8 wait;
	u8 backoff;
};

/**
 * struct hy_marginal_pair - what is remembered of load that went between two members
 * @gain: part of the relative difference that is moved in a step, ppm
 * @limit: of @gain, lowered where the direction turns and rising slowly
 * @sign: 1: to the second of the two, -1: to the first, 0: there was none
 * @flips: how often the direction has turned, at most 8
 * @same: periods for which the direction now wanted has been wanted
 * @stepped: since it was wanted last, load has gone there
 * @difference: by what part the first one's M is above the second's, running mean, ppm
 * @compared: decisions in @difference
 */
struct hy_marginal_pair {
	u32 gain;
	u32 limit;
	s8 sign;
	u8 flips;
	u8 same;
	bool stepped;
	s32 difference;
	s32 compared;
};

/**
 * struct hy_marginal - the controller's state
 * @dev: of each member
 * @pair: of members i < j at j (j - 1) / 2 + i
 * @target: P, in ppm
 * @held: periods since the last decision
 * @gross: members are to have none, which does not depend on how hot an extent is
 * @settled: the last decision is to move nothing
 * @inflight: requests in flight when the load last changed, in 1/1024
 * @room: for a period's computation, too large for the stack
 */
struct hy_marginal {
	struct hy_marginal_dev dev[EK_MAX_MEMBERS];
	struct hy_marginal_pair pair[HY_PAIRS];
	u32 target[EK_MAX_MEMBERS];
	u32 held;
	bool gross;
	bool settled;
	u64 inflight;
	u64 room[3][EK_MAX_MEMBERS];
};

void hy_marginal_init(struct hy_marginal *m);

/* Take in what probes showed of members that have no load. */
void hy_marginal_idle(struct hy_marginal *m, const struct hy_snapshot *snap);

/**
 * hy_marginal_period - new shares from what a period measured
 * @m: the controller
 * @snap: the measurements; there were requests
 * @q: the shares, sum to HY_PPM; 0 where a member is not usable
 * @p: filled: the targets, likewise
 *
 * Return: for which part of the next period migration is to rest, ppm; HY_PPM: for all of it,
 * as it was held off for as long as it may be.  Where nothing is to move (hy_marginal.settled)
 * others may move what doesn't change the shares, and rest likewise.
 */
u32 hy_marginal_period(struct hy_marginal *m, const struct hy_snapshot *snap, const u32 *q,
		       u32 *p);

/* How large a share an extent may have that leaves a giver, whatever the step. */
u32 hy_marginal_largest(const struct hy_marginal *m, unsigned int i);

#endif
