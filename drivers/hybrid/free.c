// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a physical extent back to allocation:
 *
 *	the map stops pointing to it	hy_free_queue()
 *	a commit makes that durable	hy_free_take(), hy_free_committed()
 *	bios that saw the old map end	hy_drain_bios()
 *	the member is told (discard)
 *	ek_space_free()
 *
 * Cut before the commit, the old map still points to it and it holds what it
 * held.  So nothing is ever reused that a crash could bring back, and no reader
 * finds another extent's bytes in it.
 *
 * It also is what a migration is undone with whose destination fails before that commit:
 *
 *	switch			in memory the map points to the new place
 *	commit: the new place's member can't be flushed
 *				nothing is written; what was taken is to do again
 *	hy_free_revert()	the map points to the old place, the new one is what is free: a
 *				later flush that ends well says nothing of what this one lost.  If
 *				it has moved on it was copied from there, and goes back all the way
 *	commit			again, without asking that member (take_back.c)
 *
 * Cut anywhere here: the media have the old place, it was not reused.  What users wrote to the
 * new one since the switch was never said to be durable, as no flush has ended well since; it is
 * gone, and the next flush says so, as it does of all that the member had not made durable.
 */
#include <linux/list_sort.h>
#include <linux/slab.h>
#include "hybrid.h"

static struct kmem_cache *free_cache;

int hy_free_init(void)
{
	free_cache = KMEM_CACHE(hy_free, 0);
	return free_cache ? 0 : -ENOMEM;
}

void hy_free_exit(void)
{
	kmem_cache_destroy(free_cache);
}

/* What hy_free_queue() will need, allocated where it may sleep. */
struct hy_free *hy_free_alloc(gfp_t gfp)
{
	return kmem_cache_alloc(free_cache, gfp);
}

/* It was not needed after all; NULL is fine. */
void hy_free_drop(struct hy_free *f)
{
	if (f)
		kmem_cache_free(free_cache, f);
}

/* free_lock held.  Behind what its member was left before, if that is where it lies. */
static void add(struct hy_pool *pool, struct hy_free *f)
{
	struct hy_free **last = &pool->member[f->member].last_free;

	if (!f->moved && *last && (*last)->pe + (*last)->count == f->pe) {
		(*last)->count++;
		kmem_cache_free(free_cache, f);
		return;
	}
	if (!f->moved)
		*last = f;
	list_add_tail(&f->list, &pool->frees);
	atomic_inc(&pool->nr_frees);
}

static void queue(struct hy_pool *pool, struct hy_free *f, u64 place)
{
	unsigned long flags;
	bool wanted;

	f->member = ek_entry_member(place);
	f->pe = ek_entry_pe(place);
	f->count = 1;
	atomic64_inc(&pool->nr_quarantined);
	atomic_inc(&pool->member[f->member].nr_quarantined);
	spin_lock_irqsave(&pool->free_lock, flags);
	add(pool, f);
	wanted = !bio_list_empty(&pool->nospace) || !bio_list_empty(&pool->crowded);
	spin_unlock_irqrestore(&pool->free_lock, flags);
	if (wanted)
		hy_commit_kick(pool);
	else
		hy_commit_soon(pool);
}

/**
 * hy_free_queue - the map has stopped pointing to an extent
 * @pool: the pool
 * @f: from hy_free_alloc(); taken over
 * @place: where the extent was
 *
 * Called *after* the map's entry was changed: the committer takes the freed first
 * and the changed entries then, so it never commits a free without its cause.
 * Context: any; takes free_lock.
 */
void hy_free_queue(struct hy_pool *pool, struct hy_free *f, u64 place)
{
	f->moved = false;
	queue(pool, f, place);
}

/**
 * hy_free_queue_moved - the same, as the extent is elsewhere now
 * @pool: the pool
 * @f: from hy_free_alloc(); taken over
 * @le: logical extent
 * @old: its entry before
 * @now: its entry
 *
 * Context: free_sem held for reading since before the change; takes free_lock.
 */
void hy_free_queue_moved(struct hy_pool *pool, struct hy_free *f, u64 le, u64 old, u64 now)
{
	f->moved = true;
	f->le = le;
	f->old = old;
	f->now = now;
	queue(pool, f, old);
}

