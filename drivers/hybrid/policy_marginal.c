// SPDX-License-Identifier: GPL-2.0-only
/*
 * Equal marginal response times: what one more request in flight at a member adds to
 * its throughput is to be the same everywhere, which is where the sum of the
 * throughputs is largest.
 *
 * A member's rate of completion, as a function of the number n in flight, has the slope
 * b = cov(n, rate) / var(n) over the period.  By what is seen at completions the covariance is
 * X (m - n), with the throughput X, the mean n over time and the mean m over completions;
 * the marginal response time is M = 1 / b.  As X = n / R,
 *
 *	M / R = (v + w) / (n (m - n) + w / k),
 *
 * where w / k stands for what is expected without a measurement (v near 0).  The variance v is
 * taken over completions too: in a closed loop what a completion leaves behind is distributed
 * as the number in flight with one process less.
 *
 * Units: shares in ppm, times in ns, numbers in flight in 2^-16.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy_marginal.h"
#include "policy_util.h"

#define ONE		65536u		/* a number in flight */
#define PRIOR		3277u		/* w: .05, in ONE */
#define RATIO_ONE	1024u		/* M / R */
#define RATIO_MAX	(16 * RATIO_ONE)
#define MAX_NS		BIT_ULL(38)	/* a mean that counts: 4 minutes */
#define MAX_FLIGHT	(4096ULL * ONE)
#define MIN_REQUESTS	20		/* fewer measure nothing */

#define GAIN_START	50000
#define GAIN_MIN	10000
#define GAIN_MAX	120000
#define GAIN_MAX_SLOW	60000		/* for a member as slow as a disk */
#define SLOW_NS		3000000
#define BAND		150000		/* ppm of the larger of two M */
#define BAND_NOISE	7		/* tenths of the noise on top */
#define DONOR_SPEED	8		/* givers below 1/8 slow down */
#define BAND_MAX	400000		/* saturated members are noisy, and must lose load */
#define MAX_FLIPS	8
#define MAX_HELD	3
#define CLOSED		1000		/* ppm: a share that is as good as none */
#define BACKOFF_MIN	8
#define BACKOFF_MAX	128
#define OPENING		4		/* periods in which an opening can fail */

/* A period's computation. */
struct step {
	const struct hy_snapshot *snap;
	const u32 *q;
	u64 r[EK_MAX_MEMBERS];		/* mean, ns; 0: too few requests */
	u64 m[EK_MAX_MEMBERS];
	u64 rbar, mbar;
	u64 mdonor, qdonor;		/* mean M of those that may give, their share */
	u64 requests;
	int best;			/* the receiver with the least M */
};

void hy_marginal_init(struct hy_marginal *m)
{
	memset(m, 0, sizeof(*m));
	m->gain = GAIN_START;
	m->limit = GAIN_MAX;
}

/* @part of @whole in ppm, both below 2^44. */
static u64 ppm_of(u64 part, u64 whole)
{
	return whole ? div64_u64(part * HY_PPM, whole) : 0;
}

/* The least seen, which rises slowly towards what is seen now. */
static void note_idle(u64 *idle, u64 ns, u64 requests)
{
	ns = min_t(u64, ns, MAX_NS);
	if (requests < MIN_REQUESTS || !ns)
		return;
	if (!*idle || ns < *idle)
		*idle = ns;
	else
		*idle += (ns - *idle) >> 8;
}

static void measure_idle(struct hy_marginal_dev *dev, const struct hy_dev_snap *d)
{
	u64 reads = min(d->reads, d->requests);

	note_idle(&dev->idle_ns[EK_READ], d->read_ns, reads);
	note_idle(&dev->idle_ns[EK_WRITE], d->write_ns, d->requests - reads);
	if (d->requests >= MIN_REQUESTS)
		return;
	/* Not in use: what is known of it grows old, and one day it is tried again. */
	dev->idle_ns[EK_READ] -= dev->idle_ns[EK_READ] >> 10;
	dev->idle_ns[EK_WRITE] -= dev->idle_ns[EK_WRITE] >> 10;
}

