// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: mirrors made equal again
 *
 * An area that was left out (stale, replaced, unreadable) gets all that the other has, in an order
 * in which no cut leaves it half believed:
 *
 *	superblocks of the area zeroed		from here it is no pool; the other one, which
 *						names it stale, is
 *	pages, journal, page table; flush	the same
 *	superblock of the next generation,	written to one only: the authority still names the
 *	on both, without the stale mark		area stale, or the area has none: alone it goes on
 *						to both: mirrors again
 *
 * The copy is not begun if a page of the other area is damaged: the area that was left out may be
 * the last to have it, for somebody who knows more than this does.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include "store_internal.h"

static int ek_resync_write(struct ek_store *store, unsigned int area, u64 offset, const void *buf,
			   size_t len)
{
	return ek_areas_write(store, 1u << area, offset, buf, len, 0) ? -EIO : 0;
}

static int ek_resync_zero(struct ek_store *store, unsigned int area, u64 offset, u64 len, void *buf)
{
	int r = 0;

	memset(buf, 0, EK_READ_CHUNK);
	while (len && !r) {
		size_t n = min_t(u64, len, EK_READ_CHUNK);

		r = ek_resync_write(store, area, offset, buf, n);
		offset += n;
		len -= n;
	}
	return r;
}

static int ek_resync_pages(struct ek_store *store, unsigned int area, struct ek_page *page)
{
	u64 i;
	int r = 0;

	for (i = 0; !r && i < store->geo.nr_pages; i++) {
		unsigned int state = ek_table_get(store->table, i);

		if (state == EK_PAGE_ABSENT)
			continue;
		r = ek_store_read_page(store, i, page);
		if (!r)
			r = ek_resync_write(store, area,
					    ek_page_offset(&store->geo, i, state == EK_PAGE_SLOT1),
					    page, sizeof(*page));
	}
	return r;
}

/* Are all pages to be had?  If not, what the area that was left out has is worth keeping. */
static int ek_resync_allowed(struct ek_store *store, struct ek_page *page)
{
	u64 i;
	int r = 0;

	for (i = 0; !r && i < store->geo.nr_pages; i++)
		r = ek_store_read_page(store, i, page);
	return r;
}

/* The blocks that count, then zeroes: what an earlier life left there proves nothing then. */
static int ek_resync_journal(struct ek_store *store, unsigned int area, void *buf)
{
	u64 at = store->geo.journal_offset, used = store->journal.used * EK_BLOCK_SIZE, done;
	unsigned int from = __ffs(store->areas);
	int r = 0;

	for (done = 0; !r && done < used;) {
		size_t n = min_t(u64, used - done, EK_READ_CHUNK);

		r = store->io->read(store->ctx, from, at + done, buf, n);
		if (!r)
			r = ek_resync_write(store, area, at + done, buf, n);
		done += n;
	}
	if (r)
		return r;
	return ek_resync_zero(store, area, at + used,
			      store->geo.journal_blocks * EK_BLOCK_SIZE - used, buf);
}

static int ek_resync_all(struct ek_store *store, unsigned int area, void *buf)
{
	unsigned int bit = 1u << area;
	int r;

	r = ek_resync_zero(store, area, EK_SUPER0_OFFSET, EK_TABLES_OFFSET - EK_SUPER0_OFFSET, buf);
	if (!r && ek_areas_flush(store, bit))
		r = -EIO;
	if (!r)
		r = ek_resync_pages(store, area, buf);
	if (!r)
		r = ek_resync_journal(store, area, buf);
	if (!r && ek_areas_flush(store, bit))
		r = -EIO;
	return r;
}

/**
 * ek_store_resync - take an area that was left out in again
 * @store: replayed, no checkpoint under way
 * @area: which one; as large as the others
 *
 * Context: the committer; sleeps, for as long as it takes to copy all of the metadata.
 * Return: 0: it is a mirror again; -EINVAL: it is one already, or is not of the pool; -EBUSY;
 * -EUCLEAN: a page is damaged, nothing was done; an I/O error: it is left out as
 * before, unless ek_store_writable() says worse.
 */
