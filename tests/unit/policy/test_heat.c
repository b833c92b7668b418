// SPDX-License-Identifier: GPL-2.0-only
/* The heat list against a model: an array in order of access. */
#include "check.h"
#include "heat.h"
#include "policy.h"

#define MODEL_MAX 64

struct model_node { u64 le, moved_at, came; unsigned int member; u32 accesses; };
static struct model_node model[MODEL_MAX + 1];	/* most recent first */
static unsigned int model_nr, model_bound;
static u64 model_clock;		/* for when a node came to the front of its member's list */

static int model_find(u64 le)
{
	unsigned int i;

	for (i = 0; i < model_nr; i++)
		if (model[i].le == le)
			return i;
	return -1;
}

static void model_remove(unsigned int i)
{
	memmove(&model[i], &model[i + 1], (--model_nr - i) * sizeof(model[0]));
}

static void model_touch(u64 le, unsigned int member)
{
	int i = model_find(le);
	struct model_node n = { .le = le };

	if (i >= 0) {
		n = model[i];
		model_remove(i);
	} else if (!model_bound) {
		return;
	} else if (model_nr == model_bound) {
		model_nr--;
	}
	n.member = member;
	n.came = ++model_clock;
	n.accesses++;
	memmove(&model[1], &model[0], model_nr++ * sizeof(model[0]));
	model[0] = n;
}

/* The one that came last, before @before. */
static struct model_node *model_next(unsigned int member, u64 before)
{
	struct model_node *next = NULL, *m;

	for (m = model; m < model + model_nr; m++)
		if (m->member == member && m->came < before && (!next || m->came > next->came))
			next = m;
	return next;
}

static unsigned int model_pick(unsigned int member, u64 now, u64 cooldown, u64 *le,
			       unsigned int max)
{
	struct model_node *m = model_next(member, U64_MAX);
	unsigned int n = 0;

	for (; m && n < max; m = model_next(member, m->came))
		if (!m->moved_at || (now >= m->moved_at && now - m->moved_at >= cooldown))
			le[n++] = m->le;
	return n;
}

static void compare(struct hy_heat *heat)
{
	struct hy_heat_node *node;
	unsigned int i = 0;

	CHECK_EQ(heat->nr, model_nr);
	list_for_each_entry(node, &heat->lru, lru) {
		CHECK(i < model_nr);
		if (i >= model_nr)
			return;
		CHECK_EQ(node->le, model[i].le);
		CHECK_EQ(node->member, model[i].member);
		CHECK_EQ(node->accesses, model[i].accesses);
		CHECK_EQ(node->moved_at, model[i].moved_at);
		CHECK(hy_heat_is_hot(heat, node->le));
		i++;
	}
	CHECK_EQ(i, model_nr);
}

static void random_step(struct hy_heat *heat, u64 now)
{
	u64 le = rnd() % 100 + (rnd() % 2 ? 1ULL << 33 : 0), a[8], b[8];
	unsigned int member = rnd() % 3, n, i;
	int at = model_find(le);

	switch (rnd() % 16) {
	case 0:
		hy_heat_forget(heat, le);
		if (at >= 0)
			model_remove(at);
		break;
	case 1:
		hy_heat_moved(heat, le, member, now);
		if (at >= 0) {
			model[at].member = member;
			model[at].moved_at = now;
			model[at].came = ++model_clock;
		}
		break;
	case 2:
		hy_heat_age(heat);
		for (i = 0; i < model_nr; i++)
			model[i].accesses /= 2;
		break;
	case 3:
		if (rnd() % 10)
			break;
		model_bound = rnd() % (MODEL_MAX + 1);
		hy_heat_resize(heat, model_bound);
		if (model_nr > model_bound)
			model_nr = model_bound;
		break;
	case 4:
		n = rnd() % 9;
		i = hy_heat_pick(heat, member, now, 50, U32_MAX, a, n);
		CHECK_EQ(i, model_pick(member, now, 50, b, n));
		CHECK(!memcmp(a, b, i * sizeof(*a)));
		break;
	default:
		hy_heat_touch(heat, le, member, false, 1, GFP_KERNEL);
		model_touch(le, member);
	}
}

static void against_model(void)
{
	struct hy_heat heat;
	u64 now;

	model_nr = 0;
	model_bound = MODEL_MAX;
	hy_heat_init(&heat, MODEL_MAX);
	for (now = 1; now < 20000 && !check_failed; now++) {
		random_step(&heat, now);
		compare(&heat);
		CHECK(heat.nr <= heat.max);
	}
	hy_heat_destroy(&heat);
	CHECK_EQ(shim_allocated, 0);
}

