// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel's DAX code asks of a file system: the device that the memory is, where a file's
 * blocks are in it, and when to flush what was stored through mappings.
 *
 * pmem and mem2m have a device of their own. Reserved memory gets one here, which nobody else
 * finds.
 */
#include <linux/dax.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/iomap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>
#include <linux/pfn_t.h>
#include <evenkeel/scm.h>

#include <compat/dax.h>

#include "vfs.h"

/* --- reserved memory's device ----------------------------------------------------------------- */

static long sfs_dax_direct_access(struct dax_device *dax, pgoff_t pgoff, long nr_pages,
				  enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	const struct sfs_sb *s = dax_get_private(dax);
	u64 at = PFN_PHYS(pgoff), good;

	if (at >= s->bytes)
		return -ERANGE;
	good = sfs_good(s, at, s->bytes - at);
	if (good < PAGE_SIZE && mode != DAX_RECOVERY_WRITE)
		return -EIO;
	if (kaddr)
		*kaddr = s->base + at;
	if (pfn)
		*pfn = phys_to_pfn_t(virt_to_phys(s->base) + at, PFN_DEV | PFN_MAP);
	return good < PAGE_SIZE ? 1 : PHYS_PFN(good);
}

static int sfs_dax_zero_page_range(struct dax_device *dax, pgoff_t pgoff, size_t nr_pages)
{
	const struct sfs_sb *s = dax_get_private(dax);
	u64 at = PFN_PHYS(pgoff), len = PFN_PHYS(nr_pages);

	if (at >= s->bytes || len > s->bytes - at)
		return -ERANGE;
	if (sfs_good(s, at, len) < len)
		return -EIO;
	scm_zero_nt(s->base + at, len);
	scm_fence();
	return 0;
}

static const struct dax_operations sfs_dax_ops = {
	.direct_access = sfs_dax_direct_access,
	.zero_page_range = sfs_dax_zero_page_range,
};

/**
 * sfs_dax_init - find, or make, the device that the memory is
 * @s: attached
 *
 * Return: 0 or a negative error number.
 */
int sfs_dax_init(struct sfs_sb *s)
{
	struct dax_device *dax;

	if (!s->options.has_phys) {
		s->dax = s->mem.dax;
		s->dax_offset = s->mem.dax_offset;
		return 0;
	}
	dax = alloc_dax(s, &sfs_dax_ops);
	if (IS_ERR_OR_NULL(dax))
		return dax ? PTR_ERR(dax) : -EOPNOTSUPP;
	set_dax_synchronous(dax);
	dax_write_cache(dax, true);
	s->dax = dax;
	s->dax_offset = 0;
	return 0;
}

void sfs_dax_exit(struct sfs_sb *s)
{
	if (!s->options.has_phys)
		return;
	kill_dax(s->dax);
	put_dax(s->dax);
}

/* --- where a file's blocks are ---------------------------------------------------------------- */

/* The piece at @seg, or as much of a hole. */
static void sfs_tell(const struct sfs_sb *s, struct iomap *iomap, const struct scmfs_seg *seg)
{
	bool hole = seg->at == SCMFS_HOLE;

	iomap->type = hole ? IOMAP_HOLE : IOMAP_MAPPED;
	iomap->addr = hole ? IOMAP_NULL_ADDR : s->dax_offset + seg->at;
	iomap->offset = seg->file;
	iomap->length = seg->len;
	iomap->flags = 0;
	iomap->bdev = NULL;
	iomap->dax_dev = s->dax;
}

/*
 * Blocks for a write to where the file has a hole, zeroed, and the times: one operation, durable
 * when it returns. So the file has a block before anybody can store to it, and MAP_SYNC comes for
 * nothing.
 *
 *	allocate, zero past the cache		nothing refers to the block
 *	--- fence ---
 *	extent, times				a cut: the hole, or the zeroed block
 *	--- fence ---
 *	the page table				the program's store is the first one
 *
 * For a huge page all of it has to be one aligned piece, or nothing is done, -EAGAIN.
 */
