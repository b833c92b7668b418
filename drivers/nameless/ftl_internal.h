/* SPDX-License-Identifier: GPL-2.0-only */
/* What the FTLs share: the head of each, their blocks, OOB records, trims, the write buffer. */
#ifndef NAMELESS_FTL_INTERNAL_H
#define NAMELESS_FTL_INTERNAL_H

#include <evenkeel/nameless_format.h>
#include "buf.h"
#include "ftl.h"

#define NL_NONE		(~0u)
#define NL_UNMAPPED	0x7fffffffu	/* of a map's entry */

/*
 * Free blocks that users' writes leave alone: one for GC to empty a block into, and one for the
 * case that the first fails.
 */
#define NL_FLOOR	2u

/* An OOB record in host order. */
struct nl_rec {
	u8 type;
	u8 role;
	u32 aux;
	u32 data_csum;
	u64 lpn;
	u64 seq;
	u64 program;
	u64 meta[2];
};

enum nl_use {
	NL_USE_FREE,		/* in its plane's list */
	NL_USE_ACTIVE,		/* being filled */
	NL_USE_CLOSED,		/* not to be gone on with; in a list by what is live */
	NL_USE_HELD,		/* neither: the FTL knows what for */
	NL_USE_DATA,		/* hybrid: ordered by address, the sequential log block too */
	NL_USE_LOG,		/* hybrid: a random log block */
	NL_USE_META,		/* hybrid: trim records; split: metadata */
	NL_USE_BAD,
};

#define NL_DIRTY	0x1	/* looks erased, maybe isn't: to be erased before use */
#define NL_RETIRED	0x2	/* a program failed: to be emptied and marked bad */
#define NL_UNREADABLE	0x4	/* held, as a live page can't be read, till one is dead */

/**
 * struct nl_bk - what an FTL knows of a block
 * @newest: seq of its newest data: how warm it is (3.1.2: update time)
 * @prev: in its list
 * @next: in its list
 * @fill: pages spent
 * @live: of them live
 * @use: enum nl_use
 * @flags: NL_DIRTY, NL_RETIRED, NL_UNREADABLE
 */
struct nl_bk {
	u64 newest;
	u32 prev, next;
	u32 fill;
	u32 live;
	u8 use;
	u8 flags;
};

struct nl_list {
	u32 first, last;
};

/**
 * struct nl_blocks - all blocks
 * @bk: by number
 * @live: bit per physical page
 * @free: per plane, erased ones first to be erased first
 * @nr_free_in: per plane
 * @closed: per plane and number of live pages; with NL_GC_FIFO only @closed[0], in order of
 *	closing
 * @least: per plane: no list below this one is populated
 * @lists: of @closed per plane
 * @nr_free: blocks
 * @good: blocks that are not bad and not retired
 * @retired: blocks waiting to be emptied and marked
 * @unreadable: blocks that GC leaves alone (NL_UNREADABLE)
 * @erases: sum over good blocks
 */
struct nl_blocks {
	struct nl_bk *bk;
	unsigned long *live;
	struct nl_list *free;
	u32 *nr_free_in;
	struct nl_list *closed;
	u32 *least;
	u32 lists;
	u32 nr_free;
	u32 good;
	u32 retired;
	u32 unreadable;
	u64 erases;
};

/**
 * struct nl_trims - trim records and what waits for one
 * @nr: chunks of @bits logical pages
 * @bits: bits of a record
 * @nr_pending: logical pages that are trimmed without a record; their flash pages stay live until
 *	then
 * @pending: bit per logical page
 * @pending_in: of each chunk
 * @ppn: of each chunk's record, NL_UNMAPPED: none
 * @seq: of each chunk's record
 * @syncing: records are being written
 */
struct nl_trims {
	u32 nr;
	u32 bits;
	u32 nr_pending;
	unsigned long *pending;
	u32 *pending_in;
	u32 *ppn;
	u64 *seq;
	bool syncing;
};

/* A page that was written and not yet programmed. */
struct nl_wslot {
	struct nl_buf *buf;
	u32 lpn;
	u32 chain;		/* slot, NL_NONE: last */
	bool used;
};

