// SPDX-License-Identifier: GPL-2.0-only
/* udev's database: a file per device, a letter, a colon and what it stands for on each line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "msg.h"
#include "udev_db.h"

/* Is there a line that begins so, or, with @whole, is so? */
static bool has_line(dev_t rdev, const char *wanted, bool whole)
{
	char *path = xasprintf("/run/udev/data/b%u:%u", major(rdev), minor(rdev)), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t size = 0;
	bool has = false;

	free(path);
	while (f && !has && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		has = whole ? !strcmp(line, wanted) : !strncmp(line, wanted, strlen(wanted));
	}
	free(line);
	if (f)
		fclose(f);
	return has;
}

bool udev_db_is(dev_t rdev, const char *property, const char *value)
{
	char *line = xasprintf("E:%s=%s", property, value);
	bool is = has_line(rdev, line, true);

	free(line);
	return is;
}

bool udev_db_is_to_come(dev_t rdev)
{
	/* The time at which it was first looked at. */
	return !access("/run/udev/control", F_OK) && !has_line(rdev, "I:", false);
}

bool udev_db_is_private(dev_t rdev)
{
	return udev_db_is(rdev, "DM_UDEV_DISABLE_OTHER_RULES_FLAG", "1") ||
	       udev_db_is(rdev, "SYSTEMD_READY", "0");
}
