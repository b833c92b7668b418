// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios. What one asks for is done in memory while it is submitted, flash page by flash page under
 * the device's lock; it ends when the timing model says that the flash is done. Bytes are copied
 * outside of the lock, but for parts of a flash page, which are read, changed and written as one.
 *
 * There is no thread: handing requests over would cost more than what is done for them.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <evenkeel/copy.h>

#include "buf.h"
#include "dev.h"
#include "io.h"
#include "nameless_trace.h"
#include "zones.h"

/* Logical pages trimmed while others wait. */
#define NL_TRIM_BATCH	65536

int nl_enter(struct nl_walk *walk)
{
	bool nowait = walk->bio->bi_opf & REQ_NOWAIT;
	struct nl_dev *dev = walk->dev;

	walk->model -= nl_clock(walk);
	if (!nowait)
		mutex_lock(&dev->io);
	else if (!mutex_trylock(&dev->io))
		return -EAGAIN;
	if (unlikely(dev->off)) {
		mutex_unlock(&dev->io);
		return -EIO;
	}
	nl_idle_seen(dev, walk->came, bio_op(walk->bio) != REQ_OP_READ);
	dev->flash.nowait = nowait;
	dev->flash.drops = &walk->drops;
	walk->noio = memalloc_noio_save();
	walk->start = max(walk->start, dev->ready);
	return 0;
}

void nl_leave(struct nl_walk *walk)
{
	memalloc_noio_restore(walk->noio);
	walk->dev->flash.nowait = false;
	walk->dev->flash.drops = NULL;
	nl_power_look(walk->dev);
	mutex_unlock(&walk->dev->io);
	walk->model += nl_clock(walk);
}

static u32 nl_offset(const struct nl_walk *walk)
{
	return walk->at & (walk->dev->page_bytes - 1);
}

static struct nl_buf *nl_alloc(const struct nl_walk *walk)
{
	return nl_buf_alloc_user(walk->dev->page_bytes, walk->bio->bi_opf & REQ_NOWAIT);
}

/* Move bytes between those of a flash page, NULL for zeroes, and the bio; and on in the bio. */
static void nl_move(struct nl_walk *walk, void *bytes, u32 len)
{
	bool write = op_is_write(bio_op(walk->bio));

	walk->at += len;
	while (len) {
		struct bio_vec bvec = bio_iter_iovec(walk->bio, walk->iter);
		u32 n = min(bvec.bv_len, len);
		void *data = bvec_kmap_local(&bvec);

		if (write)
			ek_copy(bytes, data, n);
		else if (bytes)
			ek_copy(data, bytes, n);
		else
			memset(data, 0, n);
		if (!write)
			flush_dcache_page(bvec.bv_page);
		kunmap_local(data);
		if (bytes)
			bytes += n;
		len -= n;
		bio_advance_iter_single(walk->bio, &walk->iter, n);
	}
}

/* Bytes from walk->at on in its flash page, not beyond the bio. */
static u32 nl_rest(const struct nl_walk *walk)
{
	return min(walk->dev->page_bytes - nl_offset(walk), walk->iter.bi_size);
}

void nl_put(struct nl_buf **buf, u32 count)
{
	while (count)
		nl_buf_put(buf[--count]);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int nl_read_batch(struct nl_walk *walk, struct nl_buf **buf)
{
	u32 first = nl_lpn(walk), last = nl_lpn_at(walk, walk->at + walk->iter.bi_size - 1);
	u32 count = min_t(u32, last - first + 1, NL_BATCH), i;
	int err;

	err = nl_enter(walk);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		struct nl_io io = nl_io(walk);

		err = nl_ftl_read(walk->dev->ftl, first + i, &buf[i], &io);
		if (nl_done(walk, &io, err))
			break;
	}
	nl_leave(walk);
	if (!err)
		return count;
	nl_put(buf, i);
	return err;
}

