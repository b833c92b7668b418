/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The areas of hybrid pools on one device, found by their labels.  A device can
 * hold several, one behind the other: each label tells where the next begins.
 * Where the one at the start has left, the label of the next lies there, too.
 */
#ifndef HYBRIDCTL_AREA_H
#define HYBRIDCTL_AREA_H

#include <evenkeel/label.h>

#include "bdev.h"

#define AREA_MAX	8	/* on one device */

struct area {
	struct ek_label_info info;
	int head_err, copy_err;	/* ek_label_decode() of the label and its copy */
	bool differ;		/* both good, but not the same */
	bool inside;		/* what was at both ends of the device is gone */
};

/*
 * Find the areas on @dev, from its start by labels, from its end by copies where
 * a label is damaged.  Number found (0 to AREA_MAX) or -errno of I/O; with 0,
 * @head_err tells what is at the start instead (ek_label_decode()).
 */
int area_find(const struct bdev *dev, struct area *area, int *head_err);

/*
 * The same, and where both ends are gone by what a metadata area at the start says of itself.  Of
 * devices that somebody has named to have them looked at or mended: who overwrote the ends may
 * have meant to, and then no volume is to be begun with it, or kept from beginning.
 */
int area_find_inside(const struct bdev *dev, struct area *area, int *head_err);

/*
 * Is that area, found before, still where it was, as far as the label tells that was good then?
 * 0; -EREMCHG; -EIO.
 */
int area_is_still(const struct bdev *dev, const struct area *area);

/* A label, or a copy of one, at that byte: as ek_label_decode(), or -EIO. */
int area_label_read(const struct bdev *dev, uint64_t offset, struct ek_label_info *info);

/*
 * Its label and the copy, each durable before what comes next.  One of them that is good is not
 * written, and is what the other gets: it may be all that tells of the area.  0 or -errno.
 */
int area_label_write(const struct bdev *dev, const struct ek_label_info *info);

/*
 * Where there is no area any more at the start of @dev have the label of @info there, which is
 * behind, or zeroes if it is NULL: else that one is found by its copy alone, which has to be what
 * the device ends with.  Durable; 0 or -errno.
 */
int area_lead_to(const struct bdev *dev, const struct ek_label_info *info);
/* Is that what is there? */
bool area_is_led_to(const struct bdev *dev, const struct ek_label_info *info);

/* "metadata area 0" or "member 1", into @buf of AREA_TEXT bytes. */
#define AREA_TEXT	32
char *area_text(char *buf, uint32_t role, uint32_t index);
/* What ek_label_decode()'s error means. */
const char *area_label_error(int err);

#define UUID_TEXT	37
char *uuid_text(char *buf, const uint8_t *uuid);

#endif
