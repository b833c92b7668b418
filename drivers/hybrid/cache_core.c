// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extent cache's decisions; see cache_core.h.
 *
 *	GONE -> FILLING		a read that missed, no write in flight
 *	FILLING -> VALID	read; no write has begun meanwhile
 *	VALID -> WRITING	a write begins: alone, of what is there, to the very place it was
 *				read from, and nobody looks at the copy but a migration that can
 *				do with it
 *	WRITING -> VALID	it has succeeded
 *	any -> GONE		any other write begins, one fails, a read fails, the map has
 *				another entry, the place is wanted for another extent
 *
 * A copy that is GONE belongs to those who hold it; who puts the last reference frees it.
 *
 * Reading a whole extent for a few sectors costs more than those do, and is worth it where more is
 * read of it soon.  So fills have to be earned by hits: where reads are scattered, or a cache is
 * too small for what is read, hardly any extent is read, but some, to see when that changes.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <evenkeel/entry.h>
#include "cache_core.h"

/**
 * hy_cc_init - an empty cache that keeps nothing
 * @c: the cache
 */
void hy_cc_init(struct hy_cache_core *c)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < HY_CACHE_BUCKETS; i++)
		INIT_LIST_HEAD(&c->bucket[i]);
	INIT_LIST_HEAD(&c->clock);
	c->credit = HY_CACHE_CREDIT;
}

static u32 bucket_of(u64 le)
{
	return hash_64(le, ilog2(HY_CACHE_BUCKETS));
}

static u64 *bad_of(struct hy_cache_core *c, u64 le)
{
	return &c->bad[le % HY_CACHE_BAD];
}

static struct hy_copy *find(struct hy_cache_core *c, u64 le)
{
	struct hy_copy *copy;

	list_for_each_entry(copy, &c->bucket[bucket_of(le)], list)
		if (copy->le == le)
			return copy;
	return NULL;
}

/* Nobody finds it from now on.  Return: it, if nobody holds it: to be freed. */
static struct hy_copy *unlink_copy(struct hy_cache_core *c, struct hy_copy *copy)
{
	list_del_init(&copy->list);
	list_del_init(&copy->clock);
	copy->state = HY_COPY_GONE;
	c->nr--;
	if (copy->refs)
		return NULL;
	c->alive--;
	return copy;
}

static struct hy_copy *kill(struct hy_cache_core *c, struct hy_copy *copy)
{
	c->kills++;
	return unlink_copy(c, copy);
}

/**
 * hy_cc_read - is there a copy to read from?
 * @c: the cache
 * @le: logical extent
 * @entry: the map's, as the reader found it after it had entered the epoch
 * @drop: set to a copy to be freed, or NULL
 *
 * Return: a copy, held: VALID, or FILLING, in which case it has to be waited for; NULL: none.
 */
struct hy_copy *hy_cc_read(struct hy_cache_core *c, u64 le, u64 entry, struct hy_copy **drop)
{
	struct hy_copy *copy = find(c, le);

	*drop = NULL;
	if (copy && copy->entry != entry) {
		*drop = kill(c, copy);
		copy = NULL;
	}
	if (!copy || !c->ready || copy->state == HY_COPY_WRITING) {
		c->misses++;
		return NULL;
	}
	c->hits++;
	c->credit = min_t(u32, c->credit + 1, HY_CACHE_CREDIT);
	copy->used = true;
	copy->refs++;
	return copy;
}

/* The clock's hand is the list's head.  Return: a copy that nobody holds, found no more. */
static struct hy_copy *evict(struct hy_cache_core *c)
{
	unsigned int n = min(2 * c->nr, (u32)HY_CACHE_LOOK);
	struct hy_copy *copy;

	while (n--) {
		copy = list_first_entry(&c->clock, struct hy_copy, clock);
		if (!copy->used && copy->state == HY_COPY_VALID && !copy->refs)
			return unlink_copy(c, copy);
		copy->used = false;
		list_move_tail(&copy->clock, &c->clock);
	}
	return NULL;
}

/*
 * Have fills brought the hits that they cost?  If not, is it one of the few extents that are read
 * all the same?  A few extents rather than a few misses: of these all reads show what a fill is
 * worth.  They are others after some thousand misses.
 */
static bool is_earned(const struct hy_cache_core *c, u64 le)
{
	return c->credit >= HY_CACHE_COST ||
	       !hash_64(le + (c->misses >> HY_CACHE_TURN), ilog2(HY_CACHE_TRY));
}

