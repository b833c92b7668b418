/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools on the devices and image files of a command line, for the commands that
 * look at them offline.
 */
#ifndef HYBRIDCTL_OFFLINE_H
#define HYBRIDCTL_OFFLINE_H

#include "pool.h"

/*
 * Read the labels of @paths, which must not be in use; a device without any is an
 * error.  EXIT_OK, or EXIT_USAGE with the message printed.
 */
int offline_pools(struct pools *pools, char * const *paths, int nr);

/* Who has it that can't be opened alone. */
void offline_in_use(const char *path);

/*
 * Lock pool @i and look at it anew: it may have changed until now.  The lock of another one ends.
 * As offline_pools().
 */
int offline_lock(struct pools *pools, unsigned int i, char * const *paths, int nr);

#endif
