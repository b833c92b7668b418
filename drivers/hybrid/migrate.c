// SPDX-License-Identifier: GPL-2.0-only
/*
 * One extent's migration, while the pool goes on reading and writing it.
 *
 *	announce	the migration is in pool->migs; drain: from then on every
 *			write to the extent knows of it and notes, when it is done,
 *			which granules it wrote
 *	copy		reads and writes go to the old place; what the extent cache has in
 *			memory is not read there (cache.c has why it is the same)
 *	copy again	granules written meanwhile, a few rounds, from memory if it has them
 *	settle		while users flush: the new place is flushed, so that none of them has to
 *			wait for that; what was written meanwhile is copied again (settle.c)
 *	switch		only if no write is in flight; otherwise new writes wait for
 *			those in flight and for what is left to copy.  That is little as a
 *			rule, but all of the extent if all of it is written all the time
 *			(HY_COPY_ROUNDS): it would never move else, and it is for such that
 *			extents move.  Not for longer than HY_HOLD
 *	free		the old place (free.c)
 *
 * Cut before the commit that follows the switch: the old place is still mapped and
 * untouched but for writes not flushed yet.  What was not settled counts as written to
 * the member before the switch, and the commit flushes the members first, so when the new
 * place is durable in the map, its data is on the member.
 *
 *	the source fails to read	given up: the map was not touched
 *	the destination fails to write	the same
 *	it doesn't answer, and writes are held	they go on to the old place, as nothing has been
 *			switched; given up when the copy ends
 *	it fails, or is to leave, while others' writes tell so	the same, at the switch
 *	it fails to flush before the switch	the same, though it be reinstated by then; also when
 *			nobody but the migration asked it to
 *	it fails to flush after the switch	the commit fails and is tried again; when the member
 *			can't be flushed the switch is undone (free.c)
 *	it is lost after that commit	as all that is on it
 */
#include <linux/slab.h>
#include "hybrid.h"
#include "hybrid_trace.h"

#define HY_COPY_ROUNDS	4	/* of copying again before writes have to wait */
#define HY_SETTLES	2	/* flushes of a copy that users go on to write to */

/*
 * That writes are held for a copy.  What is well copies an extent in much less, in a queue, too; a
 * program that hangs for so long has yet to be noticed.
 */
#define HY_HOLD		(2 * HZ)

enum mig_state { MIG_DRAINING, MIG_COPYING, MIG_HOLDING, MIG_DONE };

/* A migration. */
struct hy_mig {
	struct hy_pool *pool;
	u64 le;
	u64 src;		/* place */
	u64 old, now;		/* entries before and after the switch */
	unsigned int from;
	unsigned int to;
	u32 dst_pe;
	spinlock_t lock;	/* state, inflight, dirty, copying, unsettled, failed, held */
	enum mig_state state;
	unsigned int inflight;	/* writes that know of it */
	unsigned int rounds;
	u32 dirty;		/* granules written since they were last copied */
	u32 todo;		/* granules of the present round that are to be copied yet */
	struct hy_slot *slot;	/* the extent in memory, held; NULL: it is not there */
	u32 in_memory;		/* granules of it that were not written yet at all */
	int losses;		/* of the new place's member when it began */
	bool copying;		/* a copy is under way, or a flush of it */
	bool unsettled;		/* something was copied since that */
	unsigned int settles;	/* flushes of it so far */
	bool failed;
	u64 bytes;
	u64 round_bytes;
	u64 copy_start;
	struct bio_list held;	/* writes that wait for the switch */
	struct timer_list patience;	/* theirs, with a copy that goes on meanwhile */
	struct hy_free *free;
	struct hy_drain drain;
	struct hy_settle settle;
	struct work_struct work;
	struct rcu_head rcu;
};

/**
 * hy_mig_enter - is this extent being migrated?
 * @pool: the pool
 * @le: logical extent
 * @bio: a write, in an epoch
 * @deferred: set when the bio has been taken over: it waits, or was refused
 *
 * Context: any.
 * Return: the migration, which then counts the write: hy_mig_write_done() must
 * follow; NULL when there is none.
 */
struct hy_mig *hy_mig_enter(struct hy_pool *pool, u64 le, struct bio *bio, bool *deferred)
{
	bool nowait = bio->bi_opf & REQ_NOWAIT;
	struct hy_io *io = hy_io(bio);
	struct hy_mig *mig;
	unsigned long flags;

