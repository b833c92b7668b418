// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files mapped into programs: the memory itself, no copy of it.
 *
 * A fault has the mapping's invalidate_lock shared, and finds or makes the block under the inode's
 * extents lock (vfs.h). Whoever takes blocks out of a file has the invalidate_lock exclusively, and
 * first sees to it that nobody can store to them any more, sfs_unmap():
 *
 *	truncate			a program		a device, into its memory
 *	unmaps the blocks
 *	waits				faults: waits		stores: it has the page
 *	...				...			is done, lets go of the page
 *	blocks free, another file's	SIGBUS
 *
 * What is mapped is found by the kernel's entries in the mapping's i_pages; they know, too, what
 * was made writable since the last flush. They go when the last mapping has gone: the kernel would
 * not let go of the inode as long as there are any.
 */
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <compat/dax.h>

#include "vfs.h"

#define SFS_LOOK_PART	((u64)SZ_1G)	/* of a file, between looks for a signal */

/* --- faults ----------------------------------------------------------------------------------- */

static bool sfs_stores(const struct vm_fault *vmf)
{
	return vmf->flags & FAULT_FLAG_WRITE && vmf->vma->vm_flags & VM_SHARED;
}

/*
 * One that only looks makes a hole dirty on some kernels: not while it is flushed. Memory that it
 * needs is not to be had by writing back an inode, which would wait for it.
 */
static vm_fault_t sfs_dax_fault(struct vm_fault *vmf, compat_fault_size size, int *err)
{
	struct rw_semaphore *flushing = &sfs_inode(file_inode(vmf->vma->vm_file))->flushing;
	bool looks = compat_dax_dirty_holes() && !sfs_stores(vmf);
	unsigned int nofs;
	vm_fault_t ret;

	if (!looks)
		return dax_iomap_fault(vmf, size, NULL, err, &sfs_iomap_ops);
	nofs = memalloc_nofs_save();
	down_read(flushing);
	ret = dax_iomap_fault(vmf, size, NULL, err, &sfs_iomap_ops);
	up_read(flushing);
	memalloc_nofs_restore(nofs);
	return ret;
}

/* Under the lock, as who makes a file immutable takes its pages from everybody afterwards. */
static vm_fault_t sfs_fault_locked(struct vm_fault *vmf, compat_fault_size size, int *err)
{
	struct address_space *mapping = vmf->vma->vm_file->f_mapping;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	filemap_invalidate_lock_shared(mapping);
	if (!sfs_stores(vmf) || !IS_IMMUTABLE(mapping->host))
		ret = sfs_dax_fault(vmf, size, err);
	filemap_invalidate_unlock_shared(mapping);
	return ret;
}

/* With the room that others give back, or with what is zeroed where there is none. */
static vm_fault_t sfs_fault_again(struct vm_fault *vmf, compat_fault_size size, int *err)
{
	struct inode *inode = file_inode(vmf->vma->vm_file);
	bool made_room = sfs_make_room(inode->i_sb, NULL);
	vm_fault_t ret;

	sfs_last_try_begin(inode);
	ret = sfs_fault_locked(vmf, size, err);
	sfs_last_try_end(inode);
	if (made_room)
		sfs_made_room(inode->i_sb);
	return ret;
}

static vm_fault_t sfs_huge_fault(struct vm_fault *vmf, compat_fault_size size)
{
	struct super_block *sb = file_inode(vmf->vma->vm_file)->i_sb;
	bool write = sfs_stores(vmf);
	vm_fault_t ret;
	int err = 0;

	if (write)
		sb_start_pagefault(sb);
	if (READ_ONCE(sfs_sb(sb)->shut)) {	/* perhaps while it was frozen */
		ret = VM_FAULT_SIGBUS;
		goto out;
	}
	ret = sfs_fault_locked(vmf, size, &err);
	if (err == -ENOSPC)
		ret = sfs_fault_again(vmf, size, &err);
out:
	if (write)
		sb_end_pagefault(sb);
	return ret;
}

static vm_fault_t sfs_fault(struct vm_fault *vmf)
{
	return sfs_huge_fault(vmf, COMPAT_FAULT_PTE);
}