static int sfs_fill(struct inode *inode, struct scmfs_seg *seg, s64 now)
{
	struct scmfs *fs = sfs_fs(inode);
	struct scmfs_write w;
	int err = scmfs_write_begin(fs, inode->i_ino, seg->file, seg->len,
				    SCMFS_WRITE_KEEP_SIZE | SCMFS_WRITE_WHOLE |
				    sfs_not_around(inode), &w);

	if (err)
		return err;
	*seg = w.seg[0];
	err = scmfs_write_end(fs, &w, seg->len, now);
	if (w.around)
		sfs_inode(inode)->around = true;
	return err;
}

/*
 * What is no huge page of the memory the kernel maps by none, wherever in the region it is aligned:
 * more than a page of 4 KiB would be for nothing.
 */
static int sfs_fill_hole(struct inode *inode, struct scmfs_seg *seg, s64 now)
{
	bool huge = seg->len > PAGE_SIZE;
	int err = -EAGAIN;

	if (!huge || IS_ALIGNED(virt_to_phys(sfs_sb(inode->i_sb)->base), seg->len))
		err = sfs_fill(inode, seg, now);
	if (err != -EAGAIN || !huge)
		return err;
	seg->len = PAGE_SIZE;	/* still a hole: pages of 4 KiB come next */
	return 0;
}

static int sfs_stamp(struct inode *inode, s64 now)
{
	const struct scmfs_attr attr = { .mtime = now, .ctime = now };

	return scmfs_setattr(sfs_fs(inode), inode->i_ino, &attr, SCMFS_SET_MTIME | SCMFS_SET_CTIME);
}

/* As coarse as the clock that sfs_now() reads: a time of this tick does. */
static bool sfs_stamped(struct inode *inode)
{
	struct timespec64 now = current_time(inode), mtime = inode_get_mtime(inode);
	struct timespec64 ctime = inode_get_ctime(inode);

	return timespec64_equal(&now, &mtime) && timespec64_equal(&now, &ctime);
}

static int sfs_find(struct inode *inode, u64 pos, u64 len, struct scmfs_seg *seg)
{
	int nr = scmfs_map(sfs_fs(inode), inode->i_ino, pos, len, seg, 1);

	return nr < 0 ? nr : nr ? 0 : -EUCLEAN;
}

/* Nobody who is about to store needs more than what there is. */
static bool sfs_is_ready(struct inode *inode, const struct scmfs_seg *seg, u64 len)
{
	return seg->len < len || (seg->at != SCMFS_HOLE && sfs_stamped(inode));
}

/* All of @len for stores, or less of it where that isn't one piece. */
static int sfs_find_for_write(struct inode *inode, u64 pos, u64 len, struct scmfs_seg *seg)
{
	s64 now = sfs_now(inode);
	int err = sfs_find(inode, pos, len, seg);

	if (err || sfs_is_ready(inode, seg, len))
		return err;
	if (seg->at == SCMFS_HOLE)
		err = sfs_fill_hole(inode, seg, now);
	else
		err = sfs_stamp(inode, now);
	if (!err && seg->at != SCMFS_HOLE)
		sfs_set_times(inode, now);
	return err;
}

/* Nobody maps bad memory, or copies it for a mapping of its own: not every driver would refuse. */
static int sfs_tell_good(const struct sfs_sb *s, struct iomap *iomap, struct scmfs_seg *seg)
{
	if (seg->at != SCMFS_HOLE) {
		seg->len = sfs_good(s, seg->at, seg->len);
		if (!seg->len)
			return -EIO;
	}
	sfs_tell(s, iomap, seg);
	return 0;
}

static int sfs_iomap_begin(struct inode *inode, loff_t pos, loff_t len, unsigned int flags,
			   struct iomap *iomap, struct iomap *srcmap)
{
	struct sfs_inode *si = sfs_inode(inode);
	struct scmfs_seg seg;
	int err;

