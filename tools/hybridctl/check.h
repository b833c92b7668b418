/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The offline check of one pool: labels, superblock, every page on every mirror,
 * the journal, and the map against the space maps.  Reads only.
 */
#ifndef HYBRIDCTL_CHECK_H
#define HYBRIDCTL_CHECK_H

#include "findings.h"
#include "pool.h"

struct check {
	const struct pool *pool;
	struct findings errors, warnings;
	bool complete;		/* the map could be checked */
	uint64_t generation, pages, journal_records;
	uint64_t logical, mapped, total, used, leaked;
};

/* 0, or EXIT_USAGE (message printed) if it could not run; findings_free() both. */
int check_pool(struct check *c, const struct pool *pool);

/*
 * Call @fn for every mapped extent as the journal leaves it; used by dump.
 * As above; what is wrong with the metadata goes to @c.
 */
int check_map(struct check *c, const struct pool *pool,
	      void (*fn)(void *ctx, uint64_t le, uint64_t entry), void *ctx);

#endif
