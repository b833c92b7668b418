// SPDX-License-Identifier: GPL-2.0-only
/*
 * The open store: I/O on all areas side by side, reading pages, what others ask.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "store_internal.h"

unsigned int ek_areas_begin(struct ek_store *store, unsigned int areas, u64 offset,
			    const void *buf, size_t len, unsigned int flags)
{
	unsigned int area, failed = 0;

	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area &&
		    store->io->write(store->ctx, area, offset, buf, len, flags))
			failed |= 1u << area;
	return failed;
}

unsigned int ek_areas_wait(struct ek_store *store, unsigned int areas)
{
	unsigned int area, failed = 0;

	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area && store->io->wait(store->ctx, area))
			failed |= 1u << area;
	return failed;
}

/* What is under way is no part of what comes. */
void ek_areas_quiesce(struct ek_store *store)
{
	if (store->io->quiesce)
		store->io->quiesce(store->ctx);
}

/* What the disks of areas have lost until now; @losses: EK_MAX_META of them. */
void ek_areas_losses(struct ek_store *store, unsigned int areas, struct ek_losses *losses)
{
	unsigned int area;

	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area && store->io->losses)
			store->io->losses(store->ctx, area, &losses[area]);
}

/* Those whose disks have lost something since then, or with !@known may have. */
unsigned int ek_areas_lost(struct ek_store *store, unsigned int areas,
			   const struct ek_losses *since, bool known)
{
	struct ek_losses now[EK_MAX_META];
	unsigned int area, lost = 0;

	if (!store->io->losses)
		return 0;
	ek_areas_losses(store, areas, now);
	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area && (now[area].known != since[area].known ||
					   (!known && now[area].likely != since[area].likely)))
			lost |= 1u << area;
	return lost;
}

static unsigned int ek_areas_write_once(struct ek_store *store, unsigned int areas, u64 offset,
					const void *buf, size_t len, unsigned int flags)
{
	unsigned int failed = ek_areas_begin(store, areas, offset, buf, len, flags & ~EK_IO_FLUSH);

	failed |= ek_areas_wait(store, areas);
	if (flags & EK_IO_FLUSH)
		failed |= ek_areas_flush(store, areas & ~failed);
	return failed;
}

/*
 * What is to be durable, with FUA or by a flush behind it, may have been dropped from a disk's
 * cache by somebody else's flush that failed, while that one ended well as there was nothing left:
 *
 *	the block is written			in the disk's cache
 *	the flush of somebody's FUA write fails	it is gone
 *	the flush behind the block		ends well
 *
 * So it is written again, which changes nothing where it is there.  A disk that loses something
 * each time is taken for one that can't be written; one of which that is not known is believed.
 */
unsigned int ek_areas_write(struct ek_store *store, unsigned int areas, u64 offset,
			    const void *buf, size_t len, unsigned int flags)
{
	struct ek_losses since[EK_MAX_META];
	unsigned int failed = 0, tries = 0;

	do {
		if (tries)
			ek_areas_quiesce(store);
		ek_areas_losses(store, areas, since);
		failed |= ek_areas_write_once(store, areas, offset, buf, len, flags);
		if (!(flags & (EK_IO_FUA | EK_IO_FLUSH)))
			return failed;
		tries++;
		areas = ek_areas_lost(store, areas & ~failed, since, tries == EK_DURABLE_TRIES);
	} while (areas && tries < EK_DURABLE_TRIES);
	return failed | areas;
}

unsigned int ek_areas_flush(struct ek_store *store, unsigned int areas)
{
	unsigned int area, failed = 0;

	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area && store->io->flush(store->ctx, area))
			failed |= 1u << area;
	return failed;
}

/* Never the last one: an area that fails alone makes its operation fail instead. */
void ek_areas_drop(struct ek_store *store, unsigned int areas)
{
	WRITE_ONCE(store->areas, store->areas & ~areas);
	store->stale |= areas;
}

/*
 * Unmapped and without validity, or on a member's extent, with nothing valid that the extent has
 * not.
 */
bool ek_entry_in_range(const struct ek_store *store, u64 entry)
{
	u32 granules = ek_granules(le32_to_cpu(store->super->extent_sectors));
	unsigned int member = ek_entry_member(entry);

	if (!entry)
		return true;
	/* The physical extent + 1 is zero: not mapped, so nothing else may be set. */
	if (!(entry >> EK_ENTRY_PHYS_SHIFT & EK_MAX_MEMBER_EXTENTS))
		return false;
	return member < le32_to_cpu(store->super->nr_members) &&
	       !((u64)ek_entry_valid(entry) >> granules) &&
	       ek_entry_pe(entry) < le32_to_cpu(store->super->member[member].nr_extents);
}

static bool ek_page_intact(const struct ek_store *store, u64 index, const struct ek_page *page)
{
	/* Pairs with smp_wmb() in ek_super_adopt(). */
	smp_rmb();
	return page->magic == cpu_to_le32(EK_PAGE_MAGIC) &&
	       le64_to_cpu(page->index) == index &&
	       le64_to_cpu(page->generation) <= READ_ONCE(store->generation) &&
	       le32_to_cpu(page->csum) == ek_checksum(page, sizeof(*page), &page->csum);
}

