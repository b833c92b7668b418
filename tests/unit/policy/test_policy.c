// SPDX-License-Identifier: GPL-2.0-only
/* The policies against arithmetic done by hand, and what must hold for any input. */
#include <math.h>
#include "check.h"
#include "policy_util.h"

#define US 1000ULL
#define MS 1000000ULL
#define PCT 10000		/* ppm */
#define IDLE (-1)

static struct hy_policy *make(const char *name, unsigned int nr)
{
	struct hy_policy *p = NULL;

	CHECK_EQ(hy_policy_create(name, nr, &p), 0);
	return p;
}

static void set(struct hy_policy *p, const char *key, const char *value)
{
	const char *reason = NULL;

	CHECK_MSG(!hy_policy_set(p, key, value, &reason), "%s=%s: %s", key, value, reason);
}

static void set_fails(struct hy_policy *p, const char *key, const char *value, int error)
{
	char before[512], after[512];
	const char *reason = NULL;

	hy_policy_emit(p, before, sizeof(before));
	CHECK_MSG(hy_policy_set(p, key, value, &reason) == error, "%s=%s", key, value);
	CHECK(reason && *reason);
	hy_policy_emit(p, after, sizeof(after));
	CHECK(!strcmp(before, after));
}

/* wardrop as in the paper, but for what is set next. */
static struct hy_policy *average(unsigned int nr)
{
	struct hy_policy *p = make("wardrop", nr);

	set(p, "objective", "average");
	return p;
}

static void emits(struct hy_policy *p, const char *text)
{
	char buf[512];

	CHECK_EQ(hy_policy_emit(p, buf, sizeof(buf)), strlen(text));
	CHECK_MSG(!strcmp(buf, text), "\"%s\", should be \"%s\"", buf, text);
}

/* @q in percent, @us mean response time; 1000 extents, half of them free */
static struct hy_snapshot snap_of(unsigned int nr, const double *q, const double *us)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = nr };
	unsigned int i;

	for (i = 0; i < nr; i++)
		s.dev[i] = (struct hy_dev_snap){
			.usable = true,
			.requests = llround(q[i] * 1000),
			.share = llround(q[i] * PCT),
			.mean_ns = q[i] ? llround(us[i] * US) : 0,
			.ewma_ns = llround(us[i] * US),
			.extents = 1000,
			.free = 500,
		};
	return s;
}

static void sums_hold(const struct hy_snapshot *s, const struct hy_decision *d)
{
	u64 target = 0, in = 0, out = 0;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		target += d->target[i];
		in += d->receive[i];
		out += d->give[i];
		CHECK(!d->receive[i] || !d->give[i]);
	}
	CHECK_EQ(target, HY_PPM);
	CHECK_EQ(in, out);
}

static struct hy_decision period(struct hy_policy *p, const struct hy_snapshot *s)
{
	struct hy_decision d;

	memset(&d, 0xee, sizeof(d));
	hy_policy_period(p, s, &d);
	while (hy_policy_go_on(p, s))
		;
	sums_hold(s, &d);
	return d;
}

/* Equation (1) and nothing else. */
static struct hy_policy *bare(unsigned int nr, const char *alpha, const char *beta)
{
	struct hy_policy *p = average(nr);

	set(p, "alpha", alpha);
	set(p, "beta", beta);
	set(p, "floor", "0");
	set(p, "deadband", "0");
	set(p, "step", "100");
	return p;
}

/*
 * Q = .8, .2; R = .2, .25 ms.  Rbar = .16 + .05 = .21 ms.  alpha = 1/ms:
 * P0 = .8 + (.21 - .20) .8 = .808, P1 = .2 + (.21 - .25) .2 = .192.
 * beta = 1000: .008 * 1000 = 8 extents to member 0.
 */
static void two_members(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 80, 20 }, (double[]){ 200, 250 });
	struct hy_policy *p = bare(2, "1", "1000");
	struct hy_decision d = period(p, &s);

	CHECK_EQ(d.target[0], 808000);
	CHECK_EQ(d.target[1], 192000);
	CHECK_EQ(d.receive[0], 8);
	CHECK_EQ(d.give[1], 8);
	/* beta = 100: .8 of a token is 1, and 0 as the paper truncates */
	set(p, "beta", "100");
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 1);
	set(p, "rounding", "truncate");
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 0);
	/* alpha = .5/ms: P0 = .804 */
	set(p, "alpha", "0.5");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 804000);
	/* alpha = 0: nothing changes */
	set(p, "alpha", "0");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 800000);
	hy_policy_destroy(p);
}

/*
 * Q = .5, .3, .2; R = 1, 2, 4 ms.  Rbar = .5 + .6 + .8 = 1.9.  alpha = .1:
 * P0 = .5 + .09 * .5 = .545, P1 = .3 - .01 * .3 = .297, P2 = .2 - .21 * .2 = .158.
 * beta = 1000: 45 in; out 3 and 42.  beta = 100: 4.5 rounds to 5 in; out
 * 5 * 3/45 = .33 and 5 * 42/45 = 4.67: 0 and 5.
 */
static void three_members(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 50, 30, 20 },
				       (double[]){ 1000, 2000, 4000 });
	struct hy_policy *p = bare(3, "0.1", "1000");
	struct hy_decision d = period(p, &s);

	CHECK_EQ(d.target[0], 545000);
	CHECK_EQ(d.target[1], 297000);
	CHECK_EQ(d.target[2], 158000);
	CHECK_EQ(d.receive[0], 45);
	CHECK_EQ(d.give[1], 3);
	CHECK_EQ(d.give[2], 42);
	set(p, "beta", "100");
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 5);
	CHECK_EQ(d.give[1], 0);
	CHECK_EQ(d.give[2], 5);
	hy_policy_destroy(p);
}

/*
 * Q = .4, .2, .2, .1, .1; R = 1, 1, 2, 2, 6 ms.
 * Rbar = .4 + .2 + .4 + .2 + .6 = 1.8.  alpha = .05/ms:
 * P0 = .4 + .05 * .8 * .4 = .416, P1 = .2 + .008 = .208,
 * P2 = .2 - .05 * .2 * .2 = .198, P3 = .1 - .001 = .099,
 * P4 = .1 - .05 * 4.2 * .1 = .079.  Sum 1.
 * beta = 1000: in 16 and 8; out 2, 1, 21.
 */
static void five_members(void)
{
	struct hy_snapshot s = snap_of(5, (double[]){ 40, 20, 20, 10, 10 },
				       (double[]){ 1000, 1000, 2000, 2000, 6000 });
	struct hy_policy *p = bare(5, "0.05", "1000");
	static const u32 target[] = { 416000, 208000, 198000, 99000, 79000 };
	static const u32 in[] = { 16, 8, 0, 0, 0 }, out[] = { 0, 0, 2, 1, 21 };
	struct hy_decision d = period(p, &s);
	int i;

	for (i = 0; i < 5; i++) {
		CHECK_EQ(d.target[i], target[i]);
		CHECK_EQ(d.receive[i], in[i]);
		CHECK_EQ(d.give[i], out[i]);
	}
	hy_policy_destroy(p);
}

