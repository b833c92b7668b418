// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

int close_as(int fd, int r)
{
	int err = errno;

	close(fd);
	errno = err;
	return r;
}

int say(const char *attr, const char *text)
{
	int fd = open(attr, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return close_as(fd, write(fd, text, strlen(text)) < 0 ? -1 : 0);
}

int device_say(const struct device *dev, const char *attr, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dev->dir, attr);
	return say(path, text);
}

bool device_there(const struct device *dev)
{
	return !access(dev->node, F_OK);
}

void device_remove(const struct device *dev)
{
	if (device_there(dev) && device_say(dev, "release", "1"))
		die("deleting the device");
	if (!access(dev->dir, F_OK) && rmdir(dev->dir))
		die("%s", dev->dir);
}

void device_absent(const struct op *op)
{
	device_remove(op->device);
}

void device_empty(const struct op *op)
{
	device_remove(op->device);
	if (mkdir(op->device->dir, 0755))
		die("%s", op->device->dir);
}

void device_made(const struct op *op)
{
	device_empty(op);
	if (device_say(op->device, "create", op->arg))
		die("creating a device");
}

int device_create(const struct op *op)
{
	return device_say(op->device, "create", op->arg);
}

void device_retried(const struct device *dev, const char *attr, const char *text, int error)
{
	if (device_there(dev) != !error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	if (error && device_say(dev, attr, text))
		wrong("and not the next time either: %s", strerror(errno));
}

/* What did not succeed holds nothing: it succeeds the next time. */
void device_created(const struct op *op, int error)
{
	device_retried(op->device, "create", op->arg, error);
	if (op->device->sound)
		op->device->sound();
}

int device_delete(const struct op *op)
{
	return device_say(op->device, "release", "1");
}

void device_deleted(const struct op *op, int error)
{
	if (device_there(op->device) != !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "not " : "");
}
