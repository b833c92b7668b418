/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For hybridctl's code that opens devices: "0" and "1" are the areas of media, as far as they are
 * there.
 */
#ifndef EVENKEEL_FUZZ_DEVICES_H
#define EVENKEEL_FUZZ_DEVICES_H

#include "media.h"
#include "pool.h"

/* Labels may be written, too; without it that is a fault. */
extern bool devices_labels;

void devices_use(struct media *m, unsigned int areas);
/* The pools whose labels are on them; pools_free(). */
void devices_pools(struct pools *pools);

#endif
