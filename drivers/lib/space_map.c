// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/space_map.h>

static u32 ek_space_groups(u32 nr)
{
	return DIV_ROUND_UP(nr, EK_SPACE_GROUP);
}

/**
 * ek_space_pages - media pages that a space map takes
 * @nr_extents: physical extents
 *
 * Context: any.
 * Return: pages of 4096 bytes.
 */
u32 ek_space_pages(u32 nr_extents)
{
	return DIV_ROUND_UP(nr_extents, EK_PAGE_BITS);
}
EXPORT_SYMBOL_GPL(ek_space_pages);

static void ek_space_count(struct ek_space *space)
{
	u32 group, free = 0;

	for (group = 0; group < ek_space_groups(space->nr); group++) {
		u32 first = group * EK_SPACE_GROUP;
		u32 len = min(EK_SPACE_GROUP, space->nr - first);

		space->group_free[group] =
			len - bitmap_weight(space->used + BIT_WORD(first), len);
		free += space->group_free[group];
	}
	WRITE_ONCE(space->nr_free, free);
}

/**
 * ek_space_init - a space map with every extent free
 * @space: the map
 * @nr_extents: physical extents, 1 to EK_MAX_MEMBER_EXTENTS
 *
 * Context: may sleep.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int ek_space_init(struct ek_space *space, u32 nr_extents)
{
	memset(space, 0, sizeof(*space));
	if (!nr_extents || nr_extents > EK_MAX_MEMBER_EXTENTS)
		return -EINVAL;
	spin_lock_init(&space->lock);
	space->nr = nr_extents;
	space->used = kvcalloc(BITS_TO_LONGS(nr_extents), sizeof(long), GFP_KERNEL);
	space->stored = kvcalloc(BITS_TO_LONGS(nr_extents), sizeof(long), GFP_KERNEL);
	space->group_free = kvcalloc(ek_space_groups(nr_extents), sizeof(u16), GFP_KERNEL);
	space->page_dirty = kvcalloc(BITS_TO_LONGS(ek_space_pages(nr_extents)),
				     sizeof(long), GFP_KERNEL);
	if (!space->used || !space->stored || !space->group_free || !space->page_dirty) {
		ek_space_destroy(space);
		return -ENOMEM;
	}
	ek_space_count(space);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_space_init);

/**
 * ek_space_destroy - free a space map's memory
 * @space: the map; also after a failed ek_space_init(), and twice
 *
 * Context: may sleep.
 */
void ek_space_destroy(struct ek_space *space)
{
	kvfree(space->used);
	kvfree(space->stored);
	kvfree(space->group_free);
	kvfree(space->page_dirty);
	space->used = NULL;
	space->stored = NULL;
	space->group_free = NULL;
	space->page_dirty = NULL;
}
EXPORT_SYMBOL_GPL(ek_space_destroy);

/**
 * ek_space_memory - memory that a space map takes
 * @space: the map
 *
 * Context: any.
 * Return: bytes.
 */
u64 ek_space_memory(const struct ek_space *space)
{
	return 2 * BITS_TO_LONGS(space->nr) * sizeof(long) +
	       ek_space_groups(space->nr) * sizeof(u16) +
	       BITS_TO_LONGS(ek_space_pages(space->nr)) * sizeof(long);
}
EXPORT_SYMBOL_GPL(ek_space_memory);

/* First free extent in [@from, @end), @end when there is none; skips full groups. */
static u32 ek_space_find(const struct ek_space *space, u32 from, u32 end)
{
	while (from < end) {
		u32 group = from / EK_SPACE_GROUP;
		u32 limit = min(end, (group + 1) * EK_SPACE_GROUP);

		if (space->group_free[group]) {
			from = find_next_zero_bit(space->used, limit, from);
			if (from < limit)
				return from;
		}
		from = limit;
	}
	return end;
}

/* @lock held; it is free. */
static void ek_space_use(struct ek_space *space, u32 pe)
{
	__set_bit(pe, space->used);
	space->group_free[pe / EK_SPACE_GROUP]--;
	WRITE_ONCE(space->nr_free, space->nr_free - 1);
}

/* Documented in the header. */
u32 ek_space_alloc(struct ek_space *space, u32 goal)
{
	u32 from, pe = EK_SPACE_NONE;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	if (!space->nr_free)
		goto out;
	from = goal < space->nr ? goal : space->cursor;
	pe = ek_space_find(space, from, space->nr);
	if (pe == space->nr)
		pe = ek_space_find(space, 0, from);
	ek_space_use(space, pe);
	space->cursor = pe + 1 < space->nr ? pe + 1 : 0;
out:
	spin_unlock_irqrestore(&space->lock, flags);
	return pe;
}
EXPORT_SYMBOL_GPL(ek_space_alloc);

static bool ek_space_in_range(const struct ek_space *space, u32 pe, u32 count)
{
	return count && pe < space->nr && count <= space->nr - pe;
}

/* Documented in the header. */
bool ek_space_take(struct ek_space *space, u32 pe)
{
	unsigned long flags;
	bool is_free;

	if (!ek_space_in_range(space, pe, 1))
		return false;
	spin_lock_irqsave(&space->lock, flags);
	is_free = !test_bit(pe, space->used);
	if (is_free)
		ek_space_use(space, pe);
	spin_unlock_irqrestore(&space->lock, flags);
	return is_free;
}
EXPORT_SYMBOL_GPL(ek_space_take);

