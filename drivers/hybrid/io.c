// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bio's way through the target.
 *
 * Fast path, no lock and no allocation: enter the epoch, look the extent up, send
 * the bio to its place.  Everything else is deferred to a lane (defer.c) or
 * handled beside: first writes (first_write.c), writes to an extent that is being
 * copied (migrate.c), reads that touch granules never written (here).
 *
 * Order for writes: epoch, then migration, then map entry.  A migration that is
 * not seen began later, and its copy waits for this epoch to drain.
 *
 * dm hands over bios of any length: as the users made them, so that the policy can know how large
 * their requests are.  What of them lies one behind the other on a member and takes the fast path
 * goes out in one piece, up to HY_RUN extents; all else is cut to one extent first, so nothing
 * but the fast path knows of more.
 */
#include "hybrid.h"

static inline u64 bio_le(struct hy_pool *pool, struct bio *bio)
{
	return bio->bi_iter.bi_sector >> pool->extent_shift;
}

static inline u32 granule_mask(u32 first, u32 last)
{
	return GENMASK(last, first);
}

/* Granules that @len sectors from @sector of an extent on touch. */
static inline u32 bits_of(struct hy_pool *pool, u32 sector, u32 len)
{
	return granule_mask(sector >> pool->granule_shift,
			    (sector + len - 1) >> pool->granule_shift);
}

static inline u32 sector_in_extent(struct hy_pool *pool, struct bio *bio)
{
	return bio->bi_iter.bi_sector & (pool->extent_sectors - 1);
}

/**
 * hy_bio_bits - granules that a bio touches
 * @pool: the pool
 * @bio: a bio of the target
 *
 * The bio lies within one extent and is not empty.
 * Context: any.
 * Return: a bit per granule of the extent.
 */
u32 hy_bio_bits(struct hy_pool *pool, struct bio *bio)
{
	return bits_of(pool, sector_in_extent(pool, bio), bio_sectors(bio));
}

/* Point a bio to where its extent is. */
static __always_inline void remap(struct hy_pool *pool, struct bio *bio, u64 entry)
{
	struct hy_member *m = &pool->member[ek_entry_member(entry)];

	bio_set_dev(bio, m->bdev);
	bio->bi_iter.bi_sector = m->data +
		((sector_t)ek_entry_pe(entry) << pool->extent_shift) +
		(bio->bi_iter.bi_sector & (pool->extent_sectors - 1));
}

static __always_inline void note_sent(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				      u64 entry, unsigned int access)
{
	io->member = ek_entry_member(entry);
	io->place = ek_entry_place(entry);
	io->bytes = bio->bi_iter.bi_size;
	io->flags |= HY_IO_SENT;
	io->start_ns = ek_rtmon_start(pool->member[io->member].mon);
	hy_note_access(pool, bio->bi_iter.bi_sector, access | io->member);
}

static __always_inline void send(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				 u64 entry, unsigned int access)
{
	note_sent(pool, bio, io, entry, access);
	remap(pool, bio, entry);
}

/* The same, and the extent cache hears of it first.  Pinned: see hy_cache_write_begin(). */
static __always_inline void send_write(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				       u64 entry)
{
	if (unlikely(hy_caching(pool)))
		hy_cache_write_begin(pool, bio, io, entry);
	send(pool, bio, io, entry, HY_ACCESS_WRITE);
}

/* A read has become a request of @bytes to a member, made for it by the extent cache.  Pinned. */
void hy_io_sent(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry, u32 bytes)
{
	note_sent(pool, bio, io, entry, 0);
	io->bytes = bytes;
}

/* A read that the extent cache could not answer is sent to an entry's place.  Sleeps; pinned. */
void hy_io_read_itself(struct hy_pool *pool, struct bio *bio, u64 entry)
{
	struct hy_io *io = hy_io(bio);

	if (!(io->flags & HY_IO_SENT))
		hy_io_sent(pool, bio, io, entry, bio->bi_iter.bi_size);
	remap(pool, bio, entry);
	hy_submit_bio(&pool->member[io->member], bio);
}

/**
 * hy_io_send - note a write as on its way to an entry's place, and point it there
 * @pool: the pool
 * @bio: a write
 * @io: the bio's own data
 * @entry: the entry of its extent
 *
 * The caller submits it.  Context: any; pinned.
 */
