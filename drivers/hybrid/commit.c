// SPDX-License-Identifier: GPL-2.0-only
/*
 * The committer: one work item that makes changes of the map durable, for all
 * who wait at that moment together (group commit).
 *
 *	take the freed extents, then the changed entries
 *	flush the members			data before the map that points to it; all of them
 *						for who asks, else those of the entries and
 *						those that extents have moved from
 *	write the journal			the commit
 *	complete FLUSH and FUA bios, pass frees on
 *
 * A member whose flush fails has it all begin again, without it: what was moving there stays where
 * it was (free.c), what was first written there since the last commit is taken back (take_back.c),
 * the others' changes are not to wait for it, and those who ask are told of the loss.
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

#define HY_FAILED_COMMITS	3u	/* in a row, after which there is no hope */
#define HY_FAILING		(10 * HZ)	/* and for so long */

static int take_entry(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	struct hy_pool *pool = ctx;
	int r;

	hy_page_dirty(pool, page);
	if (pool->nr_taken == pool->max_taken)
		return -ENOSPC;
	r = hy_take_back(pool, le, &entry);
	if (r)
		return r;
	pool->taken[pool->nr_taken++] = le;
	if (ek_entry_mapped(entry)) {
		ek_space_store(&pool->member[ek_entry_member(entry)].space,
			       ek_entry_pe(entry), 1, true);
		__set_bit(ek_entry_member(entry), &pool->taken_on);
	}
	return ek_store_tx_add_map(pool->store, le, entry);
}

