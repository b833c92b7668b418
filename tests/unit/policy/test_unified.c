// SPDX-License-Identifier: GPL-2.0-only
/* unified: wardrop's shares, and exchanges by what members differ in. */
#include "check.h"
#include "policy_util.h"

#define US	1000ULL
#define MS	1000000ULL
#define SECOND	1000000000ULL

struct bed {
	struct hy_policy *p;
	struct hy_snapshot s;
	struct hy_decision d;
};

static void member(struct bed *b, unsigned int i, u64 read_ns, u64 write_ns)
{
	struct hy_dev_snap *d = &b->s.dev[i];

	*d = (struct hy_dev_snap){
		.usable = true, .extents = 1000, .free = 500, .requests = 2000, .reads = 1000,
		.share = HY_PPM / 2, .read_ns = read_ns, .write_ns = write_ns,
		.mean_ns = (read_ns + write_ns) / 2,
	};
	d->occupancy_ns = d->requests * d->mean_ns;
	d->quiet = (struct ek_rt_quiet){ .ns = 2 * SECOND, .requests = d->requests,
					 .occupancy_ns = d->occupancy_ns };
}

static void end_period(struct bed *b)
{
	hy_policy_period(b->p, &b->s, &b->d);
	while (hy_policy_go_on(b->p, &b->s))
		;
}

static struct bed bed(void)
{
	struct bed b = { .s = { .nr = 2, .period_ns = 2 * SECOND, .now_ns = 100 * SECOND,
				.cooldown_ns = 10 * SECOND, .logical_extents = 1 << 20,
				.extent_sectors = 256 } };
	const char *reason;

	CHECK_EQ(hy_policy_create("unified", 2, &b.p), 0);
	CHECK_EQ(hy_policy_set(b.p, "objective", "average", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "alpha", "0", &reason), 0);
	return b;
}

static void access(struct bed *b, u64 le, unsigned int at, bool write, unsigned int n)
{
	struct hy_access a = { .le = le, .member = at, .write = write };

	while (n--)
		b->p->ops->accessed(b->p, &a);
}

static bool moves(struct bed *b, u64 le, int from, int to)
{
	struct hy_range r;

	if (!b->p->ops->next(b->p, &b->s, &r))
		return false;
	CHECK_EQ(r.first, le);
	CHECK_EQ(r.from, from);
	CHECK_EQ(r.to, to);
	b->p->ops->moved(b->p, &r, &(struct hy_moved){ .moved = 1, .there = 1 });
	return true;
}

/* One is three times as slow in both: that is load, and wardrop's.  Of 100 accesses 97 are looked at. */
static void load_is_not_its_business(void)
{
	struct bed b = bed();

	member(&b, 0, MS, 2 * MS);
	member(&b, 1, 3 * MS, 6 * MS);
	end_period(&b);
	access(&b, 1, 1, false, 100);
	access(&b, 2, 1, true, 100);
	access(&b, 3, 0, true, 100);
	CHECK(!moves(&b, 0, 0, 0));
	CHECK_EQ(b.p->stays[HY_NOT_BALANCED], 3 * 97 + 1);	/* 1 of wardrop, for the period */
	hy_policy_destroy(b.p);
}

/*
 * 1 and 9 ms, 10 and 10: 5 and 10 of all together, so .75 / 5 = 1.5 and 13.5 against 7.5 and 7.5.
 * Each gets what it is better at, though the second is slower at both.
 */
static void who_is_better_at_what(void)
{
	struct bed b = bed();

	member(&b, 0, MS, 9 * MS);
	member(&b, 1, 10 * MS, 10 * MS);
	end_period(&b);
	access(&b, 1, 1, false, 100);
	CHECK(moves(&b, 1, 1, 0));
	access(&b, 2, 0, true, 100);
	CHECK(moves(&b, 2, 0, 1));
	access(&b, 3, 0, false, 100);
	access(&b, 4, 1, true, 100);
	CHECK(!moves(&b, 0, 0, 0));
	hy_policy_destroy(b.p);
}