void hy_io_send(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry)
{
	send_write(pool, bio, io, entry);
}

static noinline int finish(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

/* A bio must wait or be refused because the page of the map is not in memory. */
static noinline int page_missing(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				 bool worker, int r, bool *again)
{
	u64 index = io->le / EK_PAGE_ENTRIES;

	hy_io_unpin(io);
	*again = false;
	if (r != -EAGAIN)
		return finish(bio, BLK_STS_IOERR);
	if (worker) {
		r = hy_pool_load_page(pool, index);
		if (r)
			return finish(bio, errno_to_blk_status(r));
		*again = true;
		return 0;
	}
	if (bio->bi_opf & REQ_NOWAIT) {
		bio_wouldblock_error(bio);
		return DM_MAPIO_SUBMITTED;
	}
	hy_defer_bio(pool, bio);
	return DM_MAPIO_SUBMITTED;
}

/* Sectors from the bio's start up to where validity changes. */
static u32 same_validity(struct hy_pool *pool, struct bio *bio, u64 entry, bool *valid)
{
	u32 sector = bio->bi_iter.bi_sector & (pool->extent_sectors - 1);
	u32 end = sector + bio_sectors(bio);
	u32 g = sector >> pool->granule_shift;
	u32 bits = ek_entry_valid(entry);

	*valid = bits & BIT(g);
	while (++g < EK_GRANULES && g << pool->granule_shift < end && !!(bits & BIT(g)) == *valid)
		;
	return min(end, g << pool->granule_shift) - sector;
}

/*
 * A read of granules of which some were never written: pieces that were go to the
 * member, the others are zeroes.  Pieces are chained to the bio, so it ends with
 * the last of them, holds the epoch for all, and is to the monitor the one request that it was.
 */
static noinline int read_mixed(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry)
{
	bool valid;
	u32 len;

	note_sent(pool, bio, io, entry, 0);
	bio_clear_polled(bio);	/* nobody polls for the pieces */
	while ((len = same_validity(pool, bio, entry, &valid)) < bio_sectors(bio)) {
		struct bio *piece = bio_split(bio, len, GFP_NOIO, &pool->bs);

		bio_chain(piece, bio);
		if (valid) {
			remap(pool, piece, entry);
			hy_submit_bio(&pool->member[io->member], piece);
		} else {
			zero_fill_bio(piece);
			bio_endio(piece);
		}
	}
	if (!valid) {
		zero_fill_bio(bio);
		bio_endio(bio);		/* its status may hold a piece's error already */
		return DM_MAPIO_SUBMITTED;
	}
	remap(pool, bio, entry);
	return DM_MAPIO_REMAPPED;
}

/* All that is not the fast path of map_read(); pinned. */
static noinline int map_read_slow(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				  bool worker)
{
	u32 bits = hy_bio_bits(pool, bio);
	bool again;
	u64 entry;
	int r;

	while ((r = ek_map_lookup(&pool->map, io->le, &entry))) {
		r = page_missing(pool, bio, io, worker, r, &again);
		if (!again)
			return r;
		hy_io_pin(pool, io);
	}
	if (!(ek_entry_valid(entry) & bits)) {
		zero_fill_bio(bio);
		return finish(bio, BLK_STS_OK);
	}
	if (!pool->member[ek_entry_member(entry)].bdev)
		return finish(bio, BLK_STS_IOERR);
	if ((ek_entry_valid(entry) & bits) == bits) {
		send(pool, bio, io, entry, 0);
		return DM_MAPIO_REMAPPED;
	}
	if (worker)
		return read_mixed(pool, bio, io, entry);
	/* Splitting allocates from a pool whose bios this thread may have queued. */
	hy_io_unpin(io);
	if (bio->bi_opf & REQ_NOWAIT) {
		bio_wouldblock_error(bio);
		return DM_MAPIO_SUBMITTED;
	}
	hy_defer_bio(pool, bio);
	return DM_MAPIO_SUBMITTED;
}

/* The entry, if it is at hand and all of @bits are there to be read or overwritten. */
static __always_inline u64 entry_at_hand(struct hy_pool *pool, u64 le, u32 bits)
{
	struct ek_map_page *page = ek_map_page(&pool->map, le / EK_PAGE_ENTRIES);
	u64 entry;

	if (unlikely(!page))
		return 0;
	entry = READ_ONCE(page->entry[le % EK_PAGE_ENTRIES]);
	if (unlikely((ek_entry_valid(entry) & bits) != bits ||
		     !pool->member[ek_entry_member(entry)].bdev))
		return 0;
	return entry;
}

/* Sectors of a bio up to the end of its first extent. */
static inline u32 in_first_extent(struct hy_pool *pool, struct bio *bio)
{
	return min(bio_sectors(bio), pool->extent_sectors - sector_in_extent(pool, bio));
}

/* Does one entry's extent lie behind the other's, on the same member? */
static inline bool is_behind(u64 entry, u64 next)
{
	return ek_entry_member(next) == ek_entry_member(entry) &&
	       ek_entry_pe(next) == ek_entry_pe(entry) + 1;
}

/* Sectors from a bio's start on that lie behind each other, at hand.  @first: their first entry. */
static u32 run_length(struct hy_pool *pool, struct bio *bio, u64 le, u64 *first)
{
	u32 len = in_first_extent(pool, bio), n;
	u32 end = min(bio_sectors(bio), len + (HY_RUN - 1) * pool->extent_sectors);
	u64 next, entry = entry_at_hand(pool, le, bits_of(pool, sector_in_extent(pool, bio), len));

	*first = entry;
	for (; entry && len < end; len += n, entry = next) {
		n = min(end - len, pool->extent_sectors);
		next = entry_at_hand(pool, ++le, bits_of(pool, 0, n));
		if (!next || !is_behind(entry, next))
			break;
	}
	return len;
}

/* To the policy a request is one to an extent, else long runs would look slow: the others. */
static void run_started(struct hy_pool *pool, struct hy_io *io, unsigned int access)
{
	struct hy_member *m = &pool->member[io->member];
	unsigned int i;

	atomic_add(io->more, &m->more_inflight);
	for (i = 1; i <= io->more; i++) {
		hy_note_access(pool, (sector_t)(io->le + i) << pool->extent_shift,
			       access | io->member);
		ek_rtmon_started(m->mon, io->start_ns);
	}
}

/* Extents of a piece of a large request that doesn't show that it is one, when it comes. */
static void note_ahead(struct hy_pool *pool, sector_t sector, u32 len, unsigned int access)
{
	sector_t end = sector + len;

	while (sector < end) {
		hy_note_access(pool, sector, access | HY_ACCESS_AHEAD);
		sector = round_down(sector, pool->extent_sectors) + pool->extent_sectors;
	}
}

/*
 * How large the user's request is shows only here, before it is cut to @len sectors; so far as the
 * rest is long, it comes here again.
 * Return: HY_ACCESS_*.
 */
static unsigned int access_of(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u32 len)
{
	unsigned int access = io->flags & HY_IO_WRITE ? HY_ACCESS_WRITE : 0;
	u32 rest = bio_sectors(bio) - len;

	if (bio_sectors(bio) <= pool->extent_sectors)
		return access;
	access |= HY_ACCESS_LARGE;
	if (rest <= pool->extent_sectors)
		note_ahead(pool, bio->bi_iter.bi_sector + len, rest, access);
	return access;
}

/*
 * A bio of several extents, not deferred before.  It is shortened to what goes out in one piece,
 * or, when that is less than two extents, to the first; dm hands over the rest as another bio.
 */
static noinline bool map_run(struct hy_pool *pool, struct bio *bio, struct hy_io *io)
{
	u32 one = in_first_extent(pool, bio), len = 0;
	unsigned int access;
	u64 entry = 0;

	hy_io_pin(pool, io);
	/* acquire: as in map_write() */
	if (!(io->flags & HY_IO_WRITE) ||
	    !(atomic_read_acquire(&pool->nr_migrating) || bio->bi_opf & REQ_FUA))
		len = run_length(pool, bio, io->le, &entry);
	if (len <= one) {
		hy_io_unpin(io);
		access = access_of(pool, bio, io, one);
		if (access & HY_ACCESS_LARGE)
			note_ahead(pool, bio->bi_iter.bi_sector, one, access);
		dm_accept_partial_bio(bio, one);
		return false;
	}
	access = access_of(pool, bio, io, len);
	if (len < bio_sectors(bio))
		dm_accept_partial_bio(bio, len);
	io->more = ((bio_end_sector(bio) - 1) >> pool->extent_shift) - io->le;
	if (unlikely(hy_caching(pool)) && io->flags & HY_IO_WRITE)
		hy_cache_write_begin(pool, bio, io, entry);
	send(pool, bio, io, entry, access);
	run_started(pool, io, access);
	return true;
}

static __always_inline int map_read(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				    bool worker)
{
	u64 entry;

	hy_io_pin(pool, io);
	entry = entry_at_hand(pool, io->le, hy_bio_bits(pool, bio));
	if (unlikely(!entry))
		return map_read_slow(pool, bio, io, worker);
	if (unlikely(hy_caching(pool)) && hy_cache_read(pool, bio, io, entry, worker))
		return DM_MAPIO_SUBMITTED;
	send(pool, bio, io, entry, 0);
	return DM_MAPIO_REMAPPED;
}

/* What a FUA write depends on must be durable when it completes. */
static void note_fua(struct hy_pool *pool, struct bio *bio, struct hy_io *io, bool first)
{
	if (!(bio->bi_opf & REQ_FUA))
		return;
	if (unlikely(hy_commit_tells_fua(pool)))
		io->flags |= HY_IO_TELL;
	if (first || hy_commit_needed(pool, io->le) ||
	    unlikely(io->flags & HY_IO_TELL || hy_commit_fails(pool))) {
		bio->bi_opf &= ~REQ_FUA;
		io->flags |= HY_IO_COMMIT;
	}
}

/* All that is not the fast path of map_write(); pinned. */
static noinline int map_write_slow(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				   bool worker)
{
	struct hy_mig *mig;
	bool again, deferred;
	u64 entry;
	int r;

	for (;;) {
		if (atomic_read_acquire(&pool->nr_migrating)) {
			mig = hy_mig_enter(pool, io->le, bio, &deferred);
			if (deferred)	/* a lane may have it by now, in another migration */
				return DM_MAPIO_SUBMITTED;
			io->mig = mig;
			smp_rmb();	/* none found, then no entry of before its end */
		}
		r = ek_map_lookup(&pool->map, io->le, &entry);
		if (!r)
			break;
		if (io->mig)
			hy_mig_write_done(io->mig, 0);
		io->mig = NULL;
		r = page_missing(pool, bio, io, worker, r, &again);
		if (!again)
			return r;
		hy_io_pin(pool, io);
	}
	if ((ek_entry_valid(entry) & io->touched) == io->touched) {
		if (!pool->member[ek_entry_member(entry)].bdev)
			return finish(bio, BLK_STS_IOERR);
		note_fua(pool, bio, io, false);
		send_write(pool, bio, io, entry);
		return DM_MAPIO_REMAPPED;
	}
	note_fua(pool, bio, io, true);
	return hy_first_write(pool, bio, io, worker);
}

static __always_inline int map_write(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				     bool worker)
{
	u64 entry;

	io->touched = hy_bio_bits(pool, bio);
	hy_io_pin(pool, io);
	/* acquire: no migration seen, then no entry of before its end */
	if (unlikely(atomic_read_acquire(&pool->nr_migrating) || bio->bi_opf & REQ_FUA))
		return map_write_slow(pool, bio, io, worker);
	entry = entry_at_hand(pool, io->le, io->touched);
	if (unlikely(!entry))
		return map_write_slow(pool, bio, io, worker);
	send_write(pool, bio, io, entry);
	return DM_MAPIO_REMAPPED;
}

static inline bool is_long(struct hy_pool *pool, struct bio *bio)
{
	return sector_in_extent(pool, bio) + bio_sectors(bio) > pool->extent_sectors;
}

static __always_inline int map_bio(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				   bool worker)
{
	io->pool = pool;
	io->mig = NULL;
	io->bits = 0;
	io->flags = 0;
	if (unlikely(bio->bi_opf & REQ_PREFLUSH && !bio_sectors(bio))) {
		atomic64_inc(&pool->flushes);
		hy_commit_bio(pool, bio);
		return DM_MAPIO_SUBMITTED;
	}
	io->le = bio_le(pool, bio);
	io->more = 0;
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		if (unlikely(READ_ONCE(pool->mode) == HY_FAIL))
			return finish(bio, BLK_STS_IOERR);
		if (unlikely(is_long(pool, bio)) && map_run(pool, bio, io))
			return DM_MAPIO_REMAPPED;
		return map_read(pool, bio, io, worker);
	case REQ_OP_WRITE:
		if (unlikely(!hy_pool_writable(pool)))
			return finish(bio, BLK_STS_IOERR);
		io->flags = HY_IO_WRITE;
		if (unlikely(is_long(pool, bio)) && map_run(pool, bio, io))
			return DM_MAPIO_REMAPPED;
		return map_write(pool, bio, io, worker);
	case REQ_OP_DISCARD:
		if (unlikely(!hy_pool_writable(pool))) {
			hy_free_went_on(pool);
			return finish(bio, BLK_STS_IOERR);
		}
		return hy_map_discard(pool, bio, worker);
	default:
		return finish(bio, BLK_STS_NOTSUPP);
	}
}

