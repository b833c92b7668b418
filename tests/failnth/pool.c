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
#include "pool.h"

#define OTHER	"stripe 2 cooldown_ms 77"

#define MOST_EXTENTS	80u	/* fewer than both members have */

static int fd = -1;
static unsigned int grown;

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

void pool_live(const struct op *op)
{
	pool_be(op->shape);
	if (!pool_there())
		pool_make();
}

void pool_sound(const struct op *op, int error)
{
	(void)op;
	(void)error;
	pool_check();
}

static void inactive(const struct op *op)
{
	pool_live(op);
	if (dm_unmake(POOL, 1) || dm_new(POOL, pool_node, sizeof(pool_node)) ||
	    load(op))
		die("a pool by its labels");
}

static void after_reload(const struct op *op, int error)
{
	pool_check();
	if (error && op->run(op))
		wrong("%s, and then: %s", strerror(error), strerror(errno));
	if (dm_clear(POOL))
		wrong("clear: %s", strerror(errno));
}

/* One extent more than the pool has, or will have had after the turn before. */
static unsigned int longer(void)
{
	char value[64];

	pool_field("logical", value, sizeof(value));
	return strtoul(value, NULL, 10) + 1;
}

static int load_longer(const struct op *op)
{
	return dm_load(POOL, pool_table_of(longer(), op->arg));
}

static void loaded_longer(const struct op *op)
{
	pool_live(op);
	if (longer() > MOST_EXTENTS) {
		pool_make();
		pool_check();
	}
	if (load_longer(op))
		die("loading a longer table");
	grown = longer();
}

/* It does not shrink again: what comes next has another one. */
static void after_growth(const struct op *op, int error)
{
	after_resume(op, error);
	if (!error && longer() != grown + 1)
		wrong("it has %u extents, not %u", longer() - 1, grown);
}

static void loaded(const struct op *op)
{
	pool_live(op);
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

void pool_dirty(const struct op *op)
{
	pool_live(op);
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

static int look(const struct op *op)
{
	char line[DM_LINE_ROOM];

	return dm_line(POOL, op->arg ? DM_STATUS_TABLE_FLAG : 0, line, sizeof(line));
}

/* --- I/O, as far as the caller's own thread goes --- */

static void opened(const struct op *op)
{
	pool_live(op);
	fd = disk_open();
}

/* It keeps extents, but not yet the one that is to be read. */
static void cached(const struct op *op)
{
	char answer[256] = "";

	opened(op);
	if (dm_message(POOL, "set cache_extents 0") || dm_message(POOL, "set cache_extents 8"))
		die("a cache");
	for (int i = 0; strncmp(answer, "extents 0 ", 10) == 0 || !*answer; i++) {
		if (i == 1000 || disk_read(fd, 4 * EXTENT / BLOCK, 1) ||
		    dm_ask(POOL, "cache", answer, sizeof(answer)))
			die("a cache: %s", answer);
		usleep(1000);
	}
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
	no_fd();
	if (error && error != ENOMEM && error != EAGAIN)
		wrong("%s", strerror(error));
	pool_check();
}

const struct op pool_ops[] = {
	{ "table load of a new pool", new_device, load, NULL, after_first_load,
	  "wardrop 2 alpha 2" },
	{ "first resume, which formats", new_table, resume, NULL, after_resume, "fill 0" },
	{ "table load beside the live table", pool_live, load, NULL, after_reload, OTHER },
	{ "table load, policy asymmetry", pool_live, load, NULL, after_reload, "asymmetry 0",
	  .thin = 4 },
	{ "table load, policy unified", pool_live, load, NULL, after_reload, "unified 0",
	  .thin = 4 },
	{ "table load, policy static", pool_live, load, NULL, after_reload, "static 2 shares 70,30",
	  .thin = 4 },
	{ "table load, policy concentrate", pool_live, load, NULL, after_reload,
	  "concentrate 4 sublun 64 evict 3", .thin = 4 },
	{ "table load, pins and a cache", pool_live, load, NULL, after_reload,
	  "fill 4 cache_extents 8 pin 17+2:1", .thin = 4 },
	{ "resume with pins and a cache", loaded, resume, NULL, after_resume,
	  "asymmetry 4 cache_extents 8 pin 17+2:1", .thin = 4 },
	{ "resume with another table", loaded, resume, NULL, after_resume, OTHER },
	{ "resume of a pool by its labels", inactive, resume, NULL, after_resume, "fill 0" },
	{ "table load of a new pool, metadata mirrored", new_device, load, NULL, after_first_load,
	  "fill 0", .shape = POOL_MIRRORED },
	{ "first resume, metadata mirrored", new_table, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_MIRRORED },
	{ "resume by labels, metadata mirrored", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_MIRRORED },
	{ "table load, devices missing", pool_live, load, NULL, after_reload, OTHER,
	  .shape = POOL_LESS },
	{ "resume by labels, devices missing", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_LESS },
	{ "remove, devices missing", pool_dirty, do_remove, NULL, after_remove, .shape = POOL_LESS },
	{ "table load, read-only", pool_live, load, NULL, after_reload, OTHER, .shape = POOL_READ_ONLY },
	{ "resume by labels, read-only", inactive, resume, NULL, after_resume, "fill 0",
	  .shape = POOL_READ_ONLY },
	{ "suspend", pool_live, do_suspend, NULL, after_suspend, .allocates_nothing = true },
	{ "suspend without a flush", pool_live, do_suspend, NULL, after_suspend, "noflush",
	  .allocates_nothing = true },
	{ "remove", pool_dirty, do_remove, NULL, after_remove },
	{ "status", pool_live, look, NULL, pool_sound },
	{ "table", pool_live, look, NULL, pool_sound, "table" },
	{ "first write", unmapped, do_write, NULL, after_io },
	{ "write", opened, do_write, NULL, after_io },
	{ "read", opened, do_read, NULL, after_io },
	{ "discard", opened, do_discard, NULL, after_io },
	{ "flush", opened, do_flush, NULL, after_io },
	{ "read, with a cache", cached, do_read, NULL, after_io },
	{ "table load of a longer device", pool_live, load_longer, NULL, after_reload, "fill 0",
	  .thin = 4 },
	{ "resume of a longer device", loaded_longer, resume, NULL, after_growth, "fill 0",
	  .thin = 4 },
	{ }
};
