// SPDX-License-Identifier: GPL-2.0-only
/*
 * Garbage collection: when, and of which files (gc.c has what is done to them).
 *
 * A pass is a piece of work, bounded in files and bytes; between two of them it sleeps. Nobody is
 * waited for: a file that somebody has locked is passed by, and one that somebody has mapped or
 * pinned stays where it is. With the file's locks held, all of them exclusively, and without an
 * entry of the kernel's for any of its pages nobody has a block's address but who is about to ask:
 *
 *	collection			a read, a write, a fault, fallocate ...
 *	i_rwsem, invalidate_lock,
 *	extents; no entries		waits for one of these
 *	copies, swings the extents
 *	the old blocks are free
 *	unlocks				looks for the block: the new one
 *
 * Windows are read under i_rwsem, and are dropped; areas of nvmalloc() have their files immutable.
 *
 * A frozen file system is left alone, as sb_start_write_trylock() says, and one that becomes
 * read-only, is shut down or unmounted: sfs_gc_forbid() returns when nothing is under way any more.
 * That is one look at a file, which makes the index of one in many extents first, and a relocation,
 * at most. An inode may be given back while it is frozen, which waits
 * for the thaw if it lost its name meanwhile; who freezes has a reference to the super block, so
 * nobody unmounts, and remounting is EBUSY.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <evenkeel/scmfs.h>

#include "engine_gc.h"
#include "vfs.h"

#define GC_PASS_BLOCKS	4096u		/* 16 MiB */
#define GC_PASS_INODES	16384u
#define GC_PASS_EXTENTS	262144u
#define GC_PAUSE	(HZ / 10)	/* between two passes of a round */
#define GC_PERIOD	(5 * HZ)	/* between two rounds, */
#define GC_QUIET	5u		/* twice as long with each that found nothing, so often */
#define GC_LATER	HZ		/* while it can't */
#define GC_ROUNDS	16u		/* of one that was started, at most */

/* --- files ------------------------------------------------------------------------------------ */

/* By its number. Nobody is waited for who makes a file (see sfs_iget_unnamed()). */
static struct inode *gc_iget(struct sfs_sb *s, u64 ino)
{
	struct inode *inode = sfs_in_use(s->gc.sb, ino);

	if (inode)
		return inode;
	if (!down_write_trylock(&s->numbers))
		return NULL;
	inode = sfs_iget(s->gc.sb, ino);
	up_write(&s->numbers);
	if (IS_ERR(inode))
		return NULL;
	if (atomic_read(&inode->i_count) == 1)	/* nobody was quicker */
		s->gc.brought = ino;
	return inode;
}

static bool gc_may_store(const struct sfs_sb *s)
{
	return READ_ONCE(s->writable) && READ_ONCE(s->gc.allowed) && !sb_rdonly(s->gc.sb);
}

/* Is it a file that stays one, and nobody else's for now? */
static int gc_judge(struct inode *inode, enum scmfs_gc_lock what)
{
	if (!S_ISREG(inode->i_mode) || !inode->i_nlink || is_bad_inode(inode))
		return -ESTALE;
	if (what == SCMFS_GC_TRIM)
		return 0;
	if (IS_IMMUTABLE(inode) || mapping_mapped(&inode->i_data) ||
	    !sfs_is_free(inode, 0, i_size_read(inode)))
		return -EBUSY;
	return 0;
}

static int gc_lock_inner(struct inode *inode, enum scmfs_gc_lock what)
{
	int err;

	if (!down_write_trylock(&inode->i_data.invalidate_lock))
		return -EAGAIN;
	err = down_write_trylock(&sfs_inode(inode)->extents) ? 0 : -EAGAIN;
	if (!err) {
		err = gc_judge(inode, what);
		if (err)
			up_write(&sfs_inode(inode)->extents);
	}
	if (err)
		filemap_invalidate_unlock(&inode->i_data);
	return err;
}

