// SPDX-License-Identifier: GPL-2.0-only
/* What a program asks of a nameless device's node for blocks without names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <evenkeel/nameless.h>

#include "device.h"

#define DIR	"/sys/kernel/config/nameless/f"
#define NODE	"/sys/block/nameless!f"
#define NUMBER	"/sys/class/misc/nameless!f:names/dev"
#define CHAR	"/tmp/failnth.names"
#define NR	4u
#define PAGE	4096u

static const struct device names_device = { .dir = DIR, .node = NODE };
static const struct op *made_for;
static int fd = -1;
static unsigned char *data;
/* What there is, and what is under way. */
static struct nl_name is[NR], next[NR];
static struct nl_names_io io;
static struct nl_name listed[2 * NR];
static struct nl_names_list list;

static void make_node(void)
{
	unsigned int major, minor;
	FILE *f = fopen(NUMBER, "re");

	if (!f || fscanf(f, "%u:%u", &major, &minor) != 2)
		die(NUMBER);
	fclose(f);
	unlink(CHAR);
	if (mknod(CHAR, S_IFCHR | 0600, makedev(major, minor)))
		die(CHAR);
}

static void names_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

/* The same device for all of an operation's allocations. */
static void closed(const struct op *op)
{
	names_close();
	if (made_for == op)
		return;
	device_made(op);
	make_node();
	made_for = op;
}

static int open_it(void)
{
	fd = open(CHAR, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -1 : 0;
}

static unsigned int valid(void)
{
	struct nl_names_info info;

	if (ioctl(fd, NL_IOC_INFO, &info))
		die("asking it");
	if (info.block_bytes != PAGE)
		die("its blocks");
	return info.valid;
}

/* Sets up a request about @nr names from @first on. */
static void about(struct nl_name *names, unsigned int first, unsigned int nr)
{
	io = (struct nl_names_io){
		.names = (uintptr_t)(names + first), .data = (uintptr_t)(data + first * PAGE), .nr = nr,
	};
}

static void fill(unsigned int version)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		memset(data + i * PAGE, version * 16 + i, PAGE);
}

static void opened(const struct op *op)
{
	closed(op);
	if (open_it())
		die(CHAR);
	if (valid()) {
		about(is, 0, NR);
		if (ioctl(fd, NL_IOC_FREE, &io))
			die("freeing");
	}
	memset(is, 0, sizeof(is));
	for (unsigned int i = 0; i < NR; i++)
		is[i].meta.word[0] = i + 1;
	memcpy(next, is, sizeof(next));
	fill(1);
}

static void written(const struct op *op)
{
	opened(op);
	about(is, 0, NR);
	if (ioctl(fd, NL_IOC_WRITE, &io))
		die("writing");
	fill(2);
}

/* Each that is there, by its name, says so. */
static void check_block(const struct nl_name *name, unsigned int i, unsigned int version)
{
	static unsigned char block[PAGE] __attribute__((aligned(4096)));
	struct nl_name copy = *name;
	struct nl_names_io one = { .names = (uintptr_t)&copy, .data = (uintptr_t)block, .nr = 1 };

	if (ioctl(fd, NL_IOC_READ, &one))
		wrong("block %u can't be read: %s", i, strerror(errno));
	else if (*block != version * 16 + i || memcmp(block, block + 1, PAGE - 1))
		wrong("block %u holds 0x%x", i, *block);
}

static void sound(void)
{
	if (say(DIR "/check", "1"))
		wrong("its check fails: %s", strerror(errno));
}

static int try_open(const struct op *op)
{
	(void)op;
	return open_it();
}

static void after_open(const struct op *op, int error)
{
	(void)op;
	if (error && open_it())
		wrong("nor does it open the next time: %s", strerror(errno));
	else if (valid())
		wrong("it holds something");
}

static int try_write(const struct op *op)
{
	(void)op;
	about(next, 0, NR);
	return ioctl(fd, NL_IOC_WRITE, &io);
}

/* So many as it says were done, and the rest can be. */
static void after_write(const struct op *op, int error)
{
	unsigned int i, done = io.done;

	(void)op;
	if (valid() != done || (!error && done != NR))
		wrong("%s, %u done, %u there", strerror(error), done, valid());
	if (error) {
		about(next, done, NR - done);
		if (ioctl(fd, NL_IOC_WRITE, &io))
			wrong("and not the next time either: %s", strerror(errno));
	}
	for (i = 0; i < NR; i++)
		check_block(&next[i], i, 1);
	memcpy(is, next, sizeof(is));
	sound();
}

