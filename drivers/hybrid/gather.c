// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy that knows what is to move (hy_policy_ops.next) names one range of extents at a
 * time; this goes through it, extent by extent, and sends off those that are not where they
 * should be.  What has to wait, by the mover's rules, is gone on with at the next tick.
 *
 * What is gone through is no transaction: each extent's migration stands for itself, and a range
 * that is given up halfway, as the policy is another now or the pool was suspended, leaves
 * extents here and there, all of them good.
 */
#include "hybrid.h"
#include "hybrid_trace.h"

#define HY_GATHER_SCAN		4096	/* map entries looked at per tick */
#define HY_GATHER_RANGES	64	/* and ranges: each is asked for under policy_lock */
#define HY_GATHER_WAIT_NS	(2 * NSEC_PER_SEC)	/* for places to become free */

enum step { STEP_ON, STEP_WAIT, STEP_END };

/* Is there a range in hand, or another one?  Ends the present one if it has been gone through. */
static bool have_range(struct hy_pool *pool, u64 now)
{
	struct hy_gather *g = &pool->gather;
	const struct hy_policy_ops *ops;
	bool have;

	spin_lock_irq(&pool->policy_lock);
	ops = pool->policy->ops;
	if (g->active && g->at >= g->range.first + g->range.nr) {
		g->moved.ns = now - g->start;
		ops->moved(pool->policy, &g->range, &g->moved);
		g->active = false;
	}
	if (!g->active && ops->next) {
		memset(g, 0, sizeof(*g));
		hy_snap_space(pool);
		g->active = ops->next(pool->policy, &pool->snap, &g->range);
		g->at = g->range.first;
		g->start = now;
		if (g->active)
			trace_hybrid_range(pool, g->range.first, g->range.nr, g->range.from,
					   g->range.to);
	}
	have = g->active;
	spin_unlock_irq(&pool->policy_lock);
	return have;
}

/* Where an extent of the range is to go; -1: nowhere. */
static int destination(struct hy_pool *pool, u64 le)
{
	struct hy_gather *g = &pool->gather;

	return g->range.to < 0 ? hy_place_moved(pool, le) : g->range.to;
}

static enum step wait_for(struct hy_pool *pool, enum hy_reason why)
{
	hy_not_migrated(pool, why);
	return STEP_WAIT;
}

/*
 * No room there: will there be some?  Otherwise the range ends here.  What waits to be free is
 * anybody's, and a member that doesn't flush never frees it, so the wait has an end.
 */
static enum step no_room(struct hy_pool *pool, u64 now)
{
	struct hy_gather *g = &pool->gather;

	if (!g->full_since) {
		g->full_since = now;
		hy_commit_kick(pool);
	}
	if (atomic64_read(&pool->nr_quarantined) > 0 && now - g->full_since < HY_GATHER_WAIT_NS)
		return wait_for(pool, HY_NOT_NOSPACE);
	hy_not_migrated(pool, HY_NOT_NOSPACE);
	g->moved.left++;
	if (g->range.to < 0)
		return STEP_ON;
	g->at = g->range.first + g->range.nr;
	return STEP_END;
}

/* Send off the extent at the cursor, which is at @from. */
static enum step send_off(struct hy_pool *pool, unsigned int from, u64 now)
{
	struct hy_gather *g = &pool->gather;
	enum hy_reason why;
	int to;

	if (!hy_mover_free(pool, from))
		return wait_for(pool, HY_NOT_BUSY);
	if (!hy_mover_rate_allows(pool, now))
		return wait_for(pool, HY_NOT_RATE);
	if (hy_mover_in_debt(pool, from))
		return wait_for(pool, HY_NOT_FOREGROUND);
	to = destination(pool, g->at);
	if (to < 0 || to == from)
		return no_room(pool, now);
	if (hy_mover_bars(pool, to, &why))
		return wait_for(pool, why);
	if (!hy_mig_start(pool, g->at, from, to, &why)) {
		hy_mover_rate_charge(pool, now);
		g->full_since = 0;
		g->moved.moved++;
		g->moved.there += g->range.to >= 0;
		return STEP_ON;
	}
	if (why == HY_NOT_NOSPACE)
		return no_room(pool, now);
	hy_not_migrated(pool, why);
	g->moved.left += why != HY_NOT_UNMAPPED;
	return STEP_ON;
}

/* The extent at the cursor; @loaded: a page of the map was read in this tick, the next waits. */
static enum step look_at(struct hy_pool *pool, u64 now, bool *loaded)
{
	struct hy_gather *g = &pool->gather;
	int pinned, r;
	u64 entry;

	r = hy_pool_lookup_step(pool, g->at, &entry, loaded);
	if (r == -EAGAIN)
		return STEP_WAIT;
	if (r || !ek_entry_mapped(entry))
		return STEP_ON;
	if (g->range.to >= 0 && ek_entry_member(entry) == g->range.to) {
		g->moved.there++;
		return STEP_ON;
	}
	if (g->range.from >= 0 && ek_entry_member(entry) != g->range.from)
		return STEP_ON;
	pinned = hy_pinned_to(pool, g->at);
	if (pinned >= 0 && pinned != g->range.to) {
		hy_not_migrated(pool, HY_NOT_PINNED);
		g->moved.left++;
		return STEP_ON;
	}
	return send_off(pool, ek_entry_member(entry), now);
}

/* Does nothing move but the policy's ranges? */
bool hy_moves_ranges_only(struct hy_pool *pool)
{
	bool alone;

	spin_lock_irq(&pool->policy_lock);
	alone = pool->policy->ops->alone;
	spin_unlock_irq(&pool->policy_lock);
	return alone;
}

/**
 * hy_gather_tick - go on with the policy's ranges
 * @pool: the pool, running and writable
 * @now: ns
 *
 * Context: the balancer's work; sleeps; reads one page of the map at most.
 * Return: had something to wait, so that it is worth to come back soon?
 */
bool hy_gather_tick(struct hy_pool *pool, u64 now)
{
	unsigned int n = HY_GATHER_SCAN, ranges = HY_GATHER_RANGES;
	bool loaded = false;

	while (have_range(pool, now)) {
		struct hy_gather *g = &pool->gather;
		enum step step = STEP_ON;

		if (!ranges--)
			return true;
		while (step == STEP_ON && g->at < g->range.first + g->range.nr) {
			if (!n--)
				return true;
			step = look_at(pool, now, &loaded);
			g->at += step == STEP_ON;
		}
		if (step == STEP_WAIT)
			return true;
	}
	return false;
}

/**
 * hy_gather_drop - the range in hand is of a policy that goes
 * @pool: the pool
 *
 * Context: policy_lock held.
 */
void hy_gather_drop(struct hy_pool *pool)
{
	pool->gather.active = false;
}
