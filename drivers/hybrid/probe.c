// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle probes: how long does a member take that has nothing to do?  The policy can't see that of
 * one that is not in use, and hardly of one that always is; see policy_estimate.c.
 *
 * A probe is a read of the mean size of the users' reads, at a place that is drawn, so that
 * it is in no cache, of those that have been written to if they are many, while neither users
 * nor copies are at the member.  There are at most ten a second of a member until enough are known,
 * then one; none unless the policy wants them, and none while the pool is not in use.  What was
 * read is thrown away, and an error is none of the users'.
 *
 * A policy that has to place extents before there is a load may want some at once: then one
 * follows the other, of all members at a time, and the period ends when there are enough.
 */
#include <linux/bio.h>
#include <linux/random.h>
#include "hybrid.h"
#include "policy_first.h"

#define HY_PROBE_BYTES	4096
#define HY_PROBE_MAX	32		/* of them in a read */
#define HY_PROBES_KNOWN	32
#define HY_PROBE_DRAWS	16		/* of places, for one that was written to */
#define HY_PROBE_GAP	(100 * NSEC_PER_MSEC)
#define HY_PROBE_LATER	NSEC_PER_SEC
#define HY_PROBE_TRIES	(2 * HY_FIRST_PROBES)	/* at once, in a period */

static void probe_end(struct bio *bio)
{
	struct hy_member *m = bio->bi_private;
	struct hy_pool *pool = m->probe.pool;
	u64 ns = ktime_get_ns() - m->probe.start_ns;
	unsigned long flags;

	/* Not of use when users or copies came meanwhile: they may have been in its way. */
	if (!bio->bi_status && ek_rtmon_is_idle(m->mon)) {
		u64 nr = atomic64_read(&m->probe.nr);

		WRITE_ONCE(m->probe.last[do_div(nr, HY_FIRST_PROBES)], ns);
		atomic64_add(ns, &m->probe.ns);
		atomic64_inc(&m->probe.nr);
	}
	bio_free_pages(bio);
	bio_put(bio);
	spin_lock_irqsave(&pool->probe_lock, flags);
	WRITE_ONCE(m->probe.busy, false);
	if (m->probe.hurry)
		hy_balance_kick(pool);
	/* Under the lock: the pool may go as soon as hy_probe_stop() has it. */
	if (!--pool->nr_probing)
		wake_up_all(&pool->mig_wait);
	spin_unlock_irqrestore(&pool->probe_lock, flags);
}

/* Pages that users read at a time, mean of the last period; 0: nobody reads or writes. */
static unsigned int probe_pages(struct hy_pool *pool)
{
	u64 reads = 0, writes = 0, bytes = 0, pages;
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		const struct ek_rt_sample *s = &pool->member[i].sample;

		reads += s->dir[EK_READ].count;
		writes += s->dir[EK_WRITE].count;
		bytes += s->dir[EK_READ].bytes;
	}
	if (!reads)
		return !!writes;
	pages = DIV64_U64_ROUND_UP(bytes, reads * HY_PROBE_BYTES);
	pages = min_t(u64, pages, (pool->extent_sectors << SECTOR_SHIFT) / HY_PROBE_BYTES);
	return clamp_t(u64, pages, 1, HY_PROBE_MAX);
}

/*
 * Where nothing was written yet a thin volume, a sparse image, or an SSD that was told so by a
 * discard answers without its media. Each of those that were written to is as likely; where they
 * are few it is mostly another one, as their device's own cache would answer for them.
 */
static u32 probe_extent(struct hy_member *m)
{
	unsigned int draws = 0;
	u32 pe;

	do
		pe = (u64)get_random_u32() * m->nr_extents >> 32;
	while (!ek_space_is_used(&m->space, pe) && ++draws < HY_PROBE_DRAWS);
	return pe;
}

static sector_t probe_sector(struct hy_pool *pool, struct hy_member *m)
{
	return m->data + ((sector_t)probe_extent(m) << pool->extent_shift);
}

static struct bio *probe_bio(struct hy_pool *pool, struct hy_member *m, unsigned int pages)
{
	struct bio *bio = bio_alloc(m->bdev, pages, REQ_OP_READ, GFP_NOWAIT);
	struct page *page;

