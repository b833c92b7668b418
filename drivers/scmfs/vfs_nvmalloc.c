// SPDX-License-Identifier: GPL-2.0-only
/*
 * Areas for the kernel; nvmalloc.h has the contract.
 *
 * Lock order: nvm_area.lock, i_rwsem. The mapping is replaced under nvm_area.lock; who is between
 * nvm_enter() and nvm_leave() keeps the old one, which goes when all of them have left (SRCU).
 */
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <evenkeel/nvmalloc.h>
#include <evenkeel/scm.h>

#include "vfs.h"

#define NVM_FLUSH_PERIOD	(5 * HZ)
#define NVM_DIRTY_BITS	19	/* log2: 64 KiB for an area of any size */

/**
 * struct nvm_mapping - an area's addresses
 * @addr: first byte
 * @bytes: mapped
 * @window: @addr is of vmap(), and not of the direct map
 */
struct nvm_mapping {
	void *addr;
	u64 bytes;
	bool window;
};

/**
 * struct nvm_area - an open area
 * @file: in the file system
 * @size: that was asked for: mapped_size gets no larger
 * @write_through: what is written lasts at once; otherwise within NVM_FLUSH_PERIOD
 * @lock: for changes of the mapping
 * @mapping: the present one
 * @srcu: those who use it
 * @flushing: who finds a bit of @dirty cleared waits for who has cleared it; for @lost
 * @lost: what was written is lost, or may be, and nvm_flush() has yet to say so
 * @dirty: bit per piece that was written but not flushed; NULL with @write_through
 * @nr_dirty: pieces
 * @dirty_shift: log2 of a piece's bytes
 * @flush: does it
 */
struct nvm_area {
	struct file *file;
	u64 size;
	bool write_through;
	struct mutex lock;	/* for changes of mapping */
	struct nvm_mapping __rcu *mapping;
	struct srcu_struct srcu;
	struct mutex flushing;	/* who flushes; for lost */
	bool lost;
	unsigned long *dirty;
	unsigned long nr_dirty;
	unsigned int dirty_shift;
	struct delayed_work flush;
};

/* --- mapping ---------------------------------------------------------------------------------- */

static void nvm_mapping_free(struct nvm_mapping *map)
{
	if (!map)
		return;
	if (map->window)
		vunmap(map->addr);
	kfree(map);
}

/* In several pieces: pages next to each other. Return: its first byte or an ERR_PTR. */
static void *nvm_window(struct inode *inode, u64 bytes)
{
	unsigned long nr = PFN_DOWN(bytes);
	struct page **pages = NULL;
	void *addr = ERR_PTR(-ENOMEM);

	if (nr <= INT_MAX / sizeof(*pages))	/* the kernel warns of who asks for more */
		pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	if (pages && sfs_collect(inode, pages, nr) != nr)
		addr = ERR_PTR(-EUCLEAN);	/* it has no holes */
	else if (pages)
		addr = vmap(pages, nr, VM_MAP, PAGE_KERNEL) ?: ERR_PTR(-ENOMEM);
	kvfree(pages);
	return addr;
}

/* @map's bytes of a file, of which there are some. Return: 0 or a negative error number. */
static int nvm_find(struct inode *inode, struct nvm_mapping *map)
{
	struct scmfs_seg seg[2];
	int nr;

	down_read(&sfs_inode(inode)->extents);
	nr = scmfs_map(sfs_fs(inode), inode->i_ino, 0, map->bytes, seg, 2);
	up_read(&sfs_inode(inode)->extents);
	if (nr < 0)
		return nr;
	map->window = nr > 1;
	if (map->window)
		map->addr = nvm_window(inode, map->bytes);
	else if (nr && seg[0].at != SCMFS_HOLE)
		map->addr = sfs_sb(inode->i_sb)->base + seg[0].at;
	else
		map->addr = ERR_PTR(-EUCLEAN);
	return PTR_ERR_OR_ZERO(map->addr);
}

/* All that the area has now, which has no holes. Return: it or an ERR_PTR. */
static struct nvm_mapping *nvm_map(struct inode *inode, u64 bytes)
{
	struct nvm_mapping *map = kzalloc(sizeof(*map), GFP_KERNEL);
	int err;

