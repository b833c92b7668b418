/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools put together from the labels on the machine's devices.
 */
#ifndef HYBRIDCTL_POOL_H
#define HYBRIDCTL_POOL_H

#include "area.h"

struct pool_area {
	bool there;
	char *path;
	dev_t rdev;		/* 0: an image file */
	dev_t fs;		/* of an image file: which one */
	ino_t ino;		/* likewise */
	struct area area;
};

struct pool {
	uint8_t uuid[EK_UUID_SIZE];
	char name[EK_NAME_SIZE];
	uint32_t extent_sectors;
	unsigned int nr_meta, nr_members;
	struct pool_area meta[EK_MAX_META];
	struct pool_area member[EK_MAX_MEMBERS];
	struct pool_area *other;	/* more areas that have the place of one of these */
	unsigned int nr_other;
	struct pool_area *twin;		/* with the same label as one of all these */
	unsigned int nr_twins;
	uint64_t generation;	/* of the superblock whose word was taken; 0: of none */
	uint32_t removed;	/* a bit per member that left; see pool_settle() */
	uint32_t vacant;	/* a bit per place for metadata where none is missed; likewise */
	uint32_t stale;		/* a bit per metadata area that was left out; likewise */
	uint32_t to_come;	/* a bit per metadata area on what udev has yet to look at */
	char *conflict;		/* labels that contradict each other; NULL: none */
	bool alike;		/* that is as two devices carry the same one */
	char *awaited;		/* what udev has yet to look at has, too; NULL: nothing */
	char *active;		/* name of its dm device; NULL: inactive */
};

struct pools {
	struct pool *pool;
	unsigned int nr;
	char *unseen;	/* a device that a scan could not look at: it is stalled, locked or fails */
};

/*
 * All pools whose labels are on the machine's block devices; which are active.  What is part of
 * another device is passed over, as owner_of() tells it.  Of those that carry the same label the
 * one that a volume has in use is meant.
 */
int pools_scan(struct pools *pools);
/* For an event of @with: of the others only those that udev has looked at. */
int pools_scan_with(struct pools *pools, dev_t with);
/*
 * What is part of another device, too: to know whether a label is there, not to write to it.  What
 * can't be looked at is not told if it is known to have less than @least sectors.
 */
int pools_scan_owned(struct pools *pools, uint64_t least);
/*
 * From now on scans say nothing of what they pass over, and wait for none that is locked or
 * stalled; or do so again.
 */
void pools_quietly(bool is);
/*
 * Take the superblock's word for which areas are members, if it can be read: areas that were
 * removed, or never quite joined, still carry labels.  Of several devices with one label the one
 * that is meant is where the pool has it, unless that is a conflict.
 */
void pool_settle(struct pool *pool);
/* Enter the areas found on @dev; number of them or as area_find(). */
int pools_add(struct pools *pools, const struct bdev *dev, int *head_err);
/* The same as area_find_inside() has them: of one that somebody has named. */
int pools_add_named(struct pools *pools, const struct bdev *dev, int *head_err);
/* The same of one that is part of nothing else, else -EBUSY with the reason printed. */
int pools_add_unowned(struct pools *pools, const struct bdev *dev);
void pools_free(struct pools *pools);

/* By name or uuid: the number of pools that match, @pool the last of them. */
unsigned int pools_find(const struct pools *pools, const char *name, struct pool **pool);

/*
 * As bdev_open(), image files too, but only if it is the device or file that was looked at, and, to
 * write, if the area is still there: else -EREMCHG.
 */
int pool_area_open(struct bdev *dev, const struct pool_area *a, unsigned int flags);

/* What is not there: "member 1, metadata area 0"; NULL when complete; free(). */
char *pool_missing(const struct pool *pool);
/*
 * Is all that is not there metadata that was left out before?  The superblock that says so was
 * written before anything after that was acknowledged: nothing is lost without.  (Two that name
 * each other were both done without by --degraded, which said so.)  One that an event of its own
 * will bring is waited for.
 */
bool pool_lacks_stale_only(const struct pool *pool);

#endif
