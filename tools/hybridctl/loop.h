/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loop devices: a file that is behind one is used by who uses that, which the file itself does not
 * tell.
 */
#ifndef HYBRIDCTL_LOOP_H
#define HYBRIDCTL_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a file, by its file system and its number there, the bytes from @from up to @to. */
struct loop_part {
	dev_t fs;
	ino_t ino;
	uint64_t from, to;
};

/* What @rdev shows; false: it is no loop device, or nobody may ask. */
bool loop_part_of(dev_t rdev, struct loop_part *part);
/* Do both show some of the same part of a file?  A partition has what its disk has. */
bool loop_alike(dev_t a, dev_t b);
/*
 * A loop device of some of that, other than @but, that is in use, and by whom as far as that is
 * known: "/dev/loop0, mounted on /mnt"; NULL: none; free().
 */
char *loop_users(const struct loop_part *part, dev_t but);
/* Likewise, of what @rdev, a loop device or a partition of one, shows; NULL: it is neither. */
char *loop_users_beside(dev_t rdev);

#endif
