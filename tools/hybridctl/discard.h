/* SPDX-License-Identifier: GPL-2.0-only */
/* Discards all of a device, and says how far it is if it takes long. */
#ifndef HYBRIDCTL_DISCARD_H
#define HYBRIDCTL_DISCARD_H

#include "bdev.h"

/*
 * @dev: open exclusively, and locked.  @begun is set once something may be gone.  EXIT_OK, also if
 * it does not know discards; EXIT_FAILED with the reason printed, also when interrupted.
 */
int discard_device(const struct bdev *dev, bool *begun);

#endif
