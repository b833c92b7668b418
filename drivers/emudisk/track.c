// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: tracked writes
 *
 * A device with cache=through or cache=volatile, or one that the recorder watches, keeps its recent
 * writes as entries that hold the pages they made. dev->pages is what reads see; dev->durable is
 * what a power cut leaves at least; dev->pending lists what lies between, in the order in which it
 * was applied. An entry is durable once
 *
 *	it completed and was FUA (all writes are when the cache is not volatile), or
 *	it completed before a flush was submitted that has completed since (emu_dev.flushed_seq).
 *
 * Entries are folded into dev->durable strictly from the head, so that an older write never lands
 * on a newer one. A volatile cache larger than cache_size destages its oldest entries by itself.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "emudisk.h"

struct emu_entry *emu_entry_alloc(struct emu_dev *dev, u8 op, u64 sector, u32 sectors)
{
	unsigned int nr = 0;
	struct emu_entry *entry;

	if (op == EMU_WRITE && sectors)
		nr = (sector + sectors - 1) / EMU_PAGE_SECTORS - sector / EMU_PAGE_SECTORS + 1;
	entry = kvzalloc(struct_size(entry, pages, nr), dev ? EMU_GFP : GFP_KERNEL);
	if (!entry)
		return NULL;
	refcount_set(&entry->refs, 1);
	INIT_LIST_HEAD(&entry->pend);
	INIT_LIST_HEAD(&entry->log);
	entry->dev = dev;
	entry->op = op;
	entry->sector = sector;
	entry->sectors = sectors;
	entry->nr_pages = nr;
	return entry;
}

void emu_entry_put(struct emu_entry *entry)
{
	unsigned int i;

	if (!entry || !refcount_dec_and_test(&entry->refs))
		return;
	for (i = 0; i < entry->nr_pages; i++)
		emu_page_put(entry->dev, entry->pages[i]);
	kfree(entry->text);
	kvfree(entry);
}

/* The bytes of its i-th page that an entry covers. */
static unsigned int emu_entry_span(const struct emu_entry *entry, unsigned int i,
				   unsigned int *offset)
{
	u64 page = (entry->sector / EMU_PAGE_SECTORS + i) * EMU_PAGE_SECTORS;
	u64 first = max_t(u64, entry->sector, page);
	u64 last = min_t(u64, entry->sector + entry->sectors, page + EMU_PAGE_SECTORS);

	*offset = (first - page) << SECTOR_SHIFT;
	return (last - first) << SECTOR_SHIFT;
}

static int emu_track_prepare(struct emu_dev *dev, struct emu_entry *entry)
{
	pgoff_t index = entry->sector / EMU_PAGE_SECTORS;
	unsigned int i, offset, len;

	for (i = 0; i < entry->nr_pages; i++) {
		struct page *old = NULL, *page;

		len = emu_entry_span(entry, i, &offset);
		if (len < PAGE_SIZE)
			old = xa_load(&dev->pages, index + i);
		page = emu_page_alloc(dev, EMU_GFP, len < PAGE_SIZE && !old);
		if (!page)
			return -ENOMEM;
		if (old)
			emu_copy(page_address(page), page_address(old), PAGE_SIZE);
		entry->pages[i] = page;
	}
	return 0;
}

static void emu_track_fill(struct emu_entry *entry, struct bio *bio)
{
	pgoff_t first = entry->sector / EMU_PAGE_SECTORS;
	u64 sector = entry->sector;
	struct bvec_iter iter;
	struct bio_vec bvec;

	bio_for_each_segment(bvec, bio, iter) {
		u8 *buf = bvec_kmap_local(&bvec), *at = buf;
		unsigned int len = bvec.bv_len;

		while (len) {
			unsigned int offset = (sector % EMU_PAGE_SECTORS) << SECTOR_SHIFT;
			unsigned int n = min_t(unsigned int, len, PAGE_SIZE - offset);
			struct page *page = entry->pages[sector / EMU_PAGE_SECTORS - first];

			emu_copy(page_address(page) + offset, at, n);
			sector += n >> SECTOR_SHIFT;
			at += n;
			len -= n;
		}
		kunmap_local(buf);
	}
}

