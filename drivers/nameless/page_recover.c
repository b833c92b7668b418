// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page map out of a checkpoint or a scan. After a scan blocks that were being filled are
 * closed: the page after the last one may be torn and only look erased.
 */
#include "ftl_page.h"

static int nl_recover_block(struct nl_page_ftl *f, u32 block, struct nl_io *io)
{
	struct nl_ftl *ftl = &f->ftl;
	struct nl_bk *bk = &ftl->blocks.bk[block];
	u32 plane = nl_plane_of(ftl->geo, block);

	if (bk->use != NL_USE_HELD)
		return 0;
	if (ftl->scanned && !bk->live)
		return nl_scan_free(ftl, block, io);
	if (ftl->scanned || bk->next != NL_USE_ACTIVE || f->active[plane] != NL_NONE) {
		nl_block_close(ftl, block);
		return 0;
	}
	bk->use = NL_USE_ACTIVE;
	f->active[plane] = block;
	f->blank += ftl->geo->pages - bk->fill;
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
		r = nl_recover_block(f, i, io);
	return r;
}
