// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extent cache: whole extents that were read of late, in memory (wu-reddy section III, figures
 * 3 and 4; 100 of them there).  It writes through, so it has nothing that could be lost; a read
 * that misses reads the whole extent, and those that come meanwhile wait for the same.  Off unless
 * cache_extents is set.
 *
 * No read may be answered with what is older than a write that was acknowledged before it came.
 * All this is done under one lock, by cache_core.c:
 *
 *	a write, before it is sent	counts itself in its bucket; a copy of the extent is
 *					dropped, or takes its data and is not read from
 *					until the write has succeeded
 *	it, before anybody is told	counts itself out
 *	a read that misses		begins to read the extent if no write is counted,
 *					and announces that
 *	the extent has been read	it becomes a copy if nobody has dropped the announcement
 *	a read that finds a copy	takes it if it has the entry that the reader found
 *
 * An entry is looked up long before all that, so it has to be the map's still, under the lock, for
 * a read to be announced:
 *
 *	reader			migration, writer	without that
 *	looks E up
 *				map: E'; no copy
 *				writes to E', is told	nothing to be dropped
 *	announces, reads E				a copy of E, older than that write
 *				migration back to E	it is the map's, and read from
 *
 * Who changes the map after the announcement finds it when he writes to the new place: dropped.
 *
 * So no write was under way, anywhere in time, while a copy's data were read, but those that it
 * took over itself: it has what the place of its entry has.
 *
 *	reader			writer			why the reader is right
 *	announces
 *				counts, drops it	what it reads may be old, or torn: those
 *				sends, is told		who wait came before the write was sent;
 *	has read: not kept				later ones find nothing to wait for
 *	finds a write counted	sends, is told		reads what it wants, and no more
 *	takes a copy
 *				counts, drops it	goes on with what it holds: it began
 *				is told			before the write was sent
 *
 * Members complete bios in hard interrupts, where little is copied: when those who wait want more,
 * a work item hands it out, and it is only there that the extent becomes a copy.  So a write may
 * come between:
 *
 *	reader			member, work item	writer
 *	announces, waits
 *				has read; queued
 *				.			counts, finds it being filled: drops it
 *				.			sends, is told
 *	another finds nothing	.
 *				not kept; hands out
 *	gets what was there	 what it has		who waited came before the write was sent
 *	when it came
 *
 * Once it is a copy, and as long as it is being handed out, it is held: a write drops it and leaves
 * it as it is.
 *
 * The entry is what makes discards, migrations and what undoes them harmless.  Readers look it up
 * when they have entered the epoch:
 *
 *	discard, whole or in part	an entry that is not the copy's, before it is told
 *	the same place once more	after a discard by a write, which is counted and finds
 *					another entry than the copy's, or the copy gone; after a
 *					migration by another one, which drops what it doesn't write
 *	migration, evacuation		another place, with the same data when no write is under
 *					way: the copy is given the new entry, or dropped
 *	undone (free.c)			the place of before, where nobody has written since: a write
 *					to the new one finds another entry than the copy's and drops
 *					it
 *	granules never written		zeroes in the copy; the member is not asked for them, as
 *					what it has there may be another's, or nothing that can be
 *					read; a first write changes the entry and drops it
 *
 * A copy takes a write's data only if it has the place that the write goes to, all that the write
 * touches was written before, and nobody else writes there or looks at the copy; otherwise it is
 * dropped.  Whoever changes a page while it is being written can't say which of both is on the
 * member, and will write it again if that matters to him; the copy has one of both, too.
 *
 * A place is not reused while it is being read, as he whose read it is has not left the epoch.
 * A write that fails, and a member that may have lost what it was given, drop what there is.
 * Nothing is kept while the pool is suspended.  Writes begin to be counted when the cache is turned
 * on; only when all that began before are done (epoch.c) does it begin to read.
 *
 * Migrations write what is in memory instead of reading it (migrate.c), and tokens move an extent
 * first whose copy takes writes over (mover.c): the papers' migration on write, but for the write
 * itself, which goes to where the extent is: to have it go to the new place at once it would have
 * to wait until all that is in flight in the pool is done (epoch.c), and for a whole extent.  When
 * a migration has been announced and all writes of before are done, a copy has what the place has,
 * but for what is being written, or is none:
 *
 *	migration		writer			why the new place gets what the old has
 *	announced; drained				it is told of each write that is done
 *	holds the copy
 *	writes it elsewhere	counts; the copy	torn or early there: to be written again
 *				 takes its data
 *				is done, tells
 *	writes that again				from the copy: had it not taken the data, or
 *							the write failed, it would be gone
 *	switches					no write is under way, none to be told
 *
 * A copy that has been dropped stays as it is for the migration that holds it, which copies from
 * the member what was written since.  So it is, too, if the member that it moves to can't have
 * memory change while it is written (checksums on the way): the copy takes nothing then.
 *
 * Reads that failed as a whole extent are done again each for itself: the bad sector may be
 * nobody's.  Memory that can't be had at once is not waited for, and the shrinker takes back what
 * there is.
 *
 * What is answered from memory is no request to a member: the monitor and the policy know of those
 * that reach one.
 */
