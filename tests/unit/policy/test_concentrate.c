// SPDX-License-Identifier: GPL-2.0-only
/* concentrate and its predictions against arithmetic done by hand (oe-nanri 2.1, 2.2). */
#include "check.h"
#include "policy_predict.h"
#include "policy_util.h"

#define US	1000ULL
#define MS	1000000ULL
#define SECOND	1000000000ULL
#define EXTENT	2048u		/* sectors: 1 MiB */
#define GROUP	1024u		/* extents: 1 GiB */
#define MEM	0
#define SSD	1

/* --- predictions --- */

/*
 * Nothing known: as long again.  Lives 5, 7, 9 at age 3: 2 + 4 + 6 left, and twice 3, of 5: 3.6.
 * At age 7 5 does not count: 0 + 2 + 14, of 4: 4.  At age 10: none of them: 10.
 */
static void how_long_it_goes_on(void)
{
	struct hy_lives lives = {};

	CHECK_EQ(hy_lives_left(&lives, 3), 3 * HY_LEFT_ONE);
	hy_lives_add(&lives, 5);
	hy_lives_add(&lives, 7);
	hy_lives_add(&lives, 9);
	CHECK_EQ(hy_lives_left(&lives, 3), 36 * HY_LEFT_ONE / 10);
	CHECK_EQ(hy_lives_left(&lives, 7), 4 * HY_LEFT_ONE);
	CHECK_EQ(hy_lives_left(&lives, 10), 10 * HY_LEFT_ONE);
}

/* 32 lives of 1 push out one of 1000: at age 1 nothing is left but twice 1 of 34. */
static void old_lives_are_forgotten(void)
{
	struct hy_lives lives = {};
	int i;

	hy_lives_add(&lives, 1000);
	for (i = 0; i < HY_LIVES; i++)
		hy_lives_add(&lives, 1);
	CHECK_EQ(hy_lives_left(&lives, 1), 2 * HY_LEFT_ONE / 34);
	CHECK_EQ(hy_lives_left(&lives, U32_MAX), HY_LEFT_ONE * 1000000);
}

/* 3 of 4 went up: 3/5; 1 down: 1/5.  At 64 ends all is halved: 2 of 32, 1 more: 2/33. */
static void where_it_goes(void)
{
	struct hy_shifts shifts = {};
	int i;

	CHECK_EQ(hy_shifts_ppm(&shifts, HY_ABOVE), 0);
	for (i = 0; i < 4; i++) {
		hy_shifts_to(&shifts, i < 3 ? HY_ABOVE : HY_BELOW);
		hy_shifts_end(&shifts);
	}
	CHECK_EQ(hy_shifts_ppm(&shifts, HY_ABOVE), 600000);
	CHECK_EQ(hy_shifts_ppm(&shifts, HY_BELOW), 200000);
	hy_shifts_to(&shifts, HY_ABOVE);
	for (i = 4; i < 64; i++)
		hy_shifts_end(&shifts);
	CHECK_EQ(shifts.ends, 32);
	CHECK_EQ(hy_shifts_ppm(&shifts, HY_ABOVE), 2 * 1000000 / 33);
	CHECK_EQ(hy_shifts_ppm(&shifts, HY_BELOW), 0);
	/* more came than ended */
	for (i = 0; i < 100; i++)
		hy_shifts_to(&shifts, HY_BELOW);
	CHECK_EQ(hy_shifts_ppm(&shifts, HY_BELOW), 1000000);
}

/*
 * 3 came back, 2, 4 and 6 windows later, and 2 did not: 3/6.  Nothing is known of those that came
 * back: a third is as likely as a second, 1/2, so after a first there are .5 / (1 - .5) more, and
 * after a second as many.  They are waited for thrice the mean of 4 windows.  One of them is
 * followed by another and two are not: (1 + 1/2) / 4 = .375; .5 / .625 and .375 / .625 more.  Then
 * one comes after all: (2 + 1/2) / 4 = .625, so .625 / .375, after a gap that makes the mean 8.
 */
static void how_often_it_comes_back(void)
{
	struct hy_returns r = {};
	int i;

	CHECK_EQ(hy_returns_more(&r, false), 0);
	CHECK_EQ(r.wait, 0);
	for (i = 0; i < 3; i++)
		hy_returns_back(&r, false, 2 + 2 * i, false);
	for (i = 0; i < 2; i++)
		hy_returns_none(&r, false);
	CHECK_EQ(hy_returns_more(&r, false), HY_LEFT_ONE);
	CHECK_EQ(hy_returns_more(&r, true), HY_LEFT_ONE);
	CHECK_EQ(r.wait, 12);
	hy_returns_back(&r, true, 4, false);
	for (i = 0; i < 2; i++)
		hy_returns_none(&r, true);
	CHECK_EQ(hy_returns_more(&r, false), HY_LEFT_ONE * 500 / 625);
	CHECK_EQ(hy_returns_more(&r, true), HY_LEFT_ONE * 375 / 625);
	CHECK_EQ(r.wait, 12);
	hy_returns_back(&r, true, 24, true);
	CHECK_EQ(hy_returns_more(&r, true), HY_LEFT_ONE * 625 / 375);
	CHECK_EQ(r.wait, 24);
}

/*
 * 1 of 4 is 1/5: too seldom to wait for.  All of 50: 50/51, and the next ones no likelier than
 * 7/8: 7.84 more.  At 64 known ones 32 are 16 of 32; no more came back than ended.
 */
