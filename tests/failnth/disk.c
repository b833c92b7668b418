// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "disk.h"
#include "dm.h"
#include "failnth.h"

#define MOST	16u	/* blocks in one request */
#define SECOND_SET	"/sys/kernel/config/emudisk/b/set"

char pool_node[32];

/* A block holds the last write that was tried, or one back to the last that succeeded. */
static struct {
	uint32_t tried, good;
	bool discarded;
} content[BLOCKS];

/* The last one is for commands, which let it join. */
static const char *const disk[] = {
	"/dev/emudisk/m", "/dev/emudisk/n", "/dev/emudisk/a", "/dev/emudisk/b", "/dev/emudisk/c"
};

/* How a pool is made, and how it is used; and without its second member, or metadata area. */
static const struct shape {
	const char *made, *used, *mode, *less;
} shapes[] = {
	[POOL_PLAIN] = { "1 %1$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s",
			 "1 %1$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s", "rw",
			 "1 %1$s 0 %5$u 2 %3$s 0 - 0 0 %6$s" },
	[POOL_MIRRORED] = { "2 %1$s 0 %2$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s",
			    "2 %1$s 0 %2$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s", "rw",
			    "2 %1$s 0 - 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s" },
	[POOL_LESS] = { "2 %1$s 0 %2$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s",
			"2 - 0 %2$s 0 %5$u 2 %3$s 0 - 0 0 %6$s", "rw" },
	[POOL_READ_ONLY] = { "1 %1$s 0 %5$u 2 %3$s 0 %4$s 0 0 %6$s",
			     "1 %1$s 0 %5$u 2 %3$s 0 %4$s 0 1 read_only %6$s", "ro" },
}, *shape = shapes;

static const char *table(const char *format, unsigned int extents, const char *policy)
{
	static char line[256];
	int at = snprintf(line, sizeof(line), "0 %u hybrid ", extents * (EXTENT / 512));

	snprintf(line + at, sizeof(line) - at, format, disk[0], disk[1], disk[2], disk[3],
		 EXTENT / 512, policy);
	return line;
}

const char *pool_table(const char *policy)
{
	return pool_table_of(EXTENTS, policy);
}

const char *pool_table_of(unsigned int extents, const char *policy)
{
	return table(shape->used, extents, policy);
}

bool pool_be(enum pool_shape which)
{
	if (shape == &shapes[which])
		return false;
	pool_blank();
	shape = &shapes[which];
	return true;
}

bool pool_there(void)
{
	char line[DM_LINE_ROOM];

	return !dm_line(POOL, 0, line, sizeof(line));
}

static void zero_ends(const char *path)
{
	static char zero[131072] __attribute__((aligned(4096)));
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (end < 0 || pwrite(fd, zero, sizeof(zero), 0) != sizeof(zero) ||
	    pwrite(fd, zero, sizeof(zero), end - sizeof(zero)) != sizeof(zero))
		die("wiping %s", path);
	close(fd);
}

void pool_blank(void)
{
	if (dm_unmake(POOL, 1) && errno != ENXIO)
		die("removing the pool");
	for (unsigned int i = 0; i < sizeof(disk) / sizeof(*disk); i++)
		zero_ends(disk[i]);
	memset(content, 0, sizeof(content));
}

