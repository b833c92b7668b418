// SPDX-License-Identifier: GPL-2.0-only
/* See standing.h. */
#include <string.h>

#include "standing.h"
#include "words.h"

static bool parse_dev(char *line, unsigned int i, struct standing_dev *d)
{
	static const char * const stays[] = { "stays", "leaves", NULL };
	struct words w;

	words_init(&w, line);
	if (words_u64(&w, "index", STATUS_MAX_DEVS) != i)
		words_bad(&w, "index");
	d->state = words_one_of(&w, "state", status_dev_states);
	d->leaving = words_one_of(&w, "stays or leaves", stays);
	d->errors = words_u64(&w, "errors", UINT64_MAX);
	d->passes = words_u64(&w, "passes", UINT64_MAX);
	d->tried = words_u64(&w, "extents tried", UINT64_MAX);
	d->unknown = words_u64(&w, "extents not known of", UINT64_MAX);
	if (*words_rest(&w))
		d->returning = words_u64(&w, "extents on their way back", UINT64_MAX);
	return words_done(&w);
}

bool standing_parse(char *text, struct standing *s)
{
	char *line;

	memset(s, 0, sizeof(*s));
	while ((line = strsep(&text, "\n"))) {
		if (s->nr == STATUS_MAX_DEVS || !parse_dev(line, s->nr, &s->dev[s->nr]))
			return false;
		s->nr++;
	}
	return s->nr;
}
