// SPDX-License-Identifier: GPL-2.0-only
/* Completions; see due.h. */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/mempool.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "due.h"
#include "buf.h"

#define NL_REQS_KEPT	64	/* of all devices, for bios that come when memory is short */

static struct kmem_cache *nl_req_cache;
static mempool_t *nl_reqs;

static bool nl_due_try(struct nl_due *due)
{
	unsigned int depth = READ_ONCE(due->depth);
	int taken = atomic_read(&due->taken);

	do {
		if (depth && taken >= depth)
			return false;
	} while (!atomic_try_cmpxchg(&due->taken, &taken, taken + 1));
	return true;
}

/* One who waits, on his stack. */
struct nl_turn {
	wait_queue_entry_t entry;
	struct nl_due *due;
	bool has_place;
};

/*
 * Under the lock of nl_due.room, in the order in which they came: the place is taken for him, so
 * nobody who comes later has it first. Off the list last: then his stack is his again.
 */
static int nl_due_turn(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct nl_turn *turn = container_of(entry, struct nl_turn, entry);

	if (!nl_due_try(turn->due))
		return -1;
	WRITE_ONCE(turn->has_place, true);
	default_wake_function(entry, mode, flags, key);
	list_del_init_careful(&entry->entry);
	return 1;
}

static void nl_due_wait(struct nl_due *due)
{
	struct nl_turn turn = {
		.entry = { .private = current, .func = nl_due_turn },
		.due = due,
	};
	bool first;

	INIT_LIST_HEAD(&turn.entry.entry);
	first = prepare_to_wait_exclusive(&due->room, &turn.entry, TASK_UNINTERRUPTIBLE);
	/* Nobody may be left who would wake the first one. */
	first = first && nl_due_try(due);
	while (!first && !READ_ONCE(turn.has_place)) {
		io_schedule();
		set_current_state(TASK_UNINTERRUPTIBLE);
	}
	finish_wait(&due->room, &turn.entry);
	if (first && READ_ONCE(turn.has_place))
		nl_due_leave(due);	/* taken twice */
}

/**
 * nl_due_enter - have a place for a bio
 * @due: the device's
 * @nowait: rather none than wait
 *
 * As others end one by one, or all at once when the power goes, it takes no longer than those that
 * came before it do.
 * Context: may sleep, unless @nowait; no lock, and nothing that a bio of the device needs to end.
 * Return: false: there is none.
 */
bool nl_due_enter(struct nl_due *due, bool nowait)
{
	/* Whoever begins to wait just now is overtaken by one, which needs no barrier. */
	if (likely(!waitqueue_active(&due->room) && nl_due_try(due)))
		return true;
	if (nowait)
		return false;
	nl_due_wait(due);
	return true;
}

/**
 * nl_due_leave - give the place of a bio back
 * @due: the device's
 *
 * Context: any.
 */
void nl_due_leave(struct nl_due *due)
{
	atomic_dec(&due->taken);
	if (wq_has_sleeper(&due->room))		/* its barrier is against prepare_to_wait()'s */
		wake_up(&due->room);
}

/**
 * nl_due_forget - nothing was late so far
 * @due: of a device that begins
 *
 * Context: process context.
 */
void nl_due_forget(struct nl_due *due)
{
	spin_lock_irq(&due->lock);
	memset(due->late, 0, sizeof(due->late));
	due->late_max = 0;
	spin_unlock_irq(&due->lock);
}

/**
 * nl_due_limit - how many bios may be under way
 * @due: the device's
 * @depth: so many; 0: any number. More than that may be for as long as they take
 *
 * Context: any.
 */
void nl_due_limit(struct nl_due *due, unsigned int depth)
{
	WRITE_ONCE(due->depth, depth);
	wake_up_all(&due->room);
}

/**
 * nl_req_alloc - begin a bio
 * @due: the device's
 * @bio: it, which has a place
 * @cuts: nl_due.cuts when it was submitted
 *
 * Who may wait gets one: those that are kept come back when bios end, which takes nothing but time.
 * Context: may sleep, unless the bio must not; without a lock that a bio needs to end.
 * Return: NULL without memory, for one that must not wait.
 */
