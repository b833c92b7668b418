/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What someone else keeps on a device, by libblkid, and by kin.h of what that does not know.
 */
#ifndef HYBRIDCTL_SIGNATURE_H
#define HYBRIDCTL_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * 1 with @what set ("ext4 signature", "gpt partition table", "scmfs file system"; free() it), 0:
 * none found, -errno.
 */
int signature_find(const char *path, char **what);
/* Likewise, but for one that begins at a byte that @skip says means nothing. */
int signature_find_but(const char *path, bool (*skip)(const void *ctx, uint64_t offset),
		       const void *ctx, char **what);
/* How many partitions it has by a table that libblkid knows; 0 without one; -errno. */
int signature_partitions(const char *path);
/* "a" or "an", as @what of these needs it. */
const char *signature_article(const char *what);
/* What is to be done where @what of these is not needed any more: "wipefs wipes it"; free(). */
char *signature_ended_by(const char *what);

#endif
