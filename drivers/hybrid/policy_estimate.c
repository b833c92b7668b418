// SPDX-License-Identifier: GPL-2.0-only
/*
 * The marginal response time of a member: what one more request in flight adds to its
 * throughput, as a time.
 *
 * A member's rate of completion, as a function of the number n in flight, has the slope
 * b = cov(n, rate) / var(n) over the period.  By what is seen at completions the covariance is
 * X (m - n), with the throughput X, the mean n over time and the mean m over completions;
 * the marginal response time is M = 1 / b.  As X = n / R,
 *
 *	R / M = (n (m - n) + w / k) / (v + w),
 *
 * where w / k stands for what is expected without a measurement (v near 0).  The variance v is
 * taken over completions too: in a closed loop what a completion leaves behind is distributed
 * as the number in flight with one process less.
 *
 * This relative slope is averaged over periods that are alike.  It is at most 1, as more requests
 * do not make a member answer faster, and at most the power of n by which the rate has grown since
 * the least response time S was seen: the more is in flight, the smaller is the power.
 *
 * Requests that come in a burst wait for each other, while whoever sent them waits for the last
 * one only, and the member has time to spare between bursts.  So of what M is above S, the idle
 * response time, a request of a burst of b has to answer for one part in b.
 *
 * Units: times in ns, numbers in flight in 2^-16, slopes in 1/1024.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "policy_estimate.h"

#define ONE		65536u		/* a number in flight */
#define PRIOR		3277u		/* w: .05, in ONE */
#define SLOPE_ONE	1024
#define SLOPE_MIN	(SLOPE_ONE / 32)
#define SLOPE_POWER	(SLOPE_ONE / 4)	/* least that the power of n may say */
#define MAX_FLIGHT	(4096ULL * ONE)
#define MAX_VARIANCE	(4096 * MAX_FLIGHT)
#define MAX_SMOOTH	4u		/* periods */
#define ERRORS		6		/* of the covariance, that the variance is to be */
#define MANY		(8ULL * ONE)	/* in flight: a device may be busy then */
#define NEAR		(ONE / 2)	/* logarithm of a ratio that says nothing yet */
#define BURST		6		/* served in turn, its variance over mean is b / 6 */
#define BURST_ONE	16		/* a request at a time */
#define MANY_AT_ONCE	(2 * BURST_ONE)
#define FEW		(ONE / 4)	/* in flight: then R is S */
#define SOME		10		/* of 1024 requests: so many of a kind make a difference */

u64 hy_ppm_of(u64 part, u64 whole)
{
	return whole ? div64_u64(part * HY_PPM, whole) : 0;
}

/* Mean number in flight while no copy was at the member. */
static u64 in_flight(const struct ek_rt_quiet *quiet)
{
	u64 occupancy = min(quiet->occupancy_ns >> 8, BIT_ULL(47));

	return min_t(u64, div64_u64(occupancy << 16, (quiet->ns >> 8) + 1), MAX_FLIGHT);
}

/* Behind @n others nobody waits for more than them: at least so much is a member's own time. */
static u64 behind(u64 ns, u64 n)
{
	return div64_u64(ns * ONE, ONE + n + n / 4);
}

/*
 * The least seen.  It rises towards what is seen now: slowly, or fast when there is nothing that
 * would make it slower.
 */
static void note_idle(struct hy_estimate *e, enum ek_dir dir, u64 ns, u64 requests, u64 n, u64 at)
{
	u64 *idle = &e->idle_ns[dir], queued;

	ns = min_t(u64, ns, HY_MAX_NS);
	if (requests < HY_MIN_REQUESTS || !ns)
		return;
	/* A little less may be by chance. */
	if (!*idle || at < e->idle_n || ns < *idle - *idle / 16)
		e->idle_n = at;
	if (!*idle || ns < *idle)
		*idle = ns;
	else
		*idle += (ns - *idle) >> (n < FEW ? 2 : 11);
	queued = behind(ns, n);
	*idle = max(*idle, queued);
}

