/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device without a kernel around it, and what its content may be.
 *
 * Each write of a logical page is a version; version 0 is zeros. After a cut a page may be what
 * it was at the last flush, or any version since: nothing else, and what is read then lasts.
 */
#ifndef NAMELESS_RIG_H
#define NAMELESS_RIG_H

#include "ftl.h"

#define RIG_SINCE	512u

struct rig_page {
	u32 flushed;			/* version that lasts */
	u32 nr;				/* versions since */
	u32 since[RIG_SINCE];		/* the last one is what reads give */
};

struct rig {
	struct nl_config config;
	u32 pages;
	struct nl_flash flash;
	struct nl_flash port;			/* the way to it, if it is across */
	struct nl_ftl *ftl;
	struct rig_page *page;
	u32 version;
	u64 now;
	u64 random;
	u32 cut_start;			/* of the next start after a cut */
};

/*
 * Of each tiny device with the nameless FTL: chunks of the map that are in memory, and entries of
 * one. 0: all are.
 */
extern u32 rig_map_chunks, rig_map_entries;
/* The FTL is on the host, and the flash beyond the raw interface. */
extern bool rig_across;

/* What a tiny device is made of: the minimum of blocks, and @spare more in each plane. */
struct nl_config rig_tiny(enum nl_ftl_kind kind, u32 planes, u32 pages_per_block, u32 pages,
			  u32 spare);

void rig_init(struct rig *rig, const struct nl_config *config, u32 pages, u64 seed);
void rig_destroy(struct rig *rig);
int rig_open(struct rig *rig);
/*
 * Power off and on and open again, and the power goes at operation @cut of that start, after which
 * it comes back for another one. What the last start returned.
 */
int rig_power_cycle(struct rig *rig, u64 cut, enum nl_tear tear);
/*
 * Power off and on and open again; what is there has to be allowed, and is what lasts from then on.
 */
bool rig_crash(struct rig *rig);
/* A clean stop and a start. */
bool rig_restart(struct rig *rig);

int rig_write(struct rig *rig, u32 lpn, u32 flags);
int rig_trim(struct rig *rig, u32 lpn, u32 count);
int rig_flush(struct rig *rig);
bool rig_read(struct rig *rig, u32 lpn);
/* After a cut: what lasted, or a later version, which lasts from now on. */
bool rig_settle(struct rig *rig, u32 lpn);
/* Some version of the page, or an error: nothing else's. */
bool rig_is_own(struct rig *rig, u32 lpn);
/* All pages read as they have to, and all invariants hold. */
bool rig_verify(struct rig *rig);
bool rig_check(struct rig *rig);
u64 rig_random(struct rig *rig, u64 below);
/* One request of a mix of all kinds. 0 or what the FTL returned. */
int rig_step(struct rig *rig);

#endif
