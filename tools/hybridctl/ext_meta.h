/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the metadata of an ext2, 3 or 4 file system is (through libext2fs). */
#ifndef HYBRIDCTL_EXT_META_H
#define HYBRIDCTL_EXT_META_H

#include <stdint.h>

#include "ranges.h"

/*
 * Ranges of @unit bytes each that hold metadata of the file system on the device or image @path:
 * superblocks and group descriptors, bitmaps, inode tables and the journal.  Settled.  Prints what
 * is wrong; 0 or EXIT_FAILED.
 */
int ext_meta_find(const char *path, uint64_t unit, struct ranges *r);

#endif
