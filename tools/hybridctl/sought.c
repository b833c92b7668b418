// SPDX-License-Identifier: GPL-2.0-only
/* See sought.h.  Of each such pool there is a file beside that of its lock, which lasts as long. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "lock.h"
#include "msg.h"
#include "sought.h"

static char *path_of(const uint8_t *uuid)
{
	char text[UUID_TEXT];

	return xasprintf(LOCK_DIRECTORY "/%s.sought", uuid_text(text, uuid));
}

void sought_in_vain(const uint8_t *uuid)
{
	char *path = path_of(uuid);
	int fd;

	/* Without it the pool only waits for a device that appears, as one that was stopped. */
	mkdir(LOCK_DIRECTORY, 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
	free(path);
}

void sought_and_found(const uint8_t *uuid)
{
	char *path = path_of(uuid);

	unlink(path);
	free(path);
}

bool is_sought(const uint8_t *uuid)
{
	char *path = path_of(uuid);
	bool is = !access(path, F_OK);

	free(path);
	return is;
}
