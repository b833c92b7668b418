/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume that nobody else has: neither mounted nor under another device, nor open by any program,
 * exclusively or not.
 */
#ifndef HYBRIDCTL_SOLE_H
#define HYBRIDCTL_SOLE_H

#include "bdev.h"

/*
 * To write to it; waits a while for who only looks at it, and udev leaves it alone until it is
 * closed.  EXIT_OK, or EXIT_FAILED with who has it printed.
 */
int sole_open(struct bdev *dev, const char *name);
/*
 * Is it so still?  Who opens it later is not kept from doing so; waits a while for who only looks
 * at it.
 */
bool sole_is(const char *name);

#endif
