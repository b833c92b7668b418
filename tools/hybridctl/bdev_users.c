// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells of a block device: its name, its users, what is under it. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bdev.h"
#include "dm.h"
#include "mounts.h"
#include "msg.h"
#include "udev_db.h"

#define RAM_MAJOR	1
#define LINE		4096

static char *sysfs_dir(dev_t rdev, const char *below)
{
	return xasprintf("/sys/dev/block/%u:%u%s", major(rdev), minor(rdev), below);
}

/* First line of a file below the device's sysfs directory; free(); NULL: none. */
static char *sysfs_line(dev_t rdev, const char *below)
{
	char *path = sysfs_dir(rdev, below), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t size = 0;

	free(path);
	if (!f)
		return NULL;
	if (getline(&line, &size, f) <= 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = 0;
	}
	fclose(f);
	return line;
}

uint64_t bdev_discard_unit(dev_t rdev)
{
	char *line = sysfs_line(rdev, "/queue/discard_granularity");
	uint64_t unit;

	/* A partition's are its disk's. */
	if (!line)
		line = sysfs_line(rdev, "/../queue/discard_granularity");
	unit = line ? strtoull(line, NULL, 10) : 0;
	free(line);
	return unit;
}

uint64_t bdev_seq(dev_t rdev)
{
	char *line = sysfs_line(rdev, "/diskseq");
	uint64_t seq = line ? strtoull(line, NULL, 10) : 0;

	free(line);
	return seq;
}

uint64_t bdev_sectors_told(dev_t rdev)
{
	char *line = sysfs_line(rdev, "/size");
	uint64_t sectors = line ? strtoull(line, NULL, 10) : 0;

	free(line);
	return sectors;
}

static bool read_devno(const char *dir, const char *name, dev_t *rdev)
{
	char *path = xasprintf("%s/%s/dev", dir, name);
	unsigned int ma, mi;
	FILE *f = fopen(path, "re");
	bool ok = f && fscanf(f, "%u:%u", &ma, &mi) == 2;

	if (f)
		fclose(f);
	free(path);
	if (ok)
		*rdev = makedev(ma, mi);
	return ok;
}

/* Call @fn for every entry of @dir that is a block device, until it returns true. */
static bool each_in(const char *dir, bool (*fn)(void *ctx, const char *name, dev_t rdev), void *ctx)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool stop = false;
	dev_t rdev;

	if (!d)
		return false;
	while (!stop && (e = readdir(d)))
		if (e->d_name[0] != '.' && read_devno(dir, e->d_name, &rdev))
			stop = fn(ctx, e->d_name, rdev);
	closedir(d);
	return stop;
}

static char *kernel_name(dev_t rdev)
{
	char *link = sysfs_dir(rdev, ""), target[LINE], *name;
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	free(link);
	if (n <= 0)
		return xasprintf("%u:%u", major(rdev), minor(rdev));
	target[n] = 0;
	name = strrchr(target, '/');
	return xstrdup(name ? name + 1 : target);
}

char *bdev_path(dev_t rdev)
{
	char *name = sysfs_line(rdev, "/dm/name"), *path, *c;

	if (name) {
		path = xasprintf("/dev/mapper/%s", name);
		free(name);
		return path;
	}
	name = kernel_name(rdev);
	while ((c = strchr(name, '!')))
		*c = '/';
	path = xasprintf("/dev/%s", name);
	free(name);
	return path;
}

dev_t bdev_disk(dev_t rdev)
{
	char *line = sysfs_line(rdev, "/partition"), *dev;
	unsigned int ma, mi;

	if (!line)
		return rdev;
	dev = sysfs_line(rdev, "/../dev");
	if (dev && sscanf(dev, "%u:%u", &ma, &mi) == 2)
		rdev = makedev(ma, mi);
	free(dev);
	free(line);
	return rdev;
}

