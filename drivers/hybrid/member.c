// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members: which of their writes are durable, and how they fare.
 *
 *	active		as it should be
 *	degraded	it answered with errors (degrade_errors), or could not flush: nothing
 *			new goes there while another has room, and it is time to evacuate it
 *	failed		for a whole period it answered with nothing else (fail_requests): nothing
 *			new goes there at all.  What is there is still asked for, as nobody knows
 *			better which of it can be had.  Or it could not flush, time and again
 *			(fail_flushes): commits do not wait for it any more
 *
 * Neither outlives the pool's next start, unlike what somebody asked for (evacuate.c), and whoever
 * knows that the cause is gone can say so before that (standing.c).
 *
 * A flush that fails makes it degraded at once, whatever is set: nothing may move to a member that
 * is doubted (take_back.c).
 *
 * One that is to leave (evacuate.c) and fails is failed, too, and still to leave.  Whoever changes
 * a state does it from the one it knows, as errors come on any CPU.
 *
 * writes is counted up when a write succeeds, before anything that depends on it
 * is told; flushed follows it only after a flush that began later succeeded.  The
 * committer is alone in flushing for users, so a FLUSH that comes while one runs waits
 * for it and needs another only if writes completed since.  Flushes for what was copied
 * (settle.c) make nothing flushed, and never run beside one of the committer's.
 */
#include "hybrid.h"
#include "hybrid_trace.h"

static u64 writes_completed(struct hy_member *m)
{
	u64 sum = 0;
	int cpu;

	smp_rmb();	/* entries were read before; pairs with the setting of their bits */
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(m->writes, cpu));
	return sum;
}

struct flush_wait {
	atomic_t pending;
	struct completion done;
};

static void flush_put(struct flush_wait *wait)
{
	if (atomic_dec_and_test(&wait->pending))
		complete(&wait->done);
}

static void flush_end(struct bio *bio)
{
	flush_put(bio->bi_private);
}

static void member_flush_begin(struct hy_member *m, struct flush_wait *wait)
{
	bio_init(&m->flush_bio, m->bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	m->flush_bio.bi_end_io = flush_end;
	m->flush_bio.bi_private = wait;
	atomic_inc(&wait->pending);
	submit_bio(&m->flush_bio);
}

/* Nobody relies on what was written to it so far: nothing has been.  Context: no write to it. */
void hy_member_forget_writes(struct hy_member *m)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(m->writes, cpu), 0, sizeof(u64));
	m->flushed = HY_NEVER_FLUSHED;
	m->committed = 0;
	atomic64_set(&m->copies, 0);
	m->flushed_copies = 0;
	m->lost = 0;
	m->failed_flushes = 0;
	m->write_failed = false;
}

/* Others may change it at the same time, so that only who finds what it expects does. */
static bool change_state(struct hy_pool *pool, struct hy_member *m, u32 from, u32 to)
{
	if (cmpxchg(&m->state, from, to) != from)
		return false;
	trace_hybrid_member_state(pool, m - pool->member, from, to);
	return true;
}

/**
 * hy_member_becomes - a member's state, whatever it was
 * @pool: the pool
 * @m: the member
 * @state: enum ek_member_state
 *
 * Context: any.
 */
void hy_member_becomes(struct hy_pool *pool, struct hy_member *m, u32 state)
{
	u32 was = xchg(&m->state, state);

	if (was != state)
		trace_hybrid_member_state(pool, m - pool->member, was, state);
}

/* New extents and migrations go elsewhere if they can. */
static bool degrade(struct hy_pool *pool, struct hy_member *m)
{
	return change_state(pool, m, EK_MEMBER_ACTIVE, EK_MEMBER_DEGRADED);
}

/* To one of which nothing is expected. */
static bool has_failed(struct hy_pool *pool, struct hy_member *m)
{
	return change_state(pool, m, EK_MEMBER_DEGRADED, EK_MEMBER_FAILED) ||
	       change_state(pool, m, EK_MEMBER_ACTIVE, EK_MEMBER_FAILED) ||
	       change_state(pool, m, EK_MEMBER_DRAINING, EK_MEMBER_FAILED);
}

static void tell_degraded(struct hy_pool *pool, struct hy_member *m, blk_status_t status)
{
	DMERR("member %u is degraded: I/O error (status %d)",
	      (unsigned int)(m - pool->member), blk_status_to_errno(status));
	queue_work(pool->wq, &pool->event_work);
}

static bool has_too_many_errors(struct hy_pool *pool, struct hy_member *m)
{
	return atomic64_read(&m->errors) >= READ_ONCE(pool->set.degrade_errors);
}