/* Entries of a map page are in range, none is beyond the map's end. */
static bool ek_page_entries_valid(const struct ek_store *store, u64 index,
				  const struct ek_page *page)
{
	u64 i, first = index * EK_PAGE_ENTRIES;

	if (index >= ek_map_pages(&store->geo))
		return true;
	for (i = 0; i < EK_PAGE_ENTRIES; i++) {
		u64 entry = le64_to_cpu(page->entry[i]);

		if (entry && (first + i >= store->geo.nr_extents ||
			      !ek_entry_in_range(store, entry)))
			return false;
	}
	return true;
}

/* Is it the page, as far as it tells? */
bool ek_page_verify(const struct ek_store *store, u64 index, const struct ek_page *page)
{
	return ek_page_intact(store, index, page) && ek_page_entries_valid(store, index, page);
}

/**
 * ek_store_page_absent - do the media hold nothing for this page?
 * @store: opened
 * @index: of the page
 *
 * Context: any.
 * Return: true also for an index past the end.
 */
bool ek_store_page_absent(const struct ek_store *store, u64 index)
{
	return index >= store->geo.nr_pages ||
	       ek_table_get(store->table, index) == EK_PAGE_ABSENT;
}
EXPORT_SYMBOL_GPL(ek_store_page_absent);

/**
 * ek_store_read_page - read and check a page
 * @store: opened
 * @index: of the page
 * @page: filled; zeroes when it is absent
 *
 * Falls back to the other area when one fails or what it has is not the page.
 *
 * Context: sleeps; several at once, also beside the committer if it does not write
 * this page.
 * Return: 0; -EUCLEAN: read but damaged; -EIO; -EINVAL: past the end.
 */
int ek_store_read_page(struct ek_store *store, u64 index, struct ek_page *page)
{
	unsigned int area, slot, areas = READ_ONCE(store->areas);
	int r = -EIO;

	if (index >= store->geo.nr_pages)
		return -EINVAL;
	slot = ek_table_get(store->table, index);
	if (slot == EK_PAGE_ABSENT) {
		memset(page, 0, sizeof(*page));
		return 0;
	}
	slot = slot == EK_PAGE_SLOT1;
	for (area = 0; area < EK_MAX_META; area++) {
		if (!(areas & 1u << area))
			continue;
		if (store->io->read(store->ctx, area, ek_page_offset(&store->geo, index, slot),
				    page, sizeof(*page)))
			continue;
		if (ek_page_verify(store, index, page))
			return 0;
		r = -EUCLEAN;
	}
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_read_page);

/* One run of a member's pages, both slots of each; pages of @chunk that don't do are read anew. */
static int ek_load_chunk(struct ek_store *store, struct ek_space *space, u64 last,
			 u64 index, u64 nr, struct ek_page *chunk)
{
	unsigned int area = __ffs(store->areas), state;
	struct ek_page *page;
	int r, err;
	u64 i;

	err = store->io->read(store->ctx, area, ek_page_offset(&store->geo, index, 0), chunk,
			      nr * 2 * EK_BLOCK_SIZE);
	for (i = 0; i < nr; i++) {
		state = ek_table_get(store->table, index + i);
		if (state == EK_PAGE_ABSENT)
			continue;
		page = chunk + 2 * i + (state == EK_PAGE_SLOT1);
		if (err || !ek_page_verify(store, index + i, page)) {
			r = ek_store_read_page(store, index + i, page);
			if (r)
				return r;
		}
		if (ek_space_decode(space, last - (index + i), page))
			return -EUCLEAN;
	}
	return 0;
}

/**
 * ek_store_load_space - read one member's space map from its pages
 * @store: opened
 * @member: whose
 * @space: initialised with the member's extents; its @stored is filled
 *
 * Context: sleeps; before replay hands out records.
 * Return: 0, -EINVAL, -EUCLEAN, -EIO (both areas failed), -ENOMEM.
 */
