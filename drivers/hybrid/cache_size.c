// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much the extent cache may keep: it is turned on and off, has a limit, and gives back what is
 * wanted elsewhere.  What it keeps, and why that is never old, is cache.c's.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <compat/shrinker.h>
#include "cache_internal.h"

#define HY_CACHE_CHUNKS	256	/* of memory per extent, so that one bio takes all */
#define HY_CACHE_PART	4	/* of the memory that there is, a cache may have one in so many */

static LIST_HEAD(hy_caches);
static DEFINE_MUTEX(hy_caches_lock);
static struct compat_shrinker hy_cache_shrinker;

/* All writes in flight are counted, unless it was turned off and on meanwhile. */
static void writes_counted(struct hy_drain *drain)
{
	struct hy_cache *cache = container_of(drain, struct hy_cache, drain);
	bool again;

	spin_lock_irq(&cache->lock);
	again = cache->again;
	cache->again = false;
	cache->draining = again;
	if (!again)
		cache->core.ready = READ_ONCE(cache->pool->caching);
	else
		hy_drain_bios(cache->pool, drain);	/* under the lock: see hy_cache_stop() */
	spin_unlock_irq(&cache->lock);
}

/**
 * hy_cache_make - the frame of a cache that keeps nothing yet
 * @pool: whose it is to be; does not have it before hy_cache_resize()
 *
 * Context: sleeps.
 * Return: it, or NULL.
 */
struct hy_cache *hy_cache_make(struct hy_pool *pool)
{
	struct hy_cache *cache = kvzalloc(sizeof(*cache), GFP_KERNEL);
	unsigned int shift = pool->extent_shift + SECTOR_SHIFT;

	if (!cache)
		return NULL;
	cache->pool = pool;
	cache->chunk_shift = max_t(unsigned int, PAGE_SHIFT, shift - ilog2(HY_CACHE_CHUNKS));
	cache->nr_chunks = 1u << (shift - cache->chunk_shift);
	cache->drain.fn = writes_counted;
	spin_lock_init(&cache->lock);
	hy_cc_init(&cache->core);
	return cache;
}

/* One that no pool has been given, or NULL. */
void hy_cache_unmake(struct hy_cache *cache)
{
	kvfree(cache);
}

static void give(struct hy_pool *pool, struct hy_cache *cache)
{
	mutex_lock(&hy_caches_lock);
	list_add(&cache->list, &hy_caches);
	mutex_unlock(&hy_caches_lock);
	WRITE_ONCE(pool->cache, cache);
}

/* As many as asked for, and no more than a part of the memory that there is. */
static u32 limit(struct hy_pool *pool, u32 extents)
{
	u64 pages = totalram_pages() / HY_CACHE_PART;

	if (extents && pool->granule_shift + SECTOR_SHIFT < PAGE_SHIFT) {
		DMWARN("no extent cache: an extent's parts are smaller than a page");
		return 0;
	}
	return min_t(u64, extents, (pages << (PAGE_SHIFT - SECTOR_SHIFT)) >> pool->extent_shift);
}

/**
 * hy_cache_resize - keep so many extents from now on
 * @pool: the pool
 * @extents: how many; 0: no cache
 * @spare: from hy_cache_make(), taken if the pool has none; NULL: memory may be waited for
 *
 * Context: sleeps, under memalloc_noio; one at a time.
 */
void hy_cache_resize(struct hy_pool *pool, u32 extents, struct hy_cache **spare)
{
	struct hy_cache *cache = pool->cache;
	bool drain = false;

	extents = limit(pool, extents);
	if (!cache && !extents)
		return;
	if (!cache) {
		cache = spare ? *spare : hy_cache_make(pool);
		if (!cache) {
			DMWARN("no memory for an extent cache");
			return;
		}
		if (spare)
			*spare = NULL;
		give(pool, cache);
	}
	spin_lock_irq(&cache->lock);
	cache->core.max = extents;
	if (!extents) {
		cache->core.ready = false;
	} else if (!pool->caching) {
		drain = !cache->draining;
		cache->again = cache->draining;
		cache->draining = true;
	}
	/* release: pairs with hy_caching(); who sees it sees pool->cache */
	smp_store_release(&pool->caching, extents > 0);
	spin_unlock_irq(&cache->lock);
	hy_cache_shrink_to(cache, extents, ULONG_MAX);
	if (drain)
		hy_drain_bios(pool, &cache->drain);
}

