/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a new pool's areas go and how large its volume is.  Pure.
 */
#ifndef HYBRIDCTL_LAYOUT_H
#define HYBRIDCTL_LAYOUT_H

#include <evenkeel/label.h>
#include <evenkeel/store.h>

#define LAYOUT_DEFAULT_EXTENT	256u	/* sectors: 128 KiB */
#define LAYOUT_ALIGN		(1u << 20)

/* First what is asked for, then what comes of it.  Sectors where not said otherwise. */
struct layout {
	unsigned int nr_members;
	const char *path[EK_MAX_MEMBERS];
	uint64_t dev_sectors[EK_MAX_MEMBERS];
	unsigned int nr_meta;		/* devices of their own; 0: carve */
	const char *meta_path[EK_MAX_META];
	uint64_t meta_sectors[EK_MAX_META];
	uint64_t extent_sectors;	/* 0: choose */
	uint64_t size;			/* bytes; 0: all but a reserve */

	bool carve;			/* metadata areas at the start of the first members */
	uint64_t start[EK_MAX_MEMBERS];	/* of the member areas */
	u32 extents[EK_MAX_MEMBERS];
	uint64_t total, logical;	/* extents */
};

/* NULL, or why not; free() it. */
char *layout_make(struct layout *l);
/*
 * How much of the start of a metadata area the kernel overwrites when it formats the pool.  0;
 * -errno with which it would fail.
 */
int layout_meta_head(const struct layout *l, uint64_t *bytes);
/* Extents of the volume that members with so many (@extents, @nr_members) would be made into. */
uint64_t layout_volume_extents(const struct layout *l);

#endif
