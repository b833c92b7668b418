/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files of an ext2, 3 or 4 file system, and what of its own, lie in ranges of its device. */
#ifndef HYBRIDCTL_EXT_FILES_H
#define HYBRIDCTL_EXT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "ranges.h"

/* What a file system keeps for itself. */
enum ext_part {
	EXT_SUPER, EXT_DESCRIPTORS, EXT_BLOCK_BITMAP, EXT_INODE_BITMAP, EXT_INODE_TABLE,
	EXT_JOURNAL, EXT_INTERNAL, EXT_NR_PARTS
};

/* "block bitmap" ... */
extern const char * const ext_part_name[EXT_NR_PARTS];

struct ext_file {
	uint32_t inode;
	const char *type;	/* "file", "directory", "symlink", "other" */
	uint64_t size;
	uint64_t lost;		/* bytes of its content */
	uint64_t map;		/* bytes of its block map or attributes: more of it may be lost */
	char *path;		/* NULL: not found */
};

struct ext_files {
	uint64_t part[EXT_NR_PARTS];	/* bytes lost of each */
	struct ext_file *file;		/* by inode; as many as were asked for */
	unsigned long nr;
	uint64_t all;			/* those that are not kept, too */
	bool partly;			/* there may be more: lost itself, or too late */
};

/*
 * What of the file system at byte @offset of @path is in the bytes @lost, which is settled: @limit
 * files at most, looking until @until (0: as long as it takes).  Prints what is wrong if @say; 0 or
 * EXIT_FAILED.
 */
int ext_files_find(struct ext_files *f, const char *path, uint64_t offset,
		   const struct ranges *lost, unsigned long limit, time_t until, bool say);
void ext_files_free(struct ext_files *f);

#endif