	if (!map)
		return ERR_PTR(-ENOMEM);
	map->bytes = bytes;
	err = bytes ? nvm_find(inode, map) : 0;
	if (!err)
		return map;
	kfree(map);
	return ERR_PTR(err);
}

static struct nvm_mapping *nvm_mapping(const struct nvm_area *area)
{
	return rcu_dereference_protected(area->mapping, lockdep_is_held(&area->lock));
}

static struct sfs_areas *nvm_areas(const struct nvm_area *area)
{
	return &sfs_sb(file_inode(area->file)->i_sb)->areas;
}

/* For who asks how much there is: @map comes, or goes. */
static void nvm_count(const struct nvm_area *area, const struct nvm_mapping *map, bool comes)
{
	struct sfs_areas *areas = nvm_areas(area);
	s64 bytes = map ? map->bytes : 0;

	atomic64_add(comes ? bytes : -bytes, &areas->mapped);
	if (map && map->window)
		atomic64_add(comes ? bytes : -bytes, &areas->windowed);
}

static void nvm_set_size(struct nvm_area *area, u64 size)
{
	atomic64_add((s64)(size - area->size), &nvm_areas(area)->reserved);
	area->size = size;
}

/*
 * While nobody else has it. A bit stands for a page, or for more where there would be too many of
 * them: a write costs no more than its pieces to flush, however far they are from each other.
 */
static int nvm_init_size(struct nvm_area *area, u64 size)
{
	unsigned int shift = size ? ilog2(size) + 1 : 0;

	nvm_set_size(area, size);
	if (area->write_through)
		return 0;
	kvfree(area->dirty);
	area->dirty_shift = max_t(int, shift - NVM_DIRTY_BITS, PAGE_SHIFT);
	area->nr_dirty = size ? ((size - 1) >> area->dirty_shift) + 1 : 0;
	area->dirty = kvcalloc(BITS_TO_LONGS(area->nr_dirty) + 1, sizeof(*area->dirty), GFP_KERNEL);
	return area->dirty ? 0 : -ENOMEM;
}

/* --- bad memory ------------------------------------------------------------------------------- */

/* By where it is: whose file it is in asks for locks that who writes may hold. */
static bool nvm_page_is_good(const struct sfs_sb *s, const void *p)
{
	p = page_address(vmalloc_to_page(PTR_ALIGN_DOWN(p, PAGE_SIZE)));
	return sfs_good(s, p - s->base, PAGE_SIZE) == PAGE_SIZE;
}

/* May all of that be touched? Both are of one mapping. */
static bool nvm_is_good(const struct nvm_area *area, const void *p, u64 len)
{
	const struct sfs_sb *s = sfs_sb(file_inode(area->file)->i_sb);
	const void *end = p + len;

	if (likely(!READ_ONCE(s->bad)))
		return true;
	if (!is_vmalloc_addr(p))
		return sfs_good(s, p - s->base, len) == len;
	for (; p < end; p = PTR_ALIGN_DOWN(p, PAGE_SIZE) + PAGE_SIZE) {
		cond_resched();
		if (!nvm_page_is_good(s, p))
			return false;
	}
	return true;
}

/* --- the present mapping ---------------------------------------------------------------------- */

static void nvm_replace(struct nvm_area *area, struct nvm_mapping *map)
{
	struct nvm_mapping *old = nvm_mapping(area);

	nvm_count(area, map, true);
	nvm_count(area, old, false);
	rcu_assign_pointer(area->mapping, map);
	synchronize_srcu(&area->srcu);
	nvm_mapping_free(old);
}

/**
 * nvm_enter - an area's address
 * @area: the area
 * @bytes: set to how many there are at it
 * @cookie: for nvm_leave()
 *
 * Memory that goes bad while the area is open is a machine check for who touches it, or an oops.
 * Context: any that may sleep. Nobody expands or shrinks it from in between.
 * Return: its first byte; valid, for @bytes, until nvm_leave(). nvm_mapped_size() may tell of
 * another mapping by then.
 */
