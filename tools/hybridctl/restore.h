/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a pool's metadata anew from a dump.
 */
#ifndef HYBRIDCTL_RESTORE_H
#define HYBRIDCTL_RESTORE_H

#include <stdio.h>

#include "pool.h"

struct restore_how {
	bool force;	/* over metadata that is sound, or may be newer than the dump */
	bool degraded;	/* without a metadata area that is not there, or can't be written */
};

/*
 * All of the dump is read and judged before anything is written.  EXIT_OK; EXIT_FAILED (printed);
 * EXIT_USAGE: a device can't be opened (likewise).
 */
int restore_pool(struct pool *pool, FILE *dump, const struct restore_how *how);

#endif