static void failing_allocations(void)
{
	struct hy_heat heat;
	u64 i;

	hy_heat_init(&heat, 10);
	shim_fail_alloc = 1;
	hy_heat_touch(&heat, 1, 0, false, 1, 0);		/* no room in the index */
	CHECK_EQ(heat.nr, 0);
	CHECK(!hy_heat_is_hot(&heat, 1));
	CHECK_EQ(shim_allocated, 0);
	shim_fail_alloc = 2;
	hy_heat_touch(&heat, 1, 0, false, 1, 0);		/* that, but no node: nothing to reuse */
	CHECK_EQ(heat.nr, 0);
	CHECK(!hy_heat_is_hot(&heat, 1));
	shim_fail_alloc = 0;
	for (i = 0; i < 3; i++)
		hy_heat_touch(&heat, i, 0, false, 1, 0);
	shim_fail_alloc = 1;
	hy_heat_touch(&heat, 7, 1, false, 1, 0);		/* the coldest, 0, makes room */
	CHECK_EQ(heat.nr, 3);
	CHECK(!hy_heat_is_hot(&heat, 0));
	CHECK(hy_heat_is_hot(&heat, 1));
	CHECK(hy_heat_is_hot(&heat, 7));
	for (i = 0; i < 20000; i++) {
		shim_fail_alloc = rnd() % 3 + 1;
		hy_heat_touch(&heat, rnd() % 30, 0, false, 1, 0);
		CHECK(heat.nr <= 10);
	}
	shim_fail_alloc = 0;
	hy_heat_destroy(&heat);
	CHECK_EQ(shim_allocated, 0);
}

static void counts_saturate(void)
{
	struct hy_heat heat;

	hy_heat_init(&heat, 2);
	hy_heat_touch(&heat, 5, 0, false, 1, 0);
	list_last_entry(&heat.lru, struct hy_heat_node, lru)->accesses = U32_MAX;
	hy_heat_touch(&heat, 5, 0, false, 1, 0);
	CHECK_EQ(list_last_entry(&heat.lru, struct hy_heat_node, lru)->accesses, U32_MAX);
	hy_heat_destroy(&heat);
}

/* With 256 + 4 * 2 nodes in front that may not go, the next is not looked at. */
static void pick_is_bounded(void)
{
	struct hy_heat heat;
	u64 le[2], i;

	hy_heat_init(&heat, 1000);
	hy_heat_touch(&heat, 999, 1, false, 1, 0);
	for (i = 0; i < 263; i++) {
		hy_heat_touch(&heat, i, 1, false, 1, 0);
		hy_heat_moved(&heat, i, 1, 1);
	}
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 10, U32_MAX, le, 2), 1);
	CHECK_EQ(le[0], 999);
	hy_heat_touch(&heat, i, 1, false, 1, 0);
	hy_heat_moved(&heat, i, 1, 1);
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 10, U32_MAX, le, 2), 0);
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 0, U32_MAX, le, 0), 0);
	hy_heat_destroy(&heat);
}

static bool is_even(void *data, u64 le)
{
	++*(unsigned int *)data;
	return !(le % 2);
}

/* A thousand that are held are in front: what may go is found behind them, and they stay first. */
static void held_ones_are_passed_over(void)
{
	unsigned int asked = 0;
	struct hy_heat_node node;
	struct hy_heat heat;
	u64 le[2], i;

	hy_heat_init(&heat, 2000);
	hy_heat_touch(&heat, 7, 1, false, 1, 0);
	hy_heat_touch(&heat, 9, 1, false, 1, 0);
	for (i = 0; i < 1000; i++)
		hy_heat_touch(&heat, 2 * i, 1, false, 1, 0);
	heat.held = is_even;
	heat.data = &asked;
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 10, U32_MAX, le, 2), 2);
	CHECK_EQ(le[0], 9);
	CHECK_EQ(le[1], 7);
	CHECK_EQ(heat.nr_held, 1000);
	CHECK_EQ(asked, 1002);
	CHECK_EQ(heat.cooling, 0);
	CHECK(hy_heat_get(&heat, 1998, &node) && !node.moved_at);
	heat.held = NULL;
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 10, U32_MAX, le, 1), 1);
	CHECK_EQ(le[0], 1998);
	CHECK_EQ(heat.nr_held, 0);
	hy_heat_destroy(&heat);
}

