// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios, from wherever they come: the block device, direct mode, the dm target. All is done on
 * return, but for one case: a flush that a device beneath has to do as well can't be waited for
 * where bios are submitted, and goes through a work queue.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <evenkeel/mem2m.h>

#include "mem2m.h"
#include "transfer.h"

#define M2_SHORT	(64u << 10)	/* bytes that are copied without being preempted */

/**
 * m2_bad_init - begin to note what is bad
 * @dev: the device, which has no memory yet: what fails from the first moment on is noted
 *
 * Context: process context; sleeps.
 * Return: 0 or -ENOMEM.
 */
int m2_bad_init(struct m2_dev *dev)
{
	int err = badblocks_init(&dev->bb, 1);

	mutex_lock(&dev->bad_lock);
	dev->bad_told = !err;
	mutex_unlock(&dev->bad_lock);
	return err;
}

/**
 * m2_bad_exit - nobody wants to know any more
 * @dev: the device, which has no memory any more
 *
 * Context: process context; sleeps.
 */
void m2_bad_exit(struct m2_dev *dev)
{
	mutex_lock(&dev->bad_lock);
	dev->bad_told = false;
	mutex_unlock(&dev->bad_lock);
	badblocks_exit(&dev->bb);
}

/**
 * m2_bad - from now on this is refused, without being touched
 * @dev: the device, with its list of what is bad
 * @offset: first byte of its data
 * @bytes: how many
 *
 * All of the pages: the kernel takes these away when it has found one bad line in them.
 * Context: any.
 */
void m2_bad(struct m2_dev *dev, u64 offset, u64 bytes)
{
	u64 end = round_up(offset + bytes, PAGE_SIZE), n;

	pr_err_ratelimited("mem2m: %s: bad memory at byte %llu\n", dev->name, offset);
	for (offset = round_down(offset, PAGE_SIZE); offset < end; offset += n) {
		n = min(end - offset, (u64)SZ_1G);
		badblocks_set(&dev->bb, offset >> SECTOR_SHIFT, n >> SECTOR_SHIFT, 1);
	}
}

/* A copy of the label, which is not to be written any more. */
static void m2_label_failed(struct m2_dev *dev, u64 offset, u64 end)
{
	u64 at;

	for (at = 0; at <= M2_LABEL_STRIDE; at += M2_LABEL_STRIDE)
		if (offset < at + sizeof(struct m2_label) && end > at)
			WRITE_ONCE(dev->label_bad, at);
}

/**
 * m2_failed - the kernel has found bad memory, and is about to take it out of its map
 * @dev: the device, not held by anything: it may be on its way in or out
 * @offset: first byte of its memory
 * @bytes: how many
 * @flags: MF_*
 *
 * Who has a file system on it is told, too, once there is a disk.
 * Context: process context; sleeps.
 */
void m2_failed(struct m2_dev *dev, u64 offset, u64 bytes, int flags)
{
	u64 begin = dev->label.data_offset, end = offset + bytes, most;

	mutex_lock(&dev->bad_lock);
	m2_label_failed(dev, offset, end);
	offset = max(offset, begin) - begin;
	most = max(dev->label.range_bytes, begin) - begin;	/* it may grow to that */
	end = min(max(end, begin) - begin, most);
	if (dev->bad_told && offset < end) {
		m2_bad(dev, offset, end - offset);
		end = min(end, dev->store.bytes);
		if (dev->dax && offset < end)
			dax_holder_notify_failure(dev->dax, offset, end - offset, flags);
	}
	mutex_unlock(&dev->bad_lock);
}

/**
 * m2_goes_away - tell a file system that all of its memory is about to be taken away
 * @dev: the device, whose memory is still there, and which still does bios
 * @flags: MF_*
 *
 * Those who map its files lose their mappings now, rather than find nothing behind them; what it
 * writes meanwhile is lost with the rest, if that is lost.
 * Context: process context; sleeps for as long as the file system takes.
 */
void m2_goes_away(struct m2_dev *dev, int flags)
{
	mutex_lock(&dev->bad_lock);
	if (dev->dax)
		dax_holder_notify_failure(dev->dax, 0, U64_MAX, flags);
	mutex_unlock(&dev->bad_lock);
}

static noinline blk_status_t m2_transfer_carefully(struct m2_dev *dev, struct bio *bio)
{
	u64 bad = U64_MAX;
	sector_t bad_sector;
	blk_status_t status;
	int nr_bad;

	if (dev->bb.count && bio_sectors(bio) &&
	    badblocks_check(&dev->bb, bio->bi_iter.bi_sector, bio_sectors(bio), &bad_sector,
			    &nr_bad))
		return BLK_STS_IOERR;
	status = m2_transfer(&dev->store, bio, &bad);
	if (unlikely(status == BLK_STS_IOERR && bio_op(bio) == REQ_OP_READ &&
		     bad < dev->store.bytes))
		m2_bad(dev, bad, 1);
	return status;
}