static bool has_errors(struct hy_member *m)
{
	return atomic64_read(&m->errors) || READ_ONCE(m->failed_flushes);
}

/* What was copied there so far is not believed, whatever the member is by the switch. */
static void count_loss(struct hy_member *m)
{
	atomic_inc(&m->losses);
}

static bool is_unflushed(const struct hy_member *m, u64 seen)
{
	return seen != m->flushed && m->state != EK_MEMBER_REMOVED &&
	       (m->flushed != HY_NEVER_FLUSHED || seen);
}

/*
 * It is lost: with what was not flushed, if anything was written since then, or at all; @moved:
 * also with what moved there, and was flushed for that (settle.c).  Return: 0 if there is nothing.
 */
static int flush_lost(struct hy_pool *pool, struct hy_member *m, u64 seen, bool moved)
{
	bool lost = is_unflushed(m, seen);

	m->flushed = seen;
	if (!lost && !moved)
		return 0;
	count_loss(m);
	/* As in flush_failed(): once for the same writes. */
	if (lost && (seen != m->lost || !m->bdev))
		hy_commit_lost(pool);
	m->lost = seen;
	__set_bit(m - pool->member, &pool->reverting);
	return -EIO;
}

/* A commit begins: what moves somewhere from now on is not in it.  Context: the committer. */
void hy_members_commit(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++)
		pool->member[i].committing = writes_completed(&pool->member[i]);
	/* A write to what moved after the changes were looked for is not to be among them. */
	smp_rmb();
}

/* It has ended well: what had moved stays there.  Context: the committer. */
void hy_members_committed(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++)
		pool->member[i].committed = pool->member[i].committing;
}

/**
 * hy_members_wrote - may somebody have written to what moved to members, and goes back?
 * @pool: the pool
 * @members: a bit for each of them
 *
 * Flushed or not: a commit may have flushed them and then failed.
 * Context: the committer.
 * Return: one of them has completed writes since the last commit that ended well began.
 */
bool hy_members_wrote(struct hy_pool *pool, unsigned long members)
{
	unsigned int i;

	for_each_set_bit(i, &members, EK_MAX_MEMBERS)
		if (writes_completed(&pool->member[i]) != pool->member[i].committed)
			return true;
	return false;
}

/**
 * hy_members_lost_late - what was acknowledged while it was found out that they lose writes
 * @pool: the pool
 * @members: a bit for each that is doubted since the last flush
 *
 * Who was writing at that moment has been let end, so that all that they may have dropped is
 * counted.  Whom the first telling reaches may have asked before the last of that was done: that
 * is not the only one.
 *
 *	W5, FLUSH-A		b is flushed
 *	W6 over what is there	in b's cache; no entry changes
 *	FLUSH-B, or W6's FUA	wait for the next commit
 *	b's flush fails		W5 and W6 are gone; FLUSH-A is told
 *	the next commit		b's flush ends well, and FLUSH-B would
 *
 * Context: the committer, after a grace period of pool->srcu.
 */
void hy_members_lost_late(struct hy_pool *pool, unsigned long members)
{
	unsigned int i;

	for_each_set_bit(i, &members, EK_MAX_MEMBERS) {
		struct hy_member *m = &pool->member[i];
		u64 now;

		/* A place that was never taken has no writes. */
		if (!m->writes)
			continue;
		now = writes_completed(m);
		if (now == m->lost)
			continue;
		m->lost = now;
		hy_commit_lost(pool);
	}
}

/* Nothing moves to a member that is doubted, which it may be, reinstated as it has failed anew. */
static void distrust(struct hy_pool *pool, struct hy_member *m)
{
	hy_cache_forget_all(pool);
	WRITE_ONCE(m->write_failed, false);	/* of writes that count no more */
	if (degrade(pool, m)) {
		DMERR("member %u is degraded: it failed, and may have lost what it had not flushed",
		      (unsigned int)(m - pool->member));
		queue_work(pool->wq, &pool->event_work);
	}
}

/*
 * What it acknowledged may be gone, even if the next flush succeeds: that is told, and what has not
 * been committed is not relied on any more.  Who was only asked because of what moved there has
 * nothing to tell.
 */
