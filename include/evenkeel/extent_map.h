/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The extent map in memory: logical extent -> 64-bit entry (entry.h), in pages of
 * EK_PAGE_ENTRIES that are absent (all zero), on media and not loaded, or loaded.
 *
 * Lookup and update take no lock: entries change by compare-and-exchange, pages
 * are found under RCU and stay until ek_map_destroy().  A page remembers which
 * of its entries changed since the committer last took them; pages with such
 * entries hang on a lockless list.
 *
 * Pure: also builds in userspace through the shim of tests/unit.
 */
#ifndef _EVENKEEL_EXTENT_MAP_H
#define _EVENKEEL_EXTENT_MAP_H

#include <linux/types.h>
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <evenkeel/entry.h>

/**
 * struct ek_map_page - a loaded page of the map
 * @index: which one
 * @flags: EK_MAP_PAGE_*
 * @changed_node: on ek_map.changed while any bit of @changed may be set
 * @dirty_node: the committer's own list of pages that differ from the media
 * @changed: entries changed since ek_map_take_changed() last saw them
 * @entry: EK_PAGE_ENTRIES entries, host byte order, a page of memory
 */
struct ek_map_page {
	u64 index;
	unsigned long flags;
	struct llist_node changed_node;
	struct list_head dirty_node;
	DECLARE_BITMAP(changed, EK_PAGE_ENTRIES);
	u64 *entry;
};

#define EK_MAP_PAGE_LISTED	0	/* bit: on the changed list */
#define EK_MAP_PAGE_DIRTY	1	/* bit: on the committer's dirty list */

/**
 * struct ek_map - an extent map
 * @nr_extents: logical extents, the first that lookup refuses
 * @pages: loaded pages by index: a pointer each, 1/508 of what a full map takes
 * @nr_pages: length of @pages
 * @changed: pages with changed entries
 * @absent: called under RCU for a page that is not loaded; true when the media
 *	hold nothing for it either.  Must not sleep.
 * @ctx: handed to @absent
 * @nr_loaded: pages in memory
 * @marking: changes whose entry may be visible while their mark is not yet
 * @listing: pages flagged as listed that may not be on @changed yet
 * @nr_listed: pages flagged as listed
 */
struct ek_map {
	u64 nr_extents;
	struct ek_map_page **pages;
	u64 nr_pages;
	struct llist_head changed;
	bool (*absent)(void *ctx, u64 index);
	void *ctx;
	atomic64_t nr_loaded;
	atomic_t marking;
	atomic_t listing;
	atomic_t nr_listed;
};

int ek_map_init(struct ek_map *map, u64 nr_extents,
		bool (*absent)(void *ctx, u64 index), void *ctx);
int ek_map_grow(u64 nr_extents, struct ek_map_page ***pages);
void ek_map_grow_finish(struct ek_map *map, u64 nr_extents, struct ek_map_page **pages);
void ek_map_destroy(struct ek_map *map);

/* Memory that the map's loaded pages take, in bytes. */
u64 ek_map_memory(struct ek_map *map);

/**
 * ek_map_page - the loaded page of an index
 * @map: the map
 * @index: le / EK_PAGE_ENTRIES
 *
 * Context: any; takes no lock.
 * Return: the page, which stays until ek_map_destroy(), or NULL.
 */
static inline struct ek_map_page *ek_map_page(struct ek_map *map, u64 index)
{
	/* Published by cmpxchg(); what is read through it depends on its address. */
	return likely(index < map->nr_pages) ? READ_ONCE(map->pages[index]) : NULL;
}

int ek_map_lookup_unloaded(struct ek_map *map, u64 le, u64 *entry);

/**
 * ek_map_lookup - an extent's entry
 * @map: the map
 * @le: logical extent
 * @entry: set to the entry, 0 when not mapped
 *
 * Context: any; takes no lock.
 * Return: 0; -EAGAIN when the page is on the media and must be loaded first
 * (ek_map_insert_page()); -ERANGE past the end.
 */
static inline int ek_map_lookup(struct ek_map *map, u64 le, u64 *entry)
{
	struct ek_map_page *page = ek_map_page(map, le / EK_PAGE_ENTRIES);

	if (unlikely(!page || le >= map->nr_extents))
		return ek_map_lookup_unloaded(map, le, entry);
	*entry = READ_ONCE(page->entry[le % EK_PAGE_ENTRIES]);
	return 0;
}

