/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check a file system, and repair what is wrong. It works on memory: to check only, give it a
 * private copy of the image and forget that afterwards.
 */
#ifndef EVENKEEL_SCMFS_CHECK_H
#define EVENKEEL_SCMFS_CHECK_H

#include <linux/types.h>

/**
 * struct scmfs_check - what was found
 * @found: wrong things
 * @left: of them, those that are not repaired
 * @recovered: it had not been closed, which is no fault
 * @inodes: in use
 * @blocks: of files
 * @keep: leave what can't be repaired without a loss as it is, and what rests on it
 * @from_copy: take the super block's copy, whatever is in its place
 * @say: called with each finding; a line without its end
 */
struct scmfs_check {
	u64 found;
	u64 left;
	bool recovered;
	u64 inodes;
	u64 blocks;
	bool keep;
	bool from_copy;
	void (*say)(const char *text);
};

/*
 * Return: 0; -EMEDIUMTYPE and others of scmfs_probe(): not to be repaired, @reason says why;
 * -ENOMEM.
 */
int scmfs_check(u8 *base, u64 size, struct scmfs_check *check, const char **reason);

#endif