	*deferred = false;
	rcu_read_lock();
	mig = xa_load(&pool->migs, le);
	if (!mig)
		goto out;
	spin_lock_irqsave(&mig->lock, flags);
	switch (mig->state) {
	case MIG_DRAINING:
	case MIG_COPYING:
		mig->inflight++;
		break;
	case MIG_HOLDING:
		*deferred = true;
		hy_io_unpin(io);
		if (!nowait)
			bio_list_add(&mig->held, bio);
		break;
	case MIG_DONE:
		break;
	}
	if (mig->state == MIG_HOLDING || mig->state == MIG_DONE) {
		spin_unlock_irqrestore(&mig->lock, flags);
		mig = NULL;
	} else {
		spin_unlock_irqrestore(&mig->lock, flags);
	}
out:
	rcu_read_unlock();
	/* One that is held may be done and gone by now. */
	if (*deferred && nowait)
		bio_wouldblock_error(bio);
	return mig;
}

/**
 * hy_mig_write_done - a write that the migration counts is done
 * @mig: the migration; may be gone when this returns
 * @touched: granules it may have changed, 0: it did not reach the member
 *
 * Context: any, also hard interrupt.
 */
void hy_mig_write_done(struct hy_mig *mig, u32 touched)
{
	struct workqueue_struct *wq = mig->pool->wq;
	unsigned long flags;

	spin_lock_irqsave(&mig->lock, flags);
	mig->dirty |= touched;
	/* Queued under the lock: once it is dropped the migration may end and go. */
	if (!--mig->inflight && mig->state == MIG_HOLDING && !mig->copying)
		queue_work(wq, &mig->work);
	spin_unlock_irqrestore(&mig->lock, flags);
}

static struct dm_io_region mig_region(struct hy_mig *mig, unsigned int member, u32 pe, u32 first,
				      u32 last)
{
	struct hy_pool *pool = mig->pool;
	struct hy_member *m = &pool->member[member];
	struct dm_io_region r = {
		.bdev = m->bdev,
		.sector = m->data + ((sector_t)pe << pool->extent_shift) +
			  (first << pool->granule_shift),
		.count = (last - first + 1) << pool->granule_shift,
	};

	return r;
}

static void copied(int read_err, unsigned long write_err, void *context);
static void written(void *context, int error);

/* Granules that the place has something of; after a switch by somebody else: none. */
static u32 there(struct hy_mig *mig)
{
	u64 entry;

	if (ek_map_lookup(&mig->pool->map, mig->le, &entry) || ek_entry_place(entry) != mig->src)
		return 0;
	return ek_entry_valid(entry);
}

/*
 * Copy the first of what mig->todo names; gaps too, where the bytes cost less than a second copy,
 * but not those never written: nobody knows whether they can be read.
 */
static void copy_dirty(struct hy_mig *mig)
{
	u32 first = __ffs(mig->todo);
	u64 row = (u64)(mig->todo | there(mig)) >> first;
	u32 last = __fls(mig->todo & (GENMASK(__ffs64(~row) - 1, 0) << first));
	struct dm_io_region from = mig_region(mig, mig->from, ek_entry_pe(mig->src), first, last);
	struct dm_io_region to = mig_region(mig, mig->to, mig->dst_pe, first, last);

	mig->todo &= ~(u32)GENMASK(last, first);
	mig->round_bytes = (u64)from.count << SECTOR_SHIFT;
	mig->bytes += mig->round_bytes;
	mig->copy_start = ktime_get_ns();
	ek_rtmon_background_begin(mig->pool->member[mig->from].mon);
	ek_rtmon_background_begin(mig->pool->member[mig->to].mon);
	dm_kcopyd_copy(mig->pool->kc, &from, 1, &to, 0, copied, mig);
}

/* The same for what is in memory. */
static void write_cached(struct hy_mig *mig)
{
	u32 first = __ffs(mig->todo);
	u32 last = __fls(mig->todo);
	struct dm_io_region to = mig_region(mig, mig->to, mig->dst_pe, 0, 0);

	mig->todo = 0;
	mig->round_bytes = (u64)(last - first + 1) << mig->pool->granule_shift << SECTOR_SHIFT;
	mig->bytes += mig->round_bytes;
	mig->copy_start = ktime_get_ns();
	ek_rtmon_background_begin(mig->pool->member[mig->to].mon);
	hy_cache_write_out(mig->slot, to.bdev, to.sector, first, last, written, mig);
}