/* All of them, in the order of writing. */
struct nl_wbuf {
	u32 size;		/* of @hash, a power of two */
	u32 max;		/* slots, 0: no buffer */
	u32 nr;			/* pages in it */
	u32 head;		/* oldest slot of the ring */
	u32 ring;		/* slots of it in use, with or without a page */
	u64 until;		/* what left it is in the flash then, ns: a flush waits for that */
	struct nl_wslot *slot;
	u32 *hash;
};

struct nl_ftl {
	const struct nl_ftl_ops *ops;
	struct nl_flash *flash;
	const struct nl_geometry *geo;
	struct nl_config config;
	u32 logical_pages;
	u32 min_blocks;
	u32 reserve;
	enum nl_ftl_state state;
	u64 seq;		/* of the last write */
	u64 program;		/* of the last program */
	u32 checkpoint;		/* block to be erased before anything changes, NL_NONE */
	struct nl_blocks blocks;
	struct nl_trims trims;
	struct nl_wbuf wbuf;
	u8 *oob;		/* one OOB, for reads */
	u8 *record;		/* one for programs: zeroes behind struct nl_oob */
	u64 reads, writes, nr_trims, flushes, victims, wear_swaps;
	u64 merges[NL_NR_MERGES];
	u64 lost;		/* pages that were marked so since the start */
	bool no_checkpoint;	/* one that is found at the start can't be true */
	bool scanned;
	u64 recovery_ns;
};

/* oob.c */
/* @oob: NL_OOB_BYTES; what there is beyond stays. */
void nl_oob_encode(const struct nl_ftl *ftl, void *oob, const struct nl_rec *rec);
/* 0, -EMEDIUMTYPE if it is not this FTL's. */
int nl_oob_decode(const struct nl_ftl *ftl, const void *oob, struct nl_rec *rec);
/* ftl_zoned.c: could it have written this? */
bool nl_zone_rec_is_sane(const struct nl_ftl *ftl, const struct nl_rec *rec);
u32 nl_data_csum(const struct nl_ftl *ftl, struct nl_buf *buf);

/* blocks.c */
int nl_blocks_init(struct nl_ftl *ftl);
void nl_blocks_destroy(struct nl_ftl *ftl);
u64 nl_blocks_memory(const struct nl_ftl *ftl);
void nl_block_free(struct nl_ftl *ftl, u32 block);
u32 nl_block_take(struct nl_ftl *ftl, u32 plane);
void nl_block_take_this(struct nl_ftl *ftl, u32 block);
void nl_block_close(struct nl_ftl *ftl, u32 block);
void nl_block_unclose(struct nl_ftl *ftl, u32 block);
void nl_page_live(struct nl_ftl *ftl, u32 ppn);
void nl_page_dead(struct nl_ftl *ftl, u32 ppn);
void nl_block_set_aside(struct nl_ftl *ftl, u32 block);

static inline bool nl_page_is_live(const struct nl_ftl *ftl, u32 ppn)
{
	return test_bit(ppn, ftl->blocks.live);
}

/* Closed block to be emptied, NL_NONE when none would gain anything. */
u32 nl_block_victim(struct nl_ftl *ftl);
/* Closed block with the oldest data of those not erased more often than the average, NL_NONE. */
u32 nl_block_coldest(struct nl_ftl *ftl);
/* Erased more often than the average. */
bool nl_block_is_old(const struct nl_ftl *ftl, u32 block);
bool nl_block_is_worn(const struct nl_ftl *ftl, u32 block);

/* ftl.c */
void nl_ftl_begin(struct nl_ftl *ftl, struct nl_io *io);
int nl_ftl_may_write(const struct nl_ftl *ftl);
int nl_ftl_admit(struct nl_ftl *ftl, u32 lpn, struct nl_io *io);

/* media.c: the flash as FTLs use it. */
int nl_media_program(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, struct nl_rec *rec);
/* Before anything changes: a checkpoint that there is does not count any more. */
int nl_media_change(struct nl_ftl *ftl, u64 *when);
/* Erase a block that is held, and keep it so. -EIO: it went bad. */
int nl_media_erase_held(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when);
int nl_media_erase(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when);
int nl_media_restore(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, const void *oob);
int nl_media_read(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		  struct nl_buf **buf, struct nl_rec *rec);
void nl_media_retired(struct nl_ftl *ftl, u32 block);
int nl_media_retire(struct nl_ftl *ftl, u32 block);
int nl_media_ready(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when);

