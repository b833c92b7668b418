/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The physical extents of one member: which are in use, in memory and on the
 * media.  Two bitmaps: *used* is what allocation looks at, *stored* what the
 * committed map holds.  An extent that was freed stays used until its free is
 * durable and nobody reads it any more, so it is never handed out early.
 *
 * Pure: also builds in userspace.
 */
#ifndef _EVENKEEL_SPACE_MAP_H
#define _EVENKEEL_SPACE_MAP_H

#include <linux/types.h>
#include <linux/spinlock.h>
#include <evenkeel/hybrid_format.h>

/**
 * struct ek_space - a member's space map
 * @lock: protects all that allocation touches; irq-safe leaf
 * @nr: physical extents
 * @nr_free: of them not used: read without lock for status
 * @cursor: where the next allocation without a goal begins
 * @used: bit per extent: not to be allocated
 * @stored: bit per extent: in use as of the last commit; the committer's own
 * @group_free: free extents per group of EK_SPACE_GROUP, so that search skips full ones
 * @page_dirty: bit per media page of @stored; the committer's own
 */
struct ek_space {
	spinlock_t lock;	/* leaf, irq-safe */
	u32 nr;
	u32 nr_free;
	u32 cursor;
	unsigned long *used;
	unsigned long *stored;
	u16 *group_free;
	unsigned long *page_dirty;
};

#define EK_SPACE_GROUP	4096u
#define EK_SPACE_NONE	(~0u)

int ek_space_init(struct ek_space *space, u32 nr_extents);
void ek_space_destroy(struct ek_space *space);
u64 ek_space_memory(const struct ek_space *space);

/* Media pages that the map of @nr_extents takes. */
u32 ek_space_pages(u32 nr_extents);

/**
 * ek_space_alloc - take a free extent
 * @space: the map
 * @goal: extent wanted, EK_SPACE_NONE for the next one after the last taken
 *
 * The goal if free, else the first free one after it, else any.  Extents asked
 * for in order come out in order, so sequential writes stay sequential.
 *
 * Context: any; takes @space->lock irq-safe.
 * Return: the extent, EK_SPACE_NONE when none is free.
 */
u32 ek_space_alloc(struct ek_space *space, u32 goal);

/**
 * ek_space_take - take this extent, if it is free
 * @space: the map
 * @pe: the extent
 *
 * Context: any; takes @space->lock irq-safe.
 * Return: true: it was free, nobody is given it from now on; false: it is used, or out of range.
 */
bool ek_space_take(struct ek_space *space, u32 pe);

/**
 * ek_space_free - give extents back to allocation
 * @space: the map
 * @pe: the first
 * @count: how many; all are used
 *
 * For extents whose free is durable and that nobody reads any more, or that were
 * taken and never entered into the map.
 * Context: any; takes @space->lock irq-safe.
 * Return: 0, -EINVAL (nothing done) if one was free already or is out of range.
 */
int ek_space_free(struct ek_space *space, u32 pe, u32 count);

static inline u32 ek_space_nr_free(const struct ek_space *space)
{
	return READ_ONCE(space->nr_free);
}

/* Is this extent, within the map, taken?  Racy unless the caller knows that it stays as it is. */
static inline bool ek_space_is_used(const struct ek_space *space, u32 pe)
{
	return test_bit(pe, space->used);
}

/*
 * The committer's side; one caller at a time, no lock needed.
 * ek_space_store(): extents are (@inuse) or are no longer in the committed map.
 * Idempotent.  0 or -EINVAL out of range.
 */
int ek_space_store(struct ek_space *space, u32 pe, u32 count, bool inuse);

/* Next dirty media page at or after @page, ek_space_pages() when none; clears nothing. */
u32 ek_space_next_dirty(const struct ek_space *space, u32 page);
/* Encode page @page of @stored into @media->entry; the caller clears its dirty bit when durable. */
void ek_space_encode(const struct ek_space *space, u32 page, struct ek_page *media);
void ek_space_clear_dirty(struct ek_space *space, u32 page);
/* Take a page read from the media into @stored.  -EINVAL if bits past the end are set. */
int ek_space_decode(struct ek_space *space, u32 page, const struct ek_page *media);
/* After load and replay: @used becomes @stored, counts are made. */
void ek_space_activate(struct ek_space *space);

#endif