static int collect(struct hy_pool *pool, struct list_head *frees)
{
	struct hy_free *f;
	int r;

	pool->nr_taken = 0;
	pool->taken_on = 0;
	r = hy_take_back_moved(pool, frees);
	if (!r)
		r = ek_map_take_changed(&pool->map, take_entry, pool);
	list_for_each_entry(f, frees, list) {
		if (r)
			break;
		/* Where it was may have lost it before the copy: nobody would know. */
		if (f->moved) {
			__set_bit(ek_entry_member(f->old), &pool->taken_on);
			__set_bit(ek_entry_member(f->now), &pool->taken_on);
		}
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

/* If nobody waits it is the map alone that is to become durable, and the data it points to. */
static unsigned long to_flush(struct hy_pool *pool, unsigned long members)
{
	return pool->asked ? HY_ALL_MEMBERS : members | READ_ONCE(pool->distrusted);
}

static int commit_records(struct hy_pool *pool, struct list_head *frees)
{
	int r = hy_members_flush(pool, to_flush(pool, pool->taken_on));

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

static bool has_changes(struct hy_pool *pool)
{
	return hy_free_pending(pool) || ek_map_has_changes(&pool->map);
}

static int commit_once(struct hy_pool *pool, bool checkpoint)
{
	LIST_HEAD(frees);
	int r;

	pool->moved_to = 0;
	hy_members_commit(pool);
	if (!hy_pool_writable(pool)) {
		hy_free_take(pool, &frees);
		hy_free_untake(pool, &frees);
		r = hy_members_flush(pool, HY_ALL_MEMBERS) ?: hy_take_back_all(pool);
		return r ? r : ek_map_has_changes(&pool->map) ? -EROFS : 0;
	}
	if (!checkpoint && !has_changes(pool))
		return hy_members_flush(pool, to_flush(pool, 0));
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

/*
 * So that the next activation does not take the pool for sound.  A page of the map may be read
 * for a message while the pool is suspended, or through a table that is read-only: then when it
 * is resumed with one that is not.
 */
static void note_needs_check(struct hy_pool *pool)
{
	int r;

	if (!READ_ONCE(pool->needs_check) || pool->needs_check_noted || pool->store_ro ||
	    READ_ONCE(pool->read_only) ||
	    smp_load_acquire(&pool->at_rest))	/* pairs with hybrid_postsuspend() */
		return;
	r = ek_store_update_super(pool->store, EK_SUPER_NEEDS_CHECK, 0);
	/* A store that can't be written any more is not asked again. */
	pool->needs_check_noted = !r || ek_store_writable(pool->store);
	if (r)
		DMERR("the superblock can't be told that a check is needed");
}

/*
 * Whatever superblock is written next is to have them.  Errors are known anew at each start, what
 * somebody asked for stays.  "Removed" is in memory only after the checkpoint that made it so.
 */
static void note_states(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		u32 state = READ_ONCE(pool->member[i].state);

		if (state == EK_MEMBER_DEGRADED || state == EK_MEMBER_FAILED)
			state = READ_ONCE(pool->member[i].leaving) ? EK_MEMBER_DRAINING :
								     EK_MEMBER_ACTIVE;
		ek_store_set_member_state(pool->store, i, state);
	}
}

/* A superblock of its own, and with it the shape that a table wants.  Members are not asked. */
static int write_super(struct hy_pool *pool, const struct ek_reshape *reshape)
{
	int r;

	if (!hy_pool_writable(pool))
		return -EROFS;
	note_states(pool);
	r = reshape ? ek_store_reshape(pool->store, reshape) : ek_store_sync_super(pool->store);
	if (r)
		hy_pool_needs_check(pool, "the superblock can't be written");
	return r;
}

/* Parameters set by message are the pool's: they are there after the next start. */
static int note_policy(struct hy_pool *pool)
{
	int r = hy_policy_note(pool);

	if (!r)
		r = ek_store_sync_super(pool->store);
	if (!r)
		return 0;
	DMERR("the superblock can't be told of the policy: error %d", r);
	spin_lock_irq(&pool->commit_lock);
	pool->want_policy = true;	/* the next commit tries again */
	spin_unlock_irq(&pool->commit_lock);
	return r;
}

/*
 * It was not for a member, without which it would have begun again.  A checkpoint that fails has
 * touched nothing that counts, and commits go on as long as the journal has room.  Where these
 * fail, for a page that can't be written or read, nothing will ever be durable again: writers are
 * to know.
 */
static void note_failure(struct hy_pool *pool, bool checkpoint, int error)
{
	if (!hy_pool_writable(pool))
		return;
	DMERR_LIMIT("a %s failed: error %d; %llu of %llu blocks of the journal are used",
		    checkpoint ? "checkpoint" : "commit", error,
		    ek_store_journal_used(pool->store), ek_store_journal_blocks(pool->store));
	if (checkpoint)
		return;
	if (!pool->failed_commits++)
		pool->failing_since = jiffies;
	if (pool->failed_commits >= HY_FAILED_COMMITS &&
	    time_after(jiffies, pool->failing_since + HY_FAILING))
		hy_pool_needs_check(pool, "nothing can be committed");
}

/* Comes to an end: who is doubted is not asked again. */
static int commit_without_doubted(struct hy_pool *pool, bool checkpoint)
{
	int r = commit_once(pool, checkpoint);

	while (r && pool->reverting) {
		hy_free_revert(pool);
		r = commit_once(pool, checkpoint);
	}
	return r;
}

/* Pages that others' flushes may have dropped are written again; the store ends that. */
static int commit_whole(struct hy_pool *pool, bool checkpoint)
{
	int r;

	do {
		r = commit_without_doubted(pool, checkpoint);
	} while (r == -EAGAIN);
	return r;
}

/**
 * hy_commit_begins - FUA writes that are sent from now on wait for the committer
 * @pool: the pool
 *
 * While changes are taken and not yet durable, nothing marks them: hy_commit_needed() looks at this
 * after it looked for marks.  And none fails beside metadata then that is written again because one
 * has (meta_io.c).
 * Context: the committer; hy_commit_is_over() follows when what it is about is done.
 */
void hy_commit_begins(struct hy_pool *pool)
{
	WRITE_ONCE(pool->committing, true);
	smp_mb();	/* pairs with hy_commit_needed(): set before a mark is taken */
}

/* It is over: what hy_commit_needed() finds false is durable, or marked again. */
void hy_commit_is_over(struct hy_pool *pool)
{
	smp_store_release(&pool->committing, false);	/* pairs with hy_commit_needed() */
}

static int commit(struct hy_pool *pool, bool checkpoint)
{
	u64 began = ktime_get_ns();
	int r;

	hy_commit_begins(pool);
	note_states(pool);
	note_needs_check(pool);
	pool->nr_committed = 0;
	/* Who was doubted by a commit that failed is not flushed by this one. */
	pool->unflushed = pool->doubted;
	r = commit_whole(pool, checkpoint);
	if (r) {
		note_failure(pool, checkpoint, r);
	} else {
		pool->doubted = 0;
		pool->failed_commits = 0;
		hy_members_committed(pool);
	}
	hy_take_back_end(pool);
	note_needs_check(pool);
	hy_commit_is_over(pool);
	trace_hybrid_commit(pool, checkpoint, pool->nr_committed, ktime_get_ns() - began, r);
	return r;
}

/**
 * hy_commit_tells_fua - is there a loss that a FUA write has to be told of?
 * @pool: the pool
 *
 * A journal's commit record is a write with PREFLUSH and FUA, which says that what was written
 * before is durable.  Device-mapper asks for the flush by a bio of its own, drops the error of
 * that, and sends the write all the same, with FUA alone.  So what the flush was told the write is
 * told, too, wherever it goes to.
 *
 * Context: any.
 * Return: true when the write is to end with a commit, which tells it.
 */
bool hy_commit_tells_fua(const struct hy_pool *pool)
{
	return READ_ONCE(pool->to_tell) & HY_TELL_FUA ||
	       time_before(jiffies, READ_ONCE(pool->tell_fua_until));
}

/* After a commit that failed a FUA write has to wait for one that does not.  Any context. */
bool hy_commit_fails(const struct hy_pool *pool)
{
	return READ_ONCE(pool->commit_failed);
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

/* Before the journal, or the room for a checkpoint's images, runs out. */
static bool checkpoint_is_due(struct hy_pool *pool)
{
	return hy_pool_writable(pool) &&
	       (pool->nr_dirty * 4 > HY_IMAGES * 3 ||
		ek_store_journal_used(pool->store) * 2 > ek_store_journal_blocks(pool->store));
}

/*
 * struct hy_commit_wait - somebody who waits for a commit
 * What was wanted, and an error of its own: that of the commit, or if it wants a superblock, of
 * that alone, which does not depend on what members can flush.
 */
struct hy_commit_wait {
	struct list_head list;
	bool checkpoint;
	bool message;	/* to be told of writes that were lost */
	bool policy;
	bool super;
	unsigned int remove;
	struct hy_member *reinstate;
	const struct ek_reshape *reshape;
	int error;
	struct completion done;
};

/* What a batch of waiters wants together. */
struct wants {
	unsigned long since;	/* jiffies */
	struct list_head waits;
	struct bio_list bios;
	bool checkpoint;
	bool message;
	bool policy;
};

static void take_wants(struct hy_pool *pool, struct wants *wants)
{
	struct hy_commit_wait *w;

	memset(wants, 0, sizeof(*wants));
	wants->since = jiffies;
	INIT_LIST_HEAD(&wants->waits);
	bio_list_init(&wants->bios);
	spin_lock_irq(&pool->commit_lock);
	bio_list_merge(&wants->bios, &pool->flush_bios);
	bio_list_init(&pool->flush_bios);
	list_splice_init(&pool->commit_waits, &wants->waits);
	wants->policy = pool->want_policy;
	pool->want_policy = false;
	spin_unlock_irq(&pool->commit_lock);
	if (READ_ONCE(pool->policy_may_differ)) {
		WRITE_ONCE(pool->policy_may_differ, false);
		wants->policy |= hy_pool_writable(pool) && !hy_policy_is_noted(pool);
	}
	pool->asked = !bio_list_empty(&wants->bios) || !list_empty(&wants->waits);
	pool->removing = 0;
	list_for_each_entry(w, &wants->waits, list) {
		wants->checkpoint |= w->checkpoint;
		wants->message |= w->message;
		wants->policy |= w->policy;
		pool->removing |= w->remove;
		if (w->reinstate)
			hy_member_reinstate_begin(pool, w->reinstate);
	}
}

static unsigned int kind_of(const struct bio *bio)
{
	return bio->bi_opf & REQ_PREFLUSH ? HY_TELL_FLUSH : HY_TELL_FUA;
}

/**
 * hy_commit_lost - acknowledged writes are lost, as no flush has made them durable
 * @pool: the pool
 *
 * Whoever asks is told, whichever commit it was that lost them, be it a timer's; known until then.
 * A FLUSH, a FUA write and a message come from people who don't know of each other: a file system,
 * a program that writes with O_DSYNC, and an administrator.  Nor do two file systems, or two
 * programs: each of them is told for tell_ms.  That is for whom was told in vain, too: the flush of
 * a journal's commit record may be the first one, which device-mapper drops the error of, and for
 * who asked before the last of what is lost was acknowledged.
 *
 * Context: the committer.
 */
void hy_commit_lost(struct hy_pool *pool)
{
	pool->lost_now = true;
	WRITE_ONCE(pool->to_tell, HY_TELL_ALL);
}

static unsigned long tell_end(const struct hy_pool *pool)
{
	return jiffies + msecs_to_jiffies(READ_ONCE(pool->set.tell_ms));
}

static void tell_for_a_while(struct hy_pool *pool)
{
	pool->tell_until = tell_end(pool);
	WRITE_ONCE(pool->tell_fua_until, pool->tell_until);
}

static unsigned long left_of(unsigned long until)
{
	return time_before(jiffies, until) ? until - jiffies : 0;
}

/**
 * hy_commit_tell_stop - the time of a suspension is none in which somebody could have asked
 * @pool: the pool, suspended
 *
 * Context: nothing is committed.
 * Return: there is a loss that whoever asks is told of, also when somebody has been.
 */
bool hy_commit_tell_stop(struct hy_pool *pool)
{
	pool->tell_left = left_of(pool->tell_until);
	pool->tell_fua_left = left_of(pool->tell_fua_until);
	return pool->unflushed || pool->to_tell & HY_TELL_FLUSH || pool->tell_left;
}

/**
 * hy_commit_tell_on - who was kept from asking by a suspension is told as well
 * @pool: the pool, about to be resumed
 *
 * Context: nothing is committed.
 */
void hy_commit_tell_on(struct hy_pool *pool)
{
	if (pool->tell_left)
		pool->tell_until = jiffies + pool->tell_left;
	if (pool->tell_fua_left)
		WRITE_ONCE(pool->tell_fua_until, jiffies + pool->tell_fua_left);
	pool->tell_left = 0;
	pool->tell_fua_left = 0;
}

/*
 * Who came during a commit that lost writes is told with those of before: what was lost may have
 * been acknowledged by then, and nothing says when that commit is over.
 */
static void take_late(struct hy_pool *pool, struct wants *wants)
{
	spin_lock_irq(&pool->commit_lock);
	bio_list_merge(&wants->bios, &pool->flush_bios);
	bio_list_init(&pool->flush_bios);
	spin_unlock_irq(&pool->commit_lock);
}

/* Return: HY_TELL_*: to whom there is something to tell. */
static unsigned int take_lost(struct hy_pool *pool, struct wants *wants)
{
	unsigned int lost = pool->unflushed ? HY_TELL_ALL : pool->to_tell, told = 0;
	struct bio *bio;

	if (pool->lost_now) {
		pool->lost_now = false;
		take_late(pool, wants);
		tell_for_a_while(pool);
	}
	/* A flush may take longer than that. */
	if (time_before(wants->since, pool->tell_until))
		lost = HY_TELL_ALL;
	if (time_before(wants->since, pool->tell_fua_until))
		lost |= HY_TELL_FUA;
	bio_list_for_each(bio, &wants->bios)
		told |= kind_of(bio);
	if (wants->message)
		told |= HY_TELL_MESSAGE;
	WRITE_ONCE(pool->to_tell, pool->to_tell & ~told);
	/* It may have been a write's, which is yet to come: see hy_commit_tells_fua(). */
	if (lost & told & HY_TELL_FLUSH) {
		WRITE_ONCE(pool->tell_fua_until, tell_end(pool));
		if (!READ_ONCE(pool->set.tell_ms))
			WRITE_ONCE(pool->to_tell, pool->to_tell | HY_TELL_FUA);
	}
	return lost;
}

static int error_for(unsigned int lost, unsigned int kind)
{
	return lost & kind ? -EIO : 0;
}

/* A FUA write that was to be told when it was sent is told, also if that time is over by now. */
static unsigned int owed(unsigned int lost, struct bio *bio)
{
	if (kind_of(bio) == HY_TELL_FUA && hy_io(bio)->flags & HY_IO_TELL)
		lost |= HY_TELL_FUA;
	return lost;
}

static void end_bios(struct bio_list *bios, int error, unsigned int lost)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		bio->bi_status = errno_to_blk_status(error ?: error_for(owed(lost, bio),
									kind_of(bio)));
		bio_endio(bio);
	}
}

static void write_supers(struct hy_pool *pool, struct wants *wants)
{
	struct hy_commit_wait *w;

	list_for_each_entry(w, &wants->waits, list)
		if (w->super)
			w->error = write_super(pool, w->reshape);
}

/*
 * When all that they see is as it will be: they are gone then.  @checkpoint: the error of those who
 * wanted one.
 */
static void end_waits(struct hy_pool *pool, struct wants *wants, int commit, int checkpoint,
		      int lost, int policy)
{
	struct hy_commit_wait *w, *tmp;

	list_for_each_entry_safe(w, tmp, &wants->waits, list) {
		int error = w->checkpoint ? checkpoint : commit;

		list_del(&w->list);
		if (!w->super)
			w->error = error ?: w->message ? lost : w->policy ? policy : 0;
		if (w->reinstate && !w->error)
			w->error = hy_member_reinstate_end(pool, w->reinstate);
		complete(&w->done);
	}
}

/*
 * What the writes of a batch, those of superblocks alone among them, have made of the metadata.  A
 * store that is dead takes no commit any more, and says so to who asks: nobody may ask.
 */
static void judge_store(struct hy_pool *pool, unsigned int areas)
{
	unsigned long lost = areas & ~ek_store_areas(pool->store);
	unsigned int i;

	for_each_set_bit(i, &lost, EK_MAX_META)
		DMERR("metadata area %u is left out: it can't be written", i);
	if (lost)
		queue_work(pool->wq, &pool->event_work);
	if (ek_store_writable(pool->store) == -EIO && !READ_ONCE(pool->needs_check))
		hy_pool_needs_check(pool, "the superblock can't be written");
}

/*
 * A checkpoint that fails has touched nothing that counts.  Who wanted no more than a commit does
 * not hear of it: the journal may have room for that.  What the first try has lost is still to be
 * told by the second, as whom it doubted is doubted until one ends well.
 *
 * Return: the commit's error; @checkpoint: what those are told who wanted a checkpoint.
 */
static int commit_wanted(struct hy_pool *pool, const struct wants *wants, int *checkpoint)
{
	int r = commit(pool, wants->checkpoint);

	*checkpoint = r;
	/* A full journal may make the second try a checkpoint: those who leave have failed to. */
	pool->removing = 0;
	if (r && wants->checkpoint && hy_pool_writable(pool))
		r = commit(pool, false);
	return r;
}

static void commit_work(struct work_struct *work)
{
	struct hy_pool *pool = container_of(work, struct hy_pool, commit_work);
	unsigned int areas = ek_store_areas(pool->store);
	unsigned int noio = memalloc_noio_save();
	struct wants wants;
	int r, checkpoint, policy = 0;
	unsigned int lost;

	take_wants(pool, &wants);
	r = commit_wanted(pool, &wants, &checkpoint);
	lost = take_lost(pool, &wants);
	WRITE_ONCE(pool->commit_failed, r);
	end_bios(&wants.bios, r, lost);
	if (r || !hy_pool_writable(pool))
		hy_free_fail_waiting(pool);
	/* Now rather than when somebody waits for it. */
	if (!checkpoint && checkpoint_is_due(pool))
		commit(pool, true);
	hy_free_resume(pool);
	/* Data does not depend on it, whoever sent a message does. */
	if (wants.policy && hy_pool_writable(pool))
		policy = note_policy(pool);
	write_supers(pool, &wants);
	hy_commit_is_over(pool);
	judge_store(pool, areas);
	end_waits(pool, &wants, r, checkpoint, error_for(lost, HY_TELL_MESSAGE), policy);
	/* What failed is tried again; read-only it would fail for ever. */
	if (hy_pool_writable(pool) && has_changes(pool))
		hy_commit_soon(pool);
	memalloc_noio_restore(noio);
}

/* Whoever waited for a flush meanwhile has had the changes committed: members are left alone. */
static void commit_timer(struct work_struct *work)
{
	struct hy_pool *pool = container_of(to_delayed_work(work), struct hy_pool, commit_timer);

	if (has_changes(pool))
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

	hy_settle_note_flush(pool);
	spin_lock_irqsave(&pool->commit_lock, flags);
	bio_list_add(&pool->flush_bios, bio);
	spin_unlock_irqrestore(&pool->commit_lock, flags);
	queue_work(pool->commit_wq, &pool->commit_work);
}

/* A table's policy may be another one than the superblock has; nobody waits.  Any context. */
void hy_commit_note_policy(struct hy_pool *pool)
{
	WRITE_ONCE(pool->policy_may_differ, true);
	hy_commit_kick(pool);
}

/* Commit now; do not wait.  Any context. */
void hy_commit_kick(struct hy_pool *pool)
{
	queue_work(pool->commit_wq, &pool->commit_work);
}

/*
 * Commit what has changed within commit_ms.  To be called after the change: the timer is either
 * found pending, and has yet to look for changes, or begins anew.  Any context.
 */
void hy_commit_soon(struct hy_pool *pool)
{
	if (READ_ONCE(pool->timed))
		queue_delayed_work(pool->commit_wq, &pool->commit_timer,
				   msecs_to_jiffies(READ_ONCE(pool->set.commit_ms)));
}

/*
 * No commit is under way any more, nor comes one by itself: a message that sets commit_ms may have
 * found the pool running, and begin its timer behind the suspension.  Context: suspended; sleeps.
 */
void hy_commit_end(struct hy_pool *pool)
{
	cancel_delayed_work_sync(&pool->commit_timer);
	flush_workqueue(pool->commit_wq);
}

/* commit_ms is another one: also for a timer that runs.  Any context. */
void hy_commit_retime(struct hy_pool *pool)
{
	if (READ_ONCE(pool->timed))
		mod_delayed_work(pool->commit_wq, &pool->commit_timer,
				 msecs_to_jiffies(READ_ONCE(pool->set.commit_ms)));
}

static int wait_for_commit(struct hy_pool *pool, struct hy_commit_wait *w)
{
	init_completion(&w->done);
	spin_lock_irq(&pool->commit_lock);
	list_add_tail(&w->list, &pool->commit_waits);
	spin_unlock_irq(&pool->commit_lock);
	hy_commit_kick(pool);
	wait_for_completion(&w->done);
	return w->error;
}

/* Keep the policy's text in the superblock.  Context: sleeps. */
int hy_commit_policy(struct hy_pool *pool)
{
	struct hy_commit_wait w = { .policy = true };

	if (hy_pool_writable(pool))
		return wait_for_commit(pool, &w);
	spin_lock_irq(&pool->commit_lock);
	pool->want_policy = true;
	spin_unlock_irq(&pool->commit_lock);
	return 0;
}

/*
 * Write a superblock with the members' states as they are, and the shape wanted, if any.  It does
 * not depend on members that can't flush.  Context: sleeps.  Return: 0 or its own error.
 */
int hy_commit_super(struct hy_pool *pool, const struct ek_reshape *reshape)
{
	struct hy_commit_wait w = { .super = true, .reshape = reshape };

	return wait_for_commit(pool, &w);
}

/*
 * A checkpoint that empties the journal, and in whose superblock an empty member is removed.
 * Context: sleeps.  Return: 0: it is, on the media and in memory; an error.
 */
int hy_commit_removal(struct hy_pool *pool, unsigned int member)
{
	struct hy_commit_wait w = { .checkpoint = true, .remove = BIT(member) };
	int r = wait_for_commit(pool, &w);

	return r ?: READ_ONCE(pool->member[member].state) == EK_MEMBER_REMOVED ? 0 : -EROFS;
}

/*
 * A commit that asks it, as all others; then nobody is in the middle of doubting it, and it is
 * trusted again.  Context: sleeps.  Return: 0: it is; an error.
 */
int hy_commit_reinstate(struct hy_pool *pool, struct hy_member *m)
{
	struct hy_commit_wait w = { .reinstate = m };

	return wait_for_commit(pool, &w);
}

/**
 * hy_commit_wait - commit and wait for it
 * @pool: the pool
 * @checkpoint: empty the journal, too
 *
 * Context: sleeps.
 * Return: 0 or the error of the commit that was made for it.
 */
int hy_commit_wait(struct hy_pool *pool, bool checkpoint)
{
	struct hy_commit_wait w = { .checkpoint = checkpoint };

	return wait_for_commit(pool, &w);
}

/*
 * Its suspension has committed what there was to be, and nothing is written until it is resumed:
 * who copies its members then has all of them as of one moment.  What a commit would tell is known.
 */
static int tell_at_rest(struct hy_pool *pool)
{
	if (!smp_load_acquire(&pool->at_rest))	/* pairs with hybrid_postsuspend() */
		return -EBUSY;
	return READ_ONCE(pool->commit_failed) || has_changes(pool) || pool->unflushed ||
	       pool->tell_left || READ_ONCE(pool->to_tell) & HY_TELL_MESSAGE ? -EIO : 0;
}

/*
 * Likewise; who asked is told, as whoever sends a FLUSH, of writes that were lost before.  Of a
 * suspended pool -EBUSY: its suspension is under way.
 */
int hy_commit_message(struct hy_pool *pool, bool checkpoint)
{
	struct hy_commit_wait w = { .checkpoint = checkpoint, .message = true };

	if (!READ_ONCE(pool->running))
		return tell_at_rest(pool);
	return wait_for_commit(pool, &w);
}

void hy_commit_init(struct hy_pool *pool)
{
	INIT_WORK(&pool->commit_work, commit_work);
	INIT_DELAYED_WORK(&pool->commit_timer, commit_timer);
	spin_lock_init(&pool->commit_lock);
	bio_list_init(&pool->flush_bios);
	INIT_LIST_HEAD(&pool->commit_waits);
	INIT_LIST_HEAD(&pool->dirty_pages);
	INIT_LIST_HEAD(&pool->writing_pages);
}
