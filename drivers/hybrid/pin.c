// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned extents: held where they are, placed there when they are new, and brought there when they
 * are elsewhere.
 *
 * The ranges are a setting, so they are in the table line and, with it, in the superblock:
 * committed before the message that changed them returns, adopted by a new table's activation.
 * What moves for them are migrations like any other; cut anywhere, some extents are there and
 * others not yet.
 *
 * All of them are gone through once after a change, and again each period: one that was placed
 * elsewhere for want of room follows when there is some.
 */
#include "hybrid.h"

#define HY_PIN_SCAN	512	/* map entries looked at per tick */

/**
 * hy_pinned_to - where an extent is held
 * @pool: the pool
 * @le: logical extent
 *
 * Context: takes policy_lock.
 * Return: the member; -1: it is free to go.
 */
int hy_pinned_to(struct hy_pool *pool, u64 le)
{
	unsigned long flags;
	int member;

	spin_lock_irqsave(&pool->policy_lock, flags);
	member = hy_pins_find(&pool->set.pins, le);
	spin_unlock_irqrestore(&pool->policy_lock, flags);
	return member;
}

static u64 next_pinned(struct hy_pool *pool, u64 le)
{
	spin_lock_irq(&pool->policy_lock);
	le = hy_pins_next(&pool->set.pins, le);
	spin_unlock_irq(&pool->policy_lock);
	return le;
}

/* One tick's: what members can't do is found out once. */
struct tick {
	u64 now;
	bool loaded;	/* a page of the map was read, the next one waits */
	u32 shut;	/* nothing can go there: left to the next period */
	u32 owing;	/* nothing may be copied from there yet */
	u32 barred;	/* nor there */
};

static bool can_take(struct hy_pool *pool, unsigned int i)
{
	struct hy_member *m = &pool->member[i];

	return m->bdev && m->state == EK_MEMBER_ACTIVE && ek_space_nr_free(&m->space);
}

static void begin_tick(struct hy_pool *pool, struct tick *t)
{
	enum hy_reason why;
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		if (!can_take(pool, i))
			t->shut |= BIT(i);
		if (hy_mover_bars(pool, i, &why))
			t->barred |= BIT(i);
		if (hy_mover_in_debt(pool, i))
			t->owing |= BIT(i);
	}
}

/* Of a page that neither metadata nor memory has no extent is anywhere: on to the next. */
static bool skip_absent(struct hy_pool *pool)
{
	u64 page = pool->pin_at / EK_PAGE_ENTRIES;

	if (ek_map_page(&pool->map, page) || !ek_store_page_absent(pool->store, page))
		return false;
	pool->pin_at = (page + 1) * EK_PAGE_ENTRIES;
	return true;
}

/* Bring one where it is held, if it is elsewhere; returns false if all others have to wait, too. */
static bool bring(struct hy_pool *pool, u64 le, struct tick *t)
{
	int to = hy_pinned_to(pool, le);
	enum hy_reason why;
	unsigned int from;
	u64 entry;
	int r;

	if (to < 0)
		return true;
	r = hy_pool_lookup_step(pool, le, &entry, &t->loaded);
	if (r == -EAGAIN)
		return false;
	if (r || !ek_entry_mapped(entry))
		return true;
	from = ek_entry_member(entry);
	if (to == from)
		return true;
	if (t->shut & BIT(to)) {
		hy_not_migrated(pool, HY_NOT_NOSPACE);
		return true;
	}
	if (!hy_mover_rate_allows(pool, t->now))
		return false;
	if (t->barred & BIT(to) || t->owing & BIT(from) || !hy_mover_free(pool, from)) {
		pool->pin_waits = true;
		return true;
	}
	if (!hy_mig_start(pool, le, from, to, &why)) {
		hy_mover_rate_charge(pool, t->now);
		return true;
	}
	hy_not_migrated(pool, why);
	if (why == HY_NOT_NOSPACE || why == HY_NOT_MEMBER)
		t->shut |= BIT(to);
	return true;
}

/* Begin anew: they have changed, or a period has ended. */
void hy_pin_rescan(struct hy_pool *pool)
{
	WRITE_ONCE(pool->pin_rescan, true);
}

/**
 * hy_pin_tick - go on with what is not where it is held
 * @pool: the pool, running and writable
 * @now: ns
 *
 * Context: the balancer's work; sleeps; reads one page of the map at most.
 * Return: is there more to look at?
 */
bool hy_pin_tick(struct hy_pool *pool, u64 now)
{
	struct tick t = { .now = now };
	unsigned int n = HY_PIN_SCAN;

	if (pool->pin_at == U64_MAX && (xchg(&pool->pin_rescan, false) || pool->pin_waits)) {
		pool->pin_at = 0;
		pool->pin_waits = false;
	}
	if (pool->pin_at != U64_MAX)
		begin_tick(pool, &t);
	while (pool->pin_at != U64_MAX) {
		pool->pin_at = next_pinned(pool, pool->pin_at);
		if (pool->pin_at >= pool->nr_extents) {
			pool->pin_at = U64_MAX;
			break;
		}
		if (!n--)
			return true;
		if (skip_absent(pool))
			continue;
		if (!bring(pool, pool->pin_at, &t))
			return true;
		pool->pin_at++;
	}
	return pool->pin_waits;
}

/**
 * hy_pin - hold extents on a member
 * @pool: the pool
 * @first: the first of them
 * @nr: how many
 * @member: where; -1: nowhere any more
 * @reason: set on failure
 *
 * Context: sleeps, under message_lock; the caller commits the policy's text.
 * Return: 0 or -EINVAL, nothing was changed.
 */
int hy_pin(struct hy_pool *pool, u64 first, u64 nr, int member, const char **reason)
{
	int r;

	spin_lock_irq(&pool->policy_lock);
	if (member < 0)
		r = hy_pins_remove(&pool->set.pins, first, nr, reason);
	else
		r = hy_pins_add(&pool->set.pins, first, nr, member, reason);
	spin_unlock_irq(&pool->policy_lock);
	if (!r)
		hy_pin_rescan(pool);
	return r;
}
