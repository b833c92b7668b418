// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/looks.h"
#include "file.h"

static bool fail(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
	return false;
}

bool file_refused(const char *path)
{
	fprintf(stderr, "%s: there is something on it; --force overwrites that\n", path);
	return false;
}

/* A mistyped device's name makes no file in the memory of /dev, which nothing would find again. */
static bool is_for_devices(const char *path)
{
	char copy[PATH_MAX], dir[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	if (!realpath(dirname(copy), dir))
		return false;
	return (!strncmp(dir, "/dev/", 5) && strncmp(dir, "/dev/shm", 8)) || !strcmp(dir, "/dev");
}

static bool is_blank(int fd)
{
	static unsigned char buf[1 << 16];
	size_t at, i;
	ssize_t n;

	for (at = 0; at < FILE_LOOK; at += n) {
		n = pread(fd, buf, sizeof(buf), at);
		if (n <= 0)
			return !n;
		for (i = 0; i < (size_t)n; i++)
			if (buf[i])
				return false;
	}
	return true;
}

static bool enlarge(const char *path, int fd, uint64_t size, bool force, struct file_before *before)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(path, "stat");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= size)
		return true;
	if (flock_patiently(fd, LOCK_EX))
		return fail(path, "in use");
	if (!force && !is_blank(fd))
		return file_refused(path);
	before->size = st.st_size;
	if (ftruncate(fd, size))
		return fail(path, "make it larger");
	before->smaller = true;
	return true;
}

bool file_enlarge(const char *path, uint64_t size, bool force, struct file_before *before)
{
	int fd;
	bool ok;

	memset(before, 0, sizeof(*before));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (is_for_devices(path)) {
			fprintf(stderr, "%s: no such device\n", path);
			return false;
		}
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		before->none = fd >= 0;
	}
	if (fd < 0)
		return fail(path, "open");
	ok = enlarge(path, fd, size, force, before);
	close(fd);
	if (!ok)
		file_take_back(path, before);
	return ok;
}

void file_take_back(const char *path, const struct file_before *before)
{
	if (before->none ? unlink(path) : before->smaller && truncate(path, before->size))
		fail(path, "make it what it was");
}
