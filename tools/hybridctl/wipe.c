// SPDX-License-Identifier: GPL-2.0-only
/* Zeroes ranges of devices and can put back what was there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "msg.h"
#include "wipe.h"

#define CHUNK	65536u

struct piece {
	struct piece *next;	/* the one wiped before */
	char *path;
	dev_t rdev;
	uint64_t offset;
	size_t len;
	uint8_t *old;
};

struct wipe {
	struct piece *last;
};

struct wipe *wipe_new(void)
{
	return xcalloc(1, sizeof(struct wipe));
}

static bool all_zero(const uint8_t *p, size_t len)
{
	return !len || (!*p && !memcmp(p, p + 1, len - 1));
}

static void remember(struct wipe *w, const struct bdev *dev, uint64_t offset, uint8_t *old,
		     size_t len)
{
	struct piece *p = xcalloc(1, sizeof(*p));

	p->next = w->last;
	p->path = xstrdup(dev->path);
	p->rdev = dev->rdev;
	p->offset = offset;
	p->len = len;
	p->old = old;
	w->last = p;
}

static int wipe_chunk(struct wipe *w, struct bdev *dev, uint64_t offset, size_t len,
		      const uint8_t *zero)
{
	uint8_t *old = bdev_buffer(len);
	int err = bdev_read(dev, offset, old, len);

	if (err) {
		free(old);
		return err;
	}
	/* Remembered even if zero: the kernel may write here before all is undone. */
	remember(w, dev, offset, old, len);
	return all_zero(old, len) ? 0 : bdev_write(dev, offset, zero, len);
}

int wipe_range(struct wipe *w, const char *path, dev_t rdev, uint64_t offset, uint64_t len)
{
	uint8_t *zero = bdev_buffer(CHUNK);
	struct bdev dev;
	uint64_t n;
	int err = bdev_open_same(&dev, path, rdev, BDEV_WRITE | BDEV_EXCL);

	for (; !err && len; offset += n, len -= n) {
		n = len < CHUNK ? len : CHUNK;
		err = interrupted ? -EINTR : wipe_chunk(w, &dev, offset, n, zero);
	}
	if (!err)
		err = bdev_flush(&dev);
	bdev_close(&dev);
	free(zero);
	return err;
}

/* Somebody else who has taken the device meanwhile, or its name, keeps what he wrote. */
static int put_back(const struct piece *p)
{
	uint8_t *now = bdev_buffer(p->len);
	struct bdev dev;
	int err = bdev_open_same(&dev, p->path, p->rdev, BDEV_WRITE | BDEV_EXCL);

	if (!err)
		err = bdev_read(&dev, p->offset, now, p->len);
	if (!err && memcmp(now, p->old, p->len)) {
		err = bdev_write(&dev, p->offset, p->old, p->len);
		if (!err)
			err = bdev_flush(&dev);
	}
	bdev_close(&dev);
	free(now);
	return err;
}

int wipe_undo(struct wipe *w)
{
	struct piece *p;
	int err, first = 0;

	for (p = w->last; p; p = p->next) {
		err = put_back(p);
		if (err && !first)
			first = err;
	}
	return first;
}

void wipe_free(struct wipe *w)
{
	struct piece *p;

	while ((p = w->last)) {
		w->last = p->next;
		free(p->path);
		free(p->old);
		free(p);
	}
	free(w);
}