static int gc_lock_inode(struct inode *inode, enum scmfs_gc_lock what)
{
	int err;

	if (!inode_trylock(inode))
		return -EAGAIN;
	err = gc_lock_inner(inode, what);
	if (err)
		inode_unlock(inode);
	return err;
}

static int gc_lock_step(struct sfs_sb *s, struct inode *inode, enum scmfs_gc_lock what)
{
	int err;

	if (!sb_start_write_trylock(s->gc.sb))
		return -ECANCELED;
	mutex_lock(&s->gc.step);
	if (!gc_may_store(s))
		err = -EROFS;
	else if (what == SCMFS_GC_MOVE && atomic_read(&s->gc.needy))	/* comes first */
		err = -ENOSPC;
	else
		err = gc_lock_inode(inode, what);
	if (err) {
		mutex_unlock(&s->gc.step);
		sb_end_write(s->gc.sb);
	}
	return err;
}

static int gc_lock(void *ctx, u64 ino, enum scmfs_gc_lock what)
{
	struct sfs_sb *s = ctx;

	if (!s->gc.inode)
		s->gc.inode = gc_iget(s, ino);
	return s->gc.inode ? gc_lock_step(s, s->gc.inode, what) : -EAGAIN;
}

/*
 * The index of a file's extents goes with its inode: it stays while they are looked at. From one
 * pass to the next it does as that of any file that nobody uses, which reclaim may take; what was
 * brought to RAM leaves it when the file is done with.
 */
static void gc_leave(void *ctx, u64 ino, bool done)
{
	struct sfs_sb *s = ctx;
	struct inode *inode = s->gc.inode;

	if (inode && done && s->gc.brought == ino && atomic_read(&inode->i_count) == 1)
		d_mark_dontcache(inode);
	if (done)
		s->gc.brought = 0;
	if (inode)
		iput(inode);
	s->gc.inode = NULL;
}

static void gc_moving(void *ctx, u64 ino)
{
	struct sfs_sb *s = ctx;

	sfs_forget_places(s->gc.inode);
	WRITE_ONCE(s->gc.moved, true);
}

static void gc_unlock(void *ctx, u64 ino)
{
	struct sfs_sb *s = ctx;
	struct inode *inode = s->gc.inode;

	up_write(&sfs_inode(inode)->extents);
	filemap_invalidate_unlock(&inode->i_data);
	inode_unlock(inode);
	mutex_unlock(&s->gc.step);
	sb_end_write(s->gc.sb);
}

static bool gc_stop(void *ctx)
{
	const struct sfs_sb *s = ctx;

	return READ_ONCE(s->gc.halt) || !gc_may_store(s) ||
		READ_ONCE(s->gc.sb->s_writers.frozen) != SB_UNFROZEN;
}

static const struct scmfs_gc_ops gc_ops = {
	.lock = gc_lock,
	.moving = gc_moving,
	.unlock = gc_unlock,
	.leave = gc_leave,
	.stop = gc_stop,
};

/**
 * sfs_gc_make_way - somebody found no room
 * @s: the file system
 *
 * A relocation has blocks twice until it is done. So who finds none free waits for the one that is
 * under way, and none follows until he has tried again, however long he waits for a CPU:
 *
 *	collection			a write
 *	step locked; nobody is needy
 *	takes blocks			-ENOSPC; needy
 *	frees as many; step unlocked	had to wait for it
 *	step locked; ends the pass	tries again, and is not needy any more
 *
 * Context: process context; no inode's extents locked.
 * Return: there may have been one, so it is worth trying again. sfs_gc_go_on() follows in any case.
 */
bool sfs_gc_make_way(struct sfs_sb *s)
{
	atomic_inc(&s->gc.needy);
	mutex_lock(&s->gc.step);
	mutex_unlock(&s->gc.step);
	return READ_ONCE(s->gc.moved);
}

/**
 * sfs_gc_go_on - he has tried again
 * @s: the file system
 */
void sfs_gc_go_on(struct sfs_sb *s)
{
	atomic_dec(&s->gc.needy);
}

