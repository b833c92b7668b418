/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata store: superblocks, page tables, pages in two slots and the
 * journal of one pool, on one or two mirrored areas (hybrid_format.h).
 *
 * It knows bytes, not devices: its user gives it the I/O.  It knows no locks
 * either: one committer calls it; only ek_store_read_page() and
 * ek_store_page_absent() may run beside the committer, for pages that it is not
 * writing.  Pure: also builds in userspace, where every crash point is tried.
 *
 * Order (Documentation/design/metadata.rst): the *user* flushes the members between collecting
 * changes and ek_store_tx_commit() / ek_store_ckpt_commit().
 */
#ifndef _EVENKEEL_STORE_H
#define _EVENKEEL_STORE_H

#include <linux/types.h>
#include <evenkeel/hybrid_format.h>
#include <evenkeel/space_map.h>

#define EK_IO_PREFLUSH	0x1	/* all completed before is durable first */
#define EK_IO_FUA	0x2	/* and this when it completes */

/**
 * struct ek_losses - how often a disk may have dropped what was in its cache
 * @known: a flush of it has failed that somebody else had sent
 * @likely: one has, perhaps: of a device that may be on the same disk, or with an error that does
 *	not say what it was about
 *
 * Both are other numbers after each time.
 */
struct ek_losses {
	u32 known;
	u32 likely;
};

/**
 * struct ek_store_io - how the store reaches its areas
 * @read: read @len bytes (a multiple of 4096) at byte @offset of an area; waits
 * @write: begin to write; @buf stays untouched until @wait; errors may come then
 * @wait: wait for all begun writes of an area; 0 or the first error among them
 * @flush: make all completed writes of an area durable; waits
 * @losses: how often has an area's disk dropped what was written, with @wait and @flush telling
 *	nothing of it?  NULL: nobody else sends it flushes
 * @quiesce: wait for those that others have under way, and see to it that no more come until the
 *	store's call is over; NULL: there are none
 *
 * Context: may sleep.  Byte offsets are relative to the area's start.  Buffers are
 * page aligned and come from kmalloc() or vmalloc().  @wait is called for every
 * area that @write was called for, also when @write itself failed.  No @write: the
 * store is read-only, replay levels nothing and everything that writes is -EROFS.
 */
struct ek_store_io {
	int (*read)(void *ctx, unsigned int area, u64 offset, void *buf, size_t len);
	int (*write)(void *ctx, unsigned int area, u64 offset, const void *buf,
		     size_t len, unsigned int flags);
	int (*wait)(void *ctx, unsigned int area);
	int (*flush)(void *ctx, unsigned int area);
	void (*losses)(void *ctx, unsigned int area, struct ek_losses *losses);
	void (*quiesce)(void *ctx);
};

/**
 * struct ek_store_params - what a new pool is to be
 * @pool_uuid: its name for good
 * @extent_sectors: extent size
 * @nr_extents: logical extents to make room for
 * @area_bytes: size of each metadata area
 * @nr_meta: metadata areas
 * @nr_members: members
 * @member_uuid: theirs
 * @member_extents: physical extents of each
 * @policy: as in the table line, NUL terminated
 * @generation: to begin with; 0: with the first
 * @meta_uuid: in the labels of the metadata areas; zero: the pool's
 */
struct ek_store_params {
	u8 pool_uuid[EK_UUID_SIZE];
	u32 extent_sectors;
	u64 nr_extents;
	u64 area_bytes[EK_MAX_META];
	u32 nr_meta;
	u32 nr_members;
	u8 member_uuid[EK_MAX_MEMBERS][EK_UUID_SIZE];
	u32 member_extents[EK_MAX_MEMBERS];
	const char *policy;
	u64 generation;
	u8 meta_uuid[EK_MAX_META][EK_UUID_SIZE];
};

struct ek_store;	/* opaque; drivers/lib/store.c */

/*
 * Metadata area, in bytes, for these extents with a journal of full length: what
 * create tools carve.  A little less will do, with a shorter journal.
 */
u64 ek_store_area_bytes(u64 nr_extents, u32 nr_members, const u32 *member_extents);

