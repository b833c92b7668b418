/* SPDX-License-Identifier: GPL-2.0-only */
/* Setting up a bio-based disk: queue limits were settable only after its allocation. */
#ifndef EVENKEEL_COMPAT_BLKDEV_H
#define EVENKEEL_COMPAT_BLKDEV_H

#include <linux/blkdev.h>
#include <linux/err.h>

#include "compat.h"

#define COMPAT_DISK_WRITE_CACHE	BIT(0)		/* volatile, with FUA */
#define COMPAT_DISK_ROTATIONAL	BIT(1)
#define COMPAT_DISK_NOWAIT	BIT(2)

#ifdef HAVE_ALLOC_DISK_LIMITS
/**
 * compat_alloc_disk - allocate a bio-based disk
 * @lim: limits by the new kernel's names; of these logical_block_size, physical_block_size, io_opt,
 *	max_hw_discard_sectors, max_write_zeroes_sectors and discard_granularity are taken over
 * @features: COMPAT_DISK_*
 *
 * Context: may sleep.
 * Return: the disk or an ERR_PTR.
 */
static inline struct gendisk *compat_alloc_disk(struct queue_limits *lim, unsigned int features)
{
	if (features & COMPAT_DISK_WRITE_CACHE)
		lim->features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (features & COMPAT_DISK_ROTATIONAL)
		lim->features |= BLK_FEAT_ROTATIONAL;
	if (features & COMPAT_DISK_NOWAIT)
		lim->features |= BLK_FEAT_NOWAIT;
	return blk_alloc_disk(lim, NUMA_NO_NODE);
}
#else
static inline struct gendisk *compat_alloc_disk(struct queue_limits *lim, unsigned int features)
{
	struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);
	struct request_queue *q;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	q = disk->queue;
	if (lim->logical_block_size)
		blk_queue_logical_block_size(q, lim->logical_block_size);
	if (lim->physical_block_size)
		blk_queue_physical_block_size(q, lim->physical_block_size);
	if (lim->io_opt)
		blk_queue_io_opt(q, lim->io_opt);
	if (lim->max_hw_discard_sectors)
		blk_queue_max_discard_sectors(q, lim->max_hw_discard_sectors);
	if (lim->max_write_zeroes_sectors)
		blk_queue_max_write_zeroes_sectors(q, lim->max_write_zeroes_sectors);
	q->limits.discard_granularity = lim->discard_granularity;
	if (features & COMPAT_DISK_WRITE_CACHE)
		blk_queue_write_cache(q, true, true);
	if (!(features & COMPAT_DISK_ROTATIONAL))
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	if (features & COMPAT_DISK_NOWAIT)
		blk_queue_flag_set(QUEUE_FLAG_NOWAIT, q);
	return disk;
}
#endif

#endif /* EVENKEEL_COMPAT_BLKDEV_H */
