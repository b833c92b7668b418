/* SPDX-License-Identifier: GPL-2.0-only */
/* The wardrop policy's objective "marginal"; see policy_marginal.c.  Pure. */
#ifndef _HYBRID_POLICY_MARGINAL_H
#define _HYBRID_POLICY_MARGINAL_H

#include <linux/types.h>
#include "policy.h"

/**
 * struct hy_marginal_dev - what is remembered of a member
 * @idle_ns: per direction, response time when it has little to do; 0: not known
 * @marginal_ns: the last estimate, 0: none
 * @r: mean response time of the last period
 * @q: its share, ppm
 * @noise: mean relative change of @marginal_ns from one period to the next, ppm
 * @sign: 1: it took load at the last decision, -1: it gave some
 * @opened: periods since it was opened, 0: it was not
 * @wait: periods before it may be opened again
 * @backoff: @wait after the next opening that fails
 */
struct hy_marginal_dev {
	u64 idle_ns[EK_DIRS];
	u64 marginal_ns;
	u64 r;
	u32 q;
	u32 noise;
	s8 sign;
	u8 opened;
	u8 wait;
	u8 backoff;
};

/**
 * struct hy_marginal - the controller's state
 * @dev: of each member
 * @target: P, in ppm
 * @gain: part of the relative difference that is moved in a step, ppm
 * @limit: of @gain, lowered where the direction turns and rising slowly
 * @flips: how often the direction has turned, at most 8
 * @same: periods for which the direction now wanted has been wanted
 * @held: periods since the last decision
 * @inflight: requests in flight when the load last changed, in 1/1024
 */
struct hy_marginal {
	struct hy_marginal_dev dev[EK_MAX_MEMBERS];
	u32 target[EK_MAX_MEMBERS];
	u32 gain;
	u32 limit;
	u32 flips;
	u32 same;
	u32 held;
	u64 inflight;
};

void hy_marginal_init(struct hy_marginal *m);

/**
 * hy_marginal_period - new shares from what a period measured
 * @m: the controller
 * @snap: the measurements; there were requests
 * @q: the shares, sum to HY_PPM; 0 where a member is not usable
 * @p: filled: the targets, likewise
 *
 * Return: are they to be brought about by migration, or is it to rest?
 */
bool hy_marginal_period(struct hy_marginal *m, const struct hy_snapshot *snap, const u32 *q,
			u32 *p);

#endif
