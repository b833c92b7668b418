// SPDX-License-Identifier: GPL-2.0-only
/* The block device. */
#include <linux/module.h>

#include <compat/blkdev.h>

#include "mem2m.h"

static int m2_open(struct gendisk *disk)
{
	return m2_dev_use(disk->private_data, false) ? 0 : -EBUSY;
}

static void m2_release(struct gendisk *disk)
{
	m2_dev_unuse(disk->private_data, false);
}

COMPAT_DISK_OPEN(m2_open)
COMPAT_DISK_RELEASE(m2_release)

const struct block_device_operations m2_fops = {
	.owner = THIS_MODULE,
	.open = compat_m2_open,
	.release = compat_m2_release,
	.submit_bio = m2_submit_bio,
};

static struct gendisk *m2_disk_alloc(struct m2_dev *dev)
{
	struct queue_limits lim = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = M2_BLOCK,
		.max_hw_sectors = UINT_MAX,
		.max_hw_discard_sectors = UINT_MAX >> SECTOR_SHIFT,
		.max_write_zeroes_sectors = UINT_MAX >> SECTOR_SHIFT,
		.discard_granularity = M2_BLOCK,
	};
	unsigned int features = COMPAT_DISK_NOWAIT | COMPAT_DISK_SYNCHRONOUS;

	if (dev->store.persistent)
		features |= COMPAT_DISK_WRITE_CACHE;
	if (dev->backing->direct_access)
		features |= COMPAT_DISK_DAX;
	return compat_alloc_disk(&lim, features);
}

/**
 * m2_disk_add - make the block device
 * @dev: with its store, and its list of what is bad
 *
 * Return: 0 or a negative error number.
 */
int m2_disk_add(struct m2_dev *dev)
{
	struct gendisk *disk;
	int err;

	m2_bad_begin(dev);
	disk = m2_disk_alloc(dev);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	dev->disk = disk;
	snprintf(disk->disk_name, DISK_NAME_LEN, M2_PREFIX "%s", dev->name);
	disk->fops = &m2_fops;
	disk->private_data = dev;
	disk->bb = &dev->bb;
	set_capacity(disk, dev->store.bytes >> SECTOR_SHIFT);
	err = m2_dax_add(dev);
	if (err)
		goto no_dax;
	err = add_disk(disk);
	if (err)
		goto not_added;
	return 0;

not_added:
	m2_dax_remove(dev);
no_dax:
	put_disk(disk);
	return err;
}

void m2_disk_remove(struct m2_dev *dev)
{
	m2_dax_remove(dev);
	del_gendisk(dev->disk);
	put_disk(dev->disk);
}