/*
 * 32 members at Q = 1/32 = .03125; 16 of 1 ms, 16 of 3 ms: Rbar = 2, alpha = .2:
 * P = .03125 (1 +- .2) = .0375 and .025; beta = 1000: 6.25 each, 100 in all:
 * 16 * 6 = 96, four of the equal remainders get one more.
 */
static void many_members(void)
{
	double q[32], us[32];
	struct hy_snapshot s;
	struct hy_policy *p = bare(32, "0.2", "1000");
	struct hy_decision d;
	u32 in = 0;
	int i;

	for (i = 0; i < 32; i++) {
		q[i] = 3.125;
		us[i] = i < 16 ? 1000 : 3000;
	}
	s = snap_of(32, q, us);
	d = period(p, &s);
	for (i = 0; i < 32; i++) {
		CHECK_EQ(d.target[i], i < 16 ? 37500 : 25000);
		CHECK_NEAR(i < 16 ? d.receive[i] : d.give[i], 6, 1);
		in += d.receive[i];
	}
	CHECK_EQ(in, 100);
	hy_policy_destroy(p);
}

static void one_member(void)
{
	struct hy_snapshot s = snap_of(1, (double[]){ 100 }, (double[]){ 700 });
	struct hy_policy *p = average(1);
	struct hy_decision d = period(p, &s);

	CHECK_EQ(d.target[0], HY_PPM);
	CHECK_EQ(d.receive[0], 0);
	CHECK_EQ(hy_policy_place(p, &s, &d, 3), 0);
	s.dev[0].free = 0;
	CHECK_EQ(hy_policy_place(p, &s, &d, 3), -1);
	hy_policy_destroy(p);
}

/*
 * The paper's own numbers, alpha = 10/ms, beta = 100: Q = .5, .5; R = 1, 3 ms,
 * Rbar = 2: P0 = .5 + 10 * .5 = 5.5, clipped to 1; P1 = -4.5, clipped to .01.
 * Above the floors .99 and 0; they get 1 - .02 = .98: P = .99, .01.
 * Tokens .49 * 100 = 49.
 */
static void paper_clips(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 50, 50 }, (double[]){ 1000, 3000 });
	struct hy_policy *p = average(2);
	struct hy_decision d;

	set(p, "preset", "paper");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 990000);
	CHECK_EQ(d.target[1], 10000);
	CHECK_EQ(d.receive[0], 49);
	CHECK_EQ(d.give[1], 49);
	/* its R is the exponential average: swap those alone and it goes the other way */
	s.dev[0].ewma_ns = 3 * MS;
	s.dev[1].ewma_ns = 1 * MS;
	d = period(p, &s);
	CHECK_EQ(d.target[0], 10000);
	set(p, "estimator", "mean");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 990000);
	hy_policy_destroy(p);
}

/*
 * The same with step 10: changes of +-.49 scaled to +-.1: .6, .4.  A floor wins
 * over the step: from Q = 1, 0 a floor of 20% is reached at once.
 */
static void step_bounds(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 50, 50 }, (double[]){ 1000, 3000 });
	struct hy_policy *p = bare(2, "10", "100");
	struct hy_decision d;

	set(p, "step", "10");
	set(p, "floor", "1");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 600000);
	CHECK_EQ(d.target[1], 400000);
	CHECK_EQ(d.receive[0], 10);
	set(p, "floor", "20");
	s = snap_of(2, (double[]){ 100, 0 }, (double[]){ 1000, 0 });
	d = period(p, &s);
	CHECK_EQ(d.target[1], 200000);
	hy_policy_destroy(p);
}

/*
 * Rbar = .21: 4.76% below and 19% above.  A dead band of 5% leaves member 0 alone,
 * P1 = .192; .8 and .192 scaled to 1: .806452 and .193548.  With 20% none moves.
 */
static void deadband(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 80, 20 }, (double[]){ 200, 250 });
	struct hy_policy *p = bare(2, "1", "1000");
	struct hy_decision d;

	set(p, "deadband", "5");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 806452);
	CHECK_EQ(d.target[1], 193548);
	set(p, "deadband", "20");
	d = period(p, &s);
	CHECK_EQ(d.target[0], 800000);
	CHECK_EQ(d.receive[0] + d.receive[1], 0);
	hy_policy_destroy(p);
}

/* An idle member is kept at the floor and gets tokens for it. */
static void idle_member(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 60, 40, 0 }, (double[]){ 1000, 1000, 0 });
	struct hy_policy *p = average(3);
	struct hy_decision d = period(p, &s);

	/*
	 * A floor of .1%: above the floors .599 and .399 of .997, scaled by .997/.998:
	 * .599 * .997/.998 + .001 = .599400, .399600.  .001 * 5000 = 5 extents.
	 */
	CHECK_EQ(d.target[0], 599400);
	CHECK_EQ(d.target[1], 399600);
	CHECK_EQ(d.target[2], 1000);
	CHECK_EQ(d.receive[2], 5);
	CHECK_EQ(d.give[0] + d.give[1], 5);
	hy_policy_destroy(p);
}

static void nothing_happened(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 80, 20 }, (double[]){ 200, 250 });
	struct hy_policy *p = bare(2, "1", "1000");
	struct hy_decision d;

	s = snap_of(2, (double[]){ 0, 0 }, (double[]){ 0, 0 });
	d = period(p, &s);
	CHECK_EQ(d.target[0], 500000);		/* the initial target */
	s = snap_of(2, (double[]){ 80, 20 }, (double[]){ 200, 250 });
	period(p, &s);
	s = snap_of(2, (double[]){ 0, 0 }, (double[]){ 0, 0 });
	d = period(p, &s);
	CHECK_EQ(d.target[0], 808000);		/* the last one */
	CHECK_EQ(d.receive[0] + d.receive[1], 0);
	hy_policy_destroy(p);
}

static void unusable_member(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 40, 40, 20 },
				       (double[]){ 1000, 1000, 100 });
	struct hy_policy *p = average(3);
	struct hy_decision d;
	int i;

	s.dev[2].usable = false;
	d = period(p, &s);
	CHECK_EQ(d.target[0], 500000);
	CHECK_EQ(d.target[1], 500000);
	CHECK_EQ(d.target[2], 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(d.receive[i] + d.give[i], 0);
	for (i = 0; i < 100; i++)
		CHECK(hy_policy_place(p, &s, &d, i) < 2);
	/* back again: it has requests, so its 20% are measured */
	s.dev[2].usable = true;
	d = period(p, &s);
	CHECK(d.target[2] > 200000);
	/* none usable: the last target stays, nothing can be placed */
	for (i = 0; i < 3; i++)
		s.dev[i].usable = false;
	d = period(p, &s);
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), -1);
	/* no requests and one gone */
	s = snap_of(3, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 });
	s.dev[0].usable = false;
	d = period(p, &s);
	CHECK_EQ(d.target[0], 0);
	hy_policy_destroy(p);
}

