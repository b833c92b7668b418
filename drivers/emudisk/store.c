// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of an emulated disk: an xarray of pages; what was never written has none.
 *
 * Pages may be in several arrays and log entries at once; page->private counts the references.
 * While a device is tracked no page is ever changed, a writer puts a new one in its place; while it
 * is not, nothing is shared and writes go in place. The last put frees a page after a grace
 * period, so readers need no lock.
 */
#include <linux/highmem.h>

#include "emudisk.h"

/*
 * Out of line on purpose: where gcc sees the call it may turn into a byte-wise string copy.
 * @len is a multiple of the sector size.
 */
noinline void emu_copy(void *dst, const void *src, size_t len)
{
#ifdef CONFIG_X86_64
	size_t words = len / 8;

	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (words) : : "memory");
#else
	memcpy(dst, src, len);
#endif
}

static atomic_long_t *emu_page_refs(struct page *page)
{
	BUILD_BUG_ON(sizeof(page->private) != sizeof(atomic_long_t));
	return (atomic_long_t *)&page->private;
}

struct page *emu_page_alloc(struct emu_dev *dev, gfp_t gfp, bool zero)
{
	struct page *page = alloc_page(gfp | __GFP_NOWARN | (zero ? __GFP_ZERO : 0));

	if (!page)
		return NULL;
	atomic_long_set(emu_page_refs(page), 1);
	atomic_long_inc(&dev->nr_pages);
	return page;
}

struct page *emu_page_get(struct page *page)
{
	if (page)
		atomic_long_inc(emu_page_refs(page));
	return page;
}

static void emu_page_free_rcu(struct rcu_head *head)
{
	struct page *page = container_of(head, struct page, rcu_head);

	set_page_private(page, 0);
	__free_page(page);
}

void emu_page_put(struct emu_dev *dev, struct page *page)
{
	if (!page || !atomic_long_dec_and_test(emu_page_refs(page)))
		return;
	atomic_long_dec(&dev->nr_pages);
	call_rcu(&page->rcu_head, emu_page_free_rcu);
}

/* The recorder's base holds a value where there was no page. */
static int emu_base_save(struct emu_dev *dev, pgoff_t index)
{
	struct page *old;
	void *ret;

	if (xa_load(&dev->base, index))
		return 0;
	old = xa_load(&dev->pages, index);
	ret = xa_store(&dev->base, index, old ? (void *)old : xa_mk_value(0), EMU_GFP);
	if (xa_is_err(ret))
		return xa_err(ret);
	emu_page_get(old);
	return 0;
}

/**
 * emu_pages_put - change which page is at an index
 * @dev: the device
 * @xa: its pages or durable array
 * @index: page number
 * @page: new page, a reference to which is taken, or NULL
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM, with nothing changed.
 */
int emu_pages_put(struct emu_dev *dev, struct xarray *xa, pgoff_t index, struct page *page)
{
	struct page *old;
	int err;

	if (xa == &dev->pages && dev->base_armed) {
		err = emu_base_save(dev, index);
		if (err)
			return err;
	}
	if (page)
		old = xa_store(xa, index, page, EMU_GFP);
	else
		old = xa_erase(xa, index);
	if (xa_is_err(old))
		return xa_err(old);
	emu_page_get(page);
	emu_page_put(dev, old);
	return 0;
}

void emu_pages_destroy(struct emu_dev *dev, struct xarray *xa)
{
	unsigned long index;
	void *entry;

	xa_for_each(xa, index, entry) {
		if (!xa_is_value(entry))
			emu_page_put(dev, entry);
		cond_resched();
	}
	xa_destroy(xa);
}

/* Copy one bio segment, which may straddle pages, out of the store. */
static void emu_read_segment(struct emu_dev *dev, u64 sector, u8 *buf, unsigned int len)
{
	while (len) {
		unsigned int offset = (sector & (EMU_PAGE_SECTORS - 1)) << SECTOR_SHIFT;
		unsigned int n = min_t(unsigned int, len, PAGE_SIZE - offset);
		struct page *page = xa_load(&dev->pages, sector / EMU_PAGE_SECTORS);

		if (page)
			emu_copy(buf, page_address(page) + offset, n);
		else
			memset(buf, 0, n);
		sector += n >> SECTOR_SHIFT;
		buf += n;
		len -= n;
	}
}

/**
 * emu_store_read - fill a bio from the content
 * @dev: the device
 * @bio: a read
 *
 * Context: any process context; takes no lock.
 */
void emu_store_read(struct emu_dev *dev, struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector;
	struct bvec_iter iter;
	struct bio_vec bvec;

	bio_for_each_segment(bvec, bio, iter) {
		u8 *buf = bvec_kmap_local(&bvec);

		rcu_read_lock();
		emu_read_segment(dev, sector, buf, bvec.bv_len);
		rcu_read_unlock();
		flush_dcache_page(bvec.bv_page);
		kunmap_local(buf);
		sector += bvec.bv_len >> SECTOR_SHIFT;
	}
}

