// SPDX-License-Identifier: GPL-2.0-only
/* What file systems need to map a device's memory (-o dax). Ordinary RAM has none of it. */
#include <linux/dax.h>
#include <linux/mm.h>
#include <linux/pfn_t.h>

#include "mem2m.h"

static long m2_dax_direct_access(struct dax_device *dax, pgoff_t pgoff, long nr_pages,
				 enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	struct m2_dev *dev = dax_get_private(dax);
	u64 offset = PFN_PHYS(pgoff);
	sector_t bad_sector;
	int nr_bad;

	if (offset >= dev->store.bytes)
		return -ERANGE;
	if (unlikely(dev->bb.count) &&
	    badblocks_check(&dev->bb, offset >> SECTOR_SHIFT, PFN_PHYS(nr_pages) >> SECTOR_SHIFT,
			    &bad_sector, &nr_bad))
		return -EIO;
	return dev->backing->direct_access(dev, offset, nr_pages, kaddr, pfn);
}

static int m2_dax_zero_page_range(struct dax_device *dax, pgoff_t pgoff, size_t nr_pages)
{
	struct m2_dev *dev = dax_get_private(dax);
	u64 offset = PFN_PHYS(pgoff), len = PFN_PHYS(nr_pages);
	int cookie;

	if (offset >= dev->store.bytes || len > dev->store.bytes - offset)
		return -ERANGE;
	if (dev->backing->enter && !dev->backing->enter(dev, &cookie))
		return -ENXIO;
	m2_store_clear(&dev->store, offset, len);
	if (dev->backing->enter)
		dev->backing->leave(dev, cookie);
	return 0;
}

static const struct dax_operations m2_dax_ops = {
	.direct_access = m2_dax_direct_access,
	.zero_page_range = m2_dax_zero_page_range,
};

/**
 * m2_dax_add - let file systems find the memory beneath the disk
 * @dev: with its disk, not yet added
 *
 * Return: 0, also where the memory can't be mapped, or a negative error number.
 */
int m2_dax_add(struct m2_dev *dev)
{
	struct dax_device *dax;
	int err;

	dev->dax = NULL;
	if (!dev->backing->direct_access)
		return 0;
	dax = alloc_dax(dev, &m2_dax_ops);
	if (IS_ERR(dax))
		return PTR_ERR(dax);
	set_dax_nocache(dax);
	set_dax_nomc(dax);
	if (!dev->mem.dax || dax_synchronous(dev->mem.dax))
		set_dax_synchronous(dax);
	dax_write_cache(dax, true);
	err = dax_add_host(dax, dev->disk);
	if (err) {
		kill_dax(dax);
		put_dax(dax);
		return err;
	}
	dev->dax = dax;
	return 0;
}

void m2_dax_remove(struct m2_dev *dev)
{
	if (!dev->dax)
		return;
	dax_remove_host(dev->disk);
	kill_dax(dev->dax);
	put_dax(dev->dax);
	dev->dax = NULL;
}
