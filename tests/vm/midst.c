// SPDX-License-Identifier: GPL-2.0-only
/*
 * Something is done to scmfs in the midst of garbage collection: as soon as this has moved
 * something, by who does nothing but look for that. A program more, and all might be done.
 *
 *	midst DIR unmount|read-only|shutdown|freeze	starts it before
 *	midst DIR stop					another one has started it, or will
 *
 * Says how much was moved by then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <evenkeel/scmfs.h>

#define SECONDS	60
#ifndef FS_IOC_SHUTDOWN
#define FS_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#endif
#define SHUTDOWN_NO_FLUSH	2

static int fail(const char *what)
{
	printf("midst: %s: %s\n", what, strerrorname_np(errno));
	return 1;
}

static int gc(int fd, uint32_t set, struct scmfs_gc_info *info)
{
	*info = (struct scmfs_gc_info){ .size = sizeof(*info), .set = set };
	return ioctl(fd, SCMFS_IOC_GC, info);
}

/* 1: it has moved some more; 0: it has ended, or never began; -1: an error. */
static int wait_for_move(int fd, int start, struct scmfs_gc_info *info)
{
	uint64_t before;
	time_t end = time(NULL) + SECONDS;

	if (gc(fd, 0, info))
		return -1;
	before = start ? info->moves : 0;
	if (start && gc(fd, SCMFS_GC_SET_START, info))
		return -1;
	while (info->moves == before) {
		if ((start && !(info->flags & SCMFS_GC_RUNNING)) || time(NULL) > end)
			return 0;
		if (gc(fd, 0, info))
			return -1;
	}
	return 1;
}

static int act(int *fd, const char *dir, const char *what)
{
	struct scmfs_gc_info info;
	uint32_t how = SHUTDOWN_NO_FLUSH;

	if (!strcmp(what, "stop"))
		return gc(*fd, SCMFS_GC_SET_STOP, &info);
	if (!strcmp(what, "freeze"))
		return ioctl(*fd, FIFREEZE, 0);
	if (!strcmp(what, "shutdown"))
		return ioctl(*fd, FS_IOC_SHUTDOWN, &how);
	if (!strcmp(what, "read-only"))
		return mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL);
	if (close(*fd))
		return -1;
	*fd = -1;
	return umount(dir);
}

int main(int argc, char **argv)
{
	static const char all[] = " unmount read-only shutdown freeze stop ";
	struct scmfs_gc_info info;
	char word[32];
	int fd, r;

	if (argc != 3 || snprintf(word, sizeof(word), " %s ", argv[2]) >= (int)sizeof(word) || !strstr(all, word)) {
		fprintf(stderr, "usage: midst DIR unmount|read-only|shutdown|freeze|stop\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(argv[1]);
	r = wait_for_move(fd, strcmp(argv[2], "stop"), &info);
	if (r < 0)
		return fail("garbage collection");
	if (!r) {
		printf("midst: nothing was moved\n");
		return 1;
	}
	if (act(&fd, argv[1], argv[2]))
		return fail(argv[2]);
	printf("%llu\n", (unsigned long long)info.moves);
	return 0;
}
