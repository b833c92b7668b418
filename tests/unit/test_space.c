// SPDX-License-Identifier: GPL-2.0-only
#include <evenkeel/space_map.h>
#include "ktap.h"

static void sequential(void)
{
	struct ek_space s;
	u32 i, nr = 3 * EK_SPACE_GROUP + 77;

	CHECK(!ek_space_init(&s, nr));
	CHECK(ek_space_nr_free(&s) == nr);
	for (i = 0; i < nr; i++)
		CHECK(ek_space_alloc(&s, EK_SPACE_NONE) == i, "%u", i);
	CHECK(!ek_space_nr_free(&s));
	CHECK(ek_space_alloc(&s, EK_SPACE_NONE) == EK_SPACE_NONE);
	CHECK(ek_space_alloc(&s, 5) == EK_SPACE_NONE);
	CHECK(!ek_space_free(&s, 100, 3));
	CHECK(ek_space_alloc(&s, 101) == 101);
	CHECK(ek_space_alloc(&s, EK_SPACE_NONE) == 102);
	CHECK(ek_space_alloc(&s, EK_SPACE_NONE) == 100, "the search wraps");
	CHECK(ek_space_nr_free(&s) == 0);
	ek_space_destroy(&s);
}

static void refused(void)
{
	struct ek_space s;

	CHECK(ek_space_init(&s, 0) == -EINVAL);
	CHECK(ek_space_init(&s, EK_MAX_MEMBER_EXTENTS + 1) == -EINVAL);
	CHECK(!ek_space_init(&s, 1000));
	CHECK(ek_space_free(&s, 0, 1) == -EINVAL, "free already");
	CHECK(ek_space_alloc(&s, 10) == 10);
	CHECK(ek_space_alloc(&s, 10) == 11, "the next one when the goal is taken");
	CHECK(ek_space_free(&s, 10, 3) == -EINVAL);
	CHECK(ek_space_nr_free(&s) == 998, "nothing done");
	CHECK(ek_space_free(&s, 10, 0) == -EINVAL);
	CHECK(ek_space_free(&s, 1000, 1) == -EINVAL);
	CHECK(ek_space_free(&s, 999, ~0u) == -EINVAL);
	CHECK(!ek_space_free(&s, 10, 2));
	CHECK(ek_space_free(&s, 10, 2) == -EINVAL);
	CHECK(ek_space_store(&s, 1000, 1, true) == -EINVAL);
	CHECK(ek_space_store(&s, 0, 1001, true) == -EINVAL);
	ek_space_destroy(&s);
}

static void taken(void)
{
	u32 nr = EK_SPACE_GROUP + 2;
	struct ek_space s;

	CHECK(!ek_space_init(&s, nr));
	CHECK(ek_space_take(&s, 0) && ek_space_take(&s, nr - 1));
	CHECK(!ek_space_take(&s, 0), "it is used by now");
	CHECK(!ek_space_take(&s, nr) && !ek_space_take(&s, EK_SPACE_NONE));
	CHECK(ek_space_nr_free(&s) == nr - 2);
	CHECK(s.group_free[0] == EK_SPACE_GROUP - 1 && s.group_free[1] == 1);
	CHECK(ek_space_alloc(&s, EK_SPACE_NONE) == 1, "nobody is given it");
	CHECK(ek_space_alloc(&s, nr - 1) == 2);
	CHECK(!ek_space_take(&s, 2), "nor what was given out");
	CHECK(ek_space_next_dirty(&s, 0) == ek_space_pages(nr), "the media are not told");
	CHECK(!ek_space_free(&s, 0, 3) && ek_space_take(&s, 1));
	CHECK(ek_space_nr_free(&s) == nr - 2);
	ek_space_destroy(&s);
}

static void against_model(void)
{
	u32 nr = 2 * EK_SPACE_GROUP + 1000, i, j, n, pe, goal, free_nr = nr;
	u8 *used = calloc(nr, 1);
	struct ek_space s;
	u32 cursor = 0;

	CHECK(!ek_space_init(&s, nr));
	for (i = 0; i < 300000 && !ktap_failing(); i++) {
		/* Long phases of filling and of emptying. */
		if (get_random_u64() % 100 < (i / 40000 % 2 ? 30 : 70)) {
			goal = get_random_u64() % 2 ? get_random_u64() % nr : EK_SPACE_NONE;
			j = goal == EK_SPACE_NONE ? cursor : goal;
			for (n = 0; n < nr && used[(j + n) % nr]; n++)
				;
			pe = ek_space_alloc(&s, goal);
			CHECK(pe == (n == nr ? EK_SPACE_NONE : (j + n) % nr));
			if (pe == EK_SPACE_NONE)
				continue;
			used[pe] = 1;
			cursor = (pe + 1) % nr;
			free_nr--;
		} else {
			pe = get_random_u64() % nr;
			n = 1 + get_random_u64() % (get_random_u64() % 100 ? 2 : 50);
			for (j = 0; j < n && pe + j < nr && used[pe + j]; j++)
				;
			CHECK(ek_space_free(&s, pe, n) == (j == n ? 0 : -EINVAL));
			if (j == n) {
				memset(used + pe, 0, n);
				free_nr += n;
			}
		}
		CHECK(ek_space_nr_free(&s) == free_nr);
	}
	for (i = 0, n = 0; i < nr; i += EK_SPACE_GROUP, n = 0) {
		for (j = i; j < nr && j < i + EK_SPACE_GROUP; j++)
			n += !used[j];
		CHECK(s.group_free[i / EK_SPACE_GROUP] == n, "group %u", i / EK_SPACE_GROUP);
	}
	ek_space_destroy(&s);
	free(used);
}