/* What others were accessed since is no hindrance. */
static void pick_sees_only_its_member(void)
{
	struct hy_heat heat;
	u64 le[2], i;

	hy_heat_init(&heat, 1000);
	hy_heat_touch(&heat, 999, 1, false, 1, 0);
	for (i = 0; i < 900; i++)
		hy_heat_touch(&heat, i, 0, false, 1, 0);
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 0, U32_MAX, le, 2), 1);
	CHECK_EQ(le[0], 999);
	hy_heat_moved(&heat, 999, 2, 1);
	CHECK_EQ(hy_heat_pick(&heat, 1, 1, 0, U32_MAX, le, 2), 0);
	CHECK_EQ(hy_heat_pick(&heat, 2, 1, 0, U32_MAX, le, 2), 1);
	hy_heat_destroy(&heat);
}

static void empty_and_zero(void)
{
	struct hy_heat heat;
	u64 le;

	hy_heat_init(&heat, 0);
	hy_heat_touch(&heat, 1, 0, false, 1, 0);
	CHECK_EQ(heat.nr, 0);
	CHECK_EQ(hy_heat_pick(&heat, 0, 0, 0, U32_MAX, &le, 1), 0);
	hy_heat_forget(&heat, 1);
	hy_heat_moved(&heat, 1, 0, 1);
	hy_heat_resize(&heat, 1);
	hy_heat_touch(&heat, 1, 3, false, 1, 0);
	hy_heat_moved(&heat, 1, 2, 0);		/* a clock of 0 is not "never" */
	CHECK_EQ(hy_heat_pick(&heat, 2, 5, 10, U32_MAX, &le, 1), 0);
	CHECK_EQ(hy_heat_pick(&heat, 2, 11, 10, U32_MAX, &le, 1), 1);
	hy_heat_destroy(&heat);
}

static void touch(struct hy_heat *heat, u64 le, unsigned int member, u32 n)
{
	while (n--)
		hy_heat_touch(heat, le, member, false, 1, GFP_KERNEL);
}

/*
 * Nine accesses beside none are three standard deviations; one more than that is no chance, nor are 22
 * beside six: 16 of 28, whose root is 5.3.
 */
static void only_what_is_hotter(void)
{
	static const struct { u32 in, out; bool goes; } cases[] = {
		{ 9, 0, false }, { 10, 0, true }, { 21, 6, false }, { 22, 6, true }, { 6, 22, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hy_heat heat;
		u32 lasting;
		u64 le;

		hy_heat_init(&heat, 10);
		touch(&heat, 1, 0, cases[i].in);
		touch(&heat, 2, 1, cases[i].out);
		heat.beyond = 0;
		if (cases[i].out) {
			CHECK(hy_heat_coolest(&heat, 1, 1, 0, &le, &lasting));
			CHECK_EQ(le, 2);
			heat.beyond = lasting;
		}
		CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, U32_MAX, &le, 1), cases[i].goes);
		CHECK_EQ(heat.too_cool, !cases[i].goes);
		heat.beyond = HY_HEAT_ANY;
		CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, U32_MAX, &le, 1), 1);
		hy_heat_destroy(&heat);
	}
}

/* One access that is known stands for four: it takes four times as many to be sure. */
static void samples_are_less_sure(void)
{
	struct hy_heat heat;
	u64 le;

	hy_heat_init(&heat, 10);
	hy_heat_touch(&heat, 1, 0, false, 36, GFP_KERNEL);
	heat.looks = 4 * heat.samples;
	heat.beyond = 0;
	CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, U32_MAX, &le, 1), 0);
	hy_heat_touch(&heat, 1, 0, false, 1, GFP_KERNEL);
	heat.looks = 4 * heat.samples;
	CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, U32_MAX, &le, 1), 1);
	hy_heat_destroy(&heat);
}

/* Halved 128 times what was accessed is forgotten; of what lasts a good third is there. */
static void lasts(void)
{
	struct hy_heat_node node;
	struct hy_heat heat;
	int i;

	hy_heat_init(&heat, 10);
	touch(&heat, 1, 0, 1000);
	hy_heat_touch(&heat, 2, 0, false, U32_MAX, GFP_KERNEL);
	hy_heat_touch(&heat, 2, 0, false, U32_MAX, GFP_KERNEL);
	CHECK(hy_heat_get(&heat, 2, &node) && node.lasting >= U32_MAX - 15);
	for (i = 0; i < 128; i++)
		hy_heat_age(&heat);
	CHECK(hy_heat_get(&heat, 1, &node));
	CHECK_EQ(node.accesses, 0);
	CHECK(node.lasting > 16 * 350 && node.lasting < 16 * 380);
	for (i = 0; i < 4000; i++)
		hy_heat_age(&heat);
	CHECK(hy_heat_get(&heat, 1, &node));
	CHECK_EQ(node.lasting, 0);
	hy_heat_destroy(&heat);
}

