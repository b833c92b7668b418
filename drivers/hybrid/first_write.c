// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes that touch granules never written before, the allocation of extents
 * among them.
 *
 * Until its data is on the member a granule reads as zeroes; its validity bit is
 * set when the write completes.  First writes to one granule take turns: a bio
 * that wants a granule another one is writing waits for it.  So a write smaller
 * than its granule can fill the rest with zeroes without overwriting anybody.
 *
 * Cut before the bit is durable: the granule reads as zeroes again, or, when the
 * extent itself was not committed, nothing is allocated.  Cut after: the commit
 * that made it durable had flushed the data first.  If nobody flushes that is the timer's,
 * within commit_ms: whoever never does loses what he wrote of late, not all of it.
 */
#include <linux/hash.h>
#include "hybrid.h"

static struct hy_bucket *bucket_of(struct hy_pool *pool, u64 le)
{
	return &pool->bucket[hash_64(le, ilog2(HY_BUCKETS))];
}

/* bucket->lock held: who is writing one of these granules? */
static struct hy_io *find_writer(struct hy_bucket *b, u64 le, u32 bits)
{
	struct hy_io *other;

	hlist_for_each_entry(other, &b->ios, hash)
		if (other->le == le && other->bits & bits)
			return other;
	return NULL;
}

/* Leave the migration and the epoch: the bio will come again. */
static void step_back(struct hy_io *io)
{
	if (io->mig)
		hy_mig_write_done(io->mig, 0);
	io->mig = NULL;
	hy_io_unpin(io);
}

/* The parts of the first and last granule that the bio leaves out, in sectors. */
static void uncovered(struct hy_pool *pool, struct bio *bio, u32 fresh, u32 *head, u32 *tail)
{
	u32 gs = 1u << pool->granule_shift;
	u32 sector = bio->bi_iter.bi_sector & (pool->extent_sectors - 1);
	u32 end = sector + bio_sectors(bio);

	*head = fresh & BIT(sector >> pool->granule_shift) ? sector & (gs - 1) : 0;
	*tail = fresh & BIT((end - 1) >> pool->granule_shift) ? -end & (gs - 1) : 0;
}

/* What a bio asks for, its zeroes are written with. */
#define ZERO_FLAGS	(REQ_FUA | REQ_SYNC | REQ_IDLE | REQ_META | REQ_PRIO | REQ_BACKGROUND)

/*
 * Write zeroes before and behind a bio that has been remapped; chained to it, so
 * it completes, and its granules become valid, only when all is there.
 */
static void write_zeroes(struct hy_pool *pool, struct bio *bio, sector_t sector, u32 sectors)
{
	struct bio *zero = bio_alloc_bioset(bio->bi_bdev,
					    DIV_ROUND_UP(sectors << SECTOR_SHIFT, PAGE_SIZE),
					    REQ_OP_WRITE | (bio->bi_opf & ZERO_FLAGS), GFP_NOIO,
					    &pool->bs);

	/* Made by a kworker: who has caused them pays for them. */
	zero->bi_ioprio = bio->bi_ioprio;
	bio_clone_blkg_association(zero, bio);
	zero->bi_iter.bi_sector = sector;
	while (sectors) {
		u32 n = min_t(u32, sectors, PAGE_SIZE >> SECTOR_SHIFT);

		__bio_add_page(zero, ZERO_PAGE(0), n << SECTOR_SHIFT, 0);
		sectors -= n;
	}
	bio_chain(zero, bio);
	hy_submit_bio(&pool->member[hy_io(bio)->member], zero);
}

static int allocate(struct hy_pool *pool, u64 le, u64 *entry)
{
	int member;
	u32 pe;

	member = hy_place(pool, le, &pe);
	if (member < 0)
		return -ENOSPC;
	*entry = ek_entry_make(member, pe, 0);
	if (ek_map_cmpxchg(&pool->map, le, 0, *entry) != 0) {
		/* Only first writes map, under the bucket's lock. */
		ek_space_free(&pool->member[member].space, pe, 1);
		return -EUCLEAN;
	}
	atomic64_inc(&pool->mapped);
	atomic64_inc(&pool->member[member].allocations);
	return 0;
}

/* How many like it write an extent. */
static u32 requests_in(struct hy_pool *pool, struct bio *bio)
{
	return max(pool->extent_sectors / max(bio_sectors(bio), 1U), 1U);
}

/* Has the bio granules that need zeroes around it? */
static bool is_partial(struct hy_pool *pool, struct bio *bio, u32 fresh)
{
	u32 head, tail;

	uncovered(pool, bio, fresh, &head, &tail);
	return head || tail;
}

enum claim {
	CLAIMED,	/* the entry is the place to write to */
	QUEUED,		/* behind the bio that writes one of its granules */
	TO_LANE,	/* can't be done here */
	NO_SPACE,
	CONFUSED,	/* what can't be */
};

/* bucket->lock held.  Claim the granules that are to be written first. */
static enum claim claim(struct hy_pool *pool, struct hy_bucket *b, struct bio *bio,
			struct hy_io *io, bool worker, u64 *entry)
{
	bool nowait = bio->bi_opf & REQ_NOWAIT;
	struct hy_io *other = find_writer(b, io->le, io->touched);
	u32 fresh;
	int r;