/* --- passes ----------------------------------------------------------------------------------- */

static bool gc_is_wanted_locked(const struct sfs_sb *s)
{
	return s->gc.allowed && (s->gc.wanted || s->options.gc.on);
}

static void gc_queue_locked(struct sfs_sb *s, unsigned long delay)
{
	if (gc_is_wanted_locked(s))
		mod_delayed_work(sfs_gc_wq, &s->gc.work, delay);
}

/*
 * Is it worth it to put things together, and safe? Where a fence isn't enough what was synced at
 * its old place would not be at the new one.
 */
static bool gc_is_huge(const struct sfs_sb *s)
{
	return (s->options.has_phys || s->synchronous) &&
		IS_ALIGNED(virt_to_phys(s->base), SCMFS_UNIT_SIZE);
}

/* What it is to do. Return: 0; -ECANCELED: nothing, since it was queued. */
static int gc_params(struct sfs_sb *s, struct scmfs_gc_params *p)
{
	bool wanted;

	spin_lock(&s->gc.lock);
	wanted = gc_is_wanted_locked(s);
	if (s->gc.wanted && s->gc.collector && scmfs_gc_order(s->gc.collector) != s->gc.order)
		scmfs_gc_retry(s->gc.collector);
	*p = (struct scmfs_gc_params){
		.low = s->options.gc.low,
		.high = s->options.gc.high,
		.whole = s->options.gc.whole,
		.cold = (s64)s->options.gc.cold * NSEC_PER_SEC,
		.blocks = GC_PASS_BLOCKS,
		.inodes = GC_PASS_INODES,
		.extents = GC_PASS_EXTENTS,
		.huge = gc_is_huge(s),
		.order = s->gc.wanted ? s->gc.order : 0,
	};
	s->gc.halt = false;
	spin_unlock(&s->gc.lock);
	return wanted ? 0 : -ECANCELED;
}

/* Return: as scmfs_gc_pass(). */
static int gc_pass(struct sfs_sb *s)
{
	struct scmfs_gc_params p;
	struct scmfs_gc *new;
	int err = gc_params(s, &p);

	if (err)
		return err;
	if (!gc_may_store(s))
		return -EROFS;
	if (!(READ_ONCE(s->gc.sb->s_flags) & SB_ACTIVE) || gc_stop(s))
		return -ECANCELED;
	if (!s->gc.collector) {
		new = scmfs_gc_new(s->fs, &gc_ops, s);
		if (!new)
			return -ENOMEM;
		smp_store_release(&s->gc.collector, new);	/* pairs with sfs_gc_tell() */
	}
	return scmfs_gc_pass(s->gc.collector, &p, ktime_get_real_ns());
}

/*
 * All files were looked at. One that was started ends when there was nothing left to do, in a round
 * that began after that:
 *
 *	a round of the thresholds	START
 *	looks at the last file
 *					wanted
 *	nothing to do: not an answer to that
 */
static unsigned long gc_round_done(struct sfs_sb *s)
{
	const struct scmfs_gc_counts *c = scmfs_gc_counts(s->gc.collector);
	u64 done = c->moves + c->room + c->stuck + c->refilled;	/* then others are tried */
	bool quiet = done == s->gc.done;

	s->gc.done = done;
	s->gc.quiet = quiet ? min(s->gc.quiet + 1, GC_QUIET) : 0;
	if (s->gc.order == scmfs_gc_order(s->gc.collector) &&
	    (quiet || ++s->gc.rounds >= GC_ROUNDS))
		s->gc.wanted = false;
	return s->gc.wanted ? 0 : GC_PERIOD << s->gc.quiet;
}

