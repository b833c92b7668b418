// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios for zones. Writes to a zone are one after the other, each as a whole: it is refused before
 * anything of it is done, and no other comes between its parts. Who has several under way
 * submits them in order, as there is nobody here to sort them; who has not appends.
 *
 * A bio that goes beyond the end of a zone is as many as it has zones, as if the block layer had
 * split it.
 */
#include <linux/blkdev.h>
#include <linux/blkzoned.h>
#include <linux/sched.h>

#include "io.h"
#include "nameless_trace.h"
#include "zones.h"

static u32 nl_zone_size(const struct nl_dev *dev)
{
	struct nl_zone_shape shape;

	return nl_zone_shape(&shape, &dev->config) ? 0 : shape.size;
}

static void nl_zone_lock(struct nl_walk *walk, u32 zone)
{
	mutex_lock(&walk->dev->zones[zone % NL_ZONE_LOCKS]);
}

static void nl_zone_unlock(struct nl_walk *walk, u32 zone)
{
	mutex_unlock(&walk->dev->zones[zone % NL_ZONE_LOCKS]);
}

/* With io held: one that refuses what it is asked for, or is asked for more than data. */
static void nl_zone_trace(const struct nl_walk *walk, enum nl_zone_op op, u32 zone, int err)
{
	struct nl_zone_info info;

	if (!trace_nameless_zone_enabled() || err == -ESHUTDOWN)
		return;
	nl_zone_look(walk->dev->ftl, zone, &info);
	trace_nameless_zone(disk_devt(walk->dev->disk), op, zone, &info, err);
}

/* Flash pages of the bio from walk->at on that are in @zone; 0 if there are none that are whole. */
static u32 nl_zone_part(const struct nl_walk *walk, u32 zone, u32 size)
{
	u32 mask = walk->dev->page_bytes - 1;

	if (walk->at & mask || walk->iter.bi_size & mask)
		return 0;
	return min_t(u64, walk->iter.bi_size >> walk->dev->page_shift,
		     (u64)(zone + 1) * size - nl_lpn(walk));
}

static int nl_zone_may(struct nl_walk *walk, u32 zone, u32 count)
{
	int err = nl_enter(walk);

	if (err)
		return err;
	err = nl_zone_admit(walk->dev->ftl, nl_lpn(walk), count);
	if (!err)
		nl_zone_busy(walk->dev->ftl, zone, true);
	nl_zone_trace(walk, NL_ZONE_WRITE, zone, err);
	nl_leave(walk);
	return err;
}

/* If there was a cut meanwhile, no zone is busy any more, and none is again: its lock is held. */
static void nl_zone_written(struct nl_walk *walk, u32 zone)
{
	struct nl_dev *dev = walk->dev;

	mutex_lock(&dev->io);
	if (!dev->off)
		nl_zone_busy(dev->ftl, zone, false);
	mutex_unlock(&dev->io);
}

static int nl_zone_write(struct nl_walk *walk, u32 zone, u32 count)
{
	u32 before;
	int err = nl_zone_may(walk, zone, count);

	if (err)
		return err;
	while (count && !err) {
		before = walk->iter.bi_size;
		err = nl_write_whole(walk, count);
		count -= (before - walk->iter.bi_size) >> walk->dev->page_shift;
	}
	nl_zone_written(walk, zone);
	return err;
}

/**
 * nl_zones_write - a write at the write pointer of one zone or several
 * @walk: the bio
 *
 * Context: process context; sleeps.
 * Return: 0 or a negative error number.
 */
int nl_zones_write(struct nl_walk *walk)
{
	u32 size = nl_zone_size(walk->dev), zone, count;
	int err = 0;

	while (walk->iter.bi_size && !err) {
		zone = (u32)nl_lpn(walk) / size;
		count = nl_zone_part(walk, zone, size);
		if (!count)
			return -EINVAL;
		nl_zone_lock(walk, zone);
		err = nl_zone_write(walk, zone, count);
		nl_zone_unlock(walk, zone);
	}
	return err;
}

static int nl_zone_append_locked(struct nl_walk *walk, u32 zone, struct nl_buf **buf, u32 count)
{
	struct nl_ftl *ftl;
	u32 lpn, i;
	int err = nl_enter(walk);

	if (err)
		return err;
	ftl = walk->dev->ftl;
	err = nl_zone_append(ftl, zone, count, &lpn);
	nl_zone_trace(walk, NL_ZONE_APPEND, zone, err);
	for (i = 0; i < count && !err; i++) {
		struct nl_io io = nl_io(walk);

		err = nl_ftl_write(ftl, lpn + i, buf[i], nl_fua(walk), &io);
		nl_done(walk, &io, err);
	}
	nl_leave(walk);
	if (!err)
		walk->bio->bi_iter.bi_sector = (u64)lpn << (walk->dev->page_shift - SECTOR_SHIFT);
	return err;
}

/**
 * nl_zones_append - a write to wherever a zone's write pointer is
 * @walk: the bio, whose sector is where it came to be when it is done
 *
 * Context: process context; sleeps.
 * Return: 0 or a negative error number.
 */
int nl_zones_append(struct nl_walk *walk)
{
	u32 size = nl_zone_size(walk->dev), zone = (u32)nl_lpn(walk) / size;
	u32 count = walk->iter.bi_size >> walk->dev->page_shift;
	struct nl_buf *buf[NL_BATCH];
	int err;

	if (!count || count > NL_BATCH || nl_zone_part(walk, zone, size) != count)
		return -EINVAL;
	err = nl_take(walk, buf, count);
	if (err)
		return err;
	nl_zone_lock(walk, zone);
	err = nl_zone_append_locked(walk, zone, buf, count);
	nl_zone_unlock(walk, zone);
	nl_put(buf, count);
	return err;
}