/* Is the one more than half as much again as the other? */
static bool is_far_off(u64 a, u64 b)
{
	return 2 * max(a, b) > 3 * min(a, b);
}

/*
 * Probes are few, so they count little by little.  But where a member is not in use and their
 * median is far from what was known, it has become another one, and what was known of it is void.
 */
static void note_probes(struct hy_estimate *e, const struct hy_dev_snap *d)
{
	u64 *idle = &e->idle_ns[EK_READ], ns = min_t(u64, d->probe_ns, HY_MAX_NS);
	u64 mid = min_t(u64, d->probe_mid_ns, HY_MAX_NS);
	u32 weight = min(d->probes, 16u);

	if (!weight)
		return;
	e->idle_n = 0;
	if (!*idle)
		*idle = ns;
	else if (mid && d->requests < HY_MIN_REQUESTS && is_far_off(*idle, mid))
		*idle = mid;
	else
		*idle = (*idle * (32 - weight) + ns * weight) / 32;
}

/* What writes take is a guess where they come in bursts, and not known of one that has had none. */
static bool are_alike(const struct hy_estimate *a, const struct hy_estimate *b)
{
	u64 r = a->idle_ns[EK_READ], s = b->idle_ns[EK_READ];
	u64 v = a->idle_ns[EK_WRITE], w = b->idle_ns[EK_WRITE];

	return r && s && 8 * max(r, s) <= 9 * min(r, s) && (!v || !w || !is_far_off(v, w));
}

/* S over the slower one's, in 1/1024, of what there is and where they differ most; 0: not known */
static u32 speed_of(const struct hy_estimate *fast, const struct hy_estimate *slow, u32 mix)
{
	u64 speed = 0;
	int dir;

	for (dir = 0; dir < EK_DIRS; dir++) {
		u64 one = fast->idle_ns[dir], other = slow->idle_ns[dir];

		if ((dir == EK_READ ? mix : SLOPE_ONE - mix) < SOME || !one || !other)
			continue;
		one = div64_u64(one * SLOPE_ONE, other);
		speed = min(speed ? speed : SLOPE_ONE, max(one, 1ULL));
	}
	return speed;
}

/*
 * If the slower one took a part x, bursts would be shorter by x, while it does its own, and
 * whatever comes by itself longer by x (S'/S - 1).  With all that both have the faster one has
 * bursts for a part u of the time: u x is more than (1 - u) x (S'/S - 1) where u > 1 - S/S'.
 */
static bool is_worth_it(const struct hy_estimate *fast, const struct hy_estimate *slow, u64 part,
			u32 mix)
{
	u64 bursts = fast->bursts * HY_PPM, rest = (SLOPE_ONE - fast->bursts) * part;
	u32 speed = speed_of(fast, slow, mix);

	return speed && bursts &&
	       div64_u64(bursts * SLOPE_ONE, bursts + rest) > SLOPE_ONE - speed;
}

bool hy_estimate_share_bursts(const struct hy_estimate *fast, const struct hy_estimate *slow,
			      u64 part, u32 mix)
{
	if (!fast->bursts && !slow->bursts)
		return false;
	return are_alike(fast, slow) || is_worth_it(fast, slow, part, mix);
}

bool hy_estimate_wants_probe(const struct hy_dev_snap *d)
{
	return d->usable && (d->requests < HY_MIN_REQUESTS || in_flight(&d->quiet) >= FEW);
}

static u32 part_of(u64 reads, u64 requests)
{
	return requests ? div64_u64(min(reads, requests) * 1024, requests) : 1024;
}

u32 hy_read_part(const struct hy_snapshot *snap)
{
	u64 reads = 0, requests = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		reads += snap->dev[i].reads;
		requests += snap->dev[i].requests;
	}
	return part_of(reads, requests);
}

u64 hy_estimate_idle(const struct hy_estimate *e, const struct hy_dev_snap *d, u32 mix)
{
	u64 r = e->idle_ns[EK_READ], w = e->idle_ns[EK_WRITE];
	u64 part = d->requests >= HY_MIN_REQUESTS ? part_of(d->reads, d->requests) : mix;

	if (!r || !w)
		return r ? r : w;
	return (r * part + w * (1024 - part)) >> 10;
}

