// SPDX-License-Identifier: GPL-2.0-only
/* See cold.h. */
#include <stdlib.h>
#include <time.h>

#include "cold.h"
#include "dm.h"
#include "interrupt.h"
#include "msg.h"

#define LOOKS	262144UL	/* questions; a few seconds */
#define RUN	512UL		/* at a time: the kernel keeps the page of the map they are on */
#define GOLDEN	0.6180339887	/* of the volume, from run to run: evenly at any time */

static int by_extent(const void *key, const void *member)
{
	const struct usage_extent *a = key, *b = member;

	return a->le < b->le ? -1 : a->le > b->le;
}

static bool is_known(const struct usage *known, unsigned long nr, uint64_t le)
{
	struct usage_extent key = { .le = le };

	return nr && bsearch(&key, known->extent, nr, sizeof(key), by_extent);
}

static int ask(const char *name, uint64_t le, struct usage_extent *e, bool *mapped)
{
	char *message = xasprintf("explain %llu", (unsigned long long)le);
	char *reply = NULL, *why = NULL;
	int err = dm_message(name, message, &reply, &why);

	if (err)
		err = fail("%s: %s", name, why);
	else
		*mapped = reply && usage_explained(reply, e) && e->le == le;
	free(message);
	free(reply);
	free(why);
	return err;
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
	const bool *full;
	unsigned int nr_members;
	uint32_t use;
	struct usage *known;
	unsigned long nr, room;		/* known of before; places in the array */
	unsigned long looks, most;	/* left */
};

static int look_at(struct search *s, uint64_t le)
{
	struct usage *known = s->known;
	struct usage_extent e;
	bool mapped = false;
	int err;

	if (is_known(known, s->nr, le))
		return 0;
	s->looks--;
	err = ask(s->name, le, &e, &mapped);
	if (err || !mapped || e.member >= s->nr_members || !s->full[e.member])
		return err;
	if (known->nr == s->room) {
		s->room += s->most < RUN ? s->most : RUN;
		known->extent = xrealloc(known->extent, s->room * sizeof(*known->extent));
	}
	e.reads = s->use;
	known->extent[known->nr++] = e;
	s->most--;
	return 0;
}

int cold_find(const char *name, uint64_t nr_extents, const bool *full, unsigned int nr_members,
	      uint64_t counted, unsigned long most, struct usage *known)
{
	struct search s = {
		.name = name, .full = full, .nr_members = nr_members,
		.use = usage_uncounted(known, counted), .known = known, .nr = known->nr,
		.room = known->nr, .looks = LOOKS, .most = most,
	};
	uint64_t runs = (nr_extents + RUN - 1) / RUN, run, step, i, le;
	int err = 0;

	if (!runs)
		return 0;
	step = stride(runs);
	run = (uint64_t)time(NULL) * 2654435761U % runs;
	for (i = 0; i < runs && !err; i++, run = (run + step) % runs)
		for (le = run * RUN; le < nr_extents && le < (run + 1) * RUN && !err; le++) {
			if (!s.looks || !s.most || interrupted)
				return 0;
			err = look_at(&s, le);
		}
	return err;
}
