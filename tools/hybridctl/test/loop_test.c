// SPDX-License-Identifier: GPL-2.0-only
/* Files behind loop devices, and whether somebody uses those. */
#include <errno.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../bdev.h"
#include "../loop.h"
#include "../msg.h"
#include "ktap.h"

#define FS	makedev(8, 300)
#define FILE_NR	77

/* The devices that there are: loop devices, all but the first of which have the file; a disk. */
static struct {
	int status_err;			/* of asking what is behind */
	ino_t ino;
	uint64_t from, bytes;
	const char *keeper;
	int open_err;
} now;

/* What was opened last, which ioctl() is asked about. */
static dev_t asked;

void bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx)
{
	fn(ctx, makedev(8, 0));
	fn(ctx, makedev(LOOP_MAJOR, 0));
	fn(ctx, makedev(LOOP_MAJOR, 1));
}

char *bdev_path(dev_t rdev)
{
	asked = rdev;
	return xstrdup("/dev/null");
}

dev_t bdev_disk(dev_t rdev)
{
	return rdev;
}

char *bdev_keepers(dev_t rdev)
{
	return now.keeper ? xstrdup(now.keeper) : NULL;
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	return now.open_err;
}

void bdev_close(struct bdev *dev)
{
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct loop_info64 *info;
	va_list ap;

	va_start(ap, request);
	info = va_arg(ap, struct loop_info64 *);
	va_end(ap);
	if (now.status_err || major(asked) != LOOP_MAJOR || !minor(asked)) {
		errno = ENXIO;
		return -1;
	}
	memset(info, 0, sizeof(*info));
	info->lo_device = FS;
	info->lo_inode = now.ino;
	info->lo_offset = now.from;
	info->lo_sizelimit = now.bytes;
	return 0;
}

static void put(const char *keeper, int open_err)
{
	memset(&now, 0, sizeof(now));
	now.ino = FILE_NR;
	now.keeper = keeper;
	now.open_err = open_err;
}

static void expect(const char *title, dev_t but, const char *text)
{
	struct loop_part part = { FS, FILE_NR, 1000, 2000 };
	char *user = loop_users(&part, but);

	ktap_ok(text ? user && !strcmp(user, text) : !user, "%s: %s", title,
		user ? user : "nobody");
	free(user);
}

int main(void)
{
	struct loop_part part;
	char *user;

	ktap_begin();
	put(NULL, 0);
	expect("a loop device that nobody uses", 0, NULL);
	put("mounted on /mnt", -EBUSY);
	expect("one that is mounted", 0, "/dev/null, mounted on /mnt");
	put(NULL, -EBUSY);
	expect("one that a program has to itself", 0, "/dev/null");
	put("mounted on /mnt", -EACCES);
	expect("one that can't be opened", 0, "/dev/null, mounted on /mnt");
	put("mounted on /mnt", -EBUSY);
	expect("the one that is asked about itself", makedev(LOOP_MAJOR, 1), NULL);
	now.from = 2000;
	expect("what is behind it in the file", 0, NULL);
	now.from = 500;
	now.bytes = 500;
	expect("what is before it", 0, NULL);
	now.bytes = 501;
	expect("what begins before it and ends in it", 0, "/dev/null, mounted on /mnt");
	now.ino++;
	expect("another file", 0, NULL);
	now.status_err = -ENXIO;
	expect("without a file", 0, NULL);
	put(NULL, 0);
	ktap_ok(loop_part_of(makedev(LOOP_MAJOR, 1), &part) && part.fs == FS &&
		part.ino == FILE_NR && !part.from && part.to == UINT64_MAX, "the file behind one");
	ktap_ok(!loop_part_of(makedev(8, 0), &part), "none behind a disk");
	ktap_ok(loop_alike(makedev(LOOP_MAJOR, 1), makedev(LOOP_MAJOR, 2)), "two of one file");
	ktap_ok(!loop_alike(makedev(LOOP_MAJOR, 1), makedev(LOOP_MAJOR, 1)),
		"not one and itself");
	ktap_ok(!loop_alike(makedev(LOOP_MAJOR, 1), makedev(LOOP_MAJOR, 0)),
		"nor one and another without a file");
	put("mounted on /mnt", -EBUSY);
	user = loop_users_beside(makedev(LOOP_MAJOR, 2));
	ktap_ok(user && !strcmp(user, "/dev/null, mounted on /mnt"), "who uses what is behind it");
	free(user);
	ktap_ok(!loop_users_beside(makedev(LOOP_MAJOR, 1)), "that it is used itself is told of it");
	ktap_ok(!loop_users_beside(makedev(8, 0)), "nobody what is behind a disk");
	return ktap_end();
}
