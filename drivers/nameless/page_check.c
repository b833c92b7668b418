// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of the page map, its blocks and what OOB says. */
#include <linux/bitops.h>
#include "ftl_page.h"

struct nl_checking {
	struct nl_page_ftl *f;
	nl_report report;
	void *ctx;
	u32 found;
};

static __printf(2, 3) void nl_finding(struct nl_checking *c, const char *format, ...)
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

/* What a live page's OOB has to say. */
static void nl_check_live(struct nl_checking *c, u32 ppn, u8 type, u32 lpn)
{
	struct nl_ftl *ftl = &c->f->ftl;
	const void *oob;
	struct nl_rec rec;

	if (ppn >= ftl->geo->nr_pages) {
		nl_finding(c, "logical page %u: flash page %u is beyond the end", lpn, ppn);
		return;
	}
	if (!nl_page_is_live(ftl, ppn))
		nl_finding(c, "logical page %u: flash page %u is not live", lpn, ppn);
	oob = nl_flash_peek(ftl->flash, ppn);
	if (!oob || nl_oob_decode(ftl, oob, &rec))
		nl_finding(c, "logical page %u: flash page %u has no record", lpn, ppn);
	else if (rec.type != type || rec.lpn != lpn)
		nl_finding(c, "logical page %u: flash page %u is type %u of %llu", lpn, ppn,
			   rec.type, (unsigned long long)rec.lpn);
}

static u32 nl_check_map(struct nl_checking *c)
{
	struct nl_ftl *ftl = &c->f->ftl;
	u32 i, live = 0, trimmed = 0;

	for (i = 0; i < ftl->logical_pages; i++) {
		if (nl_is_trimmed(ftl, i)) {
			trimmed++;
			if (c->f->map[i] == NL_UNMAPPED)
				nl_finding(c, "logical page %u waits for a record of nothing", i);
		}
		if (c->f->map[i] == NL_UNMAPPED)
			continue;
		live++;
		nl_check_live(c, c->f->map[i], NL_OOB_DATA, i);
	}
	if (live != c->f->mapped)
		nl_finding(c, "%u pages are mapped, %u are counted", live, c->f->mapped);
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
	struct nl_ftl *ftl = &c->f->ftl;
	const struct nl_bk *bk = &ftl->blocks.bk[block];

	if ((bk->use == NL_USE_BAD) != nl_flash_is_bad(ftl->flash, block))
		nl_finding(c, "block %u: is%s bad in flash", block,
			   bk->use == NL_USE_BAD ? " not" : "");
	if (bk->use == NL_USE_FREE && (bk->fill || bk->live))
		nl_finding(c, "block %u: is free with %u pages, %u live", block, bk->fill, bk->live);
	if (bk->use == NL_USE_FREE && !(bk->flags & NL_DIRTY) && ftl->flash->block[block].next)
		nl_finding(c, "block %u: is free and not erased", block);
	if (bk->use == NL_USE_ACTIVE && bk->fill != ftl->flash->block[block].next)
		nl_finding(c, "block %u: goes on at %u, in flash at %u", block, bk->fill,
			   ftl->flash->block[block].next);
	if (bk->use == NL_USE_HELD && !(bk->flags & NL_RETIRED))
		nl_finding(c, "block %u: is nowhere", block);
}

static u32 nl_check_block(struct nl_checking *c, u32 block)
{
	struct nl_ftl *ftl = &c->f->ftl;
	u32 i, live = 0;

	for (i = 0; i < ftl->geo->pages; i++)
		live += nl_page_is_live(ftl, nl_ppn(ftl->geo, block, i));
	if (live != ftl->blocks.bk[block].live)
		nl_finding(c, "block %u: %u pages are live, %u are counted", block, live,
			   ftl->blocks.bk[block].live);
	nl_check_flash(c, block);
	return live;
}

