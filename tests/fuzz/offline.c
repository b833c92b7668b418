// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl's offline check of an edited pool, labels and all.  What it finds no
 * fault with has none: every extent is used once and marked so.
 */
#include <errno.h>
#include <string.h>

#include <evenkeel/entry.h>

#include "check.h"
#include "devices.h"
#include "edited.h"
#include "fuzz.h"
#include "msg.h"

struct seen {
	uint64_t nr, size;
	u64 *place;
};

static void visit(void *ctx, uint64_t le, uint64_t entry)
{
	struct seen *s = ctx;

	(void)le;
	if (s->nr == s->size) {
		s->size = s->size * 2 + 64;
		s->place = realloc(s->place, s->size * sizeof(*s->place));
	}
	s->place[s->nr++] = ek_entry_place(entry);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void check_faultless(const struct pool *pool, const struct check *c)
{
	struct seen s = { };
	struct check again;
	uint64_t i;

	MUST(!check_map(&again, pool, visit, &s));
	MUST(s.nr == c->mapped && c->mapped <= c->logical && c->used <= c->total);
	MUST(c->used == c->mapped + c->leaked);
	MUST(!c->leaked || c->warnings.nr);
	if (s.nr)
		qsort(s.place, s.nr, sizeof(*s.place), compare);
	for (i = 1; i < s.nr; i++)
		MUST(s.place[i] != s.place[i - 1], "an extent that two have");
	findings_free(&again.errors);
	findings_free(&again.warnings);
	free(s.place);
}

static void check_one(const struct pool *pool, bool untouched)
{
	struct check c;
	int err = check_pool(&c, pool);

	MUST(!err || err == EXIT_USAGE);
	if (!err) {
		MUST(c.errors.nr || c.complete);
		if (untouched)
			MUST(!c.errors.nr, "%s", c.errors.text[0]);
		if (!c.errors.nr)
			check_faultless(pool, &c);
	}
	findings_free(&c.errors);
	findings_free(&c.warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool_input in;
	struct pools pools;
	struct media *media;
	unsigned int i;

	media = pool_make(data, size, &in);
	devices_use(media, in.areas);
	devices_pools(&pools);
	if (pool_untouched(size))
		MUST(pools.nr == !!in.areas);
	for (i = 0; i < pools.nr; i++)
		check_one(&pools.pool[i], pool_untouched(size) && in.kind != POOL_LAGGING &&
					  in.kind != POOL_BEHIND);
	pools_free(&pools);
	media_free(media);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	return pool_mutate(data, size, max, seed);
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	return pool_corpus(nr, data);
}