static void gc_work(struct work_struct *work)
{
	struct sfs_sb *s = container_of(to_delayed_work(work), struct sfs_sb, gc.work);
	unsigned long delay = GC_LATER;
	int r = gc_pass(s);

	spin_lock(&s->gc.lock);
	if (gc_is_wanted_locked(s) || r >= 0)
		s->gc.error = r < 0 ? -r : 0;
	if (r == -EROFS)
		s->gc.wanted = false;
	else if (!r)
		delay = s->gc.wanted ? 0 : GC_PAUSE;
	else if (r > 0)
		delay = gc_round_done(s);
	gc_queue_locked(s, delay);
	spin_unlock(&s->gc.lock);
}

/* --- whether it may --------------------------------------------------------------------------- */

void sfs_gc_init(struct sfs_sb *s)
{
	spin_lock_init(&s->gc.lock);
	mutex_init(&s->gc.step);
	INIT_DELAYED_WORK(&s->gc.work, gc_work);
}

/**
 * sfs_gc_allow - it is mounted, and can be written to
 * @s: the file system
 * @sb: likewise
 */
void sfs_gc_allow(struct sfs_sb *s, struct super_block *sb)
{
	spin_lock(&s->gc.lock);
	s->gc.sb = sb;
	s->gc.allowed = true;
	gc_queue_locked(s, GC_PERIOD);
	spin_unlock(&s->gc.lock);
}

static void gc_disallow(struct sfs_sb *s)
{
	spin_lock(&s->gc.lock);
	s->gc.allowed = false;
	s->gc.stopped |= s->gc.wanted;
	s->gc.wanted = false;
	spin_unlock(&s->gc.lock);
}

/**
 * sfs_gc_forbid - nothing is moved any more
 * @s: the file system, not necessarily mounted
 *
 * Context: process context; no lock of an inode.
 */
void sfs_gc_forbid(struct sfs_sb *s)
{
	gc_disallow(s);
	cancel_delayed_work_sync(&s->gc.work);
}

/**
 * sfs_gc_end - the same, for who must not wait for a thaw
 * @s: mounted, and not to be written to any more
 *
 * Context: process context; no lock of an inode.
 */
void sfs_gc_end(struct sfs_sb *s)
{
	gc_disallow(s);
	mutex_lock(&s->gc.step);	/* who gets it next sees that */
	mutex_unlock(&s->gc.step);
}

void sfs_gc_exit(struct sfs_sb *s)
{
	scmfs_gc_free(s->gc.collector);
	s->gc.collector = NULL;
}

/* --- what is asked and told ------------------------------------------------------------------- */

/**
 * sfs_gc_configure - other thresholds, on or off
 * @s: mounted, sfs_gc.lock held
 * @o: in order
 */
void sfs_gc_configure(struct sfs_sb *s, const struct sfs_gc_options *o)
{
	s->options.gc = *o;
	s->gc.quiet = 0;
	gc_queue_locked(s, 0);
}

static bool gc_contradicts(u32 set)
{
	const u32 on_off = SCMFS_GC_SET_ON | SCMFS_GC_SET_OFF;
	const u32 start_stop = SCMFS_GC_SET_START | SCMFS_GC_SET_STOP;
	const u32 all = on_off | start_stop | SCMFS_GC_SET_LOW | SCMFS_GC_SET_HIGH |
		SCMFS_GC_SET_WHOLE | SCMFS_GC_SET_COLD;

	return set & ~all || (set & on_off) == on_off || (set & start_stop) == start_stop;
}

static void gc_new_options(struct sfs_gc_options *o, const struct scmfs_gc_info *info)
{
	if (info->set & SCMFS_GC_SET_ON)
		o->on = true;
	if (info->set & SCMFS_GC_SET_OFF)
		o->on = false;
	if (info->set & SCMFS_GC_SET_LOW)
		o->low = info->low;
	if (info->set & SCMFS_GC_SET_HIGH)
		o->high = info->high;
	if (info->set & SCMFS_GC_SET_WHOLE)
		o->whole = info->whole;
	if (info->set & SCMFS_GC_SET_COLD)
		o->cold = info->cold;
}