/*
 * Copies are counted by giver for who begins the next one, and together for who waits until there
 * are none: for whom that is a copy's end the pool may be gone after count_ended().
 */
static void count_begun(struct hy_pool *pool, unsigned int from)
{
	atomic_inc(&pool->member[from].nr_giving);
	atomic_inc(&pool->nr_migrating);
}

static void count_ended(struct hy_pool *pool)
{
	if (atomic_dec_and_test(&pool->nr_migrating))
		wake_up_all(&pool->mig_wait);
}

/*
 * Writes are held, and the copy for which they are does not end: its member, or the other one, may
 * never answer.  The map points to the old place still, so they can go there.  The copy is none any
 * more, but the new place is somebody's until it ends, as it may write there.
 * Context: soft interrupt.
 */
static void lose_patience(struct timer_list *patience)
{
	struct hy_mig *mig = container_of(patience, struct hy_mig, patience);
	struct bio_list held;
	unsigned long flags;

	bio_list_init(&held);
	spin_lock_irqsave(&mig->lock, flags);
	if (mig->state == MIG_HOLDING && mig->copying) {
		mig->failed = true;
		mig->state = MIG_COPYING;
		bio_list_merge(&held, &mig->held);
		bio_list_init(&mig->held);
	}
	spin_unlock_irqrestore(&mig->lock, flags);
	hy_defer_bios(mig->pool, &held);
}

/* mig->lock held.  From here on it is under way until end_round() or settled(). */
static void begin_copy(struct hy_mig *mig)
{
	mig->copying = true;
	/* One for all that is copied while they wait. */
	if (mig->state == MIG_HOLDING && !timer_pending(&mig->patience))
		mod_timer(&mig->patience, jiffies + HY_HOLD);
}

/* @count: of those that end so.  Who sees it there can have the extent moved again. */
static void end(struct hy_mig *mig, atomic64_t *count)
{
	struct hy_pool *pool = mig->pool;

	hy_cache_release(mig->slot);
	xa_erase(&pool->migs, mig->le);
	atomic64_inc(count);
	hy_defer_bios(pool, &mig->held);
}

/* Behind end(). */
static void let_go(struct hy_mig *mig)
{
	struct hy_pool *pool = mig->pool;

	hy_free_drop(mig->free);
	atomic_dec(&pool->member[mig->from].nr_giving);
	timer_shutdown_sync(&mig->patience);
	kfree_rcu(mig, rcu);
	hy_balance_kick(pool);
	count_ended(pool);
}

/* mig->lock not held; no write can enter any more. */
static void give_up(struct hy_mig *mig, enum hy_reason why)
{
	struct hy_pool *pool = mig->pool;

	trace_hybrid_migrate(pool, mig->le, mig->from, mig->to, HY_TRACE_GIVE_UP, mig->bytes);
	ek_space_free(&pool->member[mig->to].space, mig->dst_pe, 1);
	hy_not_migrated(pool, why);
	end(mig, &pool->mig_failed);
	let_go(mig);
	hy_free_wake(pool);
}

/*
 * Errors may have come meanwhile, and be forgiven; what was lost with one is not there for that.
 * free_sem held: see hy_free_revert().
 */
static bool still_wanted(struct hy_mig *mig)
{
	struct hy_member *m = &mig->pool->member[mig->to];

	return m->bdev && READ_ONCE(m->state) == EK_MEMBER_ACTIVE &&
	       atomic_read(&m->losses) == mig->losses;
}

/* mig->lock held, no write in flight, nothing dirty: point the map to the copy. */
static bool switch_over(struct hy_mig *mig)
{
	struct hy_pool *pool = mig->pool;
	u64 entry, new;

	/* Before the map can point to it: see member.c. */
	if (mig->unsettled)
		hy_settle_not(&pool->member[mig->to]);
	do {
		if (ek_map_lookup(&pool->map, mig->le, &entry) ||
		    ek_entry_place(entry) != mig->src)
			return false;
		new = ek_entry_make(mig->to, mig->dst_pe, ek_entry_valid(entry));
	} while (ek_map_cmpxchg(&pool->map, mig->le, entry, new) != entry);
	mig->old = entry;
	mig->now = new;
	return true;
}

