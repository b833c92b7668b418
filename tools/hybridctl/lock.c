// SPDX-License-Identifier: GPL-2.0-only
/*
 * See lock.h.  A pool's lock is an flock() of a file of its own, named by the pool's uuid:
 *
 *	not of its devices	of two metadata areas either may be missing, and udev leaves a
 *				device alone that is locked: what it should see would wait
 *	not below /run/lock	which everybody may write to, so everybody could hold such a lock
 *
 * The files stay: if one were unlinked, two could each have a lock of the same name.  In a file is
 * who had it last.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "interrupt.h"
#include "lock.h"
#include "msg.h"

#define HOLDER_TEXT	64

static int pool_fd = -1, devices_fd = -1;

static int open_lock(const char *file)
{
	char *path = xasprintf(LOCK_DIRECTORY "/%s", file);
	int fd = -1;

	if (!mkdir(LOCK_DIRECTORY, 0700) || errno == EEXIST)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	return fd;
}

static void say_who(int fd)
{
	char text[HOLDER_TEXT];
	int n = snprintf(text, sizeof(text), "%s, process %d", msg_command ? msg_command : "?",
			 (int)getpid());

	/* Only to be read by people: without it the lock is as good. */
	if (ftruncate(fd, 0) || pwrite(fd, text, n, 0) != n)
		return;
}

static void tell_wait(int fd, const char *what)
{
	char text[HOLDER_TEXT];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	warn("%s: waiting for another hybridctl%s%s%s", what, *text ? " (" : "", text,
	     *text ? ")" : "");
}

static int take(int fd, const char *what, bool wait)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return -errno;
	if (!wait)
		return -EBUSY;
	tell_wait(fd, what);
	while (!interrupted && flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	return interrupted ? -EINTR : 0;
}

static int get(int *slot, const char *file, const char *what, bool wait)
{
	int fd = open_lock(file), err = fd < 0 ? -errno : take(fd, what, wait);

	if (!err) {
		say_who(fd);
		*slot = fd;
		return 0;
	}
	/* Image files of one's own: no volume that is active is made of them without root. */
	if (fd < 0 && geteuid())
		return 0;
	if (err != -EBUSY)
		fail("%s: can't be locked: " LOCK_DIRECTORY "/%s: %s", what, file, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static void put(int *slot)
{
	if (*slot >= 0)
		close(*slot);
	*slot = -1;
}

static int get_pool(const uint8_t *uuid, const char *name, bool wait)
{
	char text[UUID_TEXT];

	unlock_pool();
	return get(&pool_fd, uuid_text(text, uuid), name, wait);
}

int lock_pool(const uint8_t *uuid, const char *name)
{
	return get_pool(uuid, name, true) ? EXIT_FAILED : EXIT_OK;
}

int lock_pool_try(const uint8_t *uuid, const char *name)
{
	return get_pool(uuid, name, false);
}

void unlock_pool(void)
{
	put(&pool_fd);
}

int lock_devices(void)
{
	return get(&devices_fd, "devices", "devices", true) ? EXIT_FAILED : EXIT_OK;
}

void unlock_devices(void)
{
	put(&devices_fd);
}
