// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members that leave: emptied while the pool runs, then forgotten.
 *
 *	evacuate	the state "draining" is durable in the superblock; from then on
 *			nothing new goes there (hy_member_takes()), and the balancer
 *			moves what is there to where a new extent would be placed
 *	  cut before	as if nobody had asked
 *	  cut after	the next start finds the state and goes on: what has moved is
 *			committed or still where it was, like any migration (migrate.c)
 *	remove		a checkpoint with no extent of it in use, whose superblock calls it
 *			"removed": its space map is all zero and the journal, now empty,
 *			does not name it
 *	  cut before	draining and empty: to be asked again
 *	  cut after	the device is nobody's: a table has "-" in its place, and if
 *			it still names the device, nothing is read or written there
 *
 * A member that is empty stays so, though whoever places an extent looks at states first
 * and takes the place then: it looks again afterwards, and gives the place back.  The
 * space map's lock lies between: either that second look sees "draining", or a place was
 * taken before it was durable, and the removal sees that.
 */
#include "hybrid.h"

#define HY_DRAIN_SCAN	16384	/* map entries looked at per tick and member */
#define HY_DRAIN_PAUSE	(NSEC_PER_SEC / 2)	/* between two times through the map */

enum step { STEP_ON, STEP_WAIT };

static bool is_draining(struct hy_member *m)
{
	u32 state = READ_ONCE(m->state);

	/* What a failed one still gives is moved, too. */
	return m->bdev && m->leaving &&
	       (state == EK_MEMBER_DRAINING || state == EK_MEMBER_FAILED);
}

static u32 nr_used(struct hy_member *m)
{
	return m->nr_extents - ek_space_nr_free(&m->space);
}

static enum step wait_for(struct hy_pool *pool, enum hy_reason why)
{
	hy_not_migrated(pool, why);
	return STEP_WAIT;
}

static enum step send_off(struct hy_pool *pool, unsigned int from, u64 le, u64 now)
{
	enum hy_reason why;
	int to;

	if (!hy_mover_free(pool, from))
		return wait_for(pool, HY_NOT_BUSY);
	if (!hy_mover_rate_allows(pool, now))
		return wait_for(pool, HY_NOT_RATE);
	if (hy_mover_in_debt(pool, from))
		return wait_for(pool, HY_NOT_FOREGROUND);
	to = hy_place_moved(pool, le);
	if (to < 0) {
		hy_commit_soon(pool);	/* what waits to be free may be what is wanted */
		return wait_for(pool, HY_NOT_NOSPACE);
	}
	if (hy_mover_bars(pool, to, &why))
		return wait_for(pool, why);
	if (!hy_mig_start(pool, le, from, to, &why)) {
		hy_mover_rate_charge(pool, now);
		return STEP_ON;
	}
	hy_not_migrated(pool, why);
	return why == HY_NOT_NOSPACE || why == HY_NOT_MEMBER ? STEP_WAIT : STEP_ON;
}

/* A page of the map that can't be read tells nothing of its extents: on to the next one. */
static void pass_page(struct hy_pool *pool, struct hy_member *m)
{
	u64 left = min(EK_PAGE_ENTRIES - m->drain_at % EK_PAGE_ENTRIES,
		       pool->nr_extents - m->drain_at);

	m->passes.unread += left;
	m->drain_at += left - 1;
}

/* The entry at the cursor; @loaded: a page of the map was read in this tick, the next waits. */
static enum step look_at(struct hy_pool *pool, unsigned int i, u64 now, bool *loaded)
{
	struct hy_member *m = &pool->member[i];
	enum step step;
	u64 entry;
	int r;

	r = hy_pool_lookup_step(pool, m->drain_at, &entry, loaded);
	if (r == -EAGAIN)
		return STEP_WAIT;
	if (r)
		pass_page(pool, m);
	if (r || !ek_entry_mapped(entry) || ek_entry_member(entry) != i)
		return STEP_ON;
	step = send_off(pool, i, m->drain_at, now);
	m->passes.trying += step == STEP_ON;
	return step;
}