static int nl_read(struct nl_walk *walk)
{
	struct nl_buf *buf[NL_BATCH];
	int count, i;

	while (walk->iter.bi_size) {
		count = nl_read_batch(walk, buf);
		if (count < 0)
			return count;
		for (i = 0; i < count; i++)
			nl_move(walk, buf[i] ? nl_buf_data(buf[i]) + nl_offset(walk) : NULL,
				nl_rest(walk));
		nl_put(buf, count);
	}
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/*
 * The request lasts as a whole, when its last page does. @last: of those that were taken out of it.
 * Zeroes have nothing to be taken: each of their pages counts by itself.
 */
static u32 nl_fua_of(const struct nl_walk *walk, bool last)
{
	bool more = !last || (bio_op(walk->bio) == REQ_OP_WRITE && walk->iter.bi_size);

	return nl_fua(walk) && more ? NL_FUA | NL_MORE : nl_fua(walk);
}

static int nl_write_batch(struct nl_walk *walk, u32 lpn, struct nl_buf **buf, u32 count)
{
	u64 merges[NL_NR_MERGES];
	u32 i;
	int err;

	err = nl_enter(walk);
	if (err)
		return err;
	nl_trace_merges_begin(walk->dev, merges);
	for (i = 0; i < count && !err; i++) {
		struct nl_io io = nl_io(walk);

		err = nl_ftl_write(walk->dev->ftl, lpn + i, buf[i],
				   nl_fua_of(walk, i + 1 == count), &io);
		nl_done(walk, &io, err);
	}
	nl_trace_merges_end(walk->dev, merges);
	nl_leave(walk);
	return err;
}

/* Take @count flash pages out of the bio. */
int nl_take(struct nl_walk *walk, struct nl_buf **buf, u32 count)
{
	u32 nr;

	for (nr = 0; nr < count; nr++) {
		buf[nr] = nl_alloc(walk);
		if (!buf[nr]) {
			nl_put(buf, nr);
			return -ENOMEM;
		}
		nl_move(walk, nl_buf_data(buf[nr]), walk->dev->page_bytes);
	}
	return 0;
}

/* At most @most flash pages, none of them in part. */
int nl_write_whole(struct nl_walk *walk, u32 most)
{
	u32 count = min3(walk->iter.bi_size / walk->dev->page_bytes, most, NL_BATCH);
	struct nl_buf *buf[NL_BATCH];
	u32 lpn = nl_lpn(walk);
	int err = nl_take(walk, buf, count);

	if (err)
		return err;
	err = nl_write_batch(walk, lpn, buf, count);
	nl_put(buf, count);
	return err;
}

/* What a flash page is to hold after a part of it is replaced by what the bio has, or by zeroes. */
static void nl_patch(struct nl_walk *walk, void *bytes, struct nl_buf *old, u32 len)
{
	u32 offset = nl_offset(walk);

	if (old)
		ek_copy(bytes, nl_buf_data(old), walk->dev->page_bytes);
	else
		memset(bytes, 0, walk->dev->page_bytes);
	if (bio_op(walk->bio) == REQ_OP_WRITE) {
		nl_move(walk, bytes + offset, len);
	} else {
		memset(bytes + offset, 0, len);
		walk->at += len;
	}
}

/* Read, change and write a flash page, with the lock held. */
static int nl_write_part_locked(struct nl_walk *walk, struct nl_buf *buf, u32 len)
{
	struct nl_io io = nl_io(walk);
	struct nl_ftl *ftl = walk->dev->ftl;
	u32 lpn = nl_lpn(walk);
	struct nl_buf *old;
	int err;

	err = nl_ftl_read_part(ftl, lpn, &old, &io);
	if (err)
		return err;
	nl_patch(walk, nl_buf_data(buf), old, len);
	nl_buf_put(old);
	io.now = io.done;
	return nl_done(walk, &io, nl_ftl_write(ftl, lpn, buf, nl_fua_of(walk, true), &io));
}

static int nl_write_part(struct nl_walk *walk, u32 len)
{
	struct nl_buf *buf = nl_alloc(walk);
	u64 merges[NL_NR_MERGES];
	int err;

	if (!buf)
		return -ENOMEM;
	err = nl_enter(walk);
	if (!err) {
		nl_trace_merges_begin(walk->dev, merges);
		err = nl_write_part_locked(walk, buf, len);
		nl_trace_merges_end(walk->dev, merges);
		nl_leave(walk);
	}
	nl_buf_put(buf);
	return err;
}

static int nl_write(struct nl_walk *walk)
{
	int err = 0;

	while (walk->iter.bi_size && !err) {
		u32 len = nl_rest(walk);

		err = len == walk->dev->page_bytes ? nl_write_whole(walk, NL_BATCH) :
						     nl_write_part(walk, len);
	}
	return err;
}

/* --- discarding, zeroing, flushing ------------------------------------------------------------ */

static int nl_trim(struct nl_walk *walk, u32 lpn, u32 end)
{
	int err = 0;

	while (lpn < end && !err) {
		u32 n = min_t(u32, end - lpn, NL_TRIM_BATCH);
		struct nl_io io;

		err = nl_enter(walk);
		if (err)
			return err;
		io = nl_io(walk);
		err = nl_done(walk, &io, nl_ftl_trim(walk->dev->ftl, lpn, n, &io));
		nl_leave(walk);
		lpn += n;
		cond_resched();
	}
	return err;
}

/* Whole flash pages alone: nobody relies on what a discard leaves. */
static int nl_discard(struct nl_walk *walk)
{
	u32 page_bytes = walk->dev->page_bytes;

	return nl_trim(walk, nl_lpn_at(walk, walk->at + page_bytes - 1),
		       nl_lpn_at(walk, walk->at + walk->iter.bi_size));
}

/* Pages without data, which are zeroes. */
static int nl_write_none(struct nl_walk *walk, u64 end)
{
	struct nl_buf *none[NL_BATCH] = {};
	int err = 0;

	while (walk->at < end && !err) {
		u32 count = min_t(u64, nl_lpn_at(walk, end - walk->at), NL_BATCH);

		err = nl_write_batch(walk, nl_lpn(walk), none, count);
		walk->at += (u64)count << walk->dev->page_shift;
		cond_resched();
	}
	return err;
}

/*
 * Zeroes that are to keep their place are as good as trimmed, but where others may have that place
 * meanwhile: a write to come would find none.
 */
static int nl_zero_whole(struct nl_walk *walk, u64 end)
{
	int err;

	if (walk->bio->bi_opf & REQ_NOUNMAP &&
	    walk->dev->config.p[NL_P_FTL] == NL_FTL_NAMELESS)
		return nl_write_none(walk, end);
	err = nl_trim(walk, nl_lpn(walk), nl_lpn_at(walk, end));
	walk->at = end;
	return err;
}

static int nl_write_zeroes(struct nl_walk *walk)
{
	u64 end = walk->at + walk->iter.bi_size, whole;
	u32 page_bytes = walk->dev->page_bytes, offset = nl_offset(walk);
	int err = 0;

	if (offset)
		err = nl_write_part(walk, min_t(u64, page_bytes - offset, end - walk->at));
	whole = round_down(end, page_bytes);
	if (!err && walk->at < whole)
		err = nl_zero_whole(walk, whole);
	if (!err && walk->at < end)
		err = nl_write_part(walk, end - walk->at);
	return err;
}

/* What follows in the same bio begins when it is done. */
static int nl_flush(struct nl_walk *walk)
{
	struct nl_io io;
	int err = nl_enter(walk);

	if (err)
		return err;
	io = nl_io(walk);
	err = nl_done(walk, &io, nl_ftl_flush(walk->dev->ftl, &io));
	if (!err)
		walk->start = walk->due;
	nl_leave(walk);
	return err;
}

static int nl_transfer(struct nl_walk *walk)
{
	switch (bio_op(walk->bio)) {
	case REQ_OP_READ:
		return nl_read(walk);
	case REQ_OP_WRITE:
		return nl_is_zoned(walk->dev) ? nl_zones_write(walk) : nl_write(walk);
	case REQ_OP_ZONE_APPEND:
		return nl_zones_append(walk);
	case REQ_OP_ZONE_OPEN:
	case REQ_OP_ZONE_CLOSE:
	case REQ_OP_ZONE_FINISH:
	case REQ_OP_ZONE_RESET:
	case REQ_OP_ZONE_RESET_ALL:
		return nl_zones_manage(walk);
	case REQ_OP_DISCARD:
		return nl_discard(walk);
	case REQ_OP_WRITE_ZEROES:
		return nl_write_zeroes(walk);
	case REQ_OP_FLUSH:
		return nl_flush(walk);
	default:
		return -EOPNOTSUPP;
	}
}

/* Not all kernels' op_is_zone_mgmt() has what is done to all zones among them. */
static bool nl_is_zone_mgmt(const struct bio *bio)
{
	return op_is_zone_mgmt(bio_op(bio)) || bio_op(bio) == REQ_OP_ZONE_RESET_ALL;
}

static int nl_run(struct nl_walk *walk)
{
	int err = 0;

	if (walk->bio->bi_opf & REQ_PREFLUSH)
		err = nl_flush(walk);
	if (!err && (walk->iter.bi_size || bio_op(walk->bio) == REQ_OP_FLUSH ||
		     nl_is_zone_mgmt(walk->bio)))
		err = nl_transfer(walk);
	return err;
}

/* One that must not wait is tried again by who may. */
static blk_status_t nl_status(const struct bio *bio, int err)
{
	if (err == -ENOMEM && bio->bi_opf & REQ_NOWAIT)
		err = -EAGAIN;
	if (err == -EINVAL || err == -EROFS)	/* what a zone refuses; not all kernels have them */
		err = -EIO;
	return errno_to_blk_status(err);
}

static char nl_trace_op(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return 'R';
	case REQ_OP_WRITE:
		return 'W';
	case REQ_OP_ZONE_APPEND:
		return 'A';
	case REQ_OP_FLUSH:
		return 'F';
	default:
		return nl_is_zone_mgmt(bio) ? 'Z' : 'D';
	}
}

