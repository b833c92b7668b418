/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Labels of a pool whose areas are nobody's member: of one that left, or of a join that was cut;
 * and those of metadata areas that were replaced, or that did not quite take another's place.
 */
#ifndef HYBRIDCTL_LEFTOVER_H
#define HYBRIDCTL_LEFTOVER_H

#include <evenkeel/store.h>

#include "area.h"

/*
 * Is @a such an area of @sb's pool?  The superblock alone says who is a member: a device below a
 * member, a path of a multipath device, a member that is lost for now all carry a label that it
 * names.
 */
bool leftover_is(const struct ek_super *sb, const struct area *a);

/*
 * Is its label none that leftover_wipe() leaves whatever else is on the device: one overwritten, or
 * not of this version?
 */
bool leftover_may_be_wiped(const struct area *a);

/*
 * Zero @a's label and its copy, before that the superblocks of a metadata area, on @dev, which is
 * open for writing and held by nobody else.  Where it was the first on @dev the label of the next
 * one comes to the start instead of zeroes (area_lead_to()).  A label that something else has
 * overwritten is left, and its copy: what is there may be somebody's.  So is one that can't be read
 * for another reason, if owner_instead() names something.
 * 0; -EINVAL: that; -errno.
 */
int leftover_wipe(const struct bdev *dev, const struct area *a);

#endif
