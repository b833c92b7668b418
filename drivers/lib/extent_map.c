// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: no change is lost
 *
 * A change is three steps: the entry (A), its bit in page->changed (B), the page on
 * map->changed (C).  The committer undoes them in the opposite order: it takes the
 * list, clears EK_MAP_PAGE_LISTED (C'), clears a bit (B'), reads the entry (A').
 * There is a full barrier between every two steps on both sides, so a change that
 * finds its bit set or its page listed, and therefore skips B or C, is seen by the
 * B' or C' that has yet to come.
 *
 * Two windows remain, when a change relies on somebody else who is in the middle:
 *
 * - CPU 1 has flagged a page as listed but not put it on the list yet; CPU 2 changes
 *   another entry of it, finds the flag and completes its write; a FLUSH follows.
 *   map->listing counts pages in that state: the committer waits for it to fall to
 *   zero before it takes the list.  Preemption is off in between.
 *
 * - CPU 1 has changed the entry but not marked it yet; CPU 2 wants the same validity
 *   bits, finds them set and completes its write; a FLUSH follows.  map->marking
 *   counts changes in that state; CPU 2 marks the entry, too, when it is not zero.
 *
 * Barrier pairs: atomic_inc(marking) before the cmpxchg() of A - smp_rmb() in
 * ek_map_set_valid() between entry and marking; atomic_dec_return_release() after
 * C - atomic_read_acquire() of the same counter.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/slab.h>
#include <evenkeel/extent_map.h>

#define EK_MAP_PAGE_BYTES	(EK_PAGE_ENTRIES * sizeof(u64))

/**
 * ek_map_init - an empty map with nothing loaded
 * @map: the map
 * @nr_extents: logical extents
 * @absent: whether the media hold nothing for a page; called under RCU
 * @ctx: for @absent
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int ek_map_init(struct ek_map *map, u64 nr_extents,
		bool (*absent)(void *ctx, u64 index), void *ctx)
{
	map->nr_extents = nr_extents;
	map->nr_pages = DIV_ROUND_UP(nr_extents, EK_PAGE_ENTRIES);
	map->pages = kvcalloc(map->nr_pages, sizeof(*map->pages), GFP_KERNEL);
	if (!map->pages)
		return -ENOMEM;
	init_llist_head(&map->changed);
	map->absent = absent;
	map->ctx = ctx;
	atomic64_set(&map->nr_loaded, 0);
	atomic_set(&map->marking, 0);
	atomic_set(&map->nr_listed, 0);
	atomic_set(&map->listing, 0);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_map_init);

/**
 * ek_map_grow - get ready for more extents
 * @nr_extents: logical extents, not fewer than the map has that is to grow
 * @pages: set to what ek_map_grow_finish() takes over, or kvfree() ends
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int ek_map_grow(u64 nr_extents, struct ek_map_page ***pages)
{
	*pages = kvcalloc(DIV_ROUND_UP(nr_extents, EK_PAGE_ENTRIES), sizeof(**pages), GFP_KERNEL);
	return *pages ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(ek_map_grow);

/**
 * ek_map_grow_finish - have more extents
 * @map: the map; nobody uses it meanwhile
 * @nr_extents: as ek_map_grow() was told
 * @pages: from there
 *
 * Context: any.
 */
void ek_map_grow_finish(struct ek_map *map, u64 nr_extents, struct ek_map_page **pages)
{
	memcpy(pages, map->pages, map->nr_pages * sizeof(*pages));
	kvfree(map->pages);
	map->pages = pages;
	map->nr_extents = nr_extents;
	map->nr_pages = DIV_ROUND_UP(nr_extents, EK_PAGE_ENTRIES);
}
EXPORT_SYMBOL_GPL(ek_map_grow_finish);

static void ek_map_page_free(struct ek_map_page *page)
{
	kfree(page->entry);
	kfree(page);
}

static struct ek_map_page *ek_map_page_alloc(u64 index, gfp_t gfp)
{
	struct ek_map_page *page;

	if (!gfpflags_allow_blocking(gfp))
		gfp |= __GFP_NOWARN;
	page = kzalloc(sizeof(*page), gfp);
	if (!page)
		return NULL;
	page->entry = kzalloc(EK_MAP_PAGE_BYTES, gfp);
	if (!page->entry) {
		kfree(page);
		return NULL;
	}
	page->index = index;
	INIT_LIST_HEAD(&page->dirty_node);
	return page;
}

/**
 * ek_map_destroy - free all pages
 * @map: the map; nobody uses it any more
 *
 * Context: may sleep.
 */
void ek_map_destroy(struct ek_map *map)
{
	u64 index;

	for (index = 0; index < map->nr_pages; index++)
		if (map->pages[index])
			ek_map_page_free(map->pages[index]);
	kvfree(map->pages);
	map->pages = NULL;
	map->nr_pages = 0;
	init_llist_head(&map->changed);
	atomic_set(&map->nr_listed, 0);
	atomic64_set(&map->nr_loaded, 0);
}
EXPORT_SYMBOL_GPL(ek_map_destroy);

/**
 * ek_map_memory - memory that the loaded pages take
 * @map: the map
 *
 * Context: any.
 * Return: bytes, the index above them included.
 */
u64 ek_map_memory(struct ek_map *map)
{
	return map->nr_pages * sizeof(*map->pages) +
	       (u64)atomic64_read(&map->nr_loaded) *
	       (EK_BLOCK_SIZE + sizeof(struct ek_map_page));
}
EXPORT_SYMBOL_GPL(ek_map_memory);

/**
 * ek_map_lookup_unloaded - ek_map_lookup() for a page that is not in memory
 * @map: the map
 * @le: logical extent
 * @entry: set to 0
 *
 * Context: any; takes no lock.
 * Return: as ek_map_lookup().
 */
int ek_map_lookup_unloaded(struct ek_map *map, u64 le, u64 *entry)
{
	bool absent;

	if (le >= map->nr_extents)
		return -ERANGE;
	rcu_read_lock();
	absent = map->absent(map->ctx, le / EK_PAGE_ENTRIES);
	rcu_read_unlock();
	*entry = 0;
	return absent ? 0 : -EAGAIN;
}
EXPORT_SYMBOL_GPL(ek_map_lookup_unloaded);

/* Documented in the header. */
int ek_map_prepare(struct ek_map *map, u64 le, gfp_t gfp)
{
	u64 index = le / EK_PAGE_ENTRIES;
	bool absent;

	if (unlikely(le >= map->nr_extents))
		return -ERANGE;
	if (likely(ek_map_page(map, index)))
		return 0;
	rcu_read_lock();
	absent = map->absent(map->ctx, index);
	rcu_read_unlock();
	/* Loaded and written by somebody else meanwhile: no longer absent. */
	if (!absent)
		return ek_map_page(map, index) ? 0 : -EAGAIN;
	return ek_map_insert_page(map, index, NULL, gfp);
}
EXPORT_SYMBOL_GPL(ek_map_prepare);

/* Documented in the header. */
int ek_map_insert_page(struct ek_map *map, u64 index, const struct ek_page *media, gfp_t gfp)
{
	struct ek_map_page *page, *old;
	unsigned int i;

	if (index > (map->nr_extents - 1) / EK_PAGE_ENTRIES)
		return -ERANGE;
	if (ek_map_page(map, index))
		return 0;
	page = ek_map_page_alloc(index, gfp);
	if (!page)
		return -ENOMEM;
	if (media)
		for (i = 0; i < EK_PAGE_ENTRIES; i++)
			page->entry[i] = le64_to_cpu(media->entry[i]);

	old = cmpxchg(&map->pages[index], NULL, page);
	if (old) {
		ek_map_page_free(page);
		return 0;
	}
	atomic64_inc(&map->nr_loaded);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_map_insert_page);

/* Steps B and C; the caller's change of the entry is followed by a full barrier. */
static void ek_map_mark(struct ek_map *map, struct ek_map_page *page, unsigned int slot)
{
	if (!test_bit(slot, page->changed)) {
		set_bit(slot, page->changed);
		/* B before C; pairs with C' before B' in ek_map_take_changed(). */
		smp_mb__after_atomic();
	} else {
		smp_rmb();	/* likewise, whoever it was that has done B */
	}
	if (test_bit(EK_MAP_PAGE_LISTED, &page->flags))
		return;

	preempt_disable();
	atomic_inc(&map->listing);
	if (!test_and_set_bit(EK_MAP_PAGE_LISTED, &page->flags)) {
		atomic_inc(&map->nr_listed);
		llist_add(&page->changed_node, &map->changed);
	}
	atomic_dec_return_release(&map->listing);
	preempt_enable();
}

/**
 * ek_map_mark_changed - mark an extent changed (again)
 * @map: the map
 * @le: logical extent; its page is in memory
 *
 * Context: any; takes no lock.
 */
void ek_map_mark_changed(struct ek_map *map, u64 le)
{
	struct ek_map_page *page = ek_map_page(map, le / EK_PAGE_ENTRIES);

	/* The caller's change before its mark. */
	smp_mb();
	if (page)
		ek_map_mark(map, page, le % EK_PAGE_ENTRIES);
}
EXPORT_SYMBOL_GPL(ek_map_mark_changed);

static u64 ek_map_change(struct ek_map *map, struct ek_map_page *page, unsigned int slot,
			 u64 old, u64 new)
{
	u64 was;

	atomic_inc(&map->marking);
	was = cmpxchg(&page->entry[slot], old, new);
	if (was == old)
		ek_map_mark(map, page, slot);
	atomic_dec_return_release(&map->marking);
	return was;
}

/* Documented in the header. */
u64 ek_map_cmpxchg(struct ek_map *map, u64 le, u64 old, u64 new)
{
	struct ek_map_page *page;

	if (le >= map->nr_extents)
		return ~old;
	page = ek_map_page(map, le / EK_PAGE_ENTRIES);
	if (!page)
		return ~old;
	return ek_map_change(map, page, le % EK_PAGE_ENTRIES, old, new);
}
EXPORT_SYMBOL_GPL(ek_map_cmpxchg);

/* Documented in the header. */
bool ek_map_set_valid(struct ek_map *map, u64 le, u64 place, u32 bits)
{
	struct ek_map_page *page = ek_map_page(map, le / EK_PAGE_ENTRIES);
	unsigned int slot = le % EK_PAGE_ENTRIES;
	u64 e, was;

	if (!page)
		return false;
	e = READ_ONCE(page->entry[slot]);
	for (;;) {
		if (ek_entry_place(e) != place)
			return false;
		if ((ek_entry_valid(e) & bits) == bits)
			break;
		was = ek_map_change(map, page, slot, e, e | bits);
		if (was == e)
			return true;
		e = was;
	}
	/* Whoever made them valid may not have marked the entry yet: entry before @marking. */
	smp_rmb();
	if (atomic_read_acquire(&map->marking)) {
		/* The entry as we saw it before its mark. */
		smp_mb();
		ek_map_mark(map, page, slot);
	}
	return true;
}
EXPORT_SYMBOL_GPL(ek_map_set_valid);

/* Documented in the header. */
bool ek_map_uncommitted(struct ek_map *map, u64 le)
{
	struct ek_map_page *page = ek_map_page(map, le / EK_PAGE_ENTRIES);

	if (!page)
		return false;
	return test_bit(EK_MAP_PAGE_LISTED, &page->flags) ||
	       !bitmap_empty(page->changed, EK_PAGE_ENTRIES);
}
EXPORT_SYMBOL_GPL(ek_map_uncommitted);

/**
 * ek_map_take_page - ek_map_take_changed() for one page
 * @map: the map
 * @page: clears its marks and visits what they covered
 * @fn: called with the page, the extent and the entry as it is now
 * @ctx: for @fn
 *
 * Context: as @fn; one caller at a time.
 * Return: 0 or @fn's error; the entry that failed and the rest stay marked.
 */
int ek_map_take_page(struct ek_map *map, struct ek_map_page *page,
		     int (*fn)(void *ctx, struct ek_map_page *page, u64 le, u64 entry),
		     void *ctx)
{
	unsigned int slot;
	int r;

	for_each_set_bit(slot, page->changed, EK_PAGE_ENTRIES) {
		u64 le = page->index * EK_PAGE_ENTRIES + slot;

		/* Fully ordered: a change after this read sets the bit again. */
		if (!test_and_clear_bit(slot, page->changed))
			continue;
		r = fn(ctx, page, le, READ_ONCE(page->entry[slot]));
		if (r) {
			ek_map_mark_changed(map, le);
			return r;
		}
	}
	return 0;
}
EXPORT_SYMBOL_GPL(ek_map_take_page);

/* Documented in the header. */
int ek_map_take_changed(struct ek_map *map,
			int (*fn)(void *ctx, struct ek_map_page *page, u64 le, u64 entry),
			void *ctx)
{
	struct ek_map_page *page, *next;
	struct llist_node *list;
	int r = 0;

	/* What the caller knows to have returned is in @listing or on the list. */
	smp_mb();
	while (atomic_read_acquire(&map->listing))
		cpu_relax();
	list = llist_del_all(&map->changed);
	llist_for_each_entry_safe(page, next, list, changed_node) {
		if (r) {
			/* Still flagged as listed: nobody else adds it. */
			llist_add(&page->changed_node, &map->changed);
			continue;
		}
		clear_bit(EK_MAP_PAGE_LISTED, &page->flags);
		atomic_dec(&map->nr_listed);
		/* C' before B'; pairs with B before C in ek_map_mark(). */
		smp_mb__after_atomic();
		r = ek_map_take_page(map, page, fn, ctx);
		/* What is left of this page is listed again by the mark of what failed. */
	}
	return r;
}
EXPORT_SYMBOL_GPL(ek_map_take_changed);

/**
 * ek_map_page_encode - entries to on-media order
 * @page: a loaded page
 * @media: its entries are set, its header is left to the store
 *
 * Context: any.
 */
void ek_map_page_encode(const struct ek_map_page *page, struct ek_page *media)
{
	unsigned int i;

	for (i = 0; i < EK_PAGE_ENTRIES; i++)
		media->entry[i] = cpu_to_le64(READ_ONCE(page->entry[i]));
}
EXPORT_SYMBOL_GPL(ek_map_page_encode);