void *nvm_enter(struct nvm_area *area, u64 *bytes, int *cookie)
{
	const struct nvm_mapping *map;

	*cookie = srcu_read_lock(&area->srcu);
	map = srcu_dereference(area->mapping, &area->srcu);
	*bytes = map->bytes;
	__release(&area->srcu);		/* sparse: held until nvm_leave() */
	return map->addr;
}
EXPORT_SYMBOL_GPL(nvm_enter);

/**
 * nvm_leave - the address is not used any more
 * @area: the area
 * @cookie: from nvm_enter()
 *
 * Context: the task that entered.
 */
void nvm_leave(struct nvm_area *area, int cookie)
{
	__acquire(&area->srcu);
	srcu_read_unlock(&area->srcu, cookie);
}
EXPORT_SYMBOL_GPL(nvm_leave);

/**
 * nvm_mapped_size - how much of an area there is
 * @area: the area
 *
 * Who goes by an address goes by what nvm_enter() told with it.
 * Context: any that may sleep.
 * Return: bytes.
 */
u64 nvm_mapped_size(struct nvm_area *area)
{
	u64 bytes;
	int cookie;

	nvm_enter(area, &bytes, &cookie);
	nvm_leave(area, cookie);
	return bytes;
}
EXPORT_SYMBOL_GPL(nvm_mapped_size);

/**
 * nvm_size - how large an area can become
 * @area: the area
 *
 * Context: any.
 * Return: bytes.
 */
u64 nvm_size(const struct nvm_area *area)
{
	return area->size;
}
EXPORT_SYMBOL_GPL(nvm_size);

/* --- writing ---------------------------------------------------------------------------------- */

/* Of some pages those that aren't bad, whose content is lost. */
static void nvm_flush_good(struct nvm_area *area, void *p, u64 len)
{
	void *end = p + len;

	if (nvm_is_good(area, p, len)) {
		scm_flush(p, len);
		return;
	}
	area->lost = true;
	for (; p < end; p += PAGE_SIZE)
		if (nvm_is_good(area, p, PAGE_SIZE))
			scm_flush(p, PAGE_SIZE);
}

/* Who waits for all to leave waits for one piece. What was cut off meanwhile is nobody's. */
static void nvm_flush_piece(struct nvm_area *area, unsigned long piece)
{
	u64 from = (u64)piece << area->dirty_shift, bytes;
	int cookie;
	void *p = nvm_enter(area, &bytes, &cookie);

	if (from < bytes)
		nvm_flush_good(area, p + from, min(bytes - from, 1ULL << area->dirty_shift));
	nvm_leave(area, cookie);
}

/* Where a fence isn't enough the host, or the device, is told. */
static int nvm_flush_locked(struct nvm_area *area)
{
	struct inode *inode = file_inode(area->file);
	unsigned long piece;

	for (piece = 0; area->dirty; piece++) {
		piece = find_next_bit(area->dirty, area->nr_dirty, piece);
		if (piece >= area->nr_dirty)
			break;
		/* pairs with nvm_dirty(): what was stored before the bit was set is flushed */
		if (test_and_clear_bit(piece, area->dirty))
			nvm_flush_piece(area, piece);
		cond_resched();
	}
	return sfs_alive(inode) ?: sfs_settle_file(inode->i_sb);
}

/**
 * nvm_flush - make what was written last
 * @area: the area
 *
 * Also what was stored without nvm_write(), where scm_flush() was called on it.
 * Context: process context; sleeps.
 * Return: 0; -EIO: something is lost that was written before its memory went bad, which is told
 * once, or the file system was shut down; an error of the device's flush.
 */
int nvm_flush(struct nvm_area *area)
{
	int err;

	mutex_lock(&area->flushing);
	err = nvm_flush_locked(area);
	if (!err && area->lost)
		err = -EIO;
	area->lost = false;
	mutex_unlock(&area->flushing);
	return err;
}
EXPORT_SYMBOL_GPL(nvm_flush);

