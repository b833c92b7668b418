// SPDX-License-Identifier: GPL-2.0-only
/* See which.h. */
#include <stddef.h>
#include <sys/sysmacros.h>

#include "bdev.h"
#include "msg.h"
#include "which.h"

uint64_t which_seq(const char *name)
{
	struct dm_dev dev;

	return dm_lookup(name, &dev) > 0 ? bdev_seq(makedev(dev.major, dev.minor)) : 0;
}

int which_is(bool (*is)(const struct dm_dev *dev, const void *ctx), const void *ctx, char **name)
{
	struct dm_dev *devs;
	unsigned int nr, i;
	int err;

	*name = NULL;
	err = dm_list_hybrid(&devs, &nr);
	if (err)
		return err;
	for (i = 0; i < nr && !*name; i++)
		if (is(&devs[i], ctx))
			*name = xstrdup(devs[i].name);
	dm_free_list(devs, nr);
	return 0;
}
