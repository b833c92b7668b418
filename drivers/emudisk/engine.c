// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests and time: data moves when a bio is submitted, the bio ends when the model says so. One
 * timer a device, at the absolute time of the model's next event; none when idle.
 */
#include <linux/slab.h>

#include "emudisk.h"

static struct kmem_cache *emu_cmd_cache;

static u64 emu_now(void)
{
	return ktime_get_ns();
}

static u64 emu_to_model(const struct emu_dev *dev, u64 real)
{
	u64 ns = real - dev->clock_real;

	if (dev->dilate != 1000)
		ns = ns * 1000 / dev->dilate;
	return dev->clock_model + ns;
}

static u64 emu_to_real(const struct emu_dev *dev, u64 model)
{
	u64 ns = model > dev->clock_model ? model - dev->clock_model : 0;

	if (dev->dilate != 1000)
		ns = DIV_ROUND_UP(ns * dev->dilate, 1000);
	return dev->clock_real + ns;
}

static void emu_arm(struct emu_dev *dev)
{
	u64 next = emu_model_next(dev->model);

	if (next == U64_MAX)
		return;
	next = emu_to_real(dev, next);
	if (next >= dev->armed)
		return;
	dev->armed = next;
	hrtimer_start(&dev->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_PINNED);
}

static enum emu_op emu_bio_op(struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return EMU_READ;
	case REQ_OP_WRITE:
		return bio->bi_iter.bi_size ? EMU_WRITE : EMU_FLUSH;
	case REQ_OP_FLUSH:
		return EMU_FLUSH;
	case REQ_OP_DISCARD:
		return EMU_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return EMU_ZEROES;
	default:
		return 0xff;
	}
}

static void emu_count_late(struct emu_dev *dev, struct emu_cmd *cmd, u64 now)
{
	u64 deadline = emu_to_real(dev, cmd->req.done);
	u64 us = now > deadline ? (now - deadline) / 1000 : 0;

	dev->stats.late[min_t(unsigned int, fls64(us), EMU_LATE_BUCKETS - 1)]++;
}

/* The order of completions, as a flush submitted later sees it. Called with lock held. */
static void emu_complete_locked(struct emu_dev *dev, struct emu_cmd *cmd, u64 now)
{
	if (cmd->status) {
		dev->stats.errors++;
	} else {
		u64 seq = 0;

		if (cmd->entry || cmd->req.op == EMU_FLUSH)
			seq = atomic64_inc_return(&emu_seq);
		if (cmd->req.op == EMU_FLUSH)
			dev->flushed_seq = max(dev->flushed_seq, cmd->flush_submit);
		if (cmd->entry)
			cmd->entry->complete = seq;
	}
	if (!--dev->inflight) {
		dev->stats.busy_ns += now - dev->stats.busy_since;
		if (wq_has_sleeper(&dev->idle))
			wake_up(&dev->idle);
	}
}

static void emu_cmd_end(struct emu_cmd *cmd)
{
	struct bio *bio = cmd->bio;

	if (cmd->accounted)
		bio_end_io_acct(bio, cmd->start);
	if (cmd->status)
		bio->bi_status = cmd->status;
	emu_entry_put(cmd->entry);
	emu_entry_put(cmd->flush_entry);
	kmem_cache_free(emu_cmd_cache, cmd);
	bio_endio(bio);
}

static void emu_cmds_end(struct list_head *cmds)
{
	struct emu_cmd *cmd, *next;

	list_for_each_entry_safe(cmd, next, cmds, req.node)
		emu_cmd_end(cmd);
}

/* The flush of a PREFLUSH write is over: its data follows. */
static void emu_preflush_done(struct emu_dev *dev, struct emu_cmd *cmd, u64 now)
{
	cmd->preflush = false;
	if (!cmd->status) {
		u64 seq = atomic64_inc_return(&emu_seq);

		dev->flushed_seq = max(dev->flushed_seq, cmd->flush_submit);
		if (cmd->flush_entry)
			cmd->flush_entry->complete = seq;
		if (cmd->entry)
			cmd->entry->submit = atomic64_inc_return(&emu_seq);
	}
	cmd->req.op = EMU_WRITE;
	cmd->req.sector = cmd->bio->bi_iter.bi_sector;
	cmd->req.sectors = bio_sectors(cmd->bio);
	emu_model_submit(dev->model, &cmd->req, emu_to_model(dev, now));
}

static void emu_reap(struct emu_dev *dev, u64 now, struct list_head *done)
{
	struct emu_req *req;

	while ((req = emu_model_pop(dev->model, emu_to_model(dev, now)))) {
		struct emu_cmd *cmd = container_of(req, struct emu_cmd, req);

		emu_count_late(dev, cmd, now);
		if (cmd->preflush) {
			emu_preflush_done(dev, cmd, now);
			continue;
		}
		if (dev->stall) {
			list_add_tail(&req->node, &dev->held_done);
			continue;
		}
		emu_complete_locked(dev, cmd, now);
		list_add_tail(&req->node, done);
	}
}