/*
 * A write relied on bits that another one had set but perhaps not marked for
 * the committer yet (extent_map.c); a FLUSH may follow at once, so mark them too.
 */
static void mark_settled(struct hy_pool *pool, struct hy_io *io)
{
	u64 le;

	if (likely(!atomic_read_acquire(&pool->map.marking)))
		return;
	for (le = io->le; le <= io->le + io->more; le++)
		ek_map_mark_changed(&pool->map, le);
}

/* A member that is memory takes its bio at once; unless REMAPPED, the bio may be gone already. */
static __always_inline int dispatch(struct hy_pool *pool, struct bio *bio, bool worker)
{
	struct hy_io *io = hy_io(bio);
	int r = map_bio(pool, bio, io, worker);
	const struct ek_direct *direct;

	if (r != DM_MAPIO_REMAPPED || unlikely(!(io->flags & HY_IO_SENT)))
		return r;
	direct = pool->member[io->member].direct;
	if (likely(!direct))
		return r;
	direct->ops->submit(direct->handle, bio);
	return DM_MAPIO_SUBMITTED;
}

/**
 * hy_map_deferred - find the place of a bio that was deferred
 * @pool: the pool
 * @bio: of dm, its sector relative to the target
 *
 * It is sent there.
 * Context: a lane; sleeps, loads pages of the map, waits for no member.
 */
