// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory whose content survives: what is in a range, its label, its first zeroing. The range is one
 * piece of addresses, so the store has one unit.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uuid.h>
#include <evenkeel/interrupt.h>
#include <evenkeel/scm.h>

#include "head.h"
#include "mem2m.h"
#include "order.h"

#define M2_LOOK_HEAD	SZ_1M	/* what has to be blank: file systems begin and end here */
#define M2_LOOK_TAIL	SZ_64K
#define M2_LOOK_CHUNK	M2_HEAD_BYTES
#define M2_ZERO_STEP	((u64)SZ_64M)	/* between two looks for a signal */

/* The memory may go away, and nobody else's may while it is entered: not for long. */
static int m2_enter(struct m2_dev *dev, int *cookie)
{
	if (!dev->backing->enter || dev->backing->enter(dev, cookie))
		return 0;
	return m2_fail(dev, -ENXIO, "its memory has gone");
}

static void m2_leave(struct m2_dev *dev, int cookie)
{
	if (dev->backing->leave)
		dev->backing->leave(dev, cookie);
}

/* What is fenced may still be in a host's page cache: the device beneath knows. */
static int m2_settle(void *ctx)
{
	struct m2_dev *dev = ctx;
	int err = dev->bdev ? blkdev_issue_flush(dev->bdev) : 0;

	return err ? m2_fail(dev, err, "the device beneath can't flush") : 0;
}

static int m2_label_writable(struct m2_dev *dev)
{
	u64 bad = READ_ONCE(dev->label_bad);

	if (bad == U64_MAX)
		return 0;
	return m2_fail(dev, -EIO, "at byte %llu a copy of its label is in bad memory", bad);
}

/*
 * What is bad is not stored to: that needn't mend it, and in reserved memory may be a machine check
 * that nobody survives.  And with one copy there is no moment at which it may be overwritten.
 */
static int m2_write_label(struct m2_dev *dev, void *range)
{
	int cookie, err = m2_label_writable(dev);

	if (err)
		return err;
	err = m2_enter(dev, &cookie);
	if (err)
		return err;
	err = m2_label_write(range, &dev->label, m2_settle, dev);
	m2_leave(dev, cookie);
	return err;
}

/* Is it bad, as far as anybody knows? Otherwise read it by what survives if it is. */
static bool m2_unreadable(struct m2_dev *dev, void *buf, const void *range, u64 at, size_t len)
{
	u64 bytes;

	return m2_range_good(dev, at, len) < len ||
	       scm_range_next_bad(&dev->mem, at, at + len, &bytes) < at + len ||
	       copy_mc_to_kernel(buf, range + at, len);
}

/*
 * The head as it is; what can't be read of it as zeroes, for what is there is found all the same,
 * and a copy of the label as good as damaged.
 */
static void m2_read_head(struct m2_dev *dev, u8 *head, const void *range)
{
	struct m2_label *label;
	u64 at;

	static_assert(M2_LABEL_STRIDE % sizeof(*label) == 0);
	dev->label_bad = U64_MAX;
	for (at = 0; at < M2_HEAD_BYTES; at += sizeof(*label)) {
		label = (struct m2_label *)(head + at);
		if (!m2_unreadable(dev, label, range, at, sizeof(*label)))
			continue;
		memset(label, 0, sizeof(*label));
		if (at % M2_LABEL_STRIDE)
			continue;
		dev->label_bad = at;
		label->magic = cpu_to_le64(M2_LABEL_MAGIC);
	}
}

static int m2_blank(struct m2_dev *dev, u8 *buf, const void *range, u64 from, u64 to)
{
	u64 n;

	for (; from < to; from += n) {
		n = min_t(u64, to - from, M2_LOOK_CHUNK);
		if (m2_unreadable(dev, buf, range, from, n))
			return m2_fail(dev, -EIO,
				       "bad memory behind byte %llu, of which nobody can tell whose it is",
				       from);
		if (memchr_inv(buf, 0, n))
			return -EINVAL;
	}
	return 0;
}

static int m2_blank_ends(struct m2_dev *dev, u8 *buf, const void *range, u64 from)
{
	u64 bytes = dev->mem.bytes;

	return m2_blank(dev, buf, range, from, M2_LOOK_HEAD) ?:
	       m2_blank(dev, buf, range, bytes - M2_LOOK_TAIL, bytes);
}

/*
 * One that was begun and not finished has nothing to be kept, but who has used the memory since
 * has. Of reserved memory its struct pages may be there already, which are no zeroes.
 */
