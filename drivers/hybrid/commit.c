// SPDX-License-Identifier: GPL-2.0-only
/*
 * The committer: one work item that makes changes of the map durable, for all
 * who wait at that moment together (group commit).
 *
 *	take the freed extents, then the changed entries
 *	flush the members			data before the map that points to it
 *	write the journal			the commit
 *	complete FLUSH and FUA bios, pass frees on
 *
 * Cut before the journal is written: the old map, and all it points to is
 * untouched, since nothing freed was reused.  Cut after: the new map, and its data
 * is on the members.  A journal that is full makes the commit a checkpoint, with
 * pages in place of records and the same order.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "hybrid.h"
#include "hybrid_trace.h"

static int take_entry(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	struct hy_pool *pool = ctx;

	hy_page_dirty(pool, page);
	if (pool->nr_taken == pool->max_taken)
		return -ENOSPC;
	pool->taken[pool->nr_taken++] = le;
	if (ek_entry_mapped(entry))
		ek_space_store(&pool->member[ek_entry_member(entry)].space,
			       ek_entry_pe(entry), 1, true);
	return ek_store_tx_add_map(pool->store, le, entry);
}

static int collect(struct hy_pool *pool, struct list_head *frees)
{
	struct hy_free *f;
	int r;

	pool->nr_taken = 0;
	r = ek_map_take_changed(&pool->map, take_entry, pool);
	list_for_each_entry(f, frees, list) {
		if (r)
			break;
		r = ek_store_tx_add_free(pool->store, f->member, f->pe, f->count);
	}
	return r;
}

/* What was taken did not become durable: it is still to be done. */
static void put_back(struct hy_pool *pool, struct list_head *frees)
{
	while (pool->nr_taken)
		ek_map_mark_changed(&pool->map, pool->taken[--pool->nr_taken]);
	hy_free_untake(pool, frees);
}

static void store_frees(struct hy_pool *pool, struct list_head *frees)
{
	struct hy_free *f;

	list_for_each_entry(f, frees, list)
		ek_space_store(&pool->member[f->member].space, f->pe, f->count, false);
}

static int commit_records(struct hy_pool *pool, struct list_head *frees)
{
	int r = hy_members_flush(pool);

	if (r) {
		ek_store_tx_abort(pool->store);
		put_back(pool, frees);
		return r;
	}
	r = ek_store_tx_commit(pool->store);
	if (r) {
		put_back(pool, frees);
		hy_pool_needs_check(pool, "a journal write failed");
		return r;
	}
	pool->nr_committed = pool->nr_taken;
	pool->nr_taken = 0;
	store_frees(pool, frees);
	atomic64_inc(&pool->commits);
	hy_free_committed(pool, frees);
	return 0;
}

static int commit_pages(struct hy_pool *pool, struct list_head *frees)
{
	int r = hy_checkpoint(pool, frees, READ_ONCE(pool->closing) ? EK_SUPER_CLEAN : 0);

	if (r) {
		put_back(pool, frees);
		return r;
	}
	pool->nr_taken = 0;
	atomic64_inc(&pool->commits);
	atomic64_inc(&pool->checkpoints);
	hy_free_committed(pool, frees);
	return 0;
}

static int commit_once(struct hy_pool *pool, bool checkpoint)
{
	LIST_HEAD(frees);
	int r;

	if (!hy_pool_writable(pool)) {
		r = hy_members_flush(pool);
		return r ? r : ek_map_has_changes(&pool->map) ? -EROFS : 0;
	}
	if (!checkpoint && !hy_free_pending(pool) && !ek_map_has_changes(&pool->map))
		return hy_members_flush(pool);
	if (checkpoint)
		return commit_pages(pool, &frees);
	down_write(&pool->free_sem);
	hy_free_take(pool, &frees);
	r = collect(pool, &frees);
	up_write(&pool->free_sem);
	if (!r)
		return commit_records(pool, &frees);
	ek_store_tx_abort(pool->store);
	if (r == -ENOSPC)
		return commit_pages(pool, &frees);
	put_back(pool, &frees);
	return r;
}

/* So that the next activation does not take the pool for sound. */
static void note_needs_check(struct hy_pool *pool)
{
	int r;

	if (!READ_ONCE(pool->needs_check) || pool->needs_check_noted || pool->store_ro)
		return;
	r = ek_store_update_super(pool->store, EK_SUPER_NEEDS_CHECK, 0);
	/* A store that can't be written any more is not asked again. */
	pool->needs_check_noted = !r || ek_store_writable(pool->store);
	if (r)
		DMERR("the superblock can't be told that a check is needed");
}

