// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies are made durable before the map points to them, while users flush.
 *
 * A user's FLUSH is for what users wrote.  If the committer flushed for copies, too, each FLUSH
 * would wait for a member that extents move to, however slow that is, though nobody wrote there.
 * So while users flush a migration has its new place flushed by itself, while writes still go to
 * the old one, and what was copied by then does not count as written (hy_member_wrote()).  What is
 * copied later, because users write the extent all the time, does: from then on they write to the
 * member itself.  When nobody flushes, the next commit's flush is one for all; so is each FLUSH
 * when users write to the member anyway.
 *
 * One flush is for all migrations to the member that wait when it begins.  One that fails may have
 * dropped what users wrote as well, and the next would find nothing of it:
 *
 *	W, on b, is acknowledged	in b's cache
 *	a copy's flush of b fails	W is gone
 *	a user's FLUSH, b is flushed	ends well: nothing is left to be written
 *
 * So the two exclude each other, and before the second may begin b is distrusted: the committer
 * takes it for lost with what it had not flushed, and tells (member.c).
 *
 * It may drop metadata as well, of which nobody would be told: pages of a checkpoint that are
 * written one by one and flushed at the end, or what a FUA write leaves to a flush behind it.
 * Where metadata may be on the same disk nothing is flushed but by the committer.  Nobody waits
 * longer for that: each commit of a move writes there, and flushes.
 */
#include "hybrid.h"

#define HY_LATELY	(10 * HZ)	/* who flushes once may flush again */

/* Nobody has flushed yet. */
void hy_settle_init(struct hy_pool *pool)
{
	pool->user_flushed = jiffies - HY_LATELY;
}

/* Somebody waits for a commit, be it of a FLUSH or of a FUA write.  Any context. */
void hy_settle_note_flush(struct hy_pool *pool)
{
	WRITE_ONCE(pool->user_flushed, jiffies);
}

/**
 * hy_settle_not - what was copied counts as written
 * @m: the member
 *
 * Context: any, before the map can point to it (member.c).
 */
void hy_settle_not(struct hy_member *m)
{
	atomic64_inc(&m->copies);
	hy_member_wrote(m);
}

/**
 * hy_settle_note_writes - a member is about to be flushed
 * @m: the member
 * @writes: that completed there since the last time, copies among them
 * @asked: does somebody wait for it?
 *
 * Context: the committer.
 */
void hy_settle_note_writes(struct hy_member *m, u64 writes, bool asked)
{
	u64 copies = atomic64_read(&m->copies);

	/* Of users: their flushes have to be flushes of it, whoever else writes there. */
	if (asked && writes > copies - m->flushed_copies)
		WRITE_ONCE(m->flushed_at, jiffies);
	m->flushed_copies = copies;
}

static bool may_have_metadata(const struct hy_pool *pool, const struct hy_member *m)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (pool->meta[i].dev && hy_disk_may_be_same(m->bdev, pool->meta[i].dev->bdev))
			return true;
	return false;
}

/**
 * hy_settle_wanted - would a user's FLUSH wait for what is copied, if nobody else flushed it?
 * @pool: the pool, bound to a table
 * @m: the member that it is copied to
 *
 * Context: any.
 * Return: has somebody flushed lately, and none of them had to wait for this one?
 */
bool hy_settle_wanted(const struct hy_pool *pool, const struct hy_member *m)
{
	return time_before(jiffies, READ_ONCE(pool->user_flushed) + HY_LATELY) &&
	       !time_before(jiffies, READ_ONCE(m->flushed_at) + HY_LATELY) &&
	       m->bdev && !may_have_metadata(pool, m);
}

static void settle_work(struct work_struct *work)
{
	struct hy_member *m = container_of(work, struct hy_member, settle_work);
	struct hy_settle *s, *tmp;
	LIST_HEAD(waiting);
	int r;

	mutex_lock(&m->flush_lock);
	spin_lock_irq(&m->settle_lock);
	list_splice_init(&m->settling, &waiting);
	spin_unlock_irq(&m->settle_lock);
	/* Who came while this work waited for the lock has had it queued once more. */
	r = list_empty(&waiting) ? 0 : blkdev_issue_flush(m->bdev);
	if (r)
		hy_member_settle_failed(m->pool, m, errno_to_blk_status(r));
	mutex_unlock(&m->flush_lock);
	/* With the last of them the pool may go, which waits for this work. */
	list_for_each_entry_safe(s, tmp, &waiting, list)
		s->done(s, r);
}

/**
 * hy_settle - make what was copied to a member durable
 * @m: the member
 * @s: with done() set, which is called with 0 or the error of the flush, in a context that sleeps
 *
 * The pool stays until then.
 * Context: any.
 */
void hy_settle(struct hy_member *m, struct hy_settle *s)
{
	unsigned long flags;

	spin_lock_irqsave(&m->settle_lock, flags);
	list_add_tail(&s->list, &m->settling);
	spin_unlock_irqrestore(&m->settle_lock, flags);
	/* It may never end: nobody but who waits for migrations is to wait for it. */
	queue_work(m->pool->settle_wq, &m->settle_work);
}

/* The committer has those of several members at a time, in their order. */
static struct lock_class_key flush_lock_key[EK_MAX_MEMBERS];

/**
 * hy_settle_init_member - nothing is copied to it
 * @m: one of the pool's places for members
 * @i: which one
 */
void hy_settle_init_member(struct hy_member *m, unsigned int i)
{
	m->flushed_at = jiffies - HY_LATELY;
	mutex_init(&m->flush_lock);
	lockdep_set_class(&m->flush_lock, &flush_lock_key[i]);
	spin_lock_init(&m->settle_lock);
	INIT_LIST_HEAD(&m->settling);
	INIT_WORK(&m->settle_work, settle_work);
}