static const struct vm_operations_struct sfs_vm_ops = {
	.fault = sfs_fault,
	.huge_fault = sfs_huge_fault,
	.page_mkwrite = sfs_fault,
	.pfn_mkwrite = sfs_fault,
};

/* Who maps it to read it is none of VFS' writers. */
static bool sfs_begin_clean_tail(struct super_block *sb)
{
	if (sb_rdonly(sb))
		return false;
	sb_start_pagefault(sb);
	if (sfs_try_begin_store(sfs_sb(sb)))
		return true;
	sb_end_pagefault(sb);
	return false;
}

/*
 * What a cut has left behind the file's end is mapped with the last bytes of it: it goes before
 * the first mapping is made. Hardly any file has some, so who finds none waits for no thaw: to
 * thaw a file system a program may have to be mapped from it. Read-only, it stays.
 */
static void sfs_look_behind_end(struct inode *inode)
{
	struct sfs_inode *si = sfs_inode(inode);
	bool dirty;

	if (READ_ONCE(si->tail_known))
		return;
	down_read(&si->extents);
	dirty = scmfs_tail_is_dirty(sfs_fs(inode), inode->i_ino);
	up_read(&si->extents);
	if (dirty && !sfs_begin_clean_tail(inode->i_sb))
		return;
	down_write(&si->extents);
	/* Who was first may have it mapped, and has stored there. */
	if (dirty && !si->tail_known && !sfs_alive(inode))
		scmfs_clean_tail(sfs_fs(inode), inode->i_ino);
	WRITE_ONCE(si->tail_known, true);
	up_write(&si->extents);
	if (!dirty)
		return;
	sfs_end_store(sfs_sb(inode->i_sb));
	sb_end_pagefault(inode->i_sb);
}

int sfs_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!daxdev_mapping_supported(vma, sfs_sb(file_inode(file)->i_sb)->dax))
		return -EOPNOTSUPP;
	sfs_look_behind_end(file_inode(file));
	file_accessed(file);
	vma->vm_ops = &sfs_vm_ops;
	vm_flags_set(vma, VM_HUGEPAGE);
	return 0;
}

/* --- no more of it ---------------------------------------------------------------------------- */

static bool sfs_page_idle(struct page *page)
{
	return page_ref_count(page) == 1;
}

/* What sfs_busy() looks for. */
struct sfs_busy_look {
	const struct sfs_sb *s;
	struct page *page;
};

/* Return: look on, none of these is busy. */
static bool sfs_not_busy(void *ctx, const struct scmfs_seg *seg)
{
	struct sfs_busy_look *look = ctx;
	void *p = look->s->base + seg->at, *end = p + seg->len;

	for (; p < end; p += PAGE_SIZE) {
		if (!sfs_page_idle(virt_to_page(p))) {
			look->page = virt_to_page(p);
			return false;
		}
		if (IS_ALIGNED((unsigned long)p, PMD_SIZE))
			cond_resched();
	}
	return true;
}

/*
 * A page of [@start, @end) that somebody has pinned, a device's driver for example. Not by
 * dax_layout_busy_page(), which looks no further when nothing is mapped any more: a pin may outlive
 * the mapping that it was made through. Nor by where scmfs_map() says that its bytes are: that
 * ends at extents that can't be read, and others behind them may be freed.
 */
static struct page *sfs_busy(struct inode *inode, u64 start, u64 end)
{
	struct sfs_busy_look look = { .s = sfs_sb(inode->i_sb) };

	scmfs_each_written(look.s->fs, inode->i_ino, start, end, sfs_not_busy, &look);
	return look.page;
}

static void sfs_wait_unlocked(struct address_space *mapping)
{
	filemap_invalidate_unlock(mapping);
	schedule();
	filemap_invalidate_lock(mapping);
}

/* With what the kernel keeps an entry for as a whole: a huge page, perhaps. */
static u64 sfs_entry_bytes(struct address_space *mapping, u64 pos)
{
	return PAGE_SIZE << xa_get_order(&mapping->i_pages, pos >> PAGE_SHIFT);
}

