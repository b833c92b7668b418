// SPDX-License-Identifier: GPL-2.0-only
/* Plans against arithmetic done by hand, and against each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"
#include "../usage.h"
#include "ktap.h"

#define US	1e3
#define MS	1e6
#define MOST	400

static struct plan_extent extents[MOST];

/* Hardly any load, so that members take what they take; room for all. */
static struct plan two(double r0, double w0, double r1, double w1)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = .001 };

	p.member[0] = (struct plan_member){ true, r0, w0, r0, 1000, 0 };
	p.member[1] = (struct plan_member){ true, r1, w1, r1, 1000, 0 };
	memset(extents, 0, sizeof(extents));
	return p;
}

static void add(struct plan *p, unsigned int member, uint32_t reads, uint32_t writes)
{
	extents[p->nr_extents] = (struct plan_extent){ 100 + p->nr_extents, member, reads, writes,
						       false };
	p->nr_extents++;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= fabs(b) / 1000;
}

/*
 * A flash of .2 and 3 ms, a disk of 1 ms: 10 reads on the disk gain 10 - 2 ms, 20 writes on the
 * flash 60 - 20; what is where it should be stays.  (10 + 60 + 2 + 10) / 50 = 1.64 ms become
 * (2 + 20 + 2 + 10) / 50 = .68.
 */
static void test_fits(void)
{
	struct plan p = two(200 * US, 3 * MS, MS, MS);

	add(&p, 1, 10, 0);
	add(&p, 0, 0, 20);
	add(&p, 0, 10, 0);
	add(&p, 1, 0, 10);
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 2 && p.move[0].le == 101 && p.move[0].from == 0 &&
		p.move[0].to == 1 && p.move[1].le == 100 && p.move[1].to == 0,
		"reads go where reading is fast, writes where writing is, the best first");
	ktap_ok(near(p.move[0].gain_ns, 40 * MS) && near(p.move[1].gain_ns, 8 * MS),
		"their gains: %f, %f", p.move[0].gain_ns, p.move[1].gain_ns);
	ktap_ok(near(p.before_ns, 1.64 * MS) && near(p.after_ns, .68 * MS),
		"the mean: %f, %f", p.before_ns, p.after_ns);
	plan_free(&p);
	plan_make(&p, 1);
	ktap_ok(p.nr_moves == 1 && p.move[0].le == 101, "a budget of one: the best one");
	plan_free(&p);
	plan_make(&p, 0);
	ktap_ok(!p.nr_moves && near(p.after_ns, p.before_ns), "none: nothing");
	plan_free(&p);
}

/* r_i + w_k is 1 + 3 ms: a read saves .8, 5 of them 4, 6 of them 4.8. */
static void test_worth_the_copy(void)
{
	struct plan p = two(200 * US, 3 * MS, MS, MS);

	add(&p, 1, 5, 0);
	add(&p, 1, 6, 0);
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 1 && p.move[0].le == 101, "a move is worth its copy");
	plan_free(&p);
}

static void test_stays(void)
{
	struct plan p = two(200 * US, 3 * MS, MS, MS);

	add(&p, 1, 100, 0);
	add(&p, 1, 90, 0);
	extents[0].fixed = true;
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 1 && p.move[0].le == 101, "what may not move stays");
	plan_free(&p);
	p.member[0].takes = false;
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves, "nothing goes to a member that takes none");
	plan_free(&p);
}

/* One place: who gains more has it; who leaves makes another one. */
static void test_room(void)
{
	struct plan p = two(200 * US, 3 * MS, MS, MS);

	p.member[0].room = 1;
	add(&p, 1, 10, 0);
	add(&p, 1, 20, 0);
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 1 && p.move[0].le == 101, "one place for the better one");
	plan_free(&p);
	add(&p, 0, 0, 7);
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 3 && p.move[1].from == 0 && p.move[2].le == 100,
		"and another one when somebody leaves");
	plan_free(&p);
}

/*
 * A full flash of .2 and 3 ms, a disk of 1 ms.  20 reads on the disk gain 20 - 4 = 16 ms on the
 * flash; who leaves for them costs .8 ms for each read, and the two copies take 1.2 + 4 ms.
 */
