// SPDX-License-Identifier: GPL-2.0-only
/* Making and deleting emulated SSDs, writing to them, power that comes back, files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"

#define DIR	"/sys/kernel/config/nameless/f"
#define NODE	"/sys/block/nameless!f"
#define DISK	"/tmp/failnth.nameless"	/* devtmpfs may have failed to remove the last one's node */
#define IMAGE	"/tmp/failnth.img"
#define SHAPE	"1M packages=2 pages=16 t_program=0 t_read=0 t_erase=0"
#define PAGE	4096
#define RAW_DIR	"/sys/kernel/config/nameless/r"
#define RAW	"4M ftl=raw packages=2 pages=16 t_program=0 t_read=0 t_erase=0"

static char *page;
static int image_fd;
static char image[16];			/* the text of that: how the module is told */
static uint64_t first_len;		/* of a zone, in sectors */

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
	int fd = open(DISK, O_WRONLY | O_DIRECT | O_CLOEXEC);
	ssize_t n = -1;

	memset(page, byte, PAGE);
	if (fd >= 0)
		n = pwrite(fd, page, PAGE, 0);
	return close_as(fd, n == PAGE ? 0 : -1);
}

static void made(const struct op *op)
{
	device_made(op);
	make_node();
	if (fill(1))
		die("writing to it");
}

static void saved(const struct op *op)
{
	made(op);
	if (say(DIR "/save", image))
		die("saving it");
	device_empty(op);
}

static void sound(void)
{
	if (say(DIR "/check", "1"))
		wrong("its check fails: %s", strerror(errno));
}

static const struct device nameless = { .dir = DIR, .node = NODE, .sound = sound };

/* A host's FTL is over flash of its own, which outlasts it. */
static const struct device flash = { .dir = RAW_DIR, .node = RAW_DIR };

static void new_flash(const struct op *op)
{
	(void)op;
	device_remove(&nameless);
	rmdir(RAW_DIR);
	if (mkdir(RAW_DIR, 0755))
		die(RAW_DIR);
}

static void over_new_flash(const struct op *op)
{
	new_flash(op);
	if (device_say(&flash, "create", RAW))
		die("raw flash");
	device_empty(op);
}

