/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume's metadata areas: one that was left out is made a mirror again, one moves to another
 * device while the volume runs.  All print why not and return an exit status.
 */
#ifndef HYBRIDCTL_MIRROR_H
#define HYBRIDCTL_MIRROR_H

#include "fresh.h"
#include "live.h"

/* The area by its number or by the path of its device, printed if there is none; -1: none. */
int mirror_find(const struct live *l, const char *word);
/* All areas that are stale and there are made mirrors; success if none is left. */
int mirror_resync(struct live *l);
/*
 * Area @k moves to @path.  @join < 0: it takes the whole device; else the rest of that becomes
 * member @join, a place that is vacant.  The only area goes to the other place.
 */
int mirror_move(struct live *l, unsigned int k, const char *path, const struct fresh *how,
		int join);
/* Has the only area left place @k for @path already? */
bool mirror_is_done(const struct live *l, unsigned int k, const char *path);
/* Does area @k lie on @path, as it should be? */
bool mirror_is_there(const struct live *l, unsigned int k, const char *path);
/* Is nothing left of what moved?  Else it was said; the move itself is done. */
bool mirror_is_wiped(void);
/* It was done, to @path, but for what is left on @old. */
bool mirror_has_left(const struct live *l, const char *old, const char *path);
/* That is wiped, which leaves a member behind it as it is. */
int mirror_forget(const struct live *l, const char *old);
/* Devices that carry what was area @k are looked for, and told with what wipes it there. */
int mirror_tell_left(const struct live *l, unsigned int k);
/* Is area @k leaving to @path, where another was made in its stead, and that was cut short? */
bool mirror_goes_on(const struct live *l, unsigned int k, const char *path);
int mirror_go_on(struct live *l, unsigned int k);
/* Area @k moves to member @i, where a move that was cut short left room and a label for it. */
int mirror_move_back_in(struct live *l, unsigned int k, unsigned int i);
/* Sectors of an area at the start of a device with a member behind it; 0: printed. */
uint64_t mirror_sectors(const struct live *l);

#endif