/*
 * A mem2m device of RAM, be it set aside, or a partition of one: its disk is on the way there in
 * sysfs.  A module that is older than these programs doesn't tell, but what it is on: pmem.
 */
static bool mem2m_volatile(dev_t rdev)
{
	char *link = sysfs_dir(rdev, ""), target[LINE], path[LINE], line[LINE], *name = NULL;
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	bool lasts = false;	/* as long as nobody says so */
	bool told = false, on_pmem = false;
	FILE *info;

	free(link);
	if (n > 0) {
		target[n] = 0;
		name = strstr(target, "/mem2m!");
	}
	if (!name)
		return false;
	name += strlen("/mem2m!");
	name[strcspn(name, "/")] = 0;
	snprintf(path, sizeof(path), "/sys/kernel/config/mem2m/%s/info", name);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info)) {
		told |= !strncmp(line, "power ", strlen("power "));
		on_pmem |= !strncmp(line, "beneath ", strlen("beneath "));
		if (!strcmp(line, "power 1\n"))
			lasts = true;
	}
	if (info)
		fclose(info);
	return !(told ? lasts : on_pmem);
}

/* The file, or device, that a loop device is of; free(); NULL: it is none. */
static char *loop_file(dev_t rdev)
{
	return sysfs_line(rdev, "/loop/backing_file");
}

/*
 * Where another machine's files are it might take for ever.  Of others who looks need not wait for
 * the device: as the file is open the kernel has in memory what leads there.
 */
static dev_t node_at(const char *path, const struct mount *m)
{
	struct stat st;

	if (!mount_is_memory(m) && !major(m->dev))
		return 0;
	return !stat(path, &st) && S_ISBLK(st.st_mode) ? st.st_rdev : 0;
}

/*
 * What a loop device's file is on; 0: not on what is known.  btrfs has no device's number: then it
 * is what was mounted, of several devices that one.
 */
static dev_t file_is_on(const char *file)
{
	struct stat st;
	struct mount m;
	dev_t node;

	if (!mount_of(file, &m))
		return 0;
	node = node_at(file, &m);
	if (node || mount_is_memory(&m))
		return node;
	if (major(m.dev))
		return m.dev;
	return *m.source == '/' && !stat(m.source, &st) && S_ISBLK(st.st_mode) ? st.st_rdev : 0;
}

#define MOST_LAYERS	32	/* none can go round, but who knows */

struct walk {
	bool (*is)(struct walk *w, dev_t rdev);
	unsigned int layers;
	dev_t lower;	/* that is looked for */
	char *found;
	const char *why;
};

static bool walk_below(struct walk *w, dev_t rdev);

static bool walk_from(void *ctx, const char *name, dev_t rdev)
{
	struct walk *w = ctx;
	bool is;

	(void)name;
	if (w->layers == MOST_LAYERS)
		return false;
	w->layers++;
	is = w->is(w, rdev) || walk_below(w, rdev);
	w->layers--;
	return is;
}

/* Is one of those that it lies on, through any number of layers, what is looked for? */
static bool walk_below(struct walk *w, dev_t rdev)
{
	dev_t disk = bdev_disk(rdev), on;
	char *file, *dir;
	bool is;

	if (disk != rdev)
		return walk_from(w, NULL, disk);
	file = loop_file(rdev);
	on = file ? file_is_on(file) : 0;
	free(file);
	if (on)
		return walk_from(w, NULL, on);
	dir = sysfs_dir(rdev, "/slaves");
	is = each_in(dir, walk_from, w);
	free(dir);
	return is;
}

/* A loop device of a file in memory. */
static bool is_file_in_memory(dev_t rdev)
{
	char *file = loop_file(rdev);
	struct mount m;
	bool is = file && mount_of(file, &m) && mount_is_memory(&m) && !node_at(file, &m);

	free(file);
	return is;
}

