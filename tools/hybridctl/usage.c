// SPDX-License-Identifier: GPL-2.0-only
/* See usage.h. */
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "units.h"
#include "usage.h"
#include "words.h"

#define GROW	1024
#define MEMBERS	32
#define SLACK	8

static bool parse_flags(const char *flags, struct usage_extent *e)
{
	if (!strcmp(flags, "-"))
		return true;
	for (; *flags; flags++) {
		if (*flags == 'p')
			e->pinned = true;
		else if (*flags == 'l')
			e->large = true;
		else if (*flags == 'm')
			e->moving = true;
		else
			return false;
	}
	return true;
}

static bool parse_extent(char *line, struct usage_extent *e)
{
	const char *flags;
	struct words w;

	memset(e, 0, sizeof(*e));
	words_init(&w, line);
	e->le = words_u64(&w, "extent", UINT64_MAX);
	e->member = words_u64(&w, "member", MEMBERS - 1);
	e->reads = words_u64(&w, "reads", UINT32_MAX);
	e->writes = words_u64(&w, "writes", UINT32_MAX);
	flags = words_take(&w, "flags");
	return words_done(&w) && parse_flags(flags, e);
}

static bool parse_more(char *line, uint64_t *more)
{
	struct words w;

	words_init(&w, line + strlen("more "));
	*more = words_u64(&w, "cursor", UINT64_MAX - 1);
	return words_done(&w);
}

bool usage_take(struct usage *u, char *text, uint64_t *more)
{
	char *line;

	*more = UINT64_MAX;
	while ((line = strsep(&text, "\n"))) {
		if (!strcmp(line, "end"))
			return !text;
		if (!strncmp(line, "more ", strlen("more ")))
			return parse_more(line, more) && !text;
		if (!(u->nr % GROW))
			u->extent = xrealloc(u->extent, (u->nr + GROW) * sizeof(*u->extent));
		if (!parse_extent(line, &u->extent[u->nr]))
			return false;
		u->nr++;
	}
	return false;
}

static int by_extent(const void *a, const void *b)
{
	const struct usage_extent *x = a, *y = b;

	return x->le < y->le ? -1 : x->le > y->le;
}

void usage_settle(struct usage *u)
{
	unsigned long i, n = 0;

	if (u->nr)
		qsort(u->extent, u->nr, sizeof(*u->extent), by_extent);
	for (i = 0; i < u->nr; i++)
		if (!n || u->extent[n - 1].le != u->extent[i].le)
			u->extent[n++] = u->extent[i];
	u->nr = n;
}

bool usage_has(const struct usage *u, unsigned long nr, uint64_t le)
{
	struct usage_extent key = { .le = le };

	return nr && bsearch(&key, u->extent, nr, sizeof(key), by_extent);
}

static void take_pair(struct usage_extent *e, const char *key, const char *value, uint64_t *used)
{
	uint64_t n = 0;

	e->pinned |= !strcmp(key, "pinned") && strcmp(value, "-1");
	e->moving |= !strcmp(key, "verdict") && !strcmp(value, "busy");
	e->large |= !strcmp(key, "size") && !strcmp(value, "large");
	if (!parse_u64(value, &n))
		return;
	if (!strcmp(key, "extent"))
		e->le = n;
	else if (!strcmp(key, "member") && n < MEMBERS)
		e->member = n;
	else if (!strcmp(key, "accesses"))
		*used = n < UINT32_MAX ? n : UINT32_MAX;
	else if (!strcmp(key, "reads"))
		e->reads = n < UINT32_MAX ? n : UINT32_MAX;
	else if (!strcmp(key, "writes"))
		e->writes = n < UINT32_MAX ? n : UINT32_MAX;
}

/* What is counted without a direction is taken for reads. */
bool usage_explained(char *reply, struct usage_extent *e)
{
	char *key, *value, *save;
	uint64_t used = 0;

	memset(e, 0, sizeof(*e));
	e->member = MEMBERS;
	for (key = strtok_r(reply, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		value = strtok_r(NULL, " ", &save);
		if (!value)
			return false;
		take_pair(e, key, value, &used);
	}
	if (used > (uint64_t)e->reads + e->writes)
		e->reads = used - e->writes;
	return e->member < MEMBERS;
}

/* A list that is full changes while it is read, and lacks some. */
uint32_t usage_uncounted(const struct usage *u, uint64_t most)
{
	uint64_t least = UINT32_MAX;
	unsigned long i;

	if (u->nr < most - most / SLACK)
		return 0;
	for (i = 0; i < u->nr; i++) {
		uint64_t use = (uint64_t)u->extent[i].reads + u->extent[i].writes;

		least = use < least ? use : least;
	}
	return least;
}

void usage_free(struct usage *u)
{
	free(u->extent);
	memset(u, 0, sizeof(*u));
}

unsigned int samples_parse(char *text, struct sample *sample, unsigned int max)
{
	unsigned int nr = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct sample *s = &sample[nr];
		struct words w;

		if (nr == max)
			return 0;
		words_init(&w, line);
		if (words_u64(&w, "member", MEMBERS - 1) != nr)
			return 0;
		words_u64(&w, "requests", UINT64_MAX);
		s->reads = words_u64(&w, "reads", UINT64_MAX);
		s->writes = words_u64(&w, "writes", UINT64_MAX);
		s->mean_ns = words_u64(&w, "mean", UINT64_MAX);
		words_u64(&w, "average", UINT64_MAX);
		words_u64(&w, "occupancy", UINT64_MAX);
		words_u64(&w, "background", UINT64_MAX);
		s->idle_reads = words_u64(&w, "idle reads", UINT64_MAX);
		s->idle_ns = words_u64(&w, "their ns", UINT64_MAX);
		if (!words_done(&w))
			return 0;
		nr++;
	}
	return nr;
}
