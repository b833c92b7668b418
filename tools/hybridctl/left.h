/* SPDX-License-Identifier: GPL-2.0-only */
/* A look at all devices for one that carries what was a part of a volume. */
#ifndef HYBRIDCTL_LEFT_H
#define HYBRIDCTL_LEFT_H

#include <stdbool.h>
#include <sys/types.h>

#include "dm.h"
#include "live.h"

/* What is looked for, then what was found. */
struct left {
	const struct live *l;
	unsigned int index;		/* the place that it had */
	bool members_too;		/* also on devices that are members */
	bool (*is)(const struct left *left, dev_t rdev);

	struct ek_super sb;
	struct dm_dev *volume;		/* what lies on these is its user's */
	unsigned int nr_volumes;
	unsigned int nr;		/* found */
	dev_t at;			/* the last of them */
};

/*
 * With the devices' lock.  Passes over what is used, and with a line on standard error what would
 * not answer.  EXIT_OK, or EXIT_FAILED with the reason printed.
 */
int left_look(struct left *left);

#endif
