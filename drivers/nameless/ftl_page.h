/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_FTL_PAGE_H
#define NAMELESS_FTL_PAGE_H

#include "ftl_internal.h"
#include "split.h"

/**
 * struct nl_page_ftl - the page map
 * @ftl: what all FTLs have
 * @map: flash page of each logical page, NL_UNMAPPED
 * @active: per plane: the block being filled, NL_NONE
 * @cursor: plane whose turn it is
 * @blank: pages of active blocks that are not spent
 * @mapped: logical pages with a flash page
 * @collecting: live pages are being moved: they may use the floor
 * @home: plane that they are in
 * @split: metadata that is written at a flush (nl_ftl_split); NULL: OOB and trim records say it all
 */
struct nl_page_ftl {
	struct nl_ftl ftl;
	u32 *map;
	u32 *active;
	u32 cursor;
	u32 blank;
	u32 mapped;
	bool collecting;
	u32 home;
	struct nl_split *split;
};

static inline struct nl_page_ftl *nl_page_ftl(struct nl_ftl *ftl)
{
	return container_of(ftl, struct nl_page_ftl, ftl);
}

/* page_recover.c: fill in map and blocks from a checkpoint or all OOB. */
int nl_page_recover(struct nl_page_ftl *f, struct nl_io *io);

/* page_check.c */
u32 nl_page_check(struct nl_ftl *ftl, nl_report report, void *ctx);

#endif
