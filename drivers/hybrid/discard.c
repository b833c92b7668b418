// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discards: a whole extent is unmapped and its place freed, so that the next write
 * to it is an allocation (wu-reddy section II); in an extent's part the granules
 * that it covers become unwritten.  Either way they read as zeroes from then on.
 * Granules covered in part stay as they are.  Where the volume ends its last extent, and granule,
 * does, too.
 *
 * Members are told when the free is durable (free.c); granules of an extent that
 * stays are not passed down.  A large discard goes on in pieces, as what it frees is committed.
 */
#include "hybrid.h"

/* @f is used up on success. */
static bool unmap(struct hy_pool *pool, u64 le, u64 entry, struct hy_free *f)
{
	bool done;

	down_read(&pool->free_sem);
	done = ek_map_cmpxchg(&pool->map, le, entry, 0) == entry;
	if (done)
		hy_free_queue(pool, f, entry);
	up_read(&pool->free_sem);
	return done;
}

/* @whole: all that the volume has of the extent. */
static int discard_in(struct hy_pool *pool, u64 le, u32 bits, bool whole)
{
	struct hy_free *f = NULL;
	u64 entry, left;
	int r;

	for (;;) {
		r = hy_pool_lookup(pool, le, &entry);
		if (r || !ek_entry_mapped(entry))
			break;
		left = ek_entry_discard(entry, bits, whole);
		if (left == entry)
			break;
		if (!left && !f)
			f = hy_free_alloc(HY_MUST);
		if (!left && unmap(pool, le, entry, f)) {
			hy_cache_forget(pool, le);
			atomic64_dec(&pool->mapped);
			return 0;
		}
		if (left && ek_map_cmpxchg(&pool->map, le, entry, left) == entry) {
			hy_cache_forget(pool, le);
			hy_commit_soon(pool);
			break;
		}
	}
	hy_free_drop(f);
	return r;
}

/*
 * Sectors [from, to) of an extent.  The last one of the pool ends where the volume does, or no
 * discard would ever free it; not one within, where a table is shorter than the pool.
 */
static int discard_extent(struct hy_pool *pool, u64 le, u32 from, u32 to)
{
	sector_t base = (sector_t)le << pool->extent_shift;
	u32 end = pool->extent_sectors;

	/* A discard is under way, so no other table is bound meanwhile. */
	if (le == pool->nr_extents - 1)
		end = min_t(sector_t, pool->bound->ti->len - base, end);
	if (!from && to == pool->extent_sectors)
		return discard_in(pool, le, U32_MAX, true);
	return discard_in(pool, le, ek_discard_covers(from, to, end, pool->granule_shift),
			  !from && to == end);
}

/**
 * hy_map_discard - unmap what a discard covers
 * @pool: the pool
 * @bio: discard; may span extents
 * @worker: called from a lane; the work is done there, it may be long
 *
 * Return: DM_MAPIO_SUBMITTED.
 */
int hy_map_discard(struct hy_pool *pool, struct bio *bio, bool worker)
{
	sector_t sector = bio->bi_iter.bi_sector;
	sector_t end = bio_end_sector(bio);
	u64 first = sector >> pool->extent_shift;
	u64 nr_extents = pool->map.nr_extents;
	int r = 0;

	if (!worker) {
		hy_io(bio)->waited = false;
		hy_defer_bio(pool, bio);
		return DM_MAPIO_SUBMITTED;
	}
	while (!r && sector < end) {
		u64 le = sector >> pool->extent_shift;
		sector_t base = (sector_t)le << pool->extent_shift;
		u32 from = sector - base;
		u32 to = min_t(sector_t, end - base, pool->extent_sectors);

		if (le >= nr_extents)
			break;
		bio_advance(bio, (sector - bio->bi_iter.bi_sector) << SECTOR_SHIFT);
		if (le > first && !(le % EK_PAGE_ENTRIES)) {
			hy_io(bio)->waited = false;
			hy_free_went_on(pool);
		}
		if (hy_free_crowded(pool, bio))
			return DM_MAPIO_SUBMITTED;
		r = discard_extent(pool, le, from, to);
		sector = base + pool->extent_sectors;
		cond_resched();
	}
	bio->bi_status = errno_to_blk_status(r);
	bio_endio(bio);
	hy_free_went_on(pool);
	return DM_MAPIO_SUBMITTED;
}
