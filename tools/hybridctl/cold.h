/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents that nobody counts, as they are not used: who may leave a member that has no room for
 * those that are.
 */
#ifndef HYBRIDCTL_COLD_H
#define HYBRIDCTL_COLD_H

#include <stdint.h>

#include "usage.h"

/*
 * Add to @known, which is settled, extents that it lacks and that may move: @want[i] of each member
 * at most, which says afterwards how many were not found.  Of a large volume only a part is looked
 * at, another one each time.  @counted: so many are counted at most.
 */
void cold_find(const char *name, uint64_t nr_extents, unsigned long *want,
	       unsigned int nr_members, uint64_t counted, struct usage *known);

#endif