/**
 * hy_cc_may_fill - is an extent to be read as a whole?
 * @c: the cache
 * @le: logical extent, for which hy_cc_read() found nothing
 * @entry: the map's, as the reader found it after it had entered the epoch, where it stays
 * @now: the map's, looked up since the lock was taken
 * @evicted: set to a copy that makes room for it and is the caller's, or NULL
 *
 * Not while a write is in flight: what is read then may be older than what that one is told to
 * have written.  And not from where the extent was: writes to where it is since are over, and
 * are not known here.
 *
 * Return: true: hy_cc_fill() may follow, without the lock having been let go of.
 */
bool hy_cc_may_fill(struct hy_cache_core *c, u64 le, u64 entry, u64 now, struct hy_copy **evicted)
{
	*evicted = NULL;
	if (entry != now || !c->ready || !c->max || c->writes[bucket_of(le)] ||
	    *bad_of(c, le) == le + 1 || find(c, le) || !is_earned(c, le))
		return false;
	if (c->alive < c->max)
		return true;
	if (c->alive == c->max)
		*evicted = evict(c);
	return *evicted;
}

/**
 * hy_cc_fill - an extent is about to be read as a whole
 * @c: the cache
 * @copy: where to; not in any list, and held by the caller from now on
 * @le: logical extent, for which hy_cc_may_fill() is true
 * @entry: the map's, as there
 */
void hy_cc_fill(struct hy_cache_core *c, struct hy_copy *copy, u64 le, u64 entry)
{
	copy->le = le;
	copy->entry = entry;
	copy->state = HY_COPY_FILLING;
	copy->refs = 1;
	copy->used = false;
	copy->written = false;
	copy->moving = false;
	list_add_tail(&copy->list, &c->bucket[bucket_of(le)]);
	list_add_tail(&copy->clock, &c->clock);
	c->nr++;
	c->alive++;
	c->fills++;
	c->credit -= min_t(u32, c->credit, HY_CACHE_COST);
}

/**
 * hy_cc_filled - it has been read
 * @c: the cache
 * @copy: held
 * @ok: without an error; otherwise that is not tried again soon
 *
 * The first that wanted it is no sign that it will be wanted again: it is not used yet.
 */
void hy_cc_filled(struct hy_cache_core *c, struct hy_copy *copy, bool ok)
{
	if (!ok)
		*bad_of(c, copy->le) = copy->le + 1;
	if (copy->state != HY_COPY_FILLING)
		return;
	if (ok)
		copy->state = HY_COPY_VALID;
	else
		kill(c, copy);
}

/**
 * hy_cc_put - let go of a copy
 * @c: the cache
 * @copy: held
 *
 * Return: true: the caller has to free it.
 */
bool hy_cc_put(struct hy_cache_core *c, struct hy_copy *copy)
{
	if (--copy->refs || copy->state != HY_COPY_GONE)
		return false;
	c->alive--;
	return true;
}

/* Does anybody look at it who can't have it changed? */
static bool is_looked_at(struct hy_copy *copy)
{
	return copy->refs > (copy->moving && !copy->still ? 1 : 0);
}

/**
 * hy_cc_write_begin - a write is about to be sent
 * @c: the cache
 * @le: logical extent
 * @entry: where it goes
 * @touched: granules of which it writes something; 0: it is not to be taken over
 * @drop: set to a copy to be freed, or NULL
 *
 * Return: a copy, held, that is to get the data before the write is sent; NULL: none.
 */
struct hy_copy *hy_cc_write_begin(struct hy_cache_core *c, u64 le, u64 entry, u32 touched,
				  struct hy_copy **drop)
{
	struct hy_copy *copy = find(c, le);

	c->writes[bucket_of(le)]++;
	*drop = NULL;
	if (*bad_of(c, le) == le + 1)
		*bad_of(c, le) = 0;	/* what can't be read can be written, and read then */
	if (!copy)
		return NULL;
	/* VALID: no other write to it is under way, or it would be WRITING or gone. */
	if (!touched || copy->state != HY_COPY_VALID || is_looked_at(copy) ||
	    copy->entry != entry || touched & ~ek_entry_valid(entry)) {
		*drop = kill(c, copy);
		return NULL;
	}
	copy->state = HY_COPY_WRITING;
	copy->used = true;
	copy->written = true;
	copy->refs++;
	c->updates++;
	return copy;
}

/**
 * hy_cc_write_end - it is done, and nobody has been told yet
 * @c: the cache
 * @le: logical extent
 * @updates: hy_cc_write_begin() had a copy for it
 * @ok: it has succeeded
 *
 * Return: a copy to be freed, or NULL.
 */
struct hy_copy *hy_cc_write_end(struct hy_cache_core *c, u64 le, bool updates, bool ok)
{
	struct hy_copy *copy = updates ? find(c, le) : NULL;