/* In place, where the page exists and nobody else has it. */
static bool emu_write_in_place(struct emu_dev *dev, u64 sector, const u8 *buf, unsigned int n)
{
	unsigned int offset = (sector & (EMU_PAGE_SECTORS - 1)) << SECTOR_SHIFT;
	struct page *page = NULL;

	rcu_read_lock();
	if (!READ_ONCE(dev->tracked))
		page = xa_load(&dev->pages, sector / EMU_PAGE_SECTORS);
	if (page)
		emu_copy(page_address(page) + offset, buf, n);
	rcu_read_unlock();
	return page;
}

static int emu_write_new(struct emu_dev *dev, u64 sector, const u8 *buf, unsigned int n)
{
	unsigned int offset = (sector & (EMU_PAGE_SECTORS - 1)) << SECTOR_SHIFT;
	pgoff_t index = sector / EMU_PAGE_SECTORS;
	struct page *page, *old;
	int err = 0;

	mutex_lock(&dev->write_mutex);
	old = xa_load(&dev->pages, index);
	if (!old && !memchr_inv(buf, 0, n))
		goto unlock;
	if (old && !dev->tracked) {
		/* others may be writing to the page: replacing it would lose their data */
		emu_copy(page_address(old) + offset, buf, n);
		goto unlock;
	}
	err = -ENOMEM;
	page = emu_page_alloc(dev, EMU_GFP, !old && n < PAGE_SIZE);
	if (!page)
		goto unlock;
	if (old && n < PAGE_SIZE)
		emu_copy(page_address(page), page_address(old), PAGE_SIZE);
	emu_copy(page_address(page) + offset, buf, n);
	err = emu_pages_put(dev, &dev->pages, index, page);
	emu_page_put(dev, page);
unlock:
	mutex_unlock(&dev->write_mutex);
	return err;
}

/**
 * emu_store_write - put an untracked bio's data into the content
 * @dev: the device
 * @bio: a write
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int emu_store_write(struct emu_dev *dev, struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector;
	struct bvec_iter iter;
	struct bio_vec bvec;
	int err = 0;

	bio_for_each_segment(bvec, bio, iter) {
		u8 *buf = bvec_kmap_local(&bvec), *at = buf;
		unsigned int len = bvec.bv_len;

		while (len && !err) {
			unsigned int n = PAGE_SIZE -
				((sector & (EMU_PAGE_SECTORS - 1)) << SECTOR_SHIFT);

			n = min(n, len);
			if (!emu_write_in_place(dev, sector, at, n))
				err = emu_write_new(dev, sector, at, n);
			sector += n >> SECTOR_SHIFT;
			at += n;
			len -= n;
		}
		kunmap_local(buf);
		if (err)
			break;
	}
	return err;
}

/**
 * emu_store_merge - put a part of a page over what is in an array
 * @dev: the device
 * @xa: its pages or durable array
 * @index: page number
 * @page: source, or NULL for zeroes
 * @offset: first byte
 * @len: bytes
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int emu_store_merge(struct emu_dev *dev, struct xarray *xa, pgoff_t index, struct page *page,
		    unsigned int offset, unsigned int len)
{
	struct page *old = xa_load(xa, index), *new;
	int err;

	if (len == PAGE_SIZE)
		return page || old ? emu_pages_put(dev, xa, index, page) : 0;
	if (!old && !page)
		return 0;
	if (!page && !dev->tracked) {
		memset(page_address(old) + offset, 0, len);
		return 0;
	}
	new = emu_page_alloc(dev, EMU_GFP, !old);
	if (!new)
		return -ENOMEM;
	if (old)
		emu_copy(page_address(new), page_address(old), PAGE_SIZE);
	if (page)
		emu_copy(page_address(new) + offset, page_address(page) + offset, len);
	else
		memset(page_address(new) + offset, 0, len);
	err = emu_pages_put(dev, xa, index, new);
	emu_page_put(dev, new);
	return err;
}

/**
 * emu_store_erase - make a range read as zeroes, freeing what is wholly covered
 * @dev: the device
 * @xa: its pages or durable array
 * @sector: first sector
 * @sectors: how many
 *
 * Context: write_mutex held; may sleep.
 * Return: 0 or -ENOMEM with the range erased in part.
 */
int emu_store_erase(struct emu_dev *dev, struct xarray *xa, u64 sector, u32 sectors)
{
	u64 end = sector + sectors;
	unsigned long index;
	void *entry;
	int err;

	if (!sectors)
		return 0;
	xa_for_each_range(xa, index, entry, sector / EMU_PAGE_SECTORS,
			  (end - 1) / EMU_PAGE_SECTORS) {
		u64 first = max_t(u64, sector, (u64)index * EMU_PAGE_SECTORS);
		u64 last = min_t(u64, end, (u64)(index + 1) * EMU_PAGE_SECTORS);

		err = emu_store_merge(dev, xa, index, NULL,
				      (first % EMU_PAGE_SECTORS) << SECTOR_SHIFT,
				      (last - first) << SECTOR_SHIFT);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}