/* Three members, 45 wanted in (see three_members()): bounded by room and by what is there. */
static void full_members(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 50, 30, 20 },
				       (double[]){ 1000, 2000, 4000 });
	struct hy_policy *p = bare(3, "0.1", "1000");
	struct hy_decision d;

	s.dev[0].free = 0;
	d = period(p, &s);
	CHECK_EQ(d.target[0], 545000);
	CHECK_EQ(d.receive[0] + d.give[1] + d.give[2], 0);
	s.dev[0].free = 15;
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 15);
	CHECK_EQ(d.give[1], 1);
	CHECK_EQ(d.give[2], 14);
	s.dev[0].free = 500;
	s.dev[2].free = 990;		/* only 10 there to give */
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 13);
	CHECK_EQ(d.give[1], 3);
	CHECK_EQ(d.give[2], 10);
	hy_policy_destroy(p);
}

/* What it saw without migration: any, also what does not fit together. */
static void random_quiet(struct hy_dev_snap *d)
{
	u64 most = rnd() % 4 ? 12 : 40;

	d->reads = rnd() % 4 ? rnd() % (d->requests + 1) : rnd_log(40);
	d->read_ns = rnd_log(45);
	d->write_ns = rnd_log(45);
	d->occupancy_ns = rnd_log(60);
	d->background_ns = rnd() % 2 ? 0 : rnd_log(45);
	d->quiet.ns = rnd_log(45);
	d->quiet.requests = rnd_log(40);
	d->quiet.occupancy_ns = rnd_log(60);
	d->quiet.look.nr = rnd_log(20);
	d->quiet.look.sum = d->quiet.look.nr * rnd_log(most);
	d->quiet.look.sq = rnd_log(60);
}

static struct hy_snapshot random_snap(unsigned int nr)
{
	struct hy_snapshot s = { .nr = nr, .period_ns = 2000 * MS };
	u32 share[EK_MAX_MEMBERS];
	u64 weight[EK_MAX_MEMBERS] = {};
	unsigned int i;

	for (i = 0; i < nr; i++)
		weight[i] = rnd() % 4 ? rnd_log(20) : 0;
	hy_apportion(share, weight, nr, HY_PPM);
	for (i = 0; i < nr; i++)
		s.dev[i] = (struct hy_dev_snap){
			.usable = rnd() % 8,
			.requests = weight[i],
			.share = share[i],
			.mean_ns = weight[i] ? rnd_log(rnd() % 4 ? 24 : 45) + 1 : 0,
			.ewma_ns = rnd_log(40),
			.extents = 1000000,
			.free = rnd() % 4 ? rnd() % 1000001 : 0,
		};
	for (i = 0; i < nr; i++)
		random_quiet(&s.dev[i]);
	return s;
}

static void random_params(struct hy_policy *p)
{
	char v[32];

	snprintf(v, sizeof(v), "%g", (double)(rnd_log(20) % 1000000) / 1000);
	set(p, "alpha", v);
	snprintf(v, sizeof(v), "%u", (unsigned int)(rnd_log(20) % 1000001));
	set(p, "beta", v);
	snprintf(v, sizeof(v), "%.4f", (double)(rnd() % (1000000 / p->nr)) / 10000);
	set(p, "floor", v);
	snprintf(v, sizeof(v), "%.4f", (double)rnd_log(19) / 10000);
	set(p, "step", v);
	set(p, "estimator", rnd() % 2 ? "mean" : "ewma");
	set(p, "rounding", rnd() % 2 ? "nearest" : "truncate");
	set(p, "objective", rnd() % 2 ? "average" : "marginal");
}

static void check_bounds(const struct hy_snapshot *s, const struct hy_decision *d, u32 floor)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		any |= s->dev[i].usable;
	for (i = 0; i < s->nr && any; i++) {
		const struct hy_dev_snap *dev = &s->dev[i];

		CHECK(dev->usable ? d->target[i] >= floor : !d->target[i]);
		CHECK(d->receive[i] <= (dev->usable ? dev->free : 0));
		CHECK(d->give[i] <= dev->extents - dev->free);
	}
}

static void random_snapshots(void)
{
	int n;

	for (n = 0; n < 20000 && !check_failed; n++) {
		unsigned int nr = 1 + rnd() % EK_MAX_MEMBERS, i;
		struct hy_policy *p = average(nr);
		struct hy_snapshot s = random_snap(nr);
		struct hy_decision d;
		u64 requests = 0;
		char text[512] = "";

		if (n % 3)
			random_params(p);
		if (n % 3 == 1)
			set(p, "floor", "0");
		hy_policy_emit(p, text, sizeof(text));
		d = period(p, &s);
		for (i = 0; i < nr; i++)
			requests += s.dev[i].usable ? s.dev[i].requests : 0;
		check_bounds(&s, &d, n % 3 || !requests ? 0 : 1000);
		if (check_failed)
			printf("  # nr %u, %s\n", nr, text);
		hy_policy_destroy(p);
	}
}

/* Where nothing is clipped: equation (1) in floating point, to 4 ppm. */
static void random_against_float(void)
{
	int n, compared = 0;

	for (n = 0; n < 20000; n++) {
		unsigned int nr = 1 + rnd() % EK_MAX_MEMBERS, i;
		struct hy_policy *p = bare(nr, "0.125", "0");
		double q[EK_MAX_MEMBERS], us[EK_MAX_MEMBERS], rbar = 0;
		struct hy_snapshot s;
		struct hy_decision d;
		bool clips = false;
		u64 left = 100;

		for (i = 0; i < nr; i++) {
			q[i] = i == nr - 1 ? left : rnd() % (left + 1) / (1 + rnd() % 3);
			left -= q[i];
			us[i] = 1 + rnd() % 9000;
			rbar += q[i] / 100 * us[i] / 1000;
		}
		s = snap_of(nr, q, us);
		d = period(p, &s);
		for (i = 0; i < nr; i++)
			clips |= 0.125 * (rbar - us[i] / 1000) < -1;
		for (i = 0; i < nr && !clips; i++) {
			double want = q[i] / 100 * (1 + 0.125 * (rbar - us[i] / 1000));

			CHECK_NEAR(d.target[i], llround(want * HY_PPM), 4);
			compared++;
		}
		hy_policy_destroy(p);
	}
	CHECK(compared > 10000);
}

static void extremes(void)
{
	double q[32], us[32];
	struct hy_snapshot s;
	struct hy_policy *p = bare(32, "1000", "1000000");
	int i;

	for (i = 0; i < 32; i++) {
		q[i] = 3.125;
		us[i] = i ? 1e9 : 1;		/* 1000 s and 1 us */
	}
	s = snap_of(32, q, us);
	period(p, &s);
	set(p, "deadband", "100");
	period(p, &s);
	for (i = 0; i < 32; i++) {
		s.dev[i].mean_ns = U64_MAX;
		s.dev[i].share = U32_MAX;
	}
	s.dev[3].mean_ns = 1;
	set(p, "deadband", "0");
	period(p, &s);
	hy_policy_destroy(p);
}

/*
 * Half each, R1 - R0 = 2^36 ns, so Rbar - R0 = 2^35; alpha is 2^29 in its unit of
 * 10^-6: the product is 2^64, which must count as much and not as nothing.
 */
