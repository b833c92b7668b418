// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merges: how blocks of the log area become free (chapter 2, FAST).
 *
 * Whatever is merged, the block that is filled for it holds copies only until it is complete, and
 * only then are the sources erased; of equal pages the scan takes the source, so a merge that is
 * cut has not been, and its block is free again.
 *
 * A page that can't be read has NL_OOB_LOST in its place, or no merge of its logical block would
 * ever end, and with it no write that waits for that. Nobody knows the number of the version that
 * is lost, so this is a new one. It counts from then on, whatever becomes of the merge: a cut may
 * leave a block that has nothing but such marks, beside two others of that logical block. The next
 * start puts them together (nl_hybrid_recover()).
 */
#include <linux/sched.h>
#include "ftl_hybrid.h"

int nl_hybrid_take(struct nl_hybrid *h, u32 plane, enum nl_cause cause, u64 *when, u32 *block)
{
	u32 i, planes = h->ftl.geo->nr_planes;
	int r = -EIO;

	while (r == -EIO) {
		for (i = 0; i < planes; i++)
			if (h->ftl.blocks.nr_free_in[(plane + i) % planes])
				break;
		if (i == planes)
			return -ENOSPC;
		*block = nl_block_take(&h->ftl, (plane + i) % planes);
		r = nl_media_ready(&h->ftl, *block, cause, when);
	}
	return r;
}

int nl_hybrid_release(struct nl_hybrid *h, u32 block, enum nl_cause cause, u64 *when)
{
	struct nl_bk *bk = &h->ftl.blocks.bk[block];

	bk->use = NL_USE_HELD;
	if (bk->flags & NL_RETIRED)
		return nl_media_retire(&h->ftl, block);
	return nl_media_erase(&h->ftl, block, cause, when);
}

/* Fill in where the pages of a logical block are. Return: one more than the last offset in use. */
static u32 nl_merge_sources(struct nl_hybrid *h, u32 lbn)
{
	u32 off, nr = 0;

	nl_hybrid_lookup_all(h, lbn, h->source);
	for (off = 0; off < h->ftl.geo->pages; off++)
		if (h->source[off] != NL_UNMAPPED)
			nr = off + 1;
	return nr;
}

/* -EUCLEAN: it is another's, of a checkpoint that lied, and doesn't become this one's. */
static int nl_merge_read(struct nl_hybrid *h, u64 lpn, u32 ppn, enum nl_cause cause, u64 *when,
			 struct nl_buf **buf, struct nl_rec *rec)
{
	int r = nl_media_read(&h->ftl, ppn, cause, when, buf, rec);

	if (r == -EIO) {
		*buf = NULL;
		*rec = (struct nl_rec){ .type = NL_OOB_LOST, .lpn = lpn, .seq = ++h->ftl.seq };
		h->unread++;
		return 0;
	}
	if (r || ((rec->type == NL_OOB_DATA || rec->type == NL_OOB_LOST) && rec->lpn == lpn))
		return r;
	nl_buf_put(*buf);
	return -EUCLEAN;
}

/* Offset @off of a logical block to that page of @to: a copy, or a pad where there is nothing. */
static int nl_merge_page(struct nl_hybrid *h, u32 lbn, u32 off, u32 to, enum nl_cause cause,
			 u64 *when)
{
	const u64 lpn = (u64)lbn * h->ftl.geo->pages + off;
	struct nl_rec rec = { .type = NL_OOB_PAD, .lpn = lpn };
	struct nl_buf *buf = NULL;
	int r = 0;

	if (h->source[off] != NL_UNMAPPED)
		r = nl_merge_read(h, lpn, h->source[off], cause, when, &buf, &rec);
	if (r)
		return r;
	rec.role = NL_ROLE_DATA;
	r = nl_media_program(&h->ftl, nl_ppn(h->ftl.geo, to, off), cause, when, buf, &rec);
	nl_buf_put(buf);
	return r;
}

/* -EIO: a program failed. */
static int nl_merge_copy(struct nl_hybrid *h, u32 lbn, u32 from, u32 nr, u32 to,
			 enum nl_cause cause, u64 *when)
{
	u64 start = *when, one;
	u32 off;
	int r = 0;

	h->unread = 0;
	for (off = from; off < nr && !r; off++) {
		one = start;
		r = nl_merge_page(h, lbn, off, to, cause, &one);
		*when = max(*when, one);
		cond_resched();
	}
	return r;
}