#include <linux/highmem.h>
#include <linux/slab.h>
#include <evenkeel/copy.h>
#include "cache_internal.h"
#include "hybrid.h"

#define HY_CACHE_AT_ONCE	SZ_16K	/* bytes copied wherever a member's bio completes */
#define HY_CACHE_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC)

/**
 * struct hy_slot - a copy and its memory
 * @copy: its state
 * @cache: whose it is
 * @waiters: reads that wait for it to be filled
 * @wanted: bytes that they want
 * @bio: that fills it, or writes what is in it elsewhere
 * @work: what can't be done where a bio was submitted or has completed
 * @written: called when it was written elsewhere
 * @context: for that
 * @error: of @bio
 * @vec: for @bio
 * @page: chunks of memory
 */
struct hy_slot {
	struct hy_copy copy;
	struct hy_cache *cache;
	struct bio_list waiters;
	u64 wanted;
	struct bio bio;
	struct work_struct work;
	void (*written)(void *context, int error);
	void *context;
	int error;
	struct bio_vec *vec;
	struct page *page[];
};

static struct hy_slot *slot_of(struct hy_copy *copy)
{
	return container_of(copy, struct hy_slot, copy);
}

/* --- memory --- */

static void slot_free(struct hy_cache *cache, struct hy_slot *slot)
{
	unsigned int i;

	for (i = 0; i < cache->nr_chunks && slot->page[i]; i++)
		__free_pages(slot->page[i], cache->chunk_shift - PAGE_SHIFT);
	kfree(slot);
}

/* @copy: NULL is fine.  Context: any. */
static void copy_free(struct hy_cache *cache, struct hy_copy *copy)
{
	if (copy)
		slot_free(cache, slot_of(copy));
}

static struct hy_slot *slot_alloc(struct hy_cache *cache)
{
	unsigned int nr = cache->nr_chunks, order = cache->chunk_shift - PAGE_SHIFT, i;
	struct hy_slot *slot;

	slot = kzalloc(struct_size(slot, page, nr) + nr * sizeof(struct bio_vec), HY_CACHE_GFP);
	if (!slot)
		return NULL;
	slot->cache = cache;
	slot->vec = (void *)&slot->page[nr];
	for (i = 0; i < nr; i++) {
		slot->page[i] = alloc_pages(HY_CACHE_GFP | (order ? __GFP_COMP : 0), order);
		if (!slot->page[i]) {
			slot_free(cache, slot);
			return NULL;
		}
	}
	return slot;
}

static u32 chunk_bytes(struct hy_cache *cache)
{
	return 1u << cache->chunk_shift;
}

