// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserved memory by physical address, as `memmap=SIZE$START` leaves it. It gets struct pages, for
 * direct I/O out of what is mapped from it; they lie in the range itself.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/pfn_t.h>

#include "mem2m.h"

#define M2_PAGE_BYTES	64	/* of RAM for a struct page: what is left room for */

/* Where the data begins: labels and struct pages before it, aligned for huge mappings. */
static u64 m2_phys_offset(u64 range_bytes)
{
	u64 pages = range_bytes >> PAGE_SHIFT;

	BUILD_BUG_ON(sizeof(struct page) > M2_PAGE_BYTES);
	return ALIGN(M2_HEAD_BYTES + pages * M2_PAGE_BYTES, M2_UNIT_ALIGN);
}

/* Is the whole range of a kind that nobody allocates from? */
static bool m2_phys_set_aside(u64 start, u64 bytes)
{
	static const unsigned long kinds[] = {
		IORES_DESC_RESERVED, IORES_DESC_SOFT_RESERVED, IORES_DESC_PERSISTENT_MEMORY,
		IORES_DESC_PERSISTENT_MEMORY_LEGACY,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (region_intersects(start, bytes, IORESOURCE_MEM, kinds[i]) == REGION_INTERSECTS)
			return true;
	return false;
}

static int m2_phys_check(struct m2_dev *dev, u64 start, u64 bytes)
{
	if ((start | bytes) % M2_UNIT_ALIGN || start + bytes < start)
		return m2_fail(dev, -EINVAL, "address and size have to be multiples of 2M");
	if (bytes < 2 * m2_phys_offset(bytes))
		return m2_fail(dev, -EINVAL, "too small: labels and struct pages take %llu bytes",
			       m2_phys_offset(bytes));
	if (region_intersects(start, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return m2_fail(dev, -EBUSY,
			       "0x%llx+0x%llx: the kernel's own RAM (memmap=SIZE$START sets aside)",
			       start, bytes);
	if (!m2_phys_set_aside(start, bytes))
		return m2_fail(dev, -ENXIO, "0x%llx+0x%llx: not memory that was set aside", start,
			       bytes);
	return 0;
}

/* What is there is looked at, and labelled, before struct pages overwrite any of it. */
static int m2_phys_prepare(struct m2_dev *dev, bool force)
{
	void *range = memremap(dev->phys, dev->range_bytes, MEMREMAP_WB);
	u64 offset = m2_phys_offset(dev->range_bytes);
	int err;

	if (!range)
		return m2_fail(dev, -ENOMEM, "can't be mapped");
	err = m2_range_judge(dev, range, force);
	if (!err && dev->found && dev->label.data_offset < offset)
		err = m2_fail(dev, -EUCLEAN, "no room for struct pages before its data");
	if (!err)
		err = m2_range_label(dev, range, offset);
	memunmap(range);
	return err;
}

static int m2_phys_map(struct m2_dev *dev)
{
	const struct vmem_altmap altmap = {
		.base_pfn = PHYS_PFN(dev->phys),
		.end_pfn = PHYS_PFN(dev->phys + dev->range_bytes - 1),
		.reserve = PHYS_PFN(M2_HEAD_BYTES),
		.free = PHYS_PFN(dev->label.data_offset - M2_HEAD_BYTES),
	};
	struct dev_pagemap *map = &dev->pgmap;
	void *range;

	memset(map, 0, sizeof(*map));
	memcpy(&map->altmap, &altmap, sizeof(altmap));	/* some of it is const */
	map->type = MEMORY_DEVICE_FS_DAX;
	map->range.start = dev->phys;
	map->range.end = dev->phys + dev->range_bytes - 1;
	map->nr_range = 1;
	map->flags = PGMAP_ALTMAP_VALID;
	map->owner = dev;
	range = memremap_pages(map, NUMA_NO_NODE);
	if (IS_ERR(range))
		return m2_fail(dev, PTR_ERR(range), "the kernel can't map it");
	dev->range = range;
	return 0;
}

static int m2_phys_attach(struct m2_dev *dev, const struct m2_settings *s)
{
	int err = m2_phys_check(dev, s->phys, s->bytes);

	if (err)
		return err;
	dev->phys = s->phys;
	dev->range_bytes = s->bytes;
	snprintf(dev->region, sizeof(dev->region), "mem2m %s", dev->name);
	if (!request_mem_region(dev->phys, dev->range_bytes, dev->region))
		return m2_fail(dev, -EBUSY, "0x%llx+0x%llx: in use", dev->phys, dev->range_bytes);
	err = m2_phys_prepare(dev, s->force);
	if (err)
		goto no_map;
	err = m2_phys_map(dev);
	if (err)
		goto no_map;
	err = m2_range_attach(dev);
	if (err)
		goto no_store;
	return 0;

no_store:
	memunmap_pages(&dev->pgmap);
no_map:
	release_mem_region(dev->phys, dev->range_bytes);
	return err;
}

static void m2_phys_detach(struct m2_dev *dev)
{
	m2_range_detach(dev);
	memunmap_pages(&dev->pgmap);
	release_mem_region(dev->phys, dev->range_bytes);
}

static long m2_phys_direct_access(struct m2_dev *dev, u64 offset, long nr_pages, void **kaddr,
				  pfn_t *pfn)
{
	u64 at = dev->label.data_offset + offset;

	if (kaddr)
		*kaddr = dev->range + at;
	if (pfn)
		*pfn = phys_to_pfn_t(dev->phys + at, PFN_DEV | PFN_MAP);
	return PHYS_PFN(dev->store.bytes - offset);
}

const struct m2_backing m2_phys = {
	.name = "phys",
	.attach = m2_phys_attach,
	.detach = m2_phys_detach,
	.resize = m2_range_resize,
	.direct_access = m2_phys_direct_access,
};