/* Where nothing but zeroes results there is to be no page, as an untracked device has it. */
static void emu_track_thin(struct emu_dev *dev, struct emu_entry *entry)
{
	unsigned int i;

	for (i = 0; i < entry->nr_pages; i++) {
		if (memchr_inv(page_address(entry->pages[i]), 0, PAGE_SIZE))
			continue;
		emu_page_put(dev, entry->pages[i]);
		entry->pages[i] = NULL;
	}
}

/**
 * emu_track_write - apply a write to the content such that it can be undone
 * @dev: the device
 * @bio: the data
 * @entry: made for it; holds the resulting pages afterwards
 *
 * Context: write_mutex held; may sleep.
 * Return: 0, or -ENOMEM with the content undefined where the write would have gone.
 */
int emu_track_write(struct emu_dev *dev, struct bio *bio, struct emu_entry *entry)
{
	pgoff_t index = entry->sector / EMU_PAGE_SECTORS;
	unsigned int i;
	int err;

	err = emu_track_prepare(dev, entry);
	if (err)
		return err;
	emu_track_fill(entry, bio);
	emu_track_thin(dev, entry);
	for (i = 0; i < entry->nr_pages; i++) {
		err = emu_pages_put(dev, &dev->pages, index + i, entry->pages[i]);
		if (err)
			return err;
	}
	return 0;
}

bool emu_survives(const struct emu_survival *survival, u64 *rng)
{
	switch (survival->keep) {
	case EMU_KEEP_ALL:
		return true;
	case EMU_KEEP_RANDOM:
		return emu_random(rng) & 1;
	default:
		return false;
	}
}

static int emu_apply_torn(struct emu_dev *dev, struct xarray *xa, pgoff_t index, struct page *page,
			  unsigned int offset, unsigned int len, u64 *rng)
{
	unsigned int end = offset + len, n = min_t(unsigned int, dev->lbs, PAGE_SIZE);
	int err = 0;

	for (; offset < end && !err; offset += n)
		if (emu_random(rng) & 1)
			err = emu_store_merge(dev, xa, index, page, offset, n);
	return err;
}

/**
 * emu_track_apply - put an entry's effect into an array
 * @dev: the device
 * @xa: its pages or durable array
 * @entry: a write, discard or write-zeroes
 * @tear: when its tear flag is set, each logical block of a write makes it or not
 * @rng: for tearing
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int emu_track_apply(struct emu_dev *dev, struct xarray *xa, struct emu_entry *entry,
		    const struct emu_survival *tear, u64 *rng)
{
	pgoff_t index = entry->sector / EMU_PAGE_SECTORS;
	unsigned int i, offset, len;
	int err;

	if (entry->op == EMU_DISCARD || entry->op == EMU_ZEROES)
		return emu_store_erase(dev, xa, entry->sector, entry->sectors);
	for (i = 0; i < entry->nr_pages; i++) {
		len = emu_entry_span(entry, i, &offset);
		if (tear && tear->tear)
			err = emu_apply_torn(dev, xa, index + i, entry->pages[i], offset, len, rng);
		else
			err = emu_store_merge(dev, xa, index + i, entry->pages[i], offset, len);
		if (err)
			return err;
	}
	return 0;
}

/* Caller holds write_mutex and lock. */
void emu_track_queue(struct emu_dev *dev, struct emu_entry *entry)
{
	if (dev->cache == EMU_CACHE_NONE)
		return;
	refcount_inc(&entry->refs);
	list_add_tail(&entry->pend, &dev->pending);
	dev->pending_bytes += (u64)entry->nr_pages << PAGE_SHIFT;
}

static bool emu_entry_durable(struct emu_dev *dev, struct emu_entry *entry)
{
	return entry->complete && (entry->fua || entry->complete < dev->flushed_seq);
}

static struct emu_entry *emu_pending_first(struct emu_dev *dev)
{
	struct emu_entry *entry = NULL;

