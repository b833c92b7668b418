// SPDX-License-Identifier: GPL-2.0-only
/* The module's configfs files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem2mctl.h"

#define PATIENCE_MS	1000
#define PAUSE_MS	10
#define MOST		8192u

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int load_module(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("modprobe", "modprobe", "mem2m", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return complain("modprobe: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain("cannot load the mem2m module");
	return EXIT_OK;
}

int setup(void)
{
	if (exists(ROOT))
		return EXIT_OK;
	if (geteuid())
		return complain("must be root");
	if (!exists("/sys/module/mem2m") && load_module())
		return EXIT_FAILED;
	if (exists("/sys/kernel/config") && !exists(ROOT))
		mount("none", "/sys/kernel/config", "configfs", 0, NULL);
	return exists(ROOT) ? EXIT_OK : complain("no " ROOT " although the module is loaded");
}

void attr_path(char *path, size_t size, const char *dev, const char *attr)
{
	if (attr)
		snprintf(path, size, ROOT "/%s/%s", dev, attr);
	else
		snprintf(path, size, ROOT "/%s", dev);
}

char *attr_read(const char *dev, const char *attr)
{
	char path[512], *text = calloc(1, MOST);
	size_t len = 0;
	ssize_t n;
	int fd;

	if (!text)
		return NULL;
	attr_path(path, sizeof(path), dev, attr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		free(text);
		return NULL;
	}
	while (len < MOST - 1 && (n = read(fd, text + len, MOST - 1 - len)) > 0)
		len += n;
	close(fd);
	return text;
}

/* 0 or an errno, without a word */
int attr_write(const char *dev, const char *attr, const char *text)
{
	char path[512];
	int fd, err = 0;

	attr_path(path, sizeof(path), dev, attr);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Why the last write failed, to be freed: in the module's words if it has any. */
char *attr_error(const char *dev, int err)
{
	char *why = attr_read(dev, "error");

	if (why && *why && *why != '\n') {
		why[strcspn(why, "\n")] = 0;
		return why;
	}
	free(why);
	if (err == ENOENT && asprintf(&why, "no device %s", dev) >= 0)
		return why;
	return strdup(strerror(err));
}

static bool held_by_drivers(const char *dev)
{
	char *info = attr_read(dev, "info");
	bool held = info && info_number(info, "drivers");

	free(info);
	return held;
}

/* For what must wait until nobody has the device open: udev looks at every disk for a moment. */
int attr_write_patiently(const char *dev, const char *attr, const char *text)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	int waited, err = 0;

	for (waited = 0; waited <= PATIENCE_MS; waited += PAUSE_MS) {
		err = attr_write(dev, attr, text);
		if (err != EBUSY || held_by_drivers(dev))
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char * const *)a, *(char * const *)b);
}

char **device_names(size_t *count)
{
	char **names = NULL, **more;
	struct dirent *e;
	DIR *dir = opendir(ROOT);

	*count = 0;
	if (!dir)
		return NULL;
	while ((e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		more = realloc(names, (*count + 1) * sizeof(*names));
		if (!more)
			break;
		names = more;
		names[(*count)++] = strdup(e->d_name);
	}
	closedir(dir);
	if (*count)
		qsort(names, *count, sizeof(*names), by_name);
	return names;
}

void free_names(char **names, size_t count)
{
	while (count)
		free(names[--count]);
	free(names);
}
