// SPDX-License-Identifier: GPL-2.0-only
/*
 * Equal marginal response times: what one more request in flight at a member adds to
 * its throughput is to be the same everywhere, which is where the sum of the
 * throughputs is largest.  policy_estimate.c has the estimates.
 *
 * Load goes from members whose M is large to those near the least.  How far a step goes, and for
 * how long a direction has to be wanted before there is one, is learned for each pair of
 * members: two that are alike and change places by chance do not hold up the others.
 *
 * A member that is slower when idle than another one is under its load is to have none: that takes
 * no learning, and all goes at once, before anything else.  The other way round one period says
 * nothing: it may have had a burst, and what is put on a disk then is slow for long.
 *
 * Units: shares in ppm, times in ns.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy_marginal.h"
#include "policy_util.h"

#define GAIN_START	40000
#define GAIN_MIN	10000
#define GAIN_MAX	100000
#define GAIN_MAX_SLOW	50000		/* for a member as slow as a disk */
#define SLOW_NS		3000000
#define BAND		150000		/* ppm of the larger of two M */
#define BAND_NOISE	7		/* tenths of the noise on top */
#define DONOR_SPEED	8		/* givers below 1/8 slow down at first */
#define BAND_MAX	400000		/* saturated members are noisy, and must lose load */
#define LASTING		8		/* decisions that a difference is averaged over */
#define LASTING_PART	3		/* of the band, then */
#define LASTING_SPEED	3
#define MAX_FLIPS	8
#define MAX_SAME	100
#define MAX_OWED	8		/* steps */
#define MAX_HELD	3
#define GROSS		2		/* times the other's M */
#define SLOWER		2		/* times as slow when idle */
#define PATIENCE	3		/* periods */
#define REST		250000		/* of a period, ppm */
#define CLOSED		1000		/* ppm: a share that is as good as none */
#define BACKOFF_MIN	8
#define BACKOFF_MAX	128
#define OPENING		4		/* periods in which an opening can fail */

/* A period's computation. */
struct step {
	const struct hy_snapshot *snap;
	const struct hy_marginal_dev *dev;
	const u32 *q;
	u64 *r;				/* by member: mean, ns; 0: too few requests */
	u64 *idle;
	u64 *m;
	u64 rbar, mbar;
	u64 requests;
	u32 mix;			/* part that are reads, in 1/1024 */
	int best;			/* the receiver with the least M */
};

static unsigned int pair_nr(unsigned int a, unsigned int b)
{
	unsigned int i = min(a, b), j = max(a, b);

	return j * (j - 1) / 2 + i;
}

static void forget_directions(struct hy_marginal *m)
{
	unsigned int i;

	for (i = 0; i < HY_PAIRS; i++)
		m->pair[i] = (struct hy_marginal_pair){ .gain = GAIN_START, .limit = GAIN_MAX };
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		m->dev[i].enough = U32_MAX;
}