static void seldom_and_always(void)
{
	struct hy_returns r = {};
	int i;

	hy_returns_back(&r, false, 1, false);
	for (i = 0; i < 3; i++)
		hy_returns_none(&r, false);
	CHECK_EQ(hy_returns_more(&r, false), 0);
	memset(&r, 0, sizeof(r));
	for (i = 0; i < 50; i++)
		hy_returns_back(&r, false, 1, false);
	CHECK_EQ(hy_returns_more(&r, false), 980392ULL * HY_LEFT_ONE / 125000);
	memset(&r, 0, sizeof(r));
	for (i = 0; i < 64; i++) {
		if (i % 2)
			hy_returns_back(&r, true, 1, false);
		else
			hy_returns_none(&r, true);
	}
	CHECK_EQ(r.ends[1], 32);
	CHECK_EQ(r.back[1], 16);
	for (i = 0; i < 100; i++)
		hy_returns_back(&r, true, U32_MAX, true);
	CHECK_EQ(r.back[1], 32);
	CHECK_EQ(hy_lives_mean(&r.gaps), 1000000 * HY_LEFT_ONE);
	CHECK_EQ(r.wait, 3000000);
}

/*
 * 1000 requests with 200 ms in flight, 800 of them with 80 ms while nothing was copied: 100 us,
 * and 120 ms / 200 = 600 us while something was, 500 more.  Again with 800 at 160 ms: 200 us, a
 * quarter of which counts: 125; 200 at 40 ms: 200 us, nothing more: 375.  10 at memory are too few,
 * 20 with 40 us are 2 us.
 */
static void response_times(void)
{
	struct hy_times t = {};
	struct hy_window w = {
		.requests = 1000, .slow = 1000, .slow_ns = 200 * MS,
		.quiet = 800, .quiet_ns = 80 * MS, .fast = 10, .fast_ns = 10 * MS,
	};

	hy_times_window(&t, &w);
	CHECK_EQ(t.slow_ns, 100 * US);
	CHECK_EQ(t.extra_ns, 500 * US);
	CHECK_EQ(t.fast_ns, 0);
	w.quiet_ns = 160 * MS;
	w.fast = 20;
	w.fast_ns = 40 * US;
	hy_times_window(&t, &w);
	CHECK_EQ(t.slow_ns, 125 * US);
	CHECK_EQ(t.extra_ns, 375 * US);
	CHECK_EQ(t.fast_ns, 2 * US);
	/* all of it copying: only what is not known yet is taken from that */
	t.slow_ns = 0;
	w.quiet = 0;
	w.quiet_ns = 0;
	hy_times_window(&t, &w);
	CHECK_EQ(t.slow_ns, 200 * US);
	/* 1024 extents in 2048 ms: 2 ms each; 512 in 2048 ms: 4, a quarter of which counts: 2.5 */
	hy_times_moved(&t, 1024, 2048 * MS);
	CHECK_EQ(t.extent_ns, 2 * MS);
	hy_times_moved(&t, 512, 2048 * MS);
	CHECK_EQ(t.extent_ns, 2500 * US);
	hy_times_moved(&t, 0, 5 * SECOND);
	CHECK_EQ(t.extent_ns, 2500 * US);
}

/*
 * 24 s windows; 24000 requests in one to the region, 40000 to the SSD; 100 us on SSD, 2 us in
 * memory; 1024 extents at 11.71875 ms: 12 s.  Left 2 windows, 48 s: 36 s of 1000 requests a
 * second, 98 us shorter: 3528000 us.  24 s of copying, up and down: 40000 requests, 50 us longer:
 * 2000000.
 */
static void gain_and_cost(void)
{
	struct hy_times t = {
		.slow_ns = 100 * US, .fast_ns = 2 * US, .extra_ns = 50 * US, .extra_known = true,
		.extent_ns = 11718750,
	};
	struct hy_move m = {
		.requests = 24000, .slow = 40000, .window_ns = 24 * SECOND, .left = 2 * HY_LEFT_ONE,
		.ppm = 1000000, .extents = GROUP, .extent_bytes = EXTENT << 9,
	};

	CHECK_EQ(hy_move_gain(&t, &m), 3528000);
	CHECK_EQ(hy_move_cost(&t, &m), 2000000);
	m.ppm = 500000;
	CHECK_EQ(hy_move_gain(&t, &m), 1764000);
	/* over before it has moved */
	m.left = HY_LEFT_ONE / 2;
	CHECK_EQ(hy_move_gain(&t, &m), 0);
	/* memory that is no faster */
	m.left = 2 * HY_LEFT_ONE;
	t.fast_ns = 100 * US;
	CHECK_EQ(hy_move_gain(&t, &m), 0);
	/* memory that was never measured is twice as fast: 50 us, half as likely */
	t.fast_ns = 0;
	CHECK_EQ(hy_move_gain(&t, &m), 900000);
	/*
	 * Nothing measured: 16 ns a byte are 17.18 s a GiB, so 34.36 s or 1466 of 1024 windows, in
	 * which requests take 50 us more.
	 */
	t.extra_known = false;
	t.extent_ns = 0;
	CHECK_EQ(hy_move_cost(&t, &m), 40000ULL * 50 * 1466 / 1024);
}

static void nothing_overflows(void)
{
	struct hy_times t = {
		.slow_ns = BIT_ULL(38), .extra_ns = BIT_ULL(38), .extra_known = true,
		.extent_ns = U64_MAX,
	};
	struct hy_move m = {
		.requests = U64_MAX, .slow = U64_MAX, .window_ns = U64_MAX, .left = U32_MAX,
		.ppm = 1000000, .extents = U64_MAX, .extent_bytes = U32_MAX,
	};

	CHECK(hy_move_gain(&t, &m) <= hy_move_cost(&t, &m));
	m.window_ns = 0;
	CHECK(hy_move_gain(&t, &m) <= hy_move_cost(&t, &m));
}

