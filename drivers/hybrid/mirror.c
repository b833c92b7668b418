// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: metadata areas that leave and come while the pool is active
 *
 *	leave	an area is left out.  Before, all pages are compared, and then the journal with
 *		what is in memory, so that nothing is damaged or older on the one that stays
 *	vacate	the same, and its place is vacant from then on: none is missed there, and the area
 *		itself is told.  Only where the other one is all that is needed
 *	resync	an area that was left out, or another that a table has put in its place, is made a
 *		mirror (lib/resync.c)
 *
 * A device is replaced so; each line is cut as it was after the one before:
 *
 *	leave			the pool goes on with the other area, which calls this one stale
 *	label			a tool has written it to the new device: this pool's, the same
 *				place, a uuid of its own; no superblock names that, so nobody
 *				believes it
 *	table			with the new device in place of the old one.  It is not used
 *	resync			until its last step neither is believed, whichever is found; then
 *				the new one is, and by its uuid the old one never again
 *
 * From "leave" to the end of "resync" the metadata is on one device only.  If that is lost, the old
 * device has what there was at "leave": it is not told that it left, and wiped when all is done.
 *
 * Both are done some pages at a time by a work item of the committer's queue, which is ordered:
 * so the store still has one caller at a time, and who wants a commit waits for a step at most.
 * A suspension gives them up, as the table that comes next may have other devices.  So does a flush
 * that fails of a disk that is written to (lib/resync.c, lib/store.c).
 */
#include <linux/sched/mm.h>
#include "hybrid.h"

static int begin(struct hy_pool *pool)
{
	struct hy_mirror *m = &pool->mirror;
	unsigned int areas = ek_store_areas(pool->store);

	if (!hy_pool_writable(pool))
		return -EROFS;
	if (m->op == HY_MIRROR_LEAVE)
		return areas & BIT(m->area) && areas & ~BIT(m->area) ? 0 : -EINVAL;
	/* One that is stale already can still leave for good. */
	if (m->op == HY_MIRROR_VACATE)
		return areas & ~BIT(m->area) ? 0 : -EINVAL;
	if (!pool->meta[m->area].dev)
		return -ENODEV;
	return ek_store_resync_begin(pool->store, m->area,
				     (u64)pool->meta[m->area].sectors << SECTOR_SHIFT,
				     pool->meta[m->area].uuid, m->mend.buf);
}

static int step(struct hy_pool *pool)
{
	struct hy_mirror *m = &pool->mirror;
	int r;

	if (!READ_ONCE(pool->running))
		return -EAGAIN;
	if (!hy_pool_writable(pool))
		return -EROFS;
	if (m->op == HY_MIRROR_RESYNC)
		return ek_store_resync_step(pool->store);
	/* The one that leaves may be the one that can't be written any more. */
	r = ek_store_areas(pool->store) & BIT(m->area) ? ek_store_mend_step(pool->store, &m->mend) :
							  0;
	if (r)
		return r;
	return m->op == HY_MIRROR_VACATE ? ek_store_vacate(pool->store, m->area) :
					   ek_store_leave_out(pool->store, m->area);
}

/* Who sees that there is none under way may begin another: all is left as it was before. */
static void over(struct hy_mirror *m)
{
	kvfree(m->mend.buf);
	m->mend.buf = NULL;
	smp_store_release(&m->op, HY_MIRROR_NONE);	/* pairs with hy_mirror() */
}

static void end(struct hy_pool *pool, int error)
{
	struct hy_mirror *m = &pool->mirror;
	const char *done = m->op != HY_MIRROR_RESYNC ? "has left" : "is a mirror";
	const char *not = m->op != HY_MIRROR_RESYNC ? "does not leave" : "is no mirror";

	ek_store_resync_stop(pool->store);
	if (m->mend.mended)
		DMWARN("%llu pages of the metadata were written anew from the other area",
		       m->mend.mended);
	if (error)
		DMERR("metadata area %u %s: error %d", m->area, not, error);
	else
		DMINFO("metadata area %u %s", m->area, done);
	if (ek_store_writable(pool->store) == -EIO)
		hy_pool_needs_check(pool, "the superblock can't be written");
	over(m);
	queue_work(pool->wq, &pool->event_work);
}

static void mirror_work(struct work_struct *work)
{
	struct hy_pool *pool = container_of(work, struct hy_pool, mirror.work);
	unsigned int noio = memalloc_noio_save();
	struct hy_mirror *m = &pool->mirror;
	int r;

	if (smp_load_acquire(&m->op) == HY_MIRROR_NONE)	/* pairs with hy_mirror() */
		goto out;
	if (!m->begun) {
		r = begin(pool);
		m->error = r;
		m->begun = true;
		if (r)
			over(m);
		else
			queue_work(pool->wq, &pool->event_work);
		complete(&m->answer);
		if (r)
			goto out;
	}
	r = step(pool);
	hy_commit_is_over(pool);
	if (r > 0)
		queue_work(pool->commit_wq, &m->work);
	else
		end(pool, r);
out:
	memalloc_noio_restore(noio);
}