static bool is_volatile(struct walk *w, dev_t rdev)
{
	char *name = kernel_name(rdev);

	if (major(rdev) == RAM_MAJOR || !strncmp(name, "zram", 4) || mem2m_volatile(rdev) ||
	    is_file_in_memory(rdev))
		w->found = bdev_path(rdev);
	free(name);
	return w->found;
}

char *bdev_volatile(dev_t rdev)
{
	struct walk w = { .is = is_volatile };

	walk_from(&w, NULL, rdev);
	return w.found;
}

static bool is_lower(struct walk *w, dev_t rdev)
{
	return rdev == w->lower;
}

bool bdev_lies_on(dev_t upper, dev_t lower)
{
	struct walk w = { .is = is_lower, .lower = lower };

	return walk_from(&w, NULL, upper);
}

static char *mounted_on(dev_t rdev)
{
	char *where = bdev_mounted(rdev, "");
	char *found = where ? xasprintf("mounted on %s", where) : NULL;

	free(where);
	return found;
}

static char *swap_on(dev_t rdev)
{
	FILE *f = fopen("/proc/swaps", "re");
	char *line = NULL, path[LINE], *found = NULL;
	struct stat st;
	size_t size = 0;

	while (f && !found && getline(&line, &size, f) > 0)
		if (sscanf(line, "%4095s", path) == 1 && !stat(path, &st) &&
		    S_ISBLK(st.st_mode) && st.st_rdev == rdev)
			found = xstrdup("used as swap");
	free(line);
	if (f)
		fclose(f);
	return found;
}

static bool held_by(void *ctx, const char *name, dev_t rdev)
{
	char **found = ctx, *path = bdev_path(rdev);

	(void)name;
	*found = xasprintf("held by %s", path);
	free(path);
	return true;
}

static bool partition_used(void *ctx, const char *name, dev_t rdev)
{
	char **found = ctx, *user = bdev_users(rdev);

	if (user)
		*found = xasprintf("partition %s is %s", name, user);
	free(user);
	return *found;
}

/* What is no node among the others is not looked at: another machine's file may take for ever. */
static bool is_open_on(const char *path, dev_t rdev)
{
	static const char nodes[] = "/dev/";
	char target[sizeof(nodes)];
	struct stat st;

	return readlink(path, target, sizeof(target)) == sizeof(target) &&
	       !strncmp(target, nodes, strlen(nodes)) && !stat(path, &st) &&
	       S_ISBLK(st.st_mode) && st.st_rdev == rdev;
}

static bool has_open(const char *pid, dev_t rdev)
{
	char *dir = xasprintf("/proc/%s/fd", pid), *path;
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", dir, e->d_name);
		found = is_open_on(path, rdev);
		free(path);
	}
	if (d)
		closedir(d);
	free(dir);
	return found;
}

static char *command_of(const char *pid)
{
	char *path = xasprintf("/proc/%s/comm", pid), comm[64] = "?";
	FILE *f = fopen(path, "re");

	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	free(path);
	comm[strcspn(comm, "\n")] = 0;
	return xstrdup(comm);
}

static char *opened_by(dev_t rdev)
{
	DIR *d = opendir("/proc");
	char *found = NULL, *comm;
	struct dirent *e;

	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    strtol(e->d_name, NULL, 10) == getpid() || !has_open(e->d_name, rdev))
			continue;
		comm = command_of(e->d_name);
		found = xasprintf("opened by process %s (%s)", e->d_name, comm);
		free(comm);
	}
	if (d)
		closedir(d);
	return found;
}

char *bdev_keepers(dev_t rdev)
{
	char *found = mounted_on(rdev), *dir;

	if (!found)
		found = swap_on(rdev);
	if (!found) {
		dir = sysfs_dir(rdev, "/holders");
		each_in(dir, held_by, &found);
		free(dir);
	}
	if (!found) {
		dir = sysfs_dir(rdev, "");
		each_in(dir, partition_used, &found);
		free(dir);
	}
	return found;
}

char *bdev_users(dev_t rdev)
{
	char *found = bdev_keepers(rdev);

	return found ? found : opened_by(rdev);
}

