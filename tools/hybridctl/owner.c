// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signatures that lie around our areas.
 *
 * Who keeps his at the end (md's 0.90 and 1.0, the firmwares' formats, DRBD) shows a device that
 * begins where the one beneath does, so the label is at the start of both.  But the area ends where
 * the upper one does, and the signature lies behind that.  What lies between an area's head and the
 * end of its extents is data: whoever writes to the volume can put there what looks like one.
 */
#include <blkid/blkid.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "msg.h"
#include "owner.h"
#include "signature.h"
#include "udev_db.h"

static bool is_data(uint64_t offset, const struct area *area, int nr)
{
	const struct ek_label_info *info;
	uint64_t start, extents;

	while (nr--) {
		info = &area[nr].info;
		start = info->area_start * SECTOR_SIZE + EK_AREA_HEAD_BYTES;
		extents = ek_member_extents(info->area_sectors, info->extent_sectors);
		if (info->role == EK_ROLE_MEMBER && offset >= start &&
		    offset - start < extents * info->extent_sectors * SECTOR_SIZE)
			return true;
	}
	return false;
}

static uint64_t offset_of(blkid_probe pr)
{
	const char *text;

	/* One that does not say where it is counts as one that is not in our data. */
	if (blkid_probe_lookup_value(pr, "SBMAGIC_OFFSET", &text, NULL))
		return 0;
	return strtoull(text, NULL, 10);
}

static char *find(blkid_probe pr, const struct area *area, int nr)
{
	const char *type;

	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_MAGIC);
	blkid_probe_filter_superblocks_usage(pr, BLKID_FLTR_ONLYIN, BLKID_USAGE_RAID);
	while (!blkid_do_probe(pr))
		if (!is_data(offset_of(pr), area, nr) &&
		    !blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
			return xasprintf("has the signature of a part of another device (%s)",
					 type);
	return NULL;
}

char *owner_of(const struct bdev *dev, const struct area *area, int nr)
{
	blkid_probe pr;
	char *what;
	int fd;

	if (dev->rdev && udev_db_is(dev->rdev, "DM_MULTIPATH_DEVICE_PATH", "1"))
		return xstrdup("is a path of a multipath device");
	/* Its own, and not for direct I/O, for which libblkid's buffers are not aligned. */
	fd = open(dev->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	pr = blkid_new_probe();
	what = pr && !blkid_probe_set_device(pr, fd, 0, 0) ? find(pr, area, nr) : NULL;
	blkid_free_probe(pr);
	close(fd);
	return what;
}

struct areas {
	const struct area *area;
	int nr;
};

static bool lies_in_data(const void *ctx, uint64_t offset)
{
	const struct areas *areas = ctx;

	return is_data(offset, areas->area, areas->nr);
}

/* Nothing that lies in data counts. */
static char *find_since(const struct bdev *dev, const struct area *area, int nr)
{
	const struct areas areas = { area, nr };
	char *what = NULL;

	if (signature_find_but(dev->path, lies_in_data, &areas, &what) <= 0)
		return NULL;
	return what;
}

char *owner_since(const struct bdev *dev, const struct area *area, int nr)
{
	/* Where a good label is nothing else can be. */
	while (nr && (area[nr - 1].info.area_start || !area[nr - 1].head_err))
		nr--;
	return nr ? find_since(dev, area, nr) : NULL;
}

char *owner_instead(const struct bdev *dev)
{
	struct area area[AREA_MAX];
	int err, i, nr = area_find(dev, area, &err);

	for (i = 0; i < nr; i++)
		if (!area[i].info.area_start && !area[i].head_err)
			return NULL;
	return find_since(dev, area, nr > 0 ? nr : 0);
}

#define TABLE_FROM	446u		/* what is before is no partition table's */
#define TABLE_END	(24u << 10)	/* the largest blocks there are: six of them at each end */

struct behind {
	struct areas areas;
	uint64_t bytes;		/* of the device */
};

static bool lies_in_table(const void *ctx, uint64_t offset)
{
	const struct behind *b = ctx;

	return (offset >= TABLE_FROM && offset < TABLE_END) || offset + TABLE_END >= b->bytes ||
	       lies_in_data(&b->areas, offset);
}

static bool is_table(const char *what)
{
	const char *at = strstr(what, " partition table");

	return at && !at[strlen(" partition table")];
}

char *owner_but_table(const struct bdev *dev, const struct area *area, int nr)
{
	const struct behind behind = { { area, nr }, dev->sectors * SECTOR_SIZE };
	char *what = find_since(dev, area, nr), *more = NULL;

	/* Others come first: where a table is found there are none but our kin. */
	if (!what || !is_table(what))
		return what;
	if (signature_partitions(dev->path))
		more = xasprintf("%s with partitions", what);
	else if (signature_find_but(dev->path, lies_in_table, &behind, &more) <= 0)
		more = NULL;
	free(what);
	return more;
}
