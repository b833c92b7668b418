// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: the hybrid map
 *
 * As FAST (3.1.2): data blocks, ordered by address, one entry per logical block; a log area with
 * an entry per page; one sequential log block that is ordered by address, too, and takes a run of
 * writes that begins at a logical block's start. Writes that are no such run go to the log
 * blocks, planes in turn.
 *
 * When the log area is nearly full, its oldest block is reclaimed: each logical block with a live
 * page in it is merged (full merge), one before each write to the log area. When another run
 * begins, the sequential log block becomes the data block: as it is if it is full (switch merge),
 * else after the rest was appended (partial merge).
 *
 * It never wedges. There are at most a data block per logical block, the log area, the sequential
 * log block, and the blocks of trim records; each kind is freed before it takes one more. A merge
 * takes one more block until its sources are erased, and one is for the case that a program in
 * that one fails: so nl_ftl_min_blocks(). A cut in a merge leaves a block that holds copies only,
 * and of equal pages the scan takes the source, so it is free again. If it marked a page that can't
 * be read the block is not free: then it is still the one that the merge took, until the start has
 * merged that again, into the other one.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_hybrid.h"

/* What users see of a lack of room: there is one only when blocks went bad. */
static int nl_hybrid_verdict(struct nl_hybrid *h, int r)
{
	if (r != -ENOSPC)
		return r;
	h->ftl.state = NL_FTL_RO;
	return -EROFS;
}

static int nl_seq_open(struct nl_hybrid *h, u32 lbn, u64 *when)
{
	u32 block;
	int r = 0;

	if (h->seq_block != NL_NONE)
		r = nl_hybrid_end_seq(h, when);
	if (!r)
		r = nl_hybrid_take(h, lbn, NL_FOR_HOST, when, &block);
	if (r)
		return r;
	h->ftl.blocks.bk[block].use = NL_USE_DATA;
	h->seq_block = block;
	h->seq_lbn = lbn;
	h->seq_closed = false;
	return 0;
}

/* Does the write go on with the sequential log block, or begin one? */
static bool nl_is_seq(const struct nl_hybrid *h, u32 lpn)
{
	u32 off = lpn % h->ftl.geo->pages;

	if (!off)
		return true;
	return h->seq_block != NL_NONE && !h->seq_closed && h->seq_lbn == nl_lbn_of(h, lpn) &&
	       h->ftl.blocks.bk[h->seq_block].fill == off;
}

/* -EIO: a program failed, and the write goes elsewhere. */
static int nl_seq_write(struct nl_hybrid *h, u32 lpn, struct nl_buf *buf, u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_DATA, .role = NL_ROLE_SEQUENTIAL, .lpn = lpn };
	u32 off = lpn % h->ftl.geo->pages, ppn;
	int r = off ? 0 : nl_seq_open(h, nl_lbn_of(h, lpn), when);

	if (r)
		return r;
	ppn = nl_ppn(h->ftl.geo, h->seq_block, off);
	rec.seq = ++h->ftl.seq;
	r = nl_media_program(&h->ftl, ppn, NL_FOR_HOST, when, buf, &rec);
	if (r == -EIO) {
		h->seq_closed = true;
		r = nl_media_retire(&h->ftl, h->seq_block);
		if (h->ftl.blocks.bk[h->seq_block].use == NL_USE_BAD)
			h->seq_block = NL_NONE;
		return r ? r : -EIO;
	}
	if (!r)
		nl_hybrid_place(h, lpn, ppn);
	return r;
}

static u32 nl_slot_free(const struct nl_hybrid *h)
{
	u32 i;

	for (i = 0; i < h->nr_log; i++)
		if (h->slot[i].block == NL_NONE)
			return i;
	return NL_NONE;
}

