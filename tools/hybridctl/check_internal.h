/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of the check. */
#ifndef HYBRIDCTL_CHECK_INTERNAL_H
#define HYBRIDCTL_CHECK_INTERNAL_H

#include <evenkeel/entry.h>
#include <evenkeel/space_map.h>

#include "check.h"
#include "store_io.h"

void check_labels(struct check *c);
/* False if nothing that the superblock says can be used. */
bool check_super(struct check *c, const struct ek_super *sb);

/* The map and the space maps as the media and the journal have them. */
struct image {
	struct check *check;
	const struct ek_super *sb;
	uint64_t nr_extents, nr_pages;
	u64 **page;		/* EK_PAGE_ENTRIES each; NULL: nothing mapped */
	unsigned int nr_members;
	u32 extents[EK_MAX_MEMBERS];
	struct ek_space space[EK_MAX_MEMBERS];
	bool loaded[EK_MAX_MEMBERS];	/* the space map */
	unsigned long *seen[EK_MAX_MEMBERS];
};

/* False if something is missing of it (then in @c's errors, beside what was there before). */
bool image_load(struct image *im, struct check *c, struct ek_store *store);
void image_check(struct image *im);
void image_free(struct image *im);

#endif
