// SPDX-License-Identifier: GPL-2.0-only
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dm.h"

struct request {
	struct dm_ioctl io;
	char data[DM_LINE_ROOM];
};

static int control = -1;

static int dm(struct request *r, unsigned long what, const char *name)
{
	if (control < 0 && (control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC)) < 0)
		return -1;
	if (strlen(name) >= sizeof(r->io.name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	r->io.version[0] = DM_VERSION_MAJOR;
	r->io.data_size = sizeof(*r);
	r->io.data_start = offsetof(struct request, data);
	strcpy(r->io.name, name);
	return ioctl(control, what, r);
}

static int plain(const char *name, unsigned long what, uint32_t flags)
{
	struct request r = { .io.flags = flags };

	return dm(&r, what, name);
}

int dm_load(const char *name, const char *table)
{
	struct request r = { .io.target_count = 1 };
	struct dm_target_spec *spec = (void *)r.data;
	unsigned long long start, length;
	int at = 0;

	if (sscanf(table, "%llu %llu %15s%n", &start, &length, spec->target_type, &at) != 3 ||
	    strlen(table + at) >= DM_LINE_ROOM - sizeof(*spec)) {
		errno = EINVAL;
		return -1;
	}
	spec->sector_start = start;
	spec->length = length;
	strcpy(r.data + sizeof(*spec), table + at + strspn(table + at, " "));
	return dm(&r, DM_TABLE_LOAD, name);
}

static int node_of(const char *name, unsigned long what, char *node, size_t len)
{
	struct request r = { };

	if (dm(&r, what, name))
		return -1;
	snprintf(node, len, "/dev/dm-%u", (unsigned int)((r.io.dev & 0xff) | (r.io.dev >> 12 & ~0xffu)));
	return 0;
}

int dm_new(const char *name, char *node, size_t len)
{
	return node_of(name, DM_DEV_CREATE, node, len);
}

int dm_node(const char *name, char *node, size_t len)
{
	return node_of(name, DM_DEV_STATUS, node, len);
}

int dm_make(const char *name, const char *table, char *node, size_t len)
{
	int error;

	if (dm_new(name, node, len))
		return -1;
	if (!dm_load(name, table) && !dm_resume(name))
		return 0;
	error = errno;
	dm_unmake(name, 1);
	errno = error;
	return -1;
}

int dm_unmake(const char *name, int retry)
{
	for (int i = 0; ; i++) {
		if (!plain(name, DM_DEV_REMOVE, 0))
			return 0;
		if (!retry || errno != EBUSY || i == 100)
			return -1;
		usleep(20000);
	}
}

int dm_clear(const char *name)
{
	return plain(name, DM_TABLE_CLEAR, 0);
}

int dm_resume(const char *name)
{
	return plain(name, DM_DEV_SUSPEND, 0);
}

long dm_events(const char *name)
{
	struct request r = { };

	return dm(&r, DM_DEV_STATUS, name) ? -1 : (long)r.io.event_nr;
}

int dm_suspend(const char *name, uint32_t flags)
{
	return plain(name, DM_DEV_SUSPEND, DM_SUSPEND_FLAG | flags);
}

int dm_ask(const char *name, const char *text, char *answer, size_t len)
{
	struct request r = { };
	struct dm_target_msg *msg = (void *)r.data;

	if (strlen(text) >= DM_LINE_ROOM - sizeof(*msg)) {
		errno = E2BIG;
		return -1;
	}
	strcpy(msg->message, text);
	if (dm(&r, DM_TARGET_MSG, name))
		return -1;
	snprintf(answer, len, "%s", r.io.flags & DM_DATA_OUT_FLAG ? r.data : "");
	return 0;
}

int dm_message(const char *name, const char *text)
{
	char answer[8];

	return dm_ask(name, text, answer, sizeof(answer));
}

int dm_line(const char *name, uint32_t flags, char *text, size_t len)
{
	struct request r = { .io.flags = flags };
	struct dm_target_spec *spec = (void *)r.data;

	if (dm(&r, DM_TABLE_STATUS, name))
		return -1;
	*text = 0;
	if (r.io.target_count)
		snprintf(text, len, "%llu %llu %s %s", (unsigned long long)spec->sector_start,
			 (unsigned long long)spec->length, spec->target_type, r.data + sizeof(*spec));
	return 0;
}