/* Open a log block in place @n of those that are filled. */
static int nl_log_open(struct nl_hybrid *h, u32 n, u64 *when)
{
	u32 slot = nl_slot_free(h), block;
	int r = 0;

	while (slot == NL_NONE && !r) {
		r = nl_hybrid_reclaim(h, when);
		slot = nl_slot_free(h);
	}
	if (!r)
		r = nl_hybrid_take(h, n, NL_FOR_HOST, when, &block);
	if (r)
		return r;
	h->ftl.blocks.bk[block].use = NL_USE_LOG;
	h->ftl.blocks.bk[block].prev = slot;
	h->slot[slot].block = block;
	h->nr_free_slots--;
	h->slot[slot].age = h->age++;
	h->open[n] = slot;
	return 0;
}

/* The log block in place @n is not filled any more. */
static int nl_log_close(struct nl_hybrid *h, u32 n, bool failed)
{
	u32 slot = h->open[n], block = h->slot[slot].block;
	int r = 0;

	h->open[n] = NL_NONE;
	if (failed)
		r = nl_media_retire(&h->ftl, block);
	if (h->ftl.blocks.bk[block].use == NL_USE_BAD) {
		h->slot[slot].block = NL_NONE;
		h->nr_free_slots++;
	}
	return r;
}

/*
 * A merge before a write: so there are enough free log blocks when those that are being filled are
 * full, and in the long run no write has to wait for more merges than its own. A log block has no
 * more merges than pages. After a start none is being filled: the first writes may have to wait
 * for a whole log block's.
 */
static int nl_log_prepare(struct nl_hybrid *h, u32 slot, u64 *when)
{
	u32 fill = slot == NL_NONE ? 0 : h->ftl.blocks.bk[h->slot[slot].block].fill;
	int r;

	if (h->nr_free_slots * h->ftl.geo->pages > h->nr_open * fill)
		return 0;
	r = nl_hybrid_reclaim_step(h, when);
	/* A write that has its place doesn't fail for one that comes later. */
	return r == -ENOSPC || r == -ENOMEM ? 0 : r;
}

/* -EIO: a program failed: once more, elsewhere. */
static int nl_log_write(struct nl_hybrid *h, u32 lpn, struct nl_buf *buf, u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_DATA, .role = NL_ROLE_LOG, .lpn = lpn };
	u32 n = h->cursor, block, ppn;
	int r = nl_log_prepare(h, h->open[n], when);

	if (!r && h->open[n] == NL_NONE)
		r = nl_log_open(h, n, when);
	if (r)
		return r;
	block = h->slot[h->open[n]].block;
	ppn = nl_ppn(h->ftl.geo, block, h->ftl.blocks.bk[block].fill);
	rec.seq = ++h->ftl.seq;
	r = nl_media_program(&h->ftl, ppn, NL_FOR_HOST, when, buf, &rec);
	if (r == -EIO) {
		r = nl_log_close(h, n, true);
		return r ? r : -EIO;
	}
	if (r)
		return r;
	nl_hybrid_place(h, lpn, ppn);
	h->cursor = (n + 1) % h->nr_open;
	return h->ftl.blocks.bk[block].fill < h->ftl.geo->pages ? 0 : nl_log_close(h, n, false);
}

static int nl_hybrid_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io)
{
	struct nl_hybrid *h = nl_hybrid(ftl);
	u64 when = io->now;
	int r = -EIO;

	if (nl_is_seq(h, lpn))
		r = nl_seq_write(h, lpn, buf, &when);
	while (r == -EIO)
		r = nl_log_write(h, lpn, buf, &when);
	if (r)
		return nl_hybrid_verdict(h, r);
	nl_trims_unmark(ftl, lpn);
	nl_io_wait(io, when);
	return 0;
}

/* When nobody waits: the oldest log block, when the log area is nearly full. */
static int nl_hybrid_gc(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_hybrid *h = nl_hybrid(ftl);
	u64 when = io->now;
	int r;

	if (h->nr_free_slots > h->nr_open)
		return 0;
	r = nl_hybrid_reclaim(h, &when);
	return r == -ENOSPC ? 0 : r ? r : 1;
}

