/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table line, checked word by word; nothing is opened.  Pure.
 */
#ifndef _HYBRID_ARGS_H
#define _HYBRID_ARGS_H

#include <linux/types.h>
#include <evenkeel/hybrid_format.h>

#define HY_MAX_ARGS	64	/* words of policy arguments */

/* Paths point into the words that were parsed. */
struct hy_args {
	u32 extent_sectors;
	unsigned int nr_meta;
	const char *meta_path[EK_MAX_META];
	sector_t meta_start[EK_MAX_META];
	unsigned int nr_members;
	const char *member_path[EK_MAX_MEMBERS];
	sector_t member_start[EK_MAX_MEMBERS];
	bool no_discard_passdown;
	bool read_only;
	char policy[EK_POLICY_TEXT_SIZE];
};

int hy_args_parse(struct hy_args *args, unsigned int argc, char **argv, char **error);

#endif
