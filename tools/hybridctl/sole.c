// SPDX-License-Identifier: GPL-2.0-only
/* See sole.h. An exclusive open meets others of its kind only; device-mapper counts them all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../common/looks.h"
#include "dm.h"
#include "msg.h"
#include "sole.h"

bool sole_is(const char *name)
{
	unsigned int looks;
	struct dm_dev dev;

	for (looks = 0; dm_lookup(name, &dev) == 1; looks++) {
		if (dev.open_count == 1)
			return true;
		if (looks == LOOKS)
			break;
		nap_between_looks();
	}
	return false;
}

static int in_use(const char *name, const char *path)
{
	struct bdev dev;
	char *users = NULL;

	if (!bdev_open(&dev, path, 0)) {
		users = bdev_users(dev.rdev);
		bdev_close(&dev);
	}
	fail("%s: is in use (%s), and nobody else may have the volume for this", name,
	     users ? users : "a program has it open");
	free(users);
	return EXIT_FAILED;
}

static int open_path(struct bdev *dev, const char *name, const char *path)
{
	unsigned int looks;
	int err;

	for (looks = 0; (err = bdev_open(dev, path, BDEV_WRITE | BDEV_EXCL)) == -EBUSY; looks++) {
		if (looks == LOOKS)
			return in_use(name, path);
		nap_between_looks();
	}
	if (err)
		return fail("%s: %s", path, strerror(-err));
	err = bdev_lock(dev);
	if (!err && sole_is(name))
		return EXIT_OK;
	bdev_close(dev);
	return err ? fail("%s: can't be locked: %s", path, strerror(-err)) : in_use(name, path);
}

int sole_open(struct bdev *dev, const char *name)
{
	char *path = xasprintf("/dev/mapper/%s", name);
	int err = open_path(dev, name, path);

	free(path);
	return err;
}
