/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents that nobody counts, as they are not used: who may leave a member that has no room for
 * those that are.
 */
#ifndef HYBRIDCTL_COLD_H
#define HYBRIDCTL_COLD_H

#include <stdbool.h>
#include <stdint.h>

#include "usage.h"

/*
 * Add to @known, which is settled, extents on members with @full[i] that it lacks, @most at most.
 * Of a large volume only a part is looked at, another one each time.  0 or EXIT_FAILED.
 */
int cold_find(const char *name, uint64_t nr_extents, const bool *full, unsigned int nr_members,
	      uint64_t counted, unsigned long most, struct usage *known);

#endif
