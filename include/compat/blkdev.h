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
#define COMPAT_DISK_SYNCHRONOUS	BIT(3)		/* done when submit_bio returns */
#define COMPAT_DISK_DAX		BIT(4)

#ifdef HAVE_ALLOC_DISK_LIMITS
/**
 * compat_alloc_disk - allocate a bio-based disk
 * @lim: limits by the new kernel's names; of these logical_block_size, physical_block_size, io_opt,
 *	max_hw_sectors, max_hw_discard_sectors, max_write_zeroes_sectors and discard_granularity are
 *	taken over
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
	if (features & COMPAT_DISK_SYNCHRONOUS)
		lim->features |= BLK_FEAT_SYNCHRONOUS;
	if (features & COMPAT_DISK_DAX)
		lim->features |= BLK_FEAT_DAX;
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
	if (lim->max_hw_sectors)
		blk_queue_max_hw_sectors(q, lim->max_hw_sectors);
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
	if (features & COMPAT_DISK_DAX)
		blk_queue_flag_set(QUEUE_FLAG_DAX, q);
	return disk;
}
#endif

/* For block_device_operations: compat_FN out of int FN(disk) or void FN(disk). */
#ifdef HAVE_DISK_OPEN
#define COMPAT_DISK_OPEN(fn)						\
static int compat_##fn(struct gendisk *disk, blk_mode_t mode)		\
{									\
	return fn(disk);						\
}

#define COMPAT_DISK_RELEASE(fn)						\
static void compat_##fn(struct gendisk *disk)				\
{									\
	fn(disk);							\
}
#else
#define COMPAT_DISK_OPEN(fn)						\
static int compat_##fn(struct block_device *bdev, fmode_t mode)		\
{									\
	return fn(bdev->bd_disk);					\
}

#define COMPAT_DISK_RELEASE(fn)						\
static void compat_##fn(struct gendisk *disk, fmode_t mode)		\
{									\
	fn(disk);							\
}
#endif

/* A block device beneath another one, opened for it alone by path. */
#ifdef HAVE_BDEV_FILE
struct compat_bdev {
	struct file *file;
};

static inline struct block_device *compat_bdev_open(struct compat_bdev *opened, const char *path,
						    void *holder)
{
	opened->file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);
	return IS_ERR(opened->file) ? ERR_CAST(opened->file) : file_bdev(opened->file);
}

static inline void compat_bdev_close(struct compat_bdev *opened)
{
	bdev_fput(opened->file);
}
#else
struct compat_bdev {
	struct block_device *bdev;
};

static inline struct block_device *compat_bdev_open(struct compat_bdev *opened, const char *path,
						    void *holder)
{
	opened->bdev = blkdev_get_by_path(path, FMODE_READ | FMODE_WRITE | FMODE_EXCL, holder);
	return opened->bdev;
}

static inline void compat_bdev_close(struct compat_bdev *opened)
{
	blkdev_put(opened->bdev, FMODE_READ | FMODE_WRITE | FMODE_EXCL);
}
#endif

#endif /* EVENKEEL_COMPAT_BLKDEV_H */
