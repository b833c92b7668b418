/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Zones against a model: what each may hold after every operation, failure and cut.
 *
 * A zone's pages are stamped with their address and the zone's generation, which a reset ends. Of
 * each zone the model knows how much has to be there, how much may be, and whether a reset or a
 * finish was under way.
 */
#ifndef NAMELESS_ZONE_RIG_H
#define NAMELESS_ZONE_RIG_H

#include <linux/slab.h>
#include "../ktap.h"
#include "rig.h"
#include "zones.h"

#define ZRIG_ZONES	8u

struct zrig_zone {
	u32 generation;
	u32 least;		/* pages that last */
	u32 most;		/* pages that were ever written */
	bool finished;
	bool resetting;		/* when the power went */
	bool finishing;
};

struct zrig {
	struct nl_config config;
	struct nl_flash flash;
	struct nl_ftl *ftl;
	struct nl_zone_shape shape;
	u32 zones;
	u64 now;
	u64 random;
	struct zrig_zone zone[ZRIG_ZONES];
};

/* @spare blocks more than the least. */
struct nl_config zrig_config(u32 planes, u32 pages, u32 blocks, u32 zones, u32 spare);
int zrig_open(struct zrig *b);
/* @zones at most ZRIG_ZONES. */
void zrig_init(struct zrig *b, const struct nl_config *config, u32 zones, u64 seed);
void zrig_destroy(struct zrig *b);
u64 zrig_random(struct zrig *b, u64 below);

/* What the FTL returns; the model follows. */
int zrig_write(struct zrig *b, u32 lpn, u32 flags);
int zrig_append(struct zrig *b, u32 zone, u32 count, u32 flags);
int zrig_flush(struct zrig *b);
int zrig_manage(struct zrig *b, u32 zone, enum nl_zone_op op);

struct nl_zone_info zrig_look(struct zrig *b, u32 zone);
/* Everything reads as it has to. */
bool zrig_verify(struct zrig *b);
/* What a start found is allowed, and lasts from now on. */
bool zrig_settle(struct zrig *b);
/* Power off and on; the start is cut at its @start-th operation if that is not NL_NO_CUT. */
bool zrig_crash(struct zrig *b, u64 start, enum nl_tear tear);

#endif
