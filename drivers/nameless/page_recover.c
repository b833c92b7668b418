// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page map after a scan. Blocks that were being filled are closed: the page after the last
 * one may be torn and only look erased.
 */
#include "ftl_page.h"

int nl_page_recover(struct nl_page_ftl *f, struct nl_io *io)
{
	struct nl_ftl *ftl = &f->ftl;
	int r = nl_scan(ftl, f->map, io);
	u32 i;

	if (r)
		return r;
	for (i = 0; i < ftl->logical_pages; i++) {
		if (f->map[i] == NL_UNMAPPED)
			continue;
		nl_page_live(ftl, f->map[i]);
		f->mapped++;
	}
	for (i = 0; i < ftl->trims.nr; i++)
		if (ftl->trims.ppn[i] != NL_UNMAPPED)
			nl_page_live(ftl, ftl->trims.ppn[i]);
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++) {
		if (ftl->blocks.bk[i].use == NL_USE_BAD)
			continue;
		if (ftl->blocks.bk[i].live)
			nl_block_close(ftl, i);
		else
			r = nl_scan_free(ftl, i, io);
	}
	return r;
}
