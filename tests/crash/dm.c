// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device-mapper by its ioctls: hundreds of devices come and go in a sweep, and
 * starting a program costs most of the time in an emulator.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "oracle.h"

#define ROOM 8192

struct request {
	struct dm_ioctl io;
	char data[ROOM];
};

static int control = -1;

static int dm(struct request *r, unsigned long what, const char *name)
{
	if (control < 0 && (control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC)) < 0)
		die("/dev/mapper/control");
	r->io.version[0] = DM_VERSION_MAJOR;
	r->io.data_size = sizeof(*r);
	r->io.data_start = offsetof(struct request, data);
	strncpy(r->io.name, name, sizeof(r->io.name) - 1);
	return ioctl(control, what, r);
}

int dm_make(const char *name, const char *table, char *node, size_t len)
{
	struct request r = { };
	struct dm_target_spec *spec = (void *)r.data;
	unsigned long long start, length;
	int at, error;
	uint64_t dev;

	if (sscanf(table, "%llu %llu %15s %n", &start, &length, spec->target_type, &at) != 3 ||
	    strlen(table + at) >= ROOM - sizeof(*spec)) {
		errno = EINVAL;
		return -1;
	}
	if (dm(&r, DM_DEV_CREATE, name))
		return -1;
	dev = r.io.dev;
	snprintf(node, len, "/dev/dm-%u", (unsigned int)((dev & 0xff) | (dev >> 12 & ~0xffu)));
	memset(&r, 0, sizeof(r));
	sscanf(table, "%*u %*u %15s", spec->target_type);
	spec->sector_start = start;
	spec->length = length;
	strcpy(r.data + sizeof(*spec), table + at);
	r.io.target_count = 1;
	if (!dm(&r, DM_TABLE_LOAD, name)) {
		memset(&r, 0, sizeof(r));
		if (!dm(&r, DM_DEV_SUSPEND, name))	/* without DM_SUSPEND_FLAG: resume */
			return 0;
	}
	error = errno;
	dm_unmake(name);
	errno = error;
	return -1;
}

int dm_unmake(const char *name)
{
	for (int i = 0; ; i++) {
		struct request r = { };

		if (!dm(&r, DM_DEV_REMOVE, name))
			return 0;
		if (errno != EBUSY || i == 100)
			return -1;
		usleep(20000);
	}
}

int dm_message(const char *name, const char *text)
{
	struct request r = { };
	struct dm_target_msg *msg = (void *)r.data;

	strncpy(msg->message, text, ROOM - sizeof(*msg) - 1);
	return dm(&r, DM_TARGET_MSG, name);
}

int dm_status(const char *name, char *text, size_t len)
{
	struct request r = { };

	if (dm(&r, DM_TABLE_STATUS, name))
		return -1;
	snprintf(text, len, "%s", r.data + sizeof(struct dm_target_spec));
	return 0;
}
