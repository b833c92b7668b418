// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl's readers of what the kernel answers to messages, chosen by the first byte: members,
 * concentrations, cache, samples, counts, explain.  Numbers are within what they count, and what
 * is not understood leaves nothing to be freed.
 */
#include <string.h>

#include "cached.h"
#include "fuzz.h"
#include "standing.h"
#include "tier.h"
#include "usage.h"

#define MEMBERS	32
#define PPM	1000000

static unsigned int lines(const char *text)
{
	unsigned int n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void members(char *text)
{
	unsigned int i, nr = lines(text);
	struct standing s;

	if (!standing_parse(text, &s))
		return;
	MUST(s.nr == nr && nr <= STATUS_MAX_DEVS);
	for (i = 0; i < s.nr; i++)
		MUST(status_dev_state_name(s.dev[i].state));
}

static void concentrations(char *text)
{
	unsigned int i, nr = lines(text) - 1;
	struct tier tier;

	if (!tier_parse(text, &tier)) {
		MUST(!tier.run && !tier.nr_runs);
		return;
	}
	MUST(tier.nr_runs == nr && tier.member >= -1 && tier.member <= 1 << 16);
	for (i = 0; i < nr; i++)
		MUST(tier.run[i].share_ppm <= PPM);
	tier_free(&tier);
}

static void cache(char *text)
{
	struct cached c, same;
	char again[512];

	if (!cached_parse(text, &c))
		return;
	snprintf(again, sizeof(again),
		 "extents %llu limit %llu hits %llu misses %llu fills %llu updates %llu drops %llu moves %llu",
		 (unsigned long long)c.extents, (unsigned long long)c.limit, (unsigned long long)c.hits,
		 (unsigned long long)c.misses, (unsigned long long)c.fills, (unsigned long long)c.updates,
		 (unsigned long long)c.drops, (unsigned long long)c.moves);
	MUST(cached_parse(again, &same) && !memcmp(&c, &same, sizeof(c)));
}

static void samples(char *text)
{
	struct sample *s = malloc(MEMBERS / 4 * sizeof(*s));	/* to the last */
	unsigned int nr = lines(text), got = samples_parse(text, s, MEMBERS / 4);

	MUST(!got || (got == nr && nr <= MEMBERS / 4));
	free(s);
}

static void counts(char *text)
{
	unsigned int nr = lines(text);
	struct usage u = {};
	unsigned long i;
	uint64_t more;

	if (usage_take(&u, text, &more))
		MUST(u.nr < nr);
	for (i = 0; i < u.nr; i++)
		MUST(u.extent[i].member < MEMBERS);
	usage_settle(&u);
	for (i = 1; i < u.nr; i++)
		MUST(u.extent[i - 1].le < u.extent[i].le);
	for (i = 0; i < u.nr; i++)
		MUST(usage_has(&u, u.nr, u.extent[i].le) &&
		     usage_uncounted(&u, u.nr) <= (uint64_t)u.extent[i].reads + u.extent[i].writes);
	usage_free(&u);
}

static void explain(char *text)
{
	struct usage_extent e;

	MUST(!usage_explained(text, &e) || e.member < MEMBERS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (* const reader[])(char *) = { members, concentrations, cache, samples, counts, explain };
	char *text;

	if (!len)
		return 0;
	text = fuzz_string(data + 1, len - 1);
	reader[data[0] % (sizeof(reader) / sizeof(*reader))](text);
	free(text);
	return 0;
}

/* '0' is the first reader's. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"0""0 active stays 0 1 2 3\n1 draining leaves 5 0 0 0", "0""0 failed leaves 1 1 1 18446744073709551615",
		"1""0 8 1 2 3\n0 64 500000 3 8 1000\n512 64 0 0 0 0", "1-1 0 0 0 0", "1""1 8 0 0 0\n0 1 1000001 0 0 0",
		"2extents 3 limit 8 hits 1 misses 2 fills 3 updates 4 drops 5 moves 6",
		"3""0 7 4 3 100 110 5000 0 2 900\n1 0 0 0 0 0 0 0 0 0",
		"4""17 1 30 2 -\n18 0 4294967295 0 plm\nmore 19", "4""3 0 1 1 p\n2 1 0 5 l\n3 0 1 1 m\nend", "4end",
		"5extent 17 member 1 accesses 30 verdict busy pinned 1 size large",
		"5member 1 reads 3 writes 99999999999 pinned -1", "5extent 1", NULL,
	};

	return fuzz_text(nr, text, data);
}