void hy_marginal_init(struct hy_marginal *m)
{
	memset(m, 0, sizeof(*m));
	forget_directions(m);
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

	s->mix = hy_read_part(s->snap);
	for (i = 0; i < s->snap->nr; i++) {
		const struct hy_dev_snap *d = &s->snap->dev[i];

		if (!d->usable)
			continue;
		hy_estimate_period(&m->dev[i].e, d, s->snap->period_ns, all, s->mix);
		s->idle[i] = hy_estimate_idle(&m->dev[i].e, d, s->mix);
		s->m[i] = m->dev[i].e.marginal_ns;
		s->r[i] = min_t(u64, d->mean_ns, HY_MAX_NS);
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
	u64 idle = m->dev[i].e.marginal_ns;

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
	u32 noise = (m->dev[a].e.noise + m->dev[b].e.noise) / 2;

	return min(BAND + noise * BAND_NOISE / 10, (u32)BAND_MAX);
}

/* Is it better that two have a part of each burst than that one has all of it? */
static bool share_bursts(const struct step *s, unsigned int i, unsigned int j)
{
	unsigned int fast = s->idle[i] <= s->idle[j] ? i : j, slow = i + j - fast;

	return hy_estimate_share_bursts(&s->dev[fast].e, &s->dev[slow].e,
					hy_ppm_of(s->q[fast], s->q[i] + s->q[j]), s->mix);
}

/*
 * A member's M, to be compared with another one's.  M leaves out what the others of a burst add, as
 * if it could not be divided.  Who sent it waits for the last of it, which comes soonest where both
 * are done with their parts at the same time: where they answer equally fast.
 */
static u64 m_beside(const struct step *s, unsigned int i, unsigned int other)
{
	return share_bursts(s, i, other) ? s->dev[i].e.mean_ns : s->m[i];
}

/* By what part @high's M is above @low's, ppm. */
static u64 difference(const struct step *s, unsigned int low, unsigned int high)
{
	u64 more = m_beside(s, high, low), less = m_beside(s, low, high);

	return more > less ? hy_ppm_of(more - less, more) : 0;
}

/* Is @high's M above @low's by more than @tenths of their band? */
static bool above(const struct hy_marginal *m, const struct step *s, unsigned int low,
		  unsigned int high, unsigned int tenths)
{
	return difference(s, low, high) > band_of(m, low, high) * tenths / 10;
}

static void find_best(const struct hy_marginal *m, struct step *s)
{
	unsigned int i;

	s->best = -1;
	for (i = 0; i < s->snap->nr; i++)
		if (may_receive(m, s, i) && (s->best < 0 || s->m[i] < s->m[s->best]))
			s->best = i;
}

/* By what part @from's M has been above @to's for long, ppm. */
static s32 lasted(const struct hy_marginal *m, unsigned int from, unsigned int to)
{
	const struct hy_marginal_pair *pair = &m->pair[pair_nr(from, to)];

	return from < to ? pair->difference : -pair->difference;
}

/*
 * Is @from's M above @to's by little, and has been for long, while nothing waited at either?
 * Chance evens out, so the band is the narrower.
 */
static bool is_lasting(const struct hy_marginal *m, const struct step *s, unsigned int from,
		       unsigned int to)
{
	s32 mean = lasted(m, from, to);

	return m->pair[pair_nr(from, to)].compared == LASTING &&
	       mean > (s32)(band_of(m, from, to) / LASTING_PART) &&
	       (s32)difference(s, to, from) > mean / 2;
}

/* Should load go from one to the other?  Those near the best receive as well. */
static bool is_wanted(const struct hy_marginal *m, const struct step *s, unsigned int from,
		      unsigned int to)
{
	return s->q[from] && may_receive(m, s, to) && !above(m, s, s->best, to, 5) &&
	       (above(m, s, to, from, 10) || is_lasting(m, s, from, to));
}

/*
 * Is one slower when idle than the other is under its load?  Then it is to have none.  Unless the
 * other was slower itself when it had as much as it would have then: what has no time to spare
 * changes places with what has, at shares that are near each other.  While it takes in what comes
 * its M is of before; its mean is of now.
 */
static bool is_gross(const struct hy_marginal *m, const struct step *s, unsigned int slow,
		     unsigned int fast)
{
	return s->r[fast] && s->idle[slow] > GROSS * max(s->m[fast], s->r[fast]) &&
	       s->q[slow] + s->q[fast] < m->dev[fast].enough;
}

/* Was M measured at the share that it has? */
static bool is_measured(const struct hy_dev_snap *d)
{
	return d->quiet.requests >= HY_MIN_REQUESTS && d->quiet.look.nr >= HY_MIN_REQUESTS;
}

/* The least share at which a member was slower than another one in use is when idle. */
static void note_enough(struct hy_marginal *m, const struct step *s)
{
	unsigned int i, j;

	for (i = 0; i < s->snap->nr; i++)
		for (j = 0; j < s->snap->nr; j++)
			if (i != j && s->r[i] && s->r[j] && !is_closed(s, j) &&
			    s->m[i] > GROSS * s->idle[j] && is_measured(&s->snap->dev[i]))
				m->dev[i].enough = min(m->dev[i].enough, s->q[i]);
}

/* Is a member in use that is to have none? */
static bool has_gross(const struct hy_marginal *m, const struct step *s)
{
	unsigned int i, j;

	for (i = 0; i < s->snap->nr; i++)
		for (j = 0; j < s->snap->nr; j++)
			if (i != j && !is_closed(s, i) && is_gross(m, s, i, j) &&
			    is_wanted(m, s, i, j))
				return true;
	return false;
}

static bool differs_by(u64 a, u64 b, unsigned int percent)
{
	return (a > b ? a - b : b - a) * 100 > b * percent;
}

/* By more than a fiftieth?  Chance alone does that to small ones; then nothing is said here. */
static bool shares_moved(const struct hy_marginal *m, const struct step *s)
{
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++)
		if (!is_closed(s, i) && differs_by(s->q[i], m->dev[i].q, 2))
			return true;
	return false;
}

