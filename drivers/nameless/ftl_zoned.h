/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_FTL_ZONED_H
#define NAMELESS_FTL_ZONED_H

#include "ftl_internal.h"
#include "zones.h"

/**
 * struct nl_zone - a zone
 * @state: enum nl_zone_state
 * @pointer: pages written, those in the write buffer with them
 * @done: pages programmed
 * @finished: the page after them says that it is full
 * @unsure: found at a start: the page to be programmed next may be torn
 * @stuck: read-only for want of a spare block and nothing else: a reset needs none
 * @busy: a write is under way that was admitted as a whole
 */
struct nl_zone {
	u8 state;
	bool finished;
	bool unsure;
	bool stuck;
	bool busy;
	u32 pointer;
	u32 done;
};

/**
 * struct nl_zoned_ftl - zones
 * @ftl: what all FTLs have
 * @shape: of all zones
 * @nr: zones
 * @zone: all of them
 * @block: of each zone, shape.blocks: those that it has, NL_NONE
 * @count: zones by state
 * @owed: blocks that zones are still to get: those that neither are read-only nor offline
 * @cursor: where a zone to be closed is looked for
 * @mapped: pages programmed in zones
 * @lost: pages were lost since the last flush
 * @nr_lost: in all
 * @resets: so far
 * @moves: so far
 * @refused: so far
 */
struct nl_zoned_ftl {
	struct nl_ftl ftl;
	struct nl_zone_shape shape;
	u32 nr;
	struct nl_zone *zone;
	u32 *block;
	u32 count[NL_NR_ZONE_STATES];
	u32 owed;
	u32 cursor;
	u32 mapped;
	bool lost;
	u64 nr_lost, resets, moves, refused;
};

static inline struct nl_zoned_ftl *nl_zoned_ftl(struct nl_ftl *ftl)
{
	return container_of(ftl, struct nl_zoned_ftl, ftl);
}

/* Where the block of a zone's @page is noted. */
static inline u32 *nl_zone_block(const struct nl_zoned_ftl *f, u32 zone, u32 page)
{
	return &f->block[(size_t)zone * f->shape.blocks + page % f->shape.blocks];
}

/* Does it get what it is owed? */
static inline bool nl_zone_lives(const struct nl_zone *z)
{
	return z->state != NL_ZONE_READONLY && z->state != NL_ZONE_OFFLINE;
}

/* ftl_zoned.c */
void nl_zone_set(struct nl_zoned_ftl *f, u32 zone, enum nl_zone_state state);

/* zoned_media.c */
/*
 * Program the page of a zone that comes next, NULL and NL_OOB_PAD to finish it. -EIO: neither its
 * block nor another one took it, and the zone is read-only now, or offline if nothing is in it.
 */
int nl_zone_program(struct nl_zoned_ftl *f, u32 zone, u8 type, struct nl_buf *buf, u64 *when);
/* Erase all that a zone has. */
int nl_zone_erase(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io);
/* Fewer blocks are free than zones need: empty ones go offline, the last ones first. */
void nl_zone_settle(struct nl_zoned_ftl *f);

/* zoned_recover.c: out of all blocks' OOB. */
int nl_zoned_recover(struct nl_zoned_ftl *f, struct nl_io *io);

/* zoned_check.c */
u32 nl_zoned_check(struct nl_ftl *ftl, nl_report report, void *ctx);

#endif
