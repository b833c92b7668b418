/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A look at all devices for those that carry what was a part of a volume.  What is only found so is
 * told, and left alone: it may as well be a copy that somebody keeps.
 */
#ifndef HYBRIDCTL_LEFT_H
#define HYBRIDCTL_LEFT_H

#include <stdbool.h>
#include <sys/types.h>

#include "dm.h"
#include "live.h"

/* What is looked for. */
struct left {
	const struct live *l;
	unsigned int index;		/* the place that it had */
	bool members_too;		/* also on devices that are members */
	void (*look)(const struct left *left, dev_t rdev);	/* at one, and tells of it */

	struct ek_super sb;
	struct dm_dev *volume;		/* what lies on these is its user's */
	unsigned int nr_volumes;
};

/*
 * With the devices' lock.  Passes over what is used, and with a line on standard error what would
 * not answer.  EXIT_OK, or EXIT_FAILED with the reason printed.
 */
int left_look(struct left *left);

#endif
