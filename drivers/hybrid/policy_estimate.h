/* SPDX-License-Identifier: GPL-2.0-only */
/* What one more request in flight does at a member; see policy_estimate.c.  Pure. */
#ifndef _HYBRID_POLICY_ESTIMATE_H
#define _HYBRID_POLICY_ESTIMATE_H

#include <linux/types.h>
#include "policy.h"

#define HY_MIN_REQUESTS	20		/* fewer measure nothing */
#define HY_MAX_NS	BIT_ULL(38)	/* a mean that counts: 4 minutes */

/**
 * struct hy_estimate - what is known of a member
 * @idle_ns: per direction, response time when it has little to do; 0: not known
 * @idle_n: requests that were in flight when the shorter of these was seen, in 2^-16
 * @marginal_ns: time by which one more request in flight brings one more completion, 0: not known
 * @mean_ns: mean response time without copies; of one that is not in use @marginal_ns
 * @bursts: part of the time in which there are requests of bursts, in 1/1024; 0: it has no bursts
 * @slope: of its rate over the number in flight, relative to rate/number, in 1/1024; smoothed
 * @slope_r: mean response time when it began to be smoothed, 0: there is no slope
 * @periods: in which it has been since
 * @noise: mean relative change of @marginal_ns from one period to the next, ppm
 */
struct hy_estimate {
	u64 idle_ns[EK_DIRS];
	u64 idle_n;
	u64 marginal_ns;
	u64 mean_ns;
	u32 bursts;
	s32 slope;
	u64 slope_r;
	u32 periods;
	u32 noise;
};

/**
 * hy_estimate_period - take in what a period measured
 * @e: the member's estimate
 * @d: the measurements
 * @period_ns: how long it was
 * @all: in flight at all members, mean, in 2^-16
 * @mix: hy_read_part()
 */
void hy_estimate_period(struct hy_estimate *e, const struct hy_dev_snap *d, u64 period_ns,
			u64 all, u32 mix);

/**
 * hy_estimate_share_bursts - should two members that have bursts have a part of them each?
 * @fast: the one that is faster when idle
 * @slow: the other one
 * @part: what @fast has of what both have, ppm
 * @mix: hy_read_part()
 *
 * Return: if so; then each is to have what it answers as fast as the other one does.
 */
bool hy_estimate_share_bursts(const struct hy_estimate *fast, const struct hy_estimate *slow,
			      u64 part, u32 mix);

/* Can what it answers when idle not be seen from what users ask of it? */
bool hy_estimate_wants_probe(const struct hy_dev_snap *d);

/* Of the requests to all members, the part that are reads, in 1/1024. */
u32 hy_read_part(const struct hy_snapshot *snap);

/*
 * For the period's mix of reads and writes, the member's own if it has one, else @mix, which is
 * what it would get; 0: not known.
 */
u64 hy_estimate_idle(const struct hy_estimate *e, const struct hy_dev_snap *d, u32 mix);

/* @part of @whole in ppm, both below 2^44. */
u64 hy_ppm_of(u64 part, u64 whole);

#endif