static void nl_hybrid_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat)
{
	const struct nl_hybrid *h = container_of(ftl, struct nl_hybrid, ftl);

	stat->mapped = h->mapped;
	stat->map_bytes[NL_MAP_BLOCK] = (u64)h->nr_lbn * sizeof(*h->block);
	stat->map_bytes[NL_MAP_LOG] = (u64)h->nr_log * ftl->geo->pages * sizeof(*h->entry);
	stat->map_bytes[NL_MAP_CHAIN] = (u64)h->nr_lbn * sizeof(*h->head);
	stat->other_bytes += sizeof(*h) + (u64)h->nr_log * sizeof(*h->slot) +
			     ((u64)h->nr_open + h->nr_meta + 2 + ftl->geo->pages) * sizeof(u32);
}

static int nl_hybrid_alloc(struct nl_hybrid *h)
{
	u32 i;

	h->block = kvmalloc_array(h->nr_lbn, sizeof(u32), NL_GFP_IO);
	h->head = kvmalloc_array(h->nr_lbn, sizeof(u32), NL_GFP_IO);
	h->entry = kvcalloc((size_t)h->nr_log * h->ftl.geo->pages, sizeof(*h->entry), NL_GFP_IO);
	h->slot = kvmalloc_array(h->nr_log, sizeof(*h->slot), NL_GFP_IO);
	h->open = kvmalloc_array(h->nr_open, sizeof(u32), NL_GFP_IO);
	h->meta = kvmalloc_array(h->ftl.geo->nr_blocks, sizeof(u32), NL_GFP_IO);
	h->source = kvmalloc_array(h->ftl.geo->pages, sizeof(u32), NL_GFP_IO);
	if (!h->block || !h->head || !h->entry || !h->slot || !h->open || !h->meta || !h->source)
		return -ENOMEM;
	for (i = 0; i < h->nr_lbn; i++) {
		h->block[i] = NL_NONE;
		h->head[i] = NL_NONE;
	}
	for (i = 0; i < h->nr_log; i++)
		h->slot[i].block = NL_NONE;
	for (i = 0; i < h->nr_open; i++)
		h->open[i] = NL_NONE;
	return 0;
}

static int nl_hybrid_open(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_hybrid *h = nl_hybrid(ftl);
	int r;

	h->nr_lbn = DIV_ROUND_UP(ftl->logical_pages, ftl->geo->pages);
	h->nr_log = nl_hybrid_log_blocks(ftl->geo, &ftl->config, ftl->logical_pages);
	h->nr_meta = nl_hybrid_meta_blocks(ftl->geo, ftl->logical_pages);
	h->nr_open = max(1u, min(ftl->geo->nr_planes, h->nr_log / 4));
	h->nr_free_slots = h->nr_log;
	h->victim = NL_NONE;
	h->seq_block = NL_NONE;
	h->rest_block = NL_NONE;
	r = nl_hybrid_alloc(h);
	if (r)
		return r;
	return nl_hybrid_recover(h, io);
}

static void nl_hybrid_close(struct nl_ftl *ftl)
{
	struct nl_hybrid *h = nl_hybrid(ftl);

	kvfree(h->block);
	kvfree(h->head);
	kvfree(h->entry);
	kvfree(h->slot);
	kvfree(h->open);
	kvfree(h->meta);
	kvfree(h->source);
}

const struct nl_ftl_ops nl_ftl_hybrid = {
	.name = "hybrid",
	.size = sizeof(struct nl_hybrid),
	.open = nl_hybrid_open,
	.lookup = nl_hybrid_lookup,
	.forget = nl_hybrid_forget,
	.append = nl_hybrid_append_record,
	.write = nl_hybrid_write,
	.gc = nl_hybrid_gc,
	.check = nl_hybrid_check,
	.stat = nl_hybrid_stat,
	.close = nl_hybrid_close,
};
