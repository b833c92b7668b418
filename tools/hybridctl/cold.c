// SPDX-License-Identifier: GPL-2.0-only
/* See cold.h. */
#include <stdlib.h>
#include <time.h>

#include <evenkeel/hybrid_format.h>

#include "cold.h"
#include "dm.h"
#include "interrupt.h"
#include "msg.h"

#define RUNS	512UL		/* pages of the map, which the kernel keeps then; a few seconds */
#define RUN	((uint64_t)EK_PAGE_ENTRIES)	/* questions about each */
#define FAILURES	8	/* so many are not answered: that's enough */
#define GOLDEN	0.6180339887	/* of the volume, from run to run: evenly at any time */

/* false: the kernel doesn't answer. */
static bool ask(const char *name, uint64_t le, struct usage_extent *e, bool *mapped)
{
	char *message = xasprintf("explain %llu", (unsigned long long)le);
	char *reply = NULL, *why = NULL;
	int err = dm_message(name, message, &reply, &why);

	*mapped = !err && reply && usage_explained(reply, e) && e->le == le;
	free(message);
	free(reply);
	free(why);
	return !err;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Through all of them, each once. */
static uint64_t stride(uint64_t nr)
{
	uint64_t step = (uint64_t)(nr * GOLDEN) + 1;

	while (gcd(step, nr) != 1)
		step++;
	return step;
}

struct search {
	const char *name;
	unsigned int nr_members;
	unsigned long *want;		/* of each member, how many more */
	unsigned long wanted;		/* all of these */
	uint32_t use;
	struct usage *known;
	unsigned long nr, room;		/* known of before; places in the array */
	unsigned int failures;
};

static void add(struct search *s, struct usage_extent *e)
{
	struct usage *known = s->known;

	if (known->nr == s->room) {
		s->room += RUN;
		known->extent = xrealloc(known->extent, s->room * sizeof(*known->extent));
	}
	if (e->reads < s->use)
		e->reads = s->use;
	known->extent[known->nr++] = *e;
	s->want[e->member]--;
	s->wanted--;
}

static void look_at(struct search *s, uint64_t le)
{
	struct usage_extent e;
	bool mapped;

	if (usage_has(s->known, s->nr, le))
		return;
	s->failures += !ask(s->name, le, &e, &mapped);
	if (mapped && !e.pinned && !e.large && !e.moving && e.member < s->nr_members &&
	    s->want[e.member])
		add(s, &e);
}

static bool is_over(const struct search *s)
{
	return !s->wanted || s->failures == FAILURES || interrupted;
}

void cold_find(const char *name, uint64_t nr_extents, unsigned long *want,
	       unsigned int nr_members, uint64_t counted, struct usage *known)
{
	struct search s = {
		.name = name, .nr_members = nr_members, .want = want,
		.use = usage_uncounted(known, counted), .known = known, .nr = known->nr,
		.room = known->nr,
	};
	uint64_t runs = (nr_extents + RUN - 1) / RUN, run, step, i, le;

	if (!runs)
		return;
	for (i = 0; i < nr_members; i++)
		s.wanted += want[i];
	step = stride(runs);
	run = (uint64_t)time(NULL) * 2654435761U % runs;
	for (i = 0; i < runs && i < RUNS; i++, run = (run + step) % runs)
		for (le = run * RUN; le < nr_extents && le < (run + 1) * RUN; le++) {
			if (is_over(&s))
				return;
			look_at(&s, le);
		}
}
