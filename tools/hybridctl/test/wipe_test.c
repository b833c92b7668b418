// SPDX-License-Identifier: GPL-2.0-only
/* What is wiped can be put back, unless somebody else has taken the device meanwhile. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../interrupt.h"
#include "../msg.h"
#include "../wipe.h"
#include "ktap.h"

#define BYTES	(256u << 10)

/* The only device that there is. */
static struct {
	uint8_t data[BYTES];
	bool taken;		/* exclusively, by somebody else */
	const char *taken_by_name;	/* the same, of that path only */
	dev_t rdev;		/* another number: the path is another device's */
	unsigned int open;
	bool dirty;		/* written to since the last flush */
} disk;

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
	if (flags & BDEV_EXCL &&
	    (disk.taken || (disk.taken_by_name && !strcmp(disk.taken_by_name, path))))
		return -EBUSY;
	dev->fd = 0;
	dev->path = xstrdup(path);
	dev->rdev = disk.rdev;
	disk.open++;
	return 0;
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	int err = bdev_open(dev, path, flags);

	if (err || dev->rdev == rdev)
		return err;
	bdev_close(dev);
	return -EREMCHG;
}

void bdev_close(struct bdev *dev)
{
	disk.open -= !!dev->path;
	free(dev->path);
	dev->path = NULL;
}

int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	memcpy(buf, disk.data + offset, len);
	return 0;
}

int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	memcpy(disk.data + offset, buf, len);
	disk.dirty = true;
	return 0;
}

int bdev_flush(const struct bdev *dev)
{
	disk.dirty = false;
	return 0;
}

void *bdev_buffer(size_t len)
{
	return calloc(1, len);
}

static bool all_is(uint8_t what, size_t from, size_t to)
{
	for (; from < to; from++)
		if (disk.data[from] != what)
			return false;
	return true;
}

static void fill(void)
{
	memset(&disk, 0, sizeof(disk));
	memset(disk.data, 'o', BYTES);
}

static void comes_back(void)
{
	struct wipe *w = wipe_new();

	fill();
	ktap_ok(!wipe_range(w, "disk", 0, 4096, BYTES - 8192) && all_is('o', 0, 4096) &&
		all_is(0, 4096, BYTES - 4096) && all_is('o', BYTES - 4096, BYTES),
		"wipe: the range and no more");
	ktap_ok(!wipe_undo(w) && all_is('o', 0, BYTES) && !disk.open,
		"wipe: what was wiped is put back");
	wipe_free(w);
}

/* The claim was given up, and somebody was faster. */
static void taken_meanwhile(void)
{
	struct wipe *w = wipe_new();

	fill();
	wipe_range(w, "disk", 0, 0, BYTES);
	disk.taken = true;
	memset(disk.data, 'n', BYTES);
	ktap_ok(wipe_undo(w) == -EBUSY && all_is('n', 0, BYTES) && !disk.open,
		"wipe: nothing is put back over what another has taken");
	wipe_free(w);
}

static void another_device(void)
{
	struct wipe *w = wipe_new();

	fill();
	wipe_range(w, "disk", 0, 0, BYTES);
	disk.rdev++;
	memset(disk.data, 'n', BYTES);
	ktap_ok(wipe_undo(w) == -EREMCHG && all_is('n', 0, BYTES) && !disk.open,
		"wipe: nothing is put back on another device of that path");
	wipe_free(w);
}

static void another_before(void)
{
	struct wipe *w = wipe_new();

	fill();
	disk.rdev++;
	ktap_ok(wipe_range(w, "disk", 0, 0, BYTES) == -EREMCHG && all_is('o', 0, BYTES) &&
		!disk.open, "wipe: nothing is wiped on another device of that path");
	wipe_free(w);
}

static void taken_before(void)
{
	struct wipe *w = wipe_new();

	fill();
	disk.taken = true;
	ktap_ok(wipe_range(w, "disk", 0, 0, BYTES) == -EBUSY && all_is('o', 0, BYTES) && !disk.open,
		"wipe: what another has taken is not wiped");
	wipe_free(w);
}

static void is_durable(void)
{
	struct wipe *w = wipe_new();

	fill();
	ktap_ok(!wipe_range(w, "disk", 0, 4096, 8192) && !disk.dirty, "wipe: it is durable");
	ktap_ok(!wipe_undo(w) && !disk.dirty, "wipe: so is what is put back");
	wipe_free(w);
}

/* What was zero is wiped too: somebody may write there before all is undone. */
static void zeroes_come_back(void)
{
	struct wipe *w = wipe_new();

	fill();
	memset(disk.data, 0, BYTES);
	wipe_range(w, "disk", 0, 0, 4096);
	memset(disk.data, 'k', 4096);
	ktap_ok(!wipe_undo(w) && all_is(0, 0, BYTES), "wipe: zeroes are put back, too");
	wipe_free(w);
}

static void twice(void)
{
	struct wipe *w = wipe_new();

	fill();
	wipe_range(w, "disk", 0, 0, 8192);
	memset(disk.data, 'k', 8192);
	wipe_range(w, "disk", 0, 4096, 8192);
	ktap_ok(!wipe_undo(w) && all_is('o', 0, BYTES),
		"wipe: of what was wiped twice, what there was first is put back");
	wipe_free(w);
}

static void one_of_two(void)
{
	struct wipe *w = wipe_new();

	fill();
	wipe_range(w, "disk", 0, 0, 4096);
	wipe_range(w, "other", 0, 8192, 4096);
	disk.taken_by_name = "other";
	ktap_ok(wipe_undo(w) == -EBUSY && all_is('o', 0, 4096) && all_is(0, 8192, 12288),
		"wipe: one that was taken keeps no other from being put back");
	wipe_free(w);
}

/* What waits for a slow device ends, and what was wiped until then can be put back. */
static void interrupted_before(void)
{
	struct wipe *w = wipe_new();

	fill();
	wipe_range(w, "disk", 0, 0, 4096);
	interrupted = 1;
	ktap_ok(wipe_range(w, "disk", 0, 4096, BYTES - 4096) == -EINTR && !disk.open &&
		all_is('o', 4096, BYTES), "wipe: an interrupt ends it");
	ktap_ok(!wipe_undo(w) && all_is('o', 0, BYTES), "wipe: and is none for what is put back");
	interrupted = 0;
	wipe_free(w);
}

int main(void)
{
	ktap_begin();
	comes_back();
	taken_meanwhile();
	another_device();
	taken_before();
	another_before();
	is_durable();
	zeroes_come_back();
	twice();
	one_of_two();
	interrupted_before();
	return ktap_end();
}