/* --- the policy --- */

/* A period ends, to the end of what that takes. */
static void end_period(struct hy_policy *p, const struct hy_snapshot *s, struct hy_decision *d)
{
	hy_policy_period(p, s, d);
	while (hy_policy_go_on(p, s))
		;
}

struct bed {
	struct hy_policy *p;
	struct hy_snapshot s;
	struct hy_decision d;
};

/* A volume of @groups GiB; memory of @mem GiB, an SSD with all of it and as much again. */
static struct bed bed(unsigned int groups, unsigned int mem)
{
	struct bed b = { .s = { .nr = 2, .period_ns = 24 * SECOND, .extent_sectors = EXTENT,
				.logical_extents = (u64)groups * GROUP } };

	CHECK_EQ(hy_policy_create("concentrate", 2, &b.p), 0);
	b.s.dev[MEM] = (struct hy_dev_snap){ .usable = true, .memory = true,
		.extents = mem * GROUP, .free = mem * GROUP };
	b.s.dev[SSD] = (struct hy_dev_snap){ .usable = true,
		.extents = 2 * groups * GROUP, .free = groups * GROUP };
	end_period(b.p, &b.s, &b.d);
	return b;
}

static void access(struct hy_policy *p, u64 le, unsigned int member)
{
	struct hy_access a = { .le = le, .weight = 1, .member = member };

	p->ops->accessed(p, &a);
}

/* Group @i is accessed @n times, at @member. */
static void touch(struct bed *b, unsigned int i, unsigned int n, unsigned int member)
{
	while (n--)
		access(b->p, (u64)i * GROUP + n % GROUP, member);
}

/* The window ends; @requests at the SSD, of 1 ms each: so slow that all is worth it. */
static void window(struct bed *b, u64 requests)
{
	struct hy_dev_snap *ssd = &b->s.dev[SSD];

	ssd->requests = requests;
	ssd->mean_ns = MS;
	ssd->occupancy_ns = requests * MS;
	ssd->quiet = (struct ek_rt_quiet){ .requests = requests, .occupancy_ns = requests * MS };
	end_period(b->p, &b->s, &b->d);
	CHECK_EQ(b->d.target[MEM], 0);
	CHECK_EQ(b->d.target[SSD], HY_PPM);
	CHECK_EQ(b->d.receive[MEM] + b->d.give[SSD], 0);
}

/* Copies have cost users nothing, and take 1 ms an extent: so all is decided by what is left. */
static void make_cheap(struct bed *b)
{
	struct hy_range r = { .first = 0, .nr = GROUP, .from = -1, .to = MEM };
	struct hy_moved m = { .moved = GROUP, .ns = GROUP * MS };
	struct hy_dev_snap *ssd = &b->s.dev[SSD];

	b->p->ops->moved(b->p, &r, &m);
	ssd->requests = 2000;
	ssd->occupancy_ns = 2000 * MS;
	ssd->quiet = (struct ek_rt_quiet){ .requests = 1000, .occupancy_ns = 1000 * MS };
	end_period(b->p, &b->s, &b->d);
}

/* Next is @group, up or down; all of it goes and finds place. */
static void moves(struct bed *b, unsigned int group, bool up)
{
	struct hy_range r = {};
	struct hy_moved m = { .there = up ? GROUP : 0, .moved = GROUP, .ns = GROUP * MS };

	CHECK(b->p->ops->next(b->p, &b->s, &r));
	CHECK_EQ(r.first, group * GROUP);
	CHECK_EQ(r.nr, GROUP);
	CHECK_EQ(r.to, up ? MEM : -1);
	CHECK_EQ(r.from, up ? -1 : MEM);
	b->p->ops->moved(b->p, &r, &m);
	b->s.dev[MEM].free += up ? -GROUP : GROUP;
}

static void rests(struct bed *b)
{
	struct hy_range r;

	CHECK(!b->p->ops->next(b->p, &b->s, &r));
}

static void shows(struct bed *b, const char *text)
{
	char buf[512];
	u64 cursor = 0;

	b->p->ops->show(b->p, &cursor, buf, sizeof(buf));
	CHECK(cursor == U64_MAX);
	CHECK_MSG(!strcmp(buf, text), "\"%s\", should be \"%s\"", buf, text);
}

/*
 * 100 groups: 5% are 5.  600 of 1000 accesses to two of them are a concentration, and both
 * go up, the more accessed one first.  Gathered again each window they are found in place.
 */
static void goes_up_and_comes_down(void)
{
	struct bed b = bed(100, 10);
	unsigned int i;

	make_cheap(&b);
	touch(&b, 30, 250, SSD);
	touch(&b, 31, 350, SSD);
	for (i = 0; i < 80; i++)
		touch(&b, i, 5, SSD);
	window(&b, 1000);
	shows(&b, "0 1024 0 1024 0\n30720 2048 610000 1 0 24000");
	moves(&b, 31, true);
	moves(&b, 30, true);
	rests(&b);
	shows(&b, "0 1024 2048 3072 0\n30720 2048 610000 1 2048 24000");
	/* one window's pause is none: it stays, and is gathered */
	window(&b, 1000);
	moves(&b, 30, true);
	b.s.dev[MEM].free += GROUP;
	moves(&b, 31, true);
	b.s.dev[MEM].free += GROUP;
	rests(&b);
	/* then it is over */
	window(&b, 1000);
	moves(&b, 30, false);
	moves(&b, 31, false);
	rests(&b);
	CHECK_EQ(b.s.dev[MEM].free, 10 * GROUP);
	hy_policy_destroy(b.p);
}