/* For the mix of reads and writes of the period, @reads of @requests; 0: not known. */
static u64 idle_time(const struct hy_marginal_dev *dev, u64 reads, u64 requests)
{
	u64 r = dev->idle_ns[EK_READ], w = dev->idle_ns[EK_WRITE];
	u64 part = requests ? div64_u64(min(reads, requests) * 1024, requests) : 1024;

	if (!r || !w)
		return r ? r : w;
	return (r * part + w * (1024 - part)) >> 10;
}

/* k = min(16, (R/S)^7): how much flatter than X/n the curve is expected to be. */
static u32 expected_ratio(u64 r, u64 idle)
{
	u64 x = idle ? div64_u64(r * RATIO_ONE, idle) : RATIO_ONE, k = RATIO_ONE;
	int i;

	x = clamp_t(u64, x, RATIO_ONE, RATIO_MAX);
	for (i = 0; i < 7 && k < RATIO_MAX; i++)
		k = k * x / RATIO_ONE;
	return min_t(u64, k, RATIO_MAX);
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
};

static void look_at(struct seen *seen, const struct ek_rt_quiet *quiet)
{
	u64 ns = (quiet->ns >> 8) + 1, occupancy = min(quiet->occupancy_ns >> 8, BIT_ULL(47));

	seen->r = clamp_t(u64, div64_u64(quiet->occupancy_ns, quiet->requests), 1, MAX_NS);
	seen->n = min_t(u64, div64_u64(occupancy << 16, ns), MAX_FLIGHT);
	seen->m = min_t(u64, div64_u64(min(quiet->look.sum, BIT_ULL(47)) << 16, quiet->look.nr),
			MAX_FLIGHT);
	seen->v = max(variance(&quiet->look, seen->m), least_variance(seen->n));
}

/*
 * How much what is expected weighs: little, unless the number in flight varies less than half
 * as much as requests that choose at random would make it, as when new extents are placed in
 * turn.  Then the order of events within a turn would pass for a slope.
 */
static u64 prior_weight(const struct seen *seen, u64 all)
{
	u64 random = 0;

	if (seen->n < all)
		random = div64_u64((seen->n >> 4) * ((all - seen->n) >> 4), all) << 8;
	return max_t(s64, random / 2 - seen->v, PRIOR);
}

/* M / R, in 1/RATIO_ONE; @all are in flight at all members. */
static u32 ratio_of(const struct seen *seen, u32 k, u64 all)
{
	s64 cov = (s64)(seen->n >> 4) * ((s64)seen->m - (s64)seen->n) >> 12;
	u64 w = prior_weight(seen, all);
	u64 slope = max_t(s64, cov, 0) + div_u64(w * RATIO_ONE, k);
	u64 v = min(seen->v + w, BIT_ULL(50));

	return clamp_t(u64, div64_u64(v * RATIO_ONE, max(slope, 1ULL)), 1, RATIO_MAX);
}

static void note_marginal(struct hy_marginal_dev *dev, u64 ns)
{
	u64 old = dev->marginal_ns;
	u64 change = old ? ppm_of(ns > old ? ns - old : old - ns, max(ns, old)) : 0;

	dev->noise += ((s64)change - (s64)dev->noise) / 4;
	dev->marginal_ns = ns;
}

static void estimate(struct hy_marginal_dev *dev, const struct hy_dev_snap *d, u64 all)
{
	const struct ek_rt_quiet *quiet = &d->quiet;
	u64 idle = idle_time(dev, d->reads, d->requests);
	struct seen seen;
	u32 ratio;

	if (d->requests < MIN_REQUESTS) {
		dev->marginal_ns = idle;
		return;
	}
	if (quiet->requests < MIN_REQUESTS || quiet->look.nr < MIN_REQUESTS)
		return;
	look_at(&seen, quiet);
	ratio = ratio_of(&seen, expected_ratio(seen.r, idle), all);
	note_marginal(dev, max(seen.r * ratio / RATIO_ONE, idle * 7 / 10));
}

