/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One look at an active volume: its status, and what the kernel's status line does
 * not tell: paths and uuids of its members.
 */
#ifndef HYBRIDCTL_VOLUME_H
#define HYBRIDCTL_VOLUME_H

#include <stdio.h>

#include "area.h"
#include "extents.h"
#include "standing.h"
#include "status.h"
#include "cached.h"
#include "tier.h"

/* How far a metadata area is; pages. */
struct sync_at {
	unsigned int area;
	uint64_t done, total;
	bool refused;			/* the module doesn't know the question */
};

struct volume {
	const char *name;
	uint64_t seq;		/* bdev_seq(): another after a stop; 0: not known */
	uint64_t sectors;
	struct status st;
	char *path[STATUS_MAX_DEVS];	/* NULL: lost */
	char uuid[STATUS_MAX_DEVS][UUID_TEXT];	/* "" if the label can't be read just now */
	bool forgets[STATUS_MAX_DEVS];	/* its content is lost with the power */
	bool has_standing;
	struct standing standing;	/* of the members, if @has_standing */
	struct extents lost;		/* whose data went with members, with LOOK_LOST */
	bool has_cache;
	struct cached cache;		/* extents in memory, if @has_cache */
	bool has_tier;
	struct tier tier;		/* policy concentrate's, if @has_tier */
	bool has_sync;
	struct sync_at sync;		/* of a metadata area that leaves or comes, if @has_sync */
};

#define LOOK_UUIDS	0x1
#define LOOK_LOST	0x2	/* the kernel may have to read all of the map */

/* @what: LOOK_*, beyond the status.  Prints what is wrong; 0 or EXIT_FAILED. */
int volume_look(struct volume *v, const char *name, unsigned int what);
/*
 * Likewise; @v has the look before, or is zeroed, and neither is the kernel asked nor a label read
 * again for what can't have changed.
 */
int volume_look_again(struct volume *v, const char *name, unsigned int what);
void volume_free(struct volume *v);
/* How far the metadata area is that leaves or comes; false: none does, or it is not known. */
bool volume_sync_at(const char *name, const struct status *st, struct sync_at *at);

/* The view that status and monitor print; @width: columns of the bars. */
void volume_print(FILE *out, const struct volume *v, unsigned int width);
/* What --json prints; the caller's. */
struct json_t *volume_json(const struct volume *v);
/* EXIT_OK, or EXIT_FAILED; see json_print(). */
int volume_print_json(FILE *out, const struct volume *v);
/* The lost ranges, @shown at most. */
void volume_print_lost(FILE *out, const struct volume *v, unsigned int shown);
/* json_t *: the lost ranges as an array. */
void *volume_lost_json(const struct volume *v);

#endif