	c->writes[bucket_of(le)]--;
	/* Another write would have dropped it, and none is there that began later. */
	if (!copy || copy->state != HY_COPY_WRITING)
		return NULL;
	if (!ok)
		return kill(c, copy);
	copy->state = HY_COPY_VALID;
	return NULL;
}

/**
 * hy_cc_hold - a copy, to write it elsewhere
 * @c: the cache
 * @le: logical extent
 * @entry: of the map; 0: it is not there any more
 * @still: it is not to change while it is held: who writes to the extent drops it then
 * @drop: set to a copy to be freed, or NULL
 *
 * The caller is the extent's only migration, and knows of all writes that are under way: what it
 * gets is what the place has, but for what they write.  A copy of another entry will not do for
 * anybody, and is not to be there when the extent comes back to its place.
 *
 * Return: it, held until hy_cc_release(), or NULL: there is none.
 */
struct hy_copy *hy_cc_hold(struct hy_cache_core *c, u64 le, u64 entry, bool still,
			   struct hy_copy **drop)
{
	struct hy_copy *copy = find(c, le);

	*drop = NULL;
	if (copy && copy->entry != entry) {
		*drop = kill(c, copy);
		return NULL;
	}
	/* Turned off: writes are not counted any more, and what there is will go. */
	if (!copy || !c->ready || copy->state == HY_COPY_FILLING ||
	    (still && copy->state == HY_COPY_WRITING))
		return NULL;
	copy->moving = true;
	copy->still = still;
	copy->refs++;
	return copy;
}

/**
 * hy_cc_keeps_up - has a copy what was written since it is held?
 * @c: the cache
 * @copy: held by a migration
 *
 * A write that was not taken over, or has failed, has dropped it.
 *
 * Return: true: it has what the place has, but for writes that are under way.
 */
bool hy_cc_keeps_up(struct hy_cache_core *c, struct hy_copy *copy)
{
	return c->ready && copy->state != HY_COPY_GONE;
}

/**
 * hy_cc_release - a migration lets go of a copy
 * @c: the cache
 * @copy: from hy_cc_hold()
 *
 * Return: true: the caller has to free it.
 */
bool hy_cc_release(struct hy_cache_core *c, struct hy_copy *copy)
{
	copy->moving = false;
	return hy_cc_put(c, copy);
}

/**
 * hy_cc_pick - an extent that is written to and costs no read to move
 * @c: the cache
 * @member: that it is to leave
 * @le: set to it
 *
 * Each is picked once for each write that its copy took over.  A few copies are looked at, others
 * the next time: the clock's hand goes on.
 *
 * Return: true if there is one.
 */
bool hy_cc_pick(struct hy_cache_core *c, unsigned int member, u64 *le)
{
	unsigned int n = min_t(u32, c->nr, HY_CACHE_LOOK);
	struct hy_copy *copy;

	while (n--) {
		copy = list_first_entry(&c->clock, struct hy_copy, clock);
		list_move_tail(&copy->clock, &c->clock);
		if (!copy->written || copy->state != HY_COPY_VALID || copy->refs ||
		    ek_entry_member(copy->entry) != member)
			continue;
		copy->written = false;
		*le = copy->le;
		return true;
	}
	return false;
}

/**
 * hy_cc_moved - an extent has moved, with all that was written to it
 * @c: the cache
 * @le: logical extent
 * @from: the entry it had
 * @to: the entry it has
 *
 * A copy has what was there if it could be read from all the time: no write has begun since.  Any
 * other, but one of the new place, is dropped, even while it is being filled: the extent may come
 * back to where that was read from.
 *
 * Return: a copy to be freed, or NULL.
 */
struct hy_copy *hy_cc_moved(struct hy_cache_core *c, u64 le, u64 from, u64 to)
{
	struct hy_copy *copy = find(c, le);

	if (copy && copy->state == HY_COPY_VALID && copy->entry == from)
		copy->entry = to;
	return copy && copy->entry != to ? kill(c, copy) : NULL;
}

/**
 * hy_cc_drop - forget an extent
 * @c: the cache
 * @le: logical extent
 *
 * Return: a copy to be freed, or NULL.
 */
struct hy_copy *hy_cc_drop(struct hy_cache_core *c, u64 le)
{
	struct hy_copy *copy = find(c, le);

	return copy ? kill(c, copy) : NULL;
}

/**
 * hy_cc_take_any - forget the extent that the clock's hand is at
 * @c: the cache, not empty
 *
 * Return: a copy to be freed, or NULL: those who hold it do that.
 */
struct hy_copy *hy_cc_take_any(struct hy_cache_core *c)
{
	return unlink_copy(c, list_first_entry(&c->clock, struct hy_copy, clock));
}
