/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_CHECK_H
#define NAMELESS_CHECK_H

#include "ftl_internal.h"

/* A check under way. */
struct nl_checking {
	struct nl_ftl *ftl;
	nl_report report;
	void *ctx;
	u32 found;
	u32 use[NL_USE_BAD + 1];	/* blocks by enum nl_use */
};

__printf(2, 3) void nl_finding(struct nl_checking *c, const char *format, ...);
/* What a live page's OOB has to say. */
void nl_check_live(struct nl_checking *c, u32 ppn, u8 type, u32 lpn);
/* Trims and their records: live pages that they take. */
u32 nl_check_trims(struct nl_checking *c);
/* Blocks: live pages, which have to be @wanted, states, the free lists. */
void nl_check_blocks(struct nl_checking *c, u32 wanted);
/* The lists of closed blocks. */
void nl_check_closed(struct nl_checking *c);

#endif
