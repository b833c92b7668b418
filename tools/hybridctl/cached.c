// SPDX-License-Identifier: GPL-2.0-only
/* See cached.h. */
#include <string.h>

#include "cached.h"
#include "words.h"

static uint64_t pair(struct words *w, const char *key)
{
	if (strcmp(words_take(w, key), key))
		words_bad(w, key);
	return words_u64(w, key, UINT64_MAX);
}

bool cached_parse(char *text, struct cached *c)
{
	struct words w;

	memset(c, 0, sizeof(*c));
	words_init(&w, text);
	c->extents = pair(&w, "extents");
	c->limit = pair(&w, "limit");
	c->hits = pair(&w, "hits");
	c->misses = pair(&w, "misses");
	c->fills = pair(&w, "fills");
	c->updates = pair(&w, "updates");
	c->drops = pair(&w, "drops");
	c->moves = pair(&w, "moves");
	return words_done(&w);
}