/* May anybody hold pages, also such that the kernel has no entries for any more? */
static bool sfs_may_be_busy(struct inode *inode)
{
	return !mapping_empty(&inode->i_data) || READ_ONCE(sfs_inode(inode)->pinned);
}

/*
 * Of those in [@from, @to) that the kernel has entries for: what of a large file was mapped may be
 * little of it. Entries next to each other are looked at in one.
 */
static struct page *sfs_busy_entries(struct inode *inode, u64 from, u64 to)
{
	struct address_space *mapping = &inode->i_data;
	u64 start = 0, end = 0, at, bytes;
	struct page *page = NULL;
	unsigned long index;
	void *entry;

	xa_for_each_range(&mapping->i_pages, index, entry, from >> PAGE_SHIFT,
			  (to - 1) >> PAGE_SHIFT) {
		at = (u64)index << PAGE_SHIFT;
		bytes = sfs_entry_bytes(mapping, at);
		at = round_down(at, bytes);
		if (at != end) {
			page = sfs_busy(inode, start, end);
			if (page)
				return page;
			start = at;
		}
		end = at + bytes;
	}
	return sfs_busy(inode, start, end);
}

/*
 * Of all in [@from, @to), where there are such as the kernel has no entries for any more. The inode
 * is locked. Return: 0, and @page, or NULL there; -EINTR: the task is being killed.
 */
static int sfs_find_busy(struct inode *inode, u64 from, u64 to, struct page **page)
{
	bool all = READ_ONCE(sfs_inode(inode)->pinned);
	u64 end;

	*page = NULL;
	if (!sfs_may_be_busy(inode))
		return 0;
	for (; !*page && from < to; from = end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		end = min(to, from + SFS_LOOK_PART);
		*page = all ? sfs_busy(inode, from, end) : sfs_busy_entries(inode, from, end);
	}
	return 0;
}

/* Return: 0: what was stored is flushed, or lost as its memory is bad, which fsync tells. */
static int sfs_flush(struct address_space *mapping, u64 from, u64 to)
{
	unsigned long index = from >> PAGE_SHIFT, last = (to - 1) >> PAGE_SHIFT;
	int err = filemap_write_and_wait_range(mapping, from, to - 1);

	return xa_find(&mapping->i_pages, &index, last, PAGECACHE_TAG_DIRTY) ? err : 0;
}

/*
 * Flushed before the entries go, as more may go than was asked for, and what was asked for may stay
 * in the file if the operation fails; not before it is unmapped, or more could be stored.
 */
static int sfs_unmap(struct inode *inode, u64 start, u64 end)
{
	struct address_space *mapping = &inode->i_data;
	struct page *page;
	u64 from, to;
	int err;

	for (;;) {
		from = round_down(start, sfs_entry_bytes(mapping, start));
		to = round_up(end, sfs_entry_bytes(mapping, end - 1));
		unmap_mapping_range(mapping, from, to - from, 0);
		err = sfs_find_busy(inode, from, to, &page);
		if (err)
			return err;
		if (!page)
			break;
		err = ___wait_var_event(&page->_refcount, sfs_page_idle(page), TASK_INTERRUPTIBLE,
					0, 0, sfs_wait_unlocked(mapping));
		if (err)
			return err;
	}
	err = sfs_flush(mapping, from, to);
	if (!err)
		truncate_inode_pages_range(mapping, from, to - 1);
	return err;
}

/**
 * sfs_layout_lock - before blocks are taken out of a file
 * @inode: locked
 * @start: of what is to be taken out, a multiple of the block size
 * @end: of it, a multiple of the block size; nothing when it isn't behind @start
 *
 * On return nobody has any of it mapped, or its pages pinned, and nobody gets it until
 * sfs_layout_unlock(). It may wait for as long as somebody has.
 * Return: 0; -ERESTARTSYS, -EINTR: a signal came; -EIO.
 */
