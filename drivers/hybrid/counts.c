// SPDX-License-Identifier: GPL-2.0-only
/*
 * How extents were used lately, for who plans over all of them: the answer of the message counts.
 * A policy that counts reads and writes of extents is asked; what others have is the heat list.
 *
 * Nothing is held between two messages: what is counted goes on meanwhile, and when the policy
 * becomes another one some extents may be told twice or not at all.
 */
#include "hybrid.h"

#define HY_COUNTS_PART	32	/* extents: as long as a lock is held */
#define HY_COUNTS_LINE	56	/* bytes: extent, member, two counts, flags */

static unsigned int take_part(struct hy_pool *pool, u64 *cursor, struct hy_count *count)
{
	const struct hy_policy_ops *ops;
	unsigned int n = 0;

	BUILD_BUG_ON(HY_COUNTS_PART < HY_COUNTS_MIN);
	spin_lock_irq(&pool->policy_lock);
	ops = pool->policy->ops;
	if (ops->counts)
		n = ops->counts(pool->policy, cursor, count, HY_COUNTS_PART);
	spin_unlock_irq(&pool->policy_lock);
	if (ops->counts)
		return n;
	mutex_lock(&pool->heat_lock);
	n = hy_heat_counts(&pool->heat, cursor, count, HY_COUNTS_PART);
	mutex_unlock(&pool->heat_lock);
	return n;
}

/* Where it is now; -1: nowhere, as it was discarded meanwhile. */
static int member_of(struct hy_pool *pool, u64 le, int *error)
{
	u64 entry;

	*error = 0;
	if (le >= pool->nr_extents)
		return -1;
	*error = hy_pool_lookup(pool, le, &entry);
	return *error || !ek_entry_mapped(entry) ? -1 : (int)ek_entry_member(entry);
}

/**
 * hy_counts_show - list what is counted of extents
 * @pool: the pool, loaded
 * @cursor: 0, or what the last answer ended with
 * @result: "EXTENT MEMBER READS WRITES FLAGS" lines, then "more CURSOR" or "end"
 * @maxlen: of it
 *
 * FLAGS: p, it is pinned; l, accessed in large requests; m, it is moving; "-": none of them.
 *
 * Context: message; sleeps, may load pages of the map; takes heat_lock, policy_lock.
 * Return: 1: there is a result; an error.
 */
int hy_counts_show(struct hy_pool *pool, u64 cursor, char *result, unsigned int maxlen)
{
	struct hy_count *count = kcalloc(HY_COUNTS_PART, sizeof(*count), HY_MUST), *c;
	unsigned int sz = 0, n;
	int member, r = 0;

	while (!r && cursor != U64_MAX && sz + (HY_COUNTS_PART + 1) * HY_COUNTS_LINE <= maxlen) {
		n = take_part(pool, &cursor, count);
		for (c = count; !r && c < count + n; c++) {
			const char *pinned = hy_pinned_to(pool, c->le) < 0 ? "" : "p";
			const char *moving = xa_load(&pool->migs, c->le) ? "m" : "";
			const char *large = c->large ? "l" : "";

			member = member_of(pool, c->le, &r);
			if (member < 0)
				continue;
			DMEMIT("%llu %d %u %u %s%s%s%s\n", c->le, member, c->reads, c->writes,
			       pinned, large, moving, *pinned || *large || *moving ? "" : "-");
		}
		cond_resched();
	}
	kfree(count);
	if (cursor != U64_MAX)
		DMEMIT("more %llu", cursor);
	else
		DMEMIT("end");
	return r ? r : 1;
}
