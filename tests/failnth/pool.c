// SPDX-License-Identifier: GPL-2.0-only
/* What device-mapper and its users ask of the hybrid target. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "dm.h"
#include "failnth.h"

#define OTHER	"stripe 2 cooldown_ms 77"

static int fd = -1;

static void no_fd(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

void pool_begin(void)
{
	pool_make();
	pool_check();
}

void pool_end(void)
{
	no_fd();
	if (dm_unmake(POOL, 1) && errno != ENXIO)
		die("removing the pool");
}

/* --- constructor, first activation --- */

/*
 * The constructor writes nothing: the disks stay as they are.  The first table of a device makes its
 * disk, too, in a thousand allocations that are none of ours (and the kernel takes a name it got no
 * memory for as invalid), so that is another table.
 */
static void new_device(const struct op *op)
{
	static const struct op *last;

	pool_be(op->shape);
	if (last != op)
		pool_blank();
	else if (dm_unmake(POOL, 1))
		die("removing the device");
	last = op;
	if (dm_new(POOL, pool_node, sizeof(pool_node)) || dm_load(POOL, "0 8 error") ||
	    dm_clear(POOL))
		die("a device");
}

static int load(const struct op *op)
{
	return dm_load(POOL, pool_table(op->arg));
}

/* What is half made shows the next time: the pool is in use then, by a device that is gone. */
static void after_first_load(const struct op *op, int error)
{
	(void)op;
	if (error && error != ENOMEM)
		wrong("%s", strerror(error));
}

static void new_table(const struct op *op)
{
	pool_be(op->shape);
	pool_blank();
	if (dm_new(POOL, pool_node, sizeof(pool_node)))
		die("a device");
	if (load(op))
		die("loading a table");
}

static int resume(const struct op *op)
{
	(void)op;
	return dm_resume(POOL);
}

static void works(const struct op *op)
{
	int error;

	pool_check();
	fd = disk_open();
	error = op->shape == POOL_READ_ONLY ? 0 : disk_write(fd, 3, 2);
	if (error)
		wrong("cannot be written: %s", strerror(error));
	error = disk_read(fd, 3, 2);
	if (error)
		wrong("cannot be read: %s", strerror(error));
	no_fd();
}

static void after_resume(const struct op *op, int error)
{
	if (error && resume(op)) {
		/* device-mapper goes back to no table, or the old one, when it could not suspend */
		wrong("%s, and then: %s", strerror(error), strerror(errno));
		pool_make();
		return;
	}
	works(op);
}

/* --- of a pool that is there --- */

static void live(const struct op *op)
{
	pool_be(op->shape);
	if (!pool_there())
		pool_make();
}

static void sound(const struct op *op, int error)
{
	(void)op;
	(void)error;
	pool_check();
}

static void inactive(const struct op *op)
{
	live(op);
	if (dm_unmake(POOL, 1) || dm_new(POOL, pool_node, sizeof(pool_node)) ||
	    load(op))
		die("a pool by its labels");
}

static void after_reload(const struct op *op, int error)
{
	pool_check();
	if (error && load(op))
		wrong("%s, and then: %s", strerror(error), strerror(errno));
	if (dm_clear(POOL))
		wrong("clear: %s", strerror(errno));
}

static void loaded(const struct op *op)
{
	live(op);
	if (load(op))
		die("loading a table");
}

static int do_suspend(const struct op *op)
{
	return dm_suspend(POOL, op->arg ? DM_NOFLUSH_FLAG : 0);
}

static void after_suspend(const struct op *op, int error)
{
	(void)error;
	if (resume(op))
		wrong("resume: %s", strerror(errno));
	pool_check();
}

static void dirty(const struct op *op)
{
	live(op);
	fd = disk_open();
	if (disk_write(fd, 100, 3))
		die("writing");
	no_fd();
}

static int do_remove(const struct op *op)
{
	(void)op;
	return dm_unmake(POOL, 0);
}