static void gain_does_not_wrap(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 50, 50 }, (double[]){ 1000, 1000 });
	struct hy_policy *p = bare(2, "536.870912", "1000");
	struct hy_decision d;

	s.dev[1].mean_ns += 1ULL << 36;
	d = period(p, &s);
	CHECK_EQ(d.target[0], HY_PPM);
	CHECK_EQ(d.receive[0], 500);
	hy_policy_destroy(p);
}

/*
 * @x requests a second in @us each; at completions @m are seen in flight, of variance @v.
 * Two seconds, all quiet, every completion looked at.
 */
static void saw(struct hy_snapshot *s, unsigned int i, double x, double us, double m, double v)
{
	struct hy_dev_snap *d = &s->dev[i];
	struct ek_rt_quiet *quiet = &d->quiet;

	d->usable = true;
	d->requests = llround(x * 2);
	d->reads = d->requests;
	d->mean_ns = llround(us * US);
	d->read_ns = d->mean_ns;
	d->occupancy_ns = d->requests * d->mean_ns;
	d->background_ns = 0;
	d->extents = 1000;
	d->free = 500;
	quiet->ns = s->period_ns;
	quiet->requests = d->requests;
	quiet->occupancy_ns = d->occupancy_ns;
	quiet->look.nr = d->requests;
	quiet->look.sum = llround(d->requests * m);
	quiet->look.sq = llround(d->requests * (m * m + v));
}

static void share_out(struct hy_snapshot *s)
{
	u32 share[EK_MAX_MEMBERS];
	u64 weight[EK_MAX_MEMBERS];
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		weight[i] = s->dev[i].requests;
	hy_apportion(share, weight, s->nr, HY_PPM);
	for (i = 0; i < s->nr; i++)
		s->dev[i].share = share[i];
}

static struct hy_policy *marginal(unsigned int nr)
{
	return make("wardrop", nr);
}

/* Where most of the load is new extents it is placed by the targets: the less of a step takes copies. */
static void new_extents_carry_their_part(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	u64 first[] = { 0, 28000, 42000, 56000, U64_MAX };
	u32 receive[] = { 290, 290, 145, 0, 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		struct hy_policy *p = marginal(2);
		struct hy_decision d;

		saw(&s, 0, 20000, 1000, 20, 8);
		saw(&s, 1, 8000, 1500, 12 + 8. / 12, 8);
		share_out(&s);
		s.first = first[i];
		d = period(p, &s);
		CHECK_NEAR(d.target[1], 285714 + 58095, 500);
		CHECK_NEAR(d.receive[1], receive[i], 3);
		hy_policy_destroy(p);
	}
}

/*
 * 0: 20 in flight for 1 ms at 20000/s, its rate does not depend on them (m = n): M is 32 R = 32 ms.
 * 1: 12 for 1.5 ms at 8000/s, m - n = v / n: M = R (v + w) / (v + w) = 1.5 ms.
 * Q = .714286, .285714; Rbar = 1.142857; the gain is .08 at first:
 * .08 (32 - 1.5) / 32 * 1.142857 / 1.5 = .058095.  beta = 5000: 290 tokens of 200 ppm each.
 */
static void equal_marginals(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	saw(&s, 0, 20000, 1000, 20, 8);
	saw(&s, 1, 8000, 1500, 12 + 8. / 12, 8);
	share_out(&s);
	d = period(p, &s);
	CHECK_NEAR(d.target[1], 285714 + 58095, 500);
	CHECK_NEAR(d.receive[1], 290, 3);
	CHECK_EQ(d.token_ppm, 200);
	CHECK_EQ(d.rest, HY_PPM / 4);
	/* Allocation goes by the targets and leaves the tokens alone. */
	for (i = 0; i < 100; i++)
		hy_policy_place(p, &s, &d, i);
	CHECK_NEAR(d.receive[1], 290, 3);
	hy_policy_destroy(p);
	/* Alike: nothing happens, although the averages differ. */
	p = marginal(2);
	saw(&s, 0, 20000, 1000, 20 + 5.3 / 20, 8);
	d = period(p, &s);
	CHECK_EQ(d.receive[0] + d.receive[1], 0);
	CHECK_NEAR(d.target[1], 285714, 1);
	hy_policy_destroy(p);
}

/* Copies left less than a tenth of the period: the same target for two periods, then a rest. */
static void rests_to_measure(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d, first;

	saw(&s, 0, 20000, 1000, 20, 8);
	saw(&s, 1, 8000, 1500, 12 + 8. / 12, 8);
	share_out(&s);
	first = period(p, &s);
	/* Slower than its idle 1 ms, so that there is something to measure. */
	saw(&s, 0, 20000, 1500, 30, 8);
	s.dev[1].quiet.ns = 190 * MS;
	d = period(p, &s);
	CHECK_EQ(d.target[1], first.target[1]);
	CHECK(d.receive[1]);
	d = period(p, &s);
	CHECK(d.receive[1]);
	d = period(p, &s);
	CHECK_EQ(d.target[1], first.target[1]);
	CHECK_EQ(d.receive[1], 0);
	CHECK_EQ(d.rest, HY_PPM);
	saw(&s, 1, 8000, 1500, 12 + 8. / 12, 8);
	d = period(p, &s);
	CHECK(d.receive[1] && d.target[1] != first.target[1]);
	hy_policy_destroy(p);
}

/*
 * 0: .3 ms with little to do, and 2.2 ms with 27 in flight: its rate has grown by 28 * .3 / 2.2 =
 * 3.8 for 28 times as many, as n^.40, so M is 2.2 / .4 = 5.5 ms, although what completions saw
 * says 2.2 (m - n = v / n).  1 has 3 ms either way.
 */
static void power_of_the_number(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;

	saw(&s, 0, 300, 300, 1.09, .08);
	saw(&s, 1, 1000, 3000, 4, 3);
	share_out(&s);
	period(p, &s);
	saw(&s, 0, 27000 / 2.2, 2200, 27 + 6. / 27, 6);
	saw(&s, 1, 2000, 3000, 7, 6);
	share_out(&s);
	period(p, &s);
	d = period(p, &s);
	/* 1 is slower when idle: not by what one period says, or two. */
	CHECK(!d.give[0]);
	d = period(p, &s);
	CHECK(d.give[0] && d.receive[1]);
	hy_policy_destroy(p);
	/* Without having seen 0 idle: no. */
	p = marginal(2);
	d = period(p, &s);
	CHECK(!d.give[0]);
	hy_policy_destroy(p);
}

/* Nothing waits at either (m - n = v / n), and requests take so many us. */
static struct hy_decision unloaded(struct hy_policy *p, struct hy_snapshot *s, double us, double other,
				   int periods)
{
	struct hy_decision d = {};

	saw(s, 0, 8e6 / us, us, 8 + 6. / 8, 6);
	saw(s, 1, 8e6 / other, other, 8 + 6. / 8, 6);
	share_out(s);
	while (periods--)
		d = period(p, s);
	return d;
}

