// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of the page map, its blocks and what OOB says. */
#include "check.h"
#include "ftl_page.h"

static u32 nl_check_map(struct nl_checking *c, const struct nl_page_ftl *f)
{
	u32 i, live = 0;

	for (i = 0; i < f->ftl.logical_pages; i++) {
		if (f->map[i] == NL_UNMAPPED)
			continue;
		live++;
		nl_check_live(c, f->map[i], NL_OOB_DATA, i);
	}
	if (live != f->mapped)
		nl_finding(c, "%u pages are mapped, %u are counted", live, f->mapped);
	return live;
}

static void nl_check_closed(struct nl_checking *c)
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

static void nl_check_active(struct nl_checking *c, const struct nl_page_ftl *f)
{
	u32 plane, active = 0, blank = 0;

	for (plane = 0; plane < f->ftl.geo->nr_planes; plane++) {
		if (f->active[plane] == NL_NONE)
			continue;
		active++;
		blank += f->ftl.geo->pages - f->ftl.blocks.bk[f->active[plane]].fill;
		if (f->ftl.blocks.bk[f->active[plane]].use != NL_USE_ACTIVE)
			nl_finding(c, "plane %u: its active block is not", plane);
	}
	if (active != c->use[NL_USE_ACTIVE] || blank != f->blank)
		nl_finding(c, "%u blocks are active with %u pages blank, not %u with %u",
			   c->use[NL_USE_ACTIVE], f->blank, active, blank);
}

u32 nl_page_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	struct nl_checking c = { .ftl = ftl, .report = report, .ctx = ctx };
	u32 live = nl_check_map(&c, nl_page_ftl(ftl));

	live += nl_check_trims(&c);
	nl_check_blocks(&c, live);
	nl_check_closed(&c);
	nl_check_active(&c, nl_page_ftl(ftl));
	return c.found;
}