/* Whatever superblock is written next is to have them.  Errors are known anew at each start. */
static void note_states(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		u32 state = READ_ONCE(pool->member[i].state);

		if (state == EK_MEMBER_DEGRADED || state == EK_MEMBER_FAILED)
			state = EK_MEMBER_ACTIVE;
		ek_store_set_member_state(pool->store, i, state);
	}
}

/* A superblock of its own, and with it the shape that a table wants. */
static int write_super(struct hy_pool *pool)
{
	int r;

	note_states(pool);
	r = pool->reshape ? ek_store_reshape(pool->store, pool->reshape) :
			    ek_store_sync_super(pool->store);
	if (r)
		hy_pool_needs_check(pool, "the superblock can't be written");
	return r;
}

/* Parameters set by message are the pool's: they are there after the next start. */
static int note_policy(struct hy_pool *pool)
{
	char *text = kmalloc(EK_POLICY_TEXT_SIZE, HY_MUST);
	int r = hy_policy_text(pool, text, EK_POLICY_TEXT_SIZE);

	if (!r)
		r = ek_store_set_policy(pool->store, text);
	if (!r)
		r = ek_store_sync_super(pool->store);
	kfree(text);
	if (!r)
		return 0;
	DMERR("the superblock can't be told of the policy: error %d", r);
	spin_lock_irq(&pool->commit_lock);
	pool->want_policy = true;	/* the next commit tries again */
	spin_unlock_irq(&pool->commit_lock);
	return r;
}

/*
 * While changes are taken and not yet durable, nothing marks them: FUA writes
 * look at pool->committing after they looked for marks.
 */
static int commit(struct hy_pool *pool, bool checkpoint)
{
	unsigned int areas = ek_store_areas(pool->store);
	u64 began = ktime_get_ns();
	int r;

	note_states(pool);
	note_needs_check(pool);
	pool->nr_committed = 0;
	WRITE_ONCE(pool->committing, true);
	smp_mb();	/* pairs with hy_commit_needed(): set before a mark is taken */
	r = commit_once(pool, checkpoint);
	note_needs_check(pool);
	/* pairs with hy_commit_needed(): what it finds false is durable, or marked again */
	smp_store_release(&pool->committing, false);
	if (ek_store_areas(pool->store) != areas)
		queue_work(pool->wq, &pool->event_work);	/* one of two was lost */
	trace_hybrid_commit(pool, checkpoint, pool->nr_committed, ktime_get_ns() - began, r);
	return r;
}

/**
 * hy_commit_needed - may an extent's entry not be durable yet?
 * @pool: the pool
 * @le: logical extent
 *
 * Context: any.
 * Return: true when a commit must follow before it is told to be durable.
 */
bool hy_commit_needed(struct hy_pool *pool, u64 le)
{
	smp_rmb();	/* the entry was read before; pairs with the marking of changes */
	if (atomic_read_acquire(&pool->map.marking) || ek_map_uncommitted(&pool->map, le))
		return true;
	smp_rmb();	/* pairs with commit() */
	if (smp_load_acquire(&pool->committing))
		return true;
	return ek_map_uncommitted(&pool->map, le);	/* a commit that failed marks again */
}

/* Nothing will be freed: do not wait for it. */
static void fail_waiting(struct hy_pool *pool)
{
	struct bio_list bios;
	struct bio *bio;

	bio_list_init(&bios);
	spin_lock_irq(&pool->free_lock);
	bio_list_merge(&bios, &pool->nospace);
	bio_list_init(&pool->nospace);
	spin_unlock_irq(&pool->free_lock);
	while ((bio = bio_list_pop(&bios)))
		bio_io_error(bio);
}

static void end_bios(struct bio_list *bios, int error)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		bio->bi_status = errno_to_blk_status(error);
		bio_endio(bio);
	}
}

/* Before the journal, or the room for a checkpoint's images, runs out. */
static bool checkpoint_is_due(struct hy_pool *pool)
{
	return hy_pool_writable(pool) &&
	       (pool->nr_dirty * 4 > HY_IMAGES * 3 ||
		ek_store_journal_used(pool->store) * 2 > ek_store_journal_blocks(pool->store));
}