int ek_store_resync(struct ek_store *store, unsigned int area)
{
	unsigned int bit = 1u << area;
	int r = ek_store_writable(store);
	void *buf;

	if (r)
		return r;
	if (store->ckpt)
		return -EBUSY;
	if (area >= le32_to_cpu(store->super->nr_meta) || store->areas & bit)
		return -EINVAL;
	buf = kvmalloc(EK_READ_CHUNK, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	r = ek_resync_allowed(store, buf);
	/* The other one must name it stale before it is touched. */
	if (!r && store->stale != le32_to_cpu(store->super->meta_stale))
		r = ek_store_update_super(store, 0, 0);
	if (!r)
		r = ek_resync_all(store, area, buf);
	kvfree(buf);
	if (r)
		return r;
	store->stale &= ~bit;
	WRITE_ONCE(store->areas, store->areas | bit);
	r = ek_store_update_super(store, 0, 0);
	if (r && !store->dead)
		ek_areas_drop(store, bit);
	return !r && !(store->areas & bit) ? -EIO : r;
}
EXPORT_SYMBOL_GPL(ek_store_resync);

/*
 * The page as the area has it that wrote it last: a disk that dropped a write has an older one in
 * the same place, whole.  Two that are as old and differ are both left: nothing tells which counts.
 */
static int ek_newest_page(struct ek_store *store, u64 index, struct ek_page *good,
			  struct ek_page *page)
{
	unsigned int slot = ek_table_get(store->table, index) == EK_PAGE_SLOT1;
	u64 offset = ek_page_offset(&store->geo, index, slot);
	unsigned int area;
	int r = -ENODATA;

	for (area = 0; area < EK_MAX_META; area++) {
		if (!(store->areas & 1u << area) ||
		    store->io->read(store->ctx, area, offset, page, sizeof(*page)) ||
		    !ek_page_verify(store, index, page))
			continue;
		if (!r && page->generation == good->generation && memcmp(page, good, sizeof(*page)))
			return -EUCLEAN;
		if (!r && le64_to_cpu(page->generation) <= le64_to_cpu(good->generation))
			continue;
		memcpy(good, page, sizeof(*page));
		r = 0;
	}
	return r;
}

/* 1: the page, as this area has it, is not the one that counts, and was written anew. */
static int ek_mend_page(struct ek_store *store, u64 index, unsigned int area, struct ek_page *good,
			struct ek_page *page)
{
	unsigned int slot = ek_table_get(store->table, index) == EK_PAGE_SLOT1;
	u64 offset = ek_page_offset(&store->geo, index, slot);
	int r;

	if (!store->io->read(store->ctx, area, offset, page, sizeof(*page)) &&
	    !memcmp(page, good, sizeof(*page)))
		return 0;
	r = ek_resync_write(store, area, offset, good, sizeof(*good));
	return r ? r : 1;
}

/**
 * ek_store_mend_pages - pages that one area has and the other has not, damaged, or older
 * @store: replayed, no checkpoint under way
 * @mended: how many were written
 *
 * A page is overwritten where it lies: it is of no use as it is.
 * Context: the committer; sleeps.
 * Return: 0, also when a page is damaged on all areas: it stays so; -EUCLEAN: two pages
 * contradict each other; -ENOMEM; an I/O error.
 */
int ek_store_mend_pages(struct ek_store *store, u64 *mended)
{
	struct ek_page *page = kvmalloc(2 * sizeof(*page), GFP_KERNEL);
	unsigned int area;
	int r = ek_store_writable(store);
	u64 i;

	*mended = 0;
	if (!page)
		return -ENOMEM;
	for (i = 0; r >= 0 && i < store->geo.nr_pages; i++) {
		if (ek_table_get(store->table, i) == EK_PAGE_ABSENT)
			continue;
		r = ek_newest_page(store, i, page, page + 1);
		if (r == -ENODATA) {
			r = 0;
			continue;
		}
		for (area = 0; r >= 0 && area < EK_MAX_META; area++) {
			if (!(store->areas & 1u << area))
				continue;
			r = ek_mend_page(store, i, area, page, page + 1);
			*mended += r > 0;
		}
	}
	if (r >= 0)
		r = ek_areas_flush(store, store->areas) ? -EIO : 0;
	kvfree(page);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_mend_pages);