/**
 * hy_cache_stop - no drain begins from now on
 * @pool: the pool, not to be resized any more
 *
 * The one under way would begin another if the cache was turned off and on meanwhile; whoever
 * waits for drains once has waited for all then.
 *
 * Context: process.
 */
void hy_cache_stop(struct hy_pool *pool)
{
	struct hy_cache *cache = pool->cache;

	if (!cache)
		return;
	spin_lock_irq(&cache->lock);
	cache->again = false;
	spin_unlock_irq(&cache->lock);
}

/* No bio and no drain is under way.  Context: sleeps. */
void hy_cache_destroy(struct hy_pool *pool)
{
	struct hy_cache *cache = pool->cache;

	if (!cache)
		return;
	mutex_lock(&hy_caches_lock);
	list_del(&cache->list);
	mutex_unlock(&hy_caches_lock);
	hy_cache_shrink_to(cache, 0, ULONG_MAX);
	WARN_ON(cache->core.alive);
	kvfree(cache);
	pool->cache = NULL;
}

/**
 * hy_cache_show - what the cache has done
 * @pool: the pool
 * @result: gets words in pairs, a key and a value
 * @maxlen: its size
 *
 * Context: any.
 */
void hy_cache_show(struct hy_pool *pool, char *result, unsigned int maxlen)
{
	struct hy_cache *cache = READ_ONCE(pool->cache);
	struct hy_cache_core *c = cache ? &cache->core : NULL;
	unsigned int sz = 0;

	if (!c) {
		DMEMIT("extents 0 limit 0 hits 0 misses 0 fills 0 updates 0 drops 0 moves 0");
		return;
	}
	spin_lock_irq(&cache->lock);
	DMEMIT("extents %u limit %u hits %llu misses %llu fills %llu", c->nr, c->max, c->hits,
	       c->misses, c->fills);
	DMEMIT(" updates %llu drops %llu moves %llu", c->updates, c->kills, c->moves);
	spin_unlock_irq(&cache->lock);
}

/* --- memory that is wanted elsewhere --- */

static unsigned long pages_of(struct hy_cache *cache)
{
	return (unsigned long)cache->nr_chunks << (cache->chunk_shift - PAGE_SHIFT);
}

static unsigned long count_copies(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct hy_cache *cache;
	unsigned long n = 0;

	if (!mutex_trylock(&hy_caches_lock))
		return 0;
	list_for_each_entry(cache, &hy_caches, list)
		n += READ_ONCE(cache->core.nr) * pages_of(cache);
	mutex_unlock(&hy_caches_lock);
	return n;
}

static unsigned long give_copies(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct hy_cache *cache;
	unsigned long n = 0, each, most;

	if (!mutex_trylock(&hy_caches_lock))
		return SHRINK_STOP;
	list_for_each_entry(cache, &hy_caches, list) {
		if (n >= sc->nr_to_scan)
			break;
		each = pages_of(cache);
		most = DIV_ROUND_UP(sc->nr_to_scan - n, each);
		n += each * hy_cache_shrink_to(cache, 0, most);
	}
	mutex_unlock(&hy_caches_lock);
	/* An extent may be more than was asked for: not the same again at once. */
	sc->nr_scanned = max(sc->nr_to_scan, n);
	return n ?: SHRINK_STOP;
}

int hy_cache_init(void)
{
	return compat_shrinker_add(&hy_cache_shrinker, NULL, "hybrid-cache", count_copies,
				   give_copies);
}

void hy_cache_exit(void)
{
	compat_shrinker_remove(&hy_cache_shrinker);
}
