/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What someone else keeps on a device (through libblkid).
 */
#ifndef HYBRIDCTL_SIGNATURE_H
#define HYBRIDCTL_SIGNATURE_H

/*
 * 1 with @what set ("ext4 signature", "gpt partition table"; free() it), 0: none
 * found, -errno.
 */
int signature_find(const char *path, char **what);

#endif