static void flush_failed(struct hy_pool *pool, struct hy_member *m, u64 seen, blk_status_t status)
{
	bool lost = seen != m->flushed;

	/* Once for the same writes, however often that is tried. */
	if (lost && seen != m->lost)
		hy_commit_lost(pool);
	hy_cache_forget_all(pool);
	hy_disk_dropped(m, true);
	count_loss(m);
	WRITE_ONCE(m->write_failed, true);
	m->lost = seen;
	hy_member_error(pool, m, status);
	/* Whatever the error is called, and however many may be. */
	if (degrade(pool, m))
		tell_degraded(pool, m, status);
	if (m->failed_flushes < UINT_MAX)
		m->failed_flushes++;
	if (m->failed_flushes >= READ_ONCE(pool->set.fail_flushes) && has_failed(pool, m)) {
		DMERR("member %u has failed: %u flushes in a row",
		      (unsigned int)(m - pool->member), m->failed_flushes);
		queue_work(pool->wq, &pool->event_work);
	}
	__set_bit(m - pool->member, &pool->reverting);
	if (!lost)
		return;
	if (READ_ONCE(m->state) == EK_MEMBER_FAILED) {
		/* Given up, until something is written there again. */
		hy_commit_lost(pool);
		m->flushed = seen;
	} else {
		pool->unflushed = true;
	}
}

/**
 * hy_member_settle_failed - what was copied to a member could not be made durable
 * @pool: the pool
 * @m: the member
 * @status: what its flush ended with
 *
 * Nor, perhaps, what users wrote there.
 * Context: its flush_lock held.
 */
void hy_member_settle_failed(struct hy_pool *pool, struct hy_member *m, blk_status_t status)
{
	count_loss(m);
	hy_member_distrust(pool, m);
	hy_member_error(pool, m, status);
	/* As in flush_failed(). */
	if (degrade(pool, m))
		tell_degraded(pool, m, status);
}

/*
 * Have extents moved to it that the commit is about, and has it got worse since?  They can stay
 * where they were.
 */
static bool is_in_doubt(struct hy_pool *pool, unsigned int i)
{
	struct hy_member *m = &pool->member[i];

	if (!test_bit(i, &pool->moved_to))
		return false;
	if (!m->bdev)
		return true;
	switch (READ_ONCE(m->state)) {
	case EK_MEMBER_ACTIVE:
		return false;
	case EK_MEMBER_DRAINING:
		return has_errors(m);
	default:
		return true;
	}
}

static bool needs_flush(struct hy_pool *pool, unsigned int i)
{
	struct hy_member *m = &pool->member[i];

	return writes_completed(m) != m->flushed || test_bit(i, &pool->distrusted) ||
	       is_in_doubt(pool, i);
}

/* flush_lock held.  Return: 0: there is no need; 1: it is under way; -EIO: it is lost. */
static int flush_begin(struct hy_pool *pool, unsigned int i, u64 *seen, struct flush_wait *wait)
{
	struct hy_member *m = &pool->member[i];
	bool distrusted = test_and_clear_bit(i, &pool->distrusted);

	/* After the bit: what was acknowledged before it was set is among them. */
	*seen = writes_completed(m);
	if (distrusted)
		distrust(pool, m);
	if (!m->bdev || distrusted)
		return flush_lost(pool, m, *seen, distrusted || is_in_doubt(pool, i));
	if (*seen == m->flushed && !is_in_doubt(pool, i))
		return 0;
	hy_settle_note_writes(m, *seen - (m->flushed == HY_NEVER_FLUSHED ? 0 : m->flushed),
			      pool->asked);
	/* Before: it says nothing of a write that fails meanwhile. */
	WRITE_ONCE(m->write_failed, false);
	member_flush_begin(m, wait);
	return 1;
}

/**
 * hy_members_flush - make completed writes durable
 * @pool: the pool
 * @members: a bit for each that is asked; the others' writes stay as durable as they are
 *
 * Only members that completed writes since their last flush are flushed, all at
 * once.  What one that is lost or can't flush had not flushed is lost: hy_commit_lost() says so
 * to those who ask later, pool->unflushed to those that this commit is for.  Nothing of that may
 * be committed: with these members in pool->reverting it returns -EIO, and is to be called again,
 * for the others, when they are doubted (free.c, take_back.c).  One that is distrusted, as it has
 * failed in between (standing.c), is treated as if it were lost, with what it had not flushed until
 * now.
 *
 * Context: the committer; sleeps.
 * Return: 0, -EIO when a flush failed (that member's stay unflushed).
 */