static void nl_check_free(struct nl_checking *c, u32 *nr_free)
{
	struct nl_ftl *ftl = &c->f->ftl;
	u32 plane, block, n;

	for (plane = 0; plane < ftl->geo->nr_planes; plane++) {
		n = 0;
		for (block = ftl->blocks.free[plane].first; block != NL_NONE && n <= ftl->geo->blocks;
		     block = ftl->blocks.bk[block].next) {
			n++;
			if (ftl->blocks.bk[block].use != NL_USE_FREE ||
			    nl_plane_of(ftl->geo, block) != plane)
				nl_finding(c, "block %u: is in plane %u's free list", block, plane);
		}
		if (n != ftl->blocks.nr_free_in[plane])
			nl_finding(c, "plane %u: %u blocks are free, %u are counted", plane, n,
				   ftl->blocks.nr_free_in[plane]);
		*nr_free += n;
	}
}

static u32 nl_check_closed(struct nl_checking *c)
{
	struct nl_ftl *ftl = &c->f->ftl;
	bool fifo = ftl->config.p[NL_P_GC] == NL_GC_FIFO;
	u32 n = 0, block;
	u64 i;

	for (i = 0; i < (u64)ftl->geo->nr_planes * ftl->blocks.lists; i++)
		for (block = ftl->blocks.closed[i].first;
		     block != NL_NONE && n <= ftl->geo->nr_blocks;
		     block = ftl->blocks.bk[block].next) {
			n++;
			if (ftl->blocks.bk[block].use != NL_USE_CLOSED ||
			    (!fifo && (u64)nl_plane_of(ftl->geo, block) * ftl->blocks.lists +
				      ftl->blocks.bk[block].live != i))
				nl_finding(c, "block %u: is in the wrong list", block);
		}
	return n;
}

static void nl_check_counts(struct nl_checking *c, const u32 *use)
{
	struct nl_ftl *ftl = &c->f->ftl;
	u32 plane, active = 0, blank = 0, nr_free = 0, closed = nl_check_closed(c);

	nl_check_free(c, &nr_free);
	for (plane = 0; plane < ftl->geo->nr_planes; plane++) {
		if (c->f->active[plane] == NL_NONE)
			continue;
		active++;
		blank += ftl->geo->pages - ftl->blocks.bk[c->f->active[plane]].fill;
		if (ftl->blocks.bk[c->f->active[plane]].use != NL_USE_ACTIVE)
			nl_finding(c, "plane %u: its active block is not", plane);
	}
	if (active != use[NL_USE_ACTIVE] || blank != c->f->blank)
		nl_finding(c, "%u blocks are active with %u pages blank, not %u with %u",
			   use[NL_USE_ACTIVE], c->f->blank, active, blank);
	if (nr_free != use[NL_USE_FREE] || nr_free != ftl->blocks.nr_free)
		nl_finding(c, "%u blocks are free, %u in lists, %u are counted",
			   use[NL_USE_FREE], nr_free, ftl->blocks.nr_free);
	if (closed != use[NL_USE_CLOSED])
		nl_finding(c, "%u blocks are closed, %u in lists", use[NL_USE_CLOSED], closed);
	if (ftl->geo->nr_blocks - use[NL_USE_BAD] - ftl->blocks.retired != ftl->blocks.good)
		nl_finding(c, "%u blocks are bad, %u retired, %u counted as good",
			   use[NL_USE_BAD], ftl->blocks.retired, ftl->blocks.good);
}

u32 nl_page_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	struct nl_checking c = { .f = nl_page_ftl(ftl), .report = report, .ctx = ctx };
	u32 use[NL_USE_BAD + 1] = { 0 };
	u32 i, live = 0, wanted = nl_check_map(&c);

	for (i = 0; i < ftl->geo->nr_blocks; i++) {
		use[ftl->blocks.bk[i].use]++;
		live += nl_check_block(&c, i);
	}
	if (live != wanted)
		nl_finding(&c, "%u flash pages are live, %u are mapped", live, wanted);
	nl_check_counts(&c, use);
	if (ftl->flash->violations)
		nl_finding(&c, "%llu violations, first: %s",
			   (unsigned long long)ftl->flash->violations, ftl->flash->violation);
	return c.found;
}