static enum hrtimer_restart emu_timer(struct hrtimer *timer)
{
	struct emu_dev *dev = container_of(timer, struct emu_dev, timer);
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&dev->lock, flags);
	dev->armed = U64_MAX;
	emu_reap(dev, emu_now(), &done);
	emu_arm(dev);
	spin_unlock_irqrestore(&dev->lock, flags);
	emu_cmds_end(&done);
	return HRTIMER_NORESTART;
}

static bool emu_must_fail(struct emu_dev *dev, struct bio *bio, u8 op)
{
	bool flush = op == EMU_FLUSH || bio->bi_opf & REQ_PREFLUSH, hit = false;
	u64 sector = bio->bi_iter.bi_sector;

	if (op == EMU_READ)
		hit = dev->fail & EMU_FAIL_READ;
	else if (op != EMU_FLUSH)
		hit = dev->fail & EMU_FAIL_WRITE;
	if (dev->fail_len && (sector + bio_sectors(bio) <= dev->fail_start ||
			      sector >= dev->fail_start + dev->fail_len))
		hit = false;
	/* a flush has no range: where one is set, only fail=flush is about flushes */
	if (flush && (dev->fail == EMU_FAIL_FLUSH || !dev->fail_len))
		hit |= !!(dev->fail & EMU_FAIL_FLUSH);
	if (!hit)
		return false;
	if (dev->fail_after) {
		dev->fail_after--;
		return false;
	}
	/* That was too much for it: from now on it answers nothing. */
	if (bio_sectors(bio) && bio_sectors(bio) <= dev->fail_drop) {
		dev->fail = EMU_FAIL_READ | EMU_FAIL_WRITE | EMU_FAIL_FLUSH;
		dev->fail_start = 0;
		dev->fail_len = 0;
		dev->fail_drop = 0;
	}
	return true;
}

static blk_status_t emu_check(struct emu_dev *dev, struct bio *bio, u8 op)
{
	u64 mask = (dev->lbs >> SECTOR_SHIFT) - 1;
	blk_status_t status = BLK_STS_OK;

	if (READ_ONCE(dev->off))
		return BLK_STS_IOERR;
	if (op == 0xff)
		return BLK_STS_NOTSUPP;
	if ((bio->bi_iter.bi_sector | bio_sectors(bio)) & mask)
		return BLK_STS_IOERR;
	if (unlikely(dev->fail)) {
		spin_lock_irq(&dev->lock);
		if (emu_must_fail(dev, bio, op))
			status = BLK_STS_IOERR;
		spin_unlock_irq(&dev->lock);
	}
	return status;
}

static void emu_start_locked(struct emu_dev *dev, struct emu_cmd *cmd, u64 now)
{
	u8 op = cmd->preflush ? EMU_WRITE : cmd->req.op;

	if (!dev->inflight++)
		dev->stats.busy_since = now;
	dev->stats.ios[op]++;
	if (cmd->preflush)
		dev->stats.ios[EMU_FLUSH]++;
	dev->stats.sectors[op] += bio_sectors(cmd->bio);
	if (cmd->preflush || cmd->req.op == EMU_FLUSH)
		cmd->flush_submit = atomic64_inc_return(&emu_seq);
	if (cmd->flush_entry)
		cmd->flush_entry->submit = cmd->flush_submit;
	if (cmd->entry && !cmd->preflush)
		cmd->entry->submit = cmd->flush_submit ?: atomic64_inc_return(&emu_seq);
}

/* Hand a command to the model; what completes at once is put on @done. */
static int emu_start(struct emu_dev *dev, struct emu_cmd *cmd, struct list_head *done)
{
	u64 now = emu_now();

	spin_lock_irq(&dev->lock);
	if (dev->off) {
		spin_unlock_irq(&dev->lock);
		return -EIO;
	}
	emu_start_locked(dev, cmd, now);
	if (cmd->flush_entry)
		emu_record_add(cmd->flush_entry);
	if (cmd->entry && !cmd->status) {
		if (cmd->entry->op != EMU_FLUSH)
			emu_track_queue(dev, cmd->entry);
		emu_record_add(cmd->entry);
	}
	if (dev->stall) {
		list_add_tail(&cmd->req.node, &dev->held);
	} else {
		emu_model_submit(dev->model, &cmd->req, emu_to_model(dev, now));
		if (dev->model->kind == EMU_KIND_NULL)
			emu_reap(dev, now, done);
		emu_arm(dev);
	}
	spin_unlock_irq(&dev->lock);
	return 0;
}

