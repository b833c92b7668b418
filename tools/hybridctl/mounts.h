/* SPDX-License-Identifier: GPL-2.0-only */
/* What is mounted where, as /proc/self/mountinfo has it: the file systems are not asked. */
#ifndef HYBRIDCTL_MOUNTS_H
#define HYBRIDCTL_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

#define MOUNT_TEXT	4096

struct mount {
	dev_t dev;		/* of some types no block device's, but a number of their own */
	char where[MOUNT_TEXT];
	char type[64];
	char source[MOUNT_TEXT];	/* a path, or whatever else was given */
};

/* The mount that a path, from the root on, is on; false: none is known. */
bool mount_of(const char *path, struct mount *m);
/* Are its files in memory that loses them with the power? */
bool mount_is_memory(const struct mount *m);

#endif