/* 7% is within the band of 15: it has to last, and 1% is nothing however long it does. */
static void little_that_lasts(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;

	d = unloaded(p, &s, 100, 107, 7);
	CHECK_EQ(d.receive[0], 0);
	d = unloaded(p, &s, 100, 107, 1);
	CHECK(d.receive[0] && d.give[1]);
	hy_policy_destroy(p);
	p = marginal(2);
	d = unloaded(p, &s, 100, 101, 100);
	CHECK_EQ(d.receive[0], 0);
	hy_policy_destroy(p);
}

/* Whoever waits for a copy does not wait for a server: what lasts goes on to. */
static void lasts_through_copies(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;

	unloaded(p, &s, 100, 107, 8);
	s.dev[1].mean_ns += s.dev[1].mean_ns / 5;
	s.dev[1].background_ns = s.period_ns / 5;
	s.dev[1].quiet.ns -= s.dev[1].background_ns;
	s.dev[1].quiet.requests -= s.dev[1].requests / 5;
	s.dev[1].quiet.occupancy_ns -= s.dev[1].occupancy_ns / 5;
	d = period(p, &s);
	CHECK(d.receive[0] && d.give[1]);
	hy_policy_destroy(p);
	/* A period with nothing but copies neither counts nor begins it anew. */
	p = marginal(2);
	unloaded(p, &s, 100, 107, 7);
	s.dev[1].quiet.requests = 10;
	s.dev[1].quiet.ns = s.period_ns / 5;
	d = period(p, &s);
	CHECK_EQ(d.receive[0], 0);
	d = unloaded(p, &s, 100, 107, 1);
	CHECK(d.receive[0] && d.give[1]);
	hy_policy_destroy(p);
}

/* As unloaded(), but one more request would take so many times as long: does 7% lead to anything? */
static bool lasts_where(double more)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	d = unloaded(p, &s, 100, 107, 1);
	for (i = 0; i < 24; i++) {
		saw(&s, 0, 80000, 100, 8 + 6. / 8 / more, 6);
		saw(&s, 1, 8e6 / 107, 107, 8 + 6. / 8 / more, 6);
		share_out(&s);
		d = period(p, &s);
	}
	hy_policy_destroy(p);
	return d.receive[0];
}

/* A tenth more is noise of what has servers to spare; a half more is said of what has none at times. */
static void lasts_where_nothing_waits(void)
{
	CHECK(lasts_where(1.1));
	CHECK(!lasts_where(1.5));
}

/* Nothing was measured of a member that was not usable, and no difference to it has lasted. */
static void nothing_lasts_of_the_absent(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	unloaded(p, &s, 100, 101, 20);
	for (i = 0; i < 40; i++) {
		saw(&s, 0, 80000, 100, 8 + 6. / 8, 6);
		s.dev[1] = (struct hy_dev_snap){};
		share_out(&s);
		period(p, &s);
	}
	d = unloaded(p, &s, 101, 100, 1);
	CHECK_EQ(d.receive[1], 0);
	d = unloaded(p, &s, 101, 100, 14);
	CHECK_EQ(d.receive[1], 0);
	hy_policy_destroy(p);
}

/* What is to go and does not adds up, and is paid off by what goes. */
static void owes_what_it_did_not_give(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	u32 first, third;
	struct hy_decision d;

	saw(&s, 0, 20000, 500, 10.8, 8);
	saw(&s, 1, 1000, 1500, 2.5, 1.5);
	share_out(&s);
	d = period(p, &s);
	first = d.largest[1];
	CHECK(first && d.give[1]);
	CHECK_EQ(d.largest[0], 0);
	period(p, &s);
	d = period(p, &s);
	third = d.largest[1];
	CHECK(third > 2 * first);
	saw(&s, 1, 300, 1500, 1.4, .4);
	share_out(&s);
	d = period(p, &s);
	CHECK(d.largest[1] < third);
	hy_policy_destroy(p);
}

/* A member never seen is tried; one known to carry less than 1% of the load is not. */
static void opens_what_is_worth_it(void)
{
	struct hy_snapshot s = { .period_ns = 2000 * MS, .nr = 2 };
	struct hy_policy *p = marginal(2);
	struct hy_decision d;

	saw(&s, 0, 50000, 640, 32, 8);
	saw(&s, 1, 0, 0, 0, 0);
	share_out(&s);
	d = period(p, &s);
	CHECK(d.receive[1] && d.target[1]);
	hy_policy_destroy(p);

	p = marginal(2);
	saw(&s, 1, 190, 5000, 1.9, .1);
	share_out(&s);
	period(p, &s);
	saw(&s, 1, 0, 0, 0, 0);
	share_out(&s);
	d = period(p, &s);
	CHECK_EQ(d.receive[1], 0);
	CHECK_EQ(d.target[1], 0);
	hy_policy_destroy(p);
}

/* A pool without a load, whose members were probed as often as is needed: median @us. */
static struct hy_snapshot probed(unsigned int nr, const double *us)
{
	struct hy_snapshot s = { .period_ns = 100 * MS, .nr = nr };
	unsigned int i;

	for (i = 0; i < nr; i++)
		s.dev[i] = (struct hy_dev_snap){
			.usable = true,
			.probes = us ? HY_FIRST_PROBES : 0,
			.probe_ns = us ? llround(us[i] * US) : 0,
			.probe_mid_ns = us ? llround(us[i] * US) : 0,
			.extents = 1000,
			.free = 1000,
		};
	return s;
}

static struct hy_decision first_shares(struct hy_policy *p, unsigned int nr, const double *us)
{
	struct hy_snapshot none = probed(nr, NULL), s = probed(nr, us);
	struct hy_decision d = period(p, &none);

	CHECK(d.probe_now);
	CHECK_EQ(d.probe, (1u << nr) - 1);
	d = period(p, &s);
	CHECK(!d.probe_now);
	CHECK_EQ(d.receive[0] + d.give[0], 0);
	return d;
}

/* In proportion to 1/S; alike below 2 times the fastest, nothing from 4 times. */
static void first_shares_by_probes(void)
{
	static const char * const objectives[] = { "average", "marginal" };
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		struct hy_policy *p = make("wardrop", 3);
		struct hy_snapshot none = probed(3, NULL);
		struct hy_decision d;

		set(p, "objective", objectives[i]);
		d = first_shares(p, 3, (double[]){ 5000, 60, 100 });
		CHECK_EQ(d.target[0], 0);
		CHECK_EQ(d.target[1], 500000);
		for (n = 0; n < 100; n++)
			CHECK(hy_policy_place(p, &none, &d, n) != 0);
		/* They stand while there is no load. */
		d = period(p, &none);
		CHECK(!d.probe_now);
		CHECK_EQ(d.target[1], 500000);
		hy_policy_destroy(p);
		p = make("wardrop", 3);
		set(p, "objective", objectives[i]);
		/* 1/100 : 1/100 : 1/300 */
		d = first_shares(p, 3, (double[]){ 199, 100, 300 });
		CHECK_EQ(d.target[0], 428572);
		CHECK_EQ(d.target[2], 142857);
		hy_policy_destroy(p);
	}
}