static struct emu_cmd *emu_cmd_alloc(struct bio *bio, u8 op)
{
	struct emu_cmd *cmd = kmem_cache_alloc(emu_cmd_cache, EMU_GFP);

	if (!cmd)
		return NULL;
	cmd->bio = bio;
	cmd->entry = NULL;
	cmd->flush_entry = NULL;
	cmd->flush_submit = 0;
	cmd->status = BLK_STS_OK;
	cmd->preflush = op == EMU_WRITE && bio->bi_opf & REQ_PREFLUSH;
	cmd->req.op = cmd->preflush ? EMU_FLUSH : op;
	cmd->req.sector = bio->bi_iter.bi_sector;
	cmd->req.sectors = cmd->req.op == EMU_FLUSH ? 0 : bio_sectors(bio);
	cmd->req.fua = bio->bi_opf & REQ_FUA;
	cmd->accounted = blk_queue_io_stat(bdev_get_queue(bio->bi_bdev)) && bio_sectors(bio);
	if (cmd->accounted)
		cmd->start = bio_start_io_acct(bio);
	return cmd;
}

/* A change of an untracked device's content. */
static int emu_apply_plain(struct emu_dev *dev, struct bio *bio, u8 op)
{
	int err;

	if (op == EMU_WRITE)
		return emu_store_write(dev, bio);
	mutex_lock(&dev->write_mutex);
	err = emu_store_erase(dev, &dev->pages, bio->bi_iter.bi_sector, bio_sectors(bio));
	mutex_unlock(&dev->write_mutex);
	return err;
}

static int emu_entries_alloc(struct emu_dev *dev, struct emu_cmd *cmd, u8 op)
{
	struct bio *bio = cmd->bio;

	cmd->entry = emu_entry_alloc(dev, op, op == EMU_FLUSH ? 0 : bio->bi_iter.bi_sector,
				     op == EMU_FLUSH ? 0 : bio_sectors(bio));
	if (!cmd->entry)
		return -ENOMEM;
	cmd->entry->fua = bio->bi_opf & REQ_FUA ||
			  (op != EMU_FLUSH && dev->cache != EMU_CACHE_VOLATILE);
	if (!cmd->preflush)
		return 0;
	cmd->entry->preflush = true;
	cmd->flush_entry = emu_entry_alloc(dev, EMU_FLUSH, 0, 0);
	return cmd->flush_entry ? 0 : -ENOMEM;
}

static void emu_entries_put(struct emu_cmd *cmd)
{
	emu_entry_put(cmd->entry);
	emu_entry_put(cmd->flush_entry);
	cmd->entry = NULL;
	cmd->flush_entry = NULL;
}

/* Caller holds write_mutex. */
static int emu_apply_tracked(struct emu_dev *dev, struct emu_cmd *cmd, u8 op)
{
	emu_track_fold(dev);
	if (dev->off)
		return -EIO;
	if (op == EMU_WRITE)
		return emu_track_write(dev, cmd->bio, cmd->entry);
	if (op != EMU_FLUSH)
		return emu_store_erase(dev, &dev->pages, cmd->entry->sector, cmd->entry->sectors);
	return 0;
}

/*
 * write_mutex keeps the order in which writes are applied that in which they are listed, and a
 * power cut or the recorder's start out of the middle. -EAGAIN: the device is not tracked any more.
 */
static int emu_start_tracked(struct emu_dev *dev, struct emu_cmd *cmd, u8 op,
			     struct list_head *done)
{
	int err;

	err = emu_entries_alloc(dev, cmd, op);
	if (err)
		return err;
	mutex_lock(&dev->write_mutex);
	/* others may write in place by now: a page put over theirs would lose what they wrote */
	if (dev->tracked)
		err = emu_apply_tracked(dev, cmd, op) ?: emu_start(dev, cmd, done);
	else
		err = -EAGAIN;
	mutex_unlock(&dev->write_mutex);
	if (err == -EAGAIN)
		emu_entries_put(cmd);
	return err;
}

static int emu_start_plain(struct emu_dev *dev, struct emu_cmd *cmd, u8 op,
			   struct list_head *done)
{
	int err = op == EMU_FLUSH ? 0 : emu_apply_plain(dev, cmd->bio, op);

	return err ?: emu_start(dev, cmd, done);
}

static int emu_run(struct emu_dev *dev, struct emu_cmd *cmd, u8 op, struct list_head *done)
{
	int err = -EAGAIN;

	if (cmd->status)
		return emu_start(dev, cmd, done);
	if (op == EMU_READ) {
		emu_store_read(dev, cmd->bio);
		return emu_start(dev, cmd, done);
	}
	if (READ_ONCE(dev->tracked))
		err = emu_start_tracked(dev, cmd, op, done);
	return err == -EAGAIN ? emu_start_plain(dev, cmd, op, done) : err;
}

