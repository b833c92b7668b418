// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a window of policy concentrate: which groups are concentrated, which are worth it.
 *
 * That is some thirty passes over all groups, as many as it takes to find the count from which on
 * they have the share asked for.  The caller holds a lock that the I/O path waits for, so it is
 * done in steps of a few groups, and the lock is let go of in between.  Accesses that are told
 * meanwhile count for the next window, or for this one if the group's turn has not come.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy_concentrate.h"

#define LEAST	100u	/* fewer accesses in a window are no concentration */
#define GRACE	1u	/* windows that a concentration may pause */
#define MAX_AGE	65535u	/* windows */

/* --- which are concentrated --- */

static u64 most_groups(const struct concentrate *c)
{
	return max(div_u64((u64)c->nr * c->param[SIZE], HY_PPM), 1ULL);
}

/* The accesses that a concentration has more than; all of them can't be exceeded. */
static u64 share_of(const struct concentrate *c)
{
	u64 millions = div_u64(c->accesses, HY_PPM);
	u64 share = millions * c->param[SHARE] +
		    div_u64((c->accesses - millions * HY_PPM) * c->param[SHARE], HY_PPM);

	return min(share, c->accesses - !!c->accesses);
}

static void take_counts(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		struct group *g = &c->group[i];

		g->last = g->now;
		g->now = 0;
		g->flags = (g->flags & HOT ? WAS : 0) | (g->flags & (SHORT | AGAIN | NONE));
		c->accesses += g->last;
		c->end.high = max(c->end.high, g->last);
	}
}

static enum stage tally_from(struct concentrate *c, u32 least, enum stage stage)
{
	c->end.least = least;
	c->end.sum = 0;
	c->end.nr = 0;
	return stage;
}

static void tally(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		if (c->group[i].last < c->end.least)
			continue;
		c->end.sum += c->group[i].last;
		c->end.nr++;
	}
}

static enum stage bisect(struct concentrate *c)
{
	u32 low = c->end.low, high = c->end.high;

	if (low < high)
		return tally_from(c, low + (high - low) / 2 + 1, BISECT);
	return tally_from(c, low, TALLY);
}

static enum stage counted(struct concentrate *c, const struct hy_snapshot *snap)
{
	if (c->accesses < LEAST)
		return AGE;
	c->end.share = share_of(c);
	c->end.low = 1;
	return bisect(c);
}

static enum stage bisected(struct concentrate *c, const struct hy_snapshot *snap)
{
	if (c->end.sum > c->end.share)
		c->end.low = c->end.least;
	else
		c->end.high = c->end.least - 1;
	return bisect(c);
}

/* Those from the count on that makes up the share: are they few enough? */
static enum stage tallied(struct concentrate *c, const struct hy_snapshot *snap)
{
	if (c->end.nr > most_groups(c))
		return AGE;
	c->end.hot = c->end.least;
	return tally_from(c, c->end.hot - c->end.hot / 2, TALLY_HALF);
}

static enum stage tallied_half(struct concentrate *c, const struct hy_snapshot *snap)
{
	c->end.whole = c->end.nr <= most_groups(c);
	return MARK;
}

/*
 * What has half as many accesses belongs to the whole of a concentration, unless it gets too large
 * by that: then only what belonged to it before.
 */
static void mark_hot(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		struct group *g = &c->group[i];

		if (g->last >= c->end.hot ||
		    (g->last >= c->end.least && (c->end.whole || g->age)))
			g->flags |= HOT;
	}
}

static enum stage marked(struct concentrate *c, const struct hy_snapshot *snap)
{
	return AGE;
}

static bool has(const struct concentrate *c, u32 i, u16 flag)
{
	return i < c->nr && c->group[i].flags & flag;
}

/* Requests of the last window that went to a group: they are counted, accesses are sampled. */
static u64 requests_of(const struct concentrate *c, const struct group *g)
{
	if (!c->accesses)
		return 0;
	return div64_u64(min(c->rate.requests, BIT_ULL(32)) * g->last, c->accesses);
}

/* A concentration has come to a group: from beside it? */
static void note_shift(struct concentrate *c, u32 i)
{
	bool below = i && has(c, i - 1, WAS), above = has(c, i + 1, WAS);

	if (below && !above)
		hy_shifts_to(&c->shifts, HY_ABOVE);
	if (above && !below)
		hy_shifts_to(&c->shifts, HY_BELOW);
}