/* One that does not answer, a load that came first, the published policy: equal shares. */
static void first_shares_without_probes(void)
{
	struct hy_snapshot none = probed(2, NULL), s = probed(2, (double[]){ 60, 5000 });
	struct hy_policy *p = make("wardrop", 2);
	struct hy_decision d;
	int i;

	s.dev[1].probes = HY_FIRST_PROBES - 1;
	for (i = 0; i < 3; i++) {
		d = period(p, &s);
		CHECK(d.probe_now);
		CHECK_EQ(d.target[0], 500000);
	}
	d = period(p, &s);
	CHECK(!d.probe_now);
	CHECK_EQ(d.target[0], 500000);
	hy_policy_destroy(p);

	p = make("wardrop", 2);
	period(p, &none);
	s = snap_of(2, (double[]){ 50, 50 }, (double[]){ 1000, 1000 });
	d = period(p, &s);
	CHECK(!d.probe_now);
	CHECK_EQ(d.target[0], 500000);
	hy_policy_destroy(p);

	p = make("wardrop", 2);
	set(p, "preset", "paper");
	d = period(p, &none);
	CHECK(!d.probe_now && !d.probe);
	s = probed(2, (double[]){ 60, 5000 });
	CHECK_EQ(period(p, &s).target[0], 500000);
	hy_policy_destroy(p);
}

/*
 * 0 takes 1.1 ms, as its writes come 64 at a time and it is idle for most of the period; alone each
 * would take .1 ms, as a read does.  So a disk of 5 ms is of no use, and all that it has goes.
 */
static void bursts_are_no_load(void)
{
	struct hy_snapshot s = probed(2, (double[]){ 100, 5000 });
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	period(p, &s);
	s.period_ns = 2000 * MS;
	saw(&s, 0, 6000, 1100, 32, 341);
	saw(&s, 1, 20, 20000, 1.2, .16);
	s.dev[0].reads = 100;
	share_out(&s);
	d = period(p, &s);
	CHECK_EQ(d.target[1], 0);
	saw(&s, 1, 6000, 20000, 120, .16);
	s.dev[0].reads = 100;
	share_out(&s);
	d = period(p, &s);
	CHECK_EQ(d.target[1], 0);
	saw(&s, 1, 0, 0, 0, 0);
	share_out(&s);
	for (i = 0; i < 8; i++) {
		d = period(p, &s);
		CHECK_EQ(d.target[1], 0);
	}
	hy_policy_destroy(p);
}

/*
 * Two that are alike, and 0 has the bursts: 48 at a time, which take it 1.6 ms, where 1 takes .69
 * for the few it has.  Without what a burst's others add 0 would be at .56 ms, and be given the
 * rest.  Half of the burst is worth giving to 1, until both answer equally fast.
 */
static void bursts_are_divided(void)
{
	struct hy_snapshot s = probed(2, (double[]){ 500, 500 });
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	period(p, &s);
	s.period_ns = 2000 * MS;
	for (i = 0; i < 4; i++) {
		saw(&s, 0, 5000, 1600, 24, 192);
		saw(&s, 1, 400, 690, 1.2, .6);
		s.dev[0].reads = 1000;
		s.dev[0].read_ns = 500 * US;
		s.dev[0].write_ns = 1875 * US;
		share_out(&s);
		d = period(p, &s);
		CHECK(d.target[1] > s.dev[1].share);
	}
	saw(&s, 0, 2700, 1000, 12, 60);
	saw(&s, 1, 2700, 950, 12, 60);
	for (i = 0; i < 2; i++) {
		s.dev[i].reads = 1000;
		s.dev[i].read_ns = 500 * US;
		s.dev[i].write_ns = 1200 * US;
	}
	share_out(&s);
	d = period(p, &s);
	CHECK_EQ(d.target[1], 500000);
	hy_policy_destroy(p);
}

/*
 * 1 is slower when idle than 0 under its load, so all that 1 has goes.  Before it is gone 0 has more than it can do
 * with, and copies leave no time to measure its M: then it goes by steps, if at all.
 */
static void not_all_to_the_saturated(void)
{
	struct hy_snapshot s = probed(2, (double[]){ 500, 1500 });
	struct hy_policy *p = marginal(2);
	struct hy_decision d;

	period(p, &s);
	s.period_ns = 2000 * MS;
	saw(&s, 0, 6000, 500, 4, 3);
	saw(&s, 1, 2000, 1500, 4, 3);
	share_out(&s);
	d = period(p, &s);
	CHECK_EQ(d.target[1], 0);
	saw(&s, 0, 40000, 3300, 66, 3);
	s.dev[0].quiet = (struct ek_rt_quiet){};
	d = period(p, &s);
	CHECK(d.target[1] > 0);
	hy_policy_destroy(p);
}

/*
 * All is on 0, where requests wait 20 ms in one period and 60 in the next; a disk takes 5 ms.  Each period's load
 * is another one, what was learned of directions is void each time, and the disk is used nevertheless.
 */
static void bursts_lead_to_the_disk(void)
{
	struct hy_snapshot s = probed(2, (double[]){ 100, 5000 });
	struct hy_policy *p = marginal(2);
	struct hy_decision d;
	int i;

	d = period(p, &s);
	CHECK_EQ(d.target[1], 0);
	s.period_ns = 2000 * MS;
	saw(&s, 1, 0, 0, 0, 0);
	for (i = 0; i < 8 && !d.target[1]; i++) {
		saw(&s, 0, 1000, i % 2 ? 60000 : 20000, i % 2 ? 60 : 20, 8);
		share_out(&s);
		d = period(p, &s);
		CHECK_EQ(i < 2 && d.target[1], false);	/* one burst is no reason */
	}
	CHECK_EQ(d.target[1] > 0, true);
	hy_policy_destroy(p);
}

/* Any sequence of periods on one policy: all sums and bounds hold. */
static void marginal_for_long(void)
{
	unsigned int n, i;

	for (n = 0; n < 300 && !check_failed; n++) {
		unsigned int nr = 1 + rnd() % EK_MAX_MEMBERS;
		struct hy_policy *p = marginal(nr);

		for (i = 0; i < 100; i++) {
			struct hy_snapshot s = random_snap(nr);
			struct hy_decision d = period(p, &s);

			check_bounds(&s, &d, 0);
		}
		hy_policy_destroy(p);
	}
}

static void presets(void)
{
	struct hy_policy *p = make("wardrop", 2);

	emits(p, "");
	CHECK_EQ(hy_policy_nr_args(p), 0);
	set(p, "preset", "paper");
	emits(p, "alpha 10 beta 100 floor 1 deadband 0 step 100 estimator ewma rounding truncate "
	      "objective average first equal");
	CHECK_EQ(hy_policy_nr_args(p), 18);
	set(p, "preset", "default");
	emits(p, "");
	hy_policy_destroy(p);
}