void hy_map_deferred(struct hy_pool *pool, struct bio *bio)
{
	if (dispatch(pool, bio, true) == DM_MAPIO_REMAPPED)
		hy_submit_bio(&pool->member[hy_io(bio)->member], bio);
}

/* dm's map: as above, but what would sleep is deferred. */
int hy_map(struct dm_target *ti, struct bio *bio)
{
	struct hy_table *t = ti->private;

	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return dispatch(t->pool, bio, false);
}

static noinline void run_done(struct hy_member *m, struct hy_io *io, bool write)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	/* Not all at the same time, which decides whether it is one that looks around. */
	for (i = 0; i < io->more; i++)
		ek_rtmon_ended(m->mon, write ? EK_WRITE : EK_READ, 0, io->start_ns, now + i);
	atomic_sub(io->more, &m->more_inflight);
}

/* It is not measured. */
static noinline void request_cancelled(struct hy_member *m, struct hy_io *io)
{
	unsigned int i;

	for (i = 0; i <= io->more; i++)
		ek_rtmon_cancel(m->mon, io->start_ns);
	if (io->more)
		atomic_sub(io->more, &m->more_inflight);
}

static __always_inline void request_measured(struct hy_member *m, struct hy_io *io, bool write)
{
	ek_rtmon_end(m->mon, write ? EK_WRITE : EK_READ, io->bytes, io->start_ns);
	if (unlikely(io->more))
		run_done(m, io, write);
}