static int gc_set_locked(struct sfs_sb *s, const struct scmfs_gc_info *info)
{
	struct sfs_gc_options o = s->options.gc;

	gc_new_options(&o, info);
	if (!sfs_gc_options_ok(&o))
		return -EINVAL;
	if (info->set & SCMFS_GC_SET_START && !s->gc.allowed)
		return -EROFS;
	s->options.gc = o;
	s->gc.quiet = 0;
	if (info->set & (SCMFS_GC_SET_START | SCMFS_GC_SET_ON)) {
		s->gc.error = 0;	/* of a pass before that */
		s->gc.stopped = false;
	}
	if (info->set & SCMFS_GC_SET_START) {
		s->gc.wanted = true;
		s->gc.order++;
		s->gc.rounds = 0;
	}
	if (info->set & SCMFS_GC_SET_STOP) {
		s->gc.stopped |= s->gc.wanted;	/* for who waits for its end */
		s->gc.wanted = false;
	}
	if (info->set & (SCMFS_GC_SET_STOP | SCMFS_GC_SET_OFF))
		s->gc.halt = true;
	gc_queue_locked(s, info->set & SCMFS_GC_SET_STOP ? GC_PERIOD : 0);
	return 0;
}

/**
 * sfs_gc_set - what an ioctl wants
 * @s: mounted
 * @info: of it
 *
 * Return: 0; -EINVAL; -EROFS.
 */
int sfs_gc_set(struct sfs_sb *s, const struct scmfs_gc_info *info)
{
	int err;

	if (gc_contradicts(info->set))
		return -EINVAL;
	spin_lock(&s->gc.lock);
	err = gc_set_locked(s, info);
	spin_unlock(&s->gc.lock);
	return err;
}

static void gc_tell_counts(const struct scmfs_gc *gc, struct scmfs_gc_info *info)
{
	const struct scmfs_gc_counts *c = scmfs_gc_counts(gc);

	info->ram = scmfs_gc_memory(gc);
	info->passes = READ_ONCE(c->passes);
	info->rounds = READ_ONCE(c->rounds);
	info->inodes = READ_ONCE(c->inodes);
	info->moves = READ_ONCE(c->moves);
	info->moved_bytes = READ_ONCE(c->blocks) << SCMFS_BLOCK_SHIFT;
	info->wholes = READ_ONCE(c->wholes);
	info->emptied = READ_ONCE(c->emptied);
	info->stuck = READ_ONCE(c->stuck);
	info->room_bytes = READ_ONCE(c->room) << SCMFS_BLOCK_SHIFT;
	info->busy = READ_ONCE(c->busy);
	info->mapped = READ_ONCE(c->mapped);
	info->no_room = READ_ONCE(c->no_room);
	info->bad = READ_ONCE(c->bad);
	info->failed = READ_ONCE(c->failed);
	info->unchanged = READ_ONCE(c->unchanged);
	info->refilled = READ_ONCE(c->refilled);
}

/**
 * sfs_gc_tell - what it is doing
 * @s: mounted
 * @info: filled; counts are of about the same moment
 */
void sfs_gc_tell(struct sfs_sb *s, struct scmfs_gc_info *info)
{
	const struct scmfs_gc *gc = smp_load_acquire(&s->gc.collector);	/* made by a pass */

	*info = (struct scmfs_gc_info){ .flags = gc_is_huge(s) ? SCMFS_GC_HUGE : 0 };
	spin_lock(&s->gc.lock);
	if (s->options.gc.on)
		info->flags |= SCMFS_GC_ON;
	if (s->gc.wanted || work_busy(&s->gc.work.work) & WORK_BUSY_RUNNING)
		info->flags |= SCMFS_GC_RUNNING;
	info->low = s->options.gc.low;
	info->high = s->options.gc.high;
	info->whole = s->options.gc.whole;
	info->cold = s->options.gc.cold;
	info->error = s->gc.stopped ? ECANCELED : s->gc.error;
	spin_unlock(&s->gc.lock);
	if (gc)
		gc_tell_counts(gc, info);
}
