// SPDX-License-Identifier: GPL-2.0-only
/*
 * The balancer: every tick it takes in what was accessed and lets the mover work;
 * every period (2 s) it measures the members and asks the policy.
 */
#include <linux/math64.h>
#include "hybrid.h"
#include "hybrid_trace.h"
#include "policy_util.h"

#define HY_TICK_MS	100
#define HY_PROBING_MS	250	/* users wait for probes at most */

/* Of @all accesses of a CPU since the last tick only so many are known, the last ones. */
static u32 ring_known(u32 all)
{
	return min_t(u32, all, HY_RING);
}

/*
 * The @i-th of those that are known.  It stands for some of those that are not, or what a CPU with
 * many accesses makes hot would look cold beside what one with few accesses does.
 */
static struct hy_access access_in(struct hy_pool *pool, const struct hy_ring *ring, u32 i, u32 all)
{
	u32 at = ring->tail + all - ring_known(all) + i;
	u64 slot = READ_ONCE(ring->slot[at & (HY_RING - 1)]);
	sector_t sector = slot >> 8;
	struct hy_access a = {
		.le = sector >> pool->extent_shift,
		.offset = sector & (pool->extent_sectors - 1),
		.weight = hy_access_weight(i, ring_known(all), all),
		.member = slot & HY_ACCESS_MEMBER,
		.write = slot & HY_ACCESS_WRITE,
		.large = slot & HY_ACCESS_LARGE,
		.ahead = slot & HY_ACCESS_AHEAD,
	};

	return a;
}

/* The @all accesses of a CPU since the last tick, for a policy that asks; heat_lock held. */
static void tell_policy(struct hy_pool *pool, const struct hy_ring *ring, u32 all)
{
	struct hy_policy *policy;
	u32 i, n = ring_known(all);

	spin_lock_irq(&pool->policy_lock);
	policy = pool->policy;
	for (i = 0; policy->ops->accessed && i < n; i++) {
		struct hy_access a = access_in(pool, ring, i, all);

		a.pinned = pool->set.pins.nr && hy_pins_find(&pool->set.pins, a.le) >= 0;
		policy->ops->accessed(policy, &a);
	}
	spin_unlock_irq(&pool->policy_lock);
}

/*
 * heat_lock held: whoever has to move on waits for it, and lanes for the same workers, so nobody
 * waits for memory here.  Without any the coldest extent is forgotten for this one, or the access
 * is.
 */
static void take_accesses_of(struct hy_pool *pool, struct hy_ring *ring)
{
	u32 i, all = READ_ONCE(ring->head) - ring->tail;

	tell_policy(pool, ring, all);
	for (i = 0; i < ring_known(all); i++) {
		struct hy_access a = access_in(pool, ring, i, all);

		if (!a.ahead)
			hy_heat_touch(&pool->heat, a.le, a.member, a.write, a.weight,
				      GFP_NOWAIT | __GFP_NOWARN);
	}
	ring->tail += all;
}

/* heat_lock held. */
static void take_accesses(struct hy_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		take_accesses_of(pool, per_cpu_ptr(pool->rings, cpu));
}

/* Why the policy let extents stay, into the pool's counters. */
static void take_stays(struct hy_pool *pool)
{
	u32 *stays;
	unsigned int why;

	spin_lock_irq(&pool->policy_lock);
	stays = pool->policy->stays;
	for (why = 0; why < HY_REASONS; why++) {
		if (stays[why])
			atomic64_add(stays[why], &pool->not_migrated[why]);
		stays[why] = 0;
	}
	spin_unlock_irq(&pool->policy_lock);
}

/* policy_lock held.  @worst: of the states of members that are usable. */
static void snap_space(struct hy_pool *pool, u32 worst)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		struct hy_dev_snap *d = &pool->snap.dev[i];

		d->usable = m->bdev && READ_ONCE(m->state) <= worst;
		d->extents = m->nr_extents;
		d->free = ek_space_nr_free(&m->space);
	}
}

