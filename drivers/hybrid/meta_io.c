// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's way to the metadata areas, by dm-io.
 *
 * An area may share its disk with members: a flush that fails is one of theirs, too (disk.c).
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "hybrid.h"

static int meta_dm_io(struct hy_pool *pool, unsigned int area, u64 offset, void *buf, size_t len,
		      blk_opf_t opf, io_notify_fn fn, void *ctx)
{
	struct dm_io_request req = {
		.bi_opf = opf,
		.mem.type = is_vmalloc_addr(buf) ? DM_IO_VMA : DM_IO_KMEM,
		.mem.ptr.addr = buf,
		.notify.fn = fn,
		.notify.context = ctx,
		.client = pool->io_client,
	};
	struct dm_io_region where;

	if (!pool->meta[area].dev)
		return -EIO;
	where.bdev = pool->meta[area].dev->bdev;
	where.sector = pool->meta[area].start + (offset >> SECTOR_SHIFT);
	where.count = len >> SECTOR_SHIFT;
	if (!len)
		req.mem.type = DM_IO_KMEM;
	return dm_io(&req, 1, &where, NULL, IOPRIO_DEFAULT);
}

static int meta_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	return meta_dm_io(ctx, area, offset, buf, len, REQ_OP_READ | REQ_META | REQ_SYNC,
			  NULL, NULL);
}

/*
 * Writes of an area in flight are counted from one, so that the last to complete
 * is the one that wakes meta_wait(), whoever that is.
 */
static void meta_put(struct hy_meta_io *m)
{
	if (atomic_dec_and_test(&m->pending))
		complete(&m->done);
}

static void meta_written(unsigned long error, void *context)
{
	struct hy_meta_io *m = context;

	if (error)
		WRITE_ONCE(m->error, -EIO);
	meta_put(m);
}

/**
 * hy_preflush - have what was written before made durable before a write
 * @dev: where that write goes to; NULL: nowhere
 * @opf: of that write
 *
 * A request queue tells when the flush that belongs to a write has failed; device-mapper drops that
 * (see hy_commit_tells_fua()), and others that are made of bios may.
 *
 * Context: sleeps.
 * Return: 0: done, or @opf has REQ_PREFLUSH; an error: the write is not to be begun.
 */
int hy_preflush(struct dm_dev *dev, blk_opf_t *opf)
{
	if (!dev)
		return -EIO;
	if (!queue_is_mq(bdev_get_queue(dev->bdev)))
		return blkdev_issue_flush(dev->bdev);
	*opf |= REQ_PREFLUSH;
	return 0;
}

static struct block_device *meta_bdev(struct hy_pool *pool, unsigned int area)
{
	return pool->meta[area].dev->bdev;
}

/* One has failed, or may have. */
static void flush_failed(struct hy_pool *pool, unsigned int area)
{
	pool->meta_io[area].dropped++;
	hy_disk_lost(pool, meta_bdev(pool, area));
}

static int meta_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		      unsigned int flags)
{
	struct hy_pool *pool = ctx;
	struct hy_meta_io *m = &pool->meta_io[area];
	blk_opf_t opf = REQ_OP_WRITE | REQ_META | REQ_SYNC;
	int r = 0;

	if (!pool->meta[area].dev)
		return -EIO;
	if (flags & EK_IO_PREFLUSH)
		r = hy_preflush(pool->meta[area].dev, &opf);
	if (r) {
		flush_failed(pool, area);
		return r;
	}
	if (flags & EK_IO_FUA)
		opf |= REQ_FUA;
	m->flags |= flags;
	atomic_inc(&m->pending);
	r = meta_dm_io(pool, area, offset, (void *)buf, len, opf, meta_written, m);
	if (r)
		atomic_dec(&m->pending);
	return r;
}

/* May an error of writes with these flags have been one of a flush? */
static bool has_flushed(struct hy_pool *pool, unsigned int area, unsigned int flags)
{
	return flags & EK_IO_PREFLUSH ||
	       (flags & EK_IO_FUA && hy_disk_fua_flushes(meta_bdev(pool, area)));
}

static int meta_wait(void *ctx, unsigned int area)
{
	struct hy_pool *pool = ctx;
	struct hy_meta_io *m = &pool->meta_io[area];
	unsigned int flags = m->flags;
	int r;

	meta_put(m);
	wait_for_completion_io(&m->done);
	r = READ_ONCE(m->error);
	m->error = 0;
	m->flags = 0;
	reinit_completion(&m->done);
	atomic_set(&m->pending, 1);
	if (r && has_flushed(pool, area, flags))
		flush_failed(pool, area);
	return r;
}

static int meta_flush(void *ctx, unsigned int area)
{
	struct hy_pool *pool = ctx;
	int r;

	if (!pool->meta[area].dev)
		return -EIO;
	r = blkdev_issue_flush(meta_bdev(pool, area));
	if (r)
		flush_failed(pool, area);
	return r;
}

static void meta_losses(void *ctx, unsigned int area, struct ek_losses *losses)
{
	struct hy_pool *pool = ctx;

	memset(losses, 0, sizeof(*losses));
	/* Nobody has written anything yet. */
	if (pool->loaded && pool->meta[area].dev)
		hy_disk_losses(pool, area, losses);
}

/*
 * Who sends a FUA write from now on waits for the committer (hy_commit_needed()), until its work is
 * over.  No lock of the pool's is held.
 */
static void meta_quiesce(void *ctx)
{
	struct hy_pool *pool = ctx;

	if (!pool->loaded)
		return;
	hy_commit_begins(pool);
	synchronize_srcu(&pool->srcu);
}

/* For tables that must not write. */
const struct ek_store_io hy_meta_io_ro = {
	.read = meta_read,
};

const struct ek_store_io hy_meta_io = {
	.read = meta_read,
	.write = meta_write,
	.wait = meta_wait,
	.flush = meta_flush,
	.losses = meta_losses,
	.quiesce = meta_quiesce,
};