/* What becomes of an extent of a group at @member: why it stays, or where it goes. */
static struct hy_verdict said(struct bed *b, unsigned int group, unsigned int member)
{
	struct hy_verdict v = { .to = EK_MAX_MEMBERS };
	char text[64] = "";

	CHECK_EQ(b->p->ops->explain(b->p, &b->s, group * GROUP + 1, member, &v, text, sizeof(text)), 0);
	return v;
}

static void says_what_moves(void)
{
	struct bed b = bed(100, 10);
	u32 free = b.s.dev[MEM].free;
	unsigned int i;

	make_cheap(&b);
	touch(&b, 30, 600, SSD);
	for (i = 0; i < 80; i++)
		touch(&b, i, 5, SSD);
	CHECK_EQ(said(&b, 30, SSD).why, HY_NOT_BALANCED);
	window(&b, 1000);
	CHECK_EQ(said(&b, 30, SSD).to, MEM);
	CHECK_EQ(said(&b, 40, SSD).to, -1);
	CHECK_EQ(said(&b, 40, SSD).why, HY_NOT_BALANCED);
	b.s.dev[MEM].free = 0;
	CHECK_EQ(said(&b, 30, SSD).why, HY_NOT_NOSPACE);
	b.s.dev[MEM].free = free;
	moves(&b, 30, true);
	CHECK_EQ(said(&b, 30, MEM).to, -1);
	CHECK_EQ(said(&b, 30, MEM).why, HY_NOT_BALANCED);
	/* One pause is none; then it is over. */
	window(&b, 1000);
	window(&b, 1000);
	CHECK_EQ(said(&b, 30, MEM).to, SSD);
	b.s.dev[SSD].free = 0;
	CHECK_EQ(said(&b, 30, MEM).why, HY_NOT_NOSPACE);
	/* Beyond the volume, and where nothing is known. */
	CHECK_EQ(said(&b, 10000, SSD).why, HY_NOT_BALANCED);
	hy_policy_destroy(b.p);
}

/* 100 runs of 4096 groups: 64 of them at once, and then the others. */
static void shows_in_parts(void)
{
	struct bed b = bed(4096, 10);
	unsigned int i, lines = 0, parts = 0;
	u64 cursor = 0;
	char buf[8192], *at;

	make_cheap(&b);
	for (i = 0; i < 100; i++)
		touch(&b, i * 40, 10, SSD);
	window(&b, 1000);
	for (; cursor != U64_MAX && parts < 10; parts++) {
		b.p->ops->show(b.p, &cursor, buf, sizeof(buf));
		for (at = buf; (at = strchr(at, '\n')); at++)
			lines++;
		CHECK_EQ(lines, parts ? 100 : 64);
	}
	CHECK_EQ(parts, 2);
	hy_policy_destroy(b.p);
}

/*
 * The end of a window comes in parts of 512 groups at most: with 8192 of them 16 for each of the
 * ten passes or more.  New extents find their place in between; what lies across two parts is one.
 */
static void ends_in_parts(void)
{
	struct bed b = bed(8192, 10);
	unsigned int parts = 1;

	make_cheap(&b);
	touch(&b, 511, 300, SSD);
	touch(&b, 512, 300, SSD);
	touch(&b, 8191, 10, SSD);
	hy_policy_period(b.p, &b.s, &b.d);
	while (hy_policy_go_on(b.p, &b.s)) {
		parts++;
		CHECK_EQ(hy_policy_place(b.p, &b.s, &b.d, parts), SSD);
		/* another period: this end comes first */
		if (parts == 100)
			hy_policy_period(b.p, &b.s, &b.d);
	}
	CHECK_MSG(parts >= 160, "%u parts", parts);
	shows(&b, "0 1024 0 1024 0\n523264 2048 983606 1 0 24000");
	moves(&b, 511, true);
	moves(&b, 512, true);
	rests(&b);
	hy_policy_destroy(b.p);
}

/* 501 of 1000 accesses are more than half, 500 are not; six of 100 groups are more than 5%. */
static void what_is_a_concentration(void)
{
	struct bed b = bed(100, 10);
	unsigned int i;

	make_cheap(&b);
	touch(&b, 7, 500, SSD);
	for (i = 10; i < 60; i++)
		touch(&b, i, 10, SSD);
	window(&b, 1000);
	rests(&b);
	touch(&b, 7, 502, SSD);
	for (i = 10; i < 60; i++)
		touch(&b, i, 10, SSD);
	window(&b, 1000);
	moves(&b, 7, true);
	hy_policy_destroy(b.p);

	b = bed(100, 10);
	make_cheap(&b);
	for (i = 20; i < 26; i++)
		touch(&b, i, 100, SSD);
	touch(&b, 50, 60, SSD);
	touch(&b, 60, 60, SSD);
	touch(&b, 70, 60, SSD);
	window(&b, 780);
	/* 100 each: five would have 500 of 780, but there is no telling which */
	rests(&b);
	/* fewer accesses than can be judged */
	touch(&b, 7, 99, SSD);
	window(&b, 99);
	rests(&b);
	hy_policy_destroy(b.p);
}