static enum nl_zone_op nl_zone_op(enum req_op op)
{
	switch (op) {
	case REQ_OP_ZONE_OPEN:
		return NL_ZONE_OPEN;
	case REQ_OP_ZONE_CLOSE:
		return NL_ZONE_CLOSE;
	case REQ_OP_ZONE_FINISH:
		return NL_ZONE_FINISH;
	default:
		return NL_ZONE_RESET;
	}
}

static int nl_zone_manage_one(struct nl_walk *walk, u32 zone)
{
	enum nl_zone_op op = nl_zone_op(bio_op(walk->bio));
	struct nl_io io;
	int err;

	nl_zone_lock(walk, zone);
	err = nl_enter(walk);
	if (!err) {
		io = nl_io(walk);
		err = nl_zone_manage(walk->dev->ftl, zone, op, &io);
		nl_done(walk, &io, err);
		nl_zone_trace(walk, op, zone, err);
		nl_leave(walk);
	}
	nl_zone_unlock(walk, zone);
	return err;
}

/* Is there anything to reset, and is that allowed? */
static int nl_zone_wants_reset(struct nl_walk *walk, u32 zone)
{
	struct nl_zone_info info;
	int err = nl_enter(walk);

	if (err)
		return err;
	nl_zone_look(walk->dev->ftl, zone, &info);
	nl_leave(walk);
	if (info.state == NL_ZONE_READONLY)
		return info.stuck;
	return info.state != NL_ZONE_EMPTY && info.state != NL_ZONE_OFFLINE;
}

/* All that can be: those that are read-only or offline stay so. */
static int nl_zones_reset_all(struct nl_walk *walk)
{
	u32 zone, nr = walk->dev->logical_pages / nl_zone_size(walk->dev);
	int err = 0, first = 0;

	for (zone = 0; zone < nr; zone++) {
		err = nl_zone_wants_reset(walk, zone);
		if (err > 0)
			err = nl_zone_manage_one(walk, zone);
		if (err && !first)
			first = err;
		cond_resched();
	}
	return first;
}

/**
 * nl_zones_manage - open, close, finish or reset
 * @walk: the bio
 *
 * Context: process context; sleeps.
 * Return: 0 or a negative error number.
 */
int nl_zones_manage(struct nl_walk *walk)
{
	if (bio_op(walk->bio) == REQ_OP_ZONE_RESET_ALL)
		return nl_zones_reset_all(walk);
	return nl_zone_manage_one(walk, (u32)nl_lpn(walk) / nl_zone_size(walk->dev));
}

static enum blk_zone_cond nl_zone_cond(enum nl_zone_state state)
{
	static const enum blk_zone_cond cond[NL_NR_ZONE_STATES] = {
		[NL_ZONE_EMPTY] = BLK_ZONE_COND_EMPTY,
		[NL_ZONE_IMPLICIT] = BLK_ZONE_COND_IMP_OPEN,
		[NL_ZONE_EXPLICIT] = BLK_ZONE_COND_EXP_OPEN,
		[NL_ZONE_CLOSED] = BLK_ZONE_COND_CLOSED,
		[NL_ZONE_FULL] = BLK_ZONE_COND_FULL,
		[NL_ZONE_READONLY] = BLK_ZONE_COND_READONLY,
		[NL_ZONE_OFFLINE] = BLK_ZONE_COND_OFFLINE,
	};

	return cond[state];
}

static void nl_zone_fill(const struct nl_dev *dev, u32 zone, struct blk_zone *to)
{
	const struct nl_zone_shape *shape = nl_zone_shape_of(dev->ftl);
	u32 shift = dev->page_shift - SECTOR_SHIFT;
	struct nl_zone_info info;

	nl_zone_look(dev->ftl, zone, &info);
	memset(to, 0, sizeof(*to));
	to->start = (u64)zone * shape->size << shift;
	to->len = (u64)shape->size << shift;
	to->capacity = (u64)shape->capacity << shift;
	to->wp = to->start + ((u64)info.pointer << shift);
	if (info.state == NL_ZONE_FULL)
		to->wp = to->start + to->len;
	to->type = BLK_ZONE_TYPE_SEQWRITE_REQ;
	to->cond = nl_zone_cond(info.state);
}

/**
 * nl_report_zones - the block device's report of its zones
 * @disk: of the device
 * @sector: in the first one
 * @count: at most so many
 * @cb: called with each, without a lock: it may touch the program's memory
 * @ctx: passed to @cb
 *
 * Context: process context; sleeps.
 * Return: how many there were, or a negative error number.
 */
int nl_report_zones(struct gendisk *disk, sector_t sector, unsigned int count, report_zones_cb cb,
		    void *ctx)
{
	struct nl_dev *dev = disk->private_data;
	u32 size = nl_zone_size(dev), zone, nr;
	unsigned int i;
	int err;

	if (!nl_is_zoned(dev))
		return -EOPNOTSUPP;
	nr = dev->logical_pages / size;
	zone = (u32)(sector >> (dev->page_shift - SECTOR_SHIFT)) / size;
	for (i = 0; i < count && zone + i < nr; i++) {
		struct blk_zone report;

		mutex_lock(&dev->io);
		err = dev->off ? -EIO : 0;
		if (!err)
			nl_zone_fill(dev, zone + i, &report);
		mutex_unlock(&dev->io);
		if (!err)
			err = cb(&report, i, ctx);
		if (err)
			return err;
	}
	return i;
}
