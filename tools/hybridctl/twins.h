/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices that carry the same label: layers of one stack, a volume and its snapshots, copies.  All
 * that a scan finds are kept, and judged when it is over: which comes first means nothing.
 */
#ifndef HYBRIDCTL_TWINS_H
#define HYBRIDCTL_TWINS_H

#include "pool.h"

/* Have they the same place in the pool, and the same uuid? */
bool twins_are(const struct pool_area *a, const struct pool_area *b);
/* Of each label the device that is preferred is where the pool has it, the others are its twins. */
void twins_prefer(struct pool *p);
/*
 * Of those that count, when it is known which do: what is passed over is said unless @quiet, and
 * copies of which nobody knows which is meant are a conflict.
 */
void twins_judge(struct pool *p, bool quiet);
/* Is @rdev, which carries the same label as @a, none that could be preferred, or be a conflict? */
bool twins_outrank(const struct pool *p, const struct pool_area *a, dev_t rdev);

#endif