/* A window's requests, 1000 of 1 ms; nothing is measured of a move: 34 s of copying, .5 ms more. */
static void waits_until_it_pays(void)
{
	struct bed b = bed(100, 10);
	unsigned int age;

	/*
	 * age a: left a * 24 s - 17.18 s, of 1000/24 a second, .5 ms shorter (memory is not known
	 * either) against 34.36 s of as many .5 ms longer.  So a * 24 > 51.54: in the third.
	 */
	for (age = 1; age <= 3; age++) {
		touch(&b, 42, 1000, SSD);
		window(&b, 1000);
		if (age < 3)
			rests(&b);
	}
	moves(&b, 42, true);
	hy_policy_destroy(b.p);
}

/* Each lasts for one window and never comes back: after a few of them nothing moves up any more. */
static void short_ones_stay(void)
{
	struct bed b = bed(100, 10);
	struct hy_range r;
	unsigned int i, moved = 0;
	bool there[100] = {};

	make_cheap(&b);
	for (i = 0; i < 60; i++) {
		touch(&b, 10 + 4 * (i / 3), i % 3 ? 0 : 1000, SSD);
		window(&b, 1000);
		while (b.p->ops->next(b.p, &b.s, &r)) {
			struct hy_moved m = { .there = r.to >= 0 ? GROUP : 0, .moved = GROUP,
					      .ns = 8 * SECOND };

			b.p->ops->moved(b.p, &r, &m);
			moved += r.to >= 0 && !there[r.first / GROUP];
			there[r.first / GROUP] = r.to >= 0;
		}
	}
	CHECK_MSG(moved >= 1 && moved <= 7, "%u of 20 moved", moved);
	hy_policy_destroy(b.p);
}

/* What next() gives is carried out; counts the groups that come up from elsewhere. */
static unsigned int settle(struct bed *b, bool *there)
{
	unsigned int up = 0, was;
	struct hy_range r;

	while (b->p->ops->next(b->p, &b->s, &r)) {
		struct hy_moved m = { .ns = 8 * SECOND };

		was = there[r.first / GROUP];
		m.there = r.to >= 0 ? GROUP : 0;
		m.moved = (r.to >= 0) != was ? GROUP : 0;
		b->s.dev[MEM].free += r.to >= 0 ? -m.moved : m.moved;
		there[r.first / GROUP] = r.to >= 0;
		b->p->ops->moved(b->p, &r, &m);
		up += r.to >= 0 && !was;
	}
	return up;
}

/*
 * Bursts of one window, four windows apart, in three places that take turns, @n of them; how many
 * find their place in memory?
 */
static unsigned int found_there(struct bed *b, bool *there, unsigned int n, unsigned int *up)
{
	unsigned int i, w, found = 0;

	for (i = 0; i < n; i++) {
		unsigned int group = 20 + 10 * (i % 3);

		found += there[group];
		for (w = 0; w < 4; w++) {
			touch(b, group, w ? 0 : 1000, there[group] ? MEM : SSD);
			window(b, w ? 10 : 1000);
			*up += settle(b, there);
		}
	}
	return found;
}

/*
 * The first three are new to their places.  When the first one comes again it is seen that they come
 * back, and how soon, so that all their places are gathered and kept; nothing moves any more.
 */
static void those_that_return_are_kept(void)
{
	struct bed b = bed(100, 20);
	bool there[100] = {};
	unsigned int up = 0, found;

	make_cheap(&b);
	found = found_there(&b, there, 6, &up);
	CHECK_EQ(found, 2);
	up = 0;
	CHECK_EQ(found_there(&b, there, 15, &up), 15);
	CHECK_EQ(up, 0);
	CHECK_EQ(b.s.dev[MEM].free, 17 * GROUP);
	hy_policy_destroy(b.p);
}

/* Of what comes up what is concentrated now is first, though another one was accessed more then. */
static void what_is_kept_comes_last(void)
{
	struct bed b = bed(100, 20);
	bool there[100] = {};
	unsigned int up = 0;

	make_cheap(&b);
	found_there(&b, there, 3, &up);
	touch(&b, 50, 3000, SSD);
	window(&b, 3000);
	settle(&b, there);
	window(&b, 10);
	window(&b, 10);
	settle(&b, there);
	CHECK_EQ(b.s.dev[MEM].free, 20 * GROUP);
	touch(&b, 40, 1000, SSD);
	touch(&b, 20, 200, SSD);
	touch(&b, 30, 201, SSD);
	window(&b, 1401);
	moves(&b, 40, true);
	moves(&b, 30, true);
	moves(&b, 20, true);
	moves(&b, 50, true);
	rests(&b);
	hy_policy_destroy(b.p);
}

/* 40 of them, some alike: up by their accesses, and down the other way round. */
static void all_in_order(void)
{
	unsigned int n[40], i, last = U32_MAX, up = 0, down = 0;
	struct bed b = bed(1000, 100);
	const char *reason;
	struct hy_range r;

	CHECK_EQ(hy_policy_set(b.p, "share", "100", &reason), 0);
	make_cheap(&b);
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		n[i] = 50 + rnd() % 100;
		touch(&b, 3 * i, n[i], SSD);
	}
	window(&b, 4000);
	while (b.p->ops->next(b.p, &b.s, &r)) {
		struct hy_moved m = { .there = GROUP, .moved = GROUP, .ns = SECOND };
		unsigned int group = r.first / GROUP;

		CHECK(r.to == MEM && !(group % 3));
		CHECK_MSG(n[group / 3] <= last, "%u after %u", n[group / 3], last);
		last = n[group / 3];
		b.p->ops->moved(b.p, &r, &m);
		up++;
	}
	CHECK_EQ(up, ARRAY_SIZE(n));
	b.s.dev[MEM].free -= up * GROUP;
	window(&b, 10);
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		n[i] = rnd() % 10;
		touch(&b, 3 * i, n[i], MEM);
	}
	touch(&b, 500, 1000, SSD);
	CHECK_EQ(hy_policy_set(b.p, "share", "50", &reason), 0);
	window(&b, 1200);
	CHECK(b.p->ops->next(b.p, &b.s, &r));
	CHECK_EQ(r.first, 500 * GROUP);
	for (last = 0; b.p->ops->next(b.p, &b.s, &r); down++) {
		struct hy_moved m = { .moved = GROUP, .ns = SECOND };
		unsigned int group = r.first / GROUP;

		CHECK(r.to < 0 && !(group % 3));
		CHECK_MSG(n[group / 3] >= last, "%u after %u", n[group / 3], last);
		last = n[group / 3];
		b.p->ops->moved(b.p, &r, &m);
	}
	CHECK_EQ(down, ARRAY_SIZE(n));
	hy_policy_destroy(b.p);
}