bool hy_free_pending(struct hy_pool *pool)
{
	return !list_empty_careful(&pool->frees);
}

/* The committer takes what has been freed up to now; pool->moved_to is of that. */
void hy_free_take(struct hy_pool *pool, struct list_head *batch)
{
	struct hy_free *f;
	unsigned int i;

	spin_lock_irq(&pool->free_lock);
	list_splice_tail_init(&pool->frees, batch);
	for (i = 0; i < pool->nr_members; i++)
		pool->member[i].last_free = NULL;
	spin_unlock_irq(&pool->free_lock);
	pool->moved_to = 0;
	list_for_each_entry(f, batch, list)
		if (f->moved)
			__set_bit(ek_entry_member(f->now), &pool->moved_to);
}

/* It did not become durable: the next commit takes it again. */
void hy_free_untake(struct hy_pool *pool, struct list_head *batch)
{
	spin_lock_irq(&pool->free_lock);
	list_splice_init(batch, &pool->frees);
	spin_unlock_irq(&pool->free_lock);
}

/* The next time that the extent which @f brought to a place was moved, from there. */
static struct hy_free *moved_on(struct list_head *frees, struct hy_free *f)
{
	struct hy_free *g = f;

	list_for_each_entry_continue(g, frees, list)
		if (g->moved && g->le == f->le && ek_entry_place(g->old) == ek_entry_place(f->now))
			return g;
	return NULL;
}

/**
 * hy_free_moved_last - how an extent came to where it is
 * @frees: what extents left that moved
 * @f: the first of its moves
 *
 * Context: @frees does not change.
 * Return: the last one; the extent may have been discarded since.
 */
struct hy_free *hy_free_moved_last(struct list_head *frees, struct hy_free *f)
{
	struct hy_free *g;

	while ((g = moved_on(frees, f)))
		f = g;
	return f;
}

/*
 * The map is to point to where the extent was before @f, unless it was discarded since; as for
 * granules, what was discarded since is not to come back.
 */
static bool point_back(struct hy_pool *pool, struct hy_free *f)
{
	u64 place = ek_entry_place(hy_free_moved_last(&pool->frees, f)->now), entry, back;

	do {
		if (ek_map_lookup(&pool->map, f->le, &entry) || ek_entry_place(entry) != place)
			return false;
		back = f->old & (ek_entry_place(f->old) | ek_entry_valid(entry));
	} while (ek_map_cmpxchg(&pool->map, f->le, entry, back) != entry);
	return true;
}

/*
 * One that moved on is not believed either: it was copied from the place that may be lost.
 * Return: a bit for each member that it was on since, where users may have written to it.
 */
static unsigned long revert(struct hy_pool *pool, struct hy_free *f)
{
	unsigned int to = ek_entry_member(f->old);
	unsigned long on = 0;
	u64 le = f->le;

	if (!point_back(pool, f))
		return 0;
	hy_cache_forget(pool, le);
	while (f) {
		struct hy_free *next = moved_on(&pool->frees, f);

		atomic_dec(&pool->member[f->member].nr_quarantined);
		f->member = ek_entry_member(f->now);
		__set_bit(f->member, &on);
		atomic_inc(&pool->member[f->member].nr_quarantined);
		f->pe = ek_entry_pe(f->now);
		f->moved = false;
		f = next;
	}
	mutex_lock(&pool->heat_lock);
	hy_heat_moved(&pool->heat, le, to, ktime_get_ns());
	mutex_unlock(&pool->heat_lock);
	return on;
}

/**
 * hy_free_revert - undo migrations to members of which a flush failed before they were durable
 * @pool: the pool; ->reverting: the members, which are doubted from here on (take_back.c)
 *
 * Who reads or writes the new places at this moment is let end, so that all writes there were
 * acknowledged before somebody is told that they are lost.
 * Context: the committer, nothing taken; sleeps.
 */
