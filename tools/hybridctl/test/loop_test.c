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

/* The devices that there are: two loop devices, of which the second has the file, and a disk. */
static struct {
	int status_err;			/* of asking what is behind */
	ino_t ino;
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
	if (now.status_err || asked != makedev(LOOP_MAJOR, 1)) {
		errno = ENXIO;
		return -1;
	}
	memset(info, 0, sizeof(*info));
	info->lo_device = FS;
	info->lo_inode = now.ino;
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
	char *user = loop_users(FS, FILE_NR, but);

	ktap_ok(text ? user && !strcmp(user, text) : !user, "%s: %s", title,
		user ? user : "nobody");
	free(user);
}

int main(void)
{
	dev_t fs;
	ino_t ino;

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
	now.ino++;
	expect("another file", 0, NULL);
	now.status_err = -ENXIO;
	expect("without a file", 0, NULL);
	put(NULL, 0);
	ktap_ok(loop_file(makedev(LOOP_MAJOR, 1), &fs, &ino) && fs == FS && ino == FILE_NR,
		"the file behind one");
	ktap_ok(!loop_file(makedev(8, 0), &fs, &ino), "none behind a disk");
	return ktap_end();
}
