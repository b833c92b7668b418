// SPDX-License-Identifier: GPL-2.0-only
/*
 * A command was given a name; what it waits for is the lock of the pool that had the name then.
 * Meanwhile another command, or dmsetup, may have stopped that pool, renamed it, or given the name
 * to another pool, whose lock this one is not: nothing is done to that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "live.h"
#include "lock.h"
#include "msg.h"
#include "which.h"

static bool is_pool(const struct dm_dev *dev, const void *uuid)
{
	struct ek_label_info info;

	return live_pool(dev->name, &info) && !memcmp(info.pool_uuid, uuid, EK_UUID_SIZE);
}

/* The name that the pool has now, NULL: none; free(). */
static char *name_of(const uint8_t *uuid)
{
	char *name;

	which_is(is_pool, uuid, &name);
	return name;
}

static int gone(const char *name, const uint8_t *uuid)
{
	char *now = name_of(uuid);
	int ret = now ? fail("%s: has been renamed to %s meanwhile", name, now) :
			fail("%s: has been stopped meanwhile", name);

	free(now);
	return ret;
}

static int replaced(const char *name, const uint8_t *uuid)
{
	char *now = name_of(uuid);
	int ret = now ? fail("%s: another pool has that name by now; the one that had it is %s",
			     name, now) :
			fail("%s: another pool has that name by now; the one that had it has been stopped",
			     name);

	free(now);
	return ret;
}

int live_is_still(const char *name, const uint8_t *uuid)
{
	struct ek_label_info info;
	char *params = NULL;
	uint64_t sectors;
	int err;

	err = dm_get_table(name, &params, &sectors);
	free(params);
	if (err == -ENXIO)
		return gone(name, uuid);
	if (err == -EMEDIUMTYPE)
		return fail("%s: something that is no hybrid volume has that name by now", name);
	if (err)
		return fail("%s: %s", name, strerror(-err));
	if (!live_pool(name, &info))
		return fail("%s: no label of its metadata can be read any more", name);
	return memcmp(info.pool_uuid, uuid, EK_UUID_SIZE) ? replaced(name, uuid) : EXIT_OK;
}

int live_lock(const char *name)
{
	struct ek_label_info info;
	int err;

	if (!live_pool(name, &info))
		return EXIT_OK;
	err = lock_pool(info.pool_uuid, name);
	if (!err)
		err = live_is_still(name, info.pool_uuid);
	if (err)
		unlock_pool();
	return err;
}