void hy_free_revert(struct hy_pool *pool)
{
	unsigned long members = pool->reverting, on = members;
	unsigned int n = 0;
	struct hy_free *f;

	pool->reverting = 0;
	pool->doubted |= members;
	/* No migration switches meanwhile, and those that want to later see the state. */
	down_write(&pool->free_sem);
	list_for_each_entry(f, &pool->frees, list) {
		if (!f->moved || !test_bit(ek_entry_member(f->now), &members))
			continue;
		on |= revert(pool, f);
		f->moved = false;	/* from now on it can't be undone */
		n++;
	}
	up_write(&pool->free_sem);
	synchronize_srcu(&pool->srcu);
	hy_members_lost_late(pool, members);
	if (!n)
		return;
	/* Also where it had moved on to: that has lost nothing, but nobody looks there any more. */
	if (hy_members_wrote(pool, on))
		hy_commit_lost(pool);
	DMINFO("%u extents stay where they were, as what they moved to can't be flushed", n);
}

struct free_batch {
	struct hy_drain drain;
	struct hy_pool *pool;
	struct list_head frees;
};

#define HY_FREES	BIT(13)		/* runs of extents on their way back, in memory */

/* Pages of the map that one commit is to find changed: a checkpoint takes all images at once. */
#define HY_CHANGED	(HY_IMAGES / 4)

static bool changed_much(const struct hy_pool *pool)
{
	return ek_map_pages_changed(&pool->map) >= HY_CHANGED;
}

/* free_lock held. */
static void take_all(struct bio_list *waiting, struct bio_list *from)
{
	bio_list_merge(waiting, from);
	bio_list_init(from);
}

/* Discards that go on at a time: each changes a page of the map before it looks again. */
#define HY_RESUMED	(HY_CHANGED / 2)

/**
 * hy_free_resume - discards that wait may go on, some at a time
 * @pool: the pool
 *
 * A commit is over, or extents have come back.  Not for a few: each time that they wait they ask
 * for a commit.  The next ones go on when one of these has got somewhere: hy_free_went_on().
 * Context: process; takes free_lock.
 */
void hy_free_resume(struct hy_pool *pool)
{
	struct bio_list waiting;
	unsigned int n = 0;

	bio_list_init(&waiting);
	spin_lock_irq(&pool->free_lock);
	if (atomic_read(&pool->nr_frees) < HY_FREES / 2)
		while (n++ < HY_RESUMED && !bio_list_empty(&pool->crowded))
			bio_list_add(&waiting, bio_list_pop(&pool->crowded));
	spin_unlock_irq(&pool->free_lock);
	hy_defer_bios(pool, &waiting);
}

/**
 * hy_free_went_on - a discard has done a page, or ends
 * @pool: the pool
 *
 * What it has changed is to be committed if others wait for that.  Who begins to wait at this
 * moment asks for a commit himself.
 * Context: any.
 */
void hy_free_went_on(struct hy_pool *pool)
{
	if (READ_ONCE(pool->crowded.head))
		hy_commit_kick(pool);
}

/**
 * hy_free_wake - extents may have become free: who waited for that tries again
 * @pool: the pool
 *
 * Context: process.
 */
void hy_free_wake(struct hy_pool *pool)
{
	struct bio_list waiting;

	bio_list_init(&waiting);
	spin_lock_irq(&pool->free_lock);
	take_all(&waiting, &pool->nospace);
	spin_unlock_irq(&pool->free_lock);
	hy_defer_bios(pool, &waiting);
	hy_free_resume(pool);
}

/**
 * hy_free_fail_waiting - nothing will be freed: nobody is to wait for that
 * @pool: the pool
 *
 * Context: process.
 */
void hy_free_fail_waiting(struct hy_pool *pool)
{
	struct bio_list waiting;
	struct bio *bio;

	bio_list_init(&waiting);
	spin_lock_irq(&pool->free_lock);
	take_all(&waiting, &pool->nospace);
	take_all(&waiting, &pool->crowded);
	spin_unlock_irq(&pool->free_lock);
	while ((bio = bio_list_pop(&waiting)))
		bio_io_error(bio);
}

