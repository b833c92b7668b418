/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that is made, or made larger, for a file system, and as it was if there won't be one. */
#ifndef EVENKEEL_MKFS_SCMFS_FILE_H
#define EVENKEEL_MKFS_SCMFS_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct file_before {
	bool none;		/* there was none */
	bool smaller;
	uint64_t size;		/* if it was smaller */
};

/*
 * Make @path a file of @size bytes if it is none or smaller.  A file with something in it only by
 * @force.  Devices are left alone.  Says what is wrong on standard error and returns false, with
 * all as it was.
 */
bool file_enlarge(const char *path, uint64_t size, bool force, struct file_before *before);
void file_take_back(const char *path, const struct file_before *before);

/* What of a device or a file is looked at for something that is there. */
#define FILE_LOOK	(1u << 20)
bool file_refused(const char *path);	/* says why, returns false */

#endif
