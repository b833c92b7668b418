/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the project's other formats have on a device, of which libblkid knows nothing: file systems
 * of scmfs, labels of mem2m, images of nameless, nlstore's catalogues.
 */
#ifndef HYBRIDCTL_KIN_H
#define HYBRIDCTL_KIN_H

#include <stdbool.h>
#include <stdint.h>

/* As signature_find_but(): 1 with @what set ("scmfs file system"; free() it), 0: none, -errno. */
int kin_find(int fd, bool (*skip)(const void *ctx, uint64_t offset), const void *ctx, char **what);
/* Where zeroes end such a @what: "in its first 4 KiB"; NULL: it is none of these. */
const char *kin_places(const char *what);

#endif