int hy_members_flush(struct hy_pool *pool, unsigned long members)
{
	struct flush_wait wait = { .pending = ATOMIC_INIT(1) };
	u64 seen[EK_MAX_MEMBERS];
	unsigned long begun = 0;
	unsigned int i;
	int r = 0;

	init_completion(&wait.done);
	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		int begin;

		/* Distrusted, too: that is for the next commit, nothing would come of it here. */
		if (!(members & BIT(i)) || test_bit(i, &pool->doubted) || !needs_flush(pool, i))
			continue;
		/* What a copy's flush that failed has dropped this one would find nothing of. */
		mutex_lock(&m->flush_lock);
		begin = flush_begin(pool, i, &seen[i], &wait);
		if (begin > 0) {
			__set_bit(i, &begun);
			continue;
		}
		mutex_unlock(&m->flush_lock);
		r = begin ?: r;
	}
	flush_put(&wait);
	wait_for_completion_io(&wait.done);
	for_each_set_bit(i, &begun, EK_MAX_MEMBERS) {
		struct hy_member *m = &pool->member[i];
		blk_status_t status = m->flush_bio.bi_status;

		bio_uninit(&m->flush_bio);
		if (status) {
			flush_failed(pool, m, seen[i], status);
			r = -EIO;
		} else {
			m->flushed = seen[i];
			m->failed_flushes = 0;
		}
		mutex_unlock(&m->flush_lock);
	}
	return r;
}

/**
 * hy_member_leaves - a member is being emptied
 * @pool: the pool
 * @m: the member
 *
 * One that has failed stays failed, or nobody would be told any more what is lost with it.
 * Context: message_lock held, so that nobody reinstates it meanwhile.
 */
void hy_member_leaves(struct hy_pool *pool, struct hy_member *m)
{
	/* In the order in which errors change it, whenever they do. */
	if (!change_state(pool, m, EK_MEMBER_ACTIVE, EK_MEMBER_DRAINING))
		change_state(pool, m, EK_MEMBER_DEGRADED, EK_MEMBER_DRAINING);
}

/**
 * hy_member_stays - one that was to leave is a member as it was
 * @pool: the pool
 * @m: the member
 *
 * Context: any.
 */
void hy_member_stays(struct hy_pool *pool, struct hy_member *m)
{
	/*
	 * However many degrade one: it may be doubted at this moment, or have failed before it was
	 * to leave, and only hy_member_reinstate_end() knows that it is not.
	 */
	change_state(pool, m, EK_MEMBER_DRAINING,
		     has_errors(m) ? EK_MEMBER_DEGRADED : EK_MEMBER_ACTIVE);
	/* An error that found it draining counted and changed nothing; one from now on does. */
	smp_mb();
	if (has_errors(m))
		degrade(pool, m);
}

/* Does it say something of the member?  Not if it was asked not to wait, or for what it lacks. */
static bool is_an_error(blk_status_t status)
{
	return status != BLK_STS_NOTSUPP && status != BLK_STS_AGAIN;
}

/**
 * hy_member_error - a member answered with an error
 * @pool: the pool
 * @m: the member
 * @status: what it answered
 *
 * Context: any.
 */
void hy_member_error(struct hy_pool *pool, struct hy_member *m, blk_status_t status)
{
	u64 errors, most = READ_ONCE(pool->set.degrade_errors);

	if (!is_an_error(status))
		return;
	atomic64_inc(&pool->errors);
	errors = atomic64_inc_return(&m->errors);
	if (errors < most)
		return;
	/* One that is draining is told of, too, once. */
	if (degrade(pool, m) || (errors == most && READ_ONCE(m->state) == EK_MEMBER_DRAINING))
		tell_degraded(pool, m, status);
}

/*
 * Of a FUA write that may be a write and a flush: it may be the flush that has failed, and dropped
 * what others wrote.  With a bad medium, no room or no right it was the write, most likely, and no
 * flush followed: that costs nobody what he has written, the store a try at most (lib/store.c).
 */
static void note_fua_failed(struct hy_pool *pool, struct hy_member *m, blk_status_t status)
{
	if (status == BLK_STS_MEDIUM || status == BLK_STS_NOSPC || status == BLK_STS_PROTECTION)
		hy_disk_dropped(m, false);
	else
		hy_member_distrust(pool, m);
}

/**
 * hy_member_failed - a user's request ended with an error
 * @pool: the pool
 * @m: the member
 * @opf: what was asked of it
 * @requests: as many as the monitor took it for
 * @status: what it answered
 *
 * Context: any; the member's device is there.
 */
void hy_member_failed(struct hy_pool *pool, struct hy_member *m, blk_opf_t opf,
		      unsigned int requests, blk_status_t status)
{
	if (!is_an_error(status))
		return;
	atomic64_add(requests, &m->failed_requests);
	if (op_is_write(opf))
		WRITE_ONCE(m->write_failed, true);
	hy_member_error(pool, m, status);
	if (opf & REQ_FUA && hy_disk_fua_flushes(m->bdev))
		note_fua_failed(pool, m, status);
}

