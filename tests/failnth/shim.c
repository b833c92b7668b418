// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded before a program's own libraries: runs the program once for each number
 * that comes in, in a child in which the call of that number fails.  What it costs
 * to start a program is paid once, and none of it fails.
 *
 * Counted are those of the calls below that allocate anything in the kernel, and it
 * is their first allocation that fails: to a program a call fails or does not.  What
 * becomes of the others within device-mapper's calls is what the group "pool" tries,
 * and page faults between calls are tried again by the kernel itself.  Nor do those fail
 * that the C library makes behind a call of its own: for malloc(), of which a program
 * dies with a word, or when a stream is read or written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim.h"

#define NEVER	1000000000u	/* so many allocations no call makes */

static uint32_t *answer_left;
static uint32_t left;
static int file = -1;

static void set(uint32_t nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (syscall(SYS_pwrite64, file, text, len, 0L) != len)
		_exit(SHIM_BROKEN);
}

static void arm(void)
{
	if (file >= 0 && left)
		set(left == 1 ? 1 : NEVER);
}

/* Leaves errno as the call left it. */
static void disarm(void)
{
	char text[16] = "";
	int error = errno;

	if (file >= 0 && left) {
		if (syscall(SYS_pread64, file, text, sizeof(text) - 1, 0L) <= 0)
			_exit(SHIM_BROKEN);
		if (strtoul(text, NULL, 10) < (left == 1 ? 1 : NEVER))
			left--;
		set(0);
	}
	errno = error;
}

#define COUNTED(type, name, params, args)				\
type name params							\
{									\
	static type (*real) params;					\
	type r;								\
									\
	if (!real)							\
		real = (type (*) params)dlsym(RTLD_NEXT, #name);	\
	arm();								\
	r = real args;							\
	disarm();							\
	return r;							\
}

COUNTED(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n))
COUNTED(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n))
COUNTED(ssize_t, pread, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at))
COUNTED(ssize_t, pread64, (int fd, void *buf, size_t n, off64_t at), (fd, buf, n, at))
COUNTED(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at))
COUNTED(ssize_t, pwrite64, (int fd, const void *buf, size_t n, off64_t at), (fd, buf, n, at))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, fdatasync, (int fd), (fd))
COUNTED(int, stat, (const char *path, struct stat *st), (path, st))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(int, access, (const char *path, int how), (path, how))
COUNTED(ssize_t, readlink, (const char *path, char *buf, size_t n), (path, buf, n))
COUNTED(int, flock, (int fd, int how), (fd, how))
COUNTED(FILE *, fopen, (const char *path, const char *mode), (path, mode))
COUNTED(DIR *, opendir, (const char *path), (path))
COUNTED(int, mknod, (const char *path, mode_t mode, dev_t dev), (path, mode, dev))

/* The real ones read a third argument too, needed or not. */
#define COUNTED_OPEN(name)						\
int name(const char *path, int flags, ...)				\
{									\
	static int (*real)(const char *path, int flags, ...);		\
	unsigned int mode;						\
	va_list ap;							\
	int r;								\
									\
	va_start(ap, flags);						\
	mode = va_arg(ap, unsigned int);				\
	va_end(ap);							\
	if (!real)							\
		real = dlsym(RTLD_NEXT, #name);				\
	arm();								\
	r = real(path, flags, mode);					\
	disarm();							\
	return r;							\
}

COUNTED_OPEN(open)
COUNTED_OPEN(open64)

int ioctl(int fd, unsigned long what, ...)
{
	static int (*real)(int fd, unsigned long what, ...);
	va_list ap;
	void *arg;
	int r;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		real = dlsym(RTLD_NEXT, "ioctl");
	arm();
	r = real(fd, what, arg);
	disarm();
	return r;
}

__attribute__((destructor)) static void report(void)
{
	if (file >= 0)
		*answer_left = left;
}

__attribute__((constructor)) static void serve(void)
{
	struct shim_answer answer;
	uint32_t nth;
	pid_t pid;

	unsetenv("LD_PRELOAD");
	answer_left = mmap(NULL, sizeof(*answer_left), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (answer_left != MAP_FAILED && read(SHIM_IN, &nth, sizeof(nth)) == sizeof(nth)) {
		*answer_left = SHIM_UNKNOWN;
		pid = fork();
		if (!pid) {
			file = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/fail-nth",
				       O_RDWR | O_CLOEXEC);
			/* or pages of a fresh buffer are allocated where it is read into */
			if (file < 0 || mlockall(MCL_FUTURE))
				_exit(SHIM_BROKEN);
			left = nth;
			return;
		}
		if (pid < 0 || waitpid(pid, &answer.status, 0) != pid)
			break;
		answer.left = *answer_left;
		if (write(SHIM_OUT, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}
