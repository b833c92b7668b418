// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hybrid map out of a checkpoint or a scan. A block in which nothing is live is free,
 * whatever it was. A logical block may have two blocks that are ordered by address: its data
 * block, and the sequential log block or what a merge left; that one is not gone on with. Nor are
 * log blocks: their next page may be torn.
 *
 * There may be one more: a merge that came upon a page that can't be read, and was cut, left what
 * says so; or what it had copied can't be read any more where it was. All of it is merged at once,
 * so that it remains one, however often the power goes.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_hybrid.h"

static int nl_recover_data(struct nl_hybrid *h, u32 block)
{
	u32 lbn = nl_lbn_of(h, h->ftl.blocks.bk[block].prev);

	if (lbn >= h->nr_lbn)
		return -EUCLEAN;
	h->ftl.blocks.bk[block].use = NL_USE_DATA;
	if (h->block[lbn] == NL_NONE) {
		h->block[lbn] = block;
		return 0;
	}
	if (h->seq_block == NL_NONE) {
		h->seq_block = block;
		h->seq_lbn = lbn;
		h->seq_closed = true;
		return 0;
	}
	if (h->rest_block != NL_NONE)
		return -EUCLEAN;
	h->rest_block = block;
	h->rest_lbn = lbn;
	return 0;
}

/* For want of room it stays where it is, until a merge for another reason comes by. */
static int nl_recover_rest(struct nl_hybrid *h, struct nl_io *io)
{
	u64 when = io->done;
	int r;

	if (h->rest_block == NL_NONE || h->ftl.state == NL_FTL_RO)
		return 0;
	r = nl_hybrid_full(h, h->rest_lbn, &when);
	nl_io_wait(io, when);
	return r == -ENOSPC ? 0 : r;
}

static int nl_recover_log(struct nl_hybrid *h, u32 block)
{
	u32 i;

	for (i = 0; i < h->nr_log && h->slot[i].block != NL_NONE; i++)
		;
	if (i == h->nr_log)
		return -EUCLEAN;
	h->ftl.blocks.bk[block].use = NL_USE_LOG;
	h->ftl.blocks.bk[block].prev = i;
	h->slot[i].block = block;
	h->nr_free_slots--;
	h->slot[i].age = h->age++;
	return 0;
}

static int nl_recover_block(struct nl_hybrid *h, u32 block, struct nl_io *io)
{
	struct nl_bk *bk = &h->ftl.blocks.bk[block];

	if (bk->use != NL_USE_HELD)
		return 0;
	if (!bk->live)
		return nl_scan_free(&h->ftl, block, io);
	if (bk->next == NL_SCAN_TRIM) {
		bk->use = NL_USE_META;
		h->meta[h->meta_used++] = block;
		h->meta_closed = true;
		return 0;
	}
	return bk->next == NL_ROLE_LOG ? nl_recover_log(h, block) : nl_recover_data(h, block);
}

/* A page that is in no log block has one place in its logical block's. */
static int nl_recover_page(struct nl_hybrid *h, u32 lpn, u32 ppn)
{
	if (h->ftl.blocks.bk[nl_block_of(h->ftl.geo, ppn)].use != NL_USE_LOG)
		return nl_hybrid_lookup(&h->ftl, lpn) == ppn ? 0 : -EUCLEAN;
	nl_hybrid_log_add(h, lpn, ppn);
	return 0;
}

static int nl_recover_all(struct nl_hybrid *h, const u32 *map, struct nl_io *io)
{
	struct nl_ftl *ftl = &h->ftl;
	u32 i;
	int r = 0;

	for (i = 0; i < ftl->logical_pages; i++)
		h->mapped += map[i] != NL_UNMAPPED;
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		r = nl_recover_block(h, i, io);
	for (i = 0; i < ftl->logical_pages && !r; i++)
		if (map[i] != NL_UNMAPPED)
			r = nl_recover_page(h, i, map[i]);
	for (i = 0; i < ftl->trims.nr && !r; i++)
		if (ftl->trims.ppn[i] != NL_UNMAPPED &&
		    ftl->blocks.bk[nl_block_of(ftl->geo, ftl->trims.ppn[i])].use != NL_USE_META)
			r = -EUCLEAN;
	return r;
}

/* What a scan says of blocks, out of what a checkpoint does: in which role, and whose. */
static void nl_recover_roles(struct nl_hybrid *h, const u32 *map)
{
	struct nl_bk *bk = h->ftl.blocks.bk;
	u32 i;

	for (i = 0; i < h->ftl.geo->nr_blocks; i++) {
		if (bk[i].use != NL_USE_HELD)
			continue;
		bk[i].next = bk[i].next == NL_USE_META ? NL_SCAN_TRIM :
			     bk[i].next == NL_USE_LOG ? NL_ROLE_LOG : NL_ROLE_DATA;
	}
	for (i = 0; i < h->ftl.logical_pages; i++)
		if (map[i] != NL_UNMAPPED)
			bk[nl_block_of(h->ftl.geo, map[i])].prev = i;
}

int nl_hybrid_recover(struct nl_hybrid *h, struct nl_io *io)
{
	u32 *map = kvmalloc_array(h->ftl.logical_pages, sizeof(*map), NL_GFP_IO), i;
	int r;

	if (!map)
		return -ENOMEM;
	for (i = 0; i < h->ftl.logical_pages; i++)
		map[i] = NL_UNMAPPED;
	r = nl_recover_map(&h->ftl, map, io);
	if (!r && !h->ftl.scanned)
		nl_recover_roles(h, map);
	if (!r)
		r = nl_recover_all(h, map, io);
	kvfree(map);
	return r ? r : nl_recover_rest(h, io);
}