/* Whom it would be told to asks later: the device has forgotten what it failed to flush. */
static void nvm_flush_work(struct work_struct *work)
{
	struct nvm_area *area = container_of(to_delayed_work(work), struct nvm_area, flush);

	mutex_lock(&area->flushing);
	if (nvm_flush_locked(area))
		area->lost = true;
	mutex_unlock(&area->flushing);
}

static void nvm_dirty(struct nvm_area *area, u64 from, u64 to)
{
	unsigned long piece;

	smp_mb__before_atomic();	/* pairs with nvm_flush() */
	for (piece = from >> area->dirty_shift; (u64)piece << area->dirty_shift < to; piece++)
		set_bit(piece, area->dirty);
	queue_delayed_work(sfs_wq, &area->flush, NVM_FLUSH_PERIOD);
}

/**
 * nvm_write - store bytes
 * @area: the area
 * @offset: of the first
 * @src: what to store
 * @len: how many
 *
 * They last on return with write_through, otherwise after nvm_flush() or some seconds.
 * Context: process context.
 * Return: 0; -ERANGE: beyond what is mapped; -EIO: some of the memory is known to be bad, or the
 * file system was shut down. Nothing is stored then.
 */
int nvm_write(struct nvm_area *area, u64 offset, const void *src, size_t len)
{
	int cookie, err = 0;
	u64 bytes;
	void *p = nvm_enter(area, &bytes, &cookie);

	if (offset > bytes || len > bytes - offset) {
		err = -ERANGE;
	} else if (sfs_alive(file_inode(area->file)) || !nvm_is_good(area, p + offset, len)) {
		err = -EIO;
	} else if (area->write_through) {
		scm_copy_nt(p + offset, src, len);
		scm_fence();
	} else {
		scm_store(p + offset, src, len);
		nvm_dirty(area, offset, offset + len);
	}
	nvm_leave(area, cookie);
	return err;
}
EXPORT_SYMBOL_GPL(nvm_write);

/* --- size ------------------------------------------------------------------------------------- */

/* What there is less of may be bad: that was mapped before, and who gives memory back can. */
static int nvm_remap(struct nvm_area *area, u64 bytes)
{
	const struct nvm_mapping *old = nvm_mapping(area);
	struct nvm_mapping *map = nvm_map(file_inode(area->file), bytes);

	if (IS_ERR(map))
		return PTR_ERR(map);
	if ((!old || bytes > old->bytes) && !nvm_is_good(area, map->addr, bytes)) {
		nvm_mapping_free(map);
		return -EIO;
	}
	nvm_replace(area, map);
	return 0;
}

static int nvm_reserve_locked(struct inode *inode, u64 from, u64 to)
{
	int err;

	down_write(&sfs_inode(inode)->extents);
	err = sfs_alive(inode) ?: scmfs_reserve(sfs_fs(inode), inode->i_ino, from, to - from,
						SCMFS_RESERVE_ZEROED, sfs_now(inode));
	sfs_refresh(inode);
	if (err)
		sfs_note_ahead(inode);
	up_write(&sfs_inode(inode)->extents);
	return err;
}

static int nvm_reserve(struct inode *inode, u64 from, u64 to)
{
	int err;

	sb_start_write(inode->i_sb);
	inode_lock(inode);
	err = nvm_reserve_locked(inode, from, to);
	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = nvm_reserve_locked(inode, from, to);
		sfs_made_room(inode->i_sb);
	}
	inode_unlock(inode);
	sb_end_write(inode->i_sb);
	return err;
}

static int nvm_cut(struct inode *inode, u64 to)
{
	int err;

	sb_start_write(inode->i_sb);
	inode_lock(inode);
	err = sfs_alive(inode) ?: sfs_resize(inode, to);
	inode_unlock(inode);
	sb_end_write(inode->i_sb);
	return err;
}

/* A file that is larger than its mapping could not be cut before: what it has there is not zero. */
static int nvm_expand_locked(struct nvm_area *area, u64 before, u64 bytes)
{
	struct inode *inode = file_inode(area->file);
	int err = i_size_read(inode) > before ? nvm_cut(inode, before) : 0;

	if (!err && bytes > before)
		err = nvm_reserve(inode, before, bytes);
	if (!err)
		err = nvm_remap(area, bytes);
	if (err)
		nvm_cut(inode, before);
	return err;
}