static __always_inline void request_done(struct hy_member *m, struct hy_io *io, bool write)
{
	request_measured(m, io, write);
	/* Before validity bits and before anybody is told: see member.c. */
	if (write)
		hy_member_wrote(m);
}

/*
 * Nobody tries such a read again where it failed: a moment's trouble shows, that others never hear
 * of.  Read-ahead is read again by whoever needs it.  A write that fails leaves nobody a choice.
 */
static bool fails_fast(struct bio *bio)
{
	return bio_op(bio) == REQ_OP_READ && bio->bi_opf & (REQ_RAHEAD | REQ_FAILFAST_MASK);
}

/*
 * An error that comes sooner than answers do must not make the member look fast: it isn't measured,
 * nor is any where it isn't known how long those take. Nor is what was asked not to wait and would
 * have had to, as who uses io_uring asks at first. An error that comes later is what users wait
 * for.
 */
static noinline void request_failed(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
				    blk_status_t error)
{
	struct hy_member *m = &pool->member[io->member];
	bool write = io->flags & HY_IO_WRITE, fast = fails_fast(bio);
	u64 usual = READ_ONCE(m->usual_ns[write ? EK_WRITE : EK_READ]);

	if (error == BLK_STS_AGAIN || !usual || ktime_get_ns() - io->start_ns < usual) {
		request_cancelled(m, io);
	} else {
		request_measured(m, io, write);
		if (fast || error != BLK_STS_NOTSUPP)
			atomic64_add(1 + io->more, &m->failed_ended);
	}
	if (!fast)
		hy_member_failed(pool, m, bio->bi_opf, 1 + io->more, error);
}

