/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How extents and members are used: the kernel's answers to the messages "counts", "explain" and
 * "samples", whose grammars are in Documentation/admin-guide/dm-hybrid.rst.  Pure.
 */
#ifndef HYBRIDCTL_USAGE_H
#define HYBRIDCTL_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct usage_extent {
	uint64_t le;
	unsigned int member;
	uint32_t reads, writes;
	bool pinned, large, moving;
};

struct usage {
	struct usage_extent *extent;
	unsigned long nr;
};

/*
 * Take in one answer, whose text is cut into words.  @more: where to go on, UINT64_MAX: that was
 * all.  false: not understood.
 */
bool usage_take(struct usage *u, char *text, uint64_t *more);
/* In the order of extents, each once: two answers may overlap. */
void usage_settle(struct usage *u);
/* Is the extent among the first @nr, which are settled? */
bool usage_has(const struct usage *u, unsigned long nr, uint64_t le);
void usage_free(struct usage *u);

/* An answer to "explain", which is cut into words; false: it isn't mapped, or not understood. */
bool usage_explained(char *reply, struct usage_extent *e);
/*
 * How often an extent may have been used that is not among those counted: never, or, where the
 * kernel counts hardly more than these, of @most at most, as often as the least of them.
 */
uint32_t usage_uncounted(const struct usage *u, uint64_t most);

/* A member's last period; ns of all idle reads until now. */
struct sample {
	uint64_t reads, writes, mean_ns, idle_reads, idle_ns;
};

/* @sample has room for @max; how many there are, 0: not understood.  @text is cut into words. */
unsigned int samples_parse(char *text, struct sample *sample, unsigned int max);

#endif