/* Over all members, mean of the period, in 1/1024. */
static u64 in_flight(const struct hy_snapshot *snap)
{
	u64 n = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		n += div64_u64(min(snap->dev[i].occupancy_ns, BIT_ULL(53)) << 10,
			       max(snap->period_ns, 1ULL));
	return n;
}

static void measure(struct hy_marginal *m, struct step *s)
{
	u64 rsum = 0, msum = 0, weight = 0, all = in_flight(s->snap) << 6;
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		const struct hy_dev_snap *d = &s->snap->dev[i];

		if (!d->usable)
			continue;
		measure_idle(&m->dev[i], d);
		estimate(&m->dev[i], d, all);
		s->m[i] = m->dev[i].marginal_ns;
		s->r[i] = min_t(u64, d->mean_ns, MAX_NS);
		s->requests += d->requests;
		if (!s->m[i])
			continue;
		msum += s->m[i] * s->q[i];
		rsum += s->r[i] * s->q[i];
		weight += s->q[i];
	}
	s->mbar = weight ? div64_u64(msum, weight) : 0;
	s->rbar = weight ? div64_u64(rsum, weight) : 0;
	/* Never seen: hope for the best, and see. */
	for (i = 0; i < s->snap->nr; i++)
		if (s->snap->dev[i].usable && !s->m[i])
			s->m[i] = s->mbar / 2;
}

static bool is_closed(const struct step *s, unsigned int i)
{
	return s->q[i] < CLOSED;
}

/* Could it carry a hundredth of the load?  Not known: it may. */
static bool worth_opening(const struct hy_marginal *m, const struct step *s, unsigned int i)
{
	u64 idle = m->dev[i].marginal_ns;

	if (m->dev[i].wait)
		return false;
	return !idle || div64_u64(s->snap->period_ns, idle) * 100 >= s->requests;
}

static bool may_receive(const struct hy_marginal *m, const struct step *s, unsigned int i)
{
	if (!hy_has_room(&s->snap->dev[i]))
		return false;
	return !is_closed(s, i) || worth_opening(m, s, i);
}

static u64 band_of(const struct hy_marginal *m, unsigned int a, unsigned int b)
{
	u32 noise = (m->dev[a].noise + m->dev[b].noise) / 2;

	return min(BAND + noise * BAND_NOISE / 10, (u32)BAND_MAX);
}

/* Is @high's M above @low's by more than @tenths of their band? */
static bool above(const struct hy_marginal *m, const struct step *s, unsigned int low,
		  unsigned int high, unsigned int tenths)
{
	return s->m[high] > s->m[low] &&
	       ppm_of(s->m[high] - s->m[low], s->m[high]) > band_of(m, low, high) * tenths / 10;
}

static void find_best(const struct hy_marginal *m, struct step *s)
{
	unsigned int i;

	s->best = -1;
	for (i = 0; i < s->snap->nr; i++)
		if (may_receive(m, s, i) && (s->best < 0 || s->m[i] < s->m[s->best]))
			s->best = i;
}

static void find_donors(const struct hy_marginal *m, struct step *s)
{
	u64 sum = 0;
	unsigned int i;

	s->qdonor = 0;
	for (i = 0; i < s->snap->nr; i++) {
		if (!s->q[i] || !above(m, s, s->best, i, 10))
			continue;
		sum += s->m[i] * s->q[i];
		s->qdonor += s->q[i];
	}
	s->mdonor = s->qdonor ? div64_u64(sum, s->qdonor) : 0;
}

/*
 * What a member would take in, ppm: less the slower it is itself, as its curve is
 * the shorter then, and less when those that give have little left.
 */
static u64 wanted(const struct hy_marginal *m, const struct step *s, unsigned int i)
{
	u64 d = ppm_of(s->mdonor - s->m[i], s->mdonor);
	u64 part = min_t(u64, ppm_of(s->rbar, s->m[i]), HY_PPM);
	u64 left = min_t(u64, s->qdonor * DONOR_SPEED, HY_PPM);

	d = div_u64(m->gain * d, HY_PPM);
	return div_u64(div_u64(d * part, HY_PPM) * left, HY_PPM);
}

