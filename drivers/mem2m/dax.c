// SPDX-License-Identifier: GPL-2.0-only
/* What file systems need to map a device's memory (-o dax). Ordinary RAM has none of it. */
#include <linux/dax.h>
#include <linux/mm.h>
#include <linux/pfn_t.h>
#include <linux/sizes.h>

#include "mem2m.h"

/*
 * Pages: of who asks for more, most want less. And lists of what is bad, this driver's and that of
 * pmem's beneath, take a number of sectors as int.
 */
#define M2_DAX_LOOK	((long)SZ_256K)

/*
 * The kernel's DAX code asks in order to write over what is bad when a write has found it to be,
 * and would then have the device do that, which this one can't; it doesn't ask where the page is.
 * Who takes all of the memory does, and looks after the bad of it himself.
 */
static enum dax_access_mode m2_dax_mode(enum dax_access_mode mode, const pfn_t *pfn)
{
	return mode == DAX_RECOVERY_WRITE && !pfn ? DAX_ACCESS : mode;
}

/*
 * How many pages of @nr_pages can be had: none with bad memory among them, but for who means to
 * write over that. He gets those before it, or one page of it.
 */
static long m2_dax_pages(struct m2_dev *dev, u64 offset, long nr_pages, enum dax_access_mode mode)
{
	long good;

	if (likely(!dev->bb.count))
		return LONG_MAX;
	good = PHYS_PFN(m2_good(dev, offset, PFN_PHYS(nr_pages)));
	if (good == nr_pages)
		return good;
	return mode == DAX_RECOVERY_WRITE ? max(good, 1L) : -EIO;
}

static long m2_dax_direct_access(struct dax_device *dax, pgoff_t pgoff, long nr_pages,
				 enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	struct m2_dev *dev = dax_get_private(dax);
	u64 offset = PFN_PHYS(pgoff);
	long most, n;

	if (offset >= dev->store.bytes)
		return -ERANGE;
	nr_pages = min(nr_pages, M2_DAX_LOOK);
	mode = m2_dax_mode(mode, pfn);
	most = m2_dax_pages(dev, offset, nr_pages, mode);
	if (most < 0)
		return most;
	n = dev->backing->direct_access(dev, offset, min(nr_pages, most), mode, kaddr, pfn);
	return min(n, most);
}

static int m2_dax_zero_page_range(struct dax_device *dax, pgoff_t pgoff, size_t nr_pages)
{
	struct m2_dev *dev = dax_get_private(dax);
	u64 offset = PFN_PHYS(pgoff), len = PFN_PHYS(nr_pages);
	int cookie;

	if (offset >= dev->store.bytes || len > dev->store.bytes - offset)
		return -ERANGE;
	if (m2_is_bad(dev, offset, len))
		return -EIO;
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

/* Who is told of bad memory passes it on, from now on or no longer. */
static void m2_dax_tell(struct m2_dev *dev, struct dax_device *dax)
{
	mutex_lock(&dev->bad_lock);
	dev->dax = dax;
	mutex_unlock(&dev->bad_lock);
}

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
	m2_dax_tell(dev, dax);
	return 0;
}

void m2_dax_remove(struct m2_dev *dev)
{
	struct dax_device *dax = dev->dax;

	if (!dax)
		return;
	m2_dax_tell(dev, NULL);
	dax_remove_host(dev->disk);
	kill_dax(dax);
	put_dax(dax);
}
