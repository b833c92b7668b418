// SPDX-License-Identifier: GPL-2.0-only
/* Creating, resizing and deleting memory devices; reserved memory is at 512 MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failnth.h"

#define DIR	"/sys/kernel/config/mem2m/f"
#define NODE	"/sys/block/mem2m!f"
#define SIZE	"4M"

int say(const char *attr, const char *text)
{
	int fd = open(attr, O_WRONLY | O_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	err = errno;
	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

static bool there(void)
{
	return !access(NODE, F_OK);
}

static unsigned long long sectors(void)
{
	unsigned long long n = 0;
	FILE *f = fopen(NODE "/size", "re");

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static void absent(const struct op *op)
{
	(void)op;
	if (there() && say(DIR "/release", "1"))
		die("deleting the device");
	if (!access(DIR, F_OK) && rmdir(DIR))
		die(DIR);
}

static void empty(const struct op *op)
{
	absent(op);
	if (mkdir(DIR, 0755))
		die(DIR);
}

static void made(const struct op *op)
{
	empty(op);
	if (say(DIR "/create", op->arg))
		die("creating a device");
}

static int try_dir(const struct op *op)
{
	(void)op;
	return mkdir(DIR, 0755);
}

static void after_dir(const struct op *op, int error)
{
	(void)op;
	if (!access(DIR, F_OK) == !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
}

static int try_create(const struct op *op)
{
	return say(DIR "/create", op->arg);
}

/* What did not succeed holds nothing: it succeeds the next time. */
static void after_create(const struct op *op, int error)
{
	if (there() != !error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	if (error && say(DIR "/create", op->arg))
		wrong("and not the next time either: %s", strerror(errno));
}

static int try_resize(const struct op *op)
{
	(void)op;
	return say(DIR "/resize", "1M");
}

static void after_resize(const struct op *op, int error)
{
	unsigned long long n = sectors();

	(void)op;
	if ((n == 2048) != !error)
		wrong("%s, and it has %llu sectors", strerror(error), n);
	if (error && say(DIR "/resize", "1M"))
		wrong("and not the next time either: %s", strerror(errno));
}

static int try_delete(const struct op *op)
{
	(void)op;
	return say(DIR "/release", "1");
}

static void after_delete(const struct op *op, int error)
{
	(void)op;
	if (there() != !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "not " : "");
}

void memory_end(void)
{
	absent(NULL);
}

#define RESERVED "4M phys=512M force"

const struct op memory_ops[] = {
	{ "mem2m: a directory", absent, try_dir, NULL, after_dir },
	{ "mem2m: create", empty, try_create, NULL, after_create, SIZE },
	{ "mem2m: resize", made, try_resize, NULL, after_resize, SIZE },
	{ "mem2m: delete", made, try_delete, NULL, after_delete, SIZE },
	{ "mem2m: create of reserved memory", empty, try_create, NULL, after_create, RESERVED },
	{ "mem2m: delete of reserved memory", made, try_delete, NULL, after_delete, RESERVED },
	{ }
};
