// SPDX-License-Identifier: GPL-2.0-only
/* Reserved memory and DAX devices as one piece of addresses; range.h has the contract. */
#include <linux/blkdev.h>
#include <linux/cc_platform.h>
#include <linux/dax.h>
#include <linux/export.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pfn_t.h>
#include <linux/suspend.h>
#include <evenkeel/interrupt.h>
#include <evenkeel/range.h>
#include <evenkeel/scm.h>
#include <evenkeel/tenant.h>

#include "range_internal.h"

__printf(3, 4) static int scm_range_fail(struct scm_range *range, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(range->error, sizeof(range->error), fmt, args);
	va_end(args);
	return err;
}

/* --- reserved memory -------------------------------------------------------------------------- */

/**
 * scm_range_head - where data can begin in reserved memory
 * @bytes: size of the range
 * @reserve: bytes at its start that are kept as they are: labels
 *
 * Context: any.
 * Return: bytes of labels and struct pages, such that what follows can have huge mappings.
 */
u64 scm_range_head(u64 bytes, u64 reserve)
{
	BUILD_BUG_ON(sizeof(struct page) > SCM_RANGE_PAGE_BYTES || PAGE_SIZE != SCM_RANGE_PAGE);
	return scm_range_data(bytes, reserve);
}
EXPORT_SYMBOL_GPL(scm_range_head);

/* What nobody allocates from, and whether what is in it is there when the power was off. */
static const struct scm_range_kind {
	unsigned long desc;
	bool lasts;
} scm_range_kinds[] = {
	{ IORES_DESC_RESERVED, false },
	{ IORES_DESC_SOFT_RESERVED, false },
	{ IORES_DESC_PERSISTENT_MEMORY, true },
	{ IORES_DESC_PERSISTENT_MEMORY_LEGACY, true },
};

static int scm_range_add(struct resource *res, void *covered)
{
	*(u64 *)covered += resource_size(res);
	return 0;
}

/*
 * Which kind is the whole range of? NULL: none. Every byte is counted: region_intersects() looks at
 * what there is, and a hole, where there is no memory at all, would be nothing that speaks against
 * it.
 */
static const struct scm_range_kind *scm_range_kind(u64 start, u64 bytes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scm_range_kinds); i++) {
		u64 covered = 0;

		walk_iomem_res_desc(scm_range_kinds[i].desc, IORESOURCE_MEM, start,
				    start + bytes - 1, &covered, scm_range_add);
		if (covered == bytes)
			return &scm_range_kinds[i];
	}
	return NULL;
}