static void switched(struct hy_mig *mig)
{
	struct hy_pool *pool = mig->pool;

	trace_hybrid_migrate(pool, mig->le, mig->from, mig->to, HY_TRACE_SWITCH, mig->bytes);
	atomic64_add(mig->bytes, &pool->mig_bytes);
	/* First: the writes that are held wait for nobody who looks at what is hot. */
	end(mig, &pool->mig_completed);
	mutex_lock(&pool->heat_lock);
	hy_heat_moved(&pool->heat, mig->le, mig->to, ktime_get_ns());
	mutex_unlock(&pool->heat_lock);
	let_go(mig);
}

/*
 * Before anybody's write has to wait, as the flush may take long: there is nothing left to copy at
 * the moment, or there always will be.  Not when it is to be given up, or a suspension waits for
 * it, whose checkpoint flushes all.
 */
static bool is_to_settle(struct hy_mig *mig)
{
	return mig->state == MIG_COPYING && mig->unsettled && mig->settles < HY_SETTLES &&
	       (!mig->dirty || mig->rounds >= HY_COPY_ROUNDS) && still_wanted(mig) &&
	       READ_ONCE(mig->pool->running) &&
	       hy_settle_wanted(mig->pool, &mig->pool->member[mig->to]);
}

/* Others may be copied meanwhile. */
static void settle(struct hy_mig *mig)
{
	struct hy_pool *pool = mig->pool;

	atomic_inc(&pool->member[mig->from].nr_given);
	atomic_inc(&pool->member[mig->to].nr_settling);
	atomic_inc(&pool->nr_settling);
	hy_balance_kick(pool);
	hy_settle(&pool->member[mig->to], &mig->settle);
}

enum mig_next {
	NEXT_WAIT, NEXT_WRITE, NEXT_COPY, NEXT_SETTLE, NEXT_SWITCHED, NEXT_RACED, NEXT_FAILED
};

/* mig->lock held.  No write is in flight in the last three cases. */
static enum mig_next decide(struct hy_mig *mig)
{
	bool hold = mig->state == MIG_HOLDING;

	if (mig->state == MIG_DONE || mig->copying)
		return NEXT_WAIT;
	if (mig->failed) {
		/* Writes in flight still name it: it ends with the last of them. */
		mig->state = MIG_HOLDING;
		if (mig->inflight)
			return NEXT_WAIT;
		mig->state = MIG_DONE;
		return NEXT_FAILED;
	}
	if (mig->in_memory) {
		/* dirty stays: what was written since the slot was taken comes after it. */
		mig->todo = mig->in_memory;
		mig->in_memory = 0;
		begin_copy(mig);
		return NEXT_WRITE;
	}
	/* What is not valid any more by now, or not of this place, needs no copy. */
	mig->todo &= there(mig);
	if (mig->todo) {
		begin_copy(mig);
		return NEXT_COPY;
	}
	/*
	 * Before it is decided what to wait for: nothing left to copy must mean that the writes in
	 * flight are held and waited for.  What goes here comes back if it is written again: a
	 * first write makes its granules valid before it notes them, under this lock.
	 */
	mig->dirty &= there(mig);
	if (is_to_settle(mig)) {
		mig->settles++;
		begin_copy(mig);
		return NEXT_SETTLE;
	}
	if (mig->dirty && !hold && mig->rounds >= HY_COPY_ROUNDS)
		hold = true;
	if (!mig->dirty && mig->inflight)
		hold = true;
	mig->state = hold ? MIG_HOLDING : MIG_COPYING;
	if (hold && mig->inflight)
		return NEXT_WAIT;	/* the last of them queues the work */
	if (mig->dirty) {
		mig->todo = mig->dirty;
		mig->dirty = 0;
		mig->rounds++;
		begin_copy(mig);
		return mig->slot && hy_cache_keeps_up(mig->slot) ? NEXT_WRITE : NEXT_COPY;
	}
	mig->state = MIG_DONE;
	if (!still_wanted(mig))
		return NEXT_FAILED;
	return switch_over(mig) ? NEXT_SWITCHED : NEXT_RACED;
}

