// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of the page map, its blocks and what OOB says. */
#include <linux/sched.h>
#include "check.h"
#include "ftl_page.h"

static u32 nl_check_map(struct nl_checking *c, const struct nl_page_ftl *f)
{
	u32 i, live = 0;

	for (i = 0; i < f->ftl.logical_pages; i++) {
		cond_resched();
		if (f->map[i] == NL_UNMAPPED)
			continue;
		live++;
		nl_check_live(c, f->map[i], NL_OOB_DATA, i);
	}
	if (live != f->mapped)
		nl_finding(c, "%u pages are mapped, %u are counted", live, f->mapped);
	return live;
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
	live += nl_split_check(&c, nl_page_ftl(ftl));
	nl_check_blocks(&c, live);
	nl_check_closed(&c);
	nl_check_active(&c, nl_page_ftl(ftl));
	return c.found;
}
