/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Zeroes where a new pool's labels and superblocks go, in a way that can be taken
 * back while the kernel has not accepted the pool.
 */
#ifndef HYBRIDCTL_WIPE_H
#define HYBRIDCTL_WIPE_H

#include "bdev.h"

struct wipe;

/* What is overwritten is kept in memory; what is zero already is not written. */
struct wipe *wipe_new(void);
/*
 * Zero @len bytes (from a multiple of 4 KiB, whole sectors) of the device that had that path when
 * it was judged; 0 or -errno, -EBUSY: in use, -EREMCHG: another one has that path, -EINTR:
 * interrupted (interrupt.h).
 */
int wipe_range(struct wipe *w, const char *path, dev_t rdev, uint64_t offset, uint64_t len);
/*
 * Put everything back, also over what was written there since, but not on a device that another
 * has taken: -EBUSY, or that another has the path of: -EREMCHG.  0 or the first error.
 */
int wipe_undo(struct wipe *w);
void wipe_free(struct wipe *w);

#endif