/*
 * A member that answers otherwise while all shares are the same, or another number of requests?
 * Where the others' have changed it may have been left by what now waits for them.
 */
static bool is_other_load(struct hy_marginal *m, const struct step *s)
{
	u64 inflight = in_flight(s->snap);
	bool other = differs_by(inflight, m->inflight, 35), moved = shares_moved(m, s);
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		struct hy_marginal_dev *dev = &m->dev[i];

		/* Not what copies do to it. */
		if (s->snap->dev[i].background_ns > s->snap->period_ns / 50)
			continue;
		if (s->r[i] && !is_closed(s, i) && !moved && !differs_by(s->q[i], dev->q, 1))
			other |= (s->r[i] > 2 * dev->r || 2 * s->r[i] < dev->r);
		dev->r = s->r[i];
		dev->q = s->q[i];
	}
	if (other)
		m->inflight = inflight;
	return other;
}

/* Then what was learned of the directions is void. */
static void watch_load(struct hy_marginal *m, const struct step *s)
{
	if (!is_other_load(m, s))
		return;
	forget_directions(m);
	m->held = MAX_HELD;
}

static u32 gain_limit(const struct step *s, unsigned int a, unsigned int b)
{
	return max(s->idle[a], s->idle[b]) > SLOW_NS ? GAIN_MAX_SLOW : GAIN_MAX;
}

/* The direction is wanted: its gain. */
static void learn(struct hy_marginal *m, const struct step *s, unsigned int from, unsigned int to)
{
	struct hy_marginal_pair *pair = &m->pair[pair_nr(from, to)];
	s8 sign = from < to ? 1 : -1;

	if (pair->sign == -sign) {
		pair->limit = max(pair->gain / 2, (u32)GAIN_MIN);
		pair->flips = min(pair->flips + 1, MAX_FLIPS);
		pair->same = 0;
	} else if (pair->same >= pair->flips && (pair->stepped || !pair->flips)) {
		/* The second step in one direction: so much the less reason to doubt. */
		if (pair->flips && pair->same > pair->flips)
			pair->flips--;
		pair->gain *= 2;
		pair->limit = min(pair->limit + pair->limit / 4, (u32)GAIN_MAX);
	}
	pair->gain = min3(pair->gain, pair->limit, gain_limit(s, from, to));
	pair->sign = sign;
	pair->stepped = false;
	pair->same = min(pair->same + 1, MAX_SAME);
}

/* One period, that may have had a burst, is no reason to use a member that is slower when idle. */
static u8 patience(const struct step *s, unsigned int from, unsigned int to)
{
	return s->idle[to] > SLOWER * s->idle[from] ? PATIENCE : 0;
}

/* By whom does not matter: members that are alike take turns in being the busiest. */
static void note_wanted(struct hy_marginal *m, const struct step *s)
{
	unsigned int i, j;

	for (j = 0; j < s->snap->nr; j++) {
		bool wanted = false;

		for (i = 0; i < s->snap->nr; i++)
			wanted |= i != j && patience(s, i, j) && is_wanted(m, s, i, j);
		m->dev[j].wanted = wanted ? min(m->dev[j].wanted + 1, MAX_SAME) : 0;
	}
}

/* Is there something to compare: few requests, or such as were measured without copies? */
static bool is_known(const struct hy_dev_snap *d)
{
	return d->requests < HY_MIN_REQUESTS || is_measured(d);
}

/*
 * Does next to nothing wait there, but for copies?  What one more would add to that may be no more
 * than noise, but not by much, or all servers are in use at times.
 */
static bool has_servers_to_spare(const struct step *s, unsigned int i)
{
	const struct hy_dev_snap *d = &s->snap->dev[i];
	u64 idle = s->idle[i], r = 0;

	if (d->requests >= HY_MIN_REQUESTS)
		r = div64_u64(d->quiet.occupancy_ns, d->quiet.requests);
	return idle && r <= idle + idle / 16 && s->m[i] <= idle + idle / 4;
}

/*
 * The mean of the first decisions, and then one in which the last ones count the most.  A period
 * that copies left nothing of says nothing.
 */