	spin_lock_irq(&dev->lock);
	if (!list_empty(&dev->pending)) {
		entry = list_first_entry(&dev->pending, struct emu_entry, pend);
		if (!emu_entry_durable(dev, entry) &&
		    !(entry->complete && dev->pending_bytes > dev->cache_size))
			entry = NULL;
	}
	spin_unlock_irq(&dev->lock);
	return entry;
}

static void emu_pending_del(struct emu_dev *dev, struct emu_entry *entry)
{
	spin_lock_irq(&dev->lock);
	list_del_init(&entry->pend);
	dev->pending_bytes -= (u64)entry->nr_pages << PAGE_SHIFT;
	spin_unlock_irq(&dev->lock);
	emu_entry_put(entry);
}

/**
 * emu_track_fold - move what is durable by now from the pending list to the durable array
 * @dev: the device
 *
 * What there is no memory for stays where it is until the next call.
 *
 * Context: write_mutex held; may sleep.
 */
void emu_track_fold(struct emu_dev *dev)
{
	struct emu_entry *entry;

	while ((entry = emu_pending_first(dev))) {
		if (emu_track_apply(dev, &dev->durable, entry, NULL, NULL))
			break;
		emu_pending_del(dev, entry);
	}
}

/* Make reads see what is durable, wherever an entry went. */
static int emu_entry_revert(struct emu_dev *dev, struct emu_entry *entry)
{
	unsigned long first = entry->sector / EMU_PAGE_SECTORS, index;
	unsigned long last = (entry->sector + entry->sectors - 1) / EMU_PAGE_SECTORS;
	struct page *page;
	int err;

	xa_for_each_range(&dev->pages, index, page, first, last) {
		err = emu_pages_put(dev, &dev->pages, index, xa_load(&dev->durable, index));
		if (err)
			return err;
	}
	xa_for_each_range(&dev->durable, index, page, first, last) {
		err = emu_pages_put(dev, &dev->pages, index, page);
		if (err)
			return err;
	}
	return 0;
}

/* Disks of one seed, which all have unless told otherwise, are to lose unlike writes. */
static u64 emu_cut_seed(const struct emu_dev *dev, const struct emu_survival *survival)
{
	const char *c;
	u64 hash = 0;

	for (c = dev->name; *c; c++) {
		hash ^= (u8)*c;
		hash = emu_random(&hash);
	}
	return survival->seed ^ dev->seed ^ hash;
}

/**
 * emu_track_cut - reduce the content to what survives the power cut
 * @dev: the device; off, nothing under way
 * @survival: which of the writes that are not durable make it all the same
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int emu_track_cut(struct emu_dev *dev, const struct emu_survival *survival)
{
	u64 rng = emu_cut_seed(dev, survival);
	struct emu_entry *entry;
	int err = 0;

	list_for_each_entry(entry, &dev->pending, pend) {
		bool durable = emu_entry_durable(dev, entry);
		u64 own = emu_random(&rng);

		/* submit is 0 while the flush before it is not over */
		if (!durable && (!entry->submit || !emu_survives(survival, &own)))
			continue;
		err = emu_track_apply(dev, &dev->durable, entry, durable ? NULL : survival, &own);
		if (err)
			return err;
	}
	list_for_each_entry(entry, &dev->pending, pend) {
		err = emu_entry_revert(dev, entry);
		if (err)
			return err;
	}
	emu_track_forget(dev);
	return 0;
}

/**
 * emu_track_forget - drop the pending list
 * @dev: the device, nothing under way
 *
 * Context: write_mutex held; may sleep.
 */
void emu_track_forget(struct emu_dev *dev)
{
	while (!list_empty(&dev->pending))
		emu_pending_del(dev, list_first_entry(&dev->pending, struct emu_entry, pend));
}

/**
 * emu_track_settle - take what reads see for durable
 * @dev: the device, nothing under way
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int emu_track_settle(struct emu_dev *dev)
{
	struct emu_entry *entry;
	int err;

	list_for_each_entry(entry, &dev->pending, pend) {
		err = emu_track_apply(dev, &dev->durable, entry, NULL, NULL);
		if (err)
			return err;
	}
	emu_track_forget(dev);
	return 0;
}