/* @to is complete from @from on: it is the data block, and what held these pages before is not. */
static int nl_merge_switch(struct nl_hybrid *h, u32 lbn, u32 from, u32 nr, u32 to,
			   enum nl_cause cause, u64 *when)
{
	u32 off, old = h->block[lbn], seq = h->seq_lbn == lbn ? h->seq_block : NL_NONE;
	u32 rest = h->rest_lbn == lbn ? h->rest_block : NL_NONE;
	int r = 0;

	for (off = from; off < nr; off++)
		if (h->source[off] != NL_UNMAPPED)
			nl_hybrid_moved(h, lbn * h->ftl.geo->pages + off, h->source[off],
					nl_ppn(h->ftl.geo, to, off));
	h->ftl.lost += h->unread;
	h->block[lbn] = to;
	if (to != NL_NONE)
		h->ftl.blocks.bk[to].use = NL_USE_DATA;
	if (seq != NL_NONE)
		h->seq_block = NL_NONE;
	if (rest != NL_NONE)
		h->rest_block = NL_NONE;
	if (old != NL_NONE)
		r = nl_hybrid_release(h, old, cause, when);
	if (!r && seq != NL_NONE && seq != to)
		r = nl_hybrid_release(h, seq, cause, when);
	if (!r && rest != NL_NONE)
		r = nl_hybrid_release(h, rest, cause, when);
	return r;
}

static u64 nl_merge_busy(const struct nl_hybrid *h)
{
	const struct nl_timing *timing = &h->ftl.flash->timing;
	u64 sum = 0;
	u32 op;

	for (op = 0; op < NL_NR_OPS; op++)
		sum += timing->busy[op][NL_FOR_MERGE];
	return sum;
}

static void nl_merge_done(struct nl_hybrid *h, enum nl_merge kind, u64 from, u64 to, u64 busy)
{
	h->ftl.merges[kind]++;
	nl_timing_merge(&h->ftl.flash->timing, from, to, nl_merge_busy(h) - busy);
}

/* All of a logical block into @to, erased and held; NL_NONE if there is nothing to be moved. */
static int nl_merge_into(struct nl_hybrid *h, u32 lbn, u32 nr, u32 to, enum nl_cause cause,
			 u64 *when)
{
	int r = nl_merge_copy(h, lbn, 0, nr, to, cause, when);

	if (!r)
		return nl_merge_switch(h, lbn, 0, nr, to, cause, when);
	if (r == -EIO) {
		r = nl_media_retire(&h->ftl, to);
		return r ? r : -EAGAIN;
	}
	if (r != -ESHUTDOWN && to != NL_NONE)
		nl_hybrid_release(h, to, cause, when);
	return r;
}

/*
 * 3.1.2: the erased block is worn: the coldest logical block moves into it, and the younger block
 * that held it becomes free.
 */
static int nl_hybrid_level(struct nl_hybrid *h, u32 worn, u64 *when)
{
	struct nl_ftl *ftl = &h->ftl;
	u32 lbn, block, best = NL_NONE;
	const struct nl_bk *bk = ftl->blocks.bk;
	int r;

	if (bk[worn].use != NL_USE_FREE || ftl->blocks.nr_free < NL_FLOOR ||
	    !nl_block_is_worn(ftl, worn))
		return 0;
	for (lbn = 0; lbn < h->nr_lbn; lbn++) {
		block = h->block[lbn];
		if (block != NL_NONE && bk[block].live &&
		    !nl_block_is_old(ftl, block) &&
		    (best == NL_NONE || bk[block].newest < bk[h->block[best]].newest))
			best = lbn;
	}
	if (best == NL_NONE || (h->seq_block != NL_NONE && h->seq_lbn == best))
		return 0;
	nl_block_take_this(ftl, worn);
	r = nl_merge_into(h, best, nl_merge_sources(h, best), worn, NL_FOR_WEAR, when);
	ftl->wear_swaps += !r;
	return r == -EAGAIN ? 0 : r;
}

int nl_hybrid_full(struct nl_hybrid *h, u32 lbn, u64 *when)
{
	u64 from = *when, busy = nl_merge_busy(h);
	u32 nr = nl_merge_sources(h, lbn), to = NL_NONE, old = h->block[lbn];
	int r;

	do {
		r = nr ? nl_hybrid_take(h, lbn, NL_FOR_MERGE, when, &to) : 0;
		if (!r)
			r = nl_merge_into(h, lbn, nr, to, NL_FOR_MERGE, when);
	} while (r == -EAGAIN);
	if (r)
		return r;
	nl_merge_done(h, NL_MERGE_FULL, from, *when, busy);
	return old == NL_NONE ? 0 : nl_hybrid_level(h, old, when);
}