/* Whoever waits until it is empty is to see whether that has an end. */
static void end_pass(struct hy_passes *p)
{
	WRITE_ONCE(p->tried, p->trying);
	WRITE_ONCE(p->unknown, p->unread);
	p->trying = 0;
	p->unread = 0;
	/* Its numbers first: pairs with hy_members_show(). */
	smp_store_release(&p->nr, p->nr + 1);
}

/* Returns: has it to wait for something? */
static bool drain(struct hy_pool *pool, unsigned int i, u64 now)
{
	struct hy_member *m = &pool->member[i];
	unsigned int n = HY_DRAIN_SCAN;
	bool loaded = false;

	if (now < m->drain_next)
		return false;
	while (n--) {
		if (look_at(pool, i, now, &loaded) == STEP_WAIT)
			return true;
		if (++m->drain_at < pool->nr_extents)
			continue;
		/* What could not be copied is tried again, but not all the time. */
		m->drain_at = 0;
		m->drain_next = now + HY_DRAIN_PAUSE;
		end_pass(&m->passes);
		hy_commit_soon(pool);
		return false;
	}
	return true;
}

/**
 * hy_evacuate_tick - move extents off members that are to leave
 * @pool: the pool, running and writable
 * @now: ns
 *
 * Context: the balancer's work; sleeps; reads one page of the map a member at most.
 * Return: had something to wait, so that it is worth to come back soon?
 */
bool hy_evacuate_tick(struct hy_pool *pool, u64 now)
{
	bool waits = false;
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (!is_draining(m))
			continue;
		if (nr_used(m)) {
			m->drained = false;
			waits |= drain(pool, i, now);
		} else if (!m->drained) {
			m->drained = true;
			DMINFO("member %u is empty", i);
			queue_work(pool->wq, &pool->event_work);
		}
	}
	return waits;
}

/*
 * Extents in use twice: a migration under way has its new place, and its old one still.  One of the
 * two comes back, and whichever it is, be it on a member that leaves or on one that stays, there is
 * one extent fewer to be moved or one more place for it.  Neither if the giver is no member that
 * counts below: one that is degraded, or has failed.
 */
static u64 nr_twice(struct hy_pool *pool, unsigned int leaver)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		u32 state = READ_ONCE(m->state);

		if (i == leaver || state == EK_MEMBER_ACTIVE || state == EK_MEMBER_DRAINING)
			nr += atomic_read(&m->nr_giving);
	}
	return nr;
}

/* Extents that are free there, but for those that will be taken by what others have that leave. */
static u64 room_elsewhere(struct hy_pool *pool, unsigned int but)
{
	u64 room = nr_twice(pool, but), wanted = 0;
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (i == but || !m->bdev)
			continue;
		/* A failed one has what can't be moved, too. */
		if (READ_ONCE(m->state) == EK_MEMBER_DRAINING)
			wanted += nr_used(m);
		else if (READ_ONCE(m->state) == EK_MEMBER_ACTIVE)
			room += ek_space_nr_free(&m->space);
	}
	return room > wanted ? room - wanted : 0;
}

static bool takes_elsewhere(struct hy_pool *pool, unsigned int but)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++)
		if (i != but && pool->member[i].bdev && hy_member_takes(&pool->member[i]))
			return true;
	return false;
}

/*
 * What is asked for counts when it is durable.  Errors may change the state at any time: one that
 * fails meanwhile is failed, and whether it is to leave is kept beside that.
 */
static void set_leaving(struct hy_pool *pool, struct hy_member *m, bool leaving)
{
	WRITE_ONCE(m->leaving, leaving);
	if (leaving)
		hy_member_leaves(pool, m);
	else
		hy_member_stays(pool, m);
}

static int change(struct hy_pool *pool, struct hy_member *m, bool leaving, const char **reason)
{
	int r;

	set_leaving(pool, m, leaving);
	r = hy_commit_super(pool, NULL);
	if (r) {
		set_leaving(pool, m, !leaving);
		*reason = "the metadata can't be written";
		return r;
	}
	queue_work(pool->wq, &pool->event_work);
	return 0;
}

