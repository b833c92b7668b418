// SPDX-License-Identifier: GPL-2.0-only
/* Reads the metadata store; keeps in memory what the store writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "store_io.h"

struct overlay_block {
	struct overlay_block *next;
	unsigned int area;
	uint64_t offset;
	uint8_t data[EK_BLOCK_SIZE];
};

static struct overlay_block *overlay_find(struct store_io *io, unsigned int area, uint64_t offset)
{
	struct overlay_block *b = io->overlay;

	while (b && (b->area != area || b->offset != offset))
		b = b->next;
	return b;
}

static int io_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	struct store_io *io = ctx;
	struct overlay_block *b;
	uint8_t *bounce;
	size_t done;
	int err;

	if (!(io->areas >> area & 1) || offset + len > io->bytes[area] || offset + len < offset)
		return -EIO;
	/* Direct I/O wants aligned memory, the store's need not be. */
	bounce = bdev_buffer(len);
	err = bdev_read(&io->dev[area], io->start[area] + offset, bounce, len);
	memcpy(buf, bounce, len);
	free(bounce);
	for (done = 0; !err && io->overlay && done < len; done += EK_BLOCK_SIZE) {
		b = overlay_find(io, area, offset + done);
		if (b)
			memcpy((uint8_t *)buf + done, b->data, EK_BLOCK_SIZE);
	}
	return err;
}

static int io_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		    unsigned int flags)
{
	struct store_io *io = ctx;
	struct overlay_block *b;
	size_t done;

	(void)flags;
	for (done = 0; done < len; done += EK_BLOCK_SIZE) {
		b = overlay_find(io, area, offset + done);
		if (!b) {
			b = xcalloc(1, sizeof(*b));
			b->next = io->overlay;
			b->area = area;
			b->offset = offset + done;
			io->overlay = b;
		}
		memcpy(b->data, (const uint8_t *)buf + done, EK_BLOCK_SIZE);
	}
	return 0;
}

static int io_nothing(void *ctx, unsigned int area)
{
	(void)ctx;
	(void)area;
	return 0;
}

const struct ek_store_io store_io_ops = {
	.read = io_read,
	.write = io_write,
	.wait = io_nothing,
	.flush = io_nothing,
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

void store_io_reset(struct store_io *io)
{
	struct overlay_block *b;

	while ((b = io->overlay)) {
		io->overlay = b->next;
		free(b);
	}
}

void store_io_close(struct store_io *io)
{
	unsigned int i;

	store_io_reset(io);
	for (i = 0; i < EK_MAX_META; i++)
		if (io->areas >> i & 1)
			bdev_close(&io->dev[i]);
	io->areas = 0;
}