	if (other) {
		if (nowait)
			return TO_LANE;
		bio_list_add(&other->waiters, bio);
		return QUEUED;
	}
	r = ek_map_lookup(&pool->map, io->le, entry);
	if (r)
		return TO_LANE;
	fresh = io->touched & ~ek_entry_valid(*entry);
	if (nowait && (!ek_entry_mapped(*entry) || is_partial(pool, bio, fresh)))
		return TO_LANE;
	if (!worker && is_partial(pool, bio, fresh))
		return TO_LANE;
	if (!ek_entry_mapped(*entry)) {
		r = allocate(pool, io->le, entry);
		if (r)
			return r == -ENOSPC ? NO_SPACE : CONFUSED;
		this_cpu_add(pool->rings->first, requests_in(pool, bio));
	}
	if (!fresh)
		return CLAIMED;
	io->bits = fresh;
	io->flags |= HY_IO_FIRST;
	bio_list_init(&io->waiters);
	hlist_add_head(&io->hash, &b->ios);
	return CLAIMED;
}

static int end_with(struct hy_io *io, struct bio *bio, blk_status_t status)
{
	io->flags = 0;
	bio->bi_status = status;
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int to_lane(struct hy_pool *pool, struct bio *bio)
{
	if (bio->bi_opf & REQ_NOWAIT)
		bio_wouldblock_error(bio);
	else
		hy_defer_bio(pool, bio);
	return DM_MAPIO_SUBMITTED;
}

static void restore_fua(struct bio *bio, struct hy_io *io)
{
	if (io->flags & HY_IO_COMMIT)
		bio->bi_opf |= REQ_FUA;
}

/**
 * hy_first_write - write granules that have never been written
 * @pool: the pool
 * @bio: write
 * @io: in an epoch, perhaps in a migration
 * @worker: called from a lane: may sleep
 *
 * Return: DM_MAPIO_*.
 */
int hy_first_write(struct hy_pool *pool, struct bio *bio, struct hy_io *io, bool worker)
{
	struct hy_bucket *b = bucket_of(pool, io->le);
	u32 head = 0, tail = 0;
	unsigned long flags;
	sector_t from, to;
	enum claim got;
	u64 entry = 0;
	int r;

	r = ek_map_prepare(&pool->map, io->le, worker ? HY_MUST : GFP_NOWAIT | __GFP_NOWARN);
	if (r) {
		restore_fua(bio, io);
		step_back(io);
		return worker ? end_with(io, bio, errno_to_blk_status(r)) : to_lane(pool, bio);
	}
	spin_lock_irqsave(&b->lock, flags);
	/* Once queued behind another the bio is that one's: leave everything before. */
	if (find_writer(b, io->le, io->touched) && !(bio->bi_opf & REQ_NOWAIT)) {
		restore_fua(bio, io);
		step_back(io);
	}
	got = claim(pool, b, bio, io, worker, &entry);
	spin_unlock_irqrestore(&b->lock, flags);

	switch (got) {
	case CLAIMED:
		break;
	case QUEUED:
		return DM_MAPIO_SUBMITTED;
	case TO_LANE:
		restore_fua(bio, io);
		step_back(io);
		return to_lane(pool, bio);
	case NO_SPACE:
		restore_fua(bio, io);
		step_back(io);
		if (bio->bi_opf & REQ_NOWAIT)
			return to_lane(pool, bio);
		if (hy_free_wait_for_space(pool, bio))
			return DM_MAPIO_SUBMITTED;
		if (atomic64_inc_return(&pool->nospace_errors) == 1) {
			DMERR("no free extent on any member that can be written");
			queue_work(pool->wq, &pool->event_work);
		}
		return end_with(io, bio, BLK_STS_NOSPC);
	case CONFUSED:
		step_back(io);
		hy_pool_needs_check(pool, "an extent was mapped twice");
		return end_with(io, bio, BLK_STS_IOERR);
	}
	if (unlikely(!pool->member[ek_entry_member(entry)].bdev)) {
		bio_io_error(bio);	/* the claim is given up on the way */
		return DM_MAPIO_SUBMITTED;
	}
	uncovered(pool, bio, io->bits, &head, &tail);
	hy_io_send(pool, bio, io, entry);
	if (likely(!head && !tail))
		return DM_MAPIO_REMAPPED;
	from = bio->bi_iter.bi_sector;
	to = bio_end_sector(bio);
	if (head)
		write_zeroes(pool, bio, from - head, head);
	if (tail)
		write_zeroes(pool, bio, to, tail);
	return DM_MAPIO_REMAPPED;
}

/**
 * hy_first_write_done - a first write has completed
 * @pool: the pool
 * @io: the bio's
 * @failed: its granules stay as they were
 *
 * Context: any, also hard interrupt.
 */
void hy_first_write_done(struct hy_pool *pool, struct hy_io *io, bool failed)
{
	struct hy_bucket *b = bucket_of(pool, io->le);
	unsigned long flags;

	if (!failed) {
		ek_map_set_valid(&pool->map, io->le, io->place, io->bits);
		hy_commit_soon(pool);
	}
	spin_lock_irqsave(&b->lock, flags);
	hlist_del(&io->hash);
	spin_unlock_irqrestore(&b->lock, flags);
	hy_defer_bios(pool, &io->waiters);
}