/*
 * ek_store_forget - make what was in metadata areas no pool; durable when it returns, and cut
 * before that it leaves the pool as it was last, or none, unless an area had lost what it called
 * durable.
 */
int ek_store_forget(const struct ek_store_io *io, void *ctx, u32 nr_meta);

/*
 * ek_store_format - write an empty pool
 *
 * The superblock last, with PREFLUSH and FUA, so that a crash leaves what was there (see
 * ek_store_forget()), nothing (magic not there), or an empty pool.  Labels are not its business.
 * Return: 0, -ENOSPC when an area is too small, an I/O error.
 */
int ek_store_format(const struct ek_store_io *io, void *ctx, const struct ek_store_params *p);

/**
 * ek_store_open - read the superblocks and page table
 * @io: I/O
 * @ctx: for @io
 * @area_bytes: sizes of the areas
 * @areas: bit per area that is there (one of two may be lost)
 * @store: set on success
 * @reason: set to a static text on failure, never NULL then
 *
 * Every field is checked before use.  The area with the highest generation (then
 * the longest valid journal) is the authority; one that is stale (meta_stale or an
 * older generation than crash order can explain) is left out and its bit shows in
 * ek_store_stale().  One that is newer by its superblock, but damaged, is not done without.
 * Context: sleeps; reads only.
 * Return: 0; -ENODATA: zeroes where superblocks begin (to be formatted);
 * -EUCLEAN: damaged; -EPROTONOSUPPORT: unknown version or incompat bit; -ENOMEM; I/O error.
 */
int ek_store_open(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
		  unsigned int areas, struct ek_store **store, const char **reason);
/*
 * The same, of areas of which the labels' uuids are known: one that the superblock of the other
 * does not name was replaced, and is left out, however whole it is; or went on all the same, and
 * then both are refused.
 */
int ek_store_open_named(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
			const u8 uuid[][EK_UUID_SIZE], unsigned int areas,
			struct ek_store **store, const char **reason);
int ek_store_peek(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
		  unsigned int areas, struct ek_super *super, bool *untold);
void ek_store_close(struct ek_store *store);

/* The superblock as read or last written; multi-byte fields little-endian. */
const struct ek_super *ek_store_super(const struct ek_store *store);
unsigned int ek_store_stale(const struct ek_store *store);	/* bit per area left out */
unsigned int ek_store_untold(const struct ek_store *store);	/* of these, what may be newer */
unsigned int ek_store_unread(const struct ek_store *store);	/* of those, by errors of reading */
unsigned int ek_store_areas(const struct ek_store *store);	/* bit per area in use */
u64 ek_store_generation(const struct ek_store *store);
u64 ek_store_journal_used(const struct ek_store *store);	/* blocks */
u64 ek_store_journal_blocks(const struct ek_store *store);

/*
 * ek_store_load_space - read one member's space map from its pages
 * Return: 0, -EUCLEAN, -EIO (both areas failed), -ENOMEM.
 */
int ek_store_load_space(struct ek_store *store, unsigned int member, struct ek_space *space);

/**
 * ek_store_replay - hand out the journal's records in order
 * @store: opened
 * @map: an extent's entry became this
 * @free: physical extents of a member became free
 * @ctx: for both; an error from either ends the replay and is returned
 *
 * Reads only.  Bounded by the journal's size.  Records are checked (types, ranges,
 * members) before they are handed out: -EUCLEAN otherwise.  Where the areas'
 * journals differ in length after a crash, the shorter is brought up to the longer
 * before this returns.
 * Return: 0; -EUCLEAN; -EINVAL: done already; what @map or @free returned; an I/O error.
 */
int ek_store_replay(struct ek_store *store,
		    int (*map)(void *ctx, u64 le, u64 entry),
		    int (*free)(void *ctx, unsigned int member, u32 pe, u32 count),
		    void *ctx);

/* Does the media hold nothing for this page?  Any context. */
bool ek_store_page_absent(const struct ek_store *store, u64 index);

/*
 * ek_store_read_page - read and check a page
 * Falls back to the other area when one fails or its checksum is wrong.
 * Context: may sleep; several at once.
 * Return: 0, -EUCLEAN, -EIO.  An absent page reads as zeroes.
 */
int ek_store_read_page(struct ek_store *store, u64 index, struct ek_page *page);

