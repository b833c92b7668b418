// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bad memory: what is known to be is refused from then on, without being touched. The kernel may
 * have taken its pages out of its map, and a store to one is an oops then.
 *
 * The disk's list (badblocks) is what people read and write. It has room for 512 ranges, and a
 * device with more places than that must not forget one: so of memory whose content survives there
 * is a map as well, a bit a page, made before anybody can be told of any. It has all that was found
 * by a read, by the kernel or by the driver beneath; the list has that as far as there is room, and
 * what people wrote to it, who are told when there is none.
 *
 * The map is of the range, and counts from when that is taken. The list is of the data, and begins
 * when it is known where that is; from then on it is not empty if anything of the data is bad,
 * which is all that the plain ways ask for.
 */
#include <linux/badblocks.h>
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "mem2m.h"

#define M2_BAD_LOOK	((u64)SZ_1G)	/* the list takes numbers of sectors as int */

/**
 * m2_bad_init - begin to note what is bad
 * @dev: the device, which has no memory yet
 *
 * Context: process context; sleeps.
 * Return: 0 or -ENOMEM.
 */
int m2_bad_init(struct m2_dev *dev)
{
	return badblocks_init(&dev->bb, 1);
}

/**
 * m2_bad_map - note it of memory that survives, too
 * @dev: the device
 * @bytes: the size of its range, of which nobody can be told yet that it fails
 *
 * Context: process context; sleeps.
 * Return: 0 or -ENOMEM with the device's error set.
 */
int m2_bad_map(struct m2_dev *dev, u64 bytes)
{
	u64 pages = PHYS_PFN(bytes);

	/* no last resort, as for the memory itself */
	dev->bad_map = kvcalloc(BITS_TO_LONGS(pages), sizeof(long),
				GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!dev->bad_map)
		return m2_fail(dev, -ENOMEM, "out of memory");
	dev->bad_pages = pages;
	atomic64_set(&dev->nr_bad, 0);
	return 0;
}

/**
 * m2_bad_exit - nobody wants to know any more
 * @dev: the device, which has no memory any more
 *
 * Context: process context; sleeps.
 */
void m2_bad_exit(struct m2_dev *dev)
{
	mutex_lock(&dev->bad_lock);
	dev->bad_listed = false;
	dev->bad_pages = 0;
	kvfree(dev->bad_map);
	dev->bad_map = NULL;
	mutex_unlock(&dev->bad_lock);
	badblocks_exit(&dev->bb);
}

/* All of the pages: the kernel takes these away when it has found one bad line in them. */
static void m2_map_bad(struct m2_dev *dev, u64 at, u64 bytes)
{
	u64 end = min(PHYS_PFN(round_up(at + bytes, PAGE_SIZE)), dev->bad_pages), page;

	for (page = PHYS_PFN(at); page < end; page++)
		if (!test_and_set_bit(page, dev->bad_map))
			atomic64_inc(&dev->nr_bad);
}

/* The map has what there is no room for. */
static void m2_list_bad(struct m2_dev *dev, u64 offset, u64 bytes)
{
	u64 end = round_up(offset + bytes, PAGE_SIZE), n;

	for (offset = round_down(offset, PAGE_SIZE); offset < end; offset += n) {
		n = min(end - offset, M2_BAD_LOOK);
		badblocks_set(&dev->bb, offset >> SECTOR_SHIFT, n >> SECTOR_SHIFT, 1);
	}
}

/**
 * m2_bad - from now on this is refused, without being touched
 * @dev: the device, with its list of what is bad
 * @offset: first byte of its data
 * @bytes: how many
 *
 * Context: any.
 */
void m2_bad(struct m2_dev *dev, u64 offset, u64 bytes)
{
	pr_err_ratelimited("mem2m: %s: bad memory at byte %llu\n", dev->name, offset);
	m2_map_bad(dev, dev->label.data_offset + offset, bytes);
	m2_list_bad(dev, offset, bytes);
}

/**
 * m2_bad_begin - it is known where the data is: begin the list
 * @dev: with its store and without a disk
 *
 * Context: process context; sleeps.
 */
void m2_bad_begin(struct m2_dev *dev)
{
	u64 begin = dev->label.data_offset, page = PHYS_PFN(begin);

	mutex_lock(&dev->bad_lock);
	for (;; page++) {
		page = find_next_bit(dev->bad_map, dev->bad_pages, page);
		if (page >= dev->bad_pages)
			break;
		m2_list_bad(dev, PFN_PHYS(page) - begin, PAGE_SIZE);
	}
	dev->bad_listed = true;
	mutex_unlock(&dev->bad_lock);
	if (dev->backing->learn)
		dev->backing->learn(dev);
}

/**
 * m2_range_good - how much of it is good, from its first byte on?
 * @dev: the device
 * @at: first byte of its range
 * @len: how many
 *
 * As far as it was found by itself: what people know is in the list alone.
 * Context: any.
 * Return: bytes; @len: nothing of it is known to be bad.
 */