static void mig_step(struct work_struct *work)
{
	struct hy_mig *mig = container_of(work, struct hy_mig, work);
	enum mig_next next;

	down_read(&mig->pool->free_sem);
	spin_lock_irq(&mig->lock);
	next = decide(mig);
	spin_unlock_irq(&mig->lock);
	if (next == NEXT_SWITCHED) {
		/* Who undoes it needs free_sem, and drops the copy then. */
		hy_cache_moved(mig->pool, mig->le, mig->old, mig->now);
		hy_free_queue_moved(mig->pool, mig->free, mig->le, mig->old, mig->now);
		mig->free = NULL;
	}
	up_read(&mig->pool->free_sem);
	switch (next) {
	case NEXT_WAIT:
		break;
	case NEXT_WRITE:
		write_cached(mig);
		break;
	case NEXT_COPY:
		copy_dirty(mig);
		break;
	case NEXT_SETTLE:
		settle(mig);
		break;
	case NEXT_SWITCHED:
		switched(mig);
		break;
	case NEXT_RACED:
		give_up(mig, HY_NOT_RACED);
		break;
	case NEXT_FAILED:
		give_up(mig, HY_NOT_ERROR);
		break;
	}
}

/* @ns: that the copy took */
static void charge(struct hy_mig *mig, unsigned int member, u64 ns, u64 part)
{
	struct hy_member *m = &mig->pool->member[member];

	ek_rtmon_background_end(m->mon);
	ek_rtmon_note_background(m->mon, ns, mig->round_bytes);
	atomic64_add(part, &m->copy_debt);
}

static void charge_copy(struct hy_mig *mig, unsigned int member, unsigned int other, u64 ns)
{
	struct hy_pool *pool = mig->pool;
	u64 part;

	spin_lock_irq(&pool->policy_lock);
	part = hy_copy_part(ns, pool->snap.dev[member].mean_ns, pool->snap.dev[other].mean_ns);
	spin_unlock_irq(&pool->policy_lock);
	charge(mig, member, ns / 2, part);
}

/* A round has ended, with errors or without. */
static void end_round(struct hy_mig *mig, bool read_err, bool write_err)
{
	struct hy_pool *pool = mig->pool;

	spin_lock_irq(&mig->lock);
	mig->copying = false;
	mig->unsettled = true;
	mig->failed |= read_err || write_err;
	spin_unlock_irq(&mig->lock);
	if (read_err)
		hy_member_error(pool, &pool->member[mig->from], BLK_STS_IOERR);
	if (write_err)
		hy_member_error(pool, &pool->member[mig->to], BLK_STS_IOERR);
	queue_work(pool->wq, &mig->work);
}

/* A lane's. */
static void written(void *context, int error)
{
	struct hy_mig *mig = context;
	u64 ns = ktime_get_ns() - mig->copy_start;

	charge(mig, mig->to, ns, ns);
	end_round(mig, false, error);
}

/* kcopyd's thread. */
static void copied(int read_err, unsigned long write_err, void *context)
{
	struct hy_mig *mig = context;
	u64 ns = ktime_get_ns() - mig->copy_start;

	charge_copy(mig, mig->from, mig->to, ns);
	charge_copy(mig, mig->to, mig->from, ns);
	end_round(mig, read_err, write_err);
}

/* A worker's; the flush has failed, or what was copied so far is durable. */
static void settled(struct hy_settle *settle, int error)
{
	struct hy_mig *mig = container_of(settle, struct hy_mig, settle);
	struct hy_pool *pool = mig->pool;

	atomic_dec(&pool->nr_settling);
	atomic_dec(&pool->member[mig->to].nr_settling);
	atomic_dec(&pool->member[mig->from].nr_given);
	spin_lock_irq(&mig->lock);
	mig->copying = false;
	mig->unsettled = false;
	mig->failed |= error;
	spin_unlock_irq(&mig->lock);
	queue_work(pool->wq, &mig->work);
}

static void mig_drained(struct hy_drain *drain)
{
	struct hy_mig *mig = container_of(drain, struct hy_mig, drain);
	bool stays;
	u64 entry;

	/* Granules never written need no copy; those written from now on are noted. */
	if (ek_map_lookup(&mig->pool->map, mig->le, &entry))
		entry = 0;
	stays = ek_entry_valid(entry) && ek_entry_place(entry) == mig->src;
	mig->slot = hy_cache_hold(mig->pool, mig->le, stays ? entry : 0,
				  mig->pool->member[mig->to].bdev);
	spin_lock_irq(&mig->lock);
	mig->state = MIG_COPYING;
	if (mig->slot)
		mig->in_memory = ek_entry_valid(entry);
	else
		mig->dirty |= ek_entry_valid(entry);
	spin_unlock_irq(&mig->lock);
	queue_work(mig->pool->wq, &mig->work);
}