/**
 * ek_map_prepare - make sure that the page of an extent is in memory
 * @map: the map
 * @le: logical extent
 * @gfp: for a new, zeroed page where the media hold none
 *
 * Context: may sleep if @gfp lets it.
 * Return: 0, -ENOMEM, -EAGAIN when it must be loaded from the media, -ERANGE.
 */
int ek_map_prepare(struct ek_map *map, u64 le, gfp_t gfp);

/**
 * ek_map_insert_page - add a page that was read from the media
 * @map: the map
 * @index: of the page
 * @media: its content; NULL for a page of zeroes
 * @gfp: for the page
 *
 * Context: may sleep if @gfp lets it; several callers may race for one page.
 * Return: 0 (also if it was there already, which is then kept), -ENOMEM.
 */
int ek_map_insert_page(struct ek_map *map, u64 index, const struct ek_page *media, gfp_t gfp);

/**
 * ek_map_cmpxchg - change an entry if it is what the caller thinks
 * @map: the map
 * @le: logical extent; its page is in memory
 * @old: expected entry
 * @new: the one to put there
 *
 * A successful change is fully ordered and remembered for the committer: the
 * entry is changed first, then marked, so whoever takes the mark sees the entry.
 *
 * Context: any; takes no lock.
 * Return: what was there: @old on success.
 */
u64 ek_map_cmpxchg(struct ek_map *map, u64 le, u64 old, u64 new);

/**
 * ek_map_set_valid - set validity bits while the extent is still at a place
 * @map: the map
 * @le: logical extent; its page is in memory
 * @place: ek_entry_place() that the data was written to
 * @bits: granules to be made valid
 *
 * When the bits are valid already nothing is written.  That answer is safe to act
 * on: a change by somebody else which made them so is marked before this returns.
 * The same can't be said of ek_map_lookup(), so call this after a write even if the
 * bits were seen valid before it.
 *
 * Context: any; takes no lock.
 * Return: true if the extent still was there.
 */
bool ek_map_set_valid(struct ek_map *map, u64 le, u64 place, u32 bits);

/**
 * ek_map_uncommitted - may the page of this extent hold changes not yet taken?
 * @map: the map
 * @le: logical extent
 *
 * True errs on the safe side: any extent of the page counts.
 * Context: any; takes no lock.
 * Return: true when it may.
 */
bool ek_map_uncommitted(struct ek_map *map, u64 le);

/**
 * ek_map_take_changed - visit and forget every change
 * @map: the map
 * @fn: called with a page, the extent and the entry as it is now; an error ends
 *	the walk
 * @ctx: for @fn
 *
 * One caller at a time.  A change that races is either seen here or stays marked
 * for the next call.  After an error what was not visited, and the one that failed,
 * stay marked; what was visited must be marked again by ek_map_mark_changed() if it
 * did not get to the media.
 *
 * Context: as @fn.
 * Return: 0 or @fn's error.
 */
int ek_map_take_changed(struct ek_map *map,
			int (*fn)(void *ctx, struct ek_map_page *page, u64 le, u64 entry),
			void *ctx);

/* As above for one page: clears its marks and visits what they covered. */
int ek_map_take_page(struct ek_map *map, struct ek_map_page *page,
		     int (*fn)(void *ctx, struct ek_map_page *page, u64 le, u64 entry),
		     void *ctx);

/* Mark an extent changed (again).  Any context; its page is in memory. */
void ek_map_mark_changed(struct ek_map *map, u64 le);

/**
 * ek_map_has_changes - is any change not yet taken?
 * @map: the map
 *
 * Every change that returned before this was called counts, even where another
 * CPU is still about to put its page on the list.  Pages that a running
 * ek_map_take_changed() has yet to visit don't.
 *
 * Context: any; takes no lock.
 * Return: true when there is one.
 */
static inline bool ek_map_has_changes(struct ek_map *map)
{
	if (atomic_read_acquire(&map->listing))
		return true;
	return !llist_empty(&map->changed);
}

/* Pages with changes that nobody has taken; those to come don't count.  Any context. */
static inline unsigned int ek_map_pages_changed(const struct ek_map *map)
{
	return atomic_read(&map->nr_listed);
}

/* Encode a loaded page's entries into @media (header left to the store). */
void ek_map_page_encode(const struct ek_map_page *page, struct ek_page *media);

#endif
