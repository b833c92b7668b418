/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small valid pools in memory, and edits to them.
 *
 * An input is one byte that names a pool and then edits of EDIT_SIZE bytes: which
 * structure, where in it, how, and whether its checksums are made good afterwards,
 * so that what is edited gets past them.
 */
#ifndef EVENKEEL_FUZZ_EDITED_H
#define EVENKEEL_FUZZ_EDITED_H

#include "media.h"

#define POOL_NR		1100u	/* logical extents: three pages */
#define POOL_MEMBERS	2u
#define EDIT_SIZE	14u
#define EDITS_MAX	32u

enum pool_kind {
	POOL_FRESH,		/* formatted, one area */
	POOL_ONE,		/* pages, a journal */
	POOL_CLEAN,		/* pages, an empty journal, marked clean */
	POOL_TWO,		/* mirrored */
	POOL_LAGGING,		/* the second area misses the last transaction */
	POOL_BEHIND,		/* and the last superblock */
	POOL_KINDS,
};

/* What the first byte of an input names; bit 3 leaves out area 0, bit 4 area 1. */
struct pool_input {
	enum pool_kind kind;
	unsigned int areas;
};

extern const u32 pool_extents[POOL_MEMBERS];

u64 pool_area_bytes(void);
/* A pool with the edits made; media_free(). */
struct media *pool_make(const uint8_t *data, size_t size, struct pool_input *in);
/* The entry of a logical extent, by the newest of its areas' maps. */
u64 pool_entry(enum pool_kind kind, u64 le);
/* True if nothing is edited. */
bool pool_untouched(size_t size);
/* Whatever is edited is damage: no checksum is made good. */
void pool_damage(uint8_t *data, size_t size);
/* One more edit: a page is damaged, whichever of its slots is in use. The new size. */
size_t pool_damage_page(uint8_t *data, size_t size, unsigned int page, bool mirror);
/* Likewise: a slot of it has what the other one has, which may be older. */
size_t pool_older_page(uint8_t *data, size_t size, unsigned int page, unsigned int slot,
		       bool mirror);
size_t pool_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed);
/* The inputs without an edit, then one edit of every kind of structure. */
size_t pool_corpus(unsigned int nr, uint8_t *data);

#endif