/* Who has room, and what time it is, now; policy_lock held. */
void hy_snap_space(struct hy_pool *pool)
{
	pool->snap.now_ns = ktime_get_ns();
	pool->snap.cooldown_ns = (u64)READ_ONCE(pool->set.cooldown_ms) * NSEC_PER_MSEC;
	snap_space(pool, EK_MEMBER_ACTIVE);
}

/**
 * hy_place - find a place for a new extent
 * @pool: the pool
 * @le: logical extent
 * @pe: set to the physical extent, taken
 *
 * Behind its logical predecessor if that is on the same member, so that what is
 * written in order lies in order.
 * Context: any; takes policy_lock and space->lock.
 * Return: member; -1: no space.
 */
int hy_place(struct hy_pool *pool, u64 le, u32 *pe)
{
	unsigned int tries;
	unsigned long flags;
	u64 before = 0;

	if (le && ek_map_lookup(&pool->map, le - 1, &before))
		before = 0;
	for (tries = 0; tries <= pool->nr_members; tries++) {
		u32 goal = EK_SPACE_NONE;
		int member;

		spin_lock_irqsave(&pool->policy_lock, flags);
		snap_space(pool, EK_MEMBER_ACTIVE);
		member = hy_pins_find(&pool->set.pins, le);
		if (member < 0 || !hy_has_room(&pool->snap.dev[member]))
			member = hy_policy_place(pool->policy, &pool->snap, &pool->tokens, le);
		if (member < 0) {
			snap_space(pool, EK_MEMBER_DEGRADED);
			member = hy_policy_place(pool->policy, &pool->snap, &pool->tokens, le);
		}
		spin_unlock_irqrestore(&pool->policy_lock, flags);
		if (member < 0)
			return -1;
		if (ek_entry_mapped(before) && ek_entry_member(before) == member)
			goal = ek_entry_pe(before) + 1;
		*pe = ek_space_alloc(&pool->member[member].space, goal);
		/* State after place: see hy_remove_member(). */
		if (*pe != EK_SPACE_NONE && !hy_member_takes(&pool->member[member])) {
			ek_space_free(&pool->member[member].space, *pe, 1);
			continue;
		}
		if (*pe != EK_SPACE_NONE) {
			trace_hybrid_place(pool, le, member, *pe);
			return member;
		}
	}
	return -1;
}

/* policy_lock held. */
static int place_moved(struct hy_pool *pool, u64 le)
{
	int to = hy_pins_find(&pool->set.pins, le);

	if (to < 0 || !hy_has_room(&pool->snap.dev[to]))
		to = hy_policy_place(pool->policy, &pool->snap, &pool->tokens, le);
	return to;
}

/**
 * hy_place_moved - where an extent that leaves its place would be placed, were it new
 * @pool: the pool
 * @le: the logical extent
 *
 * Takes tokens, unless a copy to the member has to wait: whoever does asks again.  Whether the
 * giver is in debt has to be looked at before.  A member whose copies all wait for its flush is
 * chosen only if there is nowhere else: that flush may take for ever.
 *
 * Context: process; takes policy_lock.
 * Return: member; -1: nowhere.
 */
int hy_place_moved(struct hy_pool *pool, u64 le)
{
	struct hy_decision before;
	enum hy_reason why;
	unsigned int i;
	int to;

	spin_lock_irq(&pool->policy_lock);
	hy_snap_space(pool);
	before = pool->tokens;
	for (i = 0; i < pool->nr_members; i++)
		if (hy_mover_bars(pool, i, &why) && why == HY_NOT_BUSY)
			pool->snap.dev[i].free = 0;
	/* Or it would go there by another copy. */
	to = place_moved(pool, le);
	if (to < 0) {
		hy_snap_space(pool);
		to = place_moved(pool, le);
	}
	if (to >= 0 && hy_mover_bars(pool, to, &why))
		pool->tokens = before;
	spin_unlock_irq(&pool->policy_lock);
	return to;
}

