/* SPDX-License-Identifier: GPL-2.0-only */
/* Shares before any load was measured; see policy_first.c.  Pure. */
#ifndef _HYBRID_POLICY_FIRST_H
#define _HYBRID_POLICY_FIRST_H

#include "policy.h"

/**
 * struct hy_first - how far a policy is in finding its first shares
 * @over: they were found, or there is a load to go by
 * @stand: they were found by probes, and no load has been seen since
 * @asked: periods in which probes were asked for
 */
struct hy_first {
	bool over;
	bool stand;
	u8 asked;
};

/**
 * hy_first_period - ask for probes, and have first shares when they were made
 * @first: how far it is
 * @snap: the period
 * @target: set to the first shares when they are known
 * @decision: asks for probes if they are not
 *
 * Return: are @target the first shares, just now?
 */
bool hy_first_period(struct hy_first *first, const struct hy_snapshot *snap, u32 *target,
		     struct hy_decision *decision);

/**
 * hy_first_stands - a request or two are no load to go by
 * @first: how far it is
 * @snap: the period
 *
 * Return: are the shares that the probes gave still to be kept, whatever was requested?
 */
bool hy_first_stands(struct hy_first *first, const struct hy_snapshot *snap);

/* Of HY_FIRST_PROBES times: one that had to wait for something does not count. */
u64 hy_first_median(const u64 *ns);

#endif