static int try_overwrite(const struct op *op)
{
	(void)op;
	about(next, 0, NR);
	io.old = (uintptr_t)is;
	return ioctl(fd, NL_IOC_WRITE, &io);
}

static void after_overwrite(const struct op *op, int error)
{
	unsigned int i, done = io.done;

	(void)op;
	for (i = done; i < NR; i++)
		check_block(&is[i], i, 1);
	if (error) {
		about(next, done, NR - done);
		io.old = (uintptr_t)(is + done);
		if (ioctl(fd, NL_IOC_WRITE, &io))
			wrong("and not the next time either: %s", strerror(errno));
	}
	for (i = 0; i < NR; i++)
		check_block(&next[i], i, 2);
	memcpy(is, next, sizeof(is));
	if (valid() != NR)
		wrong("%u are there", valid());
	sound();
}

static int try_read(const struct op *op)
{
	(void)op;
	about(is, 0, NR);
	return ioctl(fd, NL_IOC_READ, &io);
}

static void after_read(const struct op *op, int error)
{
	unsigned int i;

	if (error && try_read(op))
		wrong("and not the next time either: %s", strerror(errno));
	for (i = 0; i < NR; i++)
		if (data[i * PAGE] != 16 + i)
			wrong("block %u reads as 0x%x", i, data[i * PAGE]);
}

static int try_free(const struct op *op)
{
	(void)op;
	about(is, 0, NR);
	return ioctl(fd, NL_IOC_FREE, &io);
}

static void after_free(const struct op *op, int error)
{
	unsigned int i, done = io.done;

	(void)op;
	if (valid() != NR - done || (!error && done != NR))
		wrong("%s, %u done, %u there", strerror(error), done, valid());
	for (i = done; i < NR; i++)
		check_block(&is[i], i, 1);
	if (error) {
		about(is, done, NR - done);
		if (ioctl(fd, NL_IOC_FREE, &io) || valid())
			wrong("and not the next time either: %s", strerror(errno));
	}
	sound();
}

static int try_list(const struct op *op)
{
	(void)op;
	list = (struct nl_names_list){ .names = (uintptr_t)listed, .nr = 2 * NR };
	return ioctl(fd, NL_IOC_LIST, &list);
}

static void after_list(const struct op *op, int error)
{
	if (error && try_list(op))
		wrong("and not the next time either: %s", strerror(errno));
	else if (list.nr != NR)
		wrong("it lists %u", list.nr);
}

/* One that waits no more, and is passed over. */
static int try_ack(const struct op *op)
{
	static struct nl_move move;
	struct nl_names_acks acks = { .moves = (uintptr_t)&move, .nr = 1 };

	(void)op;
	return ioctl(fd, NL_IOC_ACK, &acks);
}

static void after_ack(const struct op *op, int error)
{
	if (error && try_ack(op))
		wrong("and not the next time either: %s", strerror(errno));
	sound();
}

static int try_info(const struct op *op)
{
	struct nl_names_info info;

	(void)op;
	return ioctl(fd, NL_IOC_INFO, &info);
}

static void after_info(const struct op *op, int error)
{
	(void)op;
	(void)error;
	if (valid() != NR)
		wrong("%u are there", valid());
}

void names_begin(void)
{
	data = aligned_alloc(PAGE, NR * PAGE);
	if (!data)
		die("blocks");
	memset(data, 0, NR * PAGE);
}

void names_end(void)
{
	names_close();
	device_remove(&names_device);
	unlink(CHAR);
}

#define NAMES	.arg = "1M ftl=nameless packages=2 pages=16 t_program=0 t_read=0 t_erase=0", .device = &names_device

const struct op names_ops[] = {
	{ "names: open", closed, try_open, NULL, after_open, NAMES },
	{ "names: write", opened, try_write, NULL, after_write, NAMES },
	{ "names: overwrite", written, try_overwrite, NULL, after_overwrite, NAMES },
	{ "names: read", written, try_read, NULL, after_read, NAMES },
	{ "names: free", written, try_free, NULL, after_free, NAMES },
	{ "names: list", written, try_list, NULL, after_list, NAMES },
	{ "names: acknowledge", written, try_ack, NULL, after_ack, NAMES },
	{ "names: info", written, try_info, NULL, after_info, NAMES, .allocates_nothing = true },
	{ }
};