static void compare(struct hy_marginal *m, const struct step *s, unsigned int i, unsigned int j)
{
	const struct hy_dev_snap *a = &s->snap->dev[i], *b = &s->snap->dev[j];
	struct hy_marginal_pair *pair = &m->pair[pair_nr(i, j)];
	s32 now = (s32)difference(s, j, i) - (s32)difference(s, i, j);

	if (a->usable && b->usable && (!is_known(a) || !is_known(b)))
		return;
	if (!a->usable || !b->usable || !has_servers_to_spare(s, i) ||
	    !has_servers_to_spare(s, j)) {
		pair->compared = 0;
		pair->difference = 0;
		return;
	}
	pair->compared = min(pair->compared + 1, LASTING);
	pair->difference += (now - pair->difference) / pair->compared;
}

static void learn_all(struct hy_marginal *m, const struct step *s)
{
	unsigned int i, j;

	for (j = 1; j < s->snap->nr; j++)
		for (i = 0; i < j; i++) {
			compare(m, s, i, j);
			if (is_wanted(m, s, i, j))
				learn(m, s, i, j);
			else if (is_wanted(m, s, j, i))
				learn(m, s, j, i);
			else
				m->pair[pair_nr(i, j)].same = 0;
		}
	note_wanted(m, s);
}

/*
 * What would go from one to the other, ppm: less the slower the receiver is, as its curve
 * is the shorter then, and less when the giver has little left, unless it has had to give for long.
 * One that lasts while nothing waits counts three times: no curve bends there.
 */
static u64 wish(struct hy_marginal *m, const struct step *s, unsigned int from, unsigned int to)
{
	const struct hy_marginal_pair *pair = &m->pair[pair_nr(from, to)];
	u64 d = max_t(u64, difference(s, to, from), BAND);
	u64 part = min_t(u64, hy_ppm_of(s->rbar, s->m[to]), HY_PPM);
	u64 left = min_t(u64, s->q[from] * (DONOR_SPEED + pair->same), HY_PPM);

	if (!is_wanted(m, s, from, to))
		return 0;
	if (is_gross(m, s, from, to))
		return s->q[from];
	if (m->gross)
		return 0;
	if (pair->same < pair->flips || m->dev[to].wanted < patience(s, from, to))
		return 0;
	if (is_lasting(m, s, from, to))
		d = max_t(u64, d, LASTING_SPEED * lasted(m, from, to));
	d = div_u64(pair->gain * d, HY_PPM);
	return div_u64(div_u64(d * part, HY_PPM) * left, HY_PPM);
}

/* Of the largest wish, that is the step, what a pair gets: wishes weighted by the giver's share. */
struct wishes {
	u64 largest;
	u64 weight;
};

static u64 weight_of(const struct step *s, unsigned int from, u64 wish)
{
	return div_u64(wish * s->q[from], 1000);
}

static void sum_wishes(struct hy_marginal *m, const struct step *s, struct wishes *w)
{
	unsigned int i, j;

	for (i = 0; i < s->snap->nr; i++)
		for (j = 0; j < s->snap->nr; j++) {
			u64 x = i == j ? 0 : wish(m, s, i, j);

			w->largest = max(w->largest, x);
			w->weight += weight_of(s, i, x);
		}
}

/*
 * The most that a member takes in at a time: as much as it has, or half a request in flight.
 * A slow one beside fast ones can't do with more, and what it can't do with stays long.
 */
static u64 room_of(const struct step *s, unsigned int i)
{
	u64 r = max(max(s->r[i], s->idle[i]), 1ULL);
	u64 one = div64_u64(s->snap->period_ns, r);	/* requests, with one in flight */

	one = min_t(u64, one, BIT_ULL(40));
	return max_t(u64, s->q[i], hy_ppm_of(one, 2 * s->requests));
}

/* Fills @p; returns whether that differs from q. */
static bool share_out(struct hy_marginal *m, const struct step *s, u32 *p)
{
	struct wishes w = {};
	u64 total = 0;
	unsigned int i, j;

	sum_wishes(m, s, &w);
	if (!w.weight)
		return false;
	for (j = 0; j < s->snap->nr; j++) {
		u64 room = room_of(s, j);

		for (i = 0; i < s->snap->nr; i++) {
			u64 x = i == j ? 0 : weight_of(s, i, wish(m, s, i, j));

			x = min3(div64_u64(w.largest * x, w.weight), (u64)p[i], room);
			room -= x;
			if (x)
				m->pair[pair_nr(i, j)].stepped = true;
			p[i] -= x;
			p[j] += x;
			total += x;
		}
	}
	return total;
}

