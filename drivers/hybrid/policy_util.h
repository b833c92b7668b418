/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the policies share: parameters as decimal fixed point, splitting a whole
 * into integer parts, spreading placements.  Pure, like the policies.
 */
#ifndef _HYBRID_POLICY_UTIL_H
#define _HYBRID_POLICY_UTIL_H

#include <linux/types.h>
#include "policy.h"

extern const struct hy_policy_ops hy_policy_wardrop;
extern const struct hy_policy_ops hy_policy_static;
extern const struct hy_policy_ops hy_policy_stripe;
extern const struct hy_policy_ops hy_policy_fill;
extern const struct hy_policy_ops hy_policy_concentrate;
extern const struct hy_policy_ops hy_policy_asymmetry;
extern const struct hy_policy_ops hy_policy_unified;

/**
 * hy_parse_decimal - read a number such as 12 or 0.5
 * @text: it, from its first to its last character or to @end
 * @end: NULL: @text is all of it; otherwise set to what follows
 * @places: decimal places kept; more given is an error
 * @max: largest value allowed, in units of 10^-@places
 * @value: set on success, in the same units
 *
 * Return: 0 or -EINVAL.
 */
int hy_parse_decimal(const char *text, const char **end, unsigned int places, u64 max,
		     u64 *value);

/**
 * struct hy_text - a text that grows in a buffer that may be too short for it
 * @buf: the buffer, may be NULL when @size is 0
 * @size: its length
 * @len: the whole text's length; as snprintf() returns
 */
struct hy_text {
	char *buf;
	size_t size;
	size_t len;
};

__printf(2, 3)
void hy_text_add(struct hy_text *text, const char *fmt, ...);
/* "key value", with a blank before it unless it is the first. */
void hy_text_add_key(struct hy_text *text, const char *key);
/* Shortest form: 500000 with 6 places is 0.5. */
void hy_text_add_decimal(struct hy_text *text, u64 value, unsigned int places);

/**
 * hy_apportion - split a whole in proportion to weights, by largest remainder
 * @parts: filled, sums to @total unless all weights are zero (then all zero)
 * @weight: the weights, each at most 2^58 and @total times their sum below 2^63
 * @nr: how many
 * @total: the whole
 *
 * Of equal remainders the first in order counts as the larger.
 */
void hy_apportion(u32 *parts, const u64 *weight, unsigned int nr, u32 total);

/**
 * struct hy_traffic - a member's requests in a period
 * @ended: how many completed
 * @before: in flight when it began
 * @after: in flight at its end
 */
struct hy_traffic {
	u64 ended;
	s64 before;
	s64 after;
};

/**
 * hy_measure_shares - the parts of the members in the requests of a period
 * @share: what they were in the period before; filled, in ppm
 * @traffic: the members' requests
 * @nr: how many members
 *
 * Q_i of wu-reddy's equation (1).  While about as many are in flight at a period's end as before
 * it, these are the parts of what ended.  Otherwise of what came in, as that is what the placement
 * does: where a burst is worked off, a disk that is done with its part of it ends none for
 * periods, and the SSD that is not ends all; taken for shares, a step away from the SSD would begin
 * at 100%.  A period in which next to nothing comes in says nothing, and the shares stay.
 */
void hy_measure_shares(u32 *share, const struct hy_traffic *traffic, unsigned int nr);

/* May new extents go to it, now? */
static inline bool hy_has_room(const struct hy_dev_snap *dev)
{
	return dev->usable && dev->free;
}

/* @target: @weight over the usable members; equal when they weigh nothing. */
void hy_spread_targets(u32 *target, const u32 *weight, const struct hy_snapshot *snap);

/**
 * struct hy_credit - a deterministic sequence in given proportions
 * @credit: how much of its share a member is behind
 */
struct hy_credit {
	s64 credit[EK_MAX_MEMBERS];
};

/**
 * hy_credit_place - the next member by its target
 * @credit: the sequence's state
 * @target: the proportions
 * @snap: who has room
 *
 * Any stretch of the sequence is within a few placements of the proportions.
 * Without a target that has room: the one with the most room.
 *
 * Return: the member, -1 when none has room.
 */
int hy_credit_place(struct hy_credit *credit, const u32 *target,
		    const struct hy_snapshot *snap);

#endif