/*
 * ek_store_read_committed - a page of the map as the next start would have it, journal included
 * Context: the committer; sleeps.  Return: as ek_store_read_page().
 */
int ek_store_read_committed(struct ek_store *store, u64 index, struct ek_page *page);

/*
 * ek_store_tx_add - collect a record of the next journal transaction
 * Return: 0; -ENOSPC: the journal can't hold it: ek_store_tx_abort() and checkpoint;
 * -EINVAL: out of range.
 */
int ek_store_tx_add_map(struct ek_store *store, u64 le, u64 entry);
int ek_store_tx_add_free(struct ek_store *store, unsigned int member, u32 pe, u32 count);
void ek_store_tx_abort(struct ek_store *store);

/*
 * ek_store_tx_commit - make the collected records durable
 *
 * One block: FUA.  Several: all but the last, wait, the last with PREFLUSH|FUA, so
 * the last one vouches for those before it.  A transaction of which any block is
 * missing does not count.  Not between ek_store_ckpt_begin() and its end (-EBUSY),
 * not before ek_store_replay() (-EINVAL).
 *
 * Return: 0 when durable on every area in use.  An area that fails is marked stale in
 * the other's superblock *before* this returns 0; when none is left, -EIO, and the
 * store refuses writes from then on.
 */
int ek_store_tx_commit(struct ek_store *store);

/*
 * ek_store_ckpt_begin - begin a checkpoint
 * ek_store_ckpt_page - write one page to the slot not in use; the image is copied
 *	or written before this returns, the header filled in here
 * ek_store_ckpt_commit - flush, then page table and superblock of the next
 *	generation; the journal is empty from then on.  @flags: EK_SUPER_CLEAN or
 *	EK_SUPER_NEEDS_CHECK; the latter stays until ek_store_update_super() clears it
 * ek_store_ckpt_abort - forget it: the generation before goes on
 *
 * Records collected and not committed are forgotten by begin.  A page of zeroes is
 * not written but becomes absent.  When commit fails, ek_store_writable() tells
 * whether the checkpoint may be aborted and tried again (nothing that counts was
 * touched) or whether the superblock's fate is unknown: then the store refuses all
 * writes until it is opened anew.
 */
int ek_store_ckpt_begin(struct ek_store *store);
int ek_store_ckpt_page(struct ek_store *store, u64 index, struct ek_page *image);
int ek_store_ckpt_commit(struct ek_store *store, u32 flags);
void ek_store_ckpt_abort(struct ek_store *store);

/* Page index of a member's space map page. */
u64 ek_store_space_index(const struct ek_store *store, unsigned int member, u32 page);

/* 0, -EROFS (made without @write), -EINVAL (not replayed), -EIO (refuses writes for good). */
int ek_store_writable(const struct ek_store *store);

/**
 * ek_store_update_super - write the superblock without a checkpoint
 * @store: replayed
 * @flags_set: EK_SUPER_* to set
 * @flags_clear: EK_SUPER_* to clear
 *
 * A generation of its own with the same page table; the journal stays as it is.
 * Carries what ek_store_set_policy() and ek_store_set_member_state() changed, and
 * which areas are left out.  The store itself does so before the first transaction
 * after a clean stop (clears EK_SUPER_CLEAN) and before the first without an area.
 *
 * Context: sleeps; the only caller of the writing side.
 * Return: 0 when durable; an error as ek_store_ckpt_commit().
 */
int ek_store_update_super(struct ek_store *store, u32 flags_set, u32 flags_clear);

/* ek_store_update_super() with the flags as they are. */
static inline int ek_store_sync_super(struct ek_store *store)
{
	return ek_store_update_super(store, 0, 0);
}

/**
 * struct ek_reshape - members that join, a map that grows
 * @nr_extents: logical extents to make room for, not fewer than there are
 * @nr_members: members afterwards, those removed included; not fewer than there are
 * @joining: a bit per member that is new: behind the others, or in a removed one's place
 * @member_uuid: of those
 * @member_extents: of those
 * @policy: its text from then on, as the old one may not go with so many members; NULL: as it is
 * @nr_meta: places for metadata areas, not fewer than there are; those that are new are vacant.
 *	0: as many as there are
 */
