// SPDX-License-Identifier: GPL-2.0-only
/* The page map out of a checkpoint or a scan. */
#include "ftl_page.h"

static int nl_page_recover_block(struct nl_page_ftl *f, u32 block, struct nl_io *io)
{
	int r = nl_scan_place(&f->ftl, block, f->active, io);

	if (r <= 0)
		return r;
	f->blank += f->ftl.geo->pages - f->ftl.blocks.bk[block].fill;
	return 0;
}

int nl_page_recover(struct nl_page_ftl *f, struct nl_io *io)
{
	struct nl_ftl *ftl = &f->ftl;
	int r = nl_recover_map(ftl, f->map, io);
	u32 i;

	if (r)
		return r;
	for (i = 0; i < ftl->logical_pages; i++)
		f->mapped += f->map[i] != NL_UNMAPPED;
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		r = nl_page_recover_block(f, i, io);
	return r;
}