/*
 * How far @x is from @from on its way to @to, in 1/1024.  Where one rule ends and another begins,
 * so that chance does not decide between them.
 */
static u32 way_between(u64 x, u64 from, u64 to)
{
	if (x <= from)
		return 0;
	return x >= to ? SLOPE_ONE : div64_u64((x - from) * SLOPE_ONE, to - from);
}

/*
 * (S/R)^7, at least 1/32: how much flatter than X/n the curve is expected to be.  An S that was
 * seen with many in flight may be the response time of a device that was busy then, unless half
 * as many again take no longer now.  S is the least of many periods: an R that is above it by
 * little is no longer.
 */
static u32 expected_slope(u64 n, u64 r, u64 idle, u64 idle_n)
{
	u64 x = r > idle && idle ? div64_u64(idle * SLOPE_ONE, r) : SLOPE_ONE;
	u64 k = div64_u64(SLOPE_ONE * MANY, MANY + idle_n);
	u32 same = SLOPE_ONE - way_between(r, idle + idle / 32, idle + idle / 16);
	u32 more = way_between(n, idle_n + idle_n / 4, idle_n + idle_n / 2);
	int i;

	for (i = 0; i < 7; i++)
		k = k * x / SLOPE_ONE;
	k = max_t(u64, k, SLOPE_MIN);
	if (idle)
		k += (SLOPE_ONE - k) * (same * more / SLOPE_ONE) / SLOPE_ONE;
	return k;
}

/* Logarithm to base 2 of @x / 2^16, in 2^-16; @x from 2^16 to 2^48.  Error below .01. */
static u32 log_of(u64 x)
{
	unsigned int whole = ilog2(x) - 16;
	u32 rest = (x >> whole) - ONE;

	return whole * ONE + rest + (u32)((u64)rest * (ONE - rest) / ONE * 344 / 1000);
}

/*
 * A request that comes finds n and is one more.  Since S was seen, at so many, the rate has grown
 * by S/R as much as that: what power of it is this?  A single server with random arrivals has S/R.
 */
static u32 power_slope(u64 n, u64 r, u64 idle, u64 idle_n)
{
	u64 more, wait, least;

	if (!idle || r <= idle || n <= idle_n)
		return SLOPE_ONE;
	more = log_of(div64_u64((n + ONE) * ONE, idle_n + ONE));
	if (more < NEAR)
		return SLOPE_ONE;
	wait = log_of(min_t(u64, div64_u64(r * ONE, idle), BIT_ULL(47)));
	least = max_t(u64, div64_u64(idle * SLOPE_ONE, r), SLOPE_POWER);
	if (wait >= more)
		return least;
	return max(div64_u64((more - wait) * SLOPE_ONE, more), least);
}

/* Variance of the number in flight, as completions see it. */
static u64 variance(const struct ek_rt_looks *look, u64 mean)
{
	u64 sq = div64_u64(min(look->sq, BIT_ULL(47)) << 16, look->nr);
	u64 square = (mean >> 4) * (mean >> 4) >> 8;

	return sq > square ? sq - square : 0;
}

/* An integer whose mean is @n varies at least so much. */
static u64 least_variance(u64 n)
{
	u64 rest = n & (ONE - 1);

	return rest * (ONE - rest) / ONE;
}

/* What a period without migration says of a member; numbers in flight in 2^-16. */
struct seen {
	u64 r;		/* mean response time, ns */
	u64 n;		/* mean in flight, over time */
	u64 m;		/* the same over completions */
	u64 v;		/* variance */
	u32 looks;	/* at so many completions */
};

static void look_at(struct seen *seen, const struct ek_rt_quiet *quiet)
{
	seen->r = clamp_t(u64, div64_u64(quiet->occupancy_ns, quiet->requests), 1, HY_MAX_NS);
	seen->n = in_flight(quiet);
	seen->m = min_t(u64, div64_u64(min(quiet->look.sum, BIT_ULL(47)) << 16, quiet->look.nr),
			MAX_FLIGHT);
	seen->looks = min_t(u64, quiet->look.nr, U32_MAX);
	seen->v = max(variance(&quiet->look, seen->m), least_variance(seen->n));
	seen->v = min(seen->v, MAX_VARIANCE);
}