static u64 window_count(const struct ek_rt_sample *s)
{
	return s->dir[EK_READ].count + s->dir[EK_WRITE].count;
}

static u64 window_mean(const struct ek_rt_sample *s)
{
	u64 n = window_count(s);

	return n ? div64_u64(s->dir[EK_READ].sum_ns + s->dir[EK_WRITE].sum_ns, n) : 0;
}

/* heat_lock held: samples and shares are read under it. */
static void measure(struct hy_pool *pool)
{
	struct hy_traffic traffic[EK_MAX_MEMBERS];
	u32 share[EK_MAX_MEMBERS];
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		share[i] = m->share;
		traffic[i].before = m->sample.inflight;
		ek_rtmon_sample(m->mon, &m->sample);
		WRITE_ONCE(m->usual_ns[EK_READ], m->sample.ewma_ns[EK_READ]);
		WRITE_ONCE(m->usual_ns[EK_WRITE], m->sample.ewma_ns[EK_WRITE]);
		traffic[i].ended = window_count(&m->sample);
		traffic[i].after = m->sample.inflight;
		hy_member_judge(pool, m, traffic[i].ended);
	}
	hy_measure_shares(share, traffic, pool->nr_members);
	for (i = 0; i < pool->nr_members; i++)
		pool->member[i].share = share[i];
}

/* Since the last period. */
static u32 first_writes(struct hy_pool *pool)
{
	u32 sum = 0, before = pool->first_seen;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(pool->rings, cpu)->first);
	pool->first_seen = sum;
	return sum - before;
}

/* policy_lock held. */
static void fill_snapshot(struct hy_pool *pool)
{
	unsigned int i;

	pool->snap.nr = pool->nr_members;
	pool->snap.logical_extents = pool->nr_extents;
	pool->snap.extent_sectors = pool->extent_sectors;
	pool->snap.period_ns = pool->member[0].sample.ns;
	pool->snap.first = first_writes(pool);
	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		struct hy_dev_snap *d = &pool->snap.dev[i];

		d->memory = m->direct;
		d->requests = window_count(&m->sample);
		d->reads = m->sample.dir[EK_READ].count;
		d->share = m->share;
		d->mean_ns = window_mean(&m->sample);
		d->read_ns = ek_rt_mean(&m->sample.dir[EK_READ]);
		d->write_ns = ek_rt_mean(&m->sample.dir[EK_WRITE]);
		d->ewma_ns = m->sample.ewma_all_ns;
		d->occupancy_ns = m->sample.occupancy_ns;
		d->background_ns = m->sample.background_ns;
		d->quiet = m->sample.quiet;
		hy_probe_sample(m, d);
	}
	hy_snap_space(pool);
}

static void trace_period(struct hy_pool *pool)
{
	unsigned int i;

	if (!trace_hybrid_period_enabled())
		return;
	for (i = 0; i < pool->nr_members; i++)
		trace_hybrid_period(pool, i, pool->snap.dev[i].requests, pool->snap.dev[i].mean_ns,
				    pool->snap.dev[i].share, pool->decision.target[i],
				    pool->decision.receive[i], pool->decision.give[i]);
}

/* What takes the policy longer, with policy_lock let go of in between: new extents wait for it. */
static void go_on(struct hy_pool *pool)
{
	bool more;

	do {
		spin_lock_irq(&pool->policy_lock);
		hy_snap_space(pool);
		more = hy_policy_go_on(pool->policy, &pool->snap);
		spin_unlock_irq(&pool->policy_lock);
		cond_resched();
	} while (more);
}

