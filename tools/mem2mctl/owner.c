// SPDX-License-Identifier: GPL-2.0-only
/* Who has a range of memory or a device: the kernel says only that somebody has. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mem2mctl.h"

static void append(char *text, size_t size, const char *what, const char *name)
{
	size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%s%s", len ? ", " : what, len ? what : "", name);
}

/* Every entry of /proc/iomem that overlaps and has none below it that does. */
void owner_of_range(uint64_t start, uint64_t bytes, char *text, size_t size)
{
	char line[256], pending[256] = "";
	unsigned long long from, to;
	size_t depth, last = 0;
	FILE *f = fopen("/proc/iomem", "re");
	int at;

	*text = 0;
	while (f && fgets(line, sizeof(line), f)) {
		depth = strspn(line, " ");
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%llx-%llx : %n", &from, &to, &at) < 2)
			continue;
		if (to < start || from > start + bytes - 1)
			continue;
		if (*pending && depth <= last)
			append(text, size, "by ", pending);
		snprintf(pending, sizeof(pending), "%s", line + at);
		last = depth;
	}
	if (*pending)
		append(text, size, "by ", pending);
	if (f)
		fclose(f);
}

static void find_mounts(unsigned int major_nr, unsigned int minor_nr, char *text, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], where[1024];
	unsigned int ma, mi;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &ma, &mi, where) == 3 &&
		    ma == major_nr && mi == minor_nr)
			append(text, size, "mounted at ", where);
	if (f)
		fclose(f);
}

static void find_holders(unsigned int major_nr, unsigned int minor_nr, char *text, size_t size)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major_nr, minor_nr);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			append(text, size, "by ", e->d_name);
	if (dir)
		closedir(dir);
}

static void find_ours(dev_t devt, char *text, size_t size)
{
	char path[512];
	struct stat st;
	size_t count, i;
	char **names = device_names(&count), *info;

	for (i = 0; i < count; i++) {
		info = attr_read(names[i], "info");
		if (info && info_get(info, "beneath", path, sizeof(path)) && !stat(path, &st) &&
		    st.st_rdev == devt)
			append(text, size, "by mem2m ", names[i]);
		free(info);
	}
	free_names(names, count);
}

static void find_users(dev_t devt, char *text, size_t size)
{
	find_mounts(major(devt), minor(devt), text, size);
	find_holders(major(devt), minor(devt), text, size);
	find_ours(devt, text, size);
}

/* Those of the device or partition in this folder of sysfs. */
static void find_users_at(const char *folder, char *text, size_t size)
{
	unsigned int major_nr, minor_nr;
	char path[PATH_MAX + 8];
	FILE *f;

	snprintf(path, sizeof(path), "%s/dev", folder);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u:%u", &major_nr, &minor_nr) == 2)
		find_users(makedev(major_nr, minor_nr), text, size);
	if (f)
		fclose(f);
}

/* Memory has one user, whichever of a disk's partitions that has. */
static void find_users_beside(dev_t devt, char *text, size_t size)
{
	char path[64], disk[PATH_MAX], part[2 * PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(devt), minor(devt));
	if (!realpath(path, disk))
		return;
	snprintf(part, sizeof(part), "%s/partition", disk);
	if (!access(part, F_OK))
		*strrchr(disk, '/') = 0;
	find_users_at(disk, text, size);
	dir = opendir(disk);
	while (dir && (e = readdir(dir))) {
		snprintf(part, sizeof(part), "%s/%s/partition", disk, e->d_name);
		if (access(part, F_OK))
			continue;
		*strrchr(part, '/') = 0;
		find_users_at(part, text, size);
	}
	if (dir)
		closedir(dir);
}

void owner_of_device(const char *path, char *text, size_t size)
{
	struct stat st;

	*text = 0;
	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return;
	find_users(st.st_rdev, text, size);
	if (!*text)
		find_users_beside(st.st_rdev, text, size);
}
