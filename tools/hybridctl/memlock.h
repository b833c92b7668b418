/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HYBRIDCTL_MEMLOCK_H
#define HYBRIDCTL_MEMLOCK_H

/*
 * All of the program, and what it may yet need of stack and heap, is in memory from here on: what
 * it lies on, or what is swapped out to, may be the volume that is being suspended.  Where that
 * can't be had it is done without.
 */
void memory_lock(void);
void memory_unlock(void);

#endif