/* Documented in the header. */
int ek_space_free(struct ek_space *space, u32 pe, u32 count)
{
	unsigned long flags;
	u32 end = pe + count;
	int r = -EINVAL;

	if (!ek_space_in_range(space, pe, count))
		return -EINVAL;
	spin_lock_irqsave(&space->lock, flags);
	if (find_next_zero_bit(space->used, end, pe) < end)
		goto out;
	bitmap_clear(space->used, pe, count);
	WRITE_ONCE(space->nr_free, space->nr_free + count);
	while (pe < end) {
		u32 limit = min(end, (pe / EK_SPACE_GROUP + 1) * EK_SPACE_GROUP);

		space->group_free[pe / EK_SPACE_GROUP] += limit - pe;
		pe = limit;
	}
	r = 0;
out:
	spin_unlock_irqrestore(&space->lock, flags);
	return r;
}
EXPORT_SYMBOL_GPL(ek_space_free);

/**
 * ek_space_store - extents are, or are no longer, in the committed map
 * @space: the map
 * @pe: the first
 * @count: how many
 * @inuse: which of the two
 *
 * Idempotent: media pages become dirty only where a bit changes.
 * Context: the committer only.
 * Return: 0, -EINVAL out of range.
 */
int ek_space_store(struct ek_space *space, u32 pe, u32 count, bool inuse)
{
	u32 end = pe + count;

	if (!ek_space_in_range(space, pe, count))
		return -EINVAL;
	while (pe < end) {
		u32 page = pe / EK_PAGE_BITS;
		u32 limit = min(end, (page + 1) * EK_PAGE_BITS);
		u32 change = inuse ? find_next_zero_bit(space->stored, limit, pe) :
				     find_next_bit(space->stored, limit, pe);

		if (change < limit) {
			__set_bit(page, space->page_dirty);
			if (inuse)
				bitmap_set(space->stored, pe, limit - pe);
			else
				bitmap_clear(space->stored, pe, limit - pe);
		}
		pe = limit;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(ek_space_store);

/**
 * ek_space_next_dirty - find a media page that differs from the media
 * @space: the map
 * @page: where to begin
 *
 * Context: the committer only.
 * Return: the page, ek_space_pages() when there is none.
 */
u32 ek_space_next_dirty(const struct ek_space *space, u32 page)
{
	return find_next_bit(space->page_dirty, ek_space_pages(space->nr), page);
}
EXPORT_SYMBOL_GPL(ek_space_next_dirty);

/**
 * ek_space_clear_dirty - a media page is durable
 * @space: the map
 * @page: which
 *
 * Context: the committer only.
 */
void ek_space_clear_dirty(struct ek_space *space, u32 page)
{
	__clear_bit(page, space->page_dirty);
}
EXPORT_SYMBOL_GPL(ek_space_clear_dirty);

/* Words of @stored that a media page covers. */
static u32 ek_space_page_words(const struct ek_space *space, u32 page)
{
	return min_t(u32, EK_PAGE_ENTRIES,
		     BITS_TO_LONGS(space->nr) - page * EK_PAGE_ENTRIES);
}

/**
 * ek_space_encode - the media form of a part of @stored
 * @space: the map
 * @page: which media page
 * @media: its entries are set, its header is left to the store
 *
 * Context: the committer only.
 */
void ek_space_encode(const struct ek_space *space, u32 page, struct ek_page *media)
{
	const unsigned long *word = space->stored + page * EK_PAGE_ENTRIES;
	u32 i, nr = ek_space_page_words(space, page);

	for (i = 0; i < nr; i++)
		media->entry[i] = cpu_to_le64(word[i]);
	for (; i < EK_PAGE_ENTRIES; i++)
		media->entry[i] = 0;
}
EXPORT_SYMBOL_GPL(ek_space_encode);

/**
 * ek_space_decode - take a page read from the media into @stored
 * @space: the map
 * @page: which media page
 * @media: its content
 *
 * Context: before ek_space_activate().
 * Return: 0; -EUCLEAN-worthy input is -EINVAL: bits past the last extent, or a page
 * past the last page.
 */
int ek_space_decode(struct ek_space *space, u32 page, const struct ek_page *media)
{
	unsigned long *word;
	u32 i, nr, tail = space->nr % BITS_PER_LONG;

	if (page >= ek_space_pages(space->nr))
		return -EINVAL;
	word = space->stored + page * EK_PAGE_ENTRIES;
	nr = ek_space_page_words(space, page);
	for (i = nr; i < EK_PAGE_ENTRIES; i++)
		if (media->entry[i])
			return -EINVAL;
	if (nr < EK_PAGE_ENTRIES || page + 1 == ek_space_pages(space->nr))
		if (tail && le64_to_cpu(media->entry[nr - 1]) >> tail)
			return -EINVAL;
	for (i = 0; i < nr; i++)
		word[i] = le64_to_cpu(media->entry[i]);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_space_decode);

/**
 * ek_space_activate - after load and replay: @used becomes @stored
 * @space: the map; nobody allocates from it yet
 *
 * Context: any.
 */
void ek_space_activate(struct ek_space *space)
{
	memcpy(space->used, space->stored, BITS_TO_LONGS(space->nr) * sizeof(long));
	space->cursor = 0;
	ek_space_count(space);
}
EXPORT_SYMBOL_GPL(ek_space_activate);
