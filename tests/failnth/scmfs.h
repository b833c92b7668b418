/* SPDX-License-Identifier: GPL-2.0-only */
/* What the rows on a mounted scmfs share. */
#ifndef FAILNTH_SCMFS_H
#define FAILNTH_SCMFS_H

#include <sys/statvfs.h>

#include "failnth.h"

#define DIR_AT	"/tmp/failnth.scmfs"
#define AT(name) DIR_AT "/" name
#define BLOCK	4096

/* As it was when the operation began. */
extern struct statvfs scmfs_room;

/* One file of two blocks, and an empty directory; nothing else. For struct op. */
void scmfs_made(const struct op *op);
/* 0, or -1 with errno: write @len bytes to a file, which @flags may make. */
int scmfs_fill(const char *path, char byte, size_t len, int flags);
/* What failed has taken nothing, and succeeds the next time. */
void scmfs_again(const struct op *op, int error);

#endif