u64 m2_range_good(const struct m2_dev *dev, u64 at, u64 len)
{
	u64 end = min(PHYS_PFN(at + len + PAGE_SIZE - 1), dev->bad_pages), page = PHYS_PFN(at);

	if (page >= end)
		return len;
	page = find_next_bit(dev->bad_map, end, page);
	if (page >= end)
		return len;
	return page == PHYS_PFN(at) ? 0 : PFN_PHYS(page) - at;
}

/**
 * m2_good - how much of it is good, from its first byte on?
 * @dev: the device
 * @offset: first byte of its data, or of what is behind it and it may grow to
 * @len: how many
 *
 * Context: any.
 * Return: bytes; @len: nothing of it is known to be bad.
 */
u64 m2_good(struct m2_dev *dev, u64 offset, u64 len)
{
	u64 at, n;
	sector_t bad;
	int nr_bad;

	len = m2_range_good(dev, dev->label.data_offset + offset, len);
	for (at = offset; dev->bb.count && at < offset + len; at += n) {
		n = min(offset + len - at, M2_BAD_LOOK);
		if (badblocks_check(&dev->bb, at >> SECTOR_SHIFT, n >> SECTOR_SHIFT, &bad, &nr_bad))
			return max((u64)bad << SECTOR_SHIFT, at) - offset;
	}
	return len;
}

/* A copy of the label, which is not to be written any more. */
static void m2_label_failed(struct m2_dev *dev, u64 offset, u64 end)
{
	u64 at;

	for (at = 0; at <= M2_LABEL_STRIDE; at += M2_LABEL_STRIDE)
		if (offset < at + sizeof(struct m2_label) && end > at)
			WRITE_ONCE(dev->label_bad, at);
}

/*
 * Who has a file system on it is told, too, once there is a disk, and answers: it alone knows all
 * who have a page of several files mapped. The struct page says of that only that there are some.
 *
 * What holds the memory answers for itself alone: -ENXIO where its partition isn't, and -EIO
 * while it is being mounted. Who has the page mapped by another one (ext4 maps without holding)
 * is not known to it, so the kernel has to look for them by the struct page. It must not by one
 * with such a mark, which it would follow as a pointer. -EIO may be about one of these: the
 * file system knew whose it is, but has shut down, or its records can't be read. What it has
 * seen to is 0, and stays.
 */
static int m2_answer(const struct page *page, int answer)
{
	if (answer != -ENXIO && answer != -EIO)
		return answer;
	if ((unsigned long)READ_ONCE(page->mapping) & PAGE_MAPPING_FLAGS)
		return answer;
	return -EOPNOTSUPP;
}

static int m2_data_failed(struct m2_dev *dev, u64 offset, u64 end, int flags)
{
	u64 begin = dev->label.data_offset;

	offset = max(offset, begin) - begin;
	end = min(max(end, begin), dev->label.range_bytes) - begin;	/* it may grow to that */
	if (offset >= end)
		return -EOPNOTSUPP;
	m2_bad(dev, offset, end - offset);
	end = min(end, dev->store.bytes);
	if (!dev->dax || offset >= end)
		return -EOPNOTSUPP;
	return m2_answer(virt_to_page(dev->store.unit[0] + offset),
			 dax_holder_notify_failure(dev->dax, offset, end - offset, flags));
}

/**
 * m2_failed - the kernel has found bad memory, and is about to take it out of its map
 * @dev: the device, not held by anything: it may be on its way in or out
 * @offset: first byte of its memory
 * @bytes: how many
 * @flags: MF_*
 *
 * Context: process context; sleeps.
 * Return: what a file system on it says; -EOPNOTSUPP: there is none that saw to who has it mapped,
 * and the kernel may.
 */
int m2_failed(struct m2_dev *dev, u64 offset, u64 bytes, int flags)
{
	int err = -EOPNOTSUPP;

	mutex_lock(&dev->bad_lock);
	m2_map_bad(dev, offset, bytes);	/* before: see m2_look_for_labels() */
	m2_label_failed(dev, offset, offset + bytes);
	if (dev->bad_listed)
		err = m2_data_failed(dev, offset, offset + bytes, flags);
	mutex_unlock(&dev->bad_lock);
	return err;
}

/**
 * m2_goes_away - tell a file system that all of its memory is about to be taken away
 * @dev: the device, whose memory is still there, and which still does bios
 * @flags: MF_*
 *
 * Those who map its files lose their mappings now, rather than find nothing behind them; what it
 * writes meanwhile is lost with the rest, if that is lost.
 * Context: process context; sleeps for as long as the file system takes.
 */
void m2_goes_away(struct m2_dev *dev, int flags)
{
	mutex_lock(&dev->bad_lock);
	if (dev->dax)
		dax_holder_notify_failure(dev->dax, 0, U64_MAX, flags);
	mutex_unlock(&dev->bad_lock);
}
