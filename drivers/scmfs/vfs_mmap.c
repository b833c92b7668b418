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
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <compat/dax.h>

#include "vfs.h"

#define SFS_MMAP_SEGS	8u

/* --- faults ----------------------------------------------------------------------------------- */

static vm_fault_t sfs_fault_locked(struct vm_fault *vmf, compat_fault_size size, int *err)
{
	struct address_space *mapping = vmf->vma->vm_file->f_mapping;
	vm_fault_t ret;

	filemap_invalidate_lock_shared(mapping);
	ret = dax_iomap_fault(vmf, size, NULL, err, &sfs_iomap_ops);
	filemap_invalidate_unlock_shared(mapping);
	return ret;
}

static vm_fault_t sfs_huge_fault(struct vm_fault *vmf, compat_fault_size size)
{
	struct super_block *sb = file_inode(vmf->vma->vm_file)->i_sb;
	bool write = vmf->flags & FAULT_FLAG_WRITE && vmf->vma->vm_flags & VM_SHARED;
	vm_fault_t ret;
	int err = 0;

	if (write && IS_IMMUTABLE(file_inode(vmf->vma->vm_file)))
		return VM_FAULT_SIGBUS;
	if (write)
		sb_start_pagefault(sb);
	if (READ_ONCE(sfs_sb(sb)->shut)) {	/* perhaps while it was frozen */
		ret = VM_FAULT_SIGBUS;
		goto out;
	}
	ret = sfs_fault_locked(vmf, size, &err);
	if (err == -ENOSPC && sfs_make_room(sb, NULL)) {
		ret = sfs_fault_locked(vmf, size, &err);
		sfs_made_room(sb);
	}
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

int sfs_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!daxdev_mapping_supported(vma, sfs_sb(file_inode(file)->i_sb)->dax))
		return -EOPNOTSUPP;
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

static struct page *sfs_busy_in(const struct sfs_sb *s, const struct scmfs_seg *seg)
{
	void *p = s->base + seg->at, *end = p + seg->len;

	for (; p < end; p += PAGE_SIZE)
		if (!sfs_page_idle(virt_to_page(p)))
			return virt_to_page(p);
	return NULL;
}

/*
 * A page of [@start, @end) that somebody has pinned, a device's driver for example. Not by
 * dax_layout_busy_page(), which looks no further when nothing is mapped any more: a pin may outlive
 * the mapping that it was made through.
 */
static struct page *sfs_busy_page(const struct sfs_sb *s, u64 ino, u64 start, u64 end)
{
	struct scmfs_seg seg[SFS_MMAP_SEGS];
	struct page *page = NULL;
	int nr = 0, i;

	while (start < end && !page) {
		nr = scmfs_map(s->fs, ino, start, end - start, seg, SFS_MMAP_SEGS);
		if (nr <= 0)
			break;
		for (i = 0; i < nr && !page; i++)
			if (seg[i].at != SCMFS_HOLE)
				page = sfs_busy_in(s, &seg[i]);
		start = seg[nr - 1].file + seg[nr - 1].len;
		cond_resched();
	}
	return page;
}