static void decide(struct hy_pool *pool, u64 now)
{
	spin_lock_irq(&pool->policy_lock);
	fill_snapshot(pool);
	hy_policy_period(pool->policy, &pool->snap, &pool->decision);
	pool->tokens = pool->decision;	/* what was left does not roll over */
	pool->period_start = now;
	spin_unlock_irq(&pool->policy_lock);
	go_on(pool);
	trace_period(pool);
	wake_up_all(&pool->mig_wait);
}

static void end_period(struct hy_pool *pool, u64 now)
{
	mutex_lock(&pool->heat_lock);
	measure(pool);
	hy_heat_age(&pool->heat);
	mutex_unlock(&pool->heat_lock);
	hy_pin_rescan(pool);
	decide(pool, now);
}

static void tick(struct work_struct *work)
{
	struct hy_pool *pool = container_of(to_delayed_work(work), struct hy_pool, tick);
	u64 now = ktime_get_ns();
	u32 period_ms = READ_ONCE(pool->set.period_ms), wait_ms;

	mutex_lock(&pool->heat_lock);
	take_accesses(pool);
	mutex_unlock(&pool->heat_lock);
	if (now - pool->period_start >= (u64)period_ms * NSEC_PER_MSEC ||
	    hy_probes_are_known(pool))
		end_period(pool, now);
	hy_probe_tick(pool, now);
	wait_ms = hy_mover_tick(pool, now) ? HY_WAITING_MS : HY_TICK_MS;
	take_stays(pool);
	if (READ_ONCE(pool->running))
		queue_delayed_work(pool->wq, &pool->tick,
				   msecs_to_jiffies(max(min(wait_ms, period_ms / 4), 1U)));
}

/*
 * A copy or a probe is done: the next need not wait for the tick.  Counted in nr_migrating or
 * nr_probing meanwhile.
 */
void hy_balance_kick(struct hy_pool *pool)
{
	if (READ_ONCE(pool->running))
		mod_delayed_work(pool->wq, &pool->tick, 0);
}

void hy_balance_init(struct hy_pool *pool)
{
	spin_lock_init(&pool->policy_lock);
	mutex_init(&pool->heat_lock);
	mutex_init(&pool->message_lock);
	INIT_DELAYED_WORK(&pool->tick, tick);
	hy_probe_init(pool);
}

static bool is_probing(struct hy_pool *pool)
{
	bool probing;

	spin_lock_irq(&pool->policy_lock);
	probing = pool->decision.probe_now;
	spin_unlock_irq(&pool->policy_lock);
	return probing;
}

/*
 * The pool runs: begin a period.  A policy that wants probes before anything is placed gets them
 * before users come, if the members answer soon.  The time up to now is measured by itself and
 * decides nothing: most of it was perhaps a suspension, in which members had nothing to do.
 *
 * Context: sleeps.
 */
void hy_balance_start(struct hy_pool *pool)
{
	/* A range in hand would be told that the suspension was the time that it took. */
	spin_lock_irq(&pool->policy_lock);
	hy_gather_drop(pool);
	spin_unlock_irq(&pool->policy_lock);
	mutex_lock(&pool->heat_lock);
	measure(pool);
	mutex_unlock(&pool->heat_lock);
	end_period(pool, ktime_get_ns());
	pool->last_user = pool->period_start;	/* who resumed it is about to use it */
	queue_delayed_work(pool->wq, &pool->tick, 0);
	wait_event_timeout(pool->mig_wait, !is_probing(pool), msecs_to_jiffies(HY_PROBING_MS));
}

/* pool->running is false: no tick, probe or migration is under way when this returns. */
void hy_balance_stop(struct hy_pool *pool)
{
	smp_mb();	/* running is false; pairs with hy_mig_start() */
	cancel_delayed_work_sync(&pool->tick);
	wait_event(pool->mig_wait, !atomic_read(&pool->nr_migrating));
	hy_probe_stop(pool);
	/* The last of them may have kicked it before it saw that the pool stops. */
	cancel_delayed_work_sync(&pool->tick);
}
