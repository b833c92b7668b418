// SPDX-License-Identifier: GPL-2.0-only
/* Labels that name members which are none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leftover.h"
#include "owner.h"
#include "store_io.h"

bool leftover_is(const struct ek_super *sb, const struct area *a)
{
	const struct ek_label_info *info = &a->info;
	const struct ek_super_member *m;

	if (a->differ || memcmp(info->pool_uuid, sb->pool_uuid, EK_UUID_SIZE))
		return false;
	if (info->role == EK_ROLE_META)
		return info->index < EK_MAX_META &&
		       !ek_super_names(sb, info->index, info->area_uuid);
	/* What is named anywhere, whatever the index, may hold data. */
	for (m = sb->member; m < sb->member + le32_to_cpu(sb->nr_members); m++)
		if (le32_to_cpu(m->state) != EK_MEMBER_REMOVED &&
		    !memcmp(info->area_uuid, m->uuid, EK_UUID_SIZE))
			return false;
	return true;
}

/* In no order that could leave an older superblock as the only one. */
static int forget_store(const struct bdev *dev, const struct area *a)
{
	struct store_io io = {
		.dev = { *dev }, .start = { a->info.area_start * SECTOR_SIZE },
		.bytes = { a->info.area_sectors * SECTOR_SIZE }, .areas = 1,
	};

	return ek_store_forget(&store_io_rw, &io, 1);
}

/* A label that can't be read may be the trace of somebody who has the device by now. */
static bool is_given_away(const struct bdev *dev, const struct area *a)
{
	char *what = a->head_err ? owner_instead(dev) : NULL;
	bool is = what;

	free(what);
	return is;
}

bool leftover_may_be_wiped(const struct area *a)
{
	return a->head_err != -EINVAL && a->head_err != -EPROTONOSUPPORT;
}

/* 1: the first that comes behind @a is @next; 0: none does; -errno. */
static int find_next(const struct bdev *dev, const struct area *a, struct ek_label_info *next)
{
	struct area area[AREA_MAX];
	int err, i, found = 0, nr = area_find(dev, area, &err);

	for (i = 0; i < nr; i++)
		if (area[i].info.area_start > a->info.area_start &&
		    (!found || area[i].info.area_start < next->area_start)) {
			*next = area[i].info;
			found = 1;
		}
	return found;
}

/*
 * A device that grows, or loses its last block, still has the areas behind the first: what is at
 * its start leads to them.  That goes when the last of them does.
 */
static int wipe_head(const struct bdev *dev, const struct area *a, const struct ek_label_info *next,
		     const void *zero)
{
	uint64_t start = a->info.area_start * SECTOR_SIZE;
	int err = 0;

	if (start)
		err = bdev_write(dev, start, zero, EK_BLOCK_SIZE);
	if (start && !err)
		err = bdev_flush(dev);
	if (!err && (!start || area_is_led_to(dev, &a->info)))
		err = area_lead_to(dev, next);
	return err;
}

int leftover_wipe(const struct bdev *dev, const struct area *a)
{
	uint64_t start = a->info.area_start * SECTOR_SIZE;
	struct ek_label_info next;
	void *zero;
	int err = 0, behind;

	if (!leftover_may_be_wiped(a))
		return -EINVAL;
	if (is_given_away(dev, a))
		return -EINVAL;
	behind = find_next(dev, a, &next);
	zero = bdev_buffer(EK_BLOCK_SIZE);

	if (!err && a->info.role == EK_ROLE_META)
		err = forget_store(dev, a);
	/* The label goes last: a copy alone may as well be what somebody has left of a label. */
	if (!err && a->copy_err != -EINVAL)
		err = bdev_write(dev, start + ek_label_copy_offset(a->info.area_sectors), zero,
				 EK_BLOCK_SIZE);
	if (!err)
		err = bdev_flush(dev);
	if (!err)
		err = wipe_head(dev, a, behind ? &next : NULL, zero);
	free(zero);
	return err;
}