	down_read(&si->extents);
	err = sfs_find(inode, pos, len, &seg);
	up_read(&si->extents);
	if (!err && flags & IOMAP_WRITE && !sfs_is_ready(inode, &seg, len)) {
		down_write(&si->extents);
		err = sfs_find_for_write(inode, pos, len, &seg);
		up_write(&si->extents);
	}
	if (!err && flags & IOMAP_WRITE)
		sfs_changed(inode);	/* also within the tick that it has the times of */
	return err ?: sfs_tell_good(sfs_sb(inode->i_sb), iomap, &seg);
}

const struct iomap_ops sfs_iomap_ops = {
	.iomap_begin = sfs_iomap_begin,
};

/*
 * Blocks behind the size are reserved, what is in them isn't the file's; or room ahead, which
 * nobody asked for.
 */
static int sfs_report_begin(struct inode *inode, loff_t pos, loff_t len, unsigned int flags,
			    struct iomap *iomap, struct iomap *srcmap)
{
	u64 size = round_up((u64)i_size_read(inode), SCMFS_BLOCK_SIZE);
	u64 kept = scmfs_kept_size(sfs_fs(inode), inode->i_ino);
	u64 start = round_down(pos, SCMFS_BLOCK_SIZE), end = round_up(pos + len, SCMFS_BLOCK_SIZE);
	struct scmfs_seg seg;
	bool unwritten;
	int err;

	down_read(&sfs_inode(inode)->extents);
	err = scmfs_report(sfs_fs(inode), inode->i_ino, start, end - start, &seg, &unwritten);
	up_read(&sfs_inode(inode)->extents);
	if (err)
		return err;
	sfs_tell(sfs_sb(inode->i_sb), iomap, &seg);
	if (iomap->type != IOMAP_MAPPED)
		return 0;
	/* of the block device, which may be a partition of the memory */
	iomap->addr -= sfs_sb(inode->i_sb)->dax_offset;
	end = start < size ? size : start < kept ? kept : U64_MAX;
	iomap->length = min(iomap->length, end - start);
	if (start >= kept) {
		iomap->type = IOMAP_HOLE;
		iomap->addr = IOMAP_NULL_ADDR;
	} else if (unwritten || start >= size) {
		iomap->type = IOMAP_UNWRITTEN;
	}
	return 0;
}

const struct iomap_ops sfs_report_ops = {
	.iomap_begin = sfs_report_begin,
};

/* --- what was stored through mappings --------------------------------------------------------- */

static bool sfs_find_good(struct inode *inode, u64 pos, u64 len, struct scmfs_seg *seg)
{
	return !sfs_find(inode, pos, len, seg) &&
	       (seg->at == SCMFS_HOLE ||
		sfs_good(sfs_sb(inode->i_sb), seg->at, seg->len) == seg->len);
}

static bool sfs_all_good(struct inode *inode, u64 pos, u64 end)
{
	struct scmfs_seg seg;
	bool good = true;

	down_read(&sfs_inode(inode)->extents);
	for (; good && pos < end; pos += seg.len)
		good = sfs_find_good(inode, pos, end - pos, &seg);
	up_read(&sfs_inode(inode)->extents);
	return good;
}

static void sfs_flush_good(struct inode *inode, u64 pos, u64 end)
{
	struct scmfs_seg seg;

	down_read(&sfs_inode(inode)->extents);
	for (; pos < end; pos += PAGE_SIZE)
		if (sfs_find_good(inode, pos, PAGE_SIZE, &seg) && seg.at != SCMFS_HOLE)
			scm_flush(sfs_sb(inode->i_sb)->base + seg.at, PAGE_SIZE);
	up_read(&sfs_inode(inode)->extents);
}

