/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the members of a volume stand, beyond what its status line tells: the kernel's answer to the
 * message "members", whose grammar is in Documentation/admin-guide/dm-hybrid.rst.  Pure.
 */
#ifndef HYBRIDCTL_STANDING_H
#define HYBRIDCTL_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct standing_dev {
	enum status_dev_state state;
	bool leaving;			/* to be emptied, be it failed or not */
	uint64_t errors;
	uint64_t passes;		/* through the map, for what is to be moved off it */
	uint64_t tried;			/* in the last one: extents that moved, or could not */
	uint64_t unknown;		/* likewise: of which the map can't be read */
	uint64_t returning;		/* in use, and about to be free; 0 of an older module */
};

struct standing {
	unsigned int nr;
	struct standing_dev dev[STATUS_MAX_DEVS];
};

/* @text is cut into words; false: not understood. */
bool standing_parse(char *text, struct standing *s);

#endif
