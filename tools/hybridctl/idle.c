// SPDX-License-Identifier: GPL-2.0-only
/* See idle.h. */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "idle.h"

#define READS	16
#define SIZE	4096

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double shortest(int fd, char *buffer, uint64_t blocks)
{
	double least = 0, took;
	unsigned int i;

	for (i = 0; i < READS; i++) {
		uint64_t at = ((uint64_t)random() << 31 | (uint64_t)random()) % blocks;

		took = now_ns();
		if (pread(fd, buffer, SIZE, (off_t)(at * SIZE)) != SIZE)
			return 0;
		took = now_ns() - took;
		if (!i || took < least)
			least = took;
	}
	return least;
}

double idle_probe(const char *path)
{
	uint64_t bytes = 0;
	void *buffer = NULL;
	double ns = 0;
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (!ioctl(fd, BLKGETSIZE64, &bytes) && bytes >= SIZE &&
	    !posix_memalign(&buffer, SIZE, SIZE))
		ns = shortest(fd, buffer, bytes / SIZE);
	free(buffer);
	close(fd);
	return ns;
}
