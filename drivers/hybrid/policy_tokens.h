/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tokens on their way to be used up: how many are due by now, between whom, and what one extent
 * takes of them.  Pure; the caller serialises.
 */
#ifndef _HYBRID_POLICY_TOKENS_H
#define _HYBRID_POLICY_TOKENS_H

#include <linux/types.h>
#include "policy.h"

/**
 * struct hy_due - what migration may take now
 * @tokens: so many; 0: nothing
 * @from: the giver with the most left, of those that are not barred
 * @to: the receiver with the most left, likewise
 * @spent: there were some, and they are used up
 */
struct hy_due {
	u64 tokens;
	unsigned int from;
	unsigned int to;
	bool spent;
};

/**
 * struct hy_barred - members that can't take part just now, as bits
 * @from: has nothing that may go, or waits before it may give again
 * @to: has no room, or waits before it may receive again
 */
struct hy_barred {
	u32 from;
	u32 to;
};

/* Of those whose bits are not in @barred, who has the most?  @nr: nobody has any. */
unsigned int hy_tokens_most(const u32 *tokens, unsigned int nr, u32 barred);

/**
 * hy_tokens_due - how many tokens migration may take now, and between which members
 * @decision: as the policy made it
 * @left: what is left of it
 * @nr: members
 * @barred: between whom not
 * @since_ns: since the period began
 * @period_ns: its length
 *
 * Tokens are released evenly over the period, but for its rest (hy_decision.rest), in which there
 * are none.  Those that allocation has taken count as used.  One that is barred keeps its tokens,
 * and keeps nobody else from using theirs.
 *
 * Return: how many, and between whom.
 */
struct hy_due hy_tokens_due(const struct hy_decision *decision, const struct hy_decision *left,
			    unsigned int nr, struct hy_barred barred, u64 since_ns, u64 period_ns);

/**
 * hy_tokens_take - an extent moves
 * @left: what is left of the tokens
 * @nr: members
 * @from: where it was
 * @to: where it goes
 * @share: its part of the requests, ppm; of no matter where a token is an extent
 * @rest: of shares that did not make up a token yet, ppm
 *
 * What it takes beyond its own members' tokens is taken from those with the most, on both sides
 * alike: otherwise givers would have tokens left for which nobody receives.
 */
void hy_tokens_take(struct hy_decision *left, unsigned int nr, unsigned int from, unsigned int to,
		    u32 share, u32 *rest);

/**
 * hy_most_share - the largest share that an extent may have that moves
 * @left: what is left of the tokens
 * @from: the giver
 * @to: the receiver
 *
 * Half as much again as there are tokens for, or what its member has owed for some time.
 *
 * Return: ppm; U32_MAX where a token is an extent.
 */
u32 hy_most_share(const struct hy_decision *left, unsigned int from, unsigned int to);

#endif