static void test_changes_places(void)
{
	struct plan p = two(200 * US, 3 * MS, MS, MS);

	p.member[0].room = 0;
	add(&p, 1, 20, 0);
	add(&p, 0, 2, 0);
	add(&p, 0, 1, 0);
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves, "without a free place anywhere nothing changes places");
	plan_free(&p);
	p.member[1].spare = 1;
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 2 && p.move[0].le == 102 && p.move[0].to == 1 &&
		p.move[0].makes_room && p.move[0].with_next && p.move[1].le == 100 && p.move[1].to == 0 &&
		!p.move[1].makes_room && !p.move[1].with_next && near(p.move[1].gain_ns, 15.2 * MS),
		"who is used least leaves first where there is a free place");
	plan_free(&p);
	p.member[1].spare = 0;
	p.member[0].spare = 1;
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 2 && p.move[0].le == 100 && p.move[1].le == 102 &&
		p.move[1].makes_room, "or last, where it is on the other side");
	plan_free(&p);
	plan_make(&p, 1);
	ktap_ok(!p.nr_moves, "a budget of one is for no exchange");
	plan_free(&p);
	extents[2].fixed = true;
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 2 && p.move[1].le == 101, "who may not move makes no room");
	plan_free(&p);
	/* 8 reads gain 6.4 - .8, and .4 less than the copies */
	extents[0].reads = 8;
	extents[2].fixed = false;
	extents[2].reads = 2;
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves, "both copies have to be worth it");
	plan_free(&p);
	extents[0].reads = 20;
	extents[2] = (struct plan_extent){ 102, 0, 0, 1, false };
	p.member[1].write_ns = 0;
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 2 && p.move[1].le == 101,
		"who can't go there is passed by: %lu", p.nr_moves);
	plan_free(&p);
	p.member[1].write_ns = MS;
	p.member[1].takes = false;
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves, "nobody leaves for a member that takes none");
	plan_free(&p);
}

/*
 * Two alike with an idle time of 1 ms, 2 ms under the load that one of them has: so that one bears
 * twice its load, and the other one request at a time.
 */
static void test_load_is_shared(void)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = 400 };
	unsigned int i, at[MOST];
	double least = 1e18, best = 0;

	p.member[0] = (struct plan_member){ true, 2 * MS, 2 * MS, MS, 1000, 0 };
	p.member[1] = (struct plan_member){ true, MS, MS, MS, 1000, 0 };
	for (i = 0; i < 100; i++)
		add(&p, 0, 100, 0);
	plan_make(&p, 1000);
	for (i = 0; i <= 100; i++) {
		unsigned int j;
		double m;

		for (j = 0; j < 100; j++)
			at[j] = j < i;
		m = plan_mean(&p, at);
		if (m < least) {
			least = m;
			best = i;
		}
	}
	ktap_ok(p.nr_moves > 20 && p.nr_moves < 80 && fabs((double)p.nr_moves - best) <= 1,
		"a load is shared, not carried off: %lu of 100, best %.0f", p.nr_moves, best);
	ktap_ok(near(p.after_ns, least), "as good as can be");
	plan_free(&p);
}

/* Ten times as busy as one at a time can be. */
static void test_not_more_than_it_bears(void)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = 10000 };
	double there = 0;
	unsigned int i;

	p.member[0] = (struct plan_member){ true, 2 * MS, 2 * MS, 2 * MS, 1000, 0 };
	p.member[1] = (struct plan_member){ true, MS, MS, MS, 1000, 0 };
	for (i = 0; i < 200; i++)
		add(&p, 0, 100, 0);
	plan_make(&p, 1000);
	for (i = 0; i < p.nr_moves; i++)
		there += p.move[i].to == 1 ? p.move[i].reads : 0;
	/* 10000/s * its part * 1 ms */
	ktap_ok(p.nr_moves && there / 20000 * 10 <= 1, "a member without a load gets what it bears: %.2f",
		there / 20000 * 10);
	plan_free(&p);
}

/*
 * Member 1 reads in half the time, 2 writes in half the time.  60 and 59 reads gain 49.4 and 48.8
 * ms, 30 writes 27.6; but once the first is there, at 15% of what member 1 bears, the second gains
 * 118 - (119 / .7 - 60 / .85) = 19 only.
 */
static void test_looked_at_again(void)
{
	struct plan p = { .nr_members = 3, .extent = extents, .per_second = 149 / .4 };

	p.member[0] = (struct plan_member){ true, 2 * MS, 2 * MS, 2 * MS, 10, 0 };
	p.member[1] = (struct plan_member){ true, MS, 3 * MS, MS, 10, 0 };
	p.member[2] = (struct plan_member){ true, 3 * MS, MS, 3 * MS, 10, 0 };
	add(&p, 0, 60, 0);
	add(&p, 0, 59, 0);
	add(&p, 0, 0, 30);
	plan_make(&p, 2);
	ktap_ok(p.nr_moves == 2 && p.move[0].le == 100 && p.move[1].le == 102,
		"what a move leaves to gain is looked at again");
	plan_free(&p);
}