/* Have the bio end at its time. It, and who has the device open, may be gone after that. */
static void nl_end(struct nl_walk *walk, struct nl_req *req)
{
	u64 sector = walk->bio->bi_iter.bi_sector, done = nl_clock(walk);
	u32 bytes = walk->bio->bi_iter.bi_size;
	char op = nl_trace_op(walk->bio);
	dev_t devt = bio_dev(walk->bio);
	struct nl_cost cost = { .model = walk->model, .flash = req->due - walk->came };

	nl_due_at(&walk->dev->due, req);
	if (likely(!walk->traced))
		return;
	cost.store = done - walk->came - walk->model;
	cost.end = ktime_get_ns() - done;
	trace_nameless_request(devt, op, sector, bytes, &cost);
}

static void nl_begin(struct nl_dev *dev, struct bio *bio, unsigned int cuts)
{
	struct nl_walk walk = {
		.dev = dev,
		.bio = bio,
		.iter = bio->bi_iter,
		.at = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT,
		.came = ktime_get_ns(),
		.traced = trace_nameless_request_enabled(),
	};
	struct nl_req *req = nl_req_alloc(&dev->due, bio, cuts);
	blk_status_t status;
	int err;

	walk.start = walk.came;
	INIT_LIST_HEAD(&walk.drops.pages);
	if (!req) {
		nl_due_leave(&dev->due);
		bio->bi_status = nl_status(bio, -ENOMEM);
		bio_endio(bio);
		return;
	}
	err = nl_run(&walk);
	if (err) {
		status = nl_status(bio, err);
		if (status != BLK_STS_AGAIN && !(nl_is_zoned(dev) && nl_zone_refused(err)))
			atomic64_inc(&dev->due.errors);
		nl_req_end(req, status);
	} else {
		req->due = max(walk.due, walk.start);
		nl_end(&walk, req);
	}
	nl_drops_put(&walk.drops);
}

/**
 * nl_submit_bio - the block device's entry
 * @bio: anything
 *
 * A bio that waits for its place has not come yet, as far as the flash knows. Its submitter keeps
 * the disk from going meanwhile.
 * Context: process context; sleeps unless the bio says otherwise.
 */
void nl_submit_bio(struct bio *bio)
{
	struct nl_dev *dev = bio->bi_bdev->bd_disk->private_data;
	unsigned int cuts = READ_ONCE(dev->due.cuts);

	if (likely(nl_due_enter(&dev->due, bio->bi_opf & REQ_NOWAIT)))
		nl_begin(dev, bio, cuts);
	else
		bio_wouldblock_error(bio);
}