/* Fills @rise; returns their sum, at most the largest wanted. */
static u64 receivers(const struct hy_marginal *m, const struct step *s, u64 *rise)
{
	u64 largest = 0, sum = 0;
	unsigned int i;
	u32 part[EK_MAX_MEMBERS];

	for (i = 0; i < s->snap->nr; i++) {
		rise[i] = 0;
		if (s->m[i] < s->mdonor && !above(m, s, s->best, i, 5) && may_receive(m, s, i))
			rise[i] = wanted(m, s, i);
		largest = max(largest, rise[i]);
		sum += rise[i];
	}
	if (sum > largest) {
		hy_apportion(part, rise, s->snap->nr, largest);
		for (i = 0; i < s->snap->nr; i++)
			rise[i] = part[i];
	}
	return largest;
}

/* Fills @fall, in proportion to Q (M - the receivers' least), nobody below 0. */
static u64 donors(const struct hy_marginal *m, const struct step *s, u64 amount, u32 *fall)
{
	u64 weight[EK_MAX_MEMBERS], sum = 0;
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		weight[i] = 0;
		if (above(m, s, s->best, i, 10))
			weight[i] = div_u64(s->q[i] * ppm_of(s->m[i] - s->m[s->best], s->m[i]),
					    1000);
	}
	hy_apportion(fall, weight, s->snap->nr, amount);
	for (i = 0; i < s->snap->nr; i++) {
		fall[i] = min(fall[i], s->q[i]);
		sum += fall[i];
	}
	return sum;
}

static u32 gain_limit(const struct hy_marginal *m, const struct step *s)
{
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++)
		if (s->q[i] && idle_time(&m->dev[i], 1, 1) > SLOW_NS)
			return GAIN_MAX_SLOW;
	return GAIN_MAX;
}

static bool differs_by(u64 a, u64 b, unsigned int percent)
{
	return (a > b ? a - b : b - a) * 100 > b * percent;
}

/* A member that answers otherwise under the same share, or another number of requests? */
static bool is_other_load(struct hy_marginal *m, const struct step *s)
{
	u64 inflight = in_flight(s->snap);
	bool other = differs_by(inflight, m->inflight, 35);
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		struct hy_marginal_dev *dev = &m->dev[i];

		/* Not what copies do to it. */
		if (s->snap->dev[i].background_ns > s->snap->period_ns / 50)
			continue;
		if (s->r[i] && !is_closed(s, i) && !differs_by(s->q[i], dev->q, 1))
			other |= (s->r[i] > 2 * dev->r || 2 * s->r[i] < dev->r);
		dev->r = s->r[i];
		dev->q = s->q[i];
	}
	if (other)
		m->inflight = inflight;
	return other;
}

/* Then what was learned of the direction is void. */
static void watch_load(struct hy_marginal *m, const struct step *s)
{
	if (!is_other_load(m, s))
		return;
	m->gain = GAIN_START;
	m->limit = GAIN_MAX;
	m->flips = 0;
	m->held = MAX_HELD;
}

/* Is the direction now wanted the last one's opposite? */
static bool turned(const struct hy_marginal *m, const u64 *rise, const u32 *fall, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if ((rise[i] && m->dev[i].sign < 0) || (fall[i] && m->dev[i].sign > 0))
			return true;
	return false;
}

static void note_signs(struct hy_marginal *m, const u64 *rise, const u32 *fall, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (rise[i] || fall[i])
			m->dev[i].sign = rise[i] ? 1 : -1;
}

