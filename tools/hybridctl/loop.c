// SPDX-License-Identifier: GPL-2.0-only
/* See loop.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bdev.h"
#include "loop.h"
#include "msg.h"

/* Not by the path that sysfs has: that may be another file's by now, or of another namespace. */
bool loop_part_of(dev_t rdev, struct loop_part *part)
{
	struct loop_info64 info;
	bool is = false;
	char *path;
	int fd;

	if (major(rdev) != LOOP_MAJOR)
		return false;
	path = bdev_path(rdev);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		is = !ioctl(fd, LOOP_GET_STATUS64, &info);
		close(fd);
	}
	free(path);
	if (!is)
		return false;
	part->fs = info.lo_device;
	part->ino = info.lo_inode;
	part->from = info.lo_offset;
	part->to = info.lo_sizelimit ? info.lo_offset + info.lo_sizelimit : UINT64_MAX;
	return true;
}

/* Taken for itself by somebody: a mount, swap, another device, or a program that says so. */
static bool is_used(const char *path)
{
	struct bdev dev;
	int err = bdev_open(&dev, path, BDEV_EXCL);

	if (!err)
		bdev_close(&dev);
	return err == -EBUSY;
}

static char *user_of(dev_t rdev)
{
	char *path = bdev_path(rdev), *who = bdev_keepers(rdev), *text = NULL;

	if (who || is_used(path))
		text = who ? xasprintf("%s, %s", path, who) : xstrdup(path);
	free(who);
	free(path);
	return text;
}

struct search {
	const struct loop_part *part;
	dev_t but;
	char *found;
};

static bool is_shared(const struct loop_part *a, const struct loop_part *b)
{
	return a->fs == b->fs && a->ino == b->ino && a->from < b->to && b->from < a->to;
}

bool loop_alike(dev_t a, dev_t b)
{
	struct loop_part x, y;

	a = bdev_disk(a);
	b = bdev_disk(b);
	return a != b && loop_part_of(a, &x) && loop_part_of(b, &y) && is_shared(&x, &y);
}

static void look_at(void *ctx, dev_t rdev)
{
	struct search *s = ctx;
	struct loop_part part;

	if (!s->found && rdev != s->but && loop_part_of(rdev, &part) && is_shared(&part, s->part))
		s->found = user_of(rdev);
}

char *loop_users(const struct loop_part *part, dev_t but)
{
	struct search s = { .part = part, .but = but };

	bdev_for_each(look_at, &s);
	return s.found;
}

char *loop_users_beside(dev_t rdev)
{
	dev_t disk = bdev_disk(rdev);
	struct loop_part part;

	return loop_part_of(disk, &part) ? loop_users(&part, disk) : NULL;
}