/*
 * How much what is expected weighs: little, unless the number in flight varies less
 * than requests that choose at random would make it, as when new extents are placed in turn.
 * Then the order of events within a turn would pass for a slope.  Or unless it varies
 * so little that the error of the mean over completions counts.
 */
static u64 prior_weight(const struct seen *seen, u64 all)
{
	u64 error = (seen->n >> 8) * int_sqrt64(div_u64(seen->v << 16, seen->looks)) >> 8;
	u64 random = 0, wanted;

	if (seen->n < all)
		random = div64_u64((seen->n >> 4) * ((all - seen->n) >> 4), all) << 8;
	wanted = max(random, ERRORS * error);
	return max_t(s64, wanted - seen->v, PRIOR);
}

/*
 * How many requests come at a time, in 1/16.  A burst of b that is served in turn shows b/2 to its
 * completions, with the variance b^2/12: six times the variance over the mean.  Requests that come
 * by themselves vary by their mean or two at most.  Or they wander between members that all have
 * more than they can do: by much, but then completions see what there is on average.  After a burst
 * there is a gap, and they see more; or fewer, of a device that answers all of it late.
 */
static u64 burst_of(const struct seen *seen)
{
	u64 m = max_t(u64, seen->m, ONE), n = seen->n;
	u64 over = seen->v > 2 * m ? div64_u64((seen->v - 2 * m) * BURST_ONE * BURST, m) : 0;
	u64 apart = div64_u64((m > n ? m - n : n - m) << 10, max(m, n));

	return BURST_ONE + (over * apart >> 10);
}

/*
 * For which part of the time, in 1/1024?  Completions see what is in flight then, and over time
 * there is so much less as there are gaps.  Others that come by themselves meanwhile complete
 * between bursts, and often; what is in flight in a burst is then what makes up the variance.
 */
static u32 busy_with_bursts(const struct seen *seen)
{
	u64 m = max(seen->m, 1ULL), burst;

	/* It answers all of a burst late: how long it takes can't be told. */
	if (seen->n > m)
		return 1;
	burst = max(m, (m + div64_u64(seen->v * ONE, m)) * 3 / 4);
	return clamp_t(u64, div64_u64(seen->n << 10, burst), 1, SLOPE_ONE);
}

/*
 * Writes that came in a burst had to wait for each other: for half of the others, where one is
 * served after the other.  Alone they would take what is left then, and no less than reads, as far
 * as is known.
 */
static u64 without_burst(const struct hy_estimate *e, u64 ns, u64 burst)
{
	u64 reads = e->idle_ns[EK_READ];

	if (burst < MANY_AT_ONCE || !reads)
		return ns;
	return min(ns, max(reads, div64_u64(2 * BURST_ONE * ns, burst + BURST_ONE)));
}

/*
 * Were nearly all of its requests there while no copy was?  What copies slow down is not idle.
 * Where a burst came beside one, what is left of the period had next to nothing in flight, and yet
 * the means are those of the burst.
 */
static bool is_undisturbed(const struct hy_dev_snap *d)
{
	return d->quiet.ns > d->background_ns && 8 * d->quiet.requests >= 7 * d->requests;
}

static void measure_idle(struct hy_estimate *e, const struct hy_dev_snap *d, u64 burst)
{
	u64 reads = min(d->reads, d->requests);
	u64 at = d->quiet.ns > d->background_ns ? in_flight(&d->quiet) : MAX_FLIGHT;
	u64 n = is_undisturbed(d) ? at : MAX_FLIGHT;

	note_probes(e, d);
	note_idle(e, EK_READ, d->read_ns, reads, n, at);
	note_idle(e, EK_WRITE, without_burst(e, min_t(u64, d->write_ns, HY_MAX_NS), burst),
		  d->requests - reads, n, at);
	if (d->requests >= HY_MIN_REQUESTS || d->probes)
		return;
	/* Not in use: what is known of it grows old, and one day it is tried again. */
	e->idle_ns[EK_READ] -= e->idle_ns[EK_READ] >> 10;
	e->idle_ns[EK_WRITE] -= e->idle_ns[EK_WRITE] >> 10;
}

