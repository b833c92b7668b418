/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who a device belongs to that carries a label: a leg of a mirror, or a path of a multipath device,
 * shows what is on top of it, label and all, and must not be written to beside it.
 */
#ifndef HYBRIDCTL_OWNER_H
#define HYBRIDCTL_OWNER_H

#include "area.h"

/*
 * What @dev, on which area_find() has found these areas, is a part of, as far as signatures and
 * udev's database tell; NULL: of nothing; free().  Not for one that is held: what holds it is on
 * top.
 */
char *owner_of(const struct bdev *dev, const struct area *area, int nr);

/*
 * What somebody has put where the label at the start of @dev was, of whose areas the copies are
 * there still: "ext4 signature"; NULL: nothing that libblkid knows; free().
 */
char *owner_since(const struct bdev *dev, const struct area *area, int nr);

/*
 * What somebody has put on @dev, if no good label is at its start: of the area that was there not
 * even the copy need be left.  To be asked before a damaged label on it is written or zeroed.
 * As owner_since().
 */
char *owner_instead(const struct bdev *dev);

/*
 * What somebody has put on @dev, where these areas lie whose labels are gone.  A partition table
 * that has no partitions, in the sectors that such tables have, may be what took them, and does not
 * count.  As owner_since().
 */
char *owner_but_table(const struct bdev *dev, const struct area *area, int nr);

#endif
