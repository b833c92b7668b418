// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file system that has aged: it was full of small files, every second of which went, and two
 * large ones found what was left.
 *
 *	aged make DIR	in an empty file system
 *	aged check DIR	each of them holds what was written to it
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL	65536u
#define NAMES	600u		/* more than have room */
#define PIECES	32u		/* of a large one, as long as a small one */
#define LARGE	1000000u	/* their numbers begin here */

static uint64_t bytes[SMALL / 8], is[SMALL / 8];

static int fail(const char *what, const char *name)
{
	printf("# %s %s: %s\n", what, name, strerrorname_np(errno));
	return 1;
}

static void fill(uint64_t number)
{
	unsigned int i;

	for (i = 0; i < SMALL / 8; i++)
		bytes[i] = (number * (SMALL / 8) + i) * 0x9e3779b97f4a7c15ull;
}

/* Bytes written, or -1. */
static ssize_t add(const char *name, uint64_t number)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0)
		return -1;
	fill(number);
	n = write(fd, bytes, SMALL);
	close(fd);
	return n;
}

static const char *small(unsigned int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "d/f%u", i);
	return name;
}

static int make(void)
{
	unsigned int nr, i, j;

	if (mkdir("d", 0755))
		return fail("mkdir", "d");
	for (i = 0; i < NAMES; i++)	/* a directory stays where it is: in one piece */
		if (close(open(small(i), O_CREAT | O_EXCL, 0644)))
			return fail("create", small(i));
	for (nr = 0; nr < NAMES && add(small(nr), nr) == SMALL; nr++)
		;
	for (i = 0; i < NAMES; i++)
		if ((i >= nr || i % 2 == 0) && unlink(small(i)))
			return fail("unlink", small(i));
	for (i = 0; i < PIECES; i++)
		for (j = 0; j < 2; j++)
			if (add(j ? "y" : "x", LARGE + j * LARGE + i) != SMALL)
				return fail("append", j ? "y" : "x");
	printf("# %u small files, every second of which is gone\n", nr);
	return 0;
}

static int check(const char *name, uint64_t number, unsigned int pieces)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	unsigned int i;

	if (fd < 0 || fstat(fd, &st))
		return fail("open", name);
	for (i = 0; i < pieces; i++) {
		fill(number + i);
		if (st.st_size != (off_t)pieces * SMALL || read(fd, is, SMALL) != SMALL ||
		    memcmp(is, bytes, SMALL)) {
			printf("# %s: piece %u differs\n", name, i);
			return 1;
		}
	}
	close(fd);
	return 0;
}

static int check_all(void)
{
	unsigned int i, nr = 0;

	for (i = 1; !access(small(i), F_OK); i += 2, nr++)
		if (check(small(i), i, 1))
			return 1;
	return nr < 50 || check("x", LARGE, PIECES) || check("y", 2 * LARGE, PIECES);
}

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "make") && strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: aged make|check DIR\n");
		return 2;
	}
	if (chdir(argv[2]))
		return fail("chdir", argv[2]);
	return strcmp(argv[1], "make") ? check_all() : make();
}
