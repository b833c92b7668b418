// SPDX-License-Identifier: GPL-2.0-only
/* See unfinished.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../common/looks.h"
#include "dm.h"
#include "msg.h"
#include "unfinished.h"

#define ITS_MAKER	10	/* looks: who is alive has resumed it by then */

static bool is_left(const char *name, const char *uuid)
{
	unsigned int looks;

	for (looks = 0; looks < ITS_MAKER; looks++) {
		if (!dm_is_unfinished(name, uuid))
			return false;
		nap_between_looks();
	}
	return dm_is_unfinished(name, uuid);
}

static int take_away(const char *name, const char *uuid)
{
	struct dm_dev dev;
	char *why = NULL;
	int err;

	if (!is_left(name, uuid) || dm_lookup(name, &dev) <= 0)
		return EXIT_OK;
	if (dev.open_count)
		return fail("%s: a device-mapper device that was never given its table has that name, and is open",
			    name);
	err = dm_remove(name, &why);
	if (err)
		err = fail("%s: a device-mapper device that was never given its table can't be removed: %s",
			   name, why);
	else
		warn("%s: removed a device-mapper device that was never given its table", name);
	free(why);
	return err;
}

int unfinished_remove(const char *name, const char *uuid)
{
	struct dm_dev *devs;
	unsigned int nr, i;
	int err = take_away(name, NULL);

	if (err || !uuid || dm_list_unfinished(&devs, &nr))
		return err;
	for (i = 0; i < nr && !err; i++)
		if (dm_is_unfinished(devs[i].name, uuid))
			err = take_away(devs[i].name, uuid);
	dm_free_list(devs, nr);
	return err;
}
