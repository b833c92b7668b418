// SPDX-License-Identifier: GPL-2.0-only
/*
 * Predictions of the memory tier; see policy_predict.h and Documentation/design/policies.rst.
 *
 * Gains and costs are response time summed over requests, in us; what does not fit is U64_MAX,
 * and what gains no more than it costs stays, so that two of those move nothing.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include "policy_predict.h"
#include "policy_util.h"

#define NS_PER_US	1000u
#define LEAST		20u	/* fewer requests measure nothing */
#define PRIOR_WEIGHT	2u	/* "as long again" counts as so many concentrations seen */
#define PRIOR_NS_BYTE	16u	/* a move, before one was measured: 64 MB a second */
#define MANY_ENDS	64u
#define FADE		32u	/* a window takes one in so many of a cost */
#define MAX_LIFE	1000000u	/* windows */
#define SELDOM_PPM	250000u	/* what comes back less often is not waited for */
#define OFTEN_PPM	875000u	/* no place is thought to go on for ever */
#define GAPS_WAITED	3u	/* nineteen of twenty come in so many mean gaps, if at random */

/**
 * hy_lives_add - a concentration has ended
 * @lives: what is known
 * @life: for how many windows it went on
 */
void hy_lives_add(struct hy_lives *lives, u32 life)
{
	life = min(life, MAX_LIFE);
	lives->sum += life;
	lives->sum -= lives->life[lives->next];
	lives->life[lives->next] = life;
	lives->next = (lives->next + 1) % HY_LIVES;
	lives->nr = min(lives->nr + 1, (unsigned int)HY_LIVES);
}

/**
 * hy_lives_left - how long will it go on?
 * @lives: what is known
 * @age: windows that it has gone on
 *
 * What those that came as far had left, on average; and, as if two more had, as long again
 * as it has lasted.
 *
 * Return: in 1 / HY_LEFT_ONE windows.
 */
u32 hy_lives_left(const struct hy_lives *lives, u32 age)
{
	u64 sum, nr = PRIOR_WEIGHT;
	unsigned int i;

	age = min(age, MAX_LIFE);
	sum = (u64)PRIOR_WEIGHT * age;
	for (i = 0; i < lives->nr; i++) {
		if (lives->life[i] < age)
			continue;
		sum += lives->life[i] - age;
		nr++;
	}
	return div64_u64(sum * HY_LEFT_ONE, nr);
}

/* The mean of those that are known; 0: none is.  In 1 / HY_LEFT_ONE windows. */
u32 hy_lives_mean(const struct hy_lives *lives)
{
	return lives->nr ? div_u64(lives->sum * HY_LEFT_ONE, lives->nr) : 0;
}

static void count_end(struct hy_returns *returns, bool again)
{
	if (++returns->ends[again] < MANY_ENDS)
		return;
	returns->ends[again] /= 2;
	returns->back[again] /= 2;
}

/**
 * hy_returns_back - there is a concentration again where one was
 * @returns: what is known
 * @again: had that one come back?
 * @gap: windows from its end to now
 * @late: hy_returns_none() has been told of it
 */
void hy_returns_back(struct hy_returns *returns, bool again, u32 gap, bool late)
{
	returns->back[again]++;
	if (!late)
		count_end(returns, again);
	returns->back[again] = min(returns->back[again], returns->ends[again]);
	hy_lives_add(&returns->gaps, gap);
	returns->wait = div_u64((u64)hy_lives_mean(&returns->gaps) * GAPS_WAITED, HY_LEFT_ONE);
}

/**
 * hy_returns_none - a concentration has been over for longer than it is waited for
 * @returns: what is known
 * @again: had it come back?
 */
void hy_returns_none(struct hy_returns *returns, bool again)
{
	count_end(returns, again);
}

/**
 * hy_returns_more - how many more concentrations is a place to have?
 * @returns: what is known
 * @again: has it had more than one?
 *
 * After each there is another one with the same probability, but for the first, which has its own.
 * It is as if one more had not come back; and, before anything is known of second ones, as if a
 * third were as likely as a second.
 *
 * Return: in 1 / HY_LEFT_ONE; 0 if it is so unlikely that it is not waited for.
 */
u32 hy_returns_more(const struct hy_returns *returns, bool again)
{
	u32 first = div_u64((u64)returns->back[0] * HY_PPM, returns->ends[0] + 1);
	u32 next = div_u64((u64)returns->back[1] * HY_PPM + first, returns->ends[1] + 1);
	u32 ppm = again ? next : first;

	if (ppm < SELDOM_PPM)
		return 0;
	return div_u64((u64)ppm * HY_LEFT_ONE, HY_PPM - min(next, OFTEN_PPM));
}

/* A concentration has ended, wherever it went. */
void hy_shifts_end(struct hy_shifts *shifts)
{
	unsigned int i;

	if (++shifts->ends < MANY_ENDS)
		return;
	shifts->ends /= 2;
	for (i = 0; i < HY_SIDES; i++)
		shifts->to[i] /= 2;
}