struct ek_reshape {
	u64 nr_extents;
	u32 nr_members;
	unsigned long joining;
	u8 member_uuid[EK_MAX_MEMBERS][EK_UUID_SIZE];
	u32 member_extents[EK_MAX_MEMBERS];
	const char *policy;
	u32 nr_meta;
};

/*
 * Could it be done?  0; -ENOSPC: the metadata area is too small; -EINVAL.  Changes nothing but
 * @room, where it tries.
 */
int ek_store_reshape_check(const struct ek_store *store, const struct ek_reshape *r,
			   struct ek_super *room);
/*
 * Do it: one superblock, so a crash leaves the old shape or the new one.  The committer.
 * Return: as the check; an error as ek_store_update_super(), after which the old shape
 * is in force in memory.
 */
int ek_store_reshape(struct ek_store *store, const struct ek_reshape *r);

/*
 * An area that was left out, or a new one in its place, becomes a mirror: all is copied, step by
 * step, between which there may be commits and checkpoints.  The committer.
 *
 * ek_store_sync_buf - what these and mending work with, for kvfree(); NULL: no memory
 * ek_store_resync_begin - @area_bytes: its size; @uuid: in its label; NULL: the pool's; @buf: of
 *	ek_store_sync_buf(), to be kept until it is over
 * ek_store_resync_step - 1: there is more to do; 0: it is a mirror; an error: it was given up
 * ek_store_resync_stop - give it up: the area is left out as before
 * ek_store_resyncing - a bit for the area, 0: none
 * ek_store_resync - all of it at once
 */
struct ek_page *ek_store_sync_buf(void);
int ek_store_resync_begin(struct ek_store *store, unsigned int area, u64 area_bytes,
			  const u8 *uuid, struct ek_page *buf);
int ek_store_resync_step(struct ek_store *store);
void ek_store_resync_stop(struct ek_store *store);
unsigned int ek_store_resyncing(const struct ek_store *store);
int ek_store_resync(struct ek_store *store, unsigned int area);
/* Leave an area out, which must not be the last one: durable when it returns.  The committer. */
int ek_store_leave_out(struct ek_store *store, unsigned int area);
/*
 * The same, and its place is vacant from then on.  Its own superblock then says so, too, if it can
 * be written: alone it is refused.
 */
int ek_store_vacate(struct ek_store *store, unsigned int area);
/* How far a resync is; false: none is under way.  Any context. */
bool ek_store_resync_at(const struct ek_store *store, u64 *done, u64 *total);
/**
 * struct ek_mend - pages that are damaged on one area are written anew from the other
 * @areas: which are written; the others are read only; none: all are only looked at
 * @buf: of ek_store_sync_buf()
 * @at: the next page
 * @singly: pages before it are read one by one
 * @failed: of those that are not written, which could not be read
 * @mended: how many were written
 * @older: of each area, how many are whole, and not as new as the other's
 * @begun: a step has been made
 * @since: what the disks of those that are written had lost before it
 *
 * All that is not set by who begins it is zero.
 */
struct ek_mend {
	unsigned int areas;
	struct ek_page *buf;
	u64 at;
	u64 singly;
	unsigned int failed;
	u64 mended;
	u64 older[EK_MAX_META];
	bool begun;
	struct ek_losses since[EK_MAX_META];
};

/* The step goes over some pages and returns 1 if there are more. */
int ek_store_mend_pages(struct ek_store *store, u64 *mended);
int ek_store_mend_step(struct ek_store *store, struct ek_mend *m);
/* Is the area with @uuid in its label the one that the superblock means?  Pure. */
bool ek_super_names(const struct ek_super *sb, unsigned int area, const u8 *uuid);
/* A bit for each place that a metadata area has left for good.  Pure. */
unsigned int ek_super_vacant(const struct ek_super *sb);
/* Bytes that a metadata area has to have to take the place of one of these. */
u64 ek_super_area_bytes(const struct ek_super *sb);

/* Written with the next superblock: a checkpoint or ek_store_sync_super(). */
int ek_store_set_policy(struct ek_store *store, const char *policy);
int ek_store_set_member_state(struct ek_store *store, unsigned int member, u32 state);

#endif