static void values(void)
{
	struct hy_policy *p = make("wardrop", 4);

	set(p, "alpha", "007.250");
	emits(p, "alpha 7.25");
	set(p, "alpha", "1000");
	set(p, "alpha", "0.000001");
	emits(p, "alpha 0.000001");
	set_fails(p, "alpha", "0.0000001", -EINVAL);
	set_fails(p, "alpha", "1000.000001", -EINVAL);
	set_fails(p, "alpha", "99999999999999999999999999", -EINVAL);
	set_fails(p, "alpha", "-1", -EINVAL);
	set_fails(p, "alpha", "", -EINVAL);
	set_fails(p, "alpha", ".5", -EINVAL);
	set_fails(p, "alpha", "5.", -EINVAL);
	set_fails(p, "alpha", "1.2.3", -EINVAL);
	set_fails(p, "alpha", "1x", -EINVAL);
	set(p, "alpha", "1");
	set(p, "floor", "25");
	set_fails(p, "floor", "25.0001", -EINVAL);
	set(p, "floor", "0.05");
	set_fails(p, "deadband", "101", -EINVAL);
	set_fails(p, "estimator", "median", -EINVAL);
	set_fails(p, "objective", "worst", -EINVAL);
	set_fails(p, "preset", "fast", -EINVAL);
	set_fails(p, "gamma", "1", -ENOENT);
	set_fails(p, "", "1", -ENOENT);
	emits(p, "floor 0.05");
	hy_policy_destroy(p);
}

/* What was emitted, taken by a new policy, is emitted again. */
static void round_trip(struct hy_policy *p)
{
	char text[512], again[512], *key, *value, *at = text;
	struct hy_policy *q = make(p->ops->name, p->nr);
	unsigned int words = 0;

	CHECK(hy_policy_emit(p, again, sizeof(again)) < (int)sizeof(again));
	strcpy(text, again);
	while ((key = strsep(&at, " ")) && *key) {
		value = strsep(&at, " ");
		set(q, key, value);
		words += 2;
	}
	emits(q, again);
	CHECK_EQ(hy_policy_nr_args(p), words);
	hy_policy_destroy(q);
}

static void round_trips(void)
{
	char shares[512], *at;
	struct hy_policy *p;
	int i;

	for (i = 0; i < 500; i++) {
		p = make("wardrop", 1 + rnd() % EK_MAX_MEMBERS);
		random_params(p);
		round_trip(p);
		hy_policy_destroy(p);
	}
	p = make("static", 32);
	at = shares + sprintf(shares, "69.0001");
	for (i = 1; i < 31; i++)
		at += sprintf(at, ",0.9999");
	sprintf(at, ",1.0029");
	set(p, "shares", shares);
	round_trip(p);
	hy_policy_destroy(p);
}

/* A buffer of any length gets what fits, ended, and the whole length is returned. */
static void short_buffers(void)
{
	struct hy_policy *p = make("wardrop", 2);
	char full[512], buf[512];
	int len, i;

	set(p, "preset", "paper");
	len = hy_policy_emit(p, full, sizeof(full));
	for (i = 0; i <= len + 1; i++) {
		memset(buf, '#', sizeof(buf));
		CHECK_EQ(hy_policy_emit(p, i ? buf : NULL, i), len);
		CHECK(!i || !strncmp(buf, full, i - 1));
		CHECK(!i || buf[i - 1 < len ? i - 1 : len] == '\0');
		CHECK_EQ(buf[i], '#');
	}
	hy_policy_destroy(p);
}

static void count_places(struct hy_policy *p, const struct hy_snapshot *s,
			 struct hy_decision *d, unsigned int n, unsigned int *count)
{
	unsigned int i;

	memset(count, 0, EK_MAX_MEMBERS * sizeof(*count));
	for (i = 0; i < n; i++) {
		int m = hy_policy_place(p, s, d, i);

		CHECK(m >= 0 && hy_has_room(&s->dev[m]));
		if (m >= 0)
			count[m]++;
	}
}

/* Any prefix is within one placement of 80.8 : 19.2, after the tokens are used. */
static void place_proportions(void)
{
	struct hy_snapshot s = snap_of(2, (double[]){ 80, 20 }, (double[]){ 200, 250 });
	struct hy_policy *p = bare(2, "1", "1000");
	struct hy_decision d = period(p, &s);
	unsigned int n, first = 0;

	for (n = 0; n < 8; n++)
		CHECK_EQ(hy_policy_place(p, &s, &d, n), 0);
	CHECK_EQ(d.receive[0], 0);
	CHECK_EQ(d.give[1], 0);
	for (n = 1; n <= 5000; n++) {
		first += hy_policy_place(p, &s, &d, n) == 0;
		CHECK(fabs(first - n * 0.808) <= 1);
	}
	CHECK_EQ(first, 4040);
	hy_policy_destroy(p);
}

static void place_tokens(void)
{
	struct hy_snapshot s = snap_of(4, (double[]){ 25, 25, 25, 25 },
				       (double[]){ 1, 1, 1, 1 });
	struct hy_policy *p = average(4);
	struct hy_decision d = { .receive = { 2, 3, 0, 0 }, .give = { 0, 0, 1, 4 } };

	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 1);	/* the most; from 3 */
	CHECK_EQ(d.give[3], 3);
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 0);	/* 2, 2: the first */
	s.dev[1].free = 0;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 0);
	CHECK_EQ(d.receive[0], 0);
	CHECK_EQ(d.receive[1], 2);
	CHECK_EQ(d.give[2] + d.give[3], 2);
	CHECK(hy_policy_place(p, &s, &d, 0) != 1);	/* full: its tokens can't be used */
	CHECK_EQ(d.receive[1], 2);
	hy_policy_destroy(p);
}

/* Without room on what has a target, where there is room. */
static void place_fallback(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 });
	struct hy_policy *p = make("static", 3);
	struct hy_decision d;

	set(p, "shares", "100,0,0");
	d = period(p, &s);
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 0);
	s.dev[0].free = 0;
	s.dev[2].free = 501;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 2);
	s.dev[2].usable = false;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 1);
	s.dev[1].free = 0;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), -1);
	hy_policy_destroy(p);
}

static void static_shares(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 });
	struct hy_policy *p = make("static", 3);
	struct hy_decision d = period(p, &s);
	unsigned int count[EK_MAX_MEMBERS], i;

	CHECK_EQ(d.target[0], 333334);
	CHECK_EQ(d.target[2], 333333);
	emits(p, "");
	set(p, "shares", "80,15.5,4.50");
	emits(p, "shares 80,15.5,4.5");
	CHECK_EQ(hy_policy_nr_args(p), 2);
	d = period(p, &s);
	CHECK_EQ(d.target[1], 155000);
	count_places(p, &s, &d, 1000, count);
	CHECK_NEAR(count[0], 800, 1);
	CHECK_NEAR(count[1], 155, 1);
	CHECK_NEAR(count[2], 45, 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(d.receive[i] + d.give[i], 0);
	/* a member full: the others in their proportion, 155 : 45 */
	s.dev[0].free = 0;
	count_places(p, &s, &d, 1000, count);
	CHECK_NEAR(count[1], 775, 2);
	s.dev[0].usable = false;
	d = period(p, &s);
	CHECK_EQ(d.target[1], 775000);
	CHECK_EQ(d.target[2], 225000);
	set_fails(p, "shares", "80,20", -EINVAL);
	set_fails(p, "shares", "80,10,5,5", -EINVAL);
	set_fails(p, "shares", "80,10,5", -EINVAL);
	set_fails(p, "shares", "80,10,", -EINVAL);
	set_fails(p, "shares", "80,10,10,", -EINVAL);
	set_fails(p, "shares", "101,0,0", -EINVAL);
	set_fails(p, "alpha", "1", -ENOENT);
	set(p, "shares", "33.3334,33.3333,33.3333");
	emits(p, "");
	hy_policy_destroy(p);
}

