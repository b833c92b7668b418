// SPDX-License-Identifier: GPL-2.0-only
/*
 * issue DEVICE FILE: do to DEVICE what FILE says, one after the other, each at its time.  FILE is
 * of struct request; see tests/bench/atsmf.py.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LARGEST (1u << 20)

struct request {
	uint64_t ns;		/* since the beginning */
	uint64_t offset;
	uint32_t length;
	uint32_t write;
};

static void wait_until(const struct timespec *begin, uint64_t ns)
{
	struct timespec at = *begin;

	ns += at.tv_nsec;
	at.tv_sec += ns / 1000000000;
	at.tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void do_one(int fd, void *buf, const struct request *r)
{
	ssize_t n;

	if (r->length > LARGEST)
		errx(1, "%u bytes", r->length);
	if (r->write)
		n = pwrite(fd, buf, r->length, r->offset);
	else
		n = pread(fd, buf, r->length, r->offset);
	if (n != r->length)
		err(1, "%u bytes at %llu", r->length, (unsigned long long)r->offset);
}

int main(int argc, char **argv)
{
	struct timespec begin;
	struct request r;
	FILE *f;
	void *buf;
	int fd;

	if (argc != 3)
		errx(2, "usage: issue DEVICE FILE");
	f = fopen(argv[2], "r");
	if (!f)
		err(1, "%s", argv[2]);
	fd = open(argv[1], O_RDWR | O_DIRECT);
	if (fd < 0)
		err(1, "%s", argv[1]);
	buf = aligned_alloc(4096, LARGEST);
	if (!buf)
		err(1, "memory");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (fread(&r, sizeof(r), 1, f) == 1) {
		wait_until(&begin, r.ns);
		do_one(fd, buf, &r);
	}
	return ferror(f) || close(fd);
}