/* Between a bio of the target and the copy of its extent.  Context: any. */
static void transfer(struct hy_slot *slot, struct bio *bio, bool to_bio)
{
	struct hy_cache *cache = slot->cache;
	u32 mask = cache->pool->extent_sectors - 1;
	u32 at = (bio->bi_iter.bi_sector & mask) << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		void *mapped = bvec_kmap_local(&bv), *p = mapped;
		u32 left = bv.bv_len;

		while (left) {
			u32 offset = at & (chunk_bytes(cache) - 1);
			u32 n = min(left, chunk_bytes(cache) - offset);
			void *q = page_address(slot->page[at >> cache->chunk_shift]) + offset;

			if (to_bio)
				ek_copy(p, q, n);
			else
				ek_copy(q, p, n);
			p += n;
			at += n;
			left -= n;
		}
		kunmap_local(mapped);
		if (to_bio)
			flush_dcache_page(bv.bv_page);
	}
}

/* Chunks in a granule, which is whole chunks, as a shift. */
static unsigned int granule_chunks(struct hy_cache *cache)
{
	return cache->pool->granule_shift + SECTOR_SHIFT - cache->chunk_shift;
}

/* What was never written is zeroes. */
static void zero_holes(struct hy_slot *slot, u64 entry)
{
	struct hy_cache *cache = slot->cache;
	unsigned int shift = granule_chunks(cache), i;

	for (i = 0; i < cache->nr_chunks; i++)
		if (!(ek_entry_valid(entry) & BIT(i >> shift)))
			memset(page_address(slot->page[i]), 0, chunk_bytes(cache));
}

/* A bio from or to granules of an extent, which begins at @sector.  The caller submits it. */
static void slot_bio(struct hy_slot *slot, struct block_device *bdev, blk_opf_t opf,
		     sector_t sector, u32 first, u32 last, bio_end_io_t *done)
{
	struct hy_cache *cache = slot->cache;
	unsigned int shift = granule_chunks(cache), i;

	bio_init(&slot->bio, bdev, slot->vec, cache->nr_chunks, opf);
	slot->bio.bi_iter.bi_sector = sector + (first << cache->pool->granule_shift);
	for (i = first << shift; i < (last + 1) << shift; i++)
		__bio_add_page(&slot->bio, slot->page[i], chunk_bytes(cache), 0);
	slot->bio.bi_private = slot;
	slot->bio.bi_end_io = done;
}

/* --- reads --- */

static void put(struct hy_cache *cache, struct hy_slot *slot)
{
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&cache->lock, flags);
	last = hy_cc_put(&cache->core, &slot->copy);
	spin_unlock_irqrestore(&cache->lock, flags);
	if (last)
		slot_free(cache, slot);
}

/* Those who wait for an extent come no more: it is a copy, or will be none.  cache->lock held. */
static struct bio_list end_fill(struct hy_slot *slot)
{
	struct bio_list bios = slot->waiters;

	hy_cc_filled(&slot->cache->core, &slot->copy, !slot->error);
	bio_list_init(&slot->waiters);
	return bios;
}

/*
 * An extent has been read: those who wait for it get what they want, unless that is more than
 * @at_most, which is to be HY_CACHE_AT_ONCE where it can't sleep.  With the last bio the pool may
 * go.
 */
static bool hand_out(struct hy_slot *slot, u64 at_most)
{
	struct hy_cache *cache = slot->cache;
	struct bio_list bios = BIO_EMPTY_LIST;
	unsigned long flags;
	struct bio *bio;
	u32 bytes = 0;
	bool fits;

	spin_lock_irqsave(&cache->lock, flags);
	fits = slot->wanted <= at_most;
	if (fits)
		bios = end_fill(slot);
	spin_unlock_irqrestore(&cache->lock, flags);
	if (!fits)
		return false;
	bio_list_for_each(bio, &bios) {
		transfer(slot, bio, true);
		bytes += bio->bi_iter.bi_size;
		if (bytes > HY_CACHE_AT_ONCE) {
			cond_resched();
			bytes = 0;
		}
	}
	put(cache, slot);
	while ((bio = bio_list_pop(&bios)))
		bio_endio(bio);
	return true;
}

