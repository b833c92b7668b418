// SPDX-License-Identifier: GPL-2.0-only
/* Who has a range of memory or a device: the kernel says only that somebody has. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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

void owner_of_device(const char *path, char *text, size_t size)
{
	struct stat st;

	*text = 0;
	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return;
	find_mounts(major(st.st_rdev), minor(st.st_rdev), text, size);
	find_holders(major(st.st_rdev), minor(st.st_rdev), text, size);
	find_ours(st.st_rdev, text, size);
}
