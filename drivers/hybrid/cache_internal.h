/* SPDX-License-Identifier: GPL-2.0-only */
/* Between cache.c and cache_size.c. */
#ifndef _HYBRID_CACHE_INTERNAL_H
#define _HYBRID_CACHE_INTERNAL_H

#include "cache_core.h"
#include "hybrid.h"

/**
 * struct hy_cache - a pool's cache, made when it is first turned on
 * @list: of all caches, for the shrinker
 * @pool: whose it is
 * @lock: core, the waiters of slots, draining, again; a leaf
 * @core: which extents there are
 * @chunk_shift: of a byte's offset within an extent
 * @nr_chunks: per extent
 * @drain: for writes that began before writes were counted
 * @draining: it is under way
 * @again: such writes may have begun since
 */
struct hy_cache {
	struct list_head list;
	struct hy_pool *pool;
	spinlock_t lock;	/* all that follows but the constants */
	struct hy_cache_core core;
	unsigned int chunk_shift;
	unsigned int nr_chunks;
	struct hy_drain drain;
	bool draining;
	bool again;
};

unsigned long hy_cache_shrink_to(struct hy_cache *cache, u32 nr, unsigned long at_most);

#endif