/* An extent could not be read as a whole: each reads what it wants.  They are pinned. */
static void read_each(struct hy_slot *slot)
{
	struct hy_cache *cache = slot->cache;
	u64 entry = slot->copy.entry;
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&cache->lock);
	bios = end_fill(slot);
	spin_unlock_irq(&cache->lock);
	put(cache, slot);
	while ((bio = bio_list_pop(&bios)))
		hy_io_read_itself(cache->pool, bio, entry);
}

static void filled(struct work_struct *work)
{
	struct hy_slot *slot = container_of(work, struct hy_slot, work);

	if (slot->error)
		read_each(slot);
	else
		hand_out(slot, U64_MAX);
}

/* Any context, also hard interrupt. */
static void fill_done(struct bio *fill)
{
	struct hy_slot *slot = fill->bi_private;

	slot->error = blk_status_to_errno(fill->bi_status);
	bio_uninit(fill);
	if (!slot->error && hand_out(slot, HY_CACHE_AT_ONCE))
		return;
	INIT_WORK(&slot->work, filled);
	queue_work(slot->cache->pool->wq, &slot->work);
}

/*
 * Of the bio from the first to the last granule that was written, those between that were not are
 * left out.  The pieces are chained to it, so it ends with the last of them.
 */
static void submit_pieces(struct work_struct *work)
{
	struct hy_slot *slot = container_of(work, struct hy_slot, work);
	struct hy_pool *pool = slot->cache->pool;
	struct hy_member *m = &pool->member[ek_entry_member(slot->copy.entry)];
	u64 rest = ek_entry_valid(slot->copy.entry);	/* from the bio's start on */
	struct bio *bio = &slot->bio, *piece;
	unsigned int n;

	rest >>= __ffs64(rest);
	for (n = __ffs64(~rest); rest >> n; n = __ffs64(~rest)) {
		piece = bio_split(bio, n << pool->granule_shift, GFP_NOIO, &pool->bs);
		bio_chain(piece, bio);
		hy_submit_bio(m, piece);
		rest >>= n;
		n = __ffs64(rest);
		bio_advance(bio, n << pool->granule_shift << SECTOR_SHIFT);
		rest >>= n;
	}
	hy_submit_bio(m, bio);
}

/* What was never written is not read, either. */
static u32 fill_bytes(const struct hy_pool *pool, u64 entry)
{
	return hweight_long(ek_entry_valid(entry)) << pool->granule_shift << SECTOR_SHIFT;
}

static void submit_fill(struct hy_slot *slot, u64 entry, blk_opf_t opf, bool worker)
{
	struct hy_pool *pool = slot->cache->pool;
	struct hy_member *m = &pool->member[ek_entry_member(entry)];
	u32 first = __ffs(ek_entry_valid(entry)), last = __fls(ek_entry_valid(entry));

	zero_holes(slot, entry);
	slot_bio(slot, m->bdev, REQ_OP_READ | (opf & (REQ_SYNC | REQ_META | REQ_PRIO)),
		 m->data + ((sector_t)ek_entry_pe(entry) << pool->extent_shift), first, last,
		 fill_done);
	if (ek_entry_valid(entry) == GENMASK(last, first)) {
		if (worker)
			hy_submit_bio(m, &slot->bio);
		else
			submit_bio_noacct(&slot->bio);
		return;
	}
	/* Splitting allocates from a pool whose bios this thread may have queued. */
	INIT_WORK(&slot->work, submit_pieces);
	queue_work(pool->wq, &slot->work);
}

/* Is it worth to have what this member answers, and are whole extents of it to be had? */
static bool is_cached(struct hy_member *m)
{
	u32 state = READ_ONCE(m->state);

	return !m->direct && state != EK_MEMBER_DEGRADED && state != EK_MEMBER_FAILED;
}

