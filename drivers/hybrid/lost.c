// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is lost with members that are not there: ranges of logical extents with data on them.
 * An extent of which nothing was ever written is no loss: it reads as zeroes.
 */
#include "hybrid.h"

#define HY_LOST_LINE	64	/* bytes; and so many are left for the last one */

/* The member that extent @le's data went with; -1: it is there, or there is none. */
static int lost_with(struct hy_pool *pool, u64 le, int *error)
{
	struct hy_member *m;
	u64 entry;

	*error = hy_pool_lookup(pool, le, &entry);
	if (*error || !ek_entry_valid(entry))
		return -1;
	m = &pool->member[ek_entry_member(entry)];
	return m->bdev && m->state != EK_MEMBER_FAILED ? -1 : ek_entry_member(entry);
}

static bool any_is_lost(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (m->state != EK_MEMBER_REMOVED && (!m->bdev || m->state == EK_MEMBER_FAILED) &&
		    ek_space_nr_free(&m->space) < m->nr_extents)
			return true;
	}
	return false;
}

/**
 * hy_lost_show - list ranges that are lost
 * @pool: the pool, loaded
 * @from: logical extent to begin at
 * @result: "FIRST COUNT MEMBER" lines; then "more EXTENT" if there was no room for all, or "end"
 * @maxlen: of it
 *
 * Context: message; sleeps, loads the map.
 * Return: 1: there is a result; an error.
 */
int hy_lost_show(struct hy_pool *pool, u64 from, char *result, unsigned int maxlen)
{
	u64 le = any_is_lost(pool) ? from : pool->nr_extents, first = 0;
	unsigned int sz = 0;
	int with = -1, now, r;

	for (; le < pool->nr_extents && sz + 2 * HY_LOST_LINE < maxlen; le++) {
		if (!(le % EK_PAGE_ENTRIES))
			cond_resched();
		now = lost_with(pool, le, &r);
		if (r)
			return r;
		if (now == with)
			continue;
		if (with >= 0)
			DMEMIT("%llu %llu %d\n", first, le - first, with);
		first = le;
		with = now;
	}
	if (with >= 0)
		DMEMIT("%llu %llu %d\n", first, le - first, with);
	if (le < pool->nr_extents)
		DMEMIT("more %llu", le);
	else
		DMEMIT("end");
	return 1;
}