/* They stop: after thrice the mean gap nothing is expected any more, and all goes down. */
static void until_they_stay_away(void)
{
	struct bed b = bed(100, 20);
	bool there[100] = {};
	unsigned int up = 0, w;

	make_cheap(&b);
	found_there(&b, there, 12, &up);
	CHECK_EQ(b.s.dev[MEM].free, 17 * GROUP);
	for (w = 0; w < 40; w++) {
		window(&b, 10);
		settle(&b, there);
		if (w == 15)
			CHECK_EQ(b.s.dev[MEM].free, 17 * GROUP);
	}
	CHECK_EQ(b.s.dev[MEM].free, 20 * GROUP);
	hy_policy_destroy(b.p);
}

/*
 * Memory for six, evict 2: two stay free whatever is kept, and what is concentrated now does not
 * wait.  With three kept and two more come there is one too many: the one that has been over for
 * longest leaves.
 */
static void what_is_kept_gives_way(void)
{
	struct bed b = bed(100, 6);
	bool there[100] = {};
	unsigned int up = 0;
	const char *reason;

	CHECK_EQ(hy_policy_set(b.p, "evict", "2", &reason), 0);
	make_cheap(&b);
	found_there(&b, there, 12, &up);
	CHECK(there[20] && there[30] && there[40]);
	touch(&b, 60, 1000, SSD);
	touch(&b, 61, 1000, SSD);
	window(&b, 2000);
	settle(&b, there);
	CHECK(there[60] && there[61]);
	CHECK(!there[20] && there[30] && there[40]);
	CHECK_EQ(b.s.dev[MEM].free, 2 * GROUP);
	/* and what has left for that does not come up again while there is no room for it */
	touch(&b, 60, 1000, MEM);
	touch(&b, 61, 1000, MEM);
	window(&b, 2000);
	CHECK_EQ(settle(&b, there), 0);
	CHECK_EQ(b.s.dev[MEM].free, 2 * GROUP);
	hy_policy_destroy(b.p);
}

/*
 * The concentration goes from group to group upwards, three windows each.  Each end makes it
 * likelier that the one above is next: it goes along, and accesses find it in memory.
 */
static void neighbours_go_along(void)
{
	struct bed b = bed(100, 10);
	unsigned int g, w, along = 0;
	struct hy_range r;

	make_cheap(&b);
	for (g = 20; g < 30; g++) {
		for (w = 0; w < 3; w++) {
			touch(&b, g, 1000, SSD);
			window(&b, 1000);
			while (b.p->ops->next(b.p, &b.s, &r)) {
				struct hy_moved m = { .there = r.to >= 0 ? GROUP : 0, .ns = MS };

				if (r.to >= 0 && r.first == (g + 1) * GROUP && !w)
					along++;
				CHECK_MSG(r.to < 0 || r.first != (g - 1) * GROUP || g == 20 ||
					  w < 2, "%u goes along with %u", g - 1, g);
				b.p->ops->moved(b.p, &r, &m);
			}
		}
	}
	CHECK_MSG(along >= 6, "%u of 10 went along", along);
	hy_policy_destroy(b.p);
}

/*
 * Memory for 4 groups holds 0 to 3, accessed 40, 30, 20, 10 times and concentrated no more when 50
 * comes.  evict 2: the two least accessed leave first, then 50 comes up; what is left
 * goes down after it.
 */
static void full_memory_makes_room(void)
{
	struct bed b = bed(100, 4);
	unsigned int i;
	const char *reason;

	CHECK_EQ(hy_policy_set(b.p, "evict", "2", &reason), 0);
	make_cheap(&b);
	for (i = 0; i < 4; i++)
		touch(&b, i, 200, SSD);
	window(&b, 800);
	for (i = 0; i < 4; i++)
		moves(&b, i, true);
	CHECK_EQ(b.s.dev[MEM].free, 0);
	for (i = 0; i < 4; i++)
		touch(&b, i, 40 - 10 * i, MEM);
	touch(&b, 50, 900, SSD);
	window(&b, 1000);
	moves(&b, 3, false);
	moves(&b, 2, false);
	moves(&b, 50, true);
	/* in their grace: gathered, not sent away */
	moves(&b, 0, true);
	hy_policy_destroy(b.p);
}