/* cache->lock held, and the extent is not a copy yet. */
static void wait_for(struct hy_slot *slot, struct bio *bio)
{
	bio_list_add(&slot->waiters, bio);
	slot->wanted += bio->bi_iter.bi_size;
}

/* A place for an extent to be read; it is announced then, with the bio waiting. */
static struct hy_slot *announce(struct hy_cache *cache, struct bio *bio, u64 le, u64 entry)
{
	struct hy_slot *slot = NULL, *spare = NULL;
	struct hy_copy *evicted = NULL;
	unsigned long flags;
	u64 now = 0;

	/* Without the lock: a guess. */
	if (READ_ONCE(cache->core.alive) < READ_ONCE(cache->core.max))
		spare = slot_alloc(cache);
	spin_lock_irqsave(&cache->lock, flags);
	if (!ek_map_lookup(&cache->pool->map, le, &now) &&
	    hy_cc_may_fill(&cache->core, le, entry, now, &evicted)) {
		slot = evicted ? slot_of(evicted) : spare;
		if (slot == spare)
			spare = NULL;
	}
	if (slot) {
		bio_list_init(&slot->waiters);
		slot->wanted = 0;
		wait_for(slot, bio);
		hy_cc_fill(&cache->core, &slot->copy, le, entry);
	}
	spin_unlock_irqrestore(&cache->lock, flags);
	if (spare)
		slot_free(cache, spare);
	return slot;
}

/**
 * hy_cache_read - answer a read from memory, or read its whole extent
 * @pool: the pool, caching
 * @bio: a read within one extent, its sector relative to the target
 * @io: pinned
 * @entry: of the extent, looked up since then; all that is to be read was written
 * @worker: called from a lane
 *
 * Context: any that may submit bios; does not wait.
 * Return: true: it has been or will be completed; false: it is the caller's.
 */
bool hy_cache_read(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry,
		   bool worker)
{
	struct hy_cache *cache = pool->cache;
	blk_opf_t opf = bio->bi_opf;
	struct hy_copy *copy, *drop;
	bool filling = false;
	unsigned long flags;
	struct hy_slot *slot;

	if (!is_cached(&pool->member[ek_entry_member(entry)]))
		return false;
	spin_lock_irqsave(&cache->lock, flags);
	copy = hy_cc_read(&cache->core, io->le, entry, &drop);
	if (copy && copy->state == HY_COPY_FILLING) {
		filling = true;
		hy_cc_put(&cache->core, copy);	/* who fills it holds it, too */
		bio_clear_polled(bio);
		wait_for(slot_of(copy), bio);
	}
	spin_unlock_irqrestore(&cache->lock, flags);
	copy_free(cache, drop);
	if (filling)
		return true;
	if (copy) {
		slot = slot_of(copy);
		bio_clear_polled(bio);
		transfer(slot, bio, true);
		put(cache, slot);
		bio_endio(bio);
		return true;
	}
	/* Who may not wait would wait for a request to be had, and for more than he wants. */
	slot = opf & REQ_NOWAIT ? NULL : announce(cache, bio, io->le, entry);
	if (!slot)
		return false;
	bio_clear_polled(bio);
	hy_io_sent(pool, bio, io, entry, fill_bytes(pool, entry));
	submit_fill(slot, entry, opf, worker);
	return true;
}

/* --- what migrations write from memory --- */

/**
 * hy_cache_hold - an extent in memory, for its migration
 * @pool: the pool
 * @le: logical extent; all writes to it that are not known to the migration have been done
 * @entry: the map's, looked up since; 0: it is not there any more
 * @to: where it will be written
 *
 * What it has is what its place has but for writes that the migration knows of.
 *
 * Context: process.
 * Return: it, for hy_cache_write_out() and hy_cache_release(); NULL: it is not in memory.
 */
