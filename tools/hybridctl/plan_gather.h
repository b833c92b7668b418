/* SPDX-License-Identifier: GPL-2.0-only */
/* What a plan is made of: members and extents of an active volume, as they are used. */
#ifndef HYBRIDCTL_PLAN_GATHER_H
#define HYBRIDCTL_PLAN_GATHER_H

#include "plan.h"
#include "usage.h"
#include "volume.h"
#include "window.h"

struct known {
	struct usage usage;		/* settled; behind those counted, those of no use */
	unsigned long nr_counted;
};

/* What the kernel has counted; 0 or EXIT_FAILED. */
int known_read(struct known *k, const struct volume *v);
void known_free(struct known *k);

/* All that plan_make() needs; @p->extent is the caller's. */
void plan_gather(struct plan *p, struct known *k, const struct volume *v, const struct window *w,
		 unsigned long budget);

#endif
