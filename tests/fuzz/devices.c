// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "devices.h"
#include "edited.h"
#include "fuzz.h"

/* In place of a descriptor: the area, and whether it may be written to. */
#define AREA		0x1
#define WRITABLE	0x2

static struct media *media;
static unsigned int areas;

bool devices_labels;

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	unsigned int area = path[0] - '0';

	if (area >= media->nr || !(areas & 1u << area))
		return -ENOENT;
	memset(dev, 0, sizeof(*dev));
	dev->path = strdup(path);
	dev->fd = area | (flags & BDEV_WRITE ? WRITABLE : 0);
	dev->sectors = pool_area_bytes() / SECTOR_SIZE;
	return 0;
}

/* There are no others. */
int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	return bdev_open(dev, path, flags);
}

const char *bdev_error(int err)
{
	return strerror(-err);
}

void bdev_close(struct bdev *dev)
{
	free(dev->path);
}

static bool inside(const struct bdev *dev, uint64_t offset, size_t len)
{
	uint64_t bytes = dev->sectors * SECTOR_SIZE;

	MUST(!(offset % EK_BLOCK_SIZE) && len && !(len % EK_BLOCK_SIZE));
	return offset <= bytes && len <= bytes - offset;
}

int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	if (!inside(dev, offset, len))
		return -EIO;
	MUST(!media_io.read(media, dev->fd & AREA, offset, buf, len));
	return 0;
}

/* What nothing but the tool may write, so media.c does not: at once, durably. */
static void write_label(unsigned int area, uint64_t offset, const void *buf, size_t len)
{
	MUST(devices_labels && len == sizeof(struct ek_label));
	memcpy(media_poke(media, area, offset), buf, len);
	media->writes[area]++;
	if (media->hook)
		media->hook(media);
}

int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	MUST(dev->fd & WRITABLE && inside(dev, offset, len));
	if (offset < EK_AREA_HEAD_BYTES || offset == ek_label_copy_offset(dev->sectors)) {
		write_label(dev->fd & AREA, offset, buf, len);
		return 0;
	}
	MUST(!media_io.write(media, dev->fd & AREA, offset, buf, len, 0));
	MUST(!media_io.wait(media, dev->fd & AREA));
	return 0;
}

int bdev_flush(const struct bdev *dev)
{
	MUST(dev->fd & WRITABLE);
	return media_io.flush(media, dev->fd & AREA);
}

void *bdev_buffer(size_t len)
{
	void *p = NULL;

	MUST(!posix_memalign(&p, EK_BLOCK_SIZE, len));
	return memset(p, 0, len);
}

void devices_use(struct media *m, unsigned int there)
{
	media = m;
	areas = there;
}

void devices_pools(struct pools *pools)
{
	struct bdev dev;
	unsigned int i;
	int head;

	memset(pools, 0, sizeof(*pools));
	for (i = 0; i < media->nr; i++) {
		if (bdev_open(&dev, i ? "1" : "0", 0))
			continue;
		MUST(pools_add(pools, &dev, &head) <= AREA_MAX);
		bdev_close(&dev);
	}
}
