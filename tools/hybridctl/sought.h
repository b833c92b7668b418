/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools that an event looked for and did not find complete.  What was known before starts no pool
 * again, as somebody may have stopped it, but this one nobody has: a member may only have been
 * suspended, locked or without a path when the last one appeared.
 */
#ifndef HYBRIDCTL_SOUGHT_H
#define HYBRIDCTL_SOUGHT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, until the pool is active. */
void sought_in_vain(const uint8_t *uuid);
/* It is active. */
void sought_and_found(const uint8_t *uuid);
bool is_sought(const uint8_t *uuid);

#endif
