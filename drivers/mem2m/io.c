// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios, from wherever they come: the block device, direct mode, the dm target. All is done on
 * return, but for one case: a flush that a device beneath has to do as well can't be waited for
 * where bios are submitted, and goes through a work queue.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>

#include "mem2m.h"
#include "transfer.h"

static blk_status_t m2_transfer_known_good(struct m2_dev *dev, struct bio *bio)
{
	u64 bad = U64_MAX;
	sector_t bad_sector;
	blk_status_t status;
	int nr_bad;

	if (unlikely(dev->bb.count) && bio_sectors(bio) &&
	    badblocks_check(&dev->bb, bio->bi_iter.bi_sector, bio_sectors(bio), &bad_sector,
			    &nr_bad))
		return BLK_STS_IOERR;
	status = m2_transfer(&dev->store, bio, &bad);
	if (unlikely(status == BLK_STS_IOERR && bio_op(bio) == REQ_OP_READ &&
		     bad < dev->store.bytes))
		pr_err_ratelimited("mem2m: %s: bad memory at byte %llu\n", dev->name, bad);
	return status;
}

static blk_status_t m2_transfer_entered(struct m2_dev *dev, struct bio *bio)
{
	const struct m2_backing *backing = dev->backing;
	blk_status_t status;
	int cookie;

	if (!backing->enter)
		return m2_transfer_known_good(dev, bio);
	if (!backing->enter(dev, &cookie))
		return BLK_STS_IOERR;
	status = m2_transfer_known_good(dev, bio);
	backing->leave(dev, cookie);
	return status;
}

/* An error that is there already stays: of a bio that is chained to this one, and has ended. */
static void m2_do(struct m2_dev *dev, struct bio *bio)
{
	blk_status_t status = m2_transfer_entered(dev, bio);

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
	int err = 0;

	if (bio->bi_opf & REQ_PREFLUSH || bio_op(bio) == REQ_OP_FLUSH)
		err = blkdev_issue_flush(dev->bdev);
	if (!err) {
		m2_do(dev, bio);
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

/**
 * m2_run - do a bio and end it
 * @dev: the device
 * @bio: its sector is the device's
 *
 * Context: process context.
 */
void m2_run(struct m2_dev *dev, struct bio *bio)
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
