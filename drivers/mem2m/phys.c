// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserved memory by physical address, as `memmap=SIZE$START` leaves it. It gets struct pages, for
 * direct I/O out of what is mapped from it; they lie in the range itself.
 */
#include <linux/mm.h>
#include <linux/pfn_t.h>

#include "mem2m.h"

/* What is there is looked at, and labelled, before struct pages overwrite any of it. */
static int m2_phys_prepare(struct m2_dev *dev, bool force)
{
	void *range = scm_range_peek(&dev->mem);
	u64 offset = scm_range_head(dev->mem.bytes, M2_HEAD_BYTES);
	int err;

	if (!range)
		return m2_mem_fail(dev, -ENOMEM);
	err = m2_range_judge(dev, range, force);
	if (!err && dev->found && dev->label.data_offset < offset)
		err = m2_fail(dev, -EUCLEAN, "no room for struct pages before its data");
	if (!err && force) {
		err = scm_range_forget_below(&dev->mem);
		if (err)
			m2_mem_fail(dev, err);
	}
	if (!err)
		err = m2_range_label(dev, range, offset);
	scm_range_unpeek(range);
	return err;
}

static int m2_phys_failed(struct scm_range *range, u64 offset, u64 bytes, int flags)
{
	return m2_failed(container_of(range, struct m2_dev, mem), offset, bytes, flags);
}

static int m2_phys_attach(struct m2_dev *dev, const struct m2_settings *s)
{
	struct scm_range *mem = &dev->mem;
	int err;

	if (!(s->bytes % M2_UNIT_ALIGN) && s->bytes < 2 * scm_range_head(s->bytes, M2_HEAD_BYTES))
		return m2_fail(dev, -EINVAL, "too small: labels and struct pages take %llu bytes",
			       scm_range_head(s->bytes, M2_HEAD_BYTES));
	memset(mem, 0, sizeof(*mem));
	mem->failed = m2_phys_failed;
	err = scm_range_claim(mem, s->phys, s->bytes, "mem2m %s", dev->name);
	if (err)
		return m2_mem_fail(dev, err);
	err = m2_bad_map(dev, s->bytes) ?: m2_phys_prepare(dev, s->force);
	if (err)
		goto no_map;
	err = scm_range_map(mem, M2_HEAD_BYTES, dev->label.data_offset, dev);
	if (err) {
		m2_mem_fail(dev, err);
		goto no_map;
	}
	err = m2_range_attach(dev);
	if (err)
		goto no_store;
	return 0;

no_store:
	scm_range_unmap(mem);
no_map:
	scm_range_unclaim(mem);
	return err;
}

static void m2_phys_detach(struct m2_dev *dev)
{
	m2_range_detach(dev);
	scm_range_unmap(&dev->mem);
	scm_range_unclaim(&dev->mem);
}

static long m2_phys_direct_access(struct m2_dev *dev, u64 offset, long nr_pages,
				  enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	u64 at = dev->label.data_offset + offset;

	if (kaddr)
		*kaddr = dev->mem.addr + at;
	if (pfn)
		*pfn = phys_to_pfn_t(dev->mem.phys + at, PFN_DEV | PFN_MAP);
	return PHYS_PFN(dev->store.bytes - offset);
}

const struct m2_backing m2_phys = {
	.name = "phys",
	.attach = m2_phys_attach,
	.detach = m2_phys_detach,
	.resize = m2_range_resize,
	.direct_access = m2_phys_direct_access,
};
