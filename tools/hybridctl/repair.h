/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mends a pool's metadata from what is intact of it, and from nothing else.
 */
#ifndef HYBRIDCTL_REPAIR_H
#define HYBRIDCTL_REPAIR_H

#include "pool.h"

/*
 * Mend what can be mended, and print what was; then check.  EXIT_OK: all is sound;
 * EXIT_FAILED: something is left, printed; EXIT_USAGE: it could not run.
 */
struct repair_how {
	bool force;	/* write labels over what something else has written in their place */
	bool degraded;	/* with a metadata area missing: it may be the newer one */
};

/* Of two of its statuses: that one could not run outweighs what the other one says. */
static inline int repair_worse(int a, int b)
{
	return a > b ? a : b;
}

int repair_pool(struct pool *pool, const struct repair_how *how);

#endif
