/* SPDX-License-Identifier: GPL-2.0-only */
/* Which volume it is: names may become those of others, and volumes get other names. */
#ifndef HYBRIDCTL_WHICH_H
#define HYBRIDCTL_WHICH_H

#include <stdbool.h>
#include <stdint.h>

#include "dm.h"

/* bdev_seq() of what has the name: another one after a stop; 0: not known. */
uint64_t which_seq(const char *name);
/*
 * The first active volume for which @is says so; @name: its name by now, NULL: none is; free().
 * 0 or -errno.
 */
int which_is(bool (*is)(const struct dm_dev *dev, const void *ctx), const void *ctx, char **name);

#endif
