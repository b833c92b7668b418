/* SPDX-License-Identifier: GPL-2.0-only */
/* What udev knows of a device: the files that systemd's sd-device reads, too. */
#ifndef HYBRIDCTL_UDEV_DB_H
#define HYBRIDCTL_UDEV_DB_H

#include <stdbool.h>
#include <sys/types.h>

/* Has it that property, with that value?  Not known to udev: no. */
bool udev_db_is(dev_t rdev, const char *property, const char *value);
/* Is udev there, and yet to look at it? */
bool udev_db_is_to_come(dev_t rdev);
/*
 * Is it kept from others by the rules, for the time being or for ever?  So are parts of logical
 * volumes, what LVM is about to wipe, and multipath without paths.
 */
bool udev_db_is_private(dev_t rdev);

#endif