int sfs_layout_lock(struct inode *inode, u64 start, u64 end)
{
	int err = 0;

	filemap_invalidate_lock(&inode->i_data);
	if (start < end)
		err = sfs_unmap(inode, start, end);
	if (err)
		filemap_invalidate_unlock(&inode->i_data);
	else
		down_write(&sfs_inode(inode)->extents);
	return err;
}

void sfs_layout_unlock(struct inode *inode)
{
	up_write(&sfs_inode(inode)->extents);
	filemap_invalidate_unlock(&inode->i_data);
}

/**
 * sfs_filled - where there was a hole there are blocks now
 * @inode: locked, its extents not
 * @start: first byte
 * @end: behind the last
 *
 * Who has read the hole has the zero page mapped, and is to see the blocks from now on. The kernel
 * forgets what else is mapped there, too; if that is pinned, it must not be forgotten altogether,
 * as long as the inode is in RAM: it stays there until nobody has pages pinned (sfs_hold()).
 */
void sfs_filled(struct inode *inode, u64 start, u64 end)
{
	struct address_space *mapping = &inode->i_data;

	if (mapping_empty(mapping) || start >= end)
		return;
	/*
	 * A huge entry goes as a whole, and with it what says that small pages of its are mapped,
	 * too, by who has mapped less of the file. So all of these are unmapped; as is one that a
	 * fault has just made.
	 */
	start = round_down(start, PMD_SIZE);
	end = round_up(end, PMD_SIZE);
	invalidate_inode_pages2_range(mapping, start >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT);
	down_read(&sfs_inode(inode)->extents);
	if (sfs_busy(inode, start, end))
		WRITE_ONCE(sfs_inode(inode)->pinned, true);
	up_read(&sfs_inode(inode)->extents);
}

/**
 * sfs_is_free - may blocks be replaced under the extents lock alone?
 * @inode: locked, its extents, too
 * @start: first byte
 * @end: behind the last
 *
 * A fault makes the kernel's entry before it asks for the block, so what nobody has mapped now
 * stays so.
 *
 * Return: nobody has any of it mapped, or pinned.
 */
bool sfs_is_free(struct inode *inode, u64 start, u64 end)
{
	if (!mapping_empty(&inode->i_data))
		return false;
	if (!READ_ONCE(sfs_inode(inode)->pinned))
		return true;
	if (sfs_busy(inode, start, end))
		return false;
	if (!start && end >= i_size_read(inode))
		WRITE_ONCE(sfs_inode(inode)->pinned, false);
	return true;
}

/* --- nobody has it mapped any more ------------------------------------------------------------ */

static struct page *sfs_busy_anywhere(struct inode *inode)
{
	struct page *page;

	down_read(&sfs_inode(inode)->extents);
	if (READ_ONCE(sfs_inode(inode)->pinned))
		page = sfs_busy(inode, 0, i_size_read(inode));
	else
		page = sfs_busy_entries(inode, 0, U64_MAX);
	up_read(&sfs_inode(inode)->extents);
	return page;
}

/* Return: somebody has pages pinned. Otherwise what was mapped is flushed and forgotten. */
static bool sfs_is_pinned(struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;
	bool pinned = false;

	filemap_invalidate_lock(mapping);
	if (!mapping_mapped(mapping)) {
		pinned = sfs_busy_anywhere(inode);
		if (!pinned && !mapping_empty(mapping) && !sfs_flush(mapping, 0, LLONG_MAX))
			truncate_inode_pages(mapping, 0);
	}
	filemap_invalidate_unlock(mapping);
	return pinned;
}

/**
 * sfs_unmapped - flush and forget what was mapped, if nobody has it mapped or pinned any more
 * @inode: its extents not locked
 */
void sfs_unmapped(struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;

	if (mapping_empty(mapping) || mapping_mapped(mapping))
		return;
	sfs_is_pinned(inode);
}

/* --- files that nobody has open or mapped, but pages of which are pinned ---------------------- */

/* Without entries nothing new is pinned, and who takes entries away has the inode locked. */
static void sfs_forget_pins(struct inode *inode)
{
	if (!READ_ONCE(sfs_inode(inode)->pinned) || !inode_trylock(inode))
		return;
	if (!sfs_busy_anywhere(inode))
		WRITE_ONCE(sfs_inode(inode)->pinned, false);
	inode_unlock(inode);
}