	if (!bio)
		return NULL;
	/* Nobody looks at them, but for devices that verify what they read. */
	while (pages--) {
		page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page) {
			bio_free_pages(bio);
			bio_put(bio);
			return NULL;
		}
		__bio_add_page(bio, page, HY_PROBE_BYTES, 0);
	}
	bio->bi_iter.bi_sector = probe_sector(pool, m);
	bio->bi_private = m;
	bio->bi_end_io = probe_end;
	return bio;
}

static void probe(struct hy_pool *pool, struct hy_member *m, unsigned int pages, u64 now,
		  bool hurry)
{
	bool known = atomic64_read(&m->probe.nr) >= HY_PROBES_KNOWN;
	struct bio *bio = probe_bio(pool, m, pages);

	m->probe.due = now + (known ? HY_PROBE_LATER : HY_PROBE_GAP);
	if (!bio)
		return;
	spin_lock_irq(&pool->probe_lock);
	m->probe.busy = true;
	m->probe.hurry = hurry;
	m->probe.tries++;
	pool->nr_probing++;
	spin_unlock_irq(&pool->probe_lock);
	m->probe.start_ns = ktime_get_ns();
	submit_bio(bio);
}

/**
 * hy_probe_tick - probe the members that are due and have nothing to do
 * @pool: the pool, running
 * @now: ns
 *
 * Context: the balancer's work; does not wait for the reads.
 */
void hy_probe_tick(struct hy_pool *pool, u64 now)
{
	unsigned int i, pages = probe_pages(pool);
	u32 wanted;
	bool now_wanted;

	spin_lock_irq(&pool->policy_lock);
	wanted = pool->decision.probe;
	now_wanted = pool->decision.probe_now;
	spin_unlock_irq(&pool->policy_lock);
	if (now_wanted)
		pages = max(pages, 1U);
	/* Not after hy_probe_stop(). */
	if (!READ_ONCE(pool->running))
		return;
	for (i = 0; pages && i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		bool hurry = now_wanted && m->probe.tries < HY_PROBE_TRIES;

		if (!(wanted & BIT(i)) || READ_ONCE(m->probe.busy) ||
		    (now < m->probe.due && !hurry))
			continue;
		if (m->bdev && m->state == EK_MEMBER_ACTIVE && ek_rtmon_is_idle(m->mon))
			probe(pool, m, pages, now, hurry);
	}
}

/**
 * hy_probes_are_known - were all made that the policy wanted at once?
 * @pool: the pool
 *
 * Context: the balancer's work.
 * Return: if it wanted some.
 */
bool hy_probes_are_known(struct hy_pool *pool)
{
	unsigned int i;
	u32 wanted;

	spin_lock_irq(&pool->policy_lock);
	wanted = pool->decision.probe_now ? pool->decision.probe : 0;
	spin_unlock_irq(&pool->policy_lock);
	for (i = 0; i < pool->nr_members; i++) {
		struct hy_probe *p = &pool->member[i].probe;

		if ((wanted & BIT(i)) &&
		    atomic64_read(&p->nr) - p->seen_nr < HY_FIRST_PROBES)
			return false;
	}
	return wanted;
}

/**
 * hy_probe_sample - what probes have shown since the last call
 * @m: the member
 * @d: its @probes, @probe_ns and @probe_mid_ns are set
 *
 * Context: the balancer's work.
 */
void hy_probe_sample(struct hy_member *m, struct hy_dev_snap *d)
{
	u64 nr = atomic64_read(&m->probe.nr), ns = atomic64_read(&m->probe.ns);

	d->probes = nr - m->probe.seen_nr;
	d->probe_ns = d->probes ? div_u64(ns - m->probe.seen_ns, d->probes) : 0;
	d->probe_mid_ns = nr >= HY_FIRST_PROBES ? hy_first_median(m->probe.last) : 0;
	m->probe.tries = 0;
	m->probe.seen_nr = nr;
	m->probe.seen_ns = ns;
}

/* The members' monitors may not be there yet. */
void hy_probe_init(struct hy_pool *pool)
{
	unsigned int i;

	spin_lock_init(&pool->probe_lock);
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		pool->member[i].probe.pool = pool;
}

/* No tick is under way.  Returns when no probe is either. */
void hy_probe_stop(struct hy_pool *pool)
{
	spin_lock_irq(&pool->probe_lock);
	wait_event_lock_irq(pool->mig_wait, !pool->nr_probing, pool->probe_lock);
	spin_unlock_irq(&pool->probe_lock);
}
