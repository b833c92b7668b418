/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cursor over a line of words separated by exactly one blank: what the kernel's
 * status and table lines are made of.  Pure.
 */
#ifndef HYBRIDCTL_WORDS_H
#define HYBRIDCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct words {
	char *next;		/* NULL at the end */
	unsigned int nr;	/* words taken */
	bool bad;		/* sticky: something was missing or wrong */
	char why[96];		/* what, when @bad */
};

/* @line is cut into words in place. */
void words_init(struct words *w, char *line);
/* The next word, never NULL or empty unless @bad was set. */
char *words_take(struct words *w, const char *what);
uint64_t words_u64(struct words *w, const char *what, uint64_t max);
/* "A/B" with A <= B. */
void words_ratio(struct words *w, const char *what, uint64_t *a, uint64_t *b);
/* Index of the next word in @set (NULL-terminated). */
unsigned int words_one_of(struct words *w, const char *what, const char * const *set);
void words_bad(struct words *w, const char *what);
/* The unread rest of the line, "" at the end. */
const char *words_rest(const struct words *w);
/* True if all was well and nothing is left. */
bool words_done(struct words *w);

#endif
