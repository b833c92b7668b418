/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges of extents as the kernel lists them: what is lost, what a member has.
 */
#ifndef HYBRIDCTL_EXTENTS_H
#define HYBRIDCTL_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

struct extent_range {
	uint64_t first, nr;	/* extents */
	unsigned int dev;
};

struct extents {
	struct extent_range *range;
	unsigned int nr;
	bool asked;
	uint64_t unknown;	/* extents of which the map can't be read */
	bool partly;		/* not all could be found out */
};

/* Ask with "@question EXTENT", from the first one on.  Prints why if that fails; extents_free(). */
void extents_ask(struct extents *e, const char *name, const char *question);
void extents_free(struct extents *e);

static inline uint64_t extents_sum(const struct extents *e)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < e->nr; i++)
		sum += e->range[i].nr;
	return sum;
}

#endif
