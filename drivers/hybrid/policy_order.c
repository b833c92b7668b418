// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy concentrate: which sub-LUN is the next to rise, which to leave.
 *
 * That is asked for with a lock held that the I/O path waits for, so nobody looks through all of
 * them then: they are put into heaps at the end of a window, in parts as everything else there.
 * What the orders go by does not change until the next end, but for groups that have left them.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "policy_concentrate.h"

/**
 * hy_order_add - put a group into its place
 * @c: the policy
 * @order: the order, which the group is not in
 * @group: the group
 * @before: what it goes by, always the same
 */
void hy_order_add(struct concentrate *c, struct order *order, u32 group, hy_before before)
{
	u32 i = order->nr++;

	while (i && before(c, group, order->at[(i - 1) / 2])) {
		order->at[i] = order->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	order->at[i] = group;
}

/**
 * hy_order_drop - the first one, order->at[0], is done with
 * @c: the policy
 * @order: the order, not empty
 * @before: what it goes by
 */
void hy_order_drop(struct concentrate *c, struct order *order, hy_before before)
{
	u16 last = order->at[--order->nr];
	u32 i = 0, next;

	while ((next = 2 * i + 1) < order->nr) {
		if (next + 1 < order->nr && before(c, order->at[next + 1], order->at[next]))
			next++;
		if (!before(c, order->at[next], last))
			break;
		order->at[i] = order->at[next];
		i = next;
	}
	order->at[i] = last;
}

/* What is concentrated, most accesses first; then what may be again. */
bool hy_rises_before(const struct concentrate *c, u32 a, u32 b)
{
	const struct group *x = &c->group[a], *y = &c->group[b];

	if ((x->flags ^ y->flags) & KEPT)
		return y->flags & KEPT;
	if (x->last != y->last)
		return x->last > y->last;
	return a < b;
}

/* What is there for nothing, then what is kept, then what is wanted. */
static unsigned int missed(const struct group *g)
{
	if (g->flags & KEPT)
		return 1;
	if (g->flags & WANTED)
		return 3;
	return g->age ? 2 : 0;
}

/* Within each kind fewest accesses first; then what has been over for longest. */
bool hy_leaves_before(const struct concentrate *c, u32 a, u32 b)
{
	const struct group *x = &c->group[a], *y = &c->group[b];

	if (missed(x) != missed(y))
		return missed(x) < missed(y);
	if (x->last != y->last)
		return x->last < y->last;
	if (x->since != y->since)
		return x->since > y->since;
	return a < b;
}
