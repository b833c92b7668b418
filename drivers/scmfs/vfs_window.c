// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: windows
 *
 * A file in many pieces, in one: pages mapped next to each other in kernel addresses (wu-2011
 * IV.B.1), so that where a byte is takes an addition. A file in one piece needs none: the direct
 * map has it, by huge pages. Windows are read through, never written, so that every store is at
 * the region's own address.
 *
 * Made lazily, by the reader that has gone from piece to piece often enough (VI.B), of what there
 * is without a hole from the start. A file that has grown to twice its window gets a new one, so
 * all that were ever made are at most twice the file. Whoever takes blocks out of a file, or puts
 * others in their place, drops its window first, with i_rwsem exclusively; readers have it
 * shared. The shrinker comes without, and so does the reader who puts a larger one in its place. So
 * each window counts who uses it, and goes with the last one. A reader may sleep on the user's
 * memory for as long as the user likes, and keeps one window then: his own file's.
 *
 * A window takes page tables, which nobody accounts to who reads, and it is made in one go. So it
 * is of the first GiB of a file at most: 2 MiB of page tables, and as much for the pages' addresses
 * meanwhile. Behind that, as of a file whose window memory was too short for a while ago, readers
 * go from piece to piece.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "vfs.h"

#define SFS_WALKS	8		/* before a window is worth its making */
#define SFS_WALKS_SHORT	4096		/* more of them after memory was too short for it */
#define SFS_WINDOW_MOST	((u64)SZ_1G / PAGE_SIZE)	/* pages */
#define SFS_WINDOW_SEGS	16u

/**
 * struct sfs_window - a file's content from its start on, in one piece
 * @addr: where
 * @bytes: how much
 * @inode: whose; under windows_lock
 * @link: in the list of windows
 * @users: the inode, and readers
 * @rcu: for its end, as who looks for it may have found it
 * @work: for its end, which may sleep
 */
struct sfs_window {
	void *addr;
	u64 bytes;
	struct sfs_inode *inode;
	struct list_head link;
	refcount_t users;
	struct rcu_head rcu;
	struct work_struct work;
};

static void sfs_window_work(struct work_struct *work)
{
	struct sfs_window *w = container_of(work, struct sfs_window, work);

	vunmap(w->addr);
	kfree_rcu(w, rcu);
}

static void sfs_window_put(struct sfs_window *w)
{
	if (!refcount_dec_and_test(&w->users))
		return;
	INIT_WORK(&w->work, sfs_window_work);
	queue_work(sfs_wq, &w->work);
}

/* Take it from its inode; windows_lock held. */
static struct sfs_window *sfs_window_take(struct sfs_sb *s, struct sfs_inode *si)
{
	struct sfs_window *w = rcu_dereference_protected(si->window,
							 lockdep_is_held(&s->windows_lock));

	if (!w)
		return NULL;
	WRITE_ONCE(si->tried, 0);
	rcu_assign_pointer(si->window, NULL);	/* from here on the inode may go */
	list_del(&w->link);
	s->nr_windows--;
	s->window_bytes -= w->bytes;
	return w;
}

/**
 * sfs_window_drop - forget a file's window
 * @inode: locked, or nobody else's any more
 */
void sfs_window_drop(struct inode *inode)
{
	struct sfs_sb *s = sfs_sb(inode->i_sb);
	struct sfs_inode *si = sfs_inode(inode);
	struct sfs_window *w;

	WRITE_ONCE(si->tried, 0);
	if (!rcu_access_pointer(si->window))
		return;
	spin_lock(&s->windows_lock);
	w = sfs_window_take(s, si);
	spin_unlock(&s->windows_lock);
	if (w)
		sfs_window_put(w);
}

/* The file's window, if there is one, until sfs_window_put(). */
static struct sfs_window *sfs_window_get(const struct sfs_inode *si)
{
	struct sfs_window *w;

	rcu_read_lock();
	w = rcu_dereference(si->window);
	if (w && !refcount_inc_not_zero(&w->users))
		w = NULL;
	rcu_read_unlock();
	return w;
}

/**
 * sfs_window_enter - begin to read through a window
 * @inode: locked
 * @pos: first byte
 * @len: how many
 * @src: the first byte's address until sfs_window_leave()
 *
 * Return: the window, or NULL: there is none for that.
 */
struct sfs_window *sfs_window_enter(struct inode *inode, u64 pos, u64 len, const void **src)
{
	struct sfs_window *w;

	if (!rcu_access_pointer(sfs_inode(inode)->window))
		return NULL;
	w = sfs_window_get(sfs_inode(inode));
	if (!w)
		return NULL;
	if (pos <= w->bytes && len <= w->bytes - pos) {
		*src = w->addr + pos;
		return w;
	}
	sfs_window_put(w);
	return NULL;
}

void sfs_window_leave(struct sfs_window *w)
{
	sfs_window_put(w);
}

/* --- making one ------------------------------------------------------------------------------- */

static unsigned long sfs_collect_locked(struct inode *inode, struct page **pages,
					unsigned long max)
{
	const struct sfs_sb *s = sfs_sb(inode->i_sb);
	struct scmfs_seg seg[SFS_WINDOW_SEGS];
	unsigned long nr = 0;
	int i, segs;
	u64 at;

	while (nr < max) {
		segs = scmfs_map(s->fs, inode->i_ino, PFN_PHYS(nr), PFN_PHYS(max - nr), seg,
				 SFS_WINDOW_SEGS);
		for (i = 0; i < segs; i++) {
			if (seg[i].at == SCMFS_HOLE)
				return nr;
			for (at = 0; at < seg[i].len; at += PAGE_SIZE)
				pages[nr++] = virt_to_page(s->base + seg[i].at + at);
		}
		if (segs <= 0)
			break;
		cond_resched();
	}
	return nr;
}