/* Those that others held, or that came lately, do not make room, and nobody is searched for ever. */
static void coolest_of_those_that_may_go(void)
{
	struct hy_heat heat;
	unsigned int asked = 0;
	u32 lasting;
	u64 le;

	hy_heat_init(&heat, 1000);
	CHECK(!hy_heat_coolest(&heat, 0, 1, 0, &le, &lasting));
	for (le = 0; le < 300; le++)
		touch(&heat, le, 0, le == 250 || le == 290 ? 1 : 3);
	CHECK(hy_heat_coolest(&heat, 0, 1, 0, &le, &lasting));
	CHECK_EQ(le, 250);
	hy_heat_moved(&heat, 250, 0, 5);
	CHECK(hy_heat_coolest(&heat, 0, 6, 10, &le, &lasting));
	CHECK_EQ(le, 0);		/* the one that was accessed the longest ago */
	heat.held = is_even;
	heat.data = &asked;
	CHECK(hy_heat_coolest(&heat, 0, 6, 10, &le, &lasting));
	CHECK_EQ(le, 1);
	CHECK(asked >= 256 && asked <= 600);
	heat.held = NULL;
	hy_heat_destroy(&heat);
}

/* All accesses hit what is on the list, as they do where it has room for all extents. */
static void known_by_now(struct hy_heat *heat)
{
	heat->hits = heat->looks;
}

/*
 * 6 and 1 accesses, half of one added for each extent: 6.5 and 1.5 of 8.  What has more than is
 * wanted stays; ageing to 3 and 0 leaves 3.5 and .5 of 4; an extent that goes takes its own.
 */
static void shares(void)
{
	struct hy_heat heat;
	u64 le[2];
	int i;

	hy_heat_init(&heat, 10);
	for (i = 0; i < 6; i++)
		hy_heat_touch(&heat, 7, 0, false, 1, GFP_KERNEL);
	hy_heat_touch(&heat, 8, 0, false, 1, GFP_KERNEL);
	known_by_now(&heat);
	CHECK_EQ(hy_heat_share(&heat, 7), 812500);
	CHECK_EQ(hy_heat_share(&heat, 8), 187500);
	CHECK_EQ(hy_heat_share(&heat, 9), 0);
	CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, 812500, le, 2), 2);
	CHECK_EQ(hy_heat_pick(&heat, 0, 1, 0, 812499, le, 2), 1);
	CHECK_EQ(le[0], 8);
	hy_heat_age(&heat);
	CHECK_EQ(hy_heat_share(&heat, 7), 875000);
	hy_heat_forget(&heat, 7);
	CHECK_EQ(hy_heat_share(&heat, 8), 1000000);
	hy_heat_destroy(&heat);
}

/* The mean share of what is on the list, where @extents are accessed at random, all alike. */
static u32 mean_share(u32 extents, u32 listed)
{
	struct hy_heat heat;
	u64 x = 1, sum = 0;
	struct hy_heat_node *node;
	u32 i;

	hy_heat_init(&heat, listed);
	for (i = 0; i < 8 * listed; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		hy_heat_touch(&heat, (x >> 33) % extents, 0, false, 1, GFP_KERNEL);
	}
	list_for_each_entry(node, &heat.lru, lru)
		sum += hy_heat_share(&heat, node->le);
	i = sum / heat.nr;
	hy_heat_destroy(&heat);
	return i;
}

/*
 * Of more extents than the list holds each has its part of all, not of the list: otherwise what is
 * to move would be counted as so much more than it is, and hardly anything would.
 */
static void shares_of_all(void)
{
	u32 few = mean_share(1000, 4096), twice = mean_share(8192, 4096);
	u32 many = mean_share(409600, 4096);

	printf("# mean shares, ppm: of 1000 %u, of 8192 %u, of 409600 %u\n", few, twice, many);
	CHECK(few >= 950 && few <= 1000);
	CHECK(twice >= 100 && twice <= 150);
	CHECK(many >= 50 && many <= 65);	/* a quarter of the list's */
}