static struct page *sfs_busy(struct inode *inode, u64 start, u64 end)
{
	return sfs_busy_page(sfs_sb(inode->i_sb), inode->i_ino, round_down(start, PAGE_SIZE),
			     round_up(end, PAGE_SIZE));
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

/* Does anybody hold pages that the kernel has no entries for? It is rare, and then all look. */
static bool sfs_may_be_busy(struct inode *inode)
{
	return !mapping_empty(&inode->i_data) || READ_ONCE(sfs_sb(inode->i_sb)->pins_escaped);
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
		page = sfs_may_be_busy(inode) ? sfs_busy(inode, from, to) : NULL;
		if (!page)
			break;
		err = ___wait_var_event(&page->_refcount, sfs_page_idle(page), TASK_INTERRUPTIBLE,
					0, 0, sfs_wait_unlocked(mapping));
		if (err)
			return err;
	}
	err = filemap_write_and_wait_range(mapping, from, to - 1);
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
 * Return: 0; -ERESTARTSYS: a signal came; -EIO.
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
 * forgets what else is mapped there, too; if that is pinned, it must not be forgotten altogether.
 */
void sfs_filled(struct inode *inode, u64 start, u64 end)
{
	struct address_space *mapping = &inode->i_data;

	if (mapping_empty(mapping) || start >= end)
		return;
	invalidate_inode_pages2_range(mapping, start >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT);
	down_read(&sfs_inode(inode)->extents);
	/* A huge entry goes as a whole; one that a fault has just made as well. */
	if (sfs_busy(inode, round_down(start, PMD_SIZE), round_up(end, PMD_SIZE)))
		WRITE_ONCE(sfs_sb(inode->i_sb)->pins_escaped, true);
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
	return !READ_ONCE(sfs_sb(inode->i_sb)->pins_escaped) || !sfs_busy(inode, start, end);
}

/* --- nobody has it mapped any more ------------------------------------------------------------ */

static bool sfs_is_used(struct inode *inode)
{
	bool used = mapping_mapped(&inode->i_data);

	if (!used) {
		down_read(&sfs_inode(inode)->extents);
		used = sfs_busy(inode, 0, i_size_read(inode));
		up_read(&sfs_inode(inode)->extents);
	}
	return used;
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
	filemap_invalidate_lock(mapping);
	if (!sfs_is_used(inode) && !filemap_write_and_wait(mapping))
		truncate_inode_pages(mapping, 0);
	filemap_invalidate_unlock(mapping);
}

/**
 * sfs_evict_pages - forget what was mapped of an inode that leaves RAM
 * @inode: nobody else's any more
 *
 * Return: pages of it are still pinned: its blocks must not be freed yet.
 */
bool sfs_evict_pages(struct inode *inode)
{
	bool busy = S_ISREG(inode->i_mode) && sfs_may_be_busy(inode) &&
		    sfs_busy(inode, 0, i_size_read(inode));

	if (busy) {	/* what comes next would complain */
		filemap_write_and_wait(&inode->i_data);
		invalidate_inode_pages2(&inode->i_data);
	}
	truncate_inode_pages_final(&inode->i_data);
	return busy;
}

/* --- files that were removed with pages pinned ------------------------------------------------ */

/**
 * struct sfs_remains - a file without a name, in nobody's use, but for pages of it that are pinned
 * @sb: the file system
 * @ino: the file
 * @bytes: its size
 * @work: frees it when nobody has them any more
 */
struct sfs_remains {
	struct super_block *sb;
	u64 ino;
	u64 bytes;
	struct work_struct work;
};

static void sfs_remains_work(struct work_struct *work)
{
	struct sfs_remains *r = container_of(work, struct sfs_remains, work);
	struct sfs_sb *s = sfs_sb(r->sb);
	struct page *page;

	while ((page = sfs_busy_page(s, r->ino, 0, r->bytes)))
		___wait_var_event(&page->_refcount, sfs_page_idle(page), TASK_IDLE, 0, 0,
				  schedule());
	sb_start_intwrite(r->sb);
	if (READ_ONCE(s->writable))	/* else the next mount frees it */
		scmfs_release(s->fs, r->ino);
	sb_end_intwrite(r->sb);
	kfree(r);
	if (atomic_dec_and_test(&s->nr_remains))
		wake_up_var(&s->nr_remains);
}

/**
 * sfs_release_later - free a file whose pages are pinned, once they aren't
 * @inode: in eviction, without a name
 *
 * Nobody waits for that, as it may be the one who pinned them who would: he couldn't be killed. A
 * cut frees it as any other orphan.
 */
void sfs_release_later(struct inode *inode)
{
	struct sfs_remains *r = kmalloc(sizeof(*r), GFP_KERNEL | __GFP_NOFAIL);

	r->sb = inode->i_sb;
	r->ino = inode->i_ino;
	r->bytes = round_up(i_size_read(inode), PAGE_SIZE);
	INIT_WORK(&r->work, sfs_remains_work);
	atomic_inc(&sfs_sb(r->sb)->nr_remains);
	queue_work(sfs_remains_wq, &r->work);
}

/**
 * sfs_release_all - wait for all that sfs_release_later() has put off
 * @s: the file system, all inodes of which are gone
 */
void sfs_release_all(struct sfs_sb *s)
{
	wait_var_event(&s->nr_remains, !atomic_read(&s->nr_remains));
}

/**
 * sfs_wait_for_pins - wait until nobody has pages of any file pinned
 * @s: the file system, all inodes of which are gone
 *
 * A pin outlives mappings and open files, and so it would the mount: reserved memory has no struct
 * pages then that it could be taken back from, and the next mount would give the blocks away.
 *
 *	program				umount
 *	maps a file, pins a page
 *	unmaps and closes it
 *					no inode is left: waits here
 *	takes the pin back		the struct pages go
 *
 * It takes a look at each page of the memory, but only where such a pin was seen.
 */
void sfs_wait_for_pins(const struct sfs_sb *s)
{
	void *p, *end = s->base + round_down(s->bytes, PAGE_SIZE);
	struct page *page;

	for (p = s->base; s->pins_escaped && p < end; p += PAGE_SIZE) {
		page = virt_to_page(p);
		if (!sfs_page_idle(page))
			___wait_var_event(&page->_refcount, sfs_page_idle(page), TASK_IDLE, 0, 0,
					  schedule());
		if (IS_ALIGNED((unsigned long)p, PMD_SIZE))
			cond_resched();
	}
}
