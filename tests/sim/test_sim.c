// SPDX-License-Identifier: GPL-2.0-only
/* Does wardrop, with its default parameters, go the right way and stay there? */
#include "check.h"
#include "pairs.h"

static struct sim_config config_of(const char *pair, unsigned int processes)
{
	struct sim_config c = {
		.nr = 2,
		.policy = "wardrop",
		.processes = processes,
		.periods = 30,
		.seed = rnd(),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!strcmp(pairs[i].name, pair))
			memcpy(c.dev, pairs[i].dev, sizeof(pairs[i].dev));
	return c;
}

static struct sim_result run(const struct sim_config *c)
{
	struct sim_result r = sim_run(c);

	printf("  # %s+%s: %.0f IOPS, share %.1f%% sd %.1f, %.0f and %.0f us, %llu moves\n",
	       c->dev[0].name, c->dev[1].name, r.iops, r.share[0], r.share_sd, r.mean_us[0],
	       r.mean_us[1], (unsigned long long)r.moves);
	return r;
}

/*
 * Three quarters of the throughput are A's.  At depth 64 both are kept busy there, and
 * equal response times are at 48 requests on A and 16 on B: 1.5 ms each.
 */
static void to_the_faster_by_migration(void)
{
	struct sim_config c = config_of("A+B", 64);
	struct sim_result r = run(&c);

	CHECK(r.share[0] > 65 && r.share[0] < 85);
	CHECK(r.share_sd < 8);
	CHECK(r.moves > 1000);
}

static void to_the_faster_by_allocation(void)
{
	struct sim_config c = config_of("A+B", 64);
	struct sim_result r;

	c.new_writes = true;
	r = run(&c);
	CHECK(r.share[0] > 70 && r.share[0] < 80);
	CHECK(r.share_sd < 3);
	CHECK(r.moves < 100);
}

/* The members' order must not matter. */
static void other_way_round(void)
{
	struct sim_config c = config_of("A+B", 64);
	struct sim_dev a = c.dev[0];
	struct sim_result r;

	c.dev[0] = c.dev[1];
	c.dev[1] = a;
	r = run(&c);
	CHECK(r.share[1] > 65 && r.share[1] < 85);
}

/* A disk keeps the floor of what is new, and what it has leaves it, slowly. */
static void off_the_disk(void)
{
	struct sim_config c = config_of("SSD+HDD", 16), equal = c;
	static const char * const shares[] = { "shares", "50,50", NULL };
	struct sim_result r = run(&c), s;

	CHECK(r.share[0] > 52);
	c.new_writes = true;
	equal.new_writes = true;
	equal.policy = "static";
	equal.params = shares;
	r = run(&c);
	s = run(&equal);
	CHECK(r.share[1] < 2);
	CHECK(r.share[1] > 0);
	CHECK(r.iops > 10 * s.iops);
}

static void equals_stay_equal(void)
{
	struct sim_config c = config_of("A+A", 64);
	struct sim_result r = run(&c);

	CHECK(r.share[0] > 45 && r.share[0] < 55);
	CHECK(r.share_sd < 3);
}

static void deterministic(void)
{
	struct sim_config c = config_of("A+B", 16);
	u64 first, again;

	c.periods = 5;
	first = sim_run(&c).hash;
	again = sim_run(&c).hash;
	CHECK(first == again);
	c.seed++;
	again = sim_run(&c).hash;
	CHECK(first != again);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(deterministic),
		TEST(to_the_faster_by_migration),
		TEST(to_the_faster_by_allocation),
		TEST(other_way_round),
		TEST(off_the_disk),
		TEST(equals_stay_equal),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
