// SPDX-License-Identifier: GPL-2.0-only
/* Direct I/O on the disks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emudisk.h"

#define SECTOR	512

char *device(const char *name)
{
	static _Thread_local char path[64];

	snprintf(path, sizeof(path), "/dev/emudisk/%s", name);
	return path;
}

int disk_open(const char *name, int flags)
{
	return open(device(name), flags | O_DIRECT | O_CLOEXEC);
}

void *buffer(size_t len)
{
	void *p = aligned_alloc(4096, (len + 4095) & ~4095ul);

	if (!p)
		abort();
	return p;
}

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* 0 or an errno */
static int write_at(const char *name, int flags, int byte, uint64_t at, uint64_t kib)
{
	size_t len = kib * KIB;
	char *data = buffer(len);
	int fd = disk_open(name, O_WRONLY | flags), error = 0;
	ssize_t n = -1;

	memset(data, byte, len);
	if (fd >= 0)
		n = pwrite(fd, data, len, at * KIB);
	if (n != (ssize_t)len)
		error = n < 0 ? errno : EIO;
	if (fd >= 0)
		close(fd);
	free(data);
	return error;
}

static int read_at(const char *name, char *data, uint64_t at, uint64_t kib)
{
	int fd = disk_open(name, O_RDONLY), error = 0;
	ssize_t n = -1;

	if (fd >= 0)
		n = pread(fd, data, kib * KIB, at * KIB);
	if (n != (ssize_t)(kib * KIB))
		error = n < 0 ? errno : EIO;
	if (fd >= 0)
		close(fd);
	return error;
}

static bool is_eio(const char *what, const char *name, int error)
{
	return error == EIO || wrong("%s %s: %s", what, name, error ? strerror(error) : "succeeded");
}

bool put(const char *name, int byte, uint64_t at, uint64_t kib)
{
	int error = write_at(name, 0, byte, at, kib);

	return !error || wrong("put %s %d at %lluK: %s", name, byte, (unsigned long long)at, strerror(error));
}

/* O_DSYNC sends a FUA write and a flush; without the latter it is FUA alone. */
bool put_fua(const char *name, int byte, uint64_t at, uint64_t kib)
{
	return emuctl("set %s fail=flush", name) &&
		is_eio("flushing", name, write_at(name, O_DSYNC, byte, at, kib)) &&
		emuctl("set %s fail=none", name);
}

int filled(const char *name, uint64_t at, uint64_t kib)
{
	char *data = buffer(kib * KIB);
	int error = read_at(name, data, at, kib), byte;

	byte = error ? -error - 1 : (unsigned char)*data;
	if (!error && memcmp(data, data + 1, kib * KIB - 1))
		byte = MIXED;
	free(data);
	return byte;
}

static void tell_sectors(const char *data, int byte, size_t len)
{
	unsigned int told = 0;

	for (size_t i = 0; i < len && told < 8; i += SECTOR) {
		if ((unsigned char)data[i] == byte && !memcmp(data + i, data + i + 1, SECTOR - 1))
			continue;
		wrong("  + %zu: begins with %d", i, (unsigned char)data[i]);
		told++;
	}
}

bool holds(const char *name, int byte, uint64_t at, uint64_t kib)
{
	char *data = buffer(kib * KIB);
	int error = read_at(name, data, at, kib);
	bool good = true;

	if (error) {
		good = wrong("reading %s at %lluK: %s", name, (unsigned long long)at, strerror(error));
	} else if ((unsigned char)*data != byte || memcmp(data, data + 1, kib * KIB - 1)) {
		good = wrong("%s: not %d at %lluK", name, byte, (unsigned long long)at);
		tell_sectors(data, byte, kib * KIB);
	}
	free(data);
	return good;
}

static int flush_error(const char *name)
{
	int fd = disk_open(name, O_RDONLY), error = fd < 0 ? errno : 0;

	if (!error && fsync(fd))
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

bool flush(const char *name)
{
	int error = flush_error(name);

	return !error || wrong("flush %s: %s", name, strerror(error));
}

bool discard(const char *name, uint64_t at, uint64_t kib)
{
	uint64_t range[2] = { at * KIB, kib * KIB };
	int fd = disk_open(name, O_RDWR | O_EXCL);
	bool good = fd >= 0 && !ioctl(fd, BLKDISCARD, range);

	if (!good)
		wrong("discard %s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

bool discard_all(const char *name)
{
	uint64_t bytes = 0;
	int fd = disk_open(name, O_RDONLY);

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes))
		wrong("size of %s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return bytes && discard(name, 0, bytes / KIB);
}

bool unreadable(const char *name, uint64_t at, uint64_t kib)
{
	char *data = buffer(kib * KIB);
	int error = read_at(name, data, at, kib);

	free(data);
	return is_eio("reading", name, error);
}

bool unwritable(const char *name, uint64_t at, uint64_t kib)
{
	return is_eio("writing", name, write_at(name, 0, 255, at, kib));
}

bool unflushable(const char *name)
{
	return is_eio("flushing", name, flush_error(name));
}

struct writer {
	pthread_t thread;
	const char *name;
	int byte, error;
	uint64_t at, kib;
	atomic_bool over;
};

static void *write_beside(void *arg)
{
	struct writer *w = arg;

	w->error = write_at(w->name, 0, w->byte, w->at, w->kib);
	w->over = true;
	return NULL;
}

struct writer *put_beside(const char *name, int byte, uint64_t at, uint64_t kib)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->name = name;
	w->byte = byte;
	w->at = at;
	w->kib = kib;
	if (pthread_create(&w->thread, NULL, write_beside, w))
		abort();
	return w;
}

bool is_over(struct writer *w)
{
	return w->over;
}

int outcome(struct writer *w)
{
	int error;

	pthread_join(w->thread, NULL);
	error = w->error;
	free(w);
	return error;
}