/* Its map is in memory until it is flushed. */
static void host_made(const struct op *op)
{
	int fd;

	over_new_flash(op);
	made(op);
	fd = open(DISK, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		die("flushing it");
	close(fd);
}

/* What is written is nowhere but in memory, of which there may be none to flush it. */
static void host_written(const struct op *op)
{
	over_new_flash(op);
	made(op);
}

/* It is there with what it has, or gone with nothing lost. */
static void host_deleted(const struct op *op, int error)
{
	device_deleted(op, error);
	if (!error && device_create(op))
		wrong("it is not made again: %s", strerror(errno));
	if (look() != 1)
		wrong("%s, and it lost what it had", strerror(error));
}

static int make_flash(const struct op *op)
{
	return device_say(&flash, "create", op->arg);
}

static void after_flash(const struct op *op, int error)
{
	if (error && device_say(&flash, "create", op->arg))
		wrong("and not the next time either: %s", strerror(errno));
	if (device_say(&flash, "release", "1"))
		wrong("it can't be deleted: %s", strerror(errno));
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

static int flushed = -1;

static void opened(const struct op *op)
{
	made(op);
	flushed = open(DISK, O_WRONLY | O_CLOEXEC);
	if (flushed < 0)
		die(DISK);
}

static int try_flush(const struct op *op)
{
	(void)op;
	return fsync(flushed);
}

/* There is nothing to be written, so nothing that could not be done. */
static void after_flush(const struct op *op, int error)
{
	(void)op;
	close(flushed);
	if (error)
		wrong("%s", strerror(error));
	sound();
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
	return say(DIR "/save", image);
}

static void after_save(const struct op *op, int error)
{
	after_cut(op, error);
	if (error && say(DIR "/save", image))
		wrong("and not the next time either: %s", strerror(errno));
}

static int try_load(const struct op *op)
{
	(void)op;
	return say(DIR "/load", image);
}

static void after_load(const struct op *op, int error)
{
	device_retried(op->device, "load", image, error);
	if (look() != 1)
		wrong("it lost what it had");
	sound();
}

/* --- zones ----------------------------------------------------------------------------------- */

static int zoned_disk(int flags)
{
	return open(DISK, flags | O_DIRECT | O_CLOEXEC);
}

static struct blk_zone first_zone(void)
{
	char room[sizeof(struct blk_zone_report) + sizeof(struct blk_zone)];
	struct blk_zone_report *report = (void *)room;
	int fd = zoned_disk(O_RDONLY);

	memset(room, 0, sizeof(room));
	report->nr_zones = 1;
	if (fd < 0 || ioctl(fd, BLKREPORTZONE, report) || report->nr_zones != 1)
		die("reporting zones");
	close(fd);
	return report->zones[0];
}

/* The page behind the one that is there. */
static int try_append(const struct op *op)
{
	int fd = zoned_disk(O_WRONLY);
	ssize_t n;

	(void)op;
	memset(page, 2, PAGE);
	n = fd < 0 ? -1 : pwrite(fd, page, PAGE, PAGE);
	return close_as(fd, n == PAGE ? 0 : -1);
}

/* The write pointer stands where what was written ends. */
static void after_append(const struct op *op, int error)
{
	struct blk_zone zone;
	int fd;

	if (error && first_zone().wp == PAGE / 512 && try_append(op))
		wrong("%s, and not the next time either: %s", strerror(error), strerror(errno));
	zone = first_zone();
	fd = zoned_disk(O_RDONLY);
	if (zone.wp != 2 * PAGE / 512 || pread(fd, page, PAGE, PAGE) != PAGE || *page != 2)
		wrong("%s, and it has %d, with the pointer at %llu", strerror(error), *page,
		      (unsigned long long)zone.wp);
	close(fd);
	if (look() != 1)
		wrong("the page before it is gone");
	sound();
}

static int try_reset(const struct op *op)
{
	struct blk_zone_range range = { .nr_sectors = first_len };
	int fd = zoned_disk(O_WRONLY);

	(void)op;
	return close_as(fd, fd < 0 ? -1 : ioctl(fd, BLKRESETZONE, &range));
}

static void zone_written(const struct op *op)
{
	made(op);
	first_len = first_zone().len;
}

/* Its page is there, or it is empty and can be written from its start. */
static void after_reset(const struct op *op, int error)
{
	if (first_zone().wp ? look() != 1 || !error : !!error)
		wrong("%s, and the pointer is at %llu", strerror(error),
		      (unsigned long long)first_zone().wp);
	if (error && try_reset(op))
		wrong("and not the next time either: %s", strerror(errno));
	if (fill(3) || look() != 3)
		wrong("it can't be written anew: %s", strerror(errno));
	sound();
}

static int try_report(const struct op *op)
{
	char room[sizeof(struct blk_zone_report) + sizeof(struct blk_zone)];
	struct blk_zone_report *report = (void *)room;
	int fd = zoned_disk(O_RDONLY);

	(void)op;
	memset(room, 0, sizeof(room));
	report->nr_zones = 1;
	return close_as(fd, fd < 0 ? -1 : ioctl(fd, BLKREPORTZONE, report));
}

static void after_report(const struct op *op, int error)
{
	if (error && try_report(op))
		wrong("%s, and not the next time either", strerror(error));
}

void nameless_begin(void)
{
	page = aligned_alloc(PAGE, PAGE);
	if (!page)
		die("a page");
	image_fd = open(IMAGE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (image_fd < 0)
		die("%s", IMAGE);
	sprintf(image, "%d", image_fd);
}

void nameless_end(void)
{
	device_remove(&nameless);
	rmdir(RAW_DIR);
	close(image_fd);
	unlink(IMAGE);
	unlink(DISK);
}

#define QUICK	" pages=16 t_program=0 t_read=0 t_erase=0"
#define OTHER	.device = &nameless, .thin = 8
#define HYBRID	"1M ftl=hybrid packages=2 log=20%" QUICK
#define NAMES	"1M ftl=nameless packages=2" QUICK
#define ZONED	"1M ftl=zoned packages=3" QUICK
#define HOST	"2M on=r"

/* A zone is not written twice, so its first page is written by made() alone. */
const struct op nameless_ops[] = {
	{ "nameless: create", device_empty, device_create, NULL, device_created, SHAPE,
	  .device = &nameless },
	{ "nameless: write", made, try_write, NULL, after_write, SHAPE, .device = &nameless },
	{ "nameless: flush", opened, try_flush, NULL, after_flush, SHAPE, .device = &nameless },
	{ "nameless: power comes back", made, try_cut, NULL, after_cut, SHAPE, .device = &nameless },
	{ "nameless: save", made, try_save, NULL, after_save, SHAPE, .device = &nameless },
	{ "nameless: load", saved, try_load, NULL, after_load, SHAPE, .device = &nameless },
	{ "nameless: delete", made, device_delete, NULL, device_deleted, SHAPE, .device = &nameless },
	{ "nameless, hybrid: create", device_empty, device_create, NULL, device_created, HYBRID, OTHER },
	{ "nameless, hybrid: write", made, try_write, NULL, after_write, HYBRID, OTHER },
	{ "nameless, hybrid: power comes back", made, try_cut, NULL, after_cut, HYBRID, OTHER },
	{ "nameless, hybrid: load", saved, try_load, NULL, after_load, HYBRID, OTHER },
	{ "nameless, names: create", device_empty, device_create, NULL, device_created, NAMES, OTHER },
	{ "nameless, names: write", made, try_write, NULL, after_write, NAMES, OTHER },
	{ "nameless, names: power comes back", made, try_cut, NULL, after_cut, NAMES, OTHER },
	{ "nameless, names: load", saved, try_load, NULL, after_load, NAMES, OTHER },
	{ "nameless, names: delete", made, device_delete, NULL, device_deleted, NAMES, OTHER },
	{ "nameless, zoned: create", device_empty, device_create, NULL, device_created, ZONED, OTHER },
	{ "nameless, zoned: write", made, try_append, NULL, after_append, ZONED, OTHER },
	{ "nameless, zoned: reset", zone_written, try_reset, NULL, after_reset, ZONED, OTHER },
	{ "nameless, zoned: report", made, try_report, NULL, after_report, ZONED, OTHER },
	{ "nameless, zoned: power comes back", made, try_cut, NULL, after_cut, ZONED, OTHER },
	{ "nameless, zoned: load", saved, try_load, NULL, after_load, ZONED, OTHER },
	{ "nameless, raw: create", new_flash, make_flash, NULL, after_flash, RAW, OTHER },
	{ "nameless, on a host: create", over_new_flash, device_create, NULL, device_created, HOST, OTHER },
	{ "nameless, on a host: write", host_made, try_write, NULL, after_write, HOST, OTHER },
	{ "nameless, on a host: power comes back", host_made, try_cut, NULL, after_cut, HOST, OTHER },
	{ "nameless, on a host: delete", host_made, device_delete, NULL, device_deleted, HOST, OTHER },
	{ "nameless, on a host: delete, unflushed", host_written, device_delete, NULL, host_deleted, HOST,
	  OTHER },
	{ }
};