/**
 * struct sfs_held - a file that is in use, although no program has it open or mapped
 * @path: by which it was open
 * @inode: the file, which isn't that of @path if a file system on top of this one opened it
 * @page: one that was busy at the last look
 * @looks: so far
 * @work: lets go of it when nobody has pages of it pinned any more
 */
struct sfs_held {
	struct path path;
	struct inode *inode;
	struct page *page;
	unsigned int looks;
	struct delayed_work work;
};

#define HELD_LOOK_MS	10u	/* to the second look; then twice as long each time */
#define HELD_DOUBLED	7	/* so often */
#define HELD_ALL	16	/* looks at one page alone: by then it may be another file's */

/*
 * A pin that goes wakes nobody who could be waited for without a thread for each file, and any
 * program may pin pages of as many as it likes: they would wait for each other. So one looks.
 */
static bool sfs_held_busy(struct sfs_held *h)
{
	if (!h->page || sfs_page_idle(h->page) || !(++h->looks % HELD_ALL))
		h->page = sfs_busy_anywhere(h->inode);
	return h->page;
}

static void sfs_held_again(struct sfs_held *h, unsigned int looks)
{
	unsigned int ms = HELD_LOOK_MS << min_t(unsigned int, looks, HELD_DOUBLED);

	queue_delayed_work(sfs_held_wq, &h->work, msecs_to_jiffies(ms));
}

static void sfs_held_work(struct work_struct *work)
{
	struct sfs_held *h = container_of(to_delayed_work(work), struct sfs_held, work);
	struct sfs_sb *s = sfs_sb(h->inode->i_sb);
	atomic_t *held = &sfs_inode(h->inode)->held;

	if (sfs_held_busy(h)) {
		sfs_held_again(h, h->looks);
		return;
	}
	/* Who closed it meanwhile with other pages pinned relied on this; by xchg they are seen. */
	atomic_xchg(held, 0);
	h->page = sfs_busy_anywhere(h->inode);
	if (h->page && !atomic_xchg(held, 1)) {
		sfs_held_again(h, 0);
		return;
	}
	sfs_unmapped(h->inode);
	sfs_forget_pins(h->inode);
	atomic_dec(&s->nr_held);
	iput(h->inode);
	path_put(&h->path);	/* after "umount -l" the last reference to the file system */
	kfree(h);
}

/*
 * Pins outlive mappings and open files. A device may store to the pages as long as there are any,
 * so neither may the blocks be another file's nor the memory somebody else's:
 *
 *	program				umount
 *	maps a file, pins a page
 *	unmaps and closes it
 *					EBUSY, as if it were open
 *	takes the pin back
 *					the memory goes
 *
 * So the file stays in use, and its mount. Nobody waits for that to end: it may be the one who
 * pinned the pages who would, and he couldn't be killed.
 */
static void sfs_hold(struct inode *inode, const struct path *path)
{
	struct sfs_held *h;

	if (atomic_xchg(&sfs_inode(inode)->held, 1))
		return;
	h = kmalloc(sizeof(*h), GFP_KERNEL | __GFP_NOFAIL);
	h->path = *path;
	path_get(&h->path);
	ihold(inode);
	h->inode = inode;
	h->page = NULL;
	h->looks = 0;
	INIT_DELAYED_WORK(&h->work, sfs_held_work);
	atomic_inc(&sfs_sb(inode->i_sb)->nr_held);
	queue_delayed_work(sfs_held_wq, &h->work, 0);
}

/**
 * sfs_closed - the last user of an open file has gone
 * @file: of this file system
 *
 * No new pin can come of it: what is pinned is pinned through mappings, and those have their file.
 */
void sfs_closed(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!sfs_may_be_busy(inode) || mapping_mapped(&inode->i_data))
		return;
	if (sfs_is_pinned(inode))
		sfs_hold(inode, &file->f_path);
	else
		sfs_forget_pins(inode);
}