/* Two requests at a time for a member that is not known to bear more than one. */
static void test_one_that_is_too_much(void)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = 2000 };

	p.member[0] = (struct plan_member){ true, 2 * MS, 2 * MS, MS, 10, 0 };
	p.member[1] = (struct plan_member){ true, MS, MS, MS, 10, 0 };
	add(&p, 0, 1000, 0);
	extents[0].fixed = false;
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves && p.after_ns > 0, "one that is too much stays");
	plan_free(&p);
}

/* 20 at a time of 1 ms would be 2 of .1 ms, where there are 2 already, and nobody waits. */
static void test_twice_at_most(void)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = 40000 };
	unsigned int i;

	memset(extents, 0, sizeof(extents));
	p.member[0] = (struct plan_member){ true, MS, MS, MS, 1000, 0 };
	p.member[1] = (struct plan_member){ true, .1 * MS, .1 * MS, .099 * MS, 1000, 0 };
	for (i = 0; i < 200; i++)
		add(&p, i / 100, 100, 0);
	plan_make(&p, 1000);
	ktap_ok(p.nr_moves > 50 && p.nr_moves < 100,
		"a member gets less than twice the load that it was seen to bear: %lu", p.nr_moves);
	plan_free(&p);
}

/*
 * Striped over a flash of 1 and 15 ms and a disk of 5: 64 extents are read, 64 written.
 * All that is elsewhere than it should be moves, although each move alone makes a member busier.
 */
static void test_exchange(void)
{
	struct plan p = { .nr_members = 2, .extent = extents, .per_second = 1733 };
	unsigned int i;

	p.member[0] = (struct plan_member){ true, MS, 15 * MS, MS, 1000, 0 };
	p.member[1] = (struct plan_member){ true, 5 * MS, 5 * MS, 5 * MS, 1000, 0 };
	for (i = 0; i < 128; i++)
		add(&p, i & 1, i < 64 ? 20 : 0, i < 64 ? 0 : 6);
	plan_make(&p, 1000);
	ktap_ok(p.nr_moves == 64, "what is read and what is written changes places: %lu", p.nr_moves);
	/* (20 * 1 + 6 * 5) / 26 of (20 * 3 + 6 * 10) / 26 */
	ktap_ok(near(p.after_ns / p.before_ns, 50. / 120), "and takes %f of before",
		p.after_ns / p.before_ns);
	plan_free(&p);
}

/* What is said of the mean is what the extents give where they were put; and no move more gains. */
static void test_any(unsigned int seed)
{
	bool same = true, less = true, local = true;
	unsigned int turn, i, j, k;

	srand(seed);
	for (turn = 0; turn < 30; turn++) {
		struct plan p = { .nr_members = 2 + turn % 4, .extent = extents,
				  .per_second = 1 + rand() % 3000 };
		unsigned int at[MOST];

		for (i = 0; i < p.nr_members; i++) {
			double idle = (1 + rand() % 50) * 100 * US;

			p.member[i] = (struct plan_member){ true, idle * (1 + rand() % 3),
				idle * (1 + rand() % 9), idle, rand() % 3 ? 1000 : rand() % 9, turn % 2 };
		}
		for (i = 0; i < 60; i++)
			add(&p, rand() % p.nr_members, rand() % 200, rand() % 200);
		plan_make(&p, turn % 3 ? 1000 : 10);
		for (i = 0; i < p.nr_extents; i++)
			at[i] = extents[i].member;
		for (i = 0; i < p.nr_moves; i++) {
			at[p.move[i].le - 100] = p.move[i].to;
			p.member[p.move[i].to].room--;
			p.member[p.move[i].from].room++;
		}
		same &= near(plan_mean(&p, at), p.after_ns) && near(plan_mean(&p, NULL), p.before_ns);
		less &= p.after_ns <= p.before_ns * 1.000001 && p.nr_moves <= (turn % 3 ? 1000 : 10);
		for (j = 0; turn % 3 && j < p.nr_extents; j++) {
			unsigned int was = at[j];

			if (was != extents[j].member)
				continue;
			for (k = 0; k < p.nr_members; k++) {
				double worth = p.member[was].read_ns + p.member[k].write_ns, m, sum = 0;

				if (k == was || !p.member[k].room)
					continue;
				at[j] = k;
				m = plan_mean(&p, at);
				for (i = 0; i < p.nr_extents; i++)
					sum += extents[i].reads + extents[i].writes;
				local &= (p.after_ns - m) * sum <= worth * 1.0001;
				at[j] = was;
			}
		}
		plan_free(&p);
	}
	ktap_ok(same, "what is predicted is what the plan makes");
	ktap_ok(less, "never worse, never more than the budget");
	ktap_ok(local, "no other move is worth its copy");
}