/* Half of 30 found no place, and what lies there for nothing leaves before the rest comes up. */
static void room_for_the_rest(void)
{
	struct hy_moved half = { .there = GROUP / 2, .moved = GROUP / 2, .left = 1, .ns = SECOND };
	struct bed b = bed(100, 2);
	struct hy_range r;

	make_cheap(&b);
	touch(&b, 30, 1000, SSD);
	window(&b, 1000);
	CHECK(b.p->ops->next(b.p, &b.s, &r));
	b.p->ops->moved(b.p, &r, &half);
	b.s.dev[MEM].free = 10;
	touch(&b, 5, 1, MEM);
	touch(&b, 30, 1000, SSD);
	window(&b, 1000);
	moves(&b, 5, false);
	moves(&b, 30, true);
	hy_policy_destroy(b.p);
}

/* A milder concentration gives way; one nearly as strong does not: they would take turns. */
static void no_turns(void)
{
	struct bed b = bed(100, 1);
	struct hy_range r;
	unsigned int i;

	make_cheap(&b);
	touch(&b, 1, 600, SSD);
	window(&b, 600);
	moves(&b, 1, true);
	for (i = 0; i < 3; i++) {
		touch(&b, 1, 400, MEM);
		touch(&b, 2, 700, SSD);
		touch(&b, 3, 600, SSD);
		window(&b, 1700);
		CHECK(!b.p->ops->next(b.p, &b.s, &r) || r.to == MEM);
	}
	touch(&b, 1, 150, MEM);
	touch(&b, 2, 700, SSD);
	window(&b, 850);
	moves(&b, 1, false);
	moves(&b, 2, true);
	hy_policy_destroy(b.p);
}

/*
 * What was moved before the policy was made: 1500 extents lie in memory, nobody knows where.  After
 * two windows they are looked for, a group at a time, in none but once; an access tells of one at
 * once.
 */
static void finds_what_is_there(void)
{
	struct bed b = bed(20, 10);
	struct hy_range r;
	unsigned int i;

	b.s.dev[MEM].free -= 1500;
	touch(&b, 5, 1, MEM);
	window(&b, 1000);
	moves(&b, 5, false);
	b.s.dev[MEM].free -= GROUP;		/* but for one all were elsewhere */
	rests(&b);
	window(&b, 1000);
	for (i = 0; i < 20; i++) {
		struct hy_moved m = { .moved = i == 9 ? 1000 : 0, .left = i == 12 ? 500 : 0,
				      .ns = SECOND };

		CHECK(b.p->ops->next(b.p, &b.s, &r));
		CHECK_EQ(r.first, i * GROUP);
		CHECK_EQ(r.to, -1);
		b.p->ops->moved(b.p, &r, &m);
	}
	b.s.dev[MEM].free += 1000;
	rests(&b);
	/* what could not leave is known of now: it is tried again, and nothing is looked for */
	window(&b, 1000);
	moves(&b, 12, false);
	b.s.dev[MEM].free = 10 * GROUP;
	window(&b, 1000);
	window(&b, 1000);
	rests(&b);
	hy_policy_destroy(b.p);
}

/* Named, else the first that is memory, else the first; new extents go to all others by size. */
static void which_is_fast(void)
{
	struct hy_snapshot s = { .nr = 3, .period_ns = SECOND, .extent_sectors = EXTENT,
				 .logical_extents = 50 * GROUP };
	struct hy_policy *p;
	struct hy_decision d;
	const char *reason;
	unsigned int i, n[3] = {};

	for (i = 0; i < 3; i++)
		s.dev[i] = (struct hy_dev_snap){ .usable = true, .extents = (i + 1) * 1000,
						 .free = (i + 1) * 1000 };
	CHECK_EQ(hy_policy_create("concentrate", 3, &p), 0);
	end_period(p, &s, &d);
	CHECK_EQ(d.target[0], 0);
	CHECK_EQ(d.target[1], 400000);
	CHECK_EQ(d.target[2], 600000);
	CHECK_EQ(d.probe, BIT(0));
	for (i = 0; i < 100; i++)
		n[hy_policy_place(p, &s, &d, i)]++;
	CHECK_EQ(n[1], 40);
	CHECK_EQ(n[2], 60);
	s.dev[2].memory = true;
	end_period(p, &s, &d);
	CHECK_EQ(d.target[2], 0);
	CHECK_EQ(d.probe, BIT(2));
	/* its successor is there; then no more, but a disk is no memory */
	s.dev[1].memory = true;
	s.dev[2].usable = false;
	end_period(p, &s, &d);
	CHECK_EQ(d.probe, BIT(1));
	s.dev[1] = (struct hy_dev_snap){};
	end_period(p, &s, &d);
	CHECK_EQ(d.target[0], 1000000);
	CHECK_EQ(d.probe, 0);
	/* the first has been removed */
	s.dev[2].memory = false;
	s.dev[2].usable = true;
	s.dev[0] = (struct hy_dev_snap){};
	s.dev[1] = (struct hy_dev_snap){ .usable = true, .extents = 2000, .free = 2000 };
	end_period(p, &s, &d);
	CHECK_EQ(d.probe, BIT(1));
	s.dev[0] = (struct hy_dev_snap){ .usable = true, .extents = 1000, .free = 1000 };
	s.dev[2].memory = true;
	CHECK_EQ(hy_policy_set(p, "fast", "1", &reason), 0);
	end_period(p, &s, &d);
	CHECK_EQ(d.target[1], 0);
	CHECK_EQ(d.target[0], 250000);
	/* only the fast one has room: then new extents go there after all */
	s.dev[0].free = 0;
	s.dev[2].usable = false;
	end_period(p, &s, &d);
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 1);
	hy_policy_destroy(p);
}

