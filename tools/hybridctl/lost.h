/* SPDX-License-Identifier: GPL-2.0-only */
/* What of a file system is lost with members of the volume that it is on. */
#ifndef HYBRIDCTL_LOST_H
#define HYBRIDCTL_LOST_H

#include <stdio.h>

#include "volume.h"

/*
 * If something is lost and an ext2, 3 or 4 file system on the volume is mounted: some of the files,
 * as far as a few seconds suffice to find them. If other devices lie on it: how to have them found.
 */
void lost_print_mounted(FILE *out, const struct volume *v);

#endif
