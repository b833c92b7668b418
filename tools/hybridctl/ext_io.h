/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ext2, 3 or 4 file system (through libext2fs) of which ranges of bytes are lost: they are not
 * asked for, which with a member that hangs takes minutes a block.
 */
#ifndef HYBRIDCTL_EXT_IO_H
#define HYBRIDCTL_EXT_IO_H

#include <ext2fs/ext2fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "ranges.h"

struct ext_volume {
	ext2_filsys fs;
	struct struct_io_manager io;
	const struct ranges *lost;	/* bytes of the device, settled */
	uint64_t offset;		/* on it, of the file system */
	time_t until;			/* nothing is asked for from then on; 0: no such time */
	/* What is lost reads as a block of no names, otherwise as zeroes. */
	bool names;
	bool partly;			/* something was asked for that is lost, or too late */
};

/*
 * Opens the file system at byte @offset of the device or image @path, for reading; by a copy of its
 * superblock if the first can't be read.  0 or EXIT_FAILED with the reason printed, if @say.
 */
int ext_open(struct ext_volume *v, const char *path, uint64_t offset, const struct ranges *lost,
	     time_t until, bool say);
bool ext_is_late(const struct ext_volume *v);
void ext_close(struct ext_volume *v);

#endif
