/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the extents in memory do for a volume: the kernel's answer to the message "cache", whose
 * grammar is in Documentation/admin-guide/dm-hybrid.rst.  Pure.
 */
#ifndef HYBRIDCTL_CACHED_H
#define HYBRIDCTL_CACHED_H

#include <stdbool.h>
#include <stdint.h>

struct cached {
	uint64_t extents, limit;
	uint64_t hits, misses, fills, updates, drops, moves;
};

/* @text is cut into words; false: not understood. */
bool cached_parse(char *text, struct cached *c);

#endif