struct nl_req *nl_req_alloc(struct nl_due *due, struct bio *bio, unsigned int cuts)
{
	gfp_t gfp = bio->bi_opf & REQ_NOWAIT ? NL_GFP_NOWAIT : GFP_NOIO;
	struct nl_req *req = mempool_alloc(nl_reqs, gfp);

	if (!req)
		return NULL;
	req->bio = bio;
	req->of = due;
	req->due = 0;
	req->cuts = cuts;
	req->accounted = blk_queue_io_stat(bdev_get_queue(bio->bi_bdev)) && bio_sectors(bio);
	if (req->accounted)
		req->start = bio_start_io_acct(bio);
	return req;
}

/**
 * nl_req_alloc_other - begin a request that is no bio
 * @due: the device's
 * @end: told when it ends, in any context
 * @ctx: passed to it
 *
 * Context: may sleep.
 * Return: NULL without memory.
 */
struct nl_req *nl_req_alloc_other(struct nl_due *due, void (*end)(void *ctx, blk_status_t status),
				  void *ctx)
{
	struct nl_req *req = kmem_cache_zalloc(nl_req_cache, NL_GFP_IO);

	if (!req)
		return NULL;
	req->end = end;
	req->ctx = ctx;
	req->cuts = READ_ONCE(due->cuts);
	return req;
}

static void nl_req_end_other(struct nl_req *req, blk_status_t status)
{
	void (*end)(void *ctx, blk_status_t status) = req->end;
	void *ctx = req->ctx;

	kmem_cache_free(nl_req_cache, req);
	end(ctx, status);
}

/**
 * nl_req_end - end a bio now, which gives its place back
 * @req: of the bio; freed
 * @status: its result
 *
 * Context: any.
 */
void nl_req_end(struct nl_req *req, blk_status_t status)
{
	struct bio *bio = req->bio;

	if (!bio) {
		nl_req_end_other(req, status);
		return;
	}
	if (req->accounted)
		bio_end_io_acct(bio, req->start);
	nl_due_leave(req->of);
	mempool_free(req, nl_reqs);
	if (status)
		bio->bi_status = status;
	bio_endio(bio);
}

static bool nl_due_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct nl_req, node)->due < rb_entry(b, struct nl_req, node)->due;
}

static void nl_count_late(struct nl_due *due, u64 ns)
{
	due->late[min_t(unsigned int, fls64(ns / 1000), NL_LATE_BUCKETS - 1)]++;
	due->late_max = max(due->late_max, ns);
}

static struct nl_req *nl_due_first(struct nl_due *due)
{
	return rb_entry_safe(rb_first_cached(&due->pending), struct nl_req, node);
}

static void nl_due_arm(struct nl_due *due)
{
	struct nl_req *first = nl_due_first(due);

	if (!first || first->due >= due->armed)
		return;
	due->armed = first->due;
	hrtimer_start(&due->timer, ns_to_ktime(due->armed), HRTIMER_MODE_ABS_PINNED);
}

/* Those due by @now, on a list in order of time. */
static void nl_due_take(struct nl_due *due, u64 now, struct list_head *out)
{
	struct nl_req *req;

	while ((req = nl_due_first(due)) && req->due <= now) {
		rb_erase_cached(&req->node, &due->pending);
		nl_count_late(due, now - req->due);
		list_add_tail(&req->list, out);
	}
}

/* At its time, or by a cut: then it failed. */
static void nl_req_over(struct nl_req *req, blk_status_t status)
{
	if (status && req->bio)
		atomic64_inc(&req->of->errors);
	nl_req_end(req, status);
}

static unsigned int nl_end_all(struct list_head *list, blk_status_t status)
{
	struct nl_req *req, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(req, next, list, list) {
		nl_req_over(req, status);
		n++;
	}
	return n;
}