/* trim.c */
int nl_trims_init(struct nl_ftl *ftl);
void nl_trims_destroy(struct nl_ftl *ftl);
u64 nl_trims_memory(const struct nl_ftl *ftl);
/* The range reads as zeros from now on; what is mapped in it waits for a record. */
void nl_trims_mark(struct nl_ftl *ftl, u32 lpn, u32 count);
/* It was written again. */
void nl_trims_unmark(struct nl_ftl *ftl, u32 lpn);

/* Has a logical page a flash page? */
static inline bool nl_is_mapped(struct nl_ftl *ftl, u32 lpn)
{
	return ftl->ops->mapped ? ftl->ops->mapped(ftl, lpn) :
				  ftl->ops->lookup(ftl, lpn) != NL_UNMAPPED;
}

static inline bool nl_is_trimmed(const struct nl_ftl *ftl, u32 lpn)
{
	return ftl->trims.pending && test_bit(lpn, ftl->trims.pending);
}

/* Write records of all that waits for one. */
int nl_trims_sync(struct nl_ftl *ftl, struct nl_io *io);
/* What the record of a chunk has to say now; its seq is to be given. */
int nl_trims_record(struct nl_ftl *ftl, u32 chunk, struct nl_buf **buf, struct nl_rec *rec,
		    u64 *when);
/* It is in flash: what waited for it is unmapped, and the record before it is dead. */
void nl_trims_recorded(struct nl_ftl *ftl, u32 chunk, u32 ppn, u64 seq);
/* A record was found: does it replace the one known? */
void nl_trims_found(struct nl_ftl *ftl, u32 ppn, const struct nl_rec *rec);
/* A record was moved. */
static inline void nl_trims_moved(struct nl_ftl *ftl, u32 chunk, u32 ppn)
{
	ftl->trims.ppn[chunk] = ppn;
}

/* Unmap what records say; @seq: of each logical page's newest version. */
int nl_trims_apply(struct nl_ftl *ftl, u32 *map, const u64 *seq, u64 *when);

/*
 * scan.c: the map out of a checkpoint or, which ftl->scanned says, of all OOB. @map: the flash
 * page of each logical page's newest version, or NL_UNMAPPED; all NL_UNMAPPED before. What is live
 * is marked so. Each block that is not bad gets its fill and newest; out of OOB it says in prev
 * and next, which are in no list yet, whose it is: the lpn and the role of its first page that can
 * be read, NL_SCAN_TRIM if that is a trim record's, NL_NONE if there is none. For what it says
 * out of a checkpoint see nl_checkpoint_load().
 */
#define NL_SCAN_TRIM	0x100u
int nl_recover_map(struct nl_ftl *ftl, u32 *map, struct nl_io *io);
/* For each block in which nothing is live, but for what a checkpoint says is free. */
int nl_scan_free(struct nl_ftl *ftl, u32 block, struct nl_io *io);

/*
 * For each block, when its live pages are known, in FTLs that fill a block in each plane: it is
 * free, closed, or 1, goes on to be filled, as @active of its plane says. After a scan none does:
 * the page after the last one may be torn and only look erased.
 */
int nl_scan_place(struct nl_ftl *ftl, u32 block, u32 *active, struct nl_io *io);

/* checkpoint.c */
int nl_checkpoint(struct nl_ftl *ftl, struct nl_io *io);
/*
 * 1 if there is one, 0 if not. Then @map and the places of trim records are as after a scan, and
 * each block that was not free is NL_USE_HELD, with its fill and newest, and its enum nl_use in
 * next; those of the checkpoint are dealt with.
 */
int nl_checkpoint_load(struct nl_ftl *ftl, u32 *map, struct nl_io *io);

/* wbuf.c */
int nl_wbuf_init(struct nl_ftl *ftl);
void nl_wbuf_destroy(struct nl_ftl *ftl);
bool nl_wbuf_read(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf);
int nl_wbuf_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io);
void nl_wbuf_drop(struct nl_ftl *ftl, u32 lpn);
int nl_wbuf_flush(struct nl_ftl *ftl, struct nl_io *io);

static inline void nl_io_wait(struct nl_io *io, u64 when)
{
	io->done = max(io->done, when);
}

#endif