static void one_member(void)
{
	struct hy_snapshot s = { .nr = 1, .period_ns = 24 * SECOND, .extent_sectors = EXTENT,
				 .logical_extents = 10 * GROUP };
	struct hy_policy *p;
	struct hy_decision d;
	struct hy_range r;
	unsigned int i;

	s.dev[0] = (struct hy_dev_snap){ .usable = true, .extents = 1000, .free = 10 };
	CHECK_EQ(hy_policy_create("concentrate", 1, &p), 0);
	end_period(p, &s, &d);
	for (i = 0; i < 1000; i++)
		access(p, 5, 0);
	end_period(p, &s, &d);
	CHECK_EQ(d.target[0], HY_PPM);
	CHECK_EQ(d.probe, 0);
	CHECK(!p->ops->next(p, &s, &r));
	CHECK_EQ(hy_policy_place(p, &s, &d, 0), 0);
	hy_policy_destroy(p);
}

/* 16 TiB are 8192 groups of 2 GiB, though 1 GiB was asked for; and none is less than an extent. */
static void size_of_groups(void)
{
	struct bed b = bed(16384, 4);
	const char *reason;

	shows(&b, "0 2048 0 0 0");
	hy_policy_destroy(b.p);
	b = bed(8192, 4);
	shows(&b, "0 1024 0 0 0");
	CHECK_EQ(hy_policy_set(b.p, "sublun", "4096", &reason), 0);
	end_period(b.p, &b.s, &b.d);
	shows(&b, "0 4096 0 0 0");
	hy_policy_destroy(b.p);
	b = bed(4, 4);
	b.s.extent_sectors = 8192;
	CHECK_EQ(hy_policy_set(b.p, "sublun", "1", &reason), 0);
	end_period(b.p, &b.s, &b.d);
	shows(&b, "0 1 0 0 0");
	/* extents that the volume does not have */
	access(b.p, 4 * GROUP, SSD);
	access(b.p, U64_MAX >> 8, SSD);
	hy_policy_destroy(b.p);
}

/* A range of the old division, ended under the new one, is no group of it. */
static void cut_another_way(void)
{
	struct bed b = bed(100, 10);
	struct hy_moved m = { .there = GROUP, .moved = GROUP, .ns = SECOND };
	struct hy_range r;
	const char *reason;

	make_cheap(&b);
	touch(&b, 30, 1000, SSD);
	window(&b, 1000);
	CHECK(b.p->ops->next(b.p, &b.s, &r));
	CHECK_EQ(hy_policy_set(b.p, "sublun", "512", &reason), 0);
	end_period(b.p, &b.s, &b.d);
	b.p->ops->moved(b.p, &r, &m);
	shows(&b, "0 512 0 2048 0");
	hy_policy_destroy(b.p);
}

static void parameters(void)
{
	static const char *const bad[][2] = {
		{ "sublun", "0" }, { "sublun", "3" }, { "sublun", "2097152" }, { "sublun", "1.5" },
		{ "window_ms", "9" }, { "window_ms", "3600001" }, { "window_ms", "x" },
		{ "share", "0.9" }, { "share", "101" }, { "size", "0" }, { "size", "0.00001" },
		{ "evict", "8193" }, { "evict", "-1" }, { "fast", "2" }, { "fast", "-1" },
		{ "fast", "" }, { "fast", "AUTO" },
	};
	struct bed b = bed(10, 1);
	const char *reason;
	char text[512];
	unsigned int i;

	CHECK_EQ(hy_policy_emit(b.p, text, sizeof(text)), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		reason = NULL;
		CHECK_MSG(hy_policy_set(b.p, bad[i][0], bad[i][1], &reason) == -EINVAL, "%s=%s",
			  bad[i][0], bad[i][1]);
		CHECK(reason && !strncmp(reason, bad[i][0], strlen(bad[i][0])));
	}
	CHECK_EQ(hy_policy_set(b.p, "alpha", "1", &reason), -ENOENT);
	CHECK_EQ(hy_policy_emit(b.p, text, sizeof(text)), 0);
	CHECK_EQ(hy_policy_set(b.p, "sublun", "64", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "window_ms", "500", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "share", "62.5", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "size", "0.01", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "evict", "0", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "fast", "1", &reason), 0);
	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!strcmp(text, "sublun 64 window_ms 500 share 62.5 size 0.01 evict 0 fast 1"),
		  "%s", text);
	CHECK_EQ(hy_policy_nr_args(b.p), 12);
	CHECK_EQ(hy_policy_set(b.p, "fast", "auto", &reason), 0);
	hy_policy_destroy(b.p);
	CHECK_EQ(shim_allocated, 0);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(how_long_it_goes_on),
		TEST(old_lives_are_forgotten),
		TEST(where_it_goes),
		TEST(how_often_it_comes_back),
		TEST(seldom_and_always),
		TEST(response_times),
		TEST(gain_and_cost),
		TEST(nothing_overflows),
		TEST(goes_up_and_comes_down),
		TEST(says_what_moves),
		TEST(shows_in_parts),
		TEST(ends_in_parts),
		TEST(what_is_a_concentration),
		TEST(waits_until_it_pays),
		TEST(short_ones_stay),
		TEST(those_that_return_are_kept),
		TEST(what_is_kept_comes_last),
		TEST(all_in_order),
		TEST(until_they_stay_away),
		TEST(what_is_kept_gives_way),
		TEST(neighbours_go_along),
		TEST(full_memory_makes_room),
		TEST(room_for_the_rest),
		TEST(no_turns),
		TEST(finds_what_is_there),
		TEST(which_is_fast),
		TEST(one_member),
		TEST(size_of_groups),
		TEST(cut_another_way),
		TEST(parameters),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