static int m2_unfinished(struct m2_dev *dev, u8 *buf, const void *range)
{
	u64 len = sizeof(struct m2_label);
	int err;

	err = m2_blank(dev, buf, range, len, M2_LABEL_STRIDE) ?:
	      m2_blank(dev, buf, range, M2_LABEL_STRIDE + len, M2_HEAD_BYTES) ?:
	      m2_blank_ends(dev, buf, range, dev->bdev ? M2_HEAD_BYTES : dev->label.data_offset);
	return err == -EINVAL ? -EEXIST : err;
}

static int m2_refuse(struct m2_dev *dev, int err)
{
	switch (err) {
	case -EIO:	/* has been told */
		return err;
	case -EUCLEAN:
		return m2_fail(dev, err, "a damaged mem2m label is there; --force overwrites it");
	case -EEXIST:
		return m2_fail(dev, err,
			       "%s was begun there, but it isn't blank; --force overwrites it",
			       dev->label.name);
	case -EPROTONOSUPPORT:
		return m2_fail(dev, err, "a newer mem2m made what is there; --force overwrites it");
	default:
		return m2_fail(dev, err, "it isn't blank and has no label; --force overwrites it");
	}
}

/* The device that is asked for, and nothing that was put in its place since. */
static int m2_same(struct m2_dev *dev, const u8 *head)
{
	const struct m2_label_info *label = &dev->label;

	if (strcmp(label->name, dev->name))
		return m2_fail(dev, -EEXIST, "%s is there; --force overwrites it", label->name);
	if (label->range_bytes != dev->mem.bytes)
		return m2_fail(dev, -EEXIST, "%s is there in %llu bytes; --force overwrites it",
			       label->name, label->range_bytes);
	if (!m2_head_is_ours(head, label))
		return m2_fail(dev, -EEXIST,
			       "%s was there, and something else was put in its place; --force overwrites it",
			       label->name);
	return 0;
}

/* Nothing of somebody else's, wherever in the range it begins, or before it. */
static int m2_vacant(struct m2_dev *dev, const void *range)
{
	int err = scm_range_vacant(&dev->mem, range, U64_MAX);

	if (err == -EINTR)
		return m2_mem_fail(dev, err);
	if (err == -ENOMEM)	/* says nothing of what is there */
		return m2_mem_fail(dev, err);
	return err ? m2_fail(dev, err, "%s; --force overwrites it", dev->mem.error) : 0;
}

/* A new label over whatever is there; a valid one of before has to lose against it. */
static void m2_label_anew(struct m2_dev *dev)
{
	struct m2_label_info *label = &dev->label;
	u64 generation = label->generation;
	unsigned int newest = label->newest;

	memset(label, 0, sizeof(*label));
	label->generation = generation;
	label->newest = newest;
	generate_random_uuid(label->uuid);
	strscpy(label->name, dev->name, sizeof(label->name));
	label->ctime = ktime_get_real_seconds();
	label->flags = M2_LABEL_FRESH;
	dev->found = false;
}

/* m2_range_judge() with a buffer of M2_LOOK_CHUNK. */
static int m2_judge(struct m2_dev *dev, u8 *buf, const void *range, bool force)
{
	int err;

	m2_read_head(dev, buf, range);
	err = m2_label_read(buf, &dev->label);
	dev->found = !err && !(dev->label.flags & M2_LABEL_FRESH);
	if (dev->found && !force)
		return m2_same(dev, buf);
	if (dev->label_bad != U64_MAX)	/* nothing is begun with one copy */
		return m2_fail(dev, -EIO, "bad memory at byte %llu, where a label would be",
			       dev->label_bad);
	if (force)
		return 0;
	if (err == -ENODATA)
		err = m2_blank_ends(dev, buf, range, 0);
	else if (!err)
		err = m2_head_is_ours(buf, &dev->label) ? m2_unfinished(dev, buf, range) : -EEXIST;
	return err ? m2_refuse(dev, err) : m2_vacant(dev, range);
}

/**
 * m2_range_judge - may the device be made here?
 * @dev: with the size of its memory; its label is filled, and @found set when the content is to
 *	be kept
 * @range: the range's start, mapped as far as it is looked at: all of it
 * @force: whatever is there, it may go
 *
 * Nothing is written.
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_range_judge(struct m2_dev *dev, const void *range, bool force)
{
	u8 *buf = kvmalloc(M2_LOOK_CHUNK, GFP_KERNEL);
	int err;

	if (!buf)
		return m2_fail(dev, -ENOMEM, "out of memory");
	memset(&dev->label, 0, sizeof(dev->label));
	err = m2_judge(dev, buf, range, force);
	if (!err && (force || !dev->found))
		m2_label_anew(dev);
	kvfree(buf);
	return err;
}

/* Has the kernel found it to be bad meanwhile, and taken it out of its map? */
static bool m2_failed_there(struct m2_dev *dev, u64 at, u64 n)
{
	u64 begin = dev->label.data_offset;

	return m2_range_good(dev, at, n) < n || (at >= begin && m2_is_bad(dev, at - begin, n));
}

