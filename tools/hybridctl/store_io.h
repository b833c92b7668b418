/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata store read from devices or files without ever writing to them:
 * what the store writes (it evens out mirrors) stays in memory.
 */
#ifndef HYBRIDCTL_STORE_IO_H
#define HYBRIDCTL_STORE_IO_H

#include <evenkeel/store.h>

#include "pool.h"

struct overlay_block;

struct store_io {
	struct bdev dev[EK_MAX_META];
	uint64_t start[EK_MAX_META];	/* bytes */
	u64 bytes[EK_MAX_META];
	unsigned int areas;		/* bit per area that is open */
	struct overlay_block *overlay;
};

extern const struct ek_store_io store_io_ops;

/* Open a pool's metadata areas that are there; 0 or -errno (message printed). */
int store_io_open(struct store_io *io, const struct pool *pool);
/* Forget what was written. */
void store_io_reset(struct store_io *io);
void store_io_close(struct store_io *io);

#endif