/**
 * hy_member_judge - a period has ended: has the member failed?
 * @pool: the pool
 * @m: the member
 * @requests: of users, that ended in the period; of errors those that were measured
 *
 * Context: the balancer.
 */
void hy_member_judge(struct hy_pool *pool, struct hy_member *m, u64 requests)
{
	u64 now = atomic64_read(&m->failed_requests), failed = now - m->seen_failed;
	u64 ended = atomic64_read(&m->failed_ended), bad = ended - m->seen_failed_ended;

	m->seen_failed = now;
	m->seen_failed_ended = ended;
	if (failed < READ_ONCE(pool->set.fail_requests) || bad < requests)
		return;
	/*
	 * Errors of reads alone are a bad medium rather than a cache without power.  One that has
	 * failed already may have had its power back for a while, and lost more.
	 */
	if (READ_ONCE(m->write_failed))
		hy_member_distrust(pool, m);
	if (!has_failed(pool, m))
		return;
	DMERR("member %u has failed: %llu errors in a period and nothing else",
	      (unsigned int)(m - pool->member), failed);
	queue_work(pool->wq, &pool->event_work);
}

/**
 * hy_member_distrust - it may have lost what it has not flushed until now
 * @pool: the pool
 * @m: the member
 *
 * Context: any.
 */
void hy_member_distrust(struct hy_pool *pool, struct hy_member *m)
{
	hy_disk_dropped(m, true);
	set_bit(m - pool->member, &pool->distrusted);
	hy_commit_kick(pool);
}

/**
 * hy_members_rest - the pool is suspended, and its last commit is over
 * @pool: the pool
 *
 * A flush of metadata that failed behind that of the members is none of theirs: nothing has been
 * written since.
 * Context: nothing is committed, no bio is in flight.
 */
void hy_members_rest(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++)
		if (writes_completed(&pool->member[i]) == pool->member[i].flushed)
			clear_bit(i, &pool->distrusted);
}

/**
 * hy_member_reinstate_begin - a member is to be trusted again, if the commit that follows agrees
 * @pool: the pool
 * @m: the member
 *
 * Context: the committer, before the commit.
 */
void hy_member_reinstate_begin(struct hy_pool *pool, struct hy_member *m)
{
	m->failed_flushes = 0;
	if (READ_ONCE(m->state) != EK_MEMBER_FAILED && !READ_ONCE(m->write_failed))
		return;
	hy_disk_dropped(m, true);
	set_bit(m - pool->member, &pool->distrusted);
}

/*
 * Can it flush?  The commit may have had no reason to ask, or not have dared to.  It is asked by
 * the committer, as all are: what one that fails has dropped is known before another is tried.
 */
static int flushes(struct hy_pool *pool, struct hy_member *m)
{
	int r;

	mutex_lock(&m->flush_lock);
	r = blkdev_issue_flush(m->bdev);
	mutex_unlock(&m->flush_lock);
	if (!r)
		return 0;
	m->failed_flushes++;
	hy_member_distrust(pool, m);
	return r;
}

/**
 * hy_member_reinstate_end - the commit has ended well: the member is what it was
 * @pool: the pool
 * @m: the member
 *
 * Context: the committer; sleeps; takes heat_lock.
 * Return: 0; -EIO: it could not flush, or another error that its flush ended with.
 */
int hy_member_reinstate_end(struct hy_pool *pool, struct hy_member *m)
{
	int r;

	/* Distrusted since, or by a commit that had no use for it: another one has to be asked. */
	if (m->failed_flushes || test_bit(m - pool->member, &pool->doubted) ||
	    test_bit(m - pool->member, &pool->distrusted))
		return -EIO;
	r = flushes(pool, m);
	if (r)
		return r;
	/* That of a copy was before it, and has failed. */
	if (test_bit(m - pool->member, &pool->distrusted))
		return -EIO;
	WRITE_ONCE(m->write_failed, false);
	/* What failed until now says nothing of the rest of the period. */
	mutex_lock(&pool->heat_lock);
	m->seen_failed = atomic64_read(&m->failed_requests);
	mutex_unlock(&pool->heat_lock);
	atomic64_set(&m->errors, 0);
	change_state(pool, m, EK_MEMBER_FAILED,
		     READ_ONCE(m->leaving) ? EK_MEMBER_DRAINING : EK_MEMBER_ACTIVE);
	change_state(pool, m, EK_MEMBER_DEGRADED, EK_MEMBER_ACTIVE);
	/* As in hy_member_stays(). */
	smp_mb();
	if (has_too_many_errors(pool, m))
		degrade(pool, m);
	return 0;
}