int ek_store_load_space(struct ek_store *store, unsigned int member, struct ek_space *space)
{
	const u64 chunk_pages = EK_READ_CHUNK / (2 * EK_BLOCK_SIZE);
	u64 last, index, end;
	struct ek_page *chunk;
	u32 pages;
	int r = 0;

	if (member >= le32_to_cpu(store->super->nr_members) ||
	    space->nr != le32_to_cpu(store->super->member[member].nr_extents))
		return -EINVAL;
	pages = ek_space_pages(space->nr);
	last = ek_store_space_index(store, member, 0);
	chunk = kvmalloc(min_t(u64, pages, chunk_pages) * 2 * EK_BLOCK_SIZE, GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;
	index = last + 1 - pages;
	while (index <= last && !r) {
		if (ek_store_page_absent(store, index)) {
			index++;
			continue;
		}
		end = min(index + chunk_pages, last + 1);
		while (ek_store_page_absent(store, end - 1))
			end--;
		r = ek_load_chunk(store, space, last, index, end - index, chunk);
		index = end;
	}
	kvfree(chunk);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_load_space);

/**
 * ek_store_space_index - page index of a member's space map page
 * @store: opened
 * @member: whose
 * @page: which one
 *
 * Context: any.
 * Return: index among all pages; those of a member lie one below the other.
 */
u64 ek_store_space_index(const struct ek_store *store, unsigned int member, u32 page)
{
	return le64_to_cpu(store->super->member[member].bitmap_page) - page;
}
EXPORT_SYMBOL_GPL(ek_store_space_index);

/**
 * ek_store_writable - does the store take writes?
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: 0; -EROFS: made without @write; -EINVAL: not replayed yet; -EIO: a write's
 * fate is unknown on the last area; it refuses until it is opened anew.
 */
int ek_store_writable(const struct ek_store *store)
{
	if (!store->io->write)
		return -EROFS;
	if (store->dead)
		return -EIO;
	return store->replayed ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(ek_store_writable);

/**
 * ek_store_set_policy - change the policy's text
 * @store: opened
 * @policy: as in the table line; written with the next superblock
 *
 * Context: the committer.
 * Return: 0; -EINVAL: too long.
 */
int ek_store_set_policy(struct ek_store *store, const char *policy)
{
	size_t len = strlen(policy);

	if (len >= EK_POLICY_TEXT_SIZE)
		return -EINVAL;
	memset(store->pending->policy, 0, EK_POLICY_TEXT_SIZE);
	memcpy(store->pending->policy, policy, len);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_set_policy);

/**
 * ek_store_set_member_state - change a member's state
 * @store: opened
 * @member: whose
 * @state: enum ek_member_state; written with the next superblock
 *
 * Context: the committer.
 * Return: 0, -EINVAL.
 */
int ek_store_set_member_state(struct ek_store *store, unsigned int member, u32 state)
{
	if (member >= le32_to_cpu(store->super->nr_members) || state > EK_MEMBER_REMOVED)
		return -EINVAL;
	store->pending->member[member].state = cpu_to_le32(state);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_set_member_state);

/**
 * ek_store_super - the superblock as read or last written
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: it, multi-byte fields little-endian; valid until ek_store_close().
 */
const struct ek_super *ek_store_super(const struct ek_store *store)
{
	return store->super;
}
EXPORT_SYMBOL_GPL(ek_store_super);

/**
 * ek_store_stale - areas left out: stale, failed or not there
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: a bit per area.
 */
unsigned int ek_store_stale(const struct ek_store *store)
{
	return READ_ONCE(store->stale);
}
EXPORT_SYMBOL_GPL(ek_store_stale);

/**
 * ek_store_untold - areas left out that may be newer than those in use
 * @store: opened
 *
 * No superblock of them was to be had, and the authority does not call them stale: one that was
 * left out while they went on doesn't know.
 * Context: any; takes no lock.
 * Return: a bit per area.
 */
unsigned int ek_store_untold(const struct ek_store *store)
{
	return store->untold;
}
EXPORT_SYMBOL_GPL(ek_store_untold);

/**
 * ek_store_unread - of the areas that may be newer, those with a superblock that can't be read
 * @store: opened
 *
 * No cut leaves an area so, unlike one without a whole superblock.
 * Context: any; takes no lock.
 * Return: a bit per area.
 */
unsigned int ek_store_unread(const struct ek_store *store)
{
	return store->unread;
}
EXPORT_SYMBOL_GPL(ek_store_unread);

/**
 * ek_store_areas - areas in use
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: a bit per area.
 */
unsigned int ek_store_areas(const struct ek_store *store)
{
	return READ_ONCE(store->areas);
}
EXPORT_SYMBOL_GPL(ek_store_areas);

/**
 * ek_store_generation - the generation in force
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: it, from 1.
 */
u64 ek_store_generation(const struct ek_store *store)
{
	return READ_ONCE(store->generation);
}
EXPORT_SYMBOL_GPL(ek_store_generation);

/**
 * ek_store_journal_used - how much of the journal is used
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: blocks.
 */
u64 ek_store_journal_used(const struct ek_store *store)
{
	return READ_ONCE(store->journal.used);
}
EXPORT_SYMBOL_GPL(ek_store_journal_used);

/**
 * ek_store_journal_blocks - size of the journal
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: blocks.
 */
u64 ek_store_journal_blocks(const struct ek_store *store)
{
	return store->geo.journal_blocks;
}
EXPORT_SYMBOL_GPL(ek_store_journal_blocks);

/**
 * ek_store_close - forget an open store; writes nothing
 * @store: the store, or NULL
 *
 * Context: sleeps; no write is under way (abort a checkpoint first).
 */
void ek_store_close(struct ek_store *store)
{
	if (!store)
		return;
	kfree(store->super);
	kfree(store->pending);
	kvfree(store->table);
	kvfree(store->next);
	kvfree(store->tx);
	kvfree(store->ring);
	kfree(store);
}
EXPORT_SYMBOL_GPL(ek_store_close);