/* A member with more than it should have, or nearly full, gets nothing. */
static void some_get_nothing(void)
{
	struct bed b = bed();

	member(&b, 0, MS, 9 * MS);
	member(&b, 1, 10 * MS, 10 * MS);
	end_period(&b);
	b.s.dev[0].free = 49;
	access(&b, 1, 1, false, 100);
	CHECK(!moves(&b, 0, 0, 0));
	CHECK(b.p->stays[HY_NOT_NOSPACE] > 0);
	b.s.dev[0].free = 500;
	hy_policy_destroy(b.p);

	/* wardrop at work: 1 ms against 3 ms, so the second has to give */
	b = bed();
	CHECK_EQ(hy_policy_set(b.p, "alpha", "1", &(const char *){ NULL }), 0);
	member(&b, 0, MS, MS);
	member(&b, 1, 20 * MS, 2 * MS);
	end_period(&b);
	CHECK(b.d.give[1] > 0);
	access(&b, 1, 0, true, 100);
	CHECK(!moves(&b, 0, 0, 0));
	access(&b, 2, 1, false, 100);
	CHECK(moves(&b, 2, 1, 0));
	hy_policy_destroy(b.p);
}

/* What wardrop has no reason to move doesn't hold exchanges off, but for the rest in which it measures. */
static void settled_is_no_silence(void)
{
	struct bed b = bed();

	CHECK_EQ(hy_policy_set(b.p, "objective", "marginal", &(const char *){ NULL }), 0);
	CHECK_EQ(hy_policy_set(b.p, "alpha", "1", &(const char *){ NULL }), 0);
	member(&b, 0, MS, 9 * MS);
	member(&b, 1, 5 * MS, 5 * MS);
	end_period(&b);
	CHECK_EQ(b.d.give[0] + b.d.give[1], 0);
	access(&b, 1, 1, false, 100);
	access(&b, 2, 0, true, 100);
	b.s.now_ns += b.s.period_ns / 2;
	CHECK(moves(&b, 2, 0, 1));
	b.s.now_ns += b.s.period_ns / 3;
	CHECK(!moves(&b, 1, 1, 0));
	end_period(&b);
	CHECK(moves(&b, 1, 1, 0));
	hy_policy_destroy(b.p);
}

static void parameters_of_both(void)
{
	struct bed b = bed();
	const char *reason = NULL;
	char text[256];

	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!strcmp(text, "alpha 0 objective average"), "%s", text);
	CHECK_EQ(hy_policy_set(b.p, "delta", "1", &reason), 0);
	CHECK_EQ(hy_policy_set(b.p, "beta", "7", &reason), 0);
	CHECK_EQ(hy_policy_emit(b.p, text, 10), (int)strlen("delta 1 alpha 0 beta 7 objective average"));
	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!strcmp(text, "delta 1 alpha 0 beta 7 objective average"), "%s", text);
	CHECK_EQ(hy_policy_nr_args(b.p), 8);
	CHECK_EQ(hy_policy_set(b.p, "delta", "0.6", &reason), 0);
	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!strcmp(text, "alpha 0 beta 7 objective average"), "%s", text);
	CHECK_EQ(hy_policy_set(b.p, "beta", "x", &reason), -EINVAL);
	CHECK_EQ(hy_policy_set(b.p, "rate", "x", &reason), -EINVAL);
	reason = NULL;
	CHECK_EQ(hy_policy_set(b.p, "window_ms", "1", &reason), -ENOENT);
	CHECK(reason);
	hy_policy_destroy(b.p);
}

/* Three reads and a write take (3 * 1 + 2) / 4 ms and (3 * 3 + 6) / 4, whatever all together take. */
static void says_what_was_measured(void)
{
	struct bed b = bed();
	struct hy_verdict v;
	char text[256];

	member(&b, 0, MS, 2 * MS);
	member(&b, 1, 3 * MS, 6 * MS);
	end_period(&b);
	access(&b, 1, 1, false, 3);
	access(&b, 1, 1, true, 1);
	b.p->ops->explain(b.p, &b.s, 1, 1, &v, text, sizeof(text));
	CHECK_MSG(strstr(text, " cost.0 1250000 cost.1 3750000"), "%s", text);
	hy_policy_destroy(b.p);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(load_is_not_its_business),
		TEST(who_is_better_at_what),
		TEST(some_get_nothing),
		TEST(settled_is_no_silence),
		TEST(parameters_of_both),
		TEST(says_what_was_measured),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