/* Gain and patience; may the step be taken? */
static bool steady(struct hy_marginal *m, const struct step *s, const u64 *rise, const u32 *fall)
{
	unsigned int nr = s->snap->nr;

	if (turned(m, rise, fall, nr)) {
		m->limit = max(m->gain / 2, (u32)GAIN_MIN);
		m->flips = min(m->flips + 1, (u32)MAX_FLIPS);
		m->same = 0;
	} else if (m->same >= m->flips) {
		/* The second step in one direction: so much the less reason to doubt. */
		if (m->flips && m->same > m->flips)
			m->flips--;
		m->gain *= 2;
		m->limit = min(m->limit + m->limit / 4, (u32)GAIN_MAX);
	}
	m->gain = min3(m->gain, m->limit, gain_limit(m, s));
	note_signs(m, rise, fall, nr);
	return ++m->same >= m->flips;
}

/* Openings that fail wait longer each time. */
static void watch_openings(struct hy_marginal *m, const struct step *s, const u64 *rise,
			   const u32 *fall)
{
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		struct hy_marginal_dev *dev = &m->dev[i];

		if (dev->wait)
			dev->wait--;
		if (dev->opened && dev->opened++ == OPENING) {
			dev->opened = 0;
			dev->backoff = 0;
		}
		if (rise[i] && is_closed(s, i) && !dev->opened)
			dev->opened = 1;
		if (fall[i] && dev->opened) {
			dev->opened = 0;
			dev->backoff = clamp_t(u32, dev->backoff * 2, BACKOFF_MIN, BACKOFF_MAX);
			dev->wait = dev->backoff;
		}
	}
}

static bool decide(struct hy_marginal *m, struct step *s, u32 *p)
{
	u64 rise[EK_MAX_MEMBERS], amount;
	u32 fall[EK_MAX_MEMBERS], take[EK_MAX_MEMBERS];
	unsigned int i, nr = s->snap->nr;

	memcpy(p, s->q, nr * sizeof(*p));
	if (s->best < 0)
		return false;
	find_donors(m, s);
	amount = receivers(m, s, rise);
	amount = amount ? donors(m, s, amount, fall) : 0;
	if (!amount) {
		m->same = 0;
		return false;
	}
	hy_apportion(take, rise, nr, amount);
	watch_openings(m, s, rise, fall);
	if (!steady(m, s, rise, fall))
		return false;
	for (i = 0; i < nr; i++)
		p[i] = s->q[i] + take[i] - fall[i];
	return true;
}

/* Has migration left the members alone enough for what was measured to count? */
static bool is_quiet(const struct hy_snapshot *snap)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *d = &snap->dev[i];

		if (d->usable && d->background_ns > snap->period_ns / 5)
			return false;
	}
	return true;
}

/*
 * Is a member busy that is slower when idle than the best is under its load, and the best
 * has none that it feels?  Then there is no need to measure well.
 */
static bool is_clear(const struct hy_marginal *m, const struct step *s)
{
	u64 idle, r;
	unsigned int i;

	if (s->best < 0 || !s->r[s->best])
		return false;
	r = s->r[s->best];
	idle = idle_time(&m->dev[s->best], s->snap->dev[s->best].reads,
			 s->snap->dev[s->best].requests);
	if (r * 10 > idle * 13)
		return false;
	for (i = 0; i < s->snap->nr; i++) {
		idle = idle_time(&m->dev[i], s->snap->dev[i].reads, s->snap->dev[i].requests);
		if (!is_closed(s, i) && idle > 2 * r)
			return true;
	}
	return false;
}

bool hy_marginal_period(struct hy_marginal *m, const struct hy_snapshot *snap, const u32 *q,
			u32 *p)
{
	struct step s = { .snap = snap, .q = q };
	bool act;

	measure(m, &s);
	watch_load(m, &s);
	find_best(m, &s);
	if (!is_quiet(snap) && !is_clear(m, &s) && m->held < MAX_HELD) {
		m->held++;
		memcpy(p, m->target, snap->nr * sizeof(*p));
		return m->held < MAX_HELD;
	}
	m->held = 0;
	act = decide(m, &s, p);
	memcpy(m->target, p, snap->nr * sizeof(*p));
	return act;
}
