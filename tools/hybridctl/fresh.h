/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices that are to become part of a pool: may they, and how they are wiped.
 */
#ifndef HYBRIDCTL_FRESH_H
#define HYBRIDCTL_FRESH_H

#include "bdev.h"
#include "wipe.h"

#define FRESH_MEMBER_HEAD	(1u << 20)
/* Of an area that joins a pool: the superblocks lie behind the label's MiB, the rest is copied. */
#define FRESH_META_HEAD		(2u << 20)

struct fresh {
	bool force;		/* whatever is on it */
	bool volatile_ok;	/* RAM disks, too */
	dev_t leftover;		/* a label of ours on this one is nobody's member; 0: on none */
	dev_t volume;		/* that it is for, which it must not lie on; 0: there is none yet */
};

/* Open @path for writing, alone; prints why not.  EXIT_OK, EXIT_FAILED with @dev closed. */
int fresh_open(struct bdev *dev, const char *path, const struct fresh *how);
/* Print that @path is in use, and by whom; EXIT_FAILED. */
int fresh_in_use(const char *path, dev_t rdev);
/*
 * Zero the first @head bytes of an area, what others keep at its end, and where a signature is in
 * between, on the device that had that path when it was judged; 0 or -errno, printed.  Ends when
 * interrupted.
 */
int fresh_wipe(struct wipe *w, const char *path, dev_t rdev, uint64_t start, uint64_t sectors,
	       uint64_t head);

#endif