static void pages(void)
{
	u32 nr = 3 * EK_PAGE_BITS + 4321, i, page, pe, n;
	struct ek_space a, b;
	struct ek_page media;

	CHECK(ek_space_pages(1) == 1 && ek_space_pages(EK_PAGE_BITS) == 1 &&
	      ek_space_pages(EK_PAGE_BITS + 1) == 2);
	CHECK(!ek_space_init(&a, nr) && !ek_space_init(&b, nr));
	CHECK(ek_space_next_dirty(&a, 0) == 4, "a new one is clean");
	CHECK(!ek_space_store(&a, EK_PAGE_BITS - 1, 2, true));
	CHECK(ek_space_next_dirty(&a, 0) == 0 && ek_space_next_dirty(&a, 1) == 1 &&
	      ek_space_next_dirty(&a, 2) == 4);
	for (i = 0; i < 2; i++)
		ek_space_clear_dirty(&a, i);
	CHECK(!ek_space_store(&a, EK_PAGE_BITS - 1, 2, true), "idempotent");
	CHECK(ek_space_next_dirty(&a, 0) == 4, "and then nothing is dirty");
	for (i = 0; i < 3000; i++) {
		pe = get_random_u64() % nr;
		n = min(1 + (u32)(get_random_u64() % 40), nr - pe);
		CHECK(!ek_space_store(&a, pe, n, get_random_u64() % 3));
	}
	CHECK(!ek_space_store(&a, nr - 1, 1, true));
	for (page = 0; page < ek_space_pages(nr); page++) {
		memset(&media, 0xff, sizeof(media));
		ek_space_encode(&a, page, &media);
		CHECK(!ek_space_decode(&b, page, &media));
	}
	CHECK(ek_space_next_dirty(&b, 0) == 4, "what was read is clean");
	ek_space_activate(&b);
	for (i = 0, n = 0; i < nr; i++) {
		CHECK(test_bit(i, a.stored) == test_bit(i, b.used), "%u", i);
		n += !test_bit(i, b.used);
	}
	CHECK(ek_space_nr_free(&b) == n);
	ek_space_encode(&a, 3, &media);
	media.entry[4321 / 64] |= cpu_to_le64(1ULL << 4321 % 64);
	CHECK(ek_space_decode(&b, 3, &media) == -EINVAL, "a bit past the end");
	ek_space_encode(&a, 3, &media);
	media.entry[EK_PAGE_ENTRIES - 1] = cpu_to_le64(1);
	CHECK(ek_space_decode(&b, 3, &media) == -EINVAL);
	CHECK(ek_space_decode(&b, 4, &media) == -EINVAL);
	ek_space_destroy(&a);
	ek_space_destroy(&b);
}

static void large(void)
{
	struct ek_space s;
	u32 last = EK_MAX_MEMBER_EXTENTS - 1;

	CHECK(!ek_space_init(&s, EK_MAX_MEMBER_EXTENTS));
	CHECK(!ek_space_store(&s, 0, EK_MAX_MEMBER_EXTENTS, true));
	CHECK(!ek_space_store(&s, last, 1, false));
	ek_space_activate(&s);
	CHECK(ek_space_nr_free(&s) == 1);
	CHECK(ek_space_alloc(&s, 0) == last);
	CHECK(ek_space_alloc(&s, 0) == EK_SPACE_NONE);
	CHECK(ek_space_memory(&s) < 34 << 20);
	ek_space_destroy(&s);
}

static void no_memory(void)
{
	struct ek_space s;
	int n, r = -ENOMEM;

	for (n = 1; n < 10 && r; n++) {
		shim_fail_alloc = n;
		r = ek_space_init(&s, 100000);
		CHECK(r == 0 || r == -ENOMEM);
		ek_space_destroy(&s);
	}
	shim_fail_alloc = 0;
	CHECK(n == 6 && !r);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("space: extents asked for in order come out in order", sequential);
	ktap_run("space: double frees and bad ranges are refused whole", refused);
	ktap_run("space: a certain extent is taken once", taken);
	ktap_run("space: agrees with an array, goals, groups and counts", against_model);
	ktap_run("space: media pages round trip and turn dirty exactly", pages);
	ktap_run("space: 134 million extents", large);
	ktap_run("space: allocation failures", no_memory);
	return ktap_done();
}