/**
 * nvmalloc_expand - map more of an area
 * @area: the area
 * @mapped_size: bytes from now on; rounded up to pages, and at most nvm_size()
 *
 * What is new is zero. The address may be another one afterwards.
 * Context: process context, outside of nvm_enter(); waits for those who are inside.
 * Return: 0; -EINVAL: less than before, or too much; -ENOSPC; -ENOMEM; -EINTR: the task is being
 * killed; -EIO: some of its memory is known to be bad, or the file system was shut down; -EUCLEAN:
 * the file is damaged. Then it is as it was, but that the file may have kept what is new: the next
 * call gives that back first.
 */
int nvmalloc_expand(struct nvm_area *area, u64 mapped_size)
{
	u64 bytes = round_up(mapped_size, PAGE_SIZE);
	int err = -EINVAL;

	mutex_lock(&area->lock);
	if (mapped_size <= area->size && bytes >= nvm_mapping(area)->bytes && bytes <= area->size)
		err = nvm_expand_locked(area, nvm_mapping(area)->bytes, bytes);
	mutex_unlock(&area->lock);
	return err;
}
EXPORT_SYMBOL_GPL(nvmalloc_expand);

/**
 * nvmalloc_shrink - give the end of an area back
 * @area: the area
 * @mapped_size: bytes that stay; rounded up to pages
 *
 * Context: process context, outside of nvm_enter(); waits for those who are inside.
 * Return: 0; -EINVAL: more than before; -ENOMEM; -EUCLEAN: the file is damaged; -EIO: the file
 * system was shut down; errors of cutting a file. What nvm_mapped_size() tells of no more then may
 * still be the file's.
 */
int nvmalloc_shrink(struct nvm_area *area, u64 mapped_size)
{
	u64 bytes = round_up(mapped_size, PAGE_SIZE);
	int err = -EINVAL;

	mutex_lock(&area->lock);
	/* before it is rounded: the largest numbers become 0, and nothing would stay */
	if (mapped_size <= nvm_mapping(area)->bytes)
		err = nvm_remap(area, bytes);	/* nobody sees what goes next */
	if (!err)
		err = nvm_cut(file_inode(area->file), bytes);
	mutex_unlock(&area->lock);
	return err;
}
EXPORT_SYMBOL_GPL(nvmalloc_shrink);

/* --- the whole -------------------------------------------------------------------------------- */

/* All of a file has to be there. What fallocate() reserved becomes so, once: the rest is a hole. */
static int nvm_complete_locked(struct inode *inode, u64 size)
{
	struct scmfs_seg seg;
	bool unwritten;
	u64 at;
	int err;

	for (at = 0; at < size; at += seg.len) {
		err = scmfs_report(sfs_fs(inode), inode->i_ino, at, size - at, &seg, &unwritten);
		if (!err && seg.at == SCMFS_HOLE)
			err = -EINVAL;
		if (!err && unwritten)
			err = scmfs_reserve(sfs_fs(inode), inode->i_ino, at, seg.len,
					    SCMFS_RESERVE_ZEROED, sfs_now(inode));
		if (err)
			return err;
	}
	return 0;
}

static int nvm_complete_once(struct inode *inode, u64 size)
{
	int err;

	down_write(&sfs_inode(inode)->extents);
	err = nvm_complete_locked(inode, size);
	sfs_refresh(inode);	/* it goes in steps, and sets the times */
	up_write(&sfs_inode(inode)->extents);
	return err;
}

static int nvm_complete(struct inode *inode, u64 size)
{
	int err = nvm_complete_once(inode, size);

	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = nvm_complete_once(inode, size);
		sfs_made_room(inode->i_sb);
	}
	return err;
}

/* Is a fence all, so that a write can afford it? */
static bool nvm_lasts_at_once(const struct sfs_sb *s)
{
	return s->options.has_phys || s->synchronous;
}

