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
#include <evenkeel/mem2m.h>

#include "flush.h"
#include "mem2m.h"
#include "transfer.h"

#define M2_SHORT	(64u << 10)	/* bytes that are copied without being preempted */

static noinline blk_status_t m2_transfer_carefully(struct m2_dev *dev, struct bio *bio)
{
	u64 offset = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT, bad = U64_MAX;
	blk_status_t status;

	if (dev->bb.count && m2_is_bad(dev, offset, bio->bi_iter.bi_size))
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

static void m2_take_flushes(struct m2_dev *dev, struct bio_list *bios)
{
	spin_lock_irq(&dev->flush_lock);
	*bios = dev->flush_list;
	bio_list_init(&dev->flush_list);
	spin_unlock_irq(&dev->flush_lock);
}

static int m2_flush_beneath(void *ctx)
{
	struct m2_dev *dev = ctx;

	return blkdev_issue_flush(dev->bdev);
}

static blk_status_t m2_transfer_beneath(void *ctx, struct bio *bio)
{
	return m2_transfer_entering(ctx, bio);
}

void m2_flush_work(struct work_struct *work)
{
	struct m2_dev *dev = container_of(work, struct m2_dev, flush_work);
	const struct m2_beneath beneath = {
		.flush = m2_flush_beneath, .transfer = m2_transfer_beneath, .ctx = dev,
	};
	struct bio_list bios;

	for (m2_take_flushes(dev, &bios); !bio_list_empty(&bios); m2_take_flushes(dev, &bios))
		m2_flush_joined(&beneath, &bios);
}

static void m2_defer(struct m2_dev *dev, struct bio *bio)
{
	unsigned long flags;

	if (bio->bi_opf & REQ_NOWAIT) {
		bio_wouldblock_error(bio);
		return;
	}
	/*
	 * Queued within the lock: once the bio is on the list it may be done and its device gone,
	 * by who waits for the work as long as that is queued.
	 */
	spin_lock_irqsave(&dev->flush_lock, flags);
	bio_list_add(&dev->flush_list, bio);
	queue_work(m2_wq, &dev->flush_work);
	spin_unlock_irqrestore(&dev->flush_lock, flags);
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
