// SPDX-License-Identifier: GPL-2.0-only
/* Pools on the devices and image files of a command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lock.h"
#include "msg.h"
#include "offline.h"

void offline_in_use(const char *path)
{
	char *user = NULL;
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode)) {
		fail("%s: in use: another program has it locked", path);
		return;
	}
	if (!stat(path, &st))
		user = bdev_users(st.st_rdev);
	fail("%s: in use%s%s (of an active volume see hybridctl status)", path,
	     user ? ": " : "", user ? user : "");
	free(user);
}

static int add(struct pools *pools, const char *path)
{
	int err, head_err, nr;
	struct bdev dev;

	err = bdev_open(&dev, path, BDEV_EXCL | BDEV_FILES);
	if (err == -EBUSY) {
		offline_in_use(path);
		return EXIT_USAGE;
	}
	if (err) {
		fail("%s: %s", path,
		     err == -ENOTBLK ? "neither a block device nor a file" : strerror(-err));
		return EXIT_USAGE;
	}
	nr = pools_add_named(pools, &dev, &head_err);
	bdev_close(&dev);
	if (nr > 0)
		return EXIT_OK;
	if (nr < 0)
		fail("%s: %s", path, strerror(-nr));
	else if (head_err == -ENODATA || head_err == -EINVAL)
		fail("%s: no hybrid label", path);
	else
		fail("%s: hybrid label is %s", path, area_label_error(head_err));
	return EXIT_USAGE;
}

int offline_pools(struct pools *pools, char * const *paths, int nr)
{
	int i, err = EXIT_OK;

	memset(pools, 0, sizeof(*pools));
	for (i = 0; i < nr && !err; i++)
		err = add(pools, paths[i]);
	if (err)
		pools_free(pools);
	for (i = 0; i < (int)pools->nr; i++)
		pool_settle(&pools->pool[i]);
	return err;
}

int offline_lock(struct pools *pools, unsigned int i, char * const *paths, int nr)
{
	uint8_t uuid[EK_UUID_SIZE];
	int err;

	memcpy(uuid, pools->pool[i].uuid, EK_UUID_SIZE);
	err = lock_pool(uuid, pools->pool[i].name);
	if (err)
		return err;
	pools_free(pools);
	err = offline_pools(pools, paths, nr);
	if (err)
		return err;
	if (i < pools->nr && !memcmp(pools->pool[i].uuid, uuid, EK_UUID_SIZE))
		return EXIT_OK;
	pools_free(pools);
	fail("the devices are other pools' by now");
	return EXIT_USAGE;
}
