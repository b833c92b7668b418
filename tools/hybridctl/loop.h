/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loop devices: a file that is behind one is used by who uses that, which the file itself does not
 * tell.
 */
#ifndef HYBRIDCTL_LOOP_H
#define HYBRIDCTL_LOOP_H

#include <stdbool.h>
#include <sys/types.h>

/* The file behind @rdev: its file system and number there; false: it is no loop device. */
bool loop_file(dev_t rdev, dev_t *fs, ino_t *ino);
/*
 * A loop device of that file, other than @but, that is in use, and by whom as far as that is known:
 * "/dev/loop0, mounted on /mnt"; NULL: none; free().
 */
char *loop_users(dev_t fs, ino_t ino, dev_t but);

#endif
