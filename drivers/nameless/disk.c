// SPDX-License-Identifier: GPL-2.0-only
/* The block device. */
#include <linux/module.h>

#include <compat/blkdev.h>

#include "dev.h"
#include "io.h"
#include "zones.h"

static int nl_open(struct gendisk *disk)
{
	return nl_dev_use(disk->private_data) ? 0 : -EBUSY;
}

static void nl_release(struct gendisk *disk)
{
	nl_dev_unuse(disk->private_data);
}

COMPAT_DISK_OPEN(nl_open)
COMPAT_DISK_RELEASE(nl_release)

/* The last who had it open is gone, which may be long after the device's directory. */
static void nl_free_disk(struct gendisk *disk)
{
	struct nl_dev *dev = disk->private_data;

	config_item_put(&dev->item);
}

static const struct block_device_operations nl_fops = {
	.owner = THIS_MODULE,
	.open = compat_nl_open,
	.release = compat_nl_release,
	.submit_bio = nl_submit_bio,
	.report_zones = nl_report_zones,
	.free_disk = nl_free_disk,
};

/*
 * About what a SATA drive has; any size would do that is a multiple of all flash pages, 64 KiB at
 * most. Without, it would be 255, and device-mapper would cut requests in the middle of one.
 */
#define NL_MAX_SECTORS	(65535 / 128 * 128)

static struct gendisk *nl_disk_alloc(struct nl_dev *dev)
{
	struct queue_limits lim = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = dev->page_bytes,
		.max_hw_sectors = NL_MAX_SECTORS,
		.max_hw_discard_sectors = UINT_MAX >> SECTOR_SHIFT,
		.max_write_zeroes_sectors = UINT_MAX >> SECTOR_SHIFT,
		.discard_granularity = dev->page_bytes,
	};

	/* There they may be written, as long ones as data. */
	if (dev->config.p[NL_P_FTL] == NL_FTL_NAMELESS)
		lim.max_write_zeroes_sectors = NL_MAX_SECTORS;
	/* Who must not wait would have to for the raw device. */
	return compat_alloc_disk(&lim, COMPAT_DISK_WRITE_CACHE | COMPAT_DISK_IO_STAT |
				 (dev->on ? 0 : COMPAT_DISK_NOWAIT));
}

/*
 * Zones are written in whole flash pages; nothing but a reset makes one of them forget anything.
 * Who must not wait would be told to try a write again of which a part is done, and find the write
 * pointer behind it.
 */
static struct gendisk *nl_disk_alloc_zoned(struct nl_dev *dev)
{
	const struct nl_zone_shape *shape = nl_zone_shape_of(dev->ftl);
	u32 shift = dev->page_shift - SECTOR_SHIFT;
	struct queue_limits lim = {
		.logical_block_size = dev->page_bytes,
		.physical_block_size = dev->page_bytes,
		.max_hw_sectors = NL_MAX_SECTORS,
	};
	struct compat_zones zones = {
		.sectors = shape->size << shift,
		.capacity = shape->capacity << shift,
		.nr = nl_zone_count(dev->ftl),
		.max_append = min(NL_BATCH, shape->capacity) << shift,
		.max_open = dev->config.p[NL_P_MAX_OPEN],
		.max_active = dev->config.p[NL_P_MAX_ACTIVE],
	};

	return compat_alloc_zoned_disk(&lim, COMPAT_DISK_WRITE_CACHE | COMPAT_DISK_IO_STAT,
				       &zones);
}

/**
 * nl_disk_add - make the block device
 * @dev: with its power on
 *
 * Context: process context; sleeps.
 * Return: 0 or a negative error number.
 */
int nl_disk_add(struct nl_dev *dev)
{
	struct gendisk *disk = nl_is_zoned(dev) ? nl_disk_alloc_zoned(dev) : nl_disk_alloc(dev);
	int err;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	dev->disk = disk;
	snprintf(disk->disk_name, DISK_NAME_LEN, NL_PREFIX "%s", dev->name);
	disk->fops = &nl_fops;
	disk->private_data = dev;
	set_capacity(disk, (u64)dev->logical_pages << (dev->page_shift - SECTOR_SHIFT));
	err = add_disk(disk);
	if (err) {
		put_disk(disk);
		dev->disk = NULL;
		return err;
	}
	config_item_get(&dev->item);
	return 0;
}

void nl_disk_remove(struct nl_dev *dev)
{
	del_gendisk(dev->disk);
	put_disk(dev->disk);
	dev->disk = NULL;
}
