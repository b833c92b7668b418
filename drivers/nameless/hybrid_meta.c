// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks for trim records. One is filled; when it is full and no other one may be taken, the
 * least live one is emptied into a new block and erased. nl_hybrid_meta_blocks() is one more than
 * all live records fill, so the least live one is not full.
 */
#include "ftl_hybrid.h"

/* Of those that are not being filled. */
static u32 nl_meta_least(const struct nl_hybrid *h)
{
	const struct nl_bk *bk = h->ftl.blocks.bk;
	u32 i, best = 0;

	for (i = 1; i + 1 < h->meta_used; i++)
		if (bk[h->meta[i]].live < bk[h->meta[best]].live)
			best = i;
	return best;
}

static int nl_meta_open(struct nl_hybrid *h, u64 *when)
{
	u32 block;
	int r = nl_hybrid_take(h, 0, NL_FOR_META, when, &block);

	if (r)
		return r;
	h->ftl.blocks.bk[block].use = NL_USE_META;
	h->meta[h->meta_used++] = block;
	h->meta_closed = false;
	return 0;
}

/* The block that is filled: -EIO if the program failed, and it is not filled any more then. */
static int nl_meta_program(struct nl_hybrid *h, struct nl_buf *buf, struct nl_rec *rec, u64 *when,
			   u32 *ppn)
{
	u32 block = h->meta[h->meta_used - 1];
	int r;

	*ppn = nl_ppn(h->ftl.geo, block, h->ftl.blocks.bk[block].fill);
	r = nl_media_program(&h->ftl, *ppn, NL_FOR_META, when, buf, rec);
	if (!r)
		nl_page_live(&h->ftl, *ppn);
	if (r != -EIO)
		return r;
	h->meta_closed = true;
	if (!h->ftl.blocks.bk[block].live)
		h->meta_used--;
	r = nl_media_retire(&h->ftl, block);
	return r ? r : -EIO;
}

/* A record that can't be read: memory knows what it said, and there is a new one in its place. */
static int nl_meta_renew(struct nl_hybrid *h, u32 from, u64 *when)
{
	struct nl_rec rec;
	struct nl_buf *buf;
	u32 chunk, to;
	int r;

	for (chunk = 0; chunk < h->ftl.trims.nr && h->ftl.trims.ppn[chunk] != from; chunk++)
		;
	if (chunk == h->ftl.trims.nr)
		return -EUCLEAN;
	r = nl_trims_record(&h->ftl, chunk, &buf, &rec, when);
	if (r)
		return r;
	rec.seq = ++h->ftl.seq;
	r = nl_meta_program(h, buf, &rec, when, &to);
	nl_buf_put(buf);
	if (r)
		return r;
	nl_trims_recorded(&h->ftl, chunk, to, rec.seq);
	return 0;
}

static int nl_meta_move(struct nl_hybrid *h, u32 from, u64 *when)
{
	struct nl_rec rec;
	struct nl_buf *buf;
	u32 to;
	int r = nl_media_read(&h->ftl, from, NL_FOR_META, when, &buf, &rec);

	if (r == -EIO)
		return nl_meta_renew(h, from, when);
	if (r)
		return r;
	/* Of a checkpoint that lied: only of a trim record is lpn the number of a chunk. */
	if (rec.type != NL_OOB_TRIM || h->ftl.trims.ppn[rec.lpn] != from) {
		nl_buf_put(buf);
		return -EUCLEAN;
	}
	r = nl_meta_program(h, buf, &rec, when, &to);
	nl_buf_put(buf);
	if (r)
		return r;
	nl_trims_moved(&h->ftl, rec.lpn, to);
	nl_page_dead(&h->ftl, from);
	return 0;
}

/* Empty the least live block into the one just opened, and release it. */
static int nl_meta_empty(struct nl_hybrid *h, u32 victim, u64 *when)
{
	u32 page, i, ppn;
	int r = 0;

	for (page = 0; page < h->ftl.blocks.bk[victim].fill && !r; page++) {
		ppn = nl_ppn(h->ftl.geo, victim, page);
		if (nl_page_is_live(&h->ftl, ppn))
			r = nl_meta_move(h, ppn, when);
	}
	if (r)
		return r;
	for (i = 0; h->meta[i] != victim; i++)
		;
	h->meta_used--;
	memmove(&h->meta[i], &h->meta[i + 1], (h->meta_used - i) * sizeof(u32));
	return nl_hybrid_release(h, victim, NL_FOR_META, when);
}

static bool nl_meta_has_room(const struct nl_hybrid *h)
{
	return h->meta_used && !h->meta_closed &&
	       h->ftl.blocks.bk[h->meta[h->meta_used - 1]].fill < h->ftl.geo->pages;
}

/* One more than there may be is open while another is emptied into it. */
static int nl_meta_make_room(struct nl_hybrid *h, u64 *when)
{
	int r = 0;

	while (!r && (!nl_meta_has_room(h) || h->meta_used > h->nr_meta)) {
		if (!nl_meta_has_room(h))
			r = nl_meta_open(h, when);
		if (!r && h->meta_used > h->nr_meta)
			r = nl_meta_empty(h, h->meta[nl_meta_least(h)], when);
		if (r == -EIO)
			r = 0;
	}
	return r;
}

int nl_hybrid_append_record(struct nl_ftl *ftl, struct nl_buf *buf, struct nl_rec *rec, u64 *when,
			    u32 *ppn)
{
	struct nl_hybrid *h = nl_hybrid(ftl);
	int r;

	do {
		r = nl_meta_make_room(h, when);
		if (r)
			break;
		rec->seq = ++ftl->seq;
		r = nl_meta_program(h, buf, rec, when, ppn);
	} while (r == -EIO);
	if (r == -ENOSPC) {
		ftl->state = NL_FTL_RO;
		r = -EROFS;
	}
	return r;
}
