// SPDX-License-Identifier: GPL-2.0-only
/* Tokens on their way to be used up. */
#include "policy_tokens.h"
#include "check.h"

#define PERIOD	2000000000ULL

static const struct hy_barred nobody;

static u64 sum(const u32 *tokens, unsigned int nr)
{
	u64 all = 0;

	while (nr--)
		all += tokens[nr];
	return all;
}

/* A quarter of the way: a quarter of ten, rounded up; in the rest none; what was taken is off. */
static void released_evenly(void)
{
	struct hy_decision d = { .receive = { 0, 10 }, .give = { 10, 0 } }, left = d;
	struct hy_due due = hy_tokens_due(&d, &left, 2, nobody, PERIOD / 4, PERIOD);

	CHECK_EQ(due.tokens, 3);
	CHECK_EQ(due.from, 0);
	CHECK_EQ(due.to, 1);
	left.receive[1] -= 2;
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, PERIOD / 4, PERIOD).tokens, 1);
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, 3 * PERIOD, PERIOD).tokens, 8);
	d.rest = HY_PPM / 4;
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, 3 * PERIOD / 4, PERIOD).tokens, 0);
	CHECK(hy_tokens_due(&d, &left, 2, nobody, 3 * PERIOD / 4 - 1, PERIOD).tokens);
	d.rest = HY_PPM;
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, 0, PERIOD).tokens, 0);
	CHECK(!due.spent);
	left.receive[1] = 0;
	CHECK(hy_tokens_due(&d, &left, 2, nobody, PERIOD, PERIOD).spent);
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, PERIOD, PERIOD).tokens, 0);
}

/* A token is 100 ppm: what makes up no whole one counts with the next extent. */
static void by_shares(void)
{
	struct hy_decision left = { .receive = { 0, 10 }, .give = { 10, 0 }, .token_ppm = 100 };
	u32 rest = 0;

	hy_tokens_take(&left, 2, 0, 1, 250, &rest);
	CHECK_EQ(left.give[0], 8);
	CHECK_EQ(rest, 50);
	hy_tokens_take(&left, 2, 0, 1, 50, &rest);
	CHECK_EQ(left.give[0], 7);
	CHECK_EQ(left.receive[1], 7);
	CHECK_EQ(rest, 0);
	CHECK_EQ(hy_most_share(&left, 0, 1), 1150);
	left.largest[0] = 5000;
	CHECK_EQ(hy_most_share(&left, 0, 1), 5000);
	left.token_ppm = 0;
	CHECK_EQ(hy_most_share(&left, 0, 1), U32_MAX);
	hy_tokens_take(&left, 2, 0, 1, 999999, &rest);
	CHECK_EQ(left.give[0], 6);
}

/*
 * Two give one each, two receive two each; extents are worth three tokens.  Whatever moves, both
 * sides have as much left, and nothing goes from a member that gives nothing.
 */
static void both_sides_alike(void)
{
	struct hy_decision d = {
		.receive = { 2, 2, 0, 0 }, .give = { 0, 0, 2, 2 }, .token_ppm = 100
	}, left = d;
	u32 rest = 0, moved = 0;

	for (;;) {
		struct hy_due due = hy_tokens_due(&d, &left, 4, nobody, PERIOD, PERIOD);

		if (!due.tokens)
			break;
		CHECK(d.give[due.from]);
		CHECK(d.receive[due.to]);
		hy_tokens_take(&left, 4, due.from, due.to, 300, &rest);
		CHECK_EQ(sum(left.give, 4), sum(left.receive, 4));
		moved++;
	}
	CHECK_EQ(moved, 2);
}

/* Receivers, but nobody who gives: nothing is due, least of all within one member. */
static void nobody_gives(void)
{
	struct hy_decision d = { .receive = { 5, 0 }, .give = { 5, 0 } }, left = d;

	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, PERIOD, PERIOD).tokens, 0);
	left.give[0] = 0;
	CHECK_EQ(hy_tokens_due(&d, &left, 2, nobody, PERIOD, PERIOD).tokens, 0);
}

/* The one with the most tokens has nothing that may go, or has to wait: the others go on. */
static void who_can_not_keeps_nobody(void)
{
	struct hy_decision d = { .receive = { 0, 0, 400, 100 }, .give = { 300, 200, 0, 0 } }, left = d;
	struct hy_barred barred = { .from = BIT(0) };
	struct hy_due due = hy_tokens_due(&d, &left, 4, barred, PERIOD, PERIOD);

	CHECK_EQ(due.tokens, 500);
	CHECK_EQ(due.from, 1);
	CHECK_EQ(due.to, 2);
	barred.to = BIT(2);
	CHECK_EQ(hy_tokens_due(&d, &left, 4, barred, PERIOD, PERIOD).to, 3);
	hy_tokens_take(&left, 4, 1, 3, 0, &(u32){ 0 });
	CHECK_EQ(left.give[0], 300);
	CHECK_EQ(left.receive[2], 400);
	barred.to |= BIT(3);
	due = hy_tokens_due(&d, &left, 4, barred, PERIOD, PERIOD);
	CHECK_EQ(due.tokens, 0);
	CHECK(!due.spent);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(released_evenly),
		TEST(by_shares),
		TEST(both_sides_alike),
		TEST(nobody_gives),
		TEST(who_can_not_keeps_nobody),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
