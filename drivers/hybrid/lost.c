// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which part of the volume is where it can't be had, or where it should not be: ranges of logical
 * extents that are lost with members, or that one member has.
 *
 * Who asks holds the live table, and so does state_sem: a resume would wait for both, with the
 * volume's I/O.  So a message reads and looks at so many pages of the map and no more; it is for
 * who asked to go on.
 *
 * A page that can't be read tells nothing of its extents, and nothing of the others.
 */
#include <linux/sched/signal.h>
#include "hybrid.h"

#define HY_LIST_LINE	64	/* bytes; and so many are left for the last one */
#define HY_LIST_READS	128	/* pages of the map that a message reads */
#define HY_LIST_PAGES	4096	/* and looks at */

enum { LISTED_NOT = -1, LISTED_UNKNOWN = -2 };

/*
 * struct listing - an answer that is being written
 * @pool: the pool
 * @of: member whose extents are listed; -1: of all that are lost
 * @result: the answer
 * @maxlen: room for it
 * @sz: of it used
 * @first: where the present range begins
 * @with: the member it is listed with, or LISTED_*
 */
struct listing {
	struct hy_pool *pool;
	int of;
	char *result;
	unsigned int maxlen;
	unsigned int sz;
	u64 first;
	int with;
};

static bool is_lost(struct hy_member *m)
{
	return !m->bdev || m->state == EK_MEMBER_FAILED;
}

/* An extent of which nothing was ever written is no loss: it reads as zeroes. */
static int listed_with(struct listing *l, u64 le)
{
	unsigned int member;
	u64 entry;

	if (ek_map_lookup(&l->pool->map, le, &entry) || !ek_entry_mapped(entry))
		return LISTED_NOT;
	member = ek_entry_member(entry);
	if (l->of >= 0)
		return member == l->of ? l->of : LISTED_NOT;
	return ek_entry_valid(entry) && is_lost(&l->pool->member[member]) ? member : LISTED_NOT;
}

static bool has_room(struct listing *l)
{
	return l->sz + 2 * HY_LIST_LINE < l->maxlen;
}

/* From @le on it is another one: the range before is done. */
static void change_to(struct listing *l, u64 le, int with)
{
	unsigned int sz = l->sz, maxlen = l->maxlen;
	char *result = l->result;

	if (with == l->with)
		return;
	if (l->with >= 0)
		DMEMIT("%llu %llu %d\n", l->first, le - l->first, l->with);
	else if (l->with == LISTED_UNKNOWN)
		DMEMIT("%llu %llu ?\n", l->first, le - l->first);
	l->sz = sz;
	l->first = le;
	l->with = with;
}

/* From @le to the end of its page; returns how far it came. */
static u64 list_page(struct listing *l, u64 le)
{
	u64 end = min_t(u64, le - le % EK_PAGE_ENTRIES + EK_PAGE_ENTRIES, l->pool->nr_extents);

	if (hy_pool_load_page(l->pool, le / EK_PAGE_ENTRIES)) {
		change_to(l, le, LISTED_UNKNOWN);
		return end;
	}
	for (; le < end && has_room(l); le++)
		change_to(l, le, listed_with(l, le));
	return le;
}

static int list(struct listing *l, u64 le)
{
	unsigned int maxlen = l->maxlen, pages, reads = 0, sz;
	struct hy_pool *pool = l->pool;
	char *result = l->result;

	for (pages = 0; le < pool->nr_extents && has_room(l) && pages < HY_LIST_PAGES; pages++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!ek_map_page(&pool->map, le / EK_PAGE_ENTRIES) && reads++ == HY_LIST_READS)
			break;
		le = list_page(l, le);
		cond_resched();
	}
	change_to(l, le, LISTED_NOT);
	sz = l->sz;
	if (le < pool->nr_extents)
		DMEMIT("more %llu", le);
	else
		DMEMIT("end");
	return 1;
}

static bool any_is_lost(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (m->state != EK_MEMBER_REMOVED && is_lost(m) &&
		    ek_space_nr_free(&m->space) < m->nr_extents)
			return true;
	}
	return false;
}

/**
 * hy_lost_show - list ranges that are lost
 * @pool: the pool, loaded
 * @from: logical extent to begin at
 * @result: "FIRST COUNT MEMBER" lines, MEMBER being "?" where the map can't be read; then "more
 *	EXTENT" if it is to be gone on with from there, or "end"
 * @maxlen: of it
 *
 * Context: message; sleeps, loads pages of the map.
 * Return: 1: there is a result; -EINTR.
 */
int hy_lost_show(struct hy_pool *pool, u64 from, char *result, unsigned int maxlen)
{
	struct listing l = {
		.pool = pool, .of = -1, .result = result, .maxlen = maxlen, .with = LISTED_NOT,
	};

	return list(&l, any_is_lost(pool) ? from : pool->nr_extents);
}

/**
 * hy_holds_show - list ranges that a member has
 * @pool: the pool, loaded
 * @member: whose
 * @from: logical extent to begin at
 * @result: as of hy_lost_show()
 * @maxlen: of it
 *
 * Context: message; sleeps, loads pages of the map.
 * Return: 1: there is a result; -EINTR.
 */
int hy_holds_show(struct hy_pool *pool, unsigned int member, u64 from, char *result,
		  unsigned int maxlen)
{
	struct listing l = {
		.pool = pool, .of = member, .result = result, .maxlen = maxlen, .with = LISTED_NOT,
	};

	return list(&l, from);
}