/*
 * Full: it takes the data block's place (switch). Not full: what is missing is appended first
 * (partial). Not to be gone on with: its pages move to another block with the rest.
 */
int nl_hybrid_end_seq(struct nl_hybrid *h, u64 *when)
{
	u64 from = *when, busy = nl_merge_busy(h);
	u32 lbn = h->seq_lbn, block = h->seq_block, fill = h->ftl.blocks.bk[block].fill, nr;
	int r;

	if (h->seq_closed)
		return nl_hybrid_full(h, lbn, when);
	nr = max(nl_merge_sources(h, lbn), fill);
	r = nl_merge_copy(h, lbn, fill, nr, block, NL_FOR_MERGE, when);
	if (r == -EIO) {
		r = nl_media_retire(&h->ftl, block);
		if (h->ftl.blocks.bk[block].use == NL_USE_BAD) {
			h->seq_block = NL_NONE;		/* nothing in it was live */
			return r;
		}
	}
	if (r || h->ftl.blocks.bk[block].flags & NL_RETIRED ||
	    h->ftl.blocks.bk[block].fill != nr) {
		h->seq_closed = true;
		return r ? r : nl_hybrid_full(h, lbn, when);
	}
	r = nl_merge_switch(h, lbn, fill, nr, block, NL_FOR_MERGE, when);
	if (r)
		return r;
	nl_merge_done(h, nr == fill ? NL_MERGE_SWITCH : NL_MERGE_PARTIAL, from, *when, busy);
	/* of a switch there is but an erase, and nothing that the next run needs */
	if (nr == fill)
		*when = from;
	return 0;
}

static bool nl_slot_is_open(const struct nl_hybrid *h, u32 slot)
{
	u32 i;

	for (i = 0; i < h->nr_open; i++)
		if (h->open[i] == slot)
			return true;
	return false;
}

static u32 nl_slot_oldest(const struct nl_hybrid *h)
{
	u32 i, best = NL_NONE;

	for (i = 0; i < h->nr_log; i++)
		if (h->slot[i].block != NL_NONE && !nl_slot_is_open(h, i) &&
		    (best == NL_NONE || (s32)(h->slot[i].age - h->slot[best].age) < 0))
			best = i;
	return best;
}

/* Nothing in the log block of a slot is live any more. */
static int nl_slot_clear(struct nl_hybrid *h, u32 slot, u64 *when)
{
	u32 block = h->slot[slot].block;
	int r;

	h->slot[slot].block = NL_NONE;
	h->nr_free_slots++;
	h->victim = NL_NONE;
	h->ftl.victims++;
	r = nl_hybrid_release(h, block, NL_FOR_MERGE, when);
	return r ? r : nl_hybrid_level(h, block, when);
}

/* First page of a slot's log block that is live, as many as it has if none is. */
static u32 nl_slot_live(const struct nl_hybrid *h, u32 slot)
{
	u32 first = nl_ppn(h->ftl.geo, h->slot[slot].block, 0);

	return find_next_bit(h->ftl.blocks.live, first + h->ftl.geo->pages, first) - first;
}

/* A logical block that has a page in the oldest log block is merged, if any has. */
int nl_hybrid_reclaim_step(struct nl_hybrid *h, u64 *when)
{
	u32 pages = h->ftl.geo->pages, page;
	int r = 0;

	if (h->victim == NL_NONE)
		h->victim = nl_slot_oldest(h);
	if (h->victim == NL_NONE)
		return -ENOSPC;
	page = nl_slot_live(h, h->victim);
	if (page < pages)
		r = nl_hybrid_full(h, nl_lbn_of(h, h->entry[h->victim * pages + page].lpn), when);
	if (r || nl_slot_live(h, h->victim) < pages)
		return r;
	return nl_slot_clear(h, h->victim, when);
}

int nl_hybrid_reclaim(struct nl_hybrid *h, u64 *when)
{
	u32 had = h->nr_free_slots;
	int r = 0;

	while (!r && h->nr_free_slots == had)
		r = nl_hybrid_reclaim_step(h, when);
	return r;
}