struct hy_slot *hy_cache_hold(struct hy_pool *pool, u64 le, u64 entry, struct block_device *to)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);
	struct hy_copy *copy, *drop;

	if (!cache)
		return NULL;
	spin_lock_irq(&cache->lock);
	copy = hy_cc_hold(&cache->core, le, entry, bdev_stable_writes(to), &drop);
	cache->core.moves += copy ? 1 : 0;
	spin_unlock_irq(&cache->lock);
	copy_free(cache, drop);
	return copy ? slot_of(copy) : NULL;
}

/**
 * hy_cache_keeps_up - has what is in memory all that was written since?
 * @slot: held
 *
 * Asked after some writes are done and before it is written elsewhere.
 *
 * Context: any.
 * Return: true: it has, or those that are under way have.
 */
bool hy_cache_keeps_up(struct hy_slot *slot)
{
	struct hy_cache *cache = slot->cache;
	unsigned long flags;
	bool keeps_up;

	spin_lock_irqsave(&cache->lock, flags);
	keeps_up = hy_cc_keeps_up(&cache->core, &slot->copy);
	spin_unlock_irqrestore(&cache->lock, flags);
	return keeps_up;
}

/* No migration of the extent holds it any more.  @slot: NULL is fine.  Context: process. */
void hy_cache_release(struct hy_slot *slot)
{
	struct hy_cache *cache;
	bool last;

	if (!slot)
		return;
	cache = slot->cache;
	spin_lock_irq(&cache->lock);
	last = hy_cc_release(&cache->core, &slot->copy);
	spin_unlock_irq(&cache->lock);
	if (last)
		slot_free(cache, slot);
}

static void written_out(struct work_struct *work)
{
	struct hy_slot *slot = container_of(work, struct hy_slot, work);

	slot->written(slot->context, slot->error);
}

static void write_out_done(struct bio *bio)
{
	struct hy_slot *slot = bio->bi_private;

	slot->error = blk_status_to_errno(bio->bi_status);
	bio_uninit(bio);
	queue_work(slot->cache->pool->wq, &slot->work);
}

/**
 * hy_cache_write_out - write what is in memory of an extent
 * @slot: held by one who writes only
 * @bdev: where to
 * @sector: of the extent there
 * @first: granule
 * @last: granule
 * @written: called when it has been done, in process context
 * @context: for that
 *
 * Context: process.
 */
void hy_cache_write_out(struct hy_slot *slot, struct block_device *bdev, sector_t sector, u32 first,
			u32 last, void (*written)(void *context, int error), void *context)
{
	slot->written = written;
	slot->context = context;
	INIT_WORK(&slot->work, written_out);
	slot_bio(slot, bdev, REQ_OP_WRITE, sector, first, last, write_out_done);
	submit_bio(&slot->bio);
}

/**
 * hy_cache_pick - an extent in memory that is being written to, to be moved
 * @pool: the pool
 * @member: that it is to leave
 * @le: set to it
 *
 * Context: process.
 * Return: true if there is one.
 */
bool hy_cache_pick(struct hy_pool *pool, unsigned int member, u64 *le)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);
	bool found;

	if (!cache)
		return false;
	spin_lock_irq(&cache->lock);
	found = hy_cc_pick(&cache->core, member, le);
	spin_unlock_irq(&cache->lock);
	return found;
}

/* --- writes, and what else changes extents --- */

/**
 * hy_cache_write_begin - a write is about to be sent
 * @pool: the pool, caching
 * @bio: the write, its sector relative to the target
 * @io: pinned since before it looked whether the pool is caching
 * @entry: where it goes, of its first extent
 *
 * Context: any; hy_cache_write_end() must follow.
 */