static void stripe_and_fill(void)
{
	struct hy_snapshot s = snap_of(3, (double[]){ 50, 30, 20 }, (double[]){ 1, 2, 3 });
	struct hy_policy *p = make("stripe", 3);
	struct hy_decision d = period(p, &s);
	u64 le, big = (1ULL << 40) * 3;

	CHECK_EQ(d.target[0], 333334);
	for (le = big; le < big + 30; le++)
		CHECK_EQ(hy_policy_place(p, &s, &d, le), le % 3);
	s.dev[1].free = 0;
	for (le = 0; le < 30; le++)
		CHECK_EQ(hy_policy_place(p, &s, &d, le), le % 2 * 2);
	s.dev[0].usable = false;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 2);
	d = period(p, &s);
	CHECK_EQ(d.target[0], 0);
	s.dev[2].usable = false;
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), -1);
	emits(p, "");
	CHECK_EQ(hy_policy_nr_args(p), 0);
	set_fails(p, "alpha", "1", -ENOENT);
	hy_policy_destroy(p);

	p = make("fill", 3);
	s = snap_of(3, (double[]){ 50, 30, 20 }, (double[]){ 1, 2, 3 });
	d = period(p, &s);
	CHECK_EQ(d.target[0], HY_PPM);
	CHECK_EQ(hy_policy_place(p, &s, &d, 9), 0);
	s.dev[0].free = 0;
	s.dev[1].usable = false;
	d = period(p, &s);
	CHECK_EQ(d.target[2], HY_PPM);
	CHECK_EQ(hy_policy_place(p, &s, &d, 9), 2);
	s.dev[2].free = 0;
	d = period(p, &s);
	CHECK_EQ(hy_policy_place(p, &s, &d, 9), -1);
	hy_policy_destroy(p);
}

static void creation(void)
{
	struct hy_policy *p = NULL;

	CHECK_EQ(hy_policy_create("best", 2, &p), -ENOENT);
	CHECK_EQ(hy_policy_create("fill", 0, &p), -EINVAL);
	CHECK_EQ(hy_policy_create("fill", EK_MAX_MEMBERS + 1, &p), -EINVAL);
	shim_fail_alloc = 1;
	CHECK_EQ(hy_policy_create("fill", 2, &p), -ENOMEM);
	shim_fail_alloc = 0;
	CHECK(!p);
	hy_policy_destroy(NULL);
	CHECK_EQ(shim_allocated, 0);
}

/* Random changes of who has room and of the targets: credits stay bounded. */
static void credits_stay_bounded(void)
{
	struct hy_credit c = {};
	u32 target[EK_MAX_MEMBERS];
	u64 weight[EK_MAX_MEMBERS];
	s64 largest = 0, sum = 0;
	struct hy_snapshot s;
	int n;
	unsigned int i;

	for (n = 0; n < 100000; n++) {
		if (n % 50 == 0) {
			s = random_snap(8);
			for (i = 0; i < 8; i++)
				weight[i] = 1 + rnd_log(12);
			hy_apportion(target, weight, 8, HY_PPM);
		}
		hy_credit_place(&c, target, &s);
		for (i = 0; i < 8; i++)
			largest = max(largest, abs(c.credit[i]));
	}
	for (i = 0; i < 8; i++)
		sum += c.credit[i];
	CHECK_EQ(sum, 0);
	CHECK_MSG(largest < 8LL * HY_PPM, "(%lld)", (long long)largest);
}

/* A burst at an SSD (0) and a disk: where its requests come in counts, not where they end. */
static void shares_of_what_comes(void)
{
	u32 share[3] = { };

	/* 600 and 400 came; the SSD has ended 200 of its own, the disk all. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 200, 0, 400 }, { 400, 0, 0 } }, 2);
	CHECK_EQ(share[0], 600000);
	CHECK_EQ(share[1], 400000);
	/* Two periods in which the SSD works it off, and nothing comes. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 300, 400, 100 }, { 0, 0, 0 } }, 2);
	CHECK_EQ(share[0], 600000);
	hy_measure_shares(share, (struct hy_traffic[]){ { 110, 100, 0 }, { 1, 0, 0 } }, 2);
	CHECK_EQ(share[0], 600000);
	/* Exactly a fourth of what ended: enough. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 75, 75, 10 }, { 25, 10, 0 } }, 2);
	CHECK_EQ(share[0], 400000);
	CHECK_EQ(share[1], 600000);
	/* Counts of several processors, read one after the other: below none there are none. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 0, 1, 0 }, { 99, 0, 1 } }, 2);
	CHECK_EQ(share[0], 0);
	CHECK_EQ(share[1], HY_PPM);
	/* About as many in flight as before: where they end, a little more or less is by chance. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 600, 30, 60 }, { 400, 40, 10 } }, 2);
	CHECK_EQ(share[0], 600000);
	/* Nothing comes and nothing ends, and there is a load. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 0, 100, 100 }, { } }, 2);
	CHECK_EQ(share[0], 600000);
	/* No load, no shares. */
	hy_measure_shares(share, (struct hy_traffic[]){ { }, { } }, 2);
	CHECK_EQ(share[0] + share[1], 0);
	/* Shares are not known, and nothing comes: where requests end is better than nothing. */
	hy_measure_shares(share, (struct hy_traffic[]){ { 30, 30, 0 }, { 10, 10, 0 }, { } }, 3);
	CHECK_EQ(share[0], 750000);
	CHECK_EQ(share[1], 250000);
	CHECK_EQ(share[2], 0);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(creation), TEST(shares_of_what_comes), TEST(two_members), TEST(three_members), TEST(five_members),
		TEST(many_members), TEST(one_member), TEST(paper_clips), TEST(step_bounds),
		TEST(deadband), TEST(idle_member), TEST(nothing_happened),
		TEST(unusable_member), TEST(full_members), TEST(random_snapshots),
		TEST(random_against_float), TEST(extremes), TEST(gain_does_not_wrap),
		TEST(equal_marginals), TEST(new_extents_carry_their_part),
		TEST(rests_to_measure),
		TEST(little_that_lasts), TEST(nothing_lasts_of_the_absent),
		TEST(power_of_the_number), TEST(owes_what_it_did_not_give),
		TEST(opens_what_is_worth_it), TEST(first_shares_by_probes),
		TEST(first_shares_without_probes), TEST(bursts_are_no_load),
		TEST(bursts_are_divided),
		TEST(lasts_through_copies), TEST(lasts_where_nothing_waits), TEST(bursts_lead_to_the_disk),
		TEST(not_all_to_the_saturated), TEST(marginal_for_long),
		TEST(presets), TEST(values),
		TEST(round_trips), TEST(short_buffers), TEST(place_proportions),
		TEST(place_tokens), TEST(place_fallback), TEST(static_shares),
		TEST(stripe_and_fill), TEST(credits_stay_bounded),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
