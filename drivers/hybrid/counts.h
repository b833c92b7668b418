/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How extents were used lately, as who counts tells it: in parts, from a cursor on that begins at 0
 * and whose meaning is the teller's.
 */
#ifndef _HYBRID_COUNTS_H
#define _HYBRID_COUNTS_H

#include <linux/types.h>

/**
 * struct hy_count - an extent
 * @le: logical extent
 * @reads: accesses that were reads, aged, of a sample
 * @writes: the others
 * @large: most of them in requests larger than an extent, or one behind the other
 */
struct hy_count {
	u64 le;
	u32 reads;
	u32 writes;
	bool large;
};

#endif