/* A file of scmfs, all of it there, from now on for this area alone. */
static int nvm_take(struct file *file, bool write_through)
{
	struct inode *inode = file_inode(file);
	bool denied;
	u64 size;
	int err;

	if (file->f_op != &sfs_file_fops)
		return -EMEDIUMTYPE;
	if (write_through && !nvm_lasts_at_once(sfs_sb(inode->i_sb)))
		return -EOPNOTSUPP;
	sb_start_write(inode->i_sb);
	inode_lock(inode);
	size = i_size_read(inode);
	err = sfs_alive(inode);
	if (!err && IS_IMMUTABLE(inode))
		err = -EBUSY;
	if (!err && !PAGE_ALIGNED(size))
		err = -EINVAL;
	if (!err)	/* nor by mappings that are made writable later */
		err = mapping_deny_writable(&inode->i_data);
	denied = !err;
	if (!err) {
		err = nvm_complete(inode, size);
		sfs_filled(inode, 0, size);	/* zero pages that are mapped to be read */
	}
	if (!err)
		inode_set_flags(inode, S_IMMUTABLE, S_IMMUTABLE);
	else if (denied)
		mapping_allow_writable(&inode->i_data);
	inode_unlock(inode);
	sb_end_write(inode->i_sb);
	return err;
}

static void nvm_let_go(struct file *file)
{
	struct inode *inode = file_inode(file);

	inode_lock(inode);
	inode_set_flags(inode, 0, S_IMMUTABLE);
	mapping_allow_writable(&inode->i_data);
	inode_unlock(inode);
	filp_close(file, NULL);
}

/*
 * The name that nvmalloc() made, and can't do anything with: who tries again would find it there.
 * Another one by the same name, or one that was moved, stays.
 */
static void nvm_unmake(const struct path *path)
{
	struct dentry *dir = dget_parent(path->dentry);
	int err = mnt_want_write(path->mnt);

	if (!err) {
		inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
		if (path->dentry->d_parent == dir && !d_unhashed(path->dentry))
			err = vfs_unlink(compat_mnt_idmap(path->mnt), d_inode(dir), path->dentry,
					 NULL);
		inode_unlock(d_inode(dir));
		mnt_drop_write(path->mnt);
	}
	if (err)
		pr_warn("scmfs: %pd: empty, and can't be removed (%d)\n", path->dentry, err);
	dput(dir);
}

static struct nvm_area *nvm_area_alloc(struct file *file, bool write_through)
{
	struct nvm_area *area = kzalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return NULL;
	if (init_srcu_struct(&area->srcu)) {
		kfree(area);
		return NULL;
	}
	area->file = file;
	area->write_through = write_through;
	mutex_init(&area->lock);
	mutex_init(&area->flushing);
	INIT_DELAYED_WORK(&area->flush, nvm_flush_work);
	atomic64_inc(&nvm_areas(area)->nr);
	return area;
}

/* The file last: once others may change it, its blocks may be another one's. */
static void nvm_area_free(struct nvm_area *area)
{
	struct nvm_mapping *map = rcu_dereference_protected(area->mapping, true);
	struct file *file = area->file;

	cancel_delayed_work_sync(&area->flush);
	nvm_count(area, map, false);
	nvm_set_size(area, 0);
	atomic64_dec(&nvm_areas(area)->nr);
	nvm_mapping_free(map);
	cleanup_srcu_struct(&area->srcu);
	kvfree(area->dirty);
	kfree(area);
	nvm_let_go(file);
}

/* The file is the area's, or closed. */
static struct nvm_area *nvm_open_file(struct file *file, bool write_through)
{
	struct nvm_area *area;
	struct scmfs_attr attr;
	int err;

	err = nvm_take(file, write_through);
	if (err) {
		filp_close(file, NULL);
		return ERR_PTR(err);
	}
	area = nvm_area_alloc(file, write_through);
	if (!area) {
		nvm_let_go(file);
		return ERR_PTR(-ENOMEM);
	}
	err = scmfs_getattr(sfs_fs(file_inode(file)), file_inode(file)->i_ino, &attr);
	if (!err)
		err = nvm_init_size(area, max(attr.virtual_size, attr.size));
	mutex_lock(&area->lock);
	if (!err)
		err = nvm_remap(area, attr.size);
	mutex_unlock(&area->lock);
	if (!err)
		return area;
	nvm_area_free(area);
	return ERR_PTR(err);
}

