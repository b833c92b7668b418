// SPDX-License-Identifier: GPL-2.0-only
/* Which pool an active volume is, by the labels of its metadata. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "dm.h"
#include "live.h"

bool live_number(const char *number, dev_t *rdev)
{
	unsigned int major, minor;

	if (sscanf(number, "%u:%u", &major, &minor) != 2)
		return false;
	*rdev = makedev(major, minor);
	return true;
}

bool live_find_meta(const struct table_area *a, struct area *meta, char **path)
{
	struct area area[AREA_MAX];
	int nr, err, i, found = -1;
	struct bdev dev;
	dev_t rdev;

	if (!live_number(a->dev, &rdev))
		return false;
	*path = bdev_path(rdev);
	if (!bdev_open(&dev, *path, 0)) {
		nr = area_find(&dev, area, &err);
		for (i = 0; i < nr; i++)
			if (area[i].info.role == EK_ROLE_META &&
			    area[i].info.area_start == a->start)
				found = i;
		if (found >= 0)
			*meta = area[found];
		bdev_close(&dev);
	}
	if (found < 0)
		free(*path);
	return found >= 0;
}

bool live_read_label(const struct table *t, struct ek_label_info *info)
{
	struct area area;
	unsigned int i;
	char *path;

	for (i = 0; i < t->nr_meta; i++)
		if (live_find_meta(&t->meta[i], &area, &path)) {
			*info = area.info;
			free(path);
			return true;
		}
	return false;
}

bool live_pool(const char *name, struct ek_label_info *info)
{
	char *params, why[96];
	uint64_t sectors;
	struct table t;
	bool is = false;

	if (dm_get_table(name, &params, &sectors))
		return false;
	if (table_parse(params, &t, why, sizeof(why))) {
		is = live_read_label(&t, info);
		table_free(&t);
	}
	free(params);
	return is;
}
