/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounded LRU list of accessed extents (wu-reddy section II): what is on it is
 * hot and a candidate for migration; what is mapped but not on it is cold.
 *
 * Pure; the caller serialises (one mutex in the balancer, never on the I/O path:
 * accesses come in batches out of per-CPU rings).
 */
#ifndef _HYBRID_HEAT_H
#define _HYBRID_HEAT_H

#include <linux/types.h>
#include <linux/list.h>
#include <linux/xarray.h>
#include <evenkeel/hybrid_format.h>
#include "counts.h"

#define HY_RING		512	/* accesses remembered per CPU between two ticks */
#define HY_HEAT_ANY	U64_MAX

struct hy_heat_node {
	struct list_head lru;
	struct list_head mine;	/* on its member's list */
	u64 le;
	u32 accesses;		/* aged: halved by hy_heat_age() */
	u32 writes;		/* of them, aged as well */
	u32 lasting;		/* accesses in 1/16, of which a 128th is forgotten at a time */
	u8 member;		/* where the last access went */
	u64 moved_at;		/* caller's clock when it last migrated, 0: never */
};

struct hy_heat {
	struct list_head lru;	/* most recently accessed first */
	struct list_head member[EK_MAX_MEMBERS];	/* likewise, or moved there */
	struct xarray by_extent;
	u32 nr;
	u32 max;
	u64 accesses;		/* of all, aged */
	u32 samples;		/* the last ones, a few thousand */
	u64 looks;		/* accesses that they stand for */
	u64 hits;		/* of them to what was on the list */
	u32 cooling;		/* at the last hy_heat_pick(): left as they moved lately */
	u32 too_hot;		/* and as they have too large a part of the accesses */
	u32 nr_held;		/* and as @held says so */
	u32 too_cool;		/* and as @beyond says so */
	/* for hy_heat_pick(): only what is clearly hotter than so lasting; HY_HEAT_ANY: all */
	u64 beyond;
	/* for hy_heat_pick(): may it not go?  NULL: any may */
	bool (*held)(void *data, u64 le);
	void *data;
};

void hy_heat_init(struct hy_heat *heat, u32 max);
void hy_heat_destroy(struct hy_heat *heat);
void hy_heat_resize(struct hy_heat *heat, u32 max);

/* Accesses; may allocate (@gfp), reuses the coldest node when full; best effort. */
void hy_heat_touch(struct hy_heat *heat, u64 le, unsigned int member, bool write, u32 n,
		   gfp_t gfp);
bool hy_heat_is_hot(struct hy_heat *heat, u64 le);
/* The extent is at another member now. */
void hy_heat_moved(struct hy_heat *heat, u64 le, unsigned int member, u64 now);
void hy_heat_forget(struct hy_heat *heat, u64 le);
void hy_heat_age(struct hy_heat *heat);

/* What is known of it; false: it is not on the list. */
bool hy_heat_get(struct hy_heat *heat, u64 le, struct hy_heat_node *copy);

/* What is counted of all, by extent; see counts.h. */
unsigned int hy_heat_counts(struct hy_heat *heat, u64 *cursor, struct hy_count *count,
			    unsigned int max);

/* Its part of all accesses, as far as known, ppm, at least 1; 0: it is not on the list. */
u32 hy_heat_share(struct hy_heat *heat, u64 le);

/**
 * hy_heat_pick - the best extents to move off a member
 * @heat: the list
 * @member: where they are now
 * @now: the caller's clock
 * @cooldown: an extent that moved less than this ago stays
 * @most: ppm; what has a larger part of the accesses stays
 * @le: filled
 * @max: how many at most
 *
 * Those most recently accessed there or moved there come first, at most a bounded number
 * of nodes is looked at.  What @heat->held says of does not count among them.
 * Return: how many.
 */
unsigned int hy_heat_pick(struct hy_heat *heat, unsigned int member, u64 now, u64 cooldown,
			  u32 most, u64 *le, unsigned int max);

/* Is it hotter than @heat->beyond?  What is not on the list is not, but where all may go. */
bool hy_heat_is_beyond(struct hy_heat *heat, u64 le);

/* What of a member may make room, and how hot it is, for @beyond. */
bool hy_heat_coolest(struct hy_heat *heat, unsigned int member, u64 now, u64 cooldown, u64 *le,
		     u32 *lasting);

#endif