/**
 * hy_free_crowded - hold a discard while very much is on its way back
 * @pool: the pool
 * @bio: in no epoch; what is left of a discard
 *
 * Who discards a volume whose extents lie all over its members would fill the memory with what has
 * yet to be committed.  Who discards very much of it in order would have a checkpoint write more
 * pages than it takes images of at once, with free_sem held, for which others wait; a bio that has
 * waited for that (hy_io()->waited) may change a page, so that each comes to its end.  No lane
 * waits: what makes room may need one.
 *
 * Context: any; takes free_lock.
 * Return: true: the bio was taken, and will be mapped again.
 */
bool hy_free_crowded(struct hy_pool *pool, struct bio *bio)
{
	bool wait, much = !hy_io(bio)->waited && changed_much(pool);
	unsigned long flags;

	if (likely(atomic_read(&pool->nr_frees) < HY_FREES && !much))
		return false;
	spin_lock_irqsave(&pool->free_lock, flags);
	/*
	 * Who counts down looks for waiters afterwards: hy_free_wake().  The commit takes all that
	 * has been freed by now, so it will count down to nothing.  Nor does a commit end that has
	 * begun after this without hy_free_resume().
	 */
	wait = atomic_read(&pool->nr_frees) >= HY_FREES || much;
	if (wait) {
		hy_io(bio)->waited = true;
		bio_list_add(&pool->crowded, bio);
	}
	spin_unlock_irqrestore(&pool->free_lock, flags);
	if (wait)
		hy_commit_kick(pool);
	return wait;
}

#define HY_DISCARDS	64	/* under way at a time */

static bool takes_discards(struct hy_pool *pool, struct hy_member *m)
{
	enum ek_member_state state = READ_ONCE(m->state);

	/* Nor does what is free elsewhere wait for a device that may not answer any more. */
	if (state == EK_MEMBER_DEGRADED || state == EK_MEMBER_FAILED)
		return false;
	/* Nobody waits with a volume that is suspended for what only tells a device. */
	return READ_ONCE(pool->running) && !pool->no_discard_passdown && m->bdev &&
	       bdev_max_discard_sectors(m->bdev);
}

/* One behind the other, in order: one discard is sent for them. */
static bool goes_on(const struct hy_free *f, const struct hy_free *next)
{
	return next->pe == f->pe + f->count;
}

/*
 * Best effort: what counts is that the map no longer points here. But nobody gets the extents
 * before it is done.
 */
static void discard_freed(struct hy_member *m, struct list_head *some)
{
	unsigned int shift = m->pool->extent_shift;
	struct bio *bio = NULL;
	struct hy_free *f;
	u64 count = 0;

	list_for_each_entry(f, some, list) {
		count += f->count;
		if (!list_is_last(&f->list, some) && goes_on(f, list_next_entry(f, list)))
			continue;
		if (takes_discards(m->pool, m))
			__blkdev_issue_discard(m->bdev,
					       m->data + ((f->pe + f->count - count) << shift),
					       count << shift, GFP_NOIO, &bio);
		count = 0;
	}
	if (!bio)
		return;
	submit_bio_wait(bio);
	bio_put(bio);
}

static void give_back(struct hy_pool *pool, struct hy_free *f)
{
	if (ek_space_free(&pool->member[f->member].space, f->pe, f->count))
		hy_pool_needs_check(pool, "an extent was freed twice");
	/* Ordered: who finds none on its way back finds them free. */
	atomic64_sub_return(f->count, &pool->nr_quarantined);
	atomic_sub(f->count, &pool->member[f->member].nr_quarantined);
	atomic_dec(&pool->nr_frees);
	list_del(&f->list);
	kmem_cache_free(free_cache, f);
}

static int by_place(void *priv, const struct list_head *a, const struct list_head *b)
{
	const struct hy_free *x = list_entry(a, struct hy_free, list);
	const struct hy_free *y = list_entry(b, struct hy_free, list);

	return x->pe > y->pe;
}

/* A discard may take milliseconds: who waits for room gets what there is meanwhile. */
static void give_back_all(struct hy_member *m, struct list_head *frees)
{
	struct hy_pool *pool = m->pool;
	struct hy_free *f, *tmp;
	struct list_head *last;
	LIST_HEAD(some);
	unsigned int n;

	list_sort(NULL, frees, by_place);
	while (!list_empty(frees)) {
		n = 0;
		list_for_each(last, frees)
			if (++n == HY_DISCARDS || list_is_last(last, frees))
				break;
		list_cut_position(&some, frees, last);
		discard_freed(m, &some);
		list_for_each_entry_safe(f, tmp, &some, list)
			give_back(pool, f);
		hy_free_wake(pool);
		cond_resched();
	}
}