/* Small ones wait for ever otherwise, and those who would free memory for the same workers. */
#define HY_MAY_FAIL	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)

static struct hy_mig *mig_alloc(struct hy_pool *pool, u64 le, u64 entry, unsigned int to)
{
	struct hy_mig *mig = kzalloc(sizeof(*mig), HY_MAY_FAIL);

	if (!mig)
		return NULL;
	mig->free = hy_free_alloc(HY_MAY_FAIL);
	if (!mig->free) {
		kfree(mig);
		return NULL;
	}
	mig->pool = pool;
	mig->le = le;
	mig->src = ek_entry_place(entry);
	mig->from = ek_entry_member(entry);
	mig->to = to;
	mig->losses = atomic_read(&pool->member[to].losses);
	spin_lock_init(&mig->lock);
	bio_list_init(&mig->held);
	timer_setup(&mig->patience, lose_patience, 0);
	INIT_WORK(&mig->work, mig_step);
	mig->drain.fn = mig_drained;
	mig->settle.done = settled;
	return mig;
}

static void mig_drop(struct hy_mig *mig)
{
	hy_free_drop(mig->free);
	kfree(mig);
}

/* It is not in pool->migs: nobody knows of it but who waits for space. */
static void undo_start(struct hy_mig *mig)
{
	struct hy_pool *pool = mig->pool;

	if (mig->dst_pe != EK_SPACE_NONE)
		ek_space_free(&pool->member[mig->to].space, mig->dst_pe, 1);
	atomic_dec(&pool->member[mig->from].nr_giving);
	count_ended(pool);
	hy_free_wake(pool);
	mig_drop(mig);
}

static int refuse(enum hy_reason *why, enum hy_reason reason, int error)
{
	*why = reason;
	return error;
}

/* With a member that is to leave nothing is wrong: who wants an extent there may let it stay. */
static int not_taken(struct hy_pool *pool, unsigned int to)
{
	struct hy_member *m = &pool->member[to];

	return hy_pool_writable(pool) && m->bdev && m->state == EK_MEMBER_DRAINING ? -EBUSY : -EIO;
}

/**
 * hy_mig_start - begin to move an extent
 * @pool: the pool, running
 * @le: logical extent
 * @from: member where the caller thinks it is
 * @to: where it is to go
 * @why: set on failure
 *
 * Context: sleeps; may load a page of the map.
 * Return: 0: it goes on by itself; otherwise nothing was done.
 */
int hy_mig_start(struct hy_pool *pool, u64 le, unsigned int from, unsigned int to,
		 enum hy_reason *why)
{
	struct hy_mig *mig;
	u64 entry;
	int r;

	r = hy_pool_lookup(pool, le, &entry);
	if (r || !ek_entry_mapped(entry) || ek_entry_member(entry) != from || from == to)
		return refuse(why, HY_NOT_UNMAPPED, r ? r : -ENOENT);
	if (!pool->member[from].bdev || !pool->member[to].bdev ||
	    pool->member[to].state != EK_MEMBER_ACTIVE || !hy_pool_writable(pool))
		return refuse(why, HY_NOT_MEMBER, not_taken(pool, to));
	mig = mig_alloc(pool, le, entry, to);
	if (!mig)
		return refuse(why, HY_NOT_BUSY, -ENOMEM);
	/* Counted first: a writer that finds no space waits for those under way. */
	count_begun(pool, from);
	smp_mb__after_atomic();	/* pairs with hy_balance_stop(): it sees us or we see it */
	mig->dst_pe = ek_space_alloc(&pool->member[to].space, EK_SPACE_NONE);
	if (mig->dst_pe == EK_SPACE_NONE) {
		undo_start(mig);
		return refuse(why, HY_NOT_NOSPACE, -ENOSPC);
	}
	/* State after place: see hy_remove_member(). */
	if (!hy_member_takes(&pool->member[to])) {
		undo_start(mig);
		return refuse(why, HY_NOT_MEMBER, not_taken(pool, to));
	}
	r = READ_ONCE(pool->running) ? xa_insert(&pool->migs, le, mig, HY_MAY_FAIL) : -EBUSY;
	if (r) {
		undo_start(mig);
		return refuse(why, HY_NOT_BUSY, r);
	}
	atomic64_inc(&pool->mig_started);
	trace_hybrid_migrate(pool, le, from, to, HY_TRACE_START, 0);
	hy_drain_bios(pool, &mig->drain);
	return 0;
}