static void commit_work(struct work_struct *work)
{
	struct hy_pool *pool = container_of(work, struct hy_pool, commit_work);
	unsigned int noio = memalloc_noio_save();
	struct bio_list bios;
	bool checkpoint, policy, super;
	u64 requested;
	int r;

	bio_list_init(&bios);
	spin_lock_irq(&pool->commit_lock);
	bio_list_merge(&bios, &pool->flush_bios);
	bio_list_init(&pool->flush_bios);
	requested = pool->requested;
	checkpoint = pool->want_checkpoint;
	pool->want_checkpoint = false;
	policy = pool->want_policy;
	pool->want_policy = false;
	super = pool->want_super;
	pool->want_super = false;
	spin_unlock_irq(&pool->commit_lock);

	r = commit(pool, checkpoint);
	end_bios(&bios, r);
	if (r)
		fail_waiting(pool);
	/* Now rather than when somebody waits for it. */
	if (!r && checkpoint_is_due(pool))
		commit(pool, true);
	if (super && !r)
		r = hy_pool_writable(pool) ? write_super(pool) : -EROFS;
	/* Data does not depend on it, whoever sent a message does. */
	if (policy && !r && hy_pool_writable(pool))
		r = note_policy(pool);

	spin_lock_irq(&pool->commit_lock);
	pool->completed = requested;
	pool->commit_error = r;
	spin_unlock_irq(&pool->commit_lock);
	wake_up_all(&pool->commit_wait);
	memalloc_noio_restore(noio);
}

static void commit_timer(struct work_struct *work)
{
	struct hy_pool *pool = container_of(to_delayed_work(work), struct hy_pool, commit_timer);

	hy_commit_kick(pool);
}

/**
 * hy_commit_bio - complete a bio when all that completed before is durable
 * @pool: the pool
 * @bio: an empty flush, or a write that has been done and wants FUA
 *
 * Context: any.
 */
void hy_commit_bio(struct hy_pool *pool, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->commit_lock, flags);
	bio_list_add(&pool->flush_bios, bio);
	spin_unlock_irqrestore(&pool->commit_lock, flags);
	queue_work(pool->commit_wq, &pool->commit_work);
}

/* Commit now; do not wait.  Any context. */
void hy_commit_kick(struct hy_pool *pool)
{
	queue_work(pool->commit_wq, &pool->commit_work);
}

/* Commit within commit_ms.  Any context. */
void hy_commit_soon(struct hy_pool *pool)
{
	if (READ_ONCE(pool->running))
		queue_delayed_work(pool->commit_wq, &pool->commit_timer,
				   msecs_to_jiffies(READ_ONCE(pool->set.commit_ms)));
}

/* Keep the policy's text in the superblock.  Context: sleeps. */
int hy_commit_policy(struct hy_pool *pool)
{
	spin_lock_irq(&pool->commit_lock);
	pool->want_policy = true;
	spin_unlock_irq(&pool->commit_lock);
	return hy_pool_writable(pool) ? hy_commit_wait(pool, false) : 0;
}

/*
 * Commit and write a superblock with the members' states as they are, and the shape that
 * pool->reshape wants.  Context: sleeps.  Return: 0 or an error.
 */
int hy_commit_super(struct hy_pool *pool)
{
	spin_lock_irq(&pool->commit_lock);
	pool->want_super = true;
	spin_unlock_irq(&pool->commit_lock);
	return hy_commit_wait(pool, false);
}

/**
 * hy_commit_wait - commit and wait for it
 * @pool: the pool
 * @checkpoint: and empty the journal
 *
 * Context: sleeps.
 * Return: 0 or the commit's error.
 */
int hy_commit_wait(struct hy_pool *pool, bool checkpoint)
{
	u64 mine;
	int r;

	spin_lock_irq(&pool->commit_lock);
	mine = ++pool->requested;
	pool->want_checkpoint |= checkpoint;
	spin_unlock_irq(&pool->commit_lock);
	hy_commit_kick(pool);
	wait_event(pool->commit_wait, READ_ONCE(pool->completed) >= mine);
	spin_lock_irq(&pool->commit_lock);
	r = pool->commit_error;
	spin_unlock_irq(&pool->commit_lock);
	return r;
}

void hy_commit_init(struct hy_pool *pool)
{
	INIT_WORK(&pool->commit_work, commit_work);
	INIT_DELAYED_WORK(&pool->commit_timer, commit_timer);
	spin_lock_init(&pool->commit_lock);
	bio_list_init(&pool->flush_bios);
	init_waitqueue_head(&pool->commit_wait);
	INIT_LIST_HEAD(&pool->dirty_pages);
	INIT_LIST_HEAD(&pool->writing_pages);
}
