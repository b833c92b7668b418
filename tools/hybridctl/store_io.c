// SPDX-License-Identifier: GPL-2.0-only
/* Reads the metadata store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "store_io.h"

static int io_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	const struct store_io *io = ctx;
	uint8_t *bounce;
	int err;

	if (!(io->areas >> area & 1) || offset + len > io->bytes[area] || offset + len < offset)
		return -EIO;
	/* Direct I/O wants aligned memory, the store's need not be. */
	bounce = bdev_buffer(len);
	err = bdev_read(&io->dev[area], io->start[area] + offset, bounce, len);
	memcpy(buf, bounce, len);
	free(bounce);
	return err;
}

/* Without .write the store is read-only. */
const struct ek_store_io store_io_ops = {
	.read = io_read,
};

int store_io_open(struct store_io *io, const struct pool *pool)
{
	const struct pool_area *a;
	unsigned int i;
	int err;

	memset(io, 0, sizeof(*io));
	for (i = 0; i < pool->nr_meta; i++) {
		a = &pool->meta[i];
		if (!a->there)
			continue;
		err = bdev_open(&io->dev[i], a->path, BDEV_FILES);
		if (err) {
			fail("%s: %s", a->path, strerror(-err));
			store_io_close(io);
			return err;
		}
		io->start[i] = a->area.info.area_start * SECTOR_SIZE;
		io->bytes[i] = a->area.info.area_sectors * SECTOR_SIZE;
		io->areas |= 1u << i;
	}
	return 0;
}

void store_io_close(struct store_io *io)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (io->areas >> i & 1)
			bdev_close(&io->dev[i]);
	io->areas = 0;
}

int store_open(struct store_io *io, const struct pool *pool, struct ek_store **store)
{
	const char *reason = NULL;
	int err;

	if (store_io_open(io, pool))
		return EXIT_FAILED;
	err = ek_store_open(&store_io_ops, io, io->bytes, io->areas, store, &reason);
	if (!err)
		return EXIT_OK;
	store_io_close(io);
	return fail("%s: metadata: %s", pool->name, reason ? reason : strerror(-err));
}

void store_close(struct store_io *io, struct ek_store *store)
{
	ek_store_close(store);
	store_io_close(io);
}
