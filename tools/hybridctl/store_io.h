/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata store on devices or image files.
 */
#ifndef HYBRIDCTL_STORE_IO_H
#define HYBRIDCTL_STORE_IO_H

#include <evenkeel/store.h>

#include "pool.h"

struct store_io {
	struct bdev dev[EK_MAX_META];
	uint64_t start[EK_MAX_META];	/* bytes */
	u64 bytes[EK_MAX_META];
	u8 uuid[EK_MAX_META][EK_UUID_SIZE];	/* in the labels */
	unsigned int areas;		/* bit per area that is open */
};

extern const struct ek_store_io store_io_ops;	/* read-only */
extern const struct ek_store_io store_io_rw;

/* For ek_store_open_named(). */
static inline const u8 (*store_io_uuids(const struct store_io *io))[EK_UUID_SIZE]
{
	return (const u8 (*)[EK_UUID_SIZE])io->uuid;
}

/* Open a pool's metadata areas that are there; 0 or -errno (message printed). */
int store_io_open(struct store_io *io, const struct pool *pool);
/* For writing; nobody else has them open. */
int store_io_open_rw(struct store_io *io, const struct pool *pool);
void store_io_close(struct store_io *io);

/* The same and the store in them; an EXIT_ value (message printed). */
int store_open(struct store_io *io, const struct pool *pool, struct ek_store **store);
void store_close(struct store_io *io, struct ek_store *store);

#endif
