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

/* Partition 1 of `a` is called what the device `a1` would be. add_disk() would dump its stack. */
static bool m2_disk_name_taken(const struct gendisk *disk)
{
	struct device *other = class_find_device_by_name(disk_to_dev(disk)->class, disk->disk_name);

	put_device(other);
	return other;
}

static int m2_disk_name(struct m2_dev *dev)
{
	snprintf(dev->disk->disk_name, DISK_NAME_LEN, M2_PREFIX "%s", dev->name);
	if (!m2_disk_name_taken(dev->disk))
		return 0;
	return m2_fail(dev, -EEXIST, "%s: a partition of another device has this name", dev->name);
}

/**
 * m2_disk_add - make the block device
 * @dev: with its store, and its list of what is bad
 *
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_disk_add(struct m2_dev *dev)
{
	struct gendisk *disk;
	int err;

	m2_bad_begin(dev);
	disk = m2_disk_alloc(dev);
	if (IS_ERR(disk))
		return m2_fail(dev, PTR_ERR(disk), "out of memory");
	dev->disk = disk;
	err = m2_disk_name(dev);
	if (err)
		goto no_disk;
	disk->fops = &m2_fops;
	disk->private_data = dev;
	disk->bb = &dev->bb;
	set_capacity(disk, dev->store.bytes >> SECTOR_SHIFT);
	err = m2_dax_add(dev);
	if (err)
		goto refused;
	err = add_disk(disk);
	if (err)
		goto not_added;
	return 0;

not_added:
	m2_dax_remove(dev);
refused:
	m2_fail(dev, err, "the block layer refuses the disk");
no_disk:
	put_disk(disk);
	return err;
}

void m2_disk_remove(struct m2_dev *dev)
{
	m2_dax_remove(dev);
	del_gendisk(dev->disk);
	put_disk(dev->disk);
}