/**
 * emu_submit_bio - the block device's entry
 * @bio: anything
 *
 * Context: process context; may sleep.
 */
void emu_submit_bio(struct bio *bio)
{
	struct emu_dev *dev = bio->bi_bdev->bd_disk->private_data;
	u8 op = emu_bio_op(bio);
	blk_status_t status = emu_check(dev, bio, op);
	struct emu_cmd *cmd;
	LIST_HEAD(done);
	int err;

	if (status && (READ_ONCE(dev->off) || op == 0xff)) {
		bio->bi_status = status;
		bio_endio(bio);
		return;
	}
	cmd = emu_cmd_alloc(bio, op);
	if (!cmd) {
		bio->bi_status = BLK_STS_RESOURCE;
		bio_endio(bio);
		return;
	}
	cmd->status = status;
	err = emu_run(dev, cmd, op, &done);
	if (err) {
		cmd->status = errno_to_blk_status(err);
		emu_cmd_end(cmd);
		return;
	}
	emu_cmds_end(&done);
}

/**
 * emu_engine_unstall - let held requests go
 * @dev: the device
 *
 * Context: process context.
 */
void emu_engine_unstall(struct emu_dev *dev)
{
	struct emu_cmd *cmd, *next;
	LIST_HEAD(done);
	u64 now = emu_now();

	spin_lock_irq(&dev->lock);
	dev->stall = false;
	list_splice_init(&dev->held_done, &done);
	list_for_each_entry(cmd, &done, req.node)
		emu_complete_locked(dev, cmd, now);
	list_for_each_entry_safe(cmd, next, &dev->held, req.node) {
		list_del(&cmd->req.node);
		emu_model_submit(dev->model, &cmd->req, emu_to_model(dev, now));
	}
	emu_reap(dev, now, &done);
	emu_arm(dev);
	spin_unlock_irq(&dev->lock);
	emu_cmds_end(&done);
}

/**
 * emu_engine_dilate - change how fast the device's clock runs
 * @dev: the device
 * @dilate: thousandths; 2000 makes everything take twice as long
 *
 * Context: process context.
 */
void emu_engine_dilate(struct emu_dev *dev, u64 dilate)
{
	u64 now = emu_now();

	spin_lock_irq(&dev->lock);
	dev->clock_model = emu_to_model(dev, now);
	dev->clock_real = now;
	dev->dilate = dilate;
	dev->armed = U64_MAX;
	emu_arm(dev);
	spin_unlock_irq(&dev->lock);
}

/* Take every request from the device. Caller holds lock. */
void emu_engine_take(struct emu_dev *dev, struct list_head *out)
{
	emu_model_drain(dev->model, out);
	list_splice_tail_init(&dev->held, out);
	list_splice_tail_init(&dev->held_done, out);
}

/* End what emu_engine_take() returned with an error. */
void emu_engine_fail(struct emu_dev *dev, struct list_head *cmds)
{
	u64 now = emu_now();
	struct emu_cmd *cmd;

	spin_lock_irq(&dev->lock);
	list_for_each_entry(cmd, cmds, req.node) {
		cmd->status = BLK_STS_IOERR;
		emu_complete_locked(dev, cmd, now);
	}
	spin_unlock_irq(&dev->lock);
	emu_cmds_end(cmds);
	INIT_LIST_HEAD(cmds);
}

/**
 * emu_engine_stop - fail everything and wait until the timer is at rest
 * @dev: the device, whose disk takes no more bios
 *
 * Context: process context; sleeps.
 */
void emu_engine_stop(struct emu_dev *dev)
{
	LIST_HEAD(cmds);

	spin_lock_irq(&dev->lock);
	dev->off = true;
	emu_engine_take(dev, &cmds);
	spin_unlock_irq(&dev->lock);
	emu_engine_fail(dev, &cmds);
	wait_event(dev->idle, !READ_ONCE(dev->inflight));
	hrtimer_cancel(&dev->timer);
	dev->armed = U64_MAX;	/* or a disk made here later would wait for it to expire */
}

void emu_engine_init(struct emu_dev *dev)
{
	spin_lock_init(&dev->lock);
	hrtimer_init(&dev->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED);
	dev->timer.function = emu_timer;
	dev->armed = U64_MAX;
	dev->clock_real = emu_now();
	dev->dilate = 1000;
	INIT_LIST_HEAD(&dev->held);
	INIT_LIST_HEAD(&dev->held_done);
	init_waitqueue_head(&dev->idle);
}

int emu_engine_start_up(void)
{
	emu_cmd_cache = KMEM_CACHE(emu_cmd, 0);
	return emu_cmd_cache ? 0 : -ENOMEM;
}

void emu_engine_shut_down(void)
{
	kmem_cache_destroy(emu_cmd_cache);
}