static int scm_range_check(struct scm_range *range, u64 start, u64 bytes)
{
	const struct scm_range_kind *kind;

	if ((start | bytes) % SCM_RANGE_ALIGN || !bytes || start + bytes < start)
		return scm_range_fail(range, -EINVAL,
				      "address and size have to be multiples of 2M");
	/* It would be looked at as it is, and used encrypted. */
	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		return scm_range_fail(range, -EOPNOTSUPP,
				      "reserved memory can't be used where memory is encrypted");
	if (region_intersects(start, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return scm_range_fail(range, -EBUSY,
				      "0x%llx+0x%llx: the kernel's own RAM (memmap=SIZE$START sets aside)",
				      start, bytes);
	kind = scm_range_kind(start, bytes);
	if (!kind)
		return scm_range_fail(range, -ENXIO, "0x%llx+0x%llx: not memory that was set aside",
				      start, bytes);
	range->lasts = kind->lasts;
	return 0;
}

/**
 * scm_range_claim - take reserved memory
 * @range: zeroed
 * @phys: its address, a multiple of SCM_RANGE_ALIGN
 * @bytes: its size, too
 * @fmt: who takes it, for /proc/iomem
 *
 * Context: process context.
 * Return: 0 or a negative error number with the range's error set: not aligned, not set aside, or
 * in use.
 */
int scm_range_claim(struct scm_range *range, u64 phys, u64 bytes, const char *fmt, ...)
{
	int err = scm_range_check(range, phys, bytes);
	va_list args;

	if (err)
		return err;
	range->phys = phys;
	range->bytes = bytes;
	va_start(args, fmt);
	vscnprintf(range->region, sizeof(range->region), fmt, args);
	va_end(args);
	if (!request_mem_region(phys, bytes, range->region))
		return scm_range_fail(range, -EBUSY, "0x%llx+0x%llx: in use", phys, bytes);
	return 0;
}
EXPORT_SYMBOL_GPL(scm_range_claim);

/**
 * scm_range_peek - address reserved memory as it is, without struct pages
 * @range: claimed, not mapped
 *
 * Context: process context.
 * Return: its first byte until scm_range_unpeek(), or NULL with the range's error set.
 */
void *scm_range_peek(struct scm_range *range)
{
	void *addr = memremap(range->phys, range->bytes, MEMREMAP_WB);

	if (!addr)
		scm_range_fail(range, -ENOMEM, "can't be mapped");
	return addr;
}
EXPORT_SYMBOL_GPL(scm_range_peek);

/**
 * scm_range_unpeek - the end of scm_range_peek()
 * @addr: what that returned
 *
 * Context: process context.
 */
void scm_range_unpeek(void *addr)
{
	memunmap(addr);
}
EXPORT_SYMBOL_GPL(scm_range_unpeek);

static int scm_range_note(struct resource *res, void *last)
{
	*(struct resource *)last = *res;
	return 0;
}

/* Where that begins, in one piece, in which @phys is. */
static u64 scm_range_first(u64 phys)
{
	unsigned int i;

	for (i = 0; phys && i < ARRAY_SIZE(scm_range_kinds); i++) {
		struct resource last = {};

		walk_iomem_res_desc(scm_range_kinds[i].desc, IORESOURCE_MEM, 0, phys - 1, &last,
				    scm_range_note);
		if (last.end == phys - 1)
			return ALIGN(last.start, SCM_RANGE_ALIGN);
	}
	return phys;
}

/*
 * Does somebody's content reach into the range who begins at @phys, before it?  Who doesn't say
 * may; @unknown is the nearest of these, at ->offset, until somebody is found whose data that is.
 */
static int scm_range_look_at(struct scm_range *range, u64 phys, struct scm_tenant *unknown)
{
	void *head = memremap(phys, SCM_TENANT_HEAD, MEMREMAP_WB);
	struct scm_tenant tenant;
	int err;

	if (!head)
		return scm_range_fail(range, -ENOMEM, "0x%llx, before it, can't be mapped", phys);
	err = scm_tenant_at(head, &tenant);
	memunmap(head);
	if (err == -EIO)
		return scm_range_fail(range, err,
				      "bad memory at 0x%llx, where something may begin and reach into it",
				      phys);
	if (err)
		return 0;
	if (tenant.bytes > range->phys - phys)
		return scm_range_fail(range, -EEXIST, "%s at 0x%llx reaches into it", tenant.name,
				      phys);
	if (!tenant.bytes && !unknown->offset) {
		*unknown = tenant;
		unknown->offset = phys;
	}
	/* Then all that lie between are within it, too. */
	if (unknown->offset - phys < tenant.bytes)
		unknown->offset = 0;
	return 0;
}

static int scm_range_look_below(struct scm_range *range)
{
	u64 first = scm_range_first(range->phys), at = range->phys;
	struct scm_tenant unknown = {};
	int err = 0;

	while (!err && at > first) {
		at -= SCM_RANGE_ALIGN;
		err = scm_range_look_at(range, at, &unknown);
		if (!err && ek_interrupted())
			err = scm_range_fail(range, -EINTR, "interrupted");
		cond_resched();
	}
	if (!err && unknown.offset)
		err = scm_range_fail(range, -EEXIST, "%s at 0x%llx doesn't say how far it reaches",
				     unknown.name, unknown.offset);
	return err;
}

/**
 * scm_range_vacant - may a range be overwritten?
 * @range: claimed, or taken from a device with DAX; as yet unchanged
 * @addr: its first byte
 * @but: an offset in it that the caller has judged; U64_MAX: there is none
 *
 * Content that lasts is looked for where it can begin: in all of the range and, of reserved memory,
 * in what lies before it in the same piece. tenant.h has what is known.
 * Context: process context; takes a while where there is much.
 * Return: 0 or a negative error number with the range's error set, which names what is there:
 * -EEXIST, -EIO and -ENOMEM: it can't be told, -EINTR.
 */
int scm_range_vacant(struct scm_range *range, const void *addr, u64 but)
{
	struct scm_tenant tenant;
	int err = scm_tenant_find(addr, range->bytes, but, &tenant);

	if (err == -EIO)
		return scm_range_fail(range, err, "bad memory at 0x%llx, where something may begin",
				      range->phys + tenant.offset);
	if (!err)
		return scm_range_fail(range, -EEXIST, "%s is there, at 0x%llx", tenant.name,
				      range->phys + tenant.offset);
	return range->dax ? 0 : scm_range_look_below(range);
}
EXPORT_SYMBOL_GPL(scm_range_vacant);

/* Who is at work has his range claimed, which doesn't reach into another one. */
static void scm_range_forget_at(u64 phys, void *head)
{
	if (!request_mem_region(phys, SCM_TENANT_HEAD, "evenkeel"))
		return;
	scm_tenant_forget(head);
	release_mem_region(phys, SCM_TENANT_HEAD);
}

/*
 * Who begins at @phys, as scm_range_forget_below() has it, or with !@forget what that would say;
 * @unknown: behind one that doesn't say how far it reaches. Return: how far the next one is, at
 * least, or a negative error number.
 */
static s64 scm_range_forget_one(struct scm_range *range, u64 phys, bool forget, bool *unknown)
{
	void *head = memremap(phys, SCM_TENANT_HEAD, MEMREMAP_WB);
	struct scm_tenant tenant = {};
	s64 step = SCM_RANGE_ALIGN;
	int err;

	if (!head)
		return scm_range_fail(range, -ENOMEM, "0x%llx, before it, can't be mapped", phys);
	err = scm_tenant_at(head, &tenant);
	if (!err && !tenant.bytes)
		*unknown = true;
	else if (!err && tenant.bytes <= range->phys - phys)
		step = ALIGN(tenant.bytes, SCM_RANGE_ALIGN);
	else if (!err && *unknown)
		step = scm_range_fail(range, -EEXIST,
				      "%s at 0x%llx reaches into it, if it isn't data of what is before that",
				      tenant.name, phys);
	else if (!err && forget)
		scm_range_forget_at(phys, head);
	memunmap(head);
	return step;
}

static int scm_range_walk_below(struct scm_range *range, bool forget)
{
	u64 at = range->dax ? range->phys : scm_range_first(range->phys);
	bool unknown = false;
	s64 step = 1;

	while (step > 0 && at < range->phys) {
		step = scm_range_forget_one(range, at, forget, &unknown);
		at += max_t(s64, step, 0);
		if (step > 0 && ek_interrupted())
			step = scm_range_fail(range, -EINTR, "interrupted");
		cond_resched();
	}
	return min_t(s64, step, 0);
}

/**
 * scm_range_forget_below - what begins before a range and reaches into it is nobody's any more
 * @range: claimed; its new content counts for nobody yet
 *
 * Or who had it finds the whole label again, with another's data in the place of the rest:
 *
 *	a device is made by force	in the tail of one that nobody has at the moment
 *	is used, and let go of
 *	the other one is made again	its label is whole, so it is found, and written to
 *
 * What lies in somebody's content which ends before is that one's data, whatever it looks like.
 * What lies behind one that doesn't say how far it reaches may be, and is not touched, either.
 * Context: process context; takes a while where there is much.
 * Return: 0 or a negative error number with the range's error set: -EEXIST: nobody knows whether it
 * may go; -ENOMEM, -EINTR.
 */
int scm_range_forget_below(struct scm_range *range)
{
	/* Who is refused has overwritten nothing. */
	int err = scm_range_walk_below(range, false);

	if (!err)
		err = scm_range_walk_below(range, true);
	scm_fence();
	return err;
}
EXPORT_SYMBOL_GPL(scm_range_forget_below);

/*
 * No hibernation beside reserved memory.
 *
 *	the image of memory is taken	without what is reserved, and so without the struct pages
 *					that lie in it
 *	the next start			leaves something else there: firmware's, or those of its own
 *	the image is back		with a map of struct pages that are none
 *
 * So it is refused while any is mapped, as every program that asks for it is told, and none is
 * mapped once it has begun.  Suspend to RAM loses nothing, and is not concerned.
 */
static LIST_HEAD(scm_mapped);
static bool scm_hibernating;
static DEFINE_MUTEX(scm_mapped_lock);	/* for both */

static bool scm_mapped_add(struct scm_range *range)
{
	bool ok;

	mutex_lock(&scm_mapped_lock);
	ok = !scm_hibernating;
	if (ok)
		list_add(&range->on_list, &scm_mapped);
	mutex_unlock(&scm_mapped_lock);
	return ok;
}

static void scm_mapped_del(struct scm_range *range)
{
	mutex_lock(&scm_mapped_lock);
	list_del(&range->on_list);
	mutex_unlock(&scm_mapped_lock);
}

static int scm_hibernation_begins(void)
{
	struct scm_range *range;

	mutex_lock(&scm_mapped_lock);
	range = list_first_entry_or_null(&scm_mapped, struct scm_range, on_list);
	if (range)
		pr_warn("evenkeel: %s: reserved memory is not in the image: no hibernation\n",
			range->region);
	scm_hibernating = !range;
	mutex_unlock(&scm_mapped_lock);
	return range ? notifier_from_errno(-EBUSY) : NOTIFY_DONE;
}

static int scm_range_pm_event(struct notifier_block *nb, unsigned long action, void *unused)
{
	switch (action) {
	case PM_HIBERNATION_PREPARE:
		return scm_hibernation_begins();
	case PM_POST_HIBERNATION:
		mutex_lock(&scm_mapped_lock);
		scm_hibernating = false;
		mutex_unlock(&scm_mapped_lock);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block scm_range_pm = { .notifier_call = scm_range_pm_event };

/* Of pages that struct pages are in the kernel tells nobody. */
static int scm_range_page_failed(struct dev_pagemap *map, unsigned long pfn, unsigned long nr,
				 int flags)
{
	struct scm_range *range = container_of(map, struct scm_range, pgmap);

	return range->failed(range, PFN_PHYS(pfn) - range->phys, PFN_PHYS(nr), flags);
}

static const struct dev_pagemap_ops scm_range_page_ops = {
	.memory_failure = scm_range_page_failed,
};

/**
 * scm_range_map - give reserved memory addresses and struct pages
 * @range: claimed
 * @reserve: bytes at its start that are kept, a multiple of the page size
 * @head: struct pages are put between @reserve and this, of which scm_range_head() is the least
 * @owner: of the pages, as in struct dev_pagemap
 *
 * As long as it is mapped there is no hibernation, and the other way round.
 * Context: process context; takes a while where the range is large.
 * Return: 0 or a negative error number with the range's error set; -EBUSY: hibernation has begun.
 */
int scm_range_map(struct scm_range *range, u64 reserve, u64 head, void *owner)
{
	const struct vmem_altmap altmap = {
		.base_pfn = PHYS_PFN(range->phys),
		.end_pfn = PHYS_PFN(range->phys + range->bytes - 1),
		.reserve = PHYS_PFN(reserve),
		.free = PHYS_PFN(head - reserve),
	};
	struct dev_pagemap *map = &range->pgmap;
	void *addr;

	memset(map, 0, sizeof(*map));
	memcpy(&map->altmap, &altmap, sizeof(altmap));	/* some of it is const */
	map->type = MEMORY_DEVICE_FS_DAX;
	map->range.start = range->phys;
	map->range.end = range->phys + range->bytes - 1;
	map->nr_range = 1;
	map->flags = PGMAP_ALTMAP_VALID;
	map->owner = owner;
	if (range->failed)
		map->ops = &scm_range_page_ops;
	if (!scm_mapped_add(range))
		return scm_range_fail(range, -EBUSY, "hibernation has begun");
	addr = memremap_pages(map, NUMA_NO_NODE);
	if (IS_ERR(addr)) {
		scm_mapped_del(range);
		return scm_range_fail(range, PTR_ERR(addr), "the kernel can't map it");
	}
	range->addr = addr;
	return 0;
}
EXPORT_SYMBOL_GPL(scm_range_map);

/**
 * scm_range_unmap - the reverse of scm_range_map()
 * @range: mapped
 *
 * Context: process context; waits for whoever holds one of its pages.
 */
void scm_range_unmap(struct scm_range *range)
{
	memunmap_pages(&range->pgmap);
	scm_mapped_del(range);
	range->addr = NULL;
}
EXPORT_SYMBOL_GPL(scm_range_unmap);

/**
 * scm_range_unclaim - let go of reserved memory
 * @range: claimed, not mapped
 *
 * Context: process context.
 */
void scm_range_unclaim(struct scm_range *range)
{
	release_mem_region(range->phys, range->bytes);
}
EXPORT_SYMBOL_GPL(scm_range_unclaim);

/* --- DAX -------------------------------------------------------------------------------------- */

static LIST_HEAD(scm_ranges);		/* that are on a device, and want to know what fails */
static DEFINE_MUTEX(scm_ranges_lock);	/* for the list */

/* Of the range alone: the device may have more memory than that. */
static int scm_range_part_failed(struct scm_range *range, u64 offset, u64 bytes, int flags)
{
	u64 end = offset + bytes;

	if (end <= range->dax_offset || offset >= range->dax_offset + range->bytes)
		return -EOPNOTSUPP;
	offset = max(offset, range->dax_offset) - range->dax_offset;
	end = min(end - range->dax_offset, range->bytes);
	return range->failed(range, offset, end - offset, flags);
}

/* Its driver tells the holder. That all of it goes is no news: who holds pages is waited for. */
static int scm_range_dax_failed(struct dax_device *dax, u64 offset, u64 bytes, int flags)
{
	struct scm_range *range;
	int err = -EOPNOTSUPP;

	if (bytes == U64_MAX)
		return err;
	mutex_lock(&scm_ranges_lock);
	list_for_each_entry(range, &scm_ranges, on_list)
		if (range->dax == dax)
			err = scm_range_part_failed(range, offset, bytes, flags);
	mutex_unlock(&scm_ranges_lock);
	return err;
}

static const struct dax_holder_operations scm_range_holder = {
	.notify_failure = scm_range_dax_failed,
};

/*
 * Letting go of a DAX device does not wait for who is being told:
 *
 *	its driver			its holder
 *	dax_read_lock()
 *	reads holder_ops
 *					fs_put_dax() clears them
 *					the module is unloaded
 *	calls what was there
 *
 * Only kill_dax() waits for all who are within dax_read_lock(), of whatever device; so here is one
 * to be killed, as often as it takes, with which nothing can be wrong by then.
 */
static struct dax_device *scm_nobodys_dax;

/**
 * scm_range_wait_told - wait for who is in a callback of &dax_holder_operations
 *
 * Whoever has such operations calls this when he has let go of all devices, before they go with his
 * module. Those of ranges with &scm_range.failed are this module's.
 * Context: process context; sleeps. Not within dax_read_lock(), and without any lock that such a
 * callback takes.
 */
void scm_range_wait_told(void)
{
	kill_dax(scm_nobodys_dax);
}
EXPORT_SYMBOL_GPL(scm_range_wait_told);

/* fs_dax_get_by_bdev() says nothing of why it hasn't. */
static int scm_range_no_dax(struct scm_range *range, struct block_device *bdev)
{
	u64 start = (u64)get_start_sect(bdev) << SECTOR_SHIFT;

	if (!blk_queue_dax(bdev_get_queue(bdev)))
		return scm_range_fail(range, -EOPNOTSUPP, "/dev/%pg has no DAX (mode fsdax has)",
				      bdev);
	if (!PAGE_ALIGNED(start) || !PAGE_ALIGNED(bdev_nr_bytes(bdev)))
		return scm_range_fail(range, -EINVAL,
				      "/dev/%pg: a partition has to begin and end at multiples of 4K",
				      bdev);
	return scm_range_fail(range, -EBUSY, "/dev/%pg: it or another part of its memory is in use",
			      bdev);
}

static bool scm_range_is_bad(long answer)
{
	return answer == -EIO || answer == -EHWPOISON;
}

#define SCM_BAD_LOOK	((long)SZ_256K)	/* pages: drivers' lists take numbers of sectors as int */

/*
 * Where pages are, and how many of them in one piece; of SCM_BAD_LOOK at most. A bad sector among
 * them is an error to who asks for access, so one sector would make all of the device useless; who
 * asks in order to write over what is bad is told where that is as well; by mem2m if it wants the
 * page, too.
 */
static long scm_range_ask(struct scm_range *range, pgoff_t page, long pages, void **kaddr)
{
	pfn_t pfn;
	long n;

	pages = min(pages, SCM_BAD_LOOK);
	n = dax_direct_access(range->dax, page, pages, DAX_ACCESS, kaddr, NULL);
	if (scm_range_is_bad(n))
		n = dax_direct_access(range->dax, page, pages, DAX_RECOVERY_WRITE, kaddr, &pfn);
	return min(n, pages);
}

/* All of the range has to be one piece of addresses, bad memory in it or not. */
static int scm_range_map_dax(struct scm_range *range, const struct block_device *bdev)
{
	long pages = PHYS_PFN(range->bytes), n = 0;
	pgoff_t first = PHYS_PFN(range->dax_offset), at;
	void *kaddr;
	int cookie = dax_read_lock();

	for (at = 0; at < pages; at += n) {
		n = scm_range_ask(range, first + at, pages - at, &kaddr);
		if (n <= 0 || (at && kaddr != range->addr + PFN_PHYS(at)))
			break;
		if (!at)
			range->addr = kaddr;
	}
	dax_read_unlock(cookie);
	if (at >= pages)
		return 0;
	if (n < 0)
		return scm_range_fail(range, n, "/dev/%pg: no memory at byte %llu", bdev,
				      (u64)PFN_PHYS(at));
	return scm_range_fail(range, -EOPNOTSUPP, "/dev/%pg: not one piece of memory", bdev);
}

/**
 * scm_range_get_dax - take the memory beneath a block device
 * @range: zeroed, but for dax_ops
 * @bdev: the device, opened for @holder alone
 * @bytes: how much of it, from its start; a multiple of the page size
 * @holder: whose it becomes
 *
 * What is mapped has to stay where it is, so device-mapper's devices don't do: their table may be
 * changed beneath. Memory has one holder, so only one partition of a device can be taken at a time.
 * Bad memory is taken with the rest: who reads it has to survive that.
 * Context: process context.
 * Return: 0 or a negative error number with the range's error set; -EBUSY: somebody holds it.
 */
int scm_range_get_dax(struct scm_range *range, struct block_device *bdev, u64 bytes, void *holder)
{
	u64 most = bdev_nr_bytes(bdev);
	int err;

	if (bytes > most)
		return scm_range_fail(range, -ENOSPC, "/dev/%pg has %llu bytes", bdev, most);
	range->bytes = bytes;
	range->bdev = bdev;
	range->holder = holder;
	range->lasts = true;	/* a driver for persistent memory has it */
	INIT_LIST_HEAD(&range->on_list);
	if (range->failed)
		range->dax_ops = &scm_range_holder;
	range->dax = fs_dax_get_by_bdev(bdev, &range->dax_offset, holder, range->dax_ops);
	if (!range->dax)
		return scm_range_no_dax(range, bdev);
	if (range->failed) {
		mutex_lock(&scm_ranges_lock);
		list_add(&range->on_list, &scm_ranges);
		mutex_unlock(&scm_ranges_lock);
	}
	err = scm_range_map_dax(range, bdev);
	if (err)
		scm_range_put_dax(range);
	return err;
}
EXPORT_SYMBOL_GPL(scm_range_get_dax);

/**
 * scm_range_put_dax - the device is its owner's again
 * @range: from scm_range_get_dax()
 *
 * Context: process context.
 */
void scm_range_put_dax(struct scm_range *range)
{
	mutex_lock(&scm_ranges_lock);
	list_del_init(&range->on_list);
	mutex_unlock(&scm_ranges_lock);
	fs_put_dax(range->dax, range->holder);
	range->dax = NULL;
	range->addr = NULL;
}
EXPORT_SYMBOL_GPL(scm_range_put_dax);

/*
 * How many pages in a row are good? 0: the first is bad. Who asks in order to write over what is
 * bad gets those before it, or one page of it; so that one is asked for by itself before.  Where
 * the bad begins within a page nd_pmem counts it to those before: the last is not believed.
 */
static long scm_range_good(const struct scm_range *range, pgoff_t page, long pages)
{
	void *kaddr;
	pfn_t pfn;
	long n = dax_direct_access(range->dax, page, pages, DAX_ACCESS, &kaddr, NULL);

	if (!scm_range_is_bad(n))
		return n > 0 ? min(n, pages) : pages;	/* it has gone, and who knows with it */
	if (scm_range_is_bad(dax_direct_access(range->dax, page, 1, DAX_ACCESS, &kaddr, NULL)))
		return 0;
	n = dax_direct_access(range->dax, page, pages, DAX_RECOVERY_WRITE, &kaddr, &pfn);
	return clamp(n - 1, 1L, pages);
}

/**
 * scm_range_next_bad - the next memory that the device's driver knows to be bad
 * @range: from scm_range_get_dax(), or reserved memory, of which nobody knows anything
 * @from: byte of the range to begin at
 * @to: byte behind the last that is of interest
 * @bytes: how much of it is bad in a row, at least
 *
 * The driver is asked for the pages, and not its disk's list of bad blocks: that may have been full
 * when the driver came to know of one more.
 * Context: any.
 * Return: the first byte of it, a multiple of the page size unless it is @from; @to: there is none.
 */
u64 scm_range_next_bad(const struct scm_range *range, u64 from, u64 to, u64 *bytes)
{
	pgoff_t first = PHYS_PFN(range->dax_offset), page = PHYS_PFN(from), end = PFN_UP(to);
	long n = 1;
	int cookie;

	if (!range->dax)
		return to;
	cookie = dax_read_lock();
	for (; n && page < end; page += n)
		n = scm_range_good(range, first + page, min_t(u64, end - page, SCM_BAD_LOOK));
	dax_read_unlock(cookie);
	if (n)
		return to;
	from = max_t(u64, from, PFN_PHYS(page));
	*bytes = min_t(u64, to, PFN_PHYS(page + 1)) - from;
	return from;
}
EXPORT_SYMBOL_GPL(scm_range_next_bad);

/* --- the module ------------------------------------------------------------------------------- */

static void scm_range_put_nobodys(void)
{
	scm_range_wait_told();
	put_dax(scm_nobodys_dax);
}

int scm_range_init(void)
{
	int err;

	scm_nobodys_dax = alloc_dax(NULL, NULL);
	if (PTR_ERR(scm_nobodys_dax) == -EOPNOTSUPP)	/* a kernel without DAX: nobody is told */
		scm_nobodys_dax = NULL;
	if (IS_ERR(scm_nobodys_dax))
		return PTR_ERR(scm_nobodys_dax);
	err = register_pm_notifier(&scm_range_pm);
	if (err)
		scm_range_put_nobodys();
	return err;
}

void scm_range_exit(void)
{
	unregister_pm_notifier(&scm_range_pm);
	scm_range_put_nobodys();
}