static void nl_due_ended(struct nl_due *due, unsigned int n)
{
	unsigned long flags;

	spin_lock_irqsave(&due->lock, flags);
	due->inflight -= n;
	if (!due->inflight)
		wake_up_all(&due->idle);
	spin_unlock_irqrestore(&due->lock, flags);
}

static enum hrtimer_restart nl_due_timer(struct hrtimer *timer)
{
	struct nl_due *due = container_of(timer, struct nl_due, timer);
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&due->lock, flags);
	due->armed = U64_MAX;
	nl_due_take(due, ktime_get_ns(), &done);
	nl_due_arm(due);
	spin_unlock_irqrestore(&due->lock, flags);
	nl_due_ended(due, nl_end_all(&done, BLK_STS_OK));
	return HRTIMER_NORESTART;
}

/**
 * nl_due_at - end a bio with success at its time, at once if that has passed
 * @due: the device's
 * @req: of the bio, with req->due set
 *
 * One whose power is cut before that ends with an error, even if it is back meanwhile: what the bio
 * left in the write buffer is gone, and no flush to come would know of it.
 * Context: any.
 */
void nl_due_at(struct nl_due *due, struct nl_req *req)
{
	blk_status_t status = BLK_STS_OK;
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&due->lock, flags);
	now = ktime_get_ns();
	if (due->closed || due->cuts != req->cuts) {
		status = BLK_STS_IOERR;
	} else if (req->due > now) {
		rb_add_cached(&req->node, &due->pending, nl_due_before);
		due->inflight++;
		nl_due_arm(due);
		req = NULL;
	} else {
		nl_count_late(due, now - req->due);
	}
	spin_unlock_irqrestore(&due->lock, flags);
	if (req)
		nl_req_over(req, status);
}

/**
 * nl_due_close - from now on every bio ends with an error, those that wait at once
 * @due: the device's
 *
 * Context: process context.
 */
void nl_due_close(struct nl_due *due)
{
	LIST_HEAD(taken);
	struct nl_req *req;

	spin_lock_irq(&due->lock);
	due->closed = true;
	WRITE_ONCE(due->cuts, due->cuts + 1);
	while ((req = nl_due_first(due))) {
		rb_erase_cached(&req->node, &due->pending);
		list_add_tail(&req->list, &taken);
	}
	spin_unlock_irq(&due->lock);
	nl_due_ended(due, nl_end_all(&taken, BLK_STS_IOERR));
}

/**
 * nl_due_open - take bios in again
 * @due: the device's
 *
 * Context: process context.
 */
void nl_due_open(struct nl_due *due)
{
	spin_lock_irq(&due->lock);
	due->closed = false;
	spin_unlock_irq(&due->lock);
}

/**
 * nl_due_drain - wait until every bio has ended and the timer is at rest
 * @due: the device's; nobody begins bios any more
 *
 * Context: process context; sleeps.
 */
void nl_due_drain(struct nl_due *due)
{
	wait_event(due->idle, !READ_ONCE(due->inflight));
	/* who woke this may still hold the lock */
	spin_lock_irq(&due->lock);
	spin_unlock_irq(&due->lock);
	/* a cut ends its bios and leaves it armed: it would not be armed again */
	hrtimer_cancel(&due->timer);
	due->armed = U64_MAX;
}

void nl_due_init(struct nl_due *due)
{
	spin_lock_init(&due->lock);
	due->pending = RB_ROOT_CACHED;
	hrtimer_init(&due->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED);
	due->timer.function = nl_due_timer;
	due->armed = U64_MAX;
	init_waitqueue_head(&due->idle);
	init_waitqueue_head(&due->room);
}

int nl_due_start_up(void)
{
	nl_req_cache = KMEM_CACHE(nl_req, 0);
	if (!nl_req_cache)
		return -ENOMEM;
	nl_reqs = mempool_create_slab_pool(NL_REQS_KEPT, nl_req_cache);
	if (nl_reqs)
		return 0;
	kmem_cache_destroy(nl_req_cache);
	return -ENOMEM;
}

void nl_due_shut_down(void)
{
	mempool_destroy(nl_reqs);
	kmem_cache_destroy(nl_req_cache);
}