static struct nvm_area *nvm_open(const char *name, int flags, bool write_through)
{
	struct file *file = filp_open(name, O_RDWR | O_LARGEFILE | flags, 0600);
	struct nvm_area *area;
	struct path path;

	if (IS_ERR(file))
		return ERR_CAST(file);
	path = file->f_path;
	path_get(&path);
	area = nvm_open_file(file, write_through);
	if (IS_ERR(area) && flags & O_EXCL)
		nvm_unmake(&path);
	path_put(&path);
	return area;
}

/* Its name goes as well. */
static void nvm_give_up(struct nvm_area *area)
{
	struct path path = area->file->f_path;

	path_get(&path);
	nvclose(area);
	nvm_unmake(&path);
	path_put(&path);
}

/**
 * nvmopen - find an area that was made before
 * @path: its name
 * @write_through: what is written lasts at once
 *
 * Any file of scmfs does that is a multiple of a page long and has no holes.
 * Context: process context.
 * Return: the area or an ERR_PTR: -EMEDIUMTYPE: on another file system; -EBUSY: it is open;
 * -EOPNOTSUPP: @write_through where the host has to flush what is to last; -EINVAL: it has holes;
 * -EIO: some of its memory is known to be bad, or the file system was shut down; -ENOMEM; -EUCLEAN:
 * the file is damaged; errors of opening a file.
 */
struct nvm_area *nvmopen(const char *path, bool write_through)
{
	return nvm_open(path, 0, write_through);
}
EXPORT_SYMBOL_GPL(nvmopen);

/**
 * nvmalloc - make an area
 * @path: its name, in a mounted scmfs; nothing may have it
 * @size: bytes that it can be expanded to
 * @mapped_size: bytes that it has now; rounded up to pages, all zero
 * @write_through: what is written lasts at once
 *
 * Context: process context.
 * Return: the area or an ERR_PTR: -EEXIST; -EINVAL: @mapped_size is above @size; -ENOSPC; -ENOMEM;
 * errors of nvmopen(). Then no file is left either, and it can be tried again.
 */
struct nvm_area *nvmalloc(const char *path, u64 size, u64 mapped_size, bool write_through)
{
	struct nvm_area *area;
	struct inode *inode;
	int err;

	size = round_up(size, PAGE_SIZE);
	if (mapped_size > size || !size)
		return ERR_PTR(-EINVAL);
	area = nvm_open(path, O_CREAT | O_EXCL, write_through);
	if (IS_ERR(area))
		return area;
	inode = file_inode(area->file);
	err = nvm_init_size(area, size);
	sb_start_write(inode->i_sb);
	inode_lock(inode);
	if (!err)
		err = sfs_alive(inode);
	if (!err)
		err = scmfs_set_virtual_size(sfs_fs(inode), inode->i_ino, size);
	inode_unlock(inode);
	sb_end_write(inode->i_sb);
	if (!err)
		err = nvmalloc_expand(area, mapped_size);
	if (!err)
		return area;
	nvm_give_up(area);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(nvmalloc);

/**
 * nvclose - an area stays, and nobody uses it
 * @area: the area; gone on return
 *
 * Context: process context.
 * Return: 0, or an error of nvm_flush(): what was written may be lost.
 */
int nvclose(struct nvm_area *area)
{
	int err = nvm_flush(area);

	nvm_area_free(area);
	return err;
}
EXPORT_SYMBOL_GPL(nvclose);

/**
 * nvfree - give all of an area's memory back
 * @area: the area; gone on return
 *
 * An empty file stays under its name, the dissertation's null file.
 * Context: process context.
 * Return: 0 or a negative error number: some of the memory is still the file's.
 */
int nvfree(struct nvm_area *area)
{
	int err = nvmalloc_shrink(area, 0);

	nvclose(area);
	return err;
}
EXPORT_SYMBOL_GPL(nvfree);
