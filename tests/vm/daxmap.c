// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that is mapped from persistent memory itself.
 *
 *   daxmap write FILE MIB SEED	 make it, map it with MAP_SYNC, fill it through the mapping, msync
 *   daxmap verify FILE MIB SEED	 it holds that, read and mapped
 *   daxmap out FILE MIB DEVICE	 write its mapping to a device by direct I/O: the pages have to be real
 *   daxmap poison FILE MIB SEED	 have the kernel believe that the page in the middle is bad, after a store to it: who
 *				 has it mapped is told (SIGBUS), finds it gone, can't read it, and has what is before
 *   daxmap watch FILE MIB SEED	 say that it is mapped, read it over and over till it is taken away (SIGBUS), say so
 *
 * MAP_SYNC is refused for what is not mapped from memory that persists.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096u

static int fail(const char *what)
{
	printf("# %s: %s\n", what, strerrorname_np(errno));
	return 1;
}

static void fill(uint64_t *page, uint64_t nr, uint64_t seed)
{
	unsigned int i;

	for (i = 0; i < PAGE / 8; i++)
		page[i] = (nr * (PAGE / 8) + i + seed * 0x100000001ULL) * 0x9e3779b97f4a7c15ULL;
}

static int verify(int fd, const uint8_t *map, uint64_t pages, uint64_t seed)
{
	static uint64_t want[PAGE / 8], got[PAGE / 8];
	uint64_t i;

	for (i = 0; i < pages; i++) {
		fill(want, i, seed);
		if (pread(fd, got, PAGE, i * PAGE) != PAGE)
			return fail("read");
		if (memcmp(got, want, PAGE) || memcmp(map + i * PAGE, want, PAGE)) {
			printf("# page %llu differs\n", (unsigned long long)i);
			return 1;
		}
	}
	return 0;
}

static int out(const char *device, const uint8_t *map, size_t len)
{
	int fd = open(device, O_WRONLY | O_DIRECT);
	ssize_t n;

	if (fd < 0)
		return fail(device);
	n = write(fd, map, len);
	if (n != (ssize_t)len)
		return fail("direct write from the mapping");
	return fsync(fd) ? fail("fsync") : 0;
}

static void taken(int sig)
{
	static const char text[] = "taken away\n";

	(void)sig;
	_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) < 0);
}

static int watch(const volatile uint8_t *map, size_t len)
{
	uint8_t sum = 0;
	size_t at;

	if (signal(SIGBUS, taken) == SIG_ERR)
		return fail("signal");
	puts("mapped");
	fflush(stdout);
	for (;;)
		for (at = 0; at < len; at += PAGE)
			sum += map[at];
	return sum;
}

static sigjmp_buf back;

static void told(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static int is_there(const char *what)
{
	printf("# %s\n", what);
	return 1;
}

static int poison(int fd, uint8_t *map, uint64_t pages, uint64_t seed)
{
	static uint64_t page[PAGE / 8], got[PAGE / 8];
	uint64_t bad = pages / 2;
	volatile uint8_t *at = map + bad * PAGE;

	if (signal(SIGBUS, told) == SIG_ERR)
		return fail("signal");
	fill(page, bad, seed);
	memcpy(map + bad * PAGE, page, PAGE);	/* of a shared page: this file's own from now on */
	if (!sigsetjmp(back, 1)) {
		if (madvise(map + bad * PAGE, PAGE, MADV_HWPOISON))
			return fail("madvise");
		return is_there("nobody was told");
	}
	if (!sigsetjmp(back, 1)) {
		(void)*at;
		return is_there("it can still be loaded from");
	}
	if (pread(fd, page, PAGE, bad * PAGE) != -1 || errno != EIO)
		return is_there("it can still be read");
	/* Not by a load: 6.1 complains of a page of two files that both have in the page cache. */
	fill(page, bad - 1, seed);
	if (pread(fd, got, PAGE, (bad - 1) * PAGE) != PAGE || memcmp(got, page, PAGE))
		return is_there("what is before it is lost");
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t pages, i, seed;
	size_t len;
	void *map;
	int fd;

	if (argc != 5)
		return 2;
	len = strtoull(argv[3], NULL, 0) << 20;
	pages = len / PAGE;
	seed = strtoull(argv[4], NULL, 0);
	fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return fail(argv[2]);
	if (!strcmp(argv[1], "write") && posix_fallocate(fd, 0, len))
		return fail("fallocate");
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	if (map == MAP_FAILED)
		return fail("mmap");
	if (!strcmp(argv[1], "verify"))
		return verify(fd, map, pages, seed);
	if (!strcmp(argv[1], "out"))
		return out(argv[4], map, len);
	if (!strcmp(argv[1], "poison"))
		return poison(fd, map, pages, seed);
	if (!strcmp(argv[1], "watch"))
		return watch(map, len);
	for (i = 0; i < pages; i++)
		fill(map + i * PAGE, i, seed);
	return msync(map, len, MS_SYNC) ? fail("msync") : verify(fd, map, pages, seed);
}