/*
 * A member's discards are one worker's: those of one that takes long neither hold up what is free
 * elsewhere nor take all the workers that users' bios need.  The more wait for it, the longer are
 * the runs in which they lie.
 */
static void discard_work(struct work_struct *work)
{
	struct hy_member *m = container_of(work, struct hy_member, discard_work);
	LIST_HEAD(frees);

	spin_lock_irq(&m->pool->free_lock);
	list_splice_init(&m->returning, &frees);
	spin_unlock_irq(&m->pool->free_lock);
	give_back_all(m, &frees);
}

static void batch_drained(struct hy_drain *drain)
{
	struct free_batch *batch = container_of(drain, struct free_batch, drain);
	struct list_head of[EK_MAX_MEMBERS];
	struct hy_pool *pool = batch->pool;
	struct hy_free *f, *tmp;
	unsigned int i;

	for (i = 0; i < EK_MAX_MEMBERS; i++)
		INIT_LIST_HEAD(&of[i]);
	list_for_each_entry_safe(f, tmp, &batch->frees, list)
		list_move_tail(&f->list, &of[f->member]);
	kfree(batch);
	for (i = 0; i < EK_MAX_MEMBERS; i++) {
		if (list_empty(&of[i]))
			continue;
		spin_lock_irq(&pool->free_lock);
		list_splice_tail(&of[i], &pool->member[i].returning);
		spin_unlock_irq(&pool->free_lock);
		queue_work(pool->discard_wq, &pool->member[i].discard_work);
	}
}

/**
 * hy_free_init_member - nothing is on its way back to it
 * @pool: the pool
 * @m: one of its places for members
 */
void hy_free_init_member(struct hy_pool *pool, struct hy_member *m)
{
	m->pool = pool;
	INIT_LIST_HEAD(&m->returning);
	INIT_WORK(&m->discard_work, discard_work);
}

/**
 * hy_free_committed - these frees are durable
 * @pool: the pool
 * @frees: taken by hy_free_take(); emptied
 *
 * Without memory they wait for the next commit, which is harmless.
 * Context: the committer.
 */
void hy_free_committed(struct hy_pool *pool, struct list_head *frees)
{
	struct free_batch *batch;
	struct hy_free *f;

	if (list_empty(frees))
		return;
	list_for_each_entry(f, frees, list)
		f->moved = false;	/* likewise */
	batch = kmalloc(sizeof(*batch), GFP_NOIO);
	if (!batch) {
		hy_free_untake(pool, frees);
		hy_commit_kick(pool);
		return;
	}
	batch->pool = pool;
	batch->drain.fn = batch_drained;
	INIT_LIST_HEAD(&batch->frees);
	list_splice_init(frees, &batch->frees);
	hy_drain_bios(pool, &batch->drain);
}

static bool has_room(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (hy_member_takes(m) && ek_space_nr_free(&m->space))
			return true;
	}
	return false;
}

/**
 * hy_free_wait_for_space - hold a bio until an extent may be free
 * @pool: the pool
 * @bio: not pinned
 *
 * Extents in quarantine come back, and so does one of the two of each migration.
 *
 * Context: any; takes free_lock.
 * Return: false when nothing is on its way back: there is no space.
 */
bool hy_free_wait_for_space(struct hy_pool *pool, struct bio *bio)
{
	unsigned long flags;
	bool wait;

	spin_lock_irqsave(&pool->free_lock, flags);
	wait = atomic64_read(&pool->nr_quarantined) > 0 || atomic_read(&pool->nr_migrating);
	if (wait)
		bio_list_add(&pool->nospace, bio);
	spin_unlock_irqrestore(&pool->free_lock, flags);
	if (wait) {
		hy_commit_kick(pool);
		return true;
	}
	if (!has_room(pool))
		return false;
	hy_defer_bio(pool, bio);	/* something came back since the caller looked */
	return true;
}
