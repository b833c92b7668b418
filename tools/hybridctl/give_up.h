/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is on a member and can't be read is discarded, so that the member can leave: it reads as
 * zeroes from then on, and no more as an error.  What can be read stays.
 */
#ifndef HYBRIDCTL_GIVE_UP_H
#define HYBRIDCTL_GIVE_UP_H

#include "live.h"

/*
 * Could it be done now?  Not of a member that does not answer, or is missed though its device is
 * there, nor while anybody else has the volume.  EXIT_OK, or EXIT_FAILED with the reason printed.
 */
int give_up_may(const struct live *l, unsigned int i);
/*
 * Of member @i; prints the sectors as they go.  @bytes: how much that was, also if it fails
 * half-way.  Cut short anywhere, it is done again.  EXIT_OK, or EXIT_FAILED with the reason
 * printed.
 */
int give_up(const struct live *l, unsigned int i, uint64_t *bytes);

#endif
