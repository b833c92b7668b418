// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl stop: deactivate a volume. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../common/looks.h"
#include "bdev.h"
#include "commands.h"
#include "dm.h"
#include "live.h"
#include "msg.h"

static int in_use(const char *name, const struct dm_dev *dev)
{
	char *user = bdev_users(makedev(dev->major, dev->minor));
	int ret = fail("%s: in use%s%s", name, user ? ": " : "", user ? user : "");

	free(user);
	return ret;
}

/*
 * Who has closed it after writing has udev look at it, a moment later; others look, too.  Who has
 * mounted it does not go away by himself.
 */
static bool is_passing(const struct dm_dev *dev, unsigned int looks)
{
	char *keeper;

	if (looks == LOOKS)
		return false;
	keeper = bdev_keepers(makedev(dev->major, dev->minor));
	free(keeper);
	if (keeper)
		return false;
	nap_between_looks();
	return true;
}

/*
 * The removal commits, too, but can't fail for it: only the kernel's log would tell.  A volume that
 * is suspended answers as well.  Of one whose table was never resumed nothing can be lost.  What
 * was lost earlier and told to who flushed alone, the file system, is told here, too.
 */
static bool commits(const char *name)
{
	unsigned int looks = 0;
	char *why = NULL;
	int err;

	/* Somebody is suspending it, and it can't be told yet. */
	while ((err = dm_message(name, "checkpoint", NULL, &why)) == -EBUSY && looks++ < LOOKS) {
		free(why);
		why = NULL;
		nap_between_looks();
	}
	if (err == -EBUSY)
		fail("%s: it is still being suspended: whether all is durable can't be told", name);
	else if (err && err != -EAGAIN)
		fail("%s: the last commit failed or tells of writes that were lost (%s): what was written last may be lost; the kernel's log says more",
		     name, why);
	free(why);
	return !err || err == -EAGAIN;
}

/* @lost: a commit failed; it is told once. */
static int try(const char *name, struct dm_dev *dev, bool *lost)
{
	char *why = NULL;
	int err;

	if (dm_lookup(name, dev) <= 0)
		return fail("%s: gone", name);
	if (dev->open_count)
		return -EBUSY;
	if (!*lost)
		*lost = !commits(name);
	err = dm_remove(name, &why);
	if (err && err != -EBUSY)
		err = fail("%s: %s", name, why);
	free(why);
	return err;
}

static int stop(const char *name)
{
	unsigned int looks = 0;
	struct dm_dev dev;
	bool lost = false;
	int err;

	if (need_volume(name) || live_lock(name))
		return EXIT_FAILED;
	while ((err = try(name, &dev, &lost)) == -EBUSY)
		if (!is_passing(&dev, looks++))
			return in_use(name, &dev);
	/* Inactive it is all the same: who has a broken disk must get rid of it. */
	return err || lost ? EXIT_FAILED : EXIT_OK;
}

int cmd_stop(int argc, char **argv)
{
	static const struct option options[] = { OPT_HELP, { NULL, 0, NULL, 0 } };
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1)
		return opt == 'h' ? command_help() : bad_option(argv);
	if (argc - optind != 1)
		return usage_error("one name is needed");
	return stop(argv[optind]);
}
