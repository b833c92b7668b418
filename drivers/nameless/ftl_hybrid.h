/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_FTL_HYBRID_H
#define NAMELESS_FTL_HYBRID_H

#include "ftl_internal.h"

/* A page of the log area: whose it is, and the next one of the same logical block. */
struct nl_log_entry {
	u32 lpn;
	u32 next;
};

/* A random log block, in its slot of the log area. */
struct nl_log_slot {
	u32 block;		/* NL_NONE: free */
	u32 age;		/* the lower, the older; never that of another */
};

/**
 * struct nl_hybrid - the hybrid map
 * @ftl: what all FTLs have
 * @nr_lbn: logical blocks
 * @nr_log: slots of the log area
 * @nr_open: log blocks that are filled at the same time, in different planes if possible
 * @nr_meta: blocks that trim records may take
 * @block: data block of each logical block, NL_NONE
 * @head: per logical block: entry of its first page in the log area, NL_NONE
 * @entry: per slot and page
 * @slot: of the log area
 * @nr_free_slots: of them
 * @victim: slot that is being reclaimed, NL_NONE
 * @open: slots that are being filled, NL_NONE
 * @cursor: open one whose turn it is
 * @age: of the next log block
 * @seq_block: the sequential log block, NL_NONE
 * @seq_lbn: its logical block
 * @seq_closed: it is not to be gone on with
 * @rest_block: a third block that is ordered by address, which a cut merge left; NL_NONE
 * @rest_lbn: its logical block
 * @meta: blocks with trim records, the last one is filled
 * @meta_closed: it is not to be gone on with
 * @meta_used: of @meta
 * @source: of a merge: where each page of the logical block is
 * @unread: of a merge: pages that could not be read, and have a mark in their place
 * @mapped: logical pages with a flash page
 */
struct nl_hybrid {
	struct nl_ftl ftl;
	u32 nr_lbn;
	u32 nr_log;
	u32 nr_open;
	u32 nr_meta;
	u32 *block;
	u32 *head;
	struct nl_log_entry *entry;
	struct nl_log_slot *slot;
	u32 nr_free_slots;
	u32 victim;
	u32 *open;
	u32 cursor;
	u32 age;
	u32 seq_block;
	u32 seq_lbn;
	bool seq_closed;
	u32 rest_block;
	u32 rest_lbn;
	u32 *meta;
	u32 meta_used;
	bool meta_closed;
	u32 *source;
	u32 unread;
	u32 mapped;
};

static inline struct nl_hybrid *nl_hybrid(struct nl_ftl *ftl)
{
	return container_of(ftl, struct nl_hybrid, ftl);
}

static inline u32 nl_lbn_of(const struct nl_hybrid *h, u32 lpn)
{
	return lpn / h->ftl.geo->pages;
}

/* fit.c: the log area in blocks, and the blocks for trim records. */
u32 nl_hybrid_log_blocks(const struct nl_geometry *geo, const struct nl_config *config,
			 u32 logical_pages);
u32 nl_hybrid_meta_blocks(const struct nl_geometry *geo, u32 logical_pages);

/* hybrid_map.c */
u32 nl_hybrid_lookup(struct nl_ftl *ftl, u32 lpn);
/* Where each page of a logical block is, NL_UNMAPPED: nowhere. @ppn: as many as a block has. */
void nl_hybrid_lookup_all(struct nl_hybrid *h, u32 lbn, u32 *ppn);
/* A live page was copied from @from to @to, which is ordered by address. */
void nl_hybrid_moved(struct nl_hybrid *h, u32 lpn, u32 from, u32 to);
/* The page is where @lpn is now; what held it before is dead. */
void nl_hybrid_place(struct nl_hybrid *h, u32 lpn, u32 ppn);
void nl_hybrid_forget(struct nl_ftl *ftl, u32 lpn);
void nl_hybrid_log_add(struct nl_hybrid *h, u32 lpn, u32 ppn);

/* hybrid_merge.c */
/* A free block, held and erased; planes in turn. -ENOSPC. */
int nl_hybrid_take(struct nl_hybrid *h, u32 plane, enum nl_cause cause, u64 *when, u32 *block);
/* Nothing in it is live: erase it, or mark it if a program in it failed. */
int nl_hybrid_release(struct nl_hybrid *h, u32 block, enum nl_cause cause, u64 *when);
/* All pages of a logical block into one block. */
int nl_hybrid_full(struct nl_hybrid *h, u32 lbn, u64 *when);
/* The sequential log block becomes a data block. */
int nl_hybrid_end_seq(struct nl_hybrid *h, u64 *when);
/* Free a slot of the log area, or come a merge closer to that. -ENOSPC. */
int nl_hybrid_reclaim(struct nl_hybrid *h, u64 *when);
int nl_hybrid_reclaim_step(struct nl_hybrid *h, u64 *when);
/* Program a trim record. */
int nl_hybrid_append_record(struct nl_ftl *ftl, struct nl_buf *buf, struct nl_rec *rec, u64 *when,
			    u32 *ppn);

/* hybrid_recover.c */
int nl_hybrid_recover(struct nl_hybrid *h, struct nl_io *io);

/* hybrid_check.c */
u32 nl_hybrid_check(struct nl_ftl *ftl, nl_report report, void *ctx);

#endif