void hy_cache_write_begin(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry)
{
	u32 touched = io->more || io->flags & HY_IO_FIRST ? 0 : io->touched;
	struct hy_cache *cache = pool->cache;
	struct hy_copy *copy, *drop;
	unsigned long flags;
	unsigned int i;

	io->flags |= HY_IO_COUNTED;
	for (i = 0; i <= io->more; i++) {
		spin_lock_irqsave(&cache->lock, flags);
		copy = hy_cc_write_begin(&cache->core, io->le + i, entry, touched, &drop);
		spin_unlock_irqrestore(&cache->lock, flags);
		copy_free(cache, drop);
		if (!copy)
			continue;
		/* Nobody reads it before the write has succeeded. */
		io->flags |= HY_IO_UPDATES;
		transfer(slot_of(copy), bio, false);
		put(cache, slot_of(copy));
	}
}

/**
 * hy_cache_write_end - a write is done, nobody has been told yet
 * @pool: the pool
 * @io: HY_IO_COUNTED
 * @ok: it has succeeded
 *
 * Context: any, also hard interrupt.
 */
void hy_cache_write_end(struct hy_pool *pool, struct hy_io *io, bool ok)
{
	struct hy_cache *cache = pool->cache;
	struct hy_copy *drop;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i <= io->more; i++) {
		spin_lock_irqsave(&cache->lock, flags);
		drop = hy_cc_write_end(&cache->core, io->le + i, io->flags & HY_IO_UPDATES, ok);
		spin_unlock_irqrestore(&cache->lock, flags);
		copy_free(cache, drop);
	}
	io->flags &= ~(HY_IO_COUNTED | HY_IO_UPDATES);
}

/**
 * hy_cache_moved - an extent is elsewhere, and what it has is the same
 * @pool: the pool
 * @le: logical extent
 * @from: the entry it had, until all writes there were done
 * @to: the entry it has
 *
 * Context: process; free_sem held for reading since before the map was changed, as who undoes it
 * drops the copy.
 */
void hy_cache_moved(struct hy_pool *pool, u64 le, u64 from, u64 to)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);
	struct hy_copy *drop;

	if (!cache)
		return;
	spin_lock_irq(&cache->lock);
	if (is_cached(&pool->member[ek_entry_member(to)]))
		drop = hy_cc_moved(&cache->core, le, from, to);
	else
		drop = hy_cc_drop(&cache->core, le);	/* nobody would look for it */
	spin_unlock_irq(&cache->lock);
	copy_free(cache, drop);
}

/**
 * hy_cache_forget - an extent has changed otherwise than by a write
 * @pool: the pool
 * @le: logical extent
 *
 * Context: any.
 */
void hy_cache_forget(struct hy_pool *pool, u64 le)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);
	struct hy_copy *drop;
	unsigned long flags;

	if (!cache)
		return;
	spin_lock_irqsave(&cache->lock, flags);
	drop = hy_cc_drop(&cache->core, le);
	spin_unlock_irqrestore(&cache->lock, flags);
	copy_free(cache, drop);
}

/**
 * hy_cache_shrink_to - forget extents, one after the other
 * @cache: the cache
 * @nr: until there are no more than so many
 * @at_most: or until so many have gone
 *
 * Context: any; takes the cache's lock.
 * Return: how many have gone.
 */
unsigned long hy_cache_shrink_to(struct hy_cache *cache, u32 nr, unsigned long at_most)
{
	unsigned long n = 0, flags;
	struct hy_copy *drop;
	bool more;

	do {
		drop = NULL;
		spin_lock_irqsave(&cache->lock, flags);
		more = cache->core.nr > nr && n < at_most;
		if (more)
			drop = hy_cc_take_any(&cache->core);
		spin_unlock_irqrestore(&cache->lock, flags);
		copy_free(cache, drop);
		n += more;
	} while (more);
	return n;
}

/**
 * hy_cache_forget_all - nothing of what is in memory can be relied on
 * @pool: the pool
 *
 * Context: process.
 */
void hy_cache_forget_all(struct hy_pool *pool)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);

	if (cache)
		hy_cache_shrink_to(cache, 0, ULONG_MAX);
}