/* Openings that fail wait longer each time. */
static void watch_openings(struct hy_marginal *m, const struct step *s, const u32 *p)
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
		if (p[i] > s->q[i] && is_closed(s, i) && !dev->opened)
			dev->opened = 1;
		if (p[i] < s->q[i] && dev->opened) {
			dev->opened = 0;
			dev->backoff = clamp_t(u32, dev->backoff * 2, BACKOFF_MIN, BACKOFF_MAX);
			dev->wait = dev->backoff;
		}
	}
}

/*
 * An extent may have so large a part of a member's load that it is more than any step.  What
 * is wanted again and again and does not happen adds up, and then it may go.
 */
static void note_owed(struct hy_marginal *m, const struct step *s, const u32 *p)
{
	unsigned int i;

	for (i = 0; i < s->snap->nr; i++) {
		struct hy_marginal_dev *dev = &m->dev[i];
		u32 gone = dev->decided_q > s->q[i] ? dev->decided_q - s->q[i] : 0;
		u32 step = s->q[i] > p[i] ? s->q[i] - p[i] : 0;

		dev->owed = min(dev->owed - min(gone, dev->owed) + step, step * MAX_OWED);
		dev->decided_q = s->q[i];
	}
}

u32 hy_marginal_largest(const struct hy_marginal *m, unsigned int i)
{
	return m->dev[i].owed * 3 / 2;
}

static bool decide(struct hy_marginal *m, struct step *s, u32 *p)
{
	bool move;

	memcpy(p, s->q, s->snap->nr * sizeof(*p));
	m->gross = false;
	if (s->best < 0)
		return false;
	learn_all(m, s);
	m->gross = has_gross(m, s);
	move = share_out(m, s, p);
	watch_openings(m, s, p);
	note_owed(m, s, p);
	return move;
}

/* Has migration left the members alone for long enough to measure? */
static bool is_quiet(const struct hy_snapshot *snap)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *d = &snap->dev[i];

		if (d->usable && d->requests && d->quiet.ns < snap->period_ns / 10)
			return false;
	}
	return true;
}

/*
 * Is a member busy that is slower when idle than the best is under its load, and the best
 * has none that it feels?  Then there is no need to measure well.
 */
static bool is_clear(const struct step *s)
{
	unsigned int i;
	u64 r;

	if (s->best < 0 || !s->r[s->best])
		return false;
	r = s->r[s->best];
	if (r * 10 > s->idle[s->best] * 13)
		return false;
	for (i = 0; i < s->snap->nr; i++)
		if (!is_closed(s, i) && s->idle[i] > 2 * r)
			return true;
	return false;
}

void hy_marginal_idle(struct hy_marginal *m, const struct hy_snapshot *snap)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		if (snap->dev[i].usable && snap->dev[i].requests < HY_MIN_REQUESTS)
			hy_estimate_period(&m->dev[i].e, &snap->dev[i], snap->period_ns, 0,
					   hy_read_part(snap));
}

u32 hy_marginal_period(struct hy_marginal *m, const struct hy_snapshot *snap, const u32 *q,
		       u32 *p)
{
	struct step s = {
		.snap = snap, .dev = m->dev, .q = q, .r = m->room[0], .idle = m->room[1],
		.m = m->room[2]
	};
	bool clear, move;

	memset(m->room, 0, sizeof(m->room));
	measure(m, &s);
	watch_load(m, &s);
	note_enough(m, &s);
	find_best(m, &s);
	clear = is_clear(&s) || (s.best >= 0 && has_gross(m, &s));
	if (!is_quiet(snap) && !clear && m->held < MAX_HELD) {
		m->held++;
		m->settled = false;
		m->gross = false;
		memcpy(p, m->target, snap->nr * sizeof(*p));
		return m->held < MAX_HELD ? REST : HY_PPM;
	}
	m->held = 0;
	move = decide(m, &s, p);
	m->settled = !move;
	memcpy(m->target, p, snap->nr * sizeof(*p));
	return move && clear ? 0 : REST;
}
