// SPDX-License-Identifier: GPL-2.0-only
/* Direct mode: mem2m.h in include/evenkeel has how to use it. */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/module.h>
#include <evenkeel/direct.h>
#include <evenkeel/mem2m.h>

#include "mem2m.h"

/**
 * mem2m_get - get a device by its name, for oneself
 * @name: as in /dev/mem2m/NAME
 *
 * Until mem2m_put() nobody else has it: it can't be mounted, nor opened by another driver or by
 * whoever wants it alone, as mkfs does.
 * Context: process context; sleeps.
 * Return: a handle for mem2m_put(), or an ERR_PTR: -ENODEV when there is none of that name, -EBUSY
 * when somebody has it, or it is being resized or deleted, -ENOMEM.
 */
struct mem2m *mem2m_get(const char *name)
{
	struct mem2m *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	struct block_device *bdev;
	struct m2_dev *dev;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	dev = m2_dev_find(name);
	if (IS_ERR(dev)) {
		kfree(mem);
		return ERR_CAST(dev);
	}
	bdev = compat_bdev_open_dev(&mem->opened, disk_devt(dev->disk), mem);
	if (IS_ERR(bdev)) {
		m2_dev_unuse(dev, true);
		kfree(mem);
		return ERR_CAST(bdev);
	}
	mem->alone = true;
	mem->dev = dev;
	mem->sectors = get_capacity(dev->disk);
	return mem;
}
EXPORT_SYMBOL_GPL(mem2m_get);

/**
 * mem2m_get_by_bdev - get the device behind a block device
 * @bdev: that the caller has opened, and for itself if nobody else is to have it; a partition makes
 *	a handle for that part
 *
 * Context: process context; sleeps.
 * Return: a handle for mem2m_put(), or an ERR_PTR: -ENODEV when it is no memory device, -ENOMEM.
 */
struct mem2m *mem2m_get_by_bdev(struct block_device *bdev)
{
	struct mem2m *mem;

	if (bdev->bd_disk->fops != &m2_fops)
		return ERR_PTR(-ENODEV);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dev = bdev->bd_disk->private_data;
	if (!m2_dev_use(mem->dev, true)) {
		kfree(mem);
		return ERR_PTR(-ENODEV);
	}
	mem->start = get_start_sect(bdev);
	mem->sectors = bdev_nr_sectors(bdev);
	return mem;
}
EXPORT_SYMBOL_GPL(mem2m_get_by_bdev);

/**
 * mem2m_put - give a handle back
 * @mem: the handle, of which no bio is under way
 *
 * Context: process context.
 */
void mem2m_put(struct mem2m *mem)
{
	if (mem->alone)
		compat_bdev_close(&mem->opened);
	m2_dev_unuse(mem->dev, true);
	kfree(mem);
}
EXPORT_SYMBOL_GPL(mem2m_put);

/**
 * mem2m_sectors - the size
 * @mem: the handle
 *
 * Context: any.
 * Return: sectors of 512 bytes; it does not change as long as the handle is held.
 */
u64 mem2m_sectors(const struct mem2m *mem)
{
	return mem->sectors;
}
EXPORT_SYMBOL_GPL(mem2m_sectors);

/**
 * mem2m_volatile - is the content gone with the power?
 * @mem: the handle
 *
 * Of ordinary RAM it is, and of reserved memory that nobody has told the kernel to be persistent,
 * where it outlives a reset, but not that.
 * Context: any.
 * Return: whether it is.
 */
bool mem2m_volatile(const struct mem2m *mem)
{
	return !m2_outlasts_power(mem->dev);
}
EXPORT_SYMBOL_GPL(mem2m_volatile);

/* --- for those who use it without depending on this module ------------------------------------ */

static void *m2_direct_get(struct block_device *bdev)
{
	return mem2m_get_by_bdev(bdev);
}

static void m2_direct_put(void *mem)
{
	mem2m_put(mem);
}

static const struct ek_direct_ops m2_direct_ops = {
	.owner = THIS_MODULE,
	.get = m2_direct_get,
	.put = m2_direct_put,
	.submit = m2_direct_submit,
};

int m2_direct_init(void)
{
	return ek_direct_register(&m2_direct_ops);
}

void m2_direct_exit(void)
{
	ek_direct_unregister(&m2_direct_ops);
}
