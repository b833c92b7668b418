// SPDX-License-Identifier: GPL-2.0-only
/* Invariants that all FTLs have. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include "check.h"

void nl_finding(struct nl_checking *c, const char *format, ...)
{
	char text[160];
	va_list args;

	c->found++;
	if (!c->report)
		return;
	va_start(args, format);
	vscnprintf(text, sizeof(text), format, args);
	va_end(args);
	c->report(c->ctx, text);
}

void nl_check_live(struct nl_checking *c, u32 ppn, u8 type, u32 lpn)
{
	const void *oob;
	struct nl_rec rec;

	if (ppn >= c->ftl->geo->nr_pages) {
		nl_finding(c, "logical page %u: flash page %u is beyond the end", lpn, ppn);
		return;
	}
	if (!nl_page_is_live(c->ftl, ppn))
		nl_finding(c, "logical page %u: flash page %u is not live", lpn, ppn);
	oob = c->ftl->ops->peek ? c->ftl->ops->peek(c->ftl, ppn) :
				  nl_flash_peek(c->ftl->flash, ppn);
	if (!oob || nl_oob_decode(c->ftl, oob, &rec))
		nl_finding(c, "logical page %u: flash page %u has no record", lpn, ppn);
	else if ((rec.type == NL_OOB_LOST ? NL_OOB_DATA : rec.type) != type || rec.lpn != lpn)
		nl_finding(c, "logical page %u: flash page %u is type %u of %llu", lpn, ppn,
			   rec.type, (unsigned long long)rec.lpn);
}

u32 nl_check_trims(struct nl_checking *c)
{
	struct nl_ftl *ftl = c->ftl;
	u32 i, trimmed = 0, live = 0;

	for (i = 0; i < ftl->logical_pages; i++) {
		cond_resched();
		if (!nl_is_trimmed(ftl, i))
			continue;
		trimmed++;
		if (!nl_is_mapped(ftl, i))
			nl_finding(c, "logical page %u waits for a record of nothing", i);
	}
	if (trimmed != ftl->trims.nr_pending)
		nl_finding(c, "%u trims wait, %u are counted", trimmed, ftl->trims.nr_pending);
	for (i = 0; i < ftl->trims.nr; i++) {
		if (ftl->trims.ppn[i] == NL_UNMAPPED)
			continue;
		live++;
		nl_check_live(c, ftl->trims.ppn[i], NL_OOB_TRIM, i);
	}
	return live;
}

static void nl_check_flash(struct nl_checking *c, u32 block)
{
	const struct nl_bk *bk = &c->ftl->blocks.bk[block];
	u32 next = c->ftl->flash->block[block].next;
	bool bad = bk->use == NL_USE_BAD;

	if (bad != nl_flash_is_bad(c->ftl->flash, block))
		nl_finding(c, "block %u: is%s bad in flash", block, bad ? " not" : "");
	if (bk->use == NL_USE_FREE && (bk->fill || bk->live))
		nl_finding(c, "block %u: is free with %u pages, %u live", block, bk->fill,
			   bk->live);
	if (bk->use == NL_USE_FREE && !(bk->flags & NL_DIRTY) && next)
		nl_finding(c, "block %u: is free and not erased", block);
	if (bk->use == NL_USE_ACTIVE && bk->fill != next)
		nl_finding(c, "block %u: goes on at %u, in flash at %u", block, bk->fill, next);
	if (bk->use == NL_USE_HELD && !(bk->flags & (NL_RETIRED | NL_UNREADABLE)))
		nl_finding(c, "block %u: is nowhere", block);
}

static u32 nl_check_block(struct nl_checking *c, u32 block)
{
	u32 i, live = 0;

	for (i = 0; i < c->ftl->geo->pages && !c->ftl->ops->lean; i++)
		live += nl_page_is_live(c->ftl, nl_ppn(c->ftl->geo, block, i));
	if (live != c->ftl->blocks.bk[block].live)
		nl_finding(c, "block %u: %u pages are live, %u are counted", block, live,
			   c->ftl->blocks.bk[block].live);
	c->use[c->ftl->blocks.bk[block].use]++;
	nl_check_flash(c, block);
	return live;
}

static u32 nl_check_free_in(struct nl_checking *c, u32 plane)
{
	const struct nl_blocks *b = &c->ftl->blocks;
	u32 n = 0, block;

	for (block = b->free[plane].first; block != NL_NONE && n <= c->ftl->geo->blocks;
	     block = b->bk[block].next) {
		n++;
		if (b->bk[block].use != NL_USE_FREE || nl_plane_of(c->ftl->geo, block) != plane)
			nl_finding(c, "block %u: is in plane %u's free list", block, plane);
	}
	if (n != b->nr_free_in[plane])
		nl_finding(c, "plane %u: %u blocks are free, %u are counted", plane, n,
			   b->nr_free_in[plane]);
	return n;
}

void nl_check_blocks(struct nl_checking *c, u32 wanted)
{
	const struct nl_blocks *b = &c->ftl->blocks;
	u32 i, live = 0, nr_free = 0;

	for (i = 0; i < c->ftl->geo->nr_blocks; i++) {
		live += nl_check_block(c, i);
		cond_resched();
	}
	if (live != wanted)
		nl_finding(c, "%u flash pages are live, %u are mapped", live, wanted);
	for (i = 0; i < c->ftl->geo->nr_planes; i++)
		nr_free += nl_check_free_in(c, i);
	if (nr_free != c->use[NL_USE_FREE] || nr_free != b->nr_free)
		nl_finding(c, "%u blocks are free, %u in lists, %u are counted",
			   c->use[NL_USE_FREE], nr_free, b->nr_free);
	if (c->ftl->geo->nr_blocks - c->use[NL_USE_BAD] - b->retired != b->good)
		nl_finding(c, "%u blocks are bad, %u retired, %u counted as good",
			   c->use[NL_USE_BAD], b->retired, b->good);
	if (c->ftl->flash->violations)
		nl_finding(c, "%llu violations, first: %s",
			   (unsigned long long)c->ftl->flash->violations,
			   c->ftl->flash->violation);
}

void nl_check_closed(struct nl_checking *c)
{
	const struct nl_blocks *b = &c->ftl->blocks;
	bool fifo = c->ftl->config.p[NL_P_GC] == NL_GC_FIFO;
	u32 n = 0, block;
	u64 i;

	for (i = 0; i < (u64)c->ftl->geo->nr_planes * b->lists; i++)
		for (block = b->closed[i].first; block != NL_NONE && n <= c->ftl->geo->nr_blocks;
		     block = b->bk[block].next) {
			n++;
			if (b->bk[block].use != NL_USE_CLOSED ||
			    (!fifo && (u64)nl_plane_of(c->ftl->geo, block) * b->lists +
				      b->bk[block].live != i))
				nl_finding(c, "block %u: is in the wrong list", block);
		}
	if (n != c->use[NL_USE_CLOSED])
		nl_finding(c, "%u blocks are closed, %u in lists", c->use[NL_USE_CLOSED], n);
}