/**
 * sfs_collect - a file's pages, from its start to its first hole
 * @inode: locked, or such that its blocks stay; its extents not
 * @pages: filled
 * @max: with so many at most
 *
 * Return: how many.
 */
unsigned long sfs_collect(struct inode *inode, struct page **pages, unsigned long max)
{
	unsigned long nr;

	down_read(&sfs_inode(inode)->extents);
	nr = sfs_collect_locked(inode, pages, max);
	up_read(&sfs_inode(inode)->extents);
	return nr;
}

/* Pages that a window may have: a sparse file's size says nothing. */
static unsigned long sfs_window_most(struct inode *inode)
{
	struct scmfs_attr attr;

	if (scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr))
		return 0;
	return min3((u64)DIV_ROUND_UP(i_size_read(inode), PAGE_SIZE), attr.blocks, SFS_WINDOW_MOST);
}

static struct sfs_window *sfs_window_make(struct inode *inode, unsigned long max)
{
	struct page **pages = kvmalloc_array(max, sizeof(*pages),
					     GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	struct sfs_window *w = kzalloc(sizeof(*w), GFP_KERNEL);
	unsigned long nr;

	if (!pages || !w)
		goto no_window;
	nr = sfs_collect(inode, pages, max);
	w->bytes = PFN_PHYS(nr);
	w->inode = sfs_inode(inode);
	refcount_set(&w->users, 1);
	w->addr = nr ? vmap(pages, nr, VM_MAP, PAGE_KERNEL_RO) : NULL;
	if (!w->addr)
		goto no_window;
	kvfree(pages);
	return w;

no_window:
	kvfree(pages);
	kfree(w);
	return NULL;
}

/* In place of a smaller one; of two readers that made one the second one's counts. */
static void sfs_window_set(struct inode *inode, struct sfs_window *w, unsigned long tried)
{
	struct sfs_sb *s = sfs_sb(inode->i_sb);
	struct sfs_window *old;

	spin_lock(&s->windows_lock);
	old = sfs_window_take(s, w->inode);
	rcu_assign_pointer(w->inode->window, w);
	WRITE_ONCE(w->inode->tried, tried);
	list_add(&w->link, &s->windows);
	s->nr_windows++;
	s->window_bytes += w->bytes;
	s->windows_made++;
	spin_unlock(&s->windows_lock);
	if (old)
		sfs_window_put(old);
}

/**
 * sfs_window_walked - a read went from piece to piece
 * @inode: locked, shared
 *
 * That there is no memory for a window is no error: the next one is tried when the file has grown
 * to twice the size, or has lost the window that it had; much later if the shrinker has taken it.
 * None is made once some of the memory is bad: nobody reads through it then.
 */
void sfs_window_walked(struct inode *inode)
{
	struct sfs_inode *si = sfs_inode(inode);
	struct sfs_window *w;
	unsigned long most;

	if (READ_ONCE(sfs_sb(inode->i_sb)->bad))
		return;

	/* Counted without a lock: a count that is lost delays it by one read. */
	WRITE_ONCE(si->walks, READ_ONCE(si->walks) + 1);
	if (READ_ONCE(si->walks) < SFS_WALKS)
		return;
	WRITE_ONCE(si->walks, 0);
	most = sfs_window_most(inode);
	if (!most || most / 2 < READ_ONCE(si->tried))
		return;
	w = sfs_window_make(inode, most);
	if (w)
		sfs_window_set(inode, w, most);
	else
		WRITE_ONCE(si->tried, most);
}

/* --- when memory is short --------------------------------------------------------------------- */

static unsigned long sfs_windows_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	const struct sfs_sb *s = compat_shrinker_of(shrinker);

	return READ_ONCE(s->nr_windows);
}

/* The one that was made first; the lock is held. */
static struct sfs_window *sfs_windows_reclaim(struct sfs_sb *s)
{
	struct sfs_inode *si;

	if (list_empty(&s->windows))
		return NULL;
	si = list_last_entry(&s->windows, struct sfs_window, link)->inode;
	WRITE_ONCE(si->walks, -SFS_WALKS_SHORT);
	s->windows_reclaimed++;
	return sfs_window_take(s, si);
}

static unsigned long sfs_windows_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct sfs_sb *s = compat_shrinker_of(shrinker);
	unsigned long done = 0;
	struct sfs_window *w;

	while (done < sc->nr_to_scan) {
		spin_lock(&s->windows_lock);
		w = sfs_windows_reclaim(s);
		spin_unlock(&s->windows_lock);
		if (!w)
			break;
		sfs_window_put(w);
		done++;
	}
	return done ?: SHRINK_STOP;
}

int sfs_windows_init(struct sfs_sb *s)
{
	spin_lock_init(&s->windows_lock);
	INIT_LIST_HEAD(&s->windows);
	return compat_shrinker_add(&s->shrinker, s, "scmfs-windows", sfs_windows_count,
				   sfs_windows_scan);
}

/* All inodes are gone, and their windows with them, but for the work that unmaps them. */
void sfs_windows_exit(struct sfs_sb *s)
{
	compat_shrinker_remove(&s->shrinker);
	flush_workqueue(sfs_wq);
}