/* Zero a part of the range, of whatever use; lasts once it is settled. */
static int m2_zero_memory(struct m2_dev *dev, void *range, u64 from, u64 to)
{
	struct m2_store all = { .unit = &range, .persistent = true };
	int cookie, err;
	u64 at, n;

	m2_store_init(&all, dev->mem.bytes, dev->mem.bytes);
	WRITE_ONCE(dev->done, 0);
	WRITE_ONCE(dev->total, to - from);
	for (at = from; at < to; at += n) {
		n = min(to - at, M2_ZERO_STEP);
		if (ek_interrupted())
			return m2_fail(dev, -EINTR, "interrupted");
		if (m2_failed_there(dev, at, n))
			return m2_fail(dev, -EIO, "bad memory behind byte %llu", at);
		err = m2_enter(dev, &cookie);
		if (err)
			return err;
		m2_store_clear(&all, at, n);
		m2_leave(dev, cookie);
		WRITE_ONCE(dev->done, at - from);
	}
	return 0;
}

/* A range on its way to become a device, which is mapped otherwise before it is one. */
struct m2_way {
	struct m2_dev *dev;
	void *range;
};

static int m2_way_write(void *ctx)
{
	struct m2_way *way = ctx;

	return m2_write_label(way->dev, way->range);
}

static int m2_way_zero(void *ctx, u64 from, u64 to)
{
	struct m2_way *way = ctx;

	return m2_zero_memory(way->dev, way->range, from, to);
}

static int m2_way_settle(void *ctx)
{
	struct m2_way *way = ctx;

	return m2_settle(way->dev);
}

static struct m2_means m2_means(struct m2_way *way)
{
	return (struct m2_means){
		.write = m2_way_write, .zero = m2_way_zero, .settle = m2_way_settle, .ctx = way,
	};
}

/**
 * m2_range_label - write the label of a new device, or make both copies of a found one whole
 * @dev: judged
 * @range: the range's start, without struct pages in it
 * @data_offset: where its data begins, for a new one
 *
 * Of what was there a new one leaves nothing before its data.
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_range_label(struct m2_dev *dev, void *range, u64 data_offset)
{
	struct m2_way way = { .dev = dev, .range = range };
	struct m2_means by = m2_means(&way);
	struct m2_label_info *label = &dev->label;

	if (dev->found)		/* with one copy in bad memory the other one says what it said */
		return dev->label_bad == U64_MAX ? m2_write_label(dev, range) : 0;
	label->range_bytes = dev->mem.bytes;
	label->data_offset = data_offset;
	label->data_bytes = dev->mem.bytes - data_offset;
	return m2_order_head(&by, label);
}

static void m2_range_size(struct m2_dev *dev)
{
	m2_store_init(&dev->store, dev->label.data_bytes, dev->label.range_bytes);
}

/**
 * m2_range_attach - make the store out of a labelled range, zeroed when it is new
 * @dev: with the range mapped
 *
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_range_attach(struct m2_dev *dev)
{
	struct m2_way way = { .dev = dev, .range = dev->mem.addr };
	struct m2_means by = m2_means(&way);
	struct m2_store *store = &dev->store;
	int err;

	memset(store, 0, sizeof(*store));
	store->persistent = true;
	store->unit = kmalloc(sizeof(*store->unit), GFP_KERNEL);
	if (!store->unit)
		return m2_fail(dev, -ENOMEM, "out of memory");
	store->unit[0] = dev->mem.addr + dev->label.data_offset;
	m2_range_size(dev);
	err = m2_order_data(&by, &dev->label);
	if (err)
		kfree(store->unit);
	return err;
}

/**
 * m2_range_resize - show more or less of the range
 * @dev: the device
 * @bytes: its size from now on
 *
 * What is new is zero before the label says that it is there, and none of it is known to be bad.
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_range_resize(struct m2_dev *dev, u64 bytes)
{
	struct m2_way way = { .dev = dev, .range = dev->mem.addr };
	struct m2_means by = m2_means(&way);
	struct m2_label_info *label = &dev->label;
	u64 most = label->range_bytes - label->data_offset, old = label->data_bytes;
	int err;

	if (bytes > most)
		return m2_fail(dev, -ENOSPC, "its memory has room for %llu bytes", most);
	err = m2_label_writable(dev);
	if (err)
		return err;
	if (bytes > old && m2_is_bad(dev, old, bytes - old))
		return m2_fail(dev, -EIO, "bad memory behind its end");
	err = m2_order_resize(&by, label, bytes);
	if (!err)
		m2_range_size(dev);
	return err;
}

void m2_range_detach(struct m2_dev *dev)
{
	m2_store_sync(&dev->store);
	kfree(dev->store.unit);
}