static int open_as(int how)
{
	int fd = open(pool_node, how | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		die("%s", pool_node);
	return fd;
}

void pool_tell(const char *message)
{
	if (dm_message(POOL, message))
		die("%s", message);
}

void pool_says_table(char *line)
{
	if (dm_line(POOL, DM_STATUS_TABLE_FLAG, line, DM_LINE_ROOM))
		die("table");
}

void pool_field(const char *key, char *value, size_t len)
{
	char line[DM_LINE_ROOM];

	if (dm_line(POOL, 0, line, sizeof(line)))
		die("status");
	if (hybrid_field(line, key, value, len))
		die("no %s in the status", key);
}

bool pool_field_is(const char *key, const char *want)
{
	char value[64];

	pool_field(key, value, sizeof(value));
	return !strcmp(value, want);
}

void pool_make(void)
{
	int fd;

	pool_blank();
	if (dm_make(POOL, table(shape->made, EXTENTS, "fill 0"), pool_node, sizeof(pool_node)))
		die("making the pool");
	fd = open_as(O_RDWR);
	for (unsigned int i = 0; i < BLOCKS / 2; i += MOST)
		if (disk_write(fd, i, 4))
			die("writing to the pool");
	close(fd);
	if (shape->used == shape->made)
		return;
	if (dm_unmake(POOL, 1) || dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool once more");
}

void pool_entry(unsigned int extent, char *entry, size_t len)
{
	char message[32];

	snprintf(message, sizeof(message), "entry %u", extent);
	if (dm_ask(POOL, message, entry, len))
		die("%s", message);
}

void pool_second_has(unsigned int extent)
{
	char message[32], entry[64] = "";

	snprintf(message, sizeof(message), "move %u 1", extent);
	for (unsigned int i = 0; strncmp(entry, "1 ", 2); i++) {
		if (i == 5000)
			die("%s", message);
		if (i == 1)
			pool_tell(message);
		if (i > 1)
			usleep(2000);
		pool_entry(extent, entry, sizeof(entry));
	}
	pool_tell("commit");
}

static void be(const char *line)
{
	if (dm_load(POOL, line) || dm_suspend(POOL, 0) || dm_resume(POOL))
		die("%s", line);
}

bool pool_is_less(void)
{
	char line[DM_LINE_ROOM];

	pool_says_table(line);
	return strstr(line, " - 0 ");
}

void pool_less(void)
{
	be(table(shape->less, EXTENTS, "fill 0"));
}

void pool_whole(void)
{
	if (pool_is_less())
		be(pool_table("fill 0"));
}

void pool_lose(unsigned int extent)
{
	pool_second_has(extent);
	pool_less();
	zero_ends(disk[3]);
	for (unsigned int i = 0; i < EXTENT / BLOCK; i++)
		content[extent * (EXTENT / BLOCK) + i].discarded = true;
}

/* --- one that fails --- */

static struct {
	unsigned int extent;
	char entry[64];
} hurt;

void pool_hurt(unsigned int extent)
{
	unsigned int block = (extent + 1) * (EXTENT / BLOCK) - 2;
	uint32_t good = content[block].good;
	int fd;

	pool_second_has(extent);
	pool_tell("set commit_ms 3600000");
	pool_tell("set tell_ms 0");
	hurt.extent = extent;
	pool_entry(extent, hurt.entry, sizeof(hurt.entry));
	fd = disk_open();
	if (disk_write(fd, block, 1))
		die("a write that is not flushed");
	content[block].good = good;
	put(SECOND_SET, "fail=write");
	if (!disk_write(fd, block + 1, 1))
		die("a write to a disk that fails");
	put(SECOND_SET, "fail=none");
	close(fd);
	if (!pool_field_is("dev.1.state", "degraded"))
		die("the second member is not degraded");
}

/* The first to ask is told that something is lost, and perhaps the second. */
static void hear_of_it(void)
{
	int fd = disk_open();

	if (!fdatasync(fd))
		wrong("nobody is told of what was not flushed");
	else if (fdatasync(fd) && fdatasync(fd))
		wrong("flushes go on failing: %s", strerror(errno));
	close(fd);
}

void pool_healed(void)
{
	char entry[64];

	if (!pool_field_is("dev.1.state", "active"))
		wrong("the member is not trusted");
	pool_entry(hurt.extent, entry, sizeof(entry));
	if (strcmp(entry, hurt.entry))
		wrong("what was not flushed is believed: %s, and it was %s", entry, hurt.entry);
	hear_of_it();
	/* its errors are counted until then */
	if (dm_unmake(POOL, 1) || dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool once more");
	pool_check();
}

static void field_is(const char *line, const char *key, const char *want)
{
	char value[64];

	if (hybrid_field(line, key, value, sizeof(value)))
		wrong("no %s in the status: %s", key, line);
	else if (strcmp(value, want))
		wrong("%s is %s", key, value);
}

void pool_check(void)
{
	char line[DM_LINE_ROOM];
	int fd, error;

	if (dm_line(POOL, 0, line, sizeof(line))) {
		wrong("no status: %s", strerror(errno));
		return;
	}
	field_is(line, "mode", shape->mode);
	field_is(line, "needs_check", "-");
	field_is(line, "errors", "0");
	fd = disk_open();
	for (unsigned int i = 0; i < BLOCKS; i += MOST) {
		error = disk_read(fd, i, MOST);
		if (error)
			wrong("block %u is not what was written: %s", i, strerror(error));
	}
	close(fd);
}

int disk_open(void)
{
	return open_as(strcmp(shape->mode, "rw") ? O_RDONLY : O_RDWR);
}

static void fill(uint64_t *word, unsigned int block, uint32_t generation)
{
	for (unsigned int i = 0; i < BLOCK / 8; i++)
		word[i] = generation ? (seed + ((uint64_t)generation << 40) + block * 512ull + i) *
			0x9e3779b97f4a7c15ull : 0;
}

int disk_write(int fd, unsigned int block, unsigned int nr)
{
	uint64_t data[MOST][BLOCK / 8] __attribute__((aligned(BLOCK)));
	int error = 0;

	memset(data, 0, sizeof(data));
	for (unsigned int i = 0; i < nr; i++)
		fill(data[i], block + i, ++content[block + i].tried);
	errno = EIO;
	if (pwrite(fd, data, nr * BLOCK, (off_t)block * BLOCK) != nr * BLOCK)
		error = errno;
	for (unsigned int i = 0; !error && i < nr; i++) {
		content[block + i].good = content[block + i].tried;
		content[block + i].discarded = false;
	}
	return error;
}

static bool holds(const uint64_t *data, unsigned int block)
{
	uint64_t want[BLOCK / 8];

	if (content[block].discarded)
		return true;
	for (uint32_t i = content[block].good; i <= content[block].tried; i++) {
		fill(want, block, i);
		if (!memcmp(want, data, BLOCK))
			return true;
	}
	return false;
}

int disk_read(int fd, unsigned int block, unsigned int nr)
{
	uint64_t data[MOST][BLOCK / 8] __attribute__((aligned(BLOCK)));

	errno = EIO;
	if (pread(fd, data, nr * BLOCK, (off_t)block * BLOCK) != nr * BLOCK)
		return errno;
	for (unsigned int i = 0; i < nr; i++)
		if (!holds(data[i], block + i))
			return EILSEQ;
	return 0;
}

int disk_discard(int fd, unsigned int extent)
{
	uint64_t range[2] = { (uint64_t)extent * EXTENT, EXTENT };

	for (unsigned int i = 0; i < EXTENT / BLOCK; i++)
		content[extent * (EXTENT / BLOCK) + i].discarded = true;
	return ioctl(fd, BLKDISCARD, range) ? errno : 0;
}