/* Or has it come back? */
static void note_return(struct concentrate *c, struct group *g)
{
	if (!g->since)
		return;
	hy_returns_back(&c->returns, g->flags & AGAIN, g->since, g->flags & NONE);
	g->flags |= AGAIN;
	g->flags &= ~NONE;
	g->since = 0;
}

static void note_end(struct concentrate *c, struct group *g)
{
	hy_lives_add(&c->lives, g->age);
	hy_shifts_end(&c->shifts);
	g->age = 0;
	g->pause = 0;
	g->since = 1;
}

static void note_quiet(struct concentrate *c, struct group *g)
{
	if (!g->since)
		return;
	if (++g->since > min(c->returns.wait, FORGOTTEN - 1) && !(g->flags & NONE)) {
		hy_returns_none(&c->returns, g->flags & AGAIN);
		g->flags |= NONE;
	}
	if (g->since == FORGOTTEN) {
		g->since = 0;
		g->flags &= ~(AGAIN | NONE);
	}
}

static void grow_older(struct concentrate *c, u32 i)
{
	struct group *g = &c->group[i];

	if (g->flags & HOT) {
		if (!g->age) {
			note_shift(c, i);
			note_return(c, g);
		}
		g->rate = min_t(u64, requests_of(c, g), U32_MAX);
		g->age = min_t(u32, g->age + g->pause + 1, MAX_AGE);
		g->pause = 0;
	} else if (!g->age) {
		note_quiet(c, g);
	} else if (g->pause++ >= GRACE) {
		note_end(c, g);
	}
}

static void grow_all_older(struct concentrate *c, u32 from, u32 to)
{
	while (from < to)
		grow_older(c, from++);
}

static enum stage grown(struct concentrate *c, const struct hy_snapshot *snap)
{
	return WANT;
}

/* --- which are worth it --- */

/* A group that gets @requests in a window, for so many windows. */
static struct hy_move move_of(const struct concentrate *c, u64 requests, u32 left, u32 ppm)
{
	return (struct hy_move){
		.requests = requests,
		.slow = c->rate.slow,
		.window_ns = c->rate.ns,
		.left = left,
		.ppm = ppm,
		.extents = extents_of(c),
		.extent_bytes = c->extent_sectors << 9,
	};
}

/* What a group gains while its concentration goes on, or one that would be accessed as it is. */
static u64 gain_now(const struct concentrate *c, const struct group *g, u32 age, u32 ppm)
{
	struct hy_move move = move_of(c, requests_of(c, g), hy_lives_left(&c->lives, age), ppm);

	return hy_move_gain(&c->times, &move);
}

/* And in those that are to come. */
static u64 gain_later(const struct concentrate *c, const struct group *g)
{
	u64 more = hy_returns_more(&c->returns, g->flags & AGAIN);
	u64 left = more * hy_lives_mean(&c->lives) / HY_LEFT_ONE;
	struct hy_move move = move_of(c, g->rate, min_t(u64, left, U32_MAX), HY_PPM);

	return hy_move_gain(&c->times, &move);
}

static bool worth_moving(const struct concentrate *c, u64 gain)
{
	struct hy_move move = move_of(c, 0, 0, 0);

	return gain > hy_move_cost(&c->times, &move);
}

/* Is another concentration likely where one was? */
static bool may_return(const struct concentrate *c, const struct group *g)
{
	return g->since && g->since <= c->returns.wait &&
	       hy_returns_more(&c->returns, g->flags & AGAIN);
}

/* Half of it or more: a few stray extents are no reason to fetch the rest. */
static bool is_here(const struct concentrate *c, const struct group *g)
{
	return g->here >= max(extents_of(c) / 2, 1ULL);
}

/* What lies beside a group that is wanted, if it is likely next. */
static void want_beside(struct concentrate *c, u32 from, u32 beside, enum hy_side side)
{
	u32 ppm = hy_shifts_ppm(&c->shifts, side);

	if (beside >= c->nr || c->group[beside].age || !ppm)
		return;
	if (is_here(c, &c->group[beside]) ||
	    worth_moving(c, gain_now(c, &c->group[from], 1, ppm)))
		c->group[beside].flags = (c->group[beside].flags & ~KEPT) | WANTED;
}

