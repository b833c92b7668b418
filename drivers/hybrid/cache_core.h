/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which extents the cache keeps and which of them may be read from.  Pure; whoever
 * calls serialises, with one lock for a cache.  Why it is coherent: see cache.c.
 */
#ifndef _HYBRID_CACHE_CORE_H
#define _HYBRID_CACHE_CORE_H

#include <linux/list.h>
#include <linux/types.h>

#define HY_CACHE_BUCKETS	1024	/* hash of extents */
#define HY_CACHE_BAD		16	/* extents remembered that can't be read as a whole */
#define HY_CACHE_LOOK		64	/* copies looked at for one that can go */
#define HY_CACHE_COST		2	/* hits that reading an extent has to bring */
#define HY_CACHE_CREDIT		1024	/* the most that hits may have brought beyond that */
#define HY_CACHE_TURN		12	/* of misses, power of 2, after which these are others */
#define HY_CACHE_TRY		64	/* without, one of so many extents is read all the same */

enum hy_copy_state {
	HY_COPY_GONE,		/* nobody finds it any more; those who hold it go on */
	HY_COPY_FILLING,	/* being read; readers may wait for it */
	HY_COPY_VALID,		/* as what the members have */
	HY_COPY_WRITING,	/* VALID as soon as the one write in flight has succeeded */
};

/**
 * struct hy_copy - an extent in memory
 * @list: in its bucket
 * @clock: among all; both are empty when it is GONE
 * @le: logical extent
 * @entry: of the map: where it was read from and which granules had been written
 * @state: see above
 * @refs: who looks at its data: the one that fills it, readers, a migration
 * @used: since the clock's hand passed
 * @written: taken over from a write since it was picked to be moved
 * @moving: one of @refs is a migration, which knows what is written since
 * @still: that one needs it to stay as it is
 */
struct hy_copy {
	struct list_head list;
	struct list_head clock;
	u64 le;
	u64 entry;
	enum hy_copy_state state;
	u32 refs;
	bool used;
	bool written;
	bool moving;
	bool still;
};

/**
 * struct hy_cache_core - the copies that there are
 * @bucket: those that can be found, by extent
 * @writes: in flight, of the extents of a bucket
 * @clock: those that can be found
 * @max: how many there may be
 * @nr: that can be found
 * @alive: with those that are GONE and held
 * @ready: all writes in flight are counted
 * @bad: extents, plus one; 0: none
 * @credit: what hits have brought and fills have not cost yet, and what there was to begin with
 * @hits: reads that were answered from memory, or had another one's read answer them
 * @misses: reads that were not
 * @fills: whole extents read
 * @updates: writes that a copy took over
 * @kills: copies dropped because of a write, a change of the map or an error
 * @moves: copies that migrations wrote elsewhere
 */
struct hy_cache_core {
	struct list_head bucket[HY_CACHE_BUCKETS];
	u32 writes[HY_CACHE_BUCKETS];
	struct list_head clock;
	u32 max;
	u32 nr;
	u32 alive;
	bool ready;
	u64 bad[HY_CACHE_BAD];
	u32 credit;
	u64 hits;
	u64 misses;
	u64 fills;
	u64 updates;
	u64 kills;
	u64 moves;
};

void hy_cc_init(struct hy_cache_core *c);
struct hy_copy *hy_cc_read(struct hy_cache_core *c, u64 le, u64 entry, struct hy_copy **drop);
bool hy_cc_may_fill(struct hy_cache_core *c, u64 le, u64 entry, u64 now, struct hy_copy **evicted);
void hy_cc_fill(struct hy_cache_core *c, struct hy_copy *copy, u64 le, u64 entry);
void hy_cc_filled(struct hy_cache_core *c, struct hy_copy *copy, bool ok);
bool hy_cc_put(struct hy_cache_core *c, struct hy_copy *copy);
struct hy_copy *hy_cc_write_begin(struct hy_cache_core *c, u64 le, u64 entry, u32 touched,
				  struct hy_copy **drop);
struct hy_copy *hy_cc_write_end(struct hy_cache_core *c, u64 le, bool updates, bool ok);
struct hy_copy *hy_cc_hold(struct hy_cache_core *c, u64 le, u64 entry, bool still,
			   struct hy_copy **drop);
bool hy_cc_keeps_up(struct hy_cache_core *c, struct hy_copy *copy);
bool hy_cc_release(struct hy_cache_core *c, struct hy_copy *copy);
bool hy_cc_pick(struct hy_cache_core *c, unsigned int member, u64 *le);
struct hy_copy *hy_cc_moved(struct hy_cache_core *c, u64 le, u64 from, u64 to);
struct hy_copy *hy_cc_drop(struct hy_cache_core *c, u64 le);
struct hy_copy *hy_cc_take_any(struct hy_cache_core *c);

#endif