static noinline void sent_done(struct hy_pool *pool, struct bio *bio, struct hy_io *io,
			       blk_status_t error)
{
	struct hy_member *m = &pool->member[io->member];
	bool write = io->flags & HY_IO_WRITE;

	if (unlikely(error)) {
		request_failed(pool, bio, io, error);
		return;
	}
	request_done(m, io, write);
	if (write && !(io->flags & HY_IO_FIRST))
		mark_settled(pool, io);
}

/* What most requests are: sent to a place that was valid, without an error. */
static __always_inline void plain_done(struct hy_pool *pool, struct hy_io *io, bool write)
{
	request_done(&pool->member[io->member], io, write);
	if (write)
		mark_settled(pool, io);
	hy_io_unpin(io);
	io->flags = 0;
}

/*
 * It waits for a commit before it leaves the epoch: who undoes migrations waits for that, and then
 * tells who asked.  Once it waits the bio may be complete at any time.
 */
static int commit_first(struct hy_pool *pool, struct bio *bio, struct hy_io *io)
{
	bool pinned = io->flags & HY_IO_PINNED;
	u8 epoch = io->epoch;

	io->flags &= HY_IO_TELL;
	/* The commit ends it once more: what counts the member's requests has counted this one. */
	bio_clear_flag(bio, BIO_QOS_THROTTLED);
	bio_clear_flag(bio, BIO_QOS_MERGED);
	hy_commit_bio(pool, bio);
	if (pinned)
		hy_epoch_leave(pool, epoch);
	return DM_ENDIO_INCOMPLETE;
}

/**
 * hy_end_io - a bio of dm has completed
 * @ti: the target
 * @bio: the bio
 * @error: its status; may be changed
 *
 * Context: any, also hard interrupt.
 * Return: DM_ENDIO_*.
 */
int hy_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct hy_pool *pool = ((struct hy_table *)ti->private)->pool;
	struct hy_io *io = hy_io(bio);
	struct hy_mig *mig;

	mig = io->mig;
	if (likely(!*error && !mig)) {
		if (io->flags == (HY_IO_SENT | HY_IO_PINNED)) {
			plain_done(pool, io, false);
			return DM_ENDIO_DONE;
		}
		if (io->flags == (HY_IO_SENT | HY_IO_PINNED | HY_IO_WRITE)) {
			plain_done(pool, io, true);
			return DM_ENDIO_DONE;
		}
	}
	if (io->flags & HY_IO_SENT)
		sent_done(pool, bio, io, *error);
	if (unlikely(io->flags & HY_IO_FIRST))
		hy_first_write_done(pool, io, *error);
	if (unlikely(io->flags & HY_IO_COUNTED))
		hy_cache_write_end(pool, io, !*error);
	if (unlikely(mig)) {
		io->mig = NULL;
		hy_mig_write_done(mig, io->touched);
	}
	if (unlikely(io->flags & HY_IO_COMMIT) && !*error)
		return commit_first(pool, bio, io);
	if (likely(io->flags & HY_IO_PINNED))
		hy_io_unpin(io);
	io->flags = 0;
	return DM_ENDIO_DONE;
}
