// SPDX-License-Identifier: GPL-2.0-only
/* A cursor over words separated by exactly one blank. */
#include <stdio.h>
#include <string.h>

#include "units.h"
#include "words.h"

void words_init(struct words *w, char *line)
{
	memset(w, 0, sizeof(*w));
	w->next = *line ? line : NULL;
}

void words_bad(struct words *w, const char *what)
{
	if (w->bad)
		return;
	w->bad = true;
	snprintf(w->why, sizeof(w->why), "word %u: %s", w->nr, what);
}

static bool plain(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++)
		if (*word < '!' || *word > '~')
			return false;
	return true;
}

char *words_take(struct words *w, const char *what)
{
	static char none[1];
	char *word = w->next, *blank;

	w->nr++;
	if (w->bad)
		return none;
	if (!word) {
		words_bad(w, what);
		return none;
	}
	blank = strchr(word, ' ');
	if (blank)
		*blank++ = 0;
	w->next = blank;
	if (plain(word))
		return word;
	words_bad(w, what);
	return none;
}

uint64_t words_u64(struct words *w, const char *what, uint64_t max)
{
	uint64_t value = 0;
	char *word = words_take(w, what);

	if (!w->bad && (!parse_u64(word, &value) || value > max)) {
		words_bad(w, what);
		return 0;
	}
	return value;
}

void words_ratio(struct words *w, const char *what, uint64_t *a, uint64_t *b)
{
	char *word = words_take(w, what);
	char *slash = strchr(word, '/');

	*a = *b = 0;
	if (w->bad)
		return;
	if (slash)
		*slash++ = 0;
	if (!slash || !parse_u64(word, a) || !parse_u64(slash, b) || *a > *b)
		words_bad(w, what);
}

unsigned int words_one_of(struct words *w, const char *what, const char * const *set)
{
	char *word = words_take(w, what);
	unsigned int i;

	for (i = 0; set[i]; i++)
		if (!strcmp(word, set[i]))
			return i;
	words_bad(w, what);
	return 0;
}

const char *words_rest(const struct words *w)
{
	return w->next ? w->next : "";
}

bool words_done(struct words *w)
{
	if (!w->bad && w->next) {
		w->nr++;
		words_bad(w, "more words than expected");
	}
	return !w->bad;
}