static int refuse(const char **reason, const char *why, int error)
{
	*reason = why;
	return error;
}

/**
 * hy_evacuate - begin to empty a member
 * @pool: the pool, loaded
 * @i: which member
 * @reason: set on failure
 *
 * Context: message_lock held; sleeps.
 * Return: 0, also if it is to leave already; -EINVAL; -ENOSPC: the others, active ones, have no
 * room for what is there and on all that leave; -EROFS; an I/O error.
 */
int hy_evacuate(struct hy_pool *pool, unsigned int i, const char **reason)
{
	struct hy_member *m = &pool->member[i];

	if (!hy_pool_writable(pool))
		return refuse(reason, "the pool is read-only", -EROFS);
	if (m->state == EK_MEMBER_REMOVED)
		return refuse(reason, "it has been removed", -EINVAL);
	/* A lost one can't be read, and if it is empty there is nothing to be read. */
	if (!m->bdev && nr_used(m))
		return refuse(reason, "it is lost, nothing can be read from it", -EINVAL);
	if (m->leaving)
		return 0;
	if (!takes_elsewhere(pool, i))
		return refuse(reason, "no other member would take what is written", -ENOSPC);
	/* What was freed last may still be on its way back. */
	if (nr_used(m) > room_elsewhere(pool, i) && !hy_commit_wait(pool, false))
		hy_drain_wait(pool);
	if (nr_used(m) > room_elsewhere(pool, i))
		return refuse(reason, "the other members have no room for what is on it", -ENOSPC);
	m->drain_at = 0;
	m->drain_next = 0;
	m->drained = false;
	m->passes.trying = 0;
	m->passes.unread = 0;
	return change(pool, m, true, reason);
}

/**
 * hy_stay - a member is to stay after all
 * @pool: the pool, loaded
 * @i: which member
 * @reason: set on failure
 *
 * What has moved stays where it is.
 * Context: message_lock held; sleeps.
 * Return: 0, -EINVAL, -EROFS or an I/O error.
 */
int hy_stay(struct hy_pool *pool, unsigned int i, const char **reason)
{
	struct hy_member *m = &pool->member[i];

	if (!hy_pool_writable(pool))
		return refuse(reason, "the pool is read-only", -EROFS);
	if (!m->leaving)
		return refuse(reason, "it is not being evacuated", -EINVAL);
	return change(pool, m, false, reason);
}

static unsigned int others(struct hy_pool *pool, unsigned int but)
{
	unsigned int i, n = 0;

	for (i = 0; i < pool->nr_members; i++)
		n += i != but && pool->member[i].state != EK_MEMBER_REMOVED;
	return n;
}

/**
 * hy_remove_member - a member that is empty is one no more
 * @pool: the pool, loaded
 * @i: which member
 * @reason: set on failure
 *
 * Context: message_lock held; sleeps.
 * Return: 0, also if it was removed before; -EINVAL; -EBUSY: something is there; -EROFS; an I/O
 * error.
 */
int hy_remove_member(struct hy_pool *pool, unsigned int i, const char **reason)
{
	struct hy_member *m = &pool->member[i];
	int r;

	if (!hy_pool_writable(pool))
		return refuse(reason, "the pool is read-only", -EROFS);
	if (m->state == EK_MEMBER_REMOVED)
		return 0;
	if (!m->leaving)
		return refuse(reason, "it is not being evacuated", -EINVAL);
	if (!others(pool, i))
		return refuse(reason, "it is the last one", -EINVAL);
	/* What was freed last may still be on its way back. */
	r = hy_commit_wait(pool, false);
	if (r)
		return refuse(reason, "the metadata can't be written", r);
	hy_drain_wait(pool);
	if (nr_used(m))
		return refuse(reason, "it is not empty", -EBUSY);
	r = hy_commit_removal(pool, i);
	if (r)
		return refuse(reason, "the metadata can't be written", r);
	queue_work(pool->wq, &pool->event_work);
	return 0;
}
