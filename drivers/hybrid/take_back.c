// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a member may have lost before the map that points to it was committed.
 *
 * A flush that fails may have dropped all that was acknowledged since the one before, and one that
 * ends well afterwards says nothing of that.  The same goes for a member that is taken away.
 * Without what is here:
 *
 *	X is discarded, committed
 *				place P on member b is free; it holds X's bytes
 *	Y's first write, to P, is done
 *				b's cache has Y's bytes; in memory Y's granules are valid, at P
 *	a commit: b's flush fails
 *				b has dropped its cache: X's bytes are what there is at P
 *	the next flush ends well, or b is given up and it goes on without
 *				the media have the map with Y's granules valid, at P
 *	Y is read, now or after a start
 *				X's bytes, and no error
 *
 * Granules first written of an extent that is there for long are no better: beneath them is what
 * the place held before.  So what was not committed before such a flush is not committed, and not
 * read any more:
 *
 *	the flush fails		b is doubted
 *	hy_free_revert()	what moved to b is where it was; then who reads or writes is waited
 *				for: the bits of all that b acknowledged before are set
 *	the commit begins again	b is not asked any more.  What is taken of extents on b is what is
 *				committed already: granules first written since then are not valid,
 *				neither on the media nor in memory, and read as zeroes.  An extent
 *				that moved from b was perhaps copied when b had lost it: the same
 *				where it is now
 *	journal, or superblock	b is not doubted any more: what was not committed is gone, what is
 *				valid from here on was written after that flush
 *	hy_take_back_end()	who reads or writes is waited for: granules may have been taken back
 *				before their write was acknowledged; flushes are told
 *
 * Cut anywhere here: what was committed, and that had been flushed before.  Nobody was told that
 * anything else is durable, as no flush of a user has ended well since it was written.
 *
 * An extent that is new keeps its place, with nothing valid in it, so that the space maps need not
 * be told and nothing is allocated.  Granules that are valid on the media stay so: they have bytes
 * that were the extent's own, if not the last ones.
 *
 * What is committed is asked of the store: neither the map nor the fast path has it to remember.
 * If that can't be read the commit fails, and b stays doubted.
 */
#include "hybrid.h"

/* An extent's entry on the media, the journal included. */
static int committed_entry(struct hy_pool *pool, u64 le, u64 *entry)
{
	u64 index = le / EK_PAGE_ENTRIES;
	int r;

	if (pool->committed_index != index) {
		pool->committed_index = U64_MAX;
		r = ek_store_read_committed(pool->store, index, pool->committed);
		if (r) {
			DMERR_LIMIT("a page of the map as committed can't be read: error %d", r);
			return r;
		}
		pool->committed_index = index;
	}
	*entry = le64_to_cpu(pool->committed->entry[le % EK_PAGE_ENTRIES]);
	return 0;
}

/* Granules that are as durable as they were when their extent was committed at this place. */
static u32 durable(u64 place, u64 committed)
{
	return ek_entry_place(committed) == place ? ek_entry_valid(committed) : 0;
}

static bool is_doubted(struct hy_pool *pool, u64 entry)
{
	return ek_entry_mapped(entry) && test_bit(ek_entry_member(entry), &pool->doubted);
}

/* In memory: of an extent that is at @place only these granules stay valid. */
static void narrow(struct hy_pool *pool, u64 le, u64 place, u32 keep)
{
	u64 entry;

	do {
		if (ek_map_lookup(&pool->map, le, &entry) || ek_entry_place(entry) != place ||
		    !(ek_entry_valid(entry) & ~keep))
			return;
	} while (ek_map_cmpxchg(&pool->map, le, entry, entry & (place | keep)) != entry);
	hy_cache_forget(pool, le);
	pool->nr_taken_back++;
}

/**
 * hy_take_back - what of an entry may be committed
 * @pool: the pool
 * @le: logical extent
 * @entry: as found in the map; as it is to be committed
 *
 * The map has no more than that either, when this returns.
 * Context: the committer; free_sem held for writing, after hy_take_back_moved(); sleeps.
 * Return: 0, or an error: it can't be told.
 */
int hy_take_back(struct hy_pool *pool, u64 le, u64 *entry)
{
	u64 place = ek_entry_place(*entry), committed;
	u32 keep;
	int r;

	if (likely(!is_doubted(pool, *entry)))
		return 0;
	r = committed_entry(pool, le, &committed);
	if (r)
		return r;
	keep = durable(place, committed);
	narrow(pool, le, place, keep);
	*entry &= place | keep;
	return 0;
}

/**
 * hy_take_back_moved - extents that moved away from members that are doubted
 * @pool: the pool
 * @frees: what they left, as taken for this commit
 *
 * Context: the committer; free_sem held for writing, before changed entries are taken; sleeps.
 * Return: 0, or an error: what they may keep can't be told.
 */
int hy_take_back_moved(struct hy_pool *pool, struct list_head *frees)
{
	struct hy_free *f;
	u64 committed;
	int r;

	if (likely(!pool->doubted))
		return 0;
	pool->committed_index = U64_MAX;
	list_for_each_entry(f, frees, list) {
		if (!f->moved || !is_doubted(pool, f->old))
			continue;
		r = committed_entry(pool, f->le, &committed);
		if (r)
			return r;
		narrow(pool, f->le, ek_entry_place(hy_free_moved_last(frees, f)->now),
		       durable(ek_entry_place(f->old), committed));
	}
	return 0;
}

static int take_back_marked(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	struct hy_pool *pool = ctx;
	int r = hy_take_back(pool, le, &entry);

	ek_map_mark_changed(&pool->map, le);
	return r;
}

/**
 * hy_take_back_all - in memory only: nothing is committed any more
 * @pool: the pool, read-only
 *
 * Context: the committer; sleeps.
 * Return: 0, or an error: it can't be told.
 */
int hy_take_back_all(struct hy_pool *pool)
{
	LIST_HEAD(frees);
	int r;

	if (!pool->doubted)
		return 0;
	down_write(&pool->free_sem);
	hy_free_take(pool, &frees);
	r = hy_take_back_moved(pool, &frees);
	if (!r)
		r = ek_map_take_changed(&pool->map, take_back_marked, pool);
	hy_free_untake(pool, &frees);
	up_write(&pool->free_sem);
	return r;
}

/**
 * hy_take_back_end - writes whose granules were taken back are done, and are to be told of
 * @pool: the pool
 *
 * Context: the committer; sleeps.
 */
void hy_take_back_end(struct hy_pool *pool)
{
	if (!pool->nr_taken_back)
		return;
	synchronize_srcu(&pool->srcu);
	hy_commit_lost(pool);
	DMERR_LIMIT("%u extents have lost what was first written there and could not be flushed",
		    pool->nr_taken_back);
	pool->nr_taken_back = 0;
}
