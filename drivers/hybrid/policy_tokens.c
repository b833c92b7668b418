// SPDX-License-Identifier: GPL-2.0-only
/* Tokens on their way to be used up; see policy_tokens.h. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "policy_tokens.h"

static u64 sum_of(const u32 *tokens, unsigned int nr)
{
	u64 sum = 0;

	while (nr--)
		sum += tokens[nr];
	return sum;
}

unsigned int hy_tokens_most(const u32 *tokens, unsigned int nr, u32 barred)
{
	unsigned int i, most = nr;

	for (i = 0; i < nr; i++)
		if (tokens[i] && !(barred & BIT(i)) && (most == nr || tokens[i] > tokens[most]))
			most = i;
	return most;
}

struct hy_due hy_tokens_due(const struct hy_decision *decision, const struct hy_decision *left,
			    unsigned int nr, struct hy_barred barred, u64 since_ns, u64 period_ns)
{
	u64 all = sum_of(decision->receive, nr), still = sum_of(left->receive, nr), due;
	u64 spend = div_u64(period_ns, HY_PPM) * (HY_PPM - decision->rest);
	struct hy_due d = {
		.from = hy_tokens_most(left->give, nr, barred.from),
		.spent = all && !still,
	};

	d.to = hy_tokens_most(left->receive, nr, barred.to | (u32)BIT(d.from));
	if (!spend || (decision->rest && since_ns >= spend))
		return d;
	if (d.from == nr || d.to == nr)
		return d;
	due = min(DIV64_U64_ROUND_UP(all * min(since_ns, spend), spend), all);
	d.tokens = due > all - still ? due - (all - still) : 0;
	return d;
}

/* @n off @tokens: of @first, then of those with the most. */
static void take(u32 *tokens, unsigned int nr, unsigned int first, u64 n)
{
	unsigned int at = first;

	while (n && at < nr) {
		u32 part = min_t(u64, tokens[at], n);

		tokens[at] -= part;
		n -= part;
		at = hy_tokens_most(tokens, nr, 0);
	}
}

void hy_tokens_take(struct hy_decision *left, unsigned int nr, unsigned int from, unsigned int to,
		    u32 share, u32 *rest)
{
	u64 n = 1;

	if (left->token_ppm) {
		n = div_u64((u64)share + *rest, left->token_ppm);
		*rest = (u64)share + *rest - n * left->token_ppm;
	}
	take(left->receive, nr, to, n);
	take(left->give, nr, from, n);
}

u32 hy_most_share(const struct hy_decision *left, unsigned int from, unsigned int to)
{
	u64 tokens = min(left->give[from], left->receive[to]), each = left->token_ppm;
	u64 most = max_t(u64, tokens * each * 3 / 2 + each, left->largest[from]);

	return each ? min_t(u64, most, U32_MAX) : U32_MAX;
}