/**
 * hy_mirror - begin to let a metadata area leave, for good or not, or to make one a mirror
 * @pool: the pool, loaded
 * @op: which of these
 * @area: which area
 *
 * It goes on by itself; the status shows it, and what has become of it.
 * Context: message_lock held; sleeps.
 * Return: 0: it has begun; -EBUSY: one of them is under way, or the pool is suspended; -EINVAL: no
 * such area, the last one in use, or a mirror already; -ENODEV: it is not there; -ENOSPC: it is too
 * small; -EEXIST: it went on without the one in use; -EROFS; -ENOMEM.
 */
int hy_mirror(struct hy_pool *pool, enum hy_mirror_op op, unsigned int area)
{
	struct hy_mirror *m = &pool->mirror;

	if (area >= pool->nr_meta)
		return -EINVAL;
	/* Pairs with over(). */
	if (smp_load_acquire(&m->op) != HY_MIRROR_NONE || !READ_ONCE(pool->running))
		return -EBUSY;
	memset(&m->mend, 0, sizeof(m->mend));
	m->mend.areas = ~BIT(area);
	m->mend.buf = ek_store_sync_buf();
	if (!m->mend.buf)
		return -ENOMEM;
	m->area = area;
	m->begun = false;
	reinit_completion(&m->answer);
	/* Pairs with mirror_work(): one that is queued for hy_mirror_stop() may be running. */
	smp_store_release(&m->op, op);
	queue_work(pool->commit_wq, &m->work);
	wait_for_completion(&m->answer);
	return m->error;
}

/**
 * hy_mirror_at - how far is what is under way?
 * @pool: the pool, loaded
 * @area: set to which area
 * @done: set to pages looked at or copied
 * @total: set to how many there are, for a resync each of them twice
 *
 * Context: any; takes no lock of the work's: it may be a step behind.
 * Return: false: none is under way.
 */
bool hy_mirror_at(struct hy_pool *pool, unsigned int *area, u64 *done, u64 *total)
{
	struct hy_mirror *m = &pool->mirror;
	enum hy_mirror_op op = READ_ONCE(m->op);

	*area = READ_ONCE(m->area);
	if (op == HY_MIRROR_RESYNC)
		return ek_store_resync_at(pool->store, done, total);
	*done = READ_ONCE(m->mend.at);
	*total = le64_to_cpu(ek_store_super(pool->store)->nr_pages);
	return op != HY_MIRROR_NONE;
}

/**
 * hy_mirror_stop - give up what is under way
 * @pool: the pool, not running any more
 *
 * Context: sleeps.
 */
void hy_mirror_stop(struct hy_pool *pool)
{
	/* One that was queued before may have seen it running; this one does not: the last. */
	queue_work(pool->commit_wq, &pool->mirror.work);
	flush_work(&pool->mirror.work);
}

struct leaving {
	struct work_struct work;
	struct hy_pool *pool;
	unsigned long areas;
	int error;
};

/*
 * The one that goes is to be called stale. If that can't be written nothing can be: the pool goes
 * on for reading. Suspended, it would wait for a table that has a device which may be gone, with
 * all that waits for it.
 */
static void leave_one(struct leaving *l, unsigned int area)
{
	int r = ek_store_leave_out(l->pool->store, area);

	if (r == -EIO)
		hy_pool_needs_check(l->pool, "no metadata area can be left out");
	else if (r)
		l->error = r;
	else
		DMWARN("metadata area %u is left out: the table has it not", area);
}

static void leave_work(struct work_struct *work)
{
	struct leaving *l = container_of(work, struct leaving, work);
	unsigned int noio = memalloc_noio_save();
	unsigned int i;

	for_each_set_bit(i, &l->areas, EK_MAX_META)
		if (!l->error && !l->pool->needs_check)
			leave_one(l, i);
	hy_commit_is_over(l->pool);
	memalloc_noio_restore(noio);
}

/**
 * hy_mirror_leave_now - go on without metadata areas
 * @pool: the pool, loaded, not running, its tables' devices still those of before
 * @areas: which ones
 *
 * The journals of those that stay are compared, which takes a read of 2 MiB at most; all pages
 * would take as long as whoever waits for the resume should not.
 *
 * Context: preresume; sleeps; takes no memory.
 * Return: 0, also if it is read-only from now on; or an error as ek_store_leave_out().
 */
int hy_mirror_leave_now(struct hy_pool *pool, unsigned int areas)
{
	struct leaving l = { .pool = pool, .areas = areas };

	INIT_WORK_ONSTACK(&l.work, leave_work);
	queue_work(pool->commit_wq, &l.work);
	flush_work(&l.work);
	destroy_work_on_stack(&l.work);
	/* A commit that it asked for is of the devices that are about to go. */
	flush_workqueue(pool->commit_wq);
	return l.error;
}

void hy_mirror_init(struct hy_pool *pool)
{
	INIT_WORK(&pool->mirror.work, mirror_work);
	init_completion(&pool->mirror.answer);
}
