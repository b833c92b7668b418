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

static int io_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		    unsigned int flags)
{
	struct store_io *io = ctx;
	uint8_t *bounce;
	int err;

	if (!(io->areas >> area & 1) || offset + len > io->bytes[area] || offset + len < offset)
		return -EIO;
	err = flags & EK_IO_PREFLUSH ? bdev_flush(&io->dev[area]) : 0;
	bounce = bdev_buffer(len);
	memcpy(bounce, buf, len);
	if (!err)
		err = bdev_write(&io->dev[area], io->start[area] + offset, bounce, len);
	free(bounce);
	if (!err && flags & EK_IO_FUA)
		err = bdev_flush(&io->dev[area]);
	return err;
}

/* Writes are done when they return, with their error. */
static int io_wait(void *ctx, unsigned int area)
{
	(void)ctx;
	(void)area;
	return 0;
}

static int io_flush(void *ctx, unsigned int area)
{
	return bdev_flush(&((struct store_io *)ctx)->dev[area]);
}

const struct ek_store_io store_io_rw = {
	.read = io_read, .write = io_write, .wait = io_wait, .flush = io_flush,
};

static int open_with(struct store_io *io, const struct pool *pool, unsigned int flags)
{
	const struct pool_area *a;
	unsigned int i;
	int err;

	memset(io, 0, sizeof(*io));
	for (i = 0; i < pool->nr_meta; i++) {
		a = &pool->meta[i];
		if (!a->there)
			continue;
		err = pool_area_open(&io->dev[i], a, flags);
		if (err) {
			fail("%s: %s", a->path, bdev_error(err));
			store_io_close(io);
			return err;
		}
		io->start[i] = a->area.info.area_start * SECTOR_SIZE;
		io->bytes[i] = a->area.info.area_sectors * SECTOR_SIZE;
		memcpy(io->uuid[i], a->area.info.area_uuid, EK_UUID_SIZE);
		io->areas |= 1u << i;
	}
	return 0;
}

int store_io_open(struct store_io *io, const struct pool *pool)
{
	return open_with(io, pool, 0);
}

int store_io_open_rw(struct store_io *io, const struct pool *pool)
{
	return open_with(io, pool, BDEV_WRITE | BDEV_EXCL);
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
	err = ek_store_open_named(&store_io_ops, io, io->bytes, store_io_uuids(io), io->areas,
				  store, &reason);
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