/* 5 reads and 3 writes, halved to 4 and 1 write; told in parts, in the order of extents. */
static void counts(void)
{
	struct hy_count c[4];
	struct hy_heat heat;
	u64 cursor = 0;
	int i;

	hy_heat_init(&heat, 10);
	for (i = 0; i < 8; i++)
		hy_heat_touch(&heat, 7, 0, i < 3, 1, GFP_KERNEL);
	hy_heat_touch(&heat, 9, 0, true, 1, GFP_KERNEL);
	hy_heat_touch(&heat, 3, 1, false, 1, GFP_KERNEL);
	CHECK_EQ(hy_heat_counts(&heat, &cursor, c, 2), 2);
	CHECK_EQ(c[0].le * 100 + c[0].reads * 10 + c[0].writes, 310);
	CHECK_EQ(c[1].le * 100 + c[1].reads * 10 + c[1].writes, 753);
	CHECK_EQ(hy_heat_counts(&heat, &cursor, c, 2), 1);
	CHECK_EQ(c[0].le * 100 + c[0].reads * 10 + c[0].writes, 901);
	CHECK(cursor == U64_MAX);
	hy_heat_age(&heat);
	cursor = 0;
	CHECK_EQ(hy_heat_counts(&heat, &cursor, c, 4), 1);
	CHECK_EQ(c[0].le * 100 + c[0].reads * 10 + c[0].writes, 731);
	hy_heat_destroy(&heat);
}

/* Those that are known stand for all, each for as many as the next one. */
static void weights(void)
{
	static const u32 all[] = { 1, 7, 512, 513, 1000, 5000, U32_MAX };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		u32 known = min(all[i], 512u), least = U32_MAX, most = 0;
		u64 sum = 0;

		for (j = 0; j < known; j++) {
			u32 weight = hy_access_weight(j, known, all[i]);

			sum += weight;
			least = min(least, weight);
			most = max(most, weight);
		}
		CHECK_EQ(sum, all[i]);
		CHECK(least >= 1 && most - least <= 1);
	}
}

/* A CPU with 20 accesses, and one with 20000 of which 512 are known, each to its own extent. */
static void weighed_shares(void)
{
	struct hy_heat heat;
	u32 i;

	hy_heat_init(&heat, 10);
	for (i = 0; i < 20; i++)
		hy_heat_touch(&heat, 1, 0, false, 1, GFP_KERNEL);
	for (i = 0; i < 512; i++)
		hy_heat_touch(&heat, 2, 0, true, hy_access_weight(i, 512, 20000), GFP_KERNEL);
	CHECK_NEAR(hy_heat_share(&heat, 1), 1000, 100);
	CHECK_NEAR(hy_heat_share(&heat, 2), 996000, 4000);
	hy_heat_touch(&heat, 2, 0, true, U32_MAX, GFP_KERNEL);
	hy_heat_touch(&heat, 2, 0, false, 9, GFP_KERNEL);
	CHECK(hy_heat_share(&heat, 2) <= 1000000);
	hy_heat_destroy(&heat);
}

/*
 * One CPU goes on and on with an extent, and each of its samples stands for three accesses; another
 * one comes to a new extent each time.  Three accesses of four are to what is on the list.
 */
static void weighed_hits(void)
{
	struct hy_heat_node *node;
	struct hy_heat heat;
	u64 sum = 0;
	u32 i;

	hy_heat_init(&heat, 10);
	for (i = 0; i < 10000; i++) {
		hy_heat_touch(&heat, 1, 0, false, 3, GFP_KERNEL);
		hy_heat_touch(&heat, 100 + i, 0, false, 1, GFP_KERNEL);
	}
	list_for_each_entry(node, &heat.lru, lru)
		sum += hy_heat_share(&heat, node->le);
	CHECK_NEAR(sum, 750000, 5000);
	for (i = 0; i < 10000; i++)
		hy_heat_touch(&heat, 1, 0, false, U32_MAX, GFP_KERNEL);
	CHECK_NEAR(hy_heat_share(&heat, 1), 1000000, 5000);
	hy_heat_destroy(&heat);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(against_model),
		TEST(failing_allocations),
		TEST(counts_saturate),
		TEST(pick_is_bounded),
		TEST(held_ones_are_passed_over),
		TEST(pick_sees_only_its_member),
		TEST(only_what_is_hotter),
		TEST(samples_are_less_sure),
		TEST(lasts),
		TEST(coolest_of_those_that_may_go),
		TEST(shares),
		TEST(shares_of_all),
		TEST(counts),
		TEST(weights),
		TEST(weighed_shares),
		TEST(weighed_hits),
		TEST(empty_and_zero),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
