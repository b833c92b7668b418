// SPDX-License-Identifier: GPL-2.0-only
/* Making and deleting emulated SSDs, writing to them, power that comes back, files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "failnth.h"

#define DIR	"/sys/kernel/config/nameless/f"
#define NODE	"/sys/block/nameless!f"
#define DISK	"/tmp/failnth.nameless"	/* devtmpfs may have failed to remove the last one's node */
#define IMAGE	"/tmp/failnth.img"
#define SHAPE	"1M packages=2 pages=16 t_program=0 t_read=0 t_erase=0"
#define PAGE	4096

static char *page;

static bool there(void)
{
	return !access(NODE, F_OK);
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

static void make_node(void)
{
	unsigned int major, minor;
	FILE *f = fopen(NODE "/dev", "re");

	if (!f || fscanf(f, "%u:%u", &major, &minor) != 2)
		die(NODE "/dev");
	fclose(f);
	unlink(DISK);
	if (mknod(DISK, S_IFBLK | 0600, makedev(major, minor)))
		die(DISK);
}

/* A page of the disk, directly: its first byte, or -1. */
static int look(void)
{
	ssize_t n;
	int fd;

	make_node();
	fd = open(DISK, O_RDONLY | O_DIRECT | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, page, PAGE, 0);
	close(fd);
	return n == PAGE ? (unsigned char)*page : -1;
}

static int fill(int byte)
{
	int fd = open(DISK, O_WRONLY | O_DIRECT | O_CLOEXEC), err;
	ssize_t n = -1;

	memset(page, byte, PAGE);
	if (fd >= 0)
		n = pwrite(fd, page, PAGE, 0);
	err = errno;
	close(fd);
	errno = err;
	return n == PAGE ? 0 : -1;
}

static void made(const struct op *op)
{
	empty(op);
	if (say(DIR "/create", op->arg))
		die("creating a device");
	make_node();
	if (fill(1))
		die("writing to it");
}

static void saved(const struct op *op)
{
	made(op);
	if (say(DIR "/save", IMAGE))
		die("saving it");
	empty(op);
}

static void sound(void)
{
	if (say(DIR "/check", "1"))
		wrong("its check fails: %s", strerror(errno));
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
	sound();
}

static int try_write(const struct op *op)
{
	(void)op;
	return fill(2);
}

static void after_write(const struct op *op, int error)
{
	int byte = look();

	(void)op;
	if (byte != 2 && !(error && byte == 1))
		wrong("%s, and there is %d", strerror(error), byte);
	sound();
	if (error && fill(2))
		wrong("and not the next time either: %s", strerror(errno));
}

static int try_cut(const struct op *op)
{
	(void)op;
	return say(DIR "/cut", " ");
}

static void after_cut(const struct op *op, int error)
{
	(void)op;
	if (error && say(DIR "/power", "on"))
		wrong("nor is its power back the next time: %s", strerror(errno));
	if (look() != 1)
		wrong("it lost what it had");
	sound();
}

static int try_save(const struct op *op)
{
	(void)op;
	return say(DIR "/save", IMAGE);
}

static void after_save(const struct op *op, int error)
{
	after_cut(op, error);
	if (error && say(DIR "/save", IMAGE))
		wrong("and not the next time either: %s", strerror(errno));
}

static int try_load(const struct op *op)
{
	(void)op;
	return say(DIR "/load", IMAGE);
}

static void after_load(const struct op *op, int error)
{
	(void)op;
	if (there() != !error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	if (error && say(DIR "/load", IMAGE))
		wrong("and not the next time either: %s", strerror(errno));
	if (look() != 1)
		wrong("it lost what it had");
	sound();
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

void nameless_begin(void)
{
	page = aligned_alloc(PAGE, PAGE);
	if (!page)
		die("a page");
}

void nameless_end(void)
{
	absent(NULL);
	unlink(IMAGE);
	unlink(DISK);
}

const struct op nameless_ops[] = {
	{ "nameless: create", empty, try_create, NULL, after_create, SHAPE },
	{ "nameless: write", made, try_write, NULL, after_write, SHAPE },
	{ "nameless: power comes back", made, try_cut, NULL, after_cut, SHAPE },
	{ "nameless: save", made, try_save, NULL, after_save, SHAPE },
	{ "nameless: load", saved, try_load, NULL, after_load, SHAPE },
	{ "nameless: delete", made, try_delete, NULL, after_delete, SHAPE },
	{ }
};
