/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One command at a time changes a pool: whoever makes a table out of the one that there is, or
 * writes metadata, does so with the pool's lock, so that none starts from what another is about
 * to replace.  And one at a time makes devices part of active volumes.
 *
 * Order: a pool's lock, then that of the devices.  Who has the latter only tries the former.
 * All end with the program, however it ends.
 */
#ifndef HYBRIDCTL_LOCK_H
#define HYBRIDCTL_LOCK_H

#include <stdint.h>

#define LOCK_DIRECTORY	"/run/hybridctl"	/* what an initial file system leaves there stays */

/*
 * Waits, with a line on standard error, while another has it.  EXIT_OK, or EXIT_FAILED with the
 * reason printed, also when interrupted (interrupt.h).  One pool at a time.
 */
int lock_pool(const uint8_t *uuid, const char *name);
/* 0; -EBUSY: another has it; another error, printed. */
int lock_pool_try(const uint8_t *uuid, const char *name);
void unlock_pool(void);

/* Devices and names of volumes stay as they are found.  As lock_pool(). */
int lock_devices(void);
void unlock_devices(void);

#endif
