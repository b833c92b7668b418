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
#define COMPAT_DISK_IO_STAT	BIT(5)		/* its driver counts what it does */

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
	if (features & COMPAT_DISK_IO_STAT)
		lim->features |= BLK_FEAT_IO_STAT;
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
	if (features & COMPAT_DISK_IO_STAT)
		blk_queue_flag_set(QUEUE_FLAG_IO_STAT, q);
	return disk;
}
#endif

/**
 * struct compat_zones - a disk's zones, all of which have to be written in order
 * @sectors: address space of each, a power of two
 * @capacity: sectors of each that can be written
 * @nr: zones
 * @max_append: sectors of a zone append
 * @max_open: zones, 0: any number
 * @max_active: zones, 0: any number
 */
struct compat_zones {
	unsigned int sectors;
	unsigned int capacity;
	unsigned int nr;
	unsigned int max_append;
	unsigned int max_open;
	unsigned int max_active;
};

/**
 * compat_alloc_zoned_disk - allocate a bio-based disk with zones
 * @lim: as for compat_alloc_disk()
 * @features: COMPAT_DISK_*
 * @zones: its zones
 *
 * blk_revalidate_disk_zones() refuses bio-based disks in older kernels, and has nothing to do that
 * is not done here.
 * Context: may sleep.
 * Return: the disk or an ERR_PTR, -EOPNOTSUPP if the kernel has no zoned block devices.
 */
#ifndef CONFIG_BLK_DEV_ZONED
static inline struct gendisk *compat_alloc_zoned_disk(struct queue_limits *lim,
						      unsigned int features,
						      const struct compat_zones *zones)
{
	return ERR_PTR(-EOPNOTSUPP);
}
#elif defined(HAVE_ALLOC_DISK_LIMITS)
static inline struct gendisk *compat_alloc_zoned_disk(struct queue_limits *lim,
						      unsigned int features,
						      const struct compat_zones *zones)
{
	struct gendisk *disk;

	lim->features |= BLK_FEAT_ZONED;
	lim->chunk_sectors = zones->sectors;
#ifdef HAVE_HW_ZONE_APPEND
	lim->max_hw_zone_append_sectors = zones->max_append;	/* without it the kernel appends */
#else
	lim->max_zone_append_sectors = zones->max_append;
#endif
	lim->max_open_zones = zones->max_open;
	lim->max_active_zones = zones->max_active;
	disk = compat_alloc_disk(lim, features);
	if (IS_ERR(disk))
		return disk;
	disk->nr_zones = zones->nr;
	disk->zone_capacity = zones->capacity;
	disk->last_zone_capacity = zones->capacity;
	return disk;
}
#else
static inline struct gendisk *compat_alloc_zoned_disk(struct queue_limits *lim,
						      unsigned int features,
						      const struct compat_zones *zones)
{
	struct gendisk *disk = compat_alloc_disk(lim, features);

	if (IS_ERR(disk))
		return disk;
	blk_queue_chunk_sectors(disk->queue, zones->sectors);
	disk_set_zoned(disk, BLK_ZONED_HM);
	blk_queue_max_zone_append_sectors(disk->queue, zones->max_append);
	blk_queue_flag_set(QUEUE_FLAG_ZONE_RESETALL, disk->queue);
	disk_set_max_open_zones(disk, zones->max_open);
	disk_set_max_active_zones(disk, zones->max_active);
	disk->nr_zones = zones->nr;
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

/* A block device beneath another one, opened for it alone by path or number. */
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

static inline struct block_device *compat_bdev_open_dev(struct compat_bdev *opened, dev_t dev,
							void *holder)
{
	opened->file = bdev_file_open_by_dev(dev, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);
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

static inline struct block_device *compat_bdev_open_dev(struct compat_bdev *opened, dev_t dev,
							void *holder)
{
	opened->bdev = blkdev_get_by_dev(dev, FMODE_READ | FMODE_WRITE | FMODE_EXCL, holder);
	return opened->bdev;
}

static inline void compat_bdev_close(struct compat_bdev *opened)
{
	blkdev_put(opened->bdev, FMODE_READ | FMODE_WRITE | FMODE_EXCL);
}
#endif

#endif /* EVENKEEL_COMPAT_BLKDEV_H */