/* Accesses concentrate on what lies beside a concentration. */
void hy_shifts_to(struct hy_shifts *shifts, enum hy_side side)
{
	if (shifts->to[side] < MANY_ENDS)
		shifts->to[side]++;
}

/* How likely is it that a concentration goes there? */
u32 hy_shifts_ppm(const struct hy_shifts *shifts, enum hy_side side)
{
	return min_t(u64, div_u64((u64)shifts->to[side] * HY_PPM, shifts->ends + 1), HY_PPM);
}

/* A quarter of what is new. */
static u64 smooth(u64 old, u64 new)
{
	return old ? old - old / 4 + new / 4 : new;
}

/**
 * hy_times_window - take in what a window measured
 * @times: what is known
 * @w: the window
 *
 * The integral of requests in flight over the requests is their mean response time, by Little's
 * law; only that can be told apart by whether something was copied.
 */
void hy_times_window(struct hy_times *times, const struct hy_window *w)
{
	u64 busy = w->slow - min(w->quiet, w->slow);
	u64 busy_ns = w->slow_ns - min(w->quiet_ns, w->slow_ns);
	u64 calm, copying;

	if (w->fast >= LEAST)
		times->fast_ns = smooth(times->fast_ns, div64_u64(w->fast_ns, w->fast));
	if (w->quiet < LEAST) {
		if (!times->slow_ns && w->slow >= LEAST)
			times->slow_ns = div64_u64(w->slow_ns, w->slow);
		return;
	}
	calm = div64_u64(w->quiet_ns, w->quiet);
	times->slow_ns = smooth(times->slow_ns, calm);
	if (busy < LEAST)
		return;
	copying = div64_u64(busy_ns, busy);
	copying -= min(copying, calm);
	times->extra_ns = times->extra_known ? smooth(times->extra_ns, copying) : copying;
	times->extra_known = true;
}

/**
 * hy_times_moved - a region has moved
 * @times: what is known
 * @extents: so many of it
 * @ns: and it took so long
 */
void hy_times_moved(struct hy_times *times, u64 extents, u64 ns)
{
	if (extents)
		times->extent_ns = max(smooth(times->extent_ns, div64_u64(ns, extents)), 1ULL);
}

/**
 * hy_times_fade - a window without a move says nothing of what moves cost
 * @times: what is known
 *
 * A cost that is thought too high keeps everything where it is and would never be measured again.
 */
void hy_times_fade(struct hy_times *times)
{
	times->extent_ns -= times->extent_ns / FADE;
	times->extra_ns -= times->extra_ns / FADE;
}

static u64 times_of(u64 a, u64 b)
{
	return b && a > div64_u64(U64_MAX, b) ? U64_MAX : a * b;
}

/* How long the move takes, ns. */
static u64 duration(const struct hy_times *times, const struct hy_move *move)
{
	u64 each = times->extent_ns;

	if (!each)
		each = (u64)move->extent_bytes * PRIOR_NS_BYTE;
	return times_of(move->extents, each);
}

/* @requests of a window, each by @ns, for @time: us. */
static u64 response_time(u64 requests, u64 ns, u64 time, u64 window_ns)
{
	u64 us = div_u64(times_of(requests, ns), NS_PER_US);
	u64 windows = div64_u64(times_of(time, HY_LEFT_ONE), max(window_ns, 1ULL));

	return div_u64(times_of(us, windows), HY_LEFT_ONE);
}

/**
 * hy_move_gain - by how much requests get shorter if a region moves up
 * @times: what is known
 * @move: the region
 *
 * From when it has moved to when its concentration ends.  A fast member that was never measured
 * is taken for twice as fast.
 *
 * Return: us, summed over the requests.
 */
u64 hy_move_gain(const struct hy_times *times, const struct hy_move *move)
{
	u64 fast = times->fast_ns ? times->fast_ns : times->slow_ns / 2;
	u64 left = div_u64(times_of(move->window_ns, move->left), HY_LEFT_ONE);
	u64 moving = duration(times, move), gain;

	if (times->slow_ns <= fast || left <= moving)
		return 0;
	gain = response_time(move->requests, times->slow_ns - fast, left - moving, move->window_ns);
	return div_u64(times_of(gain, move->ppm), HY_PPM);
}

/**
 * hy_move_cost - by how much requests get longer while a region moves
 * @times: what is known
 * @move: the region
 *
 * Up and, when it is over, down again.  Before it was measured a request takes half as long again
 * while something is copied.
 *
 * Return: us, summed over the requests.
 */
u64 hy_move_cost(const struct hy_times *times, const struct hy_move *move)
{
	u64 extra = times->extra_known ? times->extra_ns : times->slow_ns / 2;
	u64 moving = times_of(duration(times, move), 2);

	return response_time(move->slow, extra, moving, move->window_ns);
}