/* A flash that is not written, as that is slow, is not known to be slow any more. */
static void test_not_known(void)
{
	struct plan p = two(200 * US, 0, MS, MS);

	add(&p, 1, 0, 100);
	add(&p, 1, 100, 1);
	add(&p, 1, 50, 0);
	add(&p, 0, 50, 2);
	plan_make(&p, 10);
	ktap_ok(p.nr_moves == 1 && p.move[0].le == 102, "nothing goes where its time is not known");
	plan_free(&p);
}

static void test_no_load(void)
{
	struct plan p = { .nr_members = 2, .extent = extents };

	plan_make(&p, 10);
	ktap_ok(!p.nr_moves && p.before_ns <= 0, "no extents");
	plan_free(&p);
	add(&p, 0, 10, 10);
	plan_make(&p, 10);
	ktap_ok(!p.nr_moves, "members of which nothing is known");
	plan_free(&p);
}

static bool take(struct usage *u, const char *text, uint64_t *more)
{
	char copy[256];

	strcpy(copy, text);
	return usage_take(u, copy, more);
}

static void test_usage(void)
{
	static const char * const bad[] = {
		"", "5 1 2 3 -", "5 1 2 3 x\nend", "5 1 2 -\nend", "5 1 2 3 - 4\nend", "5 99 2 3 -\nend",
		"more\n", "more x", "end\n5 1 2 3 -", "-5 1 2 3 -\nend", "5 1 2 3 -\x20\nend", "\nend",
	};
	struct usage u = { 0 };
	uint64_t more;
	unsigned int i, refused = 0;

	ktap_ok(take(&u, "7 1 20 3 -\n5 0 0 1 pl\nmore 64", &more) && more == 64 &&
		take(&u, "6 1 2 3 m\n7 0 1 1 -\nend", &more) && more == UINT64_MAX && u.nr == 4,
		"two answers");
	usage_settle(&u);
	ktap_ok(u.nr == 3 && u.extent[0].le == 5 && u.extent[0].pinned && u.extent[0].large &&
		!u.extent[0].moving && u.extent[1].moving && u.extent[2].le == 7, "in order, each once");
	usage_free(&u);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		refused += !take(&u, bad[i], &more);
		usage_free(&u);
	}
	ktap_ok(refused == i, "%u of %u that are none", refused, i);
}

static void test_samples(void)
{
	char good[] = "0 10 6 4 500 510 20000 0 3 900\n1 0 0 0 0 0 0 0 0 0";
	char bad[] = "1 10 6 4 500 510 20000 0 3 900", few[] = "0 10 6 4 500 510 20000 0 3";
	struct sample s[2];

	ktap_ok(samples_parse(good, s, 2) == 2 && s[0].reads == 6 && s[0].writes == 4 &&
		s[0].idle_reads == 3 && s[0].idle_ns == 900 && !s[1].reads, "samples");
	ktap_ok(!samples_parse(bad, s, 2) && !samples_parse(few, s, 2), "not others");
}

static bool explained(const char *text, struct usage_extent *e)
{
	char copy[256];

	strcpy(copy, text);
	return usage_explained(copy, e);
}

static void test_cold(void)
{
	struct usage_extent e, counted[] = { { 1, 0, 5, 3, false, false, false },
					     { 2, 0, 0, 7, false, false, false } };
	struct usage u = { counted, 2 };

	ktap_ok(explained("extent 7 member 1 physical 3 valid 000000ff pinned -1 verdict candidate to -",
			  &e) && e.le == 7 && e.member == 1 && !e.pinned && !e.moving,
		"an extent that may leave");
	ktap_ok(explained("extent 7 member 1 physical 3 valid 000000ff pinned 1 verdict busy to -",
			  &e) && e.pinned && e.moving, "one that may not");
	ktap_ok(!explained("extent 7 member - pinned -1 policy fill", &e) &&
		!explained("extent 7 member", &e) && !explained("", &e), "none");
	ktap_ok(explained("extent 7 member 1 accesses 9 policy asymmetry reads 4 writes 2 size large",
			  &e) && e.large && e.reads == 7 && e.writes == 2,
		"what is known of its use: %u, %u", e.reads, e.writes);
	ktap_ok(!usage_uncounted(&u, 3) && usage_uncounted(&u, 2) == 7,
		"not counted is not used, unless there is no more room to count");
}

int main(void)
{
	ktap_begin();
	test_fits();
	test_worth_the_copy();
	test_stays();
	test_room();
	test_changes_places();
	test_load_is_shared();
	test_not_more_than_it_bears();
	test_looked_at_again();
	test_one_that_is_too_much();
	test_twice_at_most();
	test_exchange();
	test_any(ktap_seed());
	test_any(6);	/* has a plan that takes 19 passes over all extents */
	test_not_known();
	test_no_load();
	test_usage();
	test_samples();
	test_cold();
	return ktap_end();
}
