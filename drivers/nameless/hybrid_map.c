// SPDX-License-Identifier: GPL-2.0-only
/* Where a logical page is: in the log area, the sequential log block or its data block. */
#include "ftl_hybrid.h"

static u32 nl_entry_ppn(const struct nl_hybrid *h, u32 entry)
{
	return nl_ppn(h->ftl.geo, h->slot[entry / h->ftl.geo->pages].block,
		      entry % h->ftl.geo->pages);
}

static u32 nl_entry_of(const struct nl_hybrid *h, u32 ppn)
{
	u32 slot = h->ftl.blocks.bk[nl_block_of(h->ftl.geo, ppn)].prev;

	return slot * h->ftl.geo->pages + nl_page_of(h->ftl.geo, ppn);
}

/* A page of a block that is ordered by address, if it is live there. */
static u32 nl_in_block(const struct nl_hybrid *h, u32 block, u32 lpn)
{
	u32 ppn;

	if (block == NL_NONE)
		return NL_UNMAPPED;
	ppn = nl_ppn(h->ftl.geo, block, lpn % h->ftl.geo->pages);
	return nl_page_is_live(&h->ftl, ppn) ? ppn : NL_UNMAPPED;
}

u32 nl_hybrid_lookup(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_hybrid *h = nl_hybrid(ftl);
	u32 lbn = nl_lbn_of(h, lpn), e, ppn = NL_UNMAPPED;

	for (e = h->head[lbn]; e != NL_NONE; e = h->entry[e].next)
		if (h->entry[e].lpn == lpn)
			return nl_entry_ppn(h, e);
	if (h->seq_block != NL_NONE && h->seq_lbn == lbn)
		ppn = nl_in_block(h, h->seq_block, lpn);
	if (ppn == NL_UNMAPPED && h->rest_block != NL_NONE && h->rest_lbn == lbn)
		ppn = nl_in_block(h, h->rest_block, lpn);
	return ppn == NL_UNMAPPED ? nl_in_block(h, h->block[lbn], lpn) : ppn;
}

/*
 * What is live in a block that is ordered by address is nowhere else, so the order in which they
 * are looked at makes no difference.
 */
void nl_hybrid_lookup_all(struct nl_hybrid *h, u32 lbn, u32 *ppn)
{
	u32 seq = h->seq_lbn == lbn ? h->seq_block : NL_NONE;
	u32 rest = h->rest_lbn == lbn ? h->rest_block : NL_NONE, off, e;

	for (off = 0; off < h->ftl.geo->pages; off++) {
		ppn[off] = nl_in_block(h, h->block[lbn], off);
		if (ppn[off] == NL_UNMAPPED)
			ppn[off] = nl_in_block(h, seq, off);
		if (ppn[off] == NL_UNMAPPED)
			ppn[off] = nl_in_block(h, rest, off);
	}
	for (e = h->head[lbn]; e != NL_NONE; e = h->entry[e].next)
		ppn[h->entry[e].lpn % h->ftl.geo->pages] = nl_entry_ppn(h, e);
}

void nl_hybrid_log_add(struct nl_hybrid *h, u32 lpn, u32 ppn)
{
	u32 e = nl_entry_of(h, ppn), lbn = nl_lbn_of(h, lpn);

	h->entry[e].lpn = lpn;
	h->entry[e].next = h->head[lbn];
	h->head[lbn] = e;
}

static void nl_hybrid_log_del(struct nl_hybrid *h, u32 lpn, u32 ppn)
{
	u32 e = nl_entry_of(h, ppn), *at = &h->head[nl_lbn_of(h, lpn)];

	while (*at != e)
		at = &h->entry[*at].next;
	*at = h->entry[e].next;
}

static void nl_hybrid_dead(struct nl_hybrid *h, u32 lpn, u32 ppn)
{
	if (h->ftl.blocks.bk[nl_block_of(h->ftl.geo, ppn)].use == NL_USE_LOG)
		nl_hybrid_log_del(h, lpn, ppn);
	nl_page_dead(&h->ftl, ppn);
}

void nl_hybrid_moved(struct nl_hybrid *h, u32 lpn, u32 from, u32 to)
{
	nl_hybrid_dead(h, lpn, from);
	nl_page_live(&h->ftl, to);
}

void nl_hybrid_place(struct nl_hybrid *h, u32 lpn, u32 ppn)
{
	u32 old = nl_hybrid_lookup(&h->ftl, lpn);

	if (old == NL_UNMAPPED)
		h->mapped++;
	else
		nl_hybrid_dead(h, lpn, old);
	nl_page_live(&h->ftl, ppn);
	if (h->ftl.blocks.bk[nl_block_of(h->ftl.geo, ppn)].use == NL_USE_LOG)
		nl_hybrid_log_add(h, lpn, ppn);
}

void nl_hybrid_forget(struct nl_ftl *ftl, u32 lpn)
{
	nl_hybrid_dead(nl_hybrid(ftl), lpn, nl_hybrid_lookup(ftl, lpn));
	nl_hybrid(ftl)->mapped--;
}