static void choose(struct concentrate *c, u32 i)
{
	struct group *g = &c->group[i];
	u64 now = gain_now(c, g, g->age, HY_PPM), later = gain_later(c, g);

	if (!is_here(c, g) && !worth_moving(c, now + min(later, U64_MAX - now)))
		return;
	g->flags |= WANTED;
	want_beside(c, i, i + 1, HY_ABOVE);
	if (i)
		want_beside(c, i, i - 1, HY_BELOW);
}

static void choose_kept(struct concentrate *c, struct group *g)
{
	if (may_return(c, g) && (is_here(c, g) || worth_moving(c, gain_later(c, g))))
		g->flags |= WANTED | KEPT;
}

static void choose_wanted(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		struct group *g = &c->group[i];

		if (g->age)
			choose(c, i);
		else if (g->since && !(g->flags & WANTED))
			choose_kept(c, g);
	}
}

static enum stage chosen(struct concentrate *c, const struct hy_snapshot *snap)
{
	return PLAN;
}

static void sum_up(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		const struct group *g = &c->group[i];

		c->end.known += g->here;
		if (!waits(g) || g->flags & KEPT)
			continue;
		c->end.need += extents_of(c);
		if (g->last && (!c->end.waiting || g->last < c->end.waiting))
			c->end.waiting = g->last;
	}
}

/*
 * Does what is wanted fit?  If not, room is made first.  Is there something on the fast member that
 * nobody knows of, for a second window?
 */
static enum stage plan(struct concentrate *c, const struct hy_snapshot *snap)
{
	const struct hy_dev_snap *d = &snap->dev[c->member];
	u64 used = d->extents - min(d->free, d->extents);
	u32 unknown = used - min(c->end.known, used);

	c->evict = c->end.need > d->free ? c->param[EVICT] : 0;
	c->searched = min(c->searched, unknown);
	if (unknown > c->searched && c->unknown && c->search >= c->nr)
		c->search = 0;
	c->unknown = unknown;
	return QUEUE;
}

static void put_in_order(struct concentrate *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++) {
		if (c->group[i].flags & WANTED)
			hy_order_add(c, &c->rise, i, hy_rises_before);
		if (c->group[i].here)
			hy_order_add(c, &c->leave, i, hy_leaves_before);
	}
}

static enum stage in_order(struct concentrate *c, const struct hy_snapshot *snap)
{
	return AT_REST;
}

static const struct {
	void (*groups)(struct concentrate *c, u32 from, u32 to);
	enum stage (*done)(struct concentrate *c, const struct hy_snapshot *snap);
} stages[] = {
	[COUNT] = { take_counts, counted },
	[BISECT] = { tally, bisected },
	[TALLY] = { tally, tallied },
	[TALLY_HALF] = { tally, tallied_half },
	[MARK] = { mark_hot, marked },
	[AGE] = { grow_all_older, grown },
	[WANT] = { choose_wanted, chosen },
	[PLAN] = { sum_up, plan },
	[QUEUE] = { put_in_order, in_order },
};

/**
 * hy_window_end - a window has ended
 * @c: the policy, at rest
 *
 * What was measured is taken in; hy_window_go_on() does the rest.
 */
void hy_window_end(struct concentrate *c)
{
	hy_times_window(&c->times, &c->window);
	c->rate.requests = c->window.requests;
	c->rate.slow = c->window.slow;
	c->rate.ns = c->window.ns;
	memset(&c->window, 0, sizeof(c->window));
	hy_times_fade(&c->times);
	c->accesses = 0;
	c->rise.nr = 0;
	c->leave.nr = 0;
	c->end = (struct window_end){ .stage = COUNT, .high = 1 };
}

/**
 * hy_window_go_on - a few groups more
 * @c: the policy
 * @snap: the members as they are
 *
 * Return: is there more to do?
 */
bool hy_window_go_on(struct concentrate *c, const struct hy_snapshot *snap)
{
	u32 to = min(c->end.at + STEP, c->nr);

	if (c->end.stage == AT_REST)
		return false;
	stages[c->end.stage].groups(c, c->end.at, to);
	c->end.at = to;
	if (to == c->nr) {
		c->end.at = 0;
		c->end.stage = stages[c->end.stage].done(c, snap);
	}
	return c->end.stage != AT_REST;
}
