/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who else has a claim on the devices and image files of a pool that is to be looked at or written
 * to offline.  That a device is held by another the kernel tells whoever opens it; not so
 *
 *	a volume that is active		of whose members these are files, or copies
 *	a loop device in use		on one of these files, or another one on it
 *	a mirror or a RAID		which these are legs of, not assembled just now
 *	multipath			which these are paths of, likewise
 */
#ifndef HYBRIDCTL_CLAIMS_H
#define HYBRIDCTL_CLAIMS_H

#include "pool.h"

/*
 * May @pool be written to?  With the pool's lock.  @force: to legs and paths as well, but to
 * nothing that is in use.  EXIT_OK; EXIT_FAILED: a part of something else, EXIT_USAGE: in use, both
 * printed.
 */
int claims_judge(const struct pool *pool, bool force);
/* It is only read: what may come of it is told on standard error. */
void claims_warn(const struct pools *pools);

#endif
