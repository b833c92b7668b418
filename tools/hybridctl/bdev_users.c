// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells of a block device: its name, its users, what is under it. */
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

static bool volatile_below(void *ctx, const char *name, dev_t rdev)
{
	char **found = ctx;

	(void)name;
	*found = bdev_volatile(rdev);
	return *found;
}

/* A mem2m device of ordinary RAM, or a partition of one: its disk is on the way there in sysfs. */
static bool mem2m_volatile(dev_t rdev)
{
	char *link = sysfs_dir(rdev, ""), target[LINE], path[LINE], line[LINE], *name = NULL;
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	bool survives = false;	/* as long as nobody says so */
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
	while (info && fgets(line, sizeof(line), info))
		if (!strcmp(line, "survives 1\n"))
			survives = true;
	if (info)
		fclose(info);
	return !survives;
}

char *bdev_volatile(dev_t rdev)
{
	char *name = kernel_name(rdev), *dir, *found = NULL;

	if (major(rdev) == RAM_MAJOR || !strncmp(name, "zram", 4) || mem2m_volatile(rdev)) {
		free(name);
		return bdev_path(rdev);
	}
	free(name);
	dir = sysfs_dir(rdev, "/slaves");
	each_in(dir, volatile_below, &found);
	free(dir);
	return found;
}

/* mountinfo writes blanks and such as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		} else {
			*out++ = *s;
		}
	*out = 0;
}

/* The type follows optional fields and a lone "-". */
static bool has_type(const char *line, const char *type)
{
	const char *at = strstr(line, " - ");

	return at && !strncmp(at + 3, type, strlen(type));
}

char *bdev_mounted(dev_t rdev, const char *type)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, where[LINE], *found = NULL;
	unsigned int ma, mi;
	size_t size = 0;

	while (f && !found && getline(&line, &size, f) > 0)
		if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &ma, &mi, where) == 3 &&
		    makedev(ma, mi) == rdev && has_type(line, type)) {
			unescape(where);
			found = xstrdup(where);
		}
	free(line);
	if (f)
		fclose(f);
	return found;
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

static bool has_open(const char *pid, dev_t rdev)
{
	char *dir = xasprintf("/proc/%s/fd", pid), *path;
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", dir, e->d_name);
		found = !stat(path, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev;
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

/* The disk that a partition is of: holders and what it lies on are known of that. */
static dev_t disk_of(dev_t rdev)
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

static bool stalled_below(void *ctx, const char *name, dev_t rdev)
{
	const char **why = ctx;

	(void)name;
	*why = bdev_stalled(rdev);
	return *why;
}

const char *bdev_stalled(dev_t rdev)
{
	char *line = sysfs_line(rdev, "/dm/suspended"), *dir;
	const char *why = NULL;

	if (line && !strcmp(line, "1"))
		why = "it is suspended or lies on what is";
	else if (line && !dm_has_path(rdev))
		why = "it is multipath without a usable path, or lies on it";
	free(line);
	if (why)
		return why;
	dir = sysfs_dir(disk_of(rdev), "/slaves");
	each_in(dir, stalled_below, &why);
	free(dir);
	return why;
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

/* Of a loop device: what the file system of its file is on. */
static dev_t file_system_of(dev_t rdev)
{
	char *file = sysfs_line(rdev, "/loop/backing_file");
	struct stat st;
	dev_t on = 0;

	if (file && !stat(file, &st))
		on = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	free(file);
	return on;
}

bool bdev_lies_on(dev_t upper, dev_t lower)
{
	dev_t disk = disk_of(upper), on;

	if (upper == lower || disk == lower || bdev_is_above(upper, lower) ||
	    bdev_is_above(disk, lower))
		return true;
	on = file_system_of(disk);
	return on && (on == lower || bdev_is_above(on, lower));
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
		if (list[i]->d_name[0] != '.' &&
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
