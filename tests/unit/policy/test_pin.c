// SPDX-License-Identifier: GPL-2.0-only
/* Pins against a map of small extents. */
#include "check.h"
#include "policy_pin.h"

#define EXTENTS	400

static struct hy_pins from(const char *text)
{
	struct hy_pins pins = { };
	const char *reason = "";

	CHECK_MSG(!hy_pins_set(&pins, text, 4, &reason), "%s: %s", text, reason);
	return pins;
}

static void emits(const struct hy_pins *pins, const char *text)
{
	char buf[HY_PINS_TEXT];

	CHECK(hy_pins_emit(pins, buf, sizeof(buf)) == strlen(text));
	CHECK_MSG(!strcmp(buf, text), "(is %s, should be %s)", buf, text);
}

static void where_they_are(void)
{
	struct hy_pins p = from("10+5:1,100+3/20*4:2,12+1:3");

	emits(&p, "10+5:1,100+3/20*4:2,12+1:3");
	CHECK_EQ(hy_pins_find(&p, 9), -1);
	CHECK_EQ(hy_pins_find(&p, 10), 1);
	CHECK_EQ(hy_pins_find(&p, 12), 1);
	CHECK_EQ(hy_pins_find(&p, 14), 1);
	CHECK_EQ(hy_pins_find(&p, 15), -1);
	CHECK_EQ(hy_pins_find(&p, 122), 2);
	CHECK_EQ(hy_pins_find(&p, 123), -1);
	CHECK_EQ(hy_pins_find(&p, 162), 2);
	CHECK_EQ(hy_pins_find(&p, 180), -1);
	CHECK_EQ(hy_pins_next(&p, 0), 10);
	CHECK_EQ(hy_pins_next(&p, 15), 100);
	CHECK_EQ(hy_pins_next(&p, 143), 160);
	CHECK_EQ(hy_pins_next(&p, 163), U64_MAX);
	p = from("none");
	emits(&p, "");
	CHECK_EQ(hy_pins_next(&p, 0), U64_MAX);
}

static void bad_texts(void)
{
	static const char * const bad[] = {
		"", "1", "1+", "1+0:0", "1+1:4", "1+1", "1+1:", "1+1:0,", ",1+1:0", "1+1:0 ",
		"1+5/4*2:0", "1+5/5*1:0", "1+5/5:0", "-1+1:0", "140737488355328+1:0",
		"1+4294967296:0", "1+1/4294967295*4294967295:0x", "140737488355327+1/2*2:0",
	};
	struct hy_pins pins = from("7+1:0");
	const char *reason;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		reason = NULL;
		CHECK_MSG(hy_pins_set(&pins, bad[i], 4, &reason) == -EINVAL, "%s", bad[i]);
		CHECK(reason);
		emits(&pins, "7+1:0");
	}
}

/* What doesn't fit into the superblock is refused: 20 ranges, 511 characters. */
static void bounds(void)
{
	struct hy_pins pins = { };
	const char *reason;
	unsigned int i;

	for (i = 0; i < HY_PINS; i++)
		CHECK_EQ(hy_pins_add(&pins, 1000000 + 10 * i, 2, 0, &reason), 0);
	CHECK_EQ(hy_pins_add(&pins, 5, 1, 0, &reason), -EINVAL);
	CHECK_EQ(hy_pins_remove(&pins, 1000000, 2, &reason), 0);
	CHECK_EQ(hy_pins_add(&pins, 5, 1, 0, &reason), 0);
	pins.nr = 0;
	for (i = 0; i < HY_PINS; i++)
		if (hy_pins_add(&pins, 100000000000000ULL + 100000000 * i, 4000000, 0, &reason))
			break;
	CHECK(hy_pins_emit(&pins, NULL, 0) < HY_PINS_TEXT);
	CHECK(i > 15 && i < HY_PINS);
}

static void a_range_that_repeats_goes_as_a_whole(void)
{
	struct hy_pins p = from("100+3/20*4:2");
	const char *reason;

	CHECK_EQ(hy_pins_remove(&p, 120, 3, &reason), -EINVAL);
	emits(&p, "100+3/20*4:2");
	CHECK_EQ(hy_pins_add(&p, 98, 5, 1, &reason), -EINVAL);
	CHECK_EQ(hy_pins_add(&p, 117, 4, 1, &reason), -EINVAL);
	CHECK_EQ(hy_pins_add(&p, 162, 5, 1, &reason), -EINVAL);
	emits(&p, "100+3/20*4:2");
	CHECK_EQ(hy_pins_end(&p), 163);
	/* what it leaves free is not part of it */
	CHECK_EQ(hy_pins_add(&p, 103, 17, 1, &reason), 0);
	CHECK_EQ(hy_pins_remove(&p, 110, 2, &reason), 0);
	emits(&p, "100+3/20*4:2,103+7:1,112+8:1");
	CHECK_EQ(hy_pins_add(&p, 163, 5, 1, &reason), 0);
	CHECK_EQ(hy_pins_end(&p), 168);
	CHECK_EQ(hy_pins_remove(&p, 0, 163, &reason), 0);
	emits(&p, "163+5:1");
	CHECK_EQ(hy_pins_remove(&p, 0, U64_MAX, &reason), 0);
	emits(&p, "");
	CHECK_EQ(hy_pins_end(&p), 0);
}

/* Any pins and unpins against a map. */
static void as_a_map(void)
{
	int map[EXTENTS], i, n;
	struct hy_pins p = { };
	const char *reason;
	char buf[HY_PINS_TEXT];

	memset(map, -1, sizeof(map));
	for (n = 0; n < 20000; n++) {
		u64 first = rnd() % EXTENTS;
		u32 nr = rnd() % 40 + 1;
		int member = (int)(rnd() % 4) - 1, r;

		nr = first + nr > EXTENTS ? EXTENTS - first : nr;
		r = member < 0 ? hy_pins_remove(&p, first, nr, &reason) :
				 hy_pins_add(&p, first, nr, member, &reason);
		for (i = first; !r && i < first + nr; i++)
			map[i] = member;
		CHECK(!r || p.nr > HY_PINS - 3);
	}
	for (i = 0; i < EXTENTS; i++)
		CHECK_EQ(hy_pins_find(&p, i), map[i]);
	hy_pins_emit(&p, buf, sizeof(buf));
	p = from(buf);
	for (i = 0; i < EXTENTS; i++)
		CHECK_EQ(hy_pins_find(&p, i), map[i]);
	/* a walk meets all that are held, and no others */
	for (i = 0, n = 0; (i = hy_pins_next(&p, i)) < EXTENTS && i >= 0; i++, n++)
		CHECK(map[i] >= 0);
	for (i = 0; i < EXTENTS; i++)
		n -= map[i] >= 0;
	CHECK_EQ(n, 0);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(where_they_are),
		TEST(bad_texts),
		TEST(bounds),
		TEST(a_range_that_repeats_goes_as_a_whole),
		TEST(as_a_map),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