static __always_inline blk_status_t m2_transfer_entered(struct m2_dev *dev, struct bio *bio)
{
	if (likely(!dev->bb.count && m2_transfer_plain(&dev->store, bio)))
		return BLK_STS_OK;
	return m2_transfer_carefully(dev, bio);
}

/* Memory that may be taken away: not while this is at it; pmem.c says how. */
static noinline blk_status_t m2_transfer_entering(struct m2_dev *dev, struct bio *bio)
{
	blk_status_t status;
	int cookie;
	bool done;

	if (likely(bio->bi_iter.bi_size <= M2_SHORT)) {
		rcu_read_lock_sched();
		done = likely(!READ_ONCE(dev->gone) && !dev->bb.count) &&
		       m2_transfer_plain(&dev->store, bio);
		rcu_read_unlock_sched();
		if (likely(done))
			return BLK_STS_OK;
	}
	if (!dev->backing->enter(dev, &cookie))
		return BLK_STS_IOERR;
	status = m2_transfer_entered(dev, bio);
	dev->backing->leave(dev, cookie);
	return status;
}

/* An error that is there already stays: of a bio that is chained to this one, and has ended. */
static __always_inline void m2_do(struct m2_dev *dev, struct bio *bio)
{
	blk_status_t status;

	if (dev->backing->enter)
		status = m2_transfer_entering(dev, bio);
	else
		status = m2_transfer_entered(dev, bio);
	if (unlikely(status))
		bio->bi_status = status;
}

static struct bio *m2_next_flush(struct m2_dev *dev)
{
	struct bio *bio;

	spin_lock_irq(&dev->flush_lock);
	bio = bio_list_pop(&dev->flush_list);
	spin_unlock_irq(&dev->flush_lock);
	return bio;
}

/* Flushes the device beneath in the places where the bio says so. */
static void m2_do_flushing(struct m2_dev *dev, struct bio *bio)
{
	blk_status_t status;
	int err = 0;

	if (bio->bi_opf & REQ_PREFLUSH || bio_op(bio) == REQ_OP_FLUSH)
		err = blkdev_issue_flush(dev->bdev);
	if (!err) {
		status = m2_transfer_entering(dev, bio);
		if (status)
			bio->bi_status = status;
		if (!bio->bi_status && bio->bi_opf & REQ_FUA)
			err = blkdev_issue_flush(dev->bdev);
	}
	if (err)
		bio->bi_status = errno_to_blk_status(err);
	bio_endio(bio);
}

void m2_flush_work(struct work_struct *work)
{
	struct m2_dev *dev = container_of(work, struct m2_dev, flush_work);
	struct bio *bio;

	while ((bio = m2_next_flush(dev)))
		m2_do_flushing(dev, bio);
}

static void m2_defer(struct m2_dev *dev, struct bio *bio)
{
	unsigned long flags;

	if (bio->bi_opf & REQ_NOWAIT) {
		bio_wouldblock_error(bio);
		return;
	}
	spin_lock_irqsave(&dev->flush_lock, flags);
	bio_list_add(&dev->flush_list, bio);
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	queue_work(m2_wq, &dev->flush_work);
}

/* Its sector is the device's. */
static __always_inline void m2_run(struct m2_dev *dev, struct bio *bio)
{
	if (unlikely(dev->bdev && (bio->bi_opf & (REQ_PREFLUSH | REQ_FUA) ||
				   bio_op(bio) == REQ_OP_FLUSH))) {
		m2_defer(dev, bio);
		return;
	}
	m2_do(dev, bio);
	bio_endio(bio);
}

/**
 * m2_submit_bio - the block device's entry
 * @bio: anything
 *
 * Context: process context.
 */
void m2_submit_bio(struct bio *bio)
{
	struct m2_dev *dev = bio->bi_bdev->bd_disk->private_data;

	m2_run(dev, bio);
}

/**
 * mem2m_submit_bio - do a bio (section 3.2 of the paper)
 * @mem: the handle
 * @bio: read, write, discard, write-zeroes or flush; its sector counts from the handle's first, its
 *	block device does not matter
 *
 * The bio is done and has been ended on return. One exception: a flush, or one with PREFLUSH or
 * FUA, on memory of a pmem device may end later, as that device's driver flushes as well; until
 * then the bio and the handle have to stay. Context: process context; may sleep for a discard or
 * write-zeroes.
 */
void mem2m_submit_bio(struct mem2m *mem, struct bio *bio)
{
	sector_t sector = bio->bi_iter.bi_sector, sectors = bio_sectors(bio);

	if (unlikely(sectors && (sector >= mem->sectors || sectors > mem->sectors - sector))) {
		bio_io_error(bio);
		return;
	}
	bio->bi_iter.bi_sector = sector + mem->start;
	m2_run(mem->dev, bio);
}
EXPORT_SYMBOL_GPL(mem2m_submit_bio);

/* The same for those who don't depend on this module. */
void m2_direct_submit(void *mem, struct bio *bio)
{
	mem2m_submit_bio(mem, bio);
}
