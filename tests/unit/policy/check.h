/* SPDX-License-Identifier: GPL-2.0-only */
/* KTAP, and the random numbers of the tests. */
#ifndef _TEST_CHECK_H
#define _TEST_CHECK_H

#include <shim.h>

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(fn) { #fn, fn }

static int check_failed;
static u64 check_seed;

#define CHECK(cond) CHECK_MSG(cond, "%s", "")
#define CHECK_MSG(cond, fmt, ...) do { \
	if (!(cond)) { \
		check_failed++; \
		printf("  # %s:%d: %s " fmt "\n", __FILE__, __LINE__, #cond, __VA_ARGS__); \
	} \
} while (0)
#define CHECK_EQ(a, b) do { \
	long long _x = (a), _y = (b); \
	CHECK_MSG(_x == _y, "(%s is %lld, should be %lld)", #a, _x, _y); \
} while (0)
#define CHECK_NEAR(a, b, by) do { \
	long long _x = (a), _y = (b); \
	CHECK_MSG(llabs(_x - _y) <= (by), "(%s is %lld, should be near %lld)", #a, _x, _y); \
} while (0)

static inline u64 rnd(void)
{
	check_seed ^= check_seed << 13;
	check_seed ^= check_seed >> 7;
	check_seed ^= check_seed << 17;
	return check_seed * 0x2545f4914f6cdd1dULL;
}

/* As often small as large. */
static inline u64 rnd_log(unsigned int bits)
{
	return (rnd() >> 1) >> (63 - rnd() % (bits + 1));
}

/* One of so many of them, beginning with the one of the turn. */
static inline int run_part(const struct test *tests, unsigned int nr, unsigned int turn,
			   unsigned int of)
{
	const char *seed = getenv("SEED");
	unsigned int i, done = 0, bad = 0;
	u64 first = seed ? strtoull(seed, NULL, 0) : 20240607;

	printf("KTAP version 1\n# SEED=%llu\n1..%u\n", (unsigned long long)first,
	       (nr - turn + of - 1) / of);
	for (i = turn; i < nr; i += of) {
		check_failed = 0;
		/* What a test draws doesn't depend on which ran before it. */
		check_seed = (first + i) * 0x9e3779b97f4a7c15ULL ?: 1;
		tests[i].run();
		printf("%sok %u %s\n", check_failed ? "not " : "", ++done, tests[i].name);
		fflush(stdout);
		bad += !!check_failed;
	}
	return bad ? 1 : 0;
}

static inline int run_tests(const struct test *tests, unsigned int nr)
{
	return run_part(tests, nr, 0, 1);
}

#endif