/*
 * An entry that isn't good as a whole is clean from now on. A huge one has good pages as well: what
 * is stored to them makes it dirty again, or is flushed here.
 *
 *	this				a fault
 *					makes the entry dirty
 *	makes it clean
 *	waits for the fault		maps the page: stores
 *	unmaps				the next store is a fault, and makes it dirty
 *	flushes
 */
static void sfs_clean_bad(struct address_space *mapping, unsigned long index, u64 pos, u64 end)
{
	/* Before the mark goes: another fsync that finds none is told as well. */
	mapping_set_error(mapping, -EIO);
	xa_lock_irq(&mapping->i_pages);
	__xa_clear_mark(&mapping->i_pages, index, PAGECACHE_TAG_DIRTY);
	__xa_clear_mark(&mapping->i_pages, index, PAGECACHE_TAG_TOWRITE);
	xa_unlock_irq(&mapping->i_pages);
	dax_layout_busy_page_range(mapping, pos, end - 1);	/* it waits for the entry's lock */
	unmap_mapping_range(mapping, pos, end - pos, 0);
	sfs_flush_good(mapping->host, pos, end);
}

/*
 * The kernel would flush what is dirty, and bad memory isn't in its map any more, or a machine
 * check. What was stored there is lost, which the next fsync tells.
 */
static void sfs_skip_bad(struct address_space *mapping)
{
	struct inode *inode = mapping->host;
	unsigned long index;
	u64 pos, bytes;
	void *entry;

	xa_for_each_marked(&mapping->i_pages, index, entry, PAGECACHE_TAG_DIRTY) {
		bytes = PAGE_SIZE << xa_get_order(&mapping->i_pages, index);
		pos = round_down((u64)index << PAGE_SHIFT, bytes);
		if (!sfs_all_good(inode, pos, pos + bytes))
			sfs_clean_bad(mapping, index, pos, pos + bytes);
		cond_resched();
	}
}

/* Nothing was stored there. */
static void sfs_skip_holes(struct address_space *mapping, u64 from, u64 to)
{
	XA_STATE(xas, &mapping->i_pages, round_down(from, PMD_SIZE) >> PAGE_SHIFT);
	unsigned int n = 0;
	void *entry;

	xas_lock_irq(&xas);
	xas_for_each_marked(&xas, entry, to >> PAGE_SHIFT, PAGECACHE_TAG_DIRTY) {
		if (compat_dax_is_hole(entry)) {
			xas_clear_mark(&xas, PAGECACHE_TAG_DIRTY);
			xas_clear_mark(&xas, PAGECACHE_TAG_TOWRITE);
		}
		if (++n % XA_CHECK_SCHED)
			continue;
		xas_pause(&xas);
		xas_unlock_irq(&xas);
		cond_resched();
		xas_lock_irq(&xas);
	}
	xas_unlock_irq(&xas);
}

static int sfs_write_back(struct address_space *mapping, struct writeback_control *wbc)
{
	if (unlikely(READ_ONCE(sfs_sb(mapping->host->i_sb)->bad)))
		sfs_skip_bad(mapping);
	return dax_writeback_mapping_range(mapping, sfs_sb(mapping->host->i_sb)->dax, wbc);
}

/* Where the kernel has dirty holes: one after the other, and no look at a hole in between. */
static int sfs_writepages(struct address_space *mapping, struct writeback_control *wbc)
{
	struct rw_semaphore *flushing = &sfs_inode(mapping->host)->flushing;
	int err;

	if (!compat_dax_dirty_holes() || wbc->sync_mode != WB_SYNC_ALL)
		return sfs_write_back(mapping, wbc);
	down_write(flushing);
	sfs_skip_holes(mapping, wbc->range_start, wbc->range_end);
	err = sfs_write_back(mapping, wbc);
	up_write(flushing);
	return err;
}

const struct address_space_operations sfs_aops = {
	.writepages = sfs_writepages,
	.dirty_folio = noop_dirty_folio,
};