static void after_remove(const struct op *op, int error)
{
	if (error && do_remove(op))
		wrong("%s, and then: %s", strerror(error), strerror(errno));
	if (dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool again");
	pool_check();
}

static int do_message(const struct op *op)
{
	return dm_message(POOL, op->arg);
}

static unsigned long number(const char *line, const char *key)
{
	char value[64];

	if (hybrid_field(line, key, value, sizeof(value)))
		die("no %s in the status", key);
	return strtoul(value, NULL, 10);
}

/* A move that was asked for goes on when the message has been answered. */
static void until_nothing_moves(void)
{
	char line[DM_LINE_ROOM];

	for (int i = 0; i < 5000; i++) {
		if (dm_line(POOL, 0, line, sizeof(line)))
			die("status");
		if (number(line, "started") == number(line, "completed") + number(line, "failed"))
			return;
		usleep(2000);
	}
	die("a migration does not end");
}

/* The extent that is to move is at its first place, and nothing else moves. */
static void to_move(const struct op *op)
{
	char at[64] = "";

	live(op);
	if (dm_message(POOL, "policy fill"))
		die("policy");
	if (dm_ask(POOL, "entry 3", at, sizeof(at)))
		die("entry");
	if (!strncmp(at, "-", 1)) {
		fd = disk_open();
		if (disk_write(fd, 3 * EXTENT / BLOCK, 1) || dm_message(POOL, "commit"))
			die("writing");
		no_fd();
	}
	for (int i = 0; i < 1000; i++) {
		until_nothing_moves();
		if (dm_ask(POOL, "entry 3", at, sizeof(at)))
			die("entry");
		if (!strncmp(at, "0 ", 2))
			return;
		dm_message(POOL, "move 3 0");
	}
	die("extent 3 stays at %s", at);
}

static void after_move(const struct op *op, int error)
{
	if (error && error != ENOMEM)
		wrong("%s", strerror(error));
	sound(op, error);
}

static int look(const struct op *op)
{
	char line[DM_LINE_ROOM];

	return dm_line(POOL, op->arg ? DM_STATUS_TABLE_FLAG : 0, line, sizeof(line));
}

/* --- I/O, as far as the caller's own thread goes --- */

static void opened(const struct op *op)
{
	live(op);
	if (fd < 0)
		fd = disk_open();
}

static void unmapped(const struct op *op)
{
	opened(op);
	if (disk_discard(fd, 6))
		die("discard");
}

static int error_is(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static int do_write(const struct op *op)
{
	(void)op;
	return error_is(disk_write(fd, 6 * EXTENT / BLOCK, 2));
}

static int do_read(const struct op *op)
{
	(void)op;
	return error_is(disk_read(fd, 2, 8));
}

static int do_discard(const struct op *op)
{
	(void)op;
	return error_is(disk_discard(fd, 7));
}

static int do_flush(const struct op *op)
{
	(void)op;
	return fdatasync(fd);
}

/* What device and file system layers can't get memory for ends so; EIO is the target's. */
static void after_io(const struct op *op, int error)
{
	(void)op;
	if (error && error != ENOMEM && error != EAGAIN)
		wrong("%s", strerror(error));
	pool_check();
}

const struct op pool_ops[] = {
	{ "table load of a new pool", new_device, load, NULL, after_first_load,
	  "wardrop 2 alpha 2" },
	{ "first resume, which formats", new_table, resume, NULL, after_resume, "fill 0" },
	{ "table load beside the live table", live, load, NULL, after_reload, OTHER },
	{ "resume with another table", loaded, resume, NULL, after_resume, OTHER },
	{ "resume of a pool by its labels", inactive, resume, NULL, after_resume, "fill 0" },
	{ "table load of a new pool, metadata mirrored", new_device, load, NULL, after_first_load,
	  "fill 0", .shape = POOL_MIRRORED },
	{ "first resume, metadata mirrored", new_table, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_MIRRORED },
	{ "resume by labels, metadata mirrored", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_MIRRORED },
	{ "message checkpoint, metadata mirrored", dirty, do_message, NULL, sound, "checkpoint",
	  .shape = POOL_MIRRORED },
	{ "table load, devices missing", live, load, NULL, after_reload, OTHER,
	  .shape = POOL_LESS },
	{ "resume by labels, devices missing", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_LESS },
	{ "remove, devices missing", dirty, do_remove, NULL, after_remove, .shape = POOL_LESS },
	{ "table load, read-only", live, load, NULL, after_reload, OTHER, .shape = POOL_READ_ONLY },
	{ "resume by labels, read-only", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_READ_ONLY },
	{ "suspend", live, do_suspend, NULL, after_suspend, .allocates_nothing = true },
	{ "suspend without a flush", live, do_suspend, NULL, after_suspend, "noflush",
	  .allocates_nothing = true },
	{ "remove", dirty, do_remove, NULL, after_remove },
	{ "message set", live, do_message, NULL, sound, "set period_ms 500" },
	{ "message set candidates", live, do_message, NULL, sound, "set candidates 64" },
	{ "message policy static", live, do_message, NULL, sound, "policy static shares 70,30" },
	{ "message policy wardrop", live, do_message, NULL, sound, "policy wardrop alpha 3" },
	{ "message policy concentrate", live, do_message, NULL, sound,
	  "policy concentrate sublun 64 evict 3" },
	{ "message policy stripe", live, do_message, NULL, sound, "policy stripe" },
	{ "message policy fill", live, do_message, NULL, sound, "policy fill" },
	{ "message commit", dirty, do_message, NULL, sound, "commit" },
	{ "message checkpoint", dirty, do_message, NULL, sound, "checkpoint" },
	{ "message move", to_move, do_message, NULL, after_move, "move 3 1" },
	{ "message entry", live, do_message, NULL, sound, "entry 1" },
	{ "message samples", live, do_message, NULL, sound, "samples" },
	{ "status", live, look, NULL, sound },
	{ "table", live, look, NULL, sound, "table" },
	{ "first write", unmapped, do_write, NULL, after_io },
	{ "write", opened, do_write, NULL, after_io },
	{ "read", opened, do_read, NULL, after_io },
	{ "discard", opened, do_discard, NULL, after_io },
	{ "flush", opened, do_flush, NULL, after_io },
	{ }
};