void bdev_announce(dev_t rdev)
{
	char *path = sysfs_dir(rdev, "/uevent");
	FILE *f = fopen(path, "we");

	free(path);
	if (!f)
		return;
	/*
	 * The volume may be stopped before the event is looked at: the rule is
	 * told not to start it.
	 */
	fputs("change 00000000-0000-0000-0000-000000000000 EVENKEELKNOWN=1", f);
	fclose(f);
}

static bool is_stalled(struct walk *w, dev_t rdev)
{
	char *line = sysfs_line(rdev, "/dm/suspended");

	if (line && !strcmp(line, "1"))
		w->why = "it is suspended or lies on what is";
	else if (line && !dm_has_path(rdev))
		w->why = "it is multipath without a usable path, or lies on it";
	free(line);
	return w->why;
}

const char *bdev_stalled(dev_t rdev)
{
	struct walk w = { .is = is_stalled };

	walk_from(&w, NULL, rdev);
	return w.why;
}

bool bdev_is_snapshot(dev_t rdev)
{
	char *name = sysfs_line(rdev, "/dm/name");
	bool is = name && (udev_db_is(rdev, "DM_UDEV_LOW_PRIORITY_FLAG", "1") ||
			   dm_is_snapshot(rdev));

	free(name);
	return is;
}

static bool any(void *ctx, const char *name, dev_t rdev)
{
	(void)ctx;
	(void)name;
	(void)rdev;
	return true;
}

bool bdev_has_holders(dev_t rdev)
{
	char *dir = sysfs_dir(rdev, "/holders");
	bool has = each_in(dir, any, NULL);

	free(dir);
	return has;
}

static bool leads_to(void *ctx, const char *name, dev_t rdev)
{
	(void)name;
	return rdev == *(dev_t *)ctx || bdev_is_above(*(dev_t *)ctx, rdev);
}

bool bdev_is_above(dev_t upper, dev_t lower)
{
	char *dir = sysfs_dir(lower, "/holders");
	bool is = each_in(dir, leads_to, &upper);

	free(dir);
	return is;
}

static unsigned int height(dev_t rdev);

static bool higher(void *ctx, const char *name, dev_t rdev)
{
	unsigned int *most = ctx, here = height(rdev) + 1;

	(void)name;
	if (here > *most)
		*most = here;
	return false;
}

/* Layers below it. */
static unsigned int height(dev_t rdev)
{
	char *dir = sysfs_dir(rdev, "/slaves");
	unsigned int most = 0;

	each_in(dir, higher, &most);
	free(dir);
	return most;
}

/*
 * A CD or a floppy would have to spin up, or the tray be drawn in, and no volume is on one: udev's
 * rule passes over them, too.  What is in memory costs nothing, and may have been asked for.
 */
static bool is_slow_drive(const char *name)
{
	return (!strncmp(name, "sr", 2) || !strncmp(name, "fd", 2)) &&
	       isdigit((unsigned char)name[2]);
}

struct found {
	dev_t rdev;
	unsigned int height;
	int place;	/* by name */
};

static int by_height(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->height != y->height)
		return x->height > y->height ? -1 : 1;
	return x->place - y->place;
}

void bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx)
{
	struct dirent **list;
	struct found *found;
	int i, nr = 0, n = scandir("/sys/class/block", &list, NULL, alphasort);
	dev_t rdev;

	if (n < 0)
		return;
	found = xcalloc(n + 1, sizeof(*found));
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.' && !is_slow_drive(list[i]->d_name) &&
		    read_devno("/sys/class/block", list[i]->d_name, &rdev))
			found[nr++] = (struct found){ rdev, height(rdev), i };
		free(list[i]);
	}
	free(list);
	qsort(found, nr, sizeof(*found), by_height);
	for (i = 0; i < nr; i++)
		fn(ctx, found[i].rdev);
	free(found);
}
