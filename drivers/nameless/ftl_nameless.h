/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_FTL_NAMELESS_H
#define NAMELESS_FTL_NAMELESS_H

#include "battery.h"
#include "ftl_internal.h"
#include "ftl_nameless_map.h"
#include "names.h"

/**
 * struct nl_index - migrations by one of their addresses
 * @bucket: first entry of each hash value, NL_NONE
 * @chain: next one, by entry
 */
struct nl_index {
	u32 *bucket;
	u32 *chain;
};

/**
 * struct nl_nw - the nameless FTL
 * @ftl: what all FTLs have
 * @battery: the flash's
 * @map: of the virtual segment
 * @active: per plane: the block being filled, NL_NONE
 * @pins: per plane: held pages of the active block that are to be put back yet
 * @cursor: plane whose turn it is
 * @mapped: pages of the virtual segment with a flash page
 * @nr_lost: slots of blocks that failed
 * @moving: pages are being moved: the floor may be used, and no leveling begins
 * @leveled: one leveling a write
 * @from: migrations by the old address
 * @to: and by where they lead
 * @buckets: of each, a power of two
 * @free_move: entry that is not in use, NL_NONE; others by @from.chain
 * @untold: migrations not handed out
 * @tell: entry to begin looking for them at
 * @unlisted: times that a block's name could not be read to be listed
 * @wasted: pages that were filled with nothing
 * @migrated: pages of the physical segment that got another name
 * @stalled: levelings that ended because too many migrations wait
 * @stale: names that were refused
 * @rate: writes a second, lately
 * @rate_from: since when they are counted, ns
 * @rate_pages: so many
 */
struct nl_nw {
	struct nl_ftl ftl;
	struct nl_battery *battery;
	struct nl_vmap map;
	u32 *active;
	u32 *pins;
	u32 cursor;
	u32 mapped;
	u32 nr_lost;
	bool moving;
	bool leveled;
	struct nl_index from, to;
	u32 buckets;
	u32 free_move;
	u32 untold;
	u32 tell;
	u64 unlisted;
	u64 wasted, migrated, stalled, stale;
	u64 rate;
	u64 rate_from;
	u32 rate_pages;
};

static inline struct nl_nw *nl_nw(struct nl_ftl *ftl)
{
	return container_of(ftl, struct nl_nw, ftl);
}

static inline struct nl_slot *nl_nw_slot(const struct nl_nw *f, u32 block)
{
	struct nl_slot *slot = &f->battery->slot[nl_plane_of(f->ftl.geo, block)];

	return slot->block == block ? slot : NULL;
}

/* What the battery-backed memory has of a flash page, NULL: nothing. */
static inline struct nl_held *nl_nw_held(const struct nl_nw *f, u32 ppn)
{
	struct nl_slot *slot = nl_nw_slot(f, nl_block_of(f->ftl.geo, ppn));
	struct nl_held *held = slot ? &slot->page[nl_page_of(f->ftl.geo, ppn)] : NULL;

	return held && held->used ? held : NULL;
}

static inline bool nl_nw_is_valid(const struct nl_nw *f, u32 ppn)
{
	return test_bit(ppn, f->battery->valid);
}

/* ftl_nameless_fill.c: where the next page goes, and in-place GC. */
/* Program a page in @plane, NL_NONE: in turn; @rec->seq is set. It is not live yet. */
int nl_nw_program(struct nl_nw *f, u32 plane, enum nl_cause cause, u64 *when, struct nl_buf *buf,
		  struct nl_rec *rec, u32 *ppn);
/* A page was programmed and is accounted for: put back what follows if nothing else fits. */
int nl_nw_spent(struct nl_nw *f, u32 plane, u64 start);
int nl_nw_make_room(struct nl_nw *f, const struct nl_io *io);
int nl_nw_mend(struct nl_nw *f, u64 *when);
/* Put back all that is held of the plane's block, with nothing in its holes. */
int nl_nw_finish(struct nl_nw *f, u32 plane, u64 *when);
/* A page to be put back, or nothing, is the next one of a block. */
int nl_nw_restore(struct nl_nw *f, u32 ppn, const struct nl_held *held, u64 *when);
u32 nl_nw_holes(const struct nl_nw *f, u32 plane);
/* It counts no more. */
void nl_nw_dead(struct nl_nw *f, u32 ppn);

/* ftl_nameless_move.c: migrations. */
int nl_nw_level(struct nl_nw *f, u32 plane, u64 *when);
int nl_nw_rehome(struct nl_nw *f, u64 *when);
/* Have the floor's free blocks again that took the place of blocks that failed. */
int nl_nw_refill_floor(struct nl_nw *f, u64 *when);
int nl_nw_fetch(struct nl_nw *f, u32 ppn, enum nl_cause cause, u64 *when, struct nl_buf **buf,
		struct nl_rec *rec);
struct nl_moved *nl_nw_moved(const struct nl_nw *f, u32 from, const struct nl_meta *meta);
void nl_nw_unmove(struct nl_nw *f, struct nl_moved *moved);
/* No migration leads to @to any more. */
void nl_nw_forget_moves(struct nl_nw *f, u32 to);
void nl_nw_index_moves(struct nl_nw *f);
void nl_nw_replay(struct nl_nw *f);
bool nl_nw_is_indexed(const struct nl_nw *f, u32 i);
int nl_nw_alloc_indexes(struct nl_nw *f, u32 max, gfp_t gfp);
void nl_nw_free_indexes(struct nl_nw *f);

/* ftl_nameless.c */
bool nl_nw_has_slots(const struct nl_nw *f);
/* 0: a live page is what its record says. */
int nl_nw_know(struct nl_nw *f, u32 ppn, const struct nl_rec *rec, u64 *when);

/* ftl_nameless_recover.c */
int nl_nw_recover(struct nl_nw *f, struct nl_io *io);

/* ftl_nameless_check.c */
u32 nl_nw_check(struct nl_ftl *ftl, nl_report report, void *ctx);

static inline struct nl_meta nl_rec_meta(const struct nl_rec *rec)
{
	return (struct nl_meta){ { rec->lpn, rec->meta[0], rec->meta[1] } };
}

#endif
