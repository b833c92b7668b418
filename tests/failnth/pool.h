/* SPDX-License-Identifier: GPL-2.0-only */
/* For struct op: what operations on the pool begin in and end with. */
#ifndef FAILNTH_POOL_H
#define FAILNTH_POOL_H

#include "failnth.h"

/* It is there, of the operation's shape. */
void pool_live(const struct op *op);
/* And has something to commit. */
void pool_dirty(const struct op *op);
void pool_sound(const struct op *op, int error);

#endif