/* As measured: chance may make it anything.  @all are in flight at all members. */
static s32 slope_of(const struct seen *seen, u32 expected, u64 all)
{
	s64 cov = (s64)(seen->n >> 4) * ((s64)seen->m - (s64)seen->n) >> 12;
	u64 w = prior_weight(seen, all);
	s64 slope = div64_s64((cov + div_u64(w * expected, SLOPE_ONE)) * SLOPE_ONE, seen->v + w);

	return clamp_t(s64, slope, -SLOPE_ONE, 2 * SLOPE_ONE);
}

/* The more alike the last periods were, the more of them count. */
static void note_slope(struct hy_estimate *e, s32 slope, u64 r)
{
	u64 change = r > e->slope_r ? r - e->slope_r : e->slope_r - r;

	if (!e->slope_r)
		e->slope = slope;
	if (change * 10 > e->slope_r) {
		e->slope_r = r;
		e->periods = 1;
	}
	e->periods = min(e->periods + 1, MAX_SMOOTH);
	e->slope += (slope - e->slope) / (s32)e->periods;
}

static void note_marginal(struct hy_estimate *e, u64 ns)
{
	u64 old = e->marginal_ns;
	u64 change = old ? hy_ppm_of(ns > old ? ns - old : old - ns, max(ns, old)) : 0;

	e->noise += ((s64)change - (s64)e->noise) / 4;
	e->marginal_ns = ns;
}

/*
 * M without what the others of its burst add.  But a burst that is not done when the period ends
 * is no burst: the member has no time to spare.  It takes about 2 R; @done is 4 R over the period.
 */
static u64 alone(u64 ns, u64 idle, u64 burst, u64 done)
{
	u64 all, part;

	if (ns <= idle)
		return ns;
	all = min_t(u64, done, 1024);
	all = all * all >> 10;
	part = all + div64_u64((1024 - all) * BURST_ONE, burst);
	return idle + ((ns - idle) * part >> 10);
}

void hy_estimate_period(struct hy_estimate *e, const struct hy_dev_snap *d, u64 period_ns, u64 all,
			u32 mix)
{
	const struct ek_rt_quiet *quiet = &d->quiet;
	bool known = d->requests >= HY_MIN_REQUESTS && quiet->requests >= HY_MIN_REQUESTS &&
		     quiet->look.nr >= HY_MIN_REQUESTS;
	struct seen seen = {};
	u64 idle, burst = BURST_ONE;
	u32 expected, slope;

	if (known) {
		look_at(&seen, quiet);
		burst = burst_of(&seen);
	}
	measure_idle(e, d, burst);
	idle = hy_estimate_idle(e, d, mix);
	if (d->requests < HY_MIN_REQUESTS) {
		e->marginal_ns = idle;
		e->mean_ns = idle;
		e->bursts = 0;
		e->slope_r = 0;
		return;
	}
	if (!known)
		return;
	expected = expected_slope(seen.n, seen.r, idle, e->idle_n);
	note_slope(e, slope_of(&seen, expected, all), seen.r);
	/* In a burst the number in flight says little about the rate. */
	slope = clamp_t(s32, e->slope, burst < MANY_AT_ONCE ? SLOPE_MIN : SLOPE_POWER,
			power_slope(seen.n, seen.r, idle, e->idle_n));
	e->mean_ns = seen.r;
	e->bursts = burst >= MANY_AT_ONCE ? busy_with_bursts(&seen) : 0;
	note_marginal(e, alone(div_u64(seen.r * SLOPE_ONE, slope), idle, burst,
			       div64_u64(seen.r << 12, max(period_ns, 1ULL))));
}
