/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device-mapper devices of one who was killed while he made a volume: made, or with a table that is
 * loaded, and never resumed.  They hold a name, and with a table all its devices.
 */
#ifndef HYBRIDCTL_UNFINISHED_H
#define HYBRIDCTL_UNFINISHED_H

/*
 * With the devices' lock, so that no other of these programs is just making it; what somebody makes
 * by dmsetup is waited for, for a moment.  Takes the device of that name away if it is one such;
 * and the one of that uuid, whatever its name; @uuid may be NULL.  EXIT_OK, also if there is none,
 * or EXIT_FAILED with the reason printed.
 */
int unfinished_remove(const char *name, const char *uuid);

#endif
