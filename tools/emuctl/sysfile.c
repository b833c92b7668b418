// SPDX-License-Identifier: GPL-2.0-only
/* The module's configfs files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emuctl.h"

#define PATIENCE_MS 3000
#define PAUSE_MS 10

int complain(const char *fmt, ...)
{
	va_list args;

	fputs("emuctl: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return 1;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int load_module(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("modprobe", "modprobe", "emudisk", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return complain("modprobe: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain("cannot load the emudisk module");
	return 0;
}

int setup(bool load)
{
	if (exists(ROOT))
		return 0;
	if (geteuid())
		return complain("needs root");
	if (load && !exists("/sys/module/emudisk") && load_module())
		return 1;
	if (exists("/sys/kernel/config") && !exists(ROOT))
		mount("none", "/sys/kernel/config", "configfs", 0, NULL);
	if (exists(ROOT))
		return 0;
	return complain(load ? "no " ROOT " although the module is loaded" :
			       "the emudisk module is not loaded");
}

void attr_path(char *path, size_t size, const char *dev, const char *attr)
{
	if (dev)
		snprintf(path, size, ROOT "/%s/%s", dev, attr);
	else
		snprintf(path, size, ROOT "/%s", attr);
}

char *attr_read(const char *dev, const char *attr)
{
	char path[512], *text = calloc(1, 65536);
	size_t len = 0;
	ssize_t n;
	int fd;

	attr_path(path, sizeof(path), dev, attr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text) {
		free(text);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	while (len < 65535 && (n = read(fd, text + len, 65535 - len)) > 0)
		len += n;
	close(fd);
	return text;
}

static int try_write(const char *dev, const char *attr, const char *text)
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

static int explain(const char *dev, int err)
{
	char *why = attr_read(dev, "error");

	if (why && *why && *why != '\n') {
		why[strcspn(why, "\n")] = 0;
		complain("%s", why);
	} else if (dev && err == ENOENT) {
		complain("no device %s", dev);
	} else {
		complain("%s", strerror(err));
	}
	free(why);
	return 1;
}

int attr_write(const char *dev, const char *attr, const char *text)
{
	int err = try_write(dev, attr, text);

	return err ? explain(dev, err) : 0;
}

static long patience(void)
{
	const char *text = getenv("EMUCTL_PATIENCE_MS");

	return text ? strtol(text, NULL, 10) : PATIENCE_MS;
}

/* For what must wait until nobody has the device open: udev looks at every disk for a moment. */
int attr_write_patiently(const char *dev, const char *attr, const char *text)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	long left = patience();
	int err;

	while ((err = try_write(dev, attr, text)) == EBUSY && left > 0) {
		nanosleep(&pause, NULL);
		left -= PAUSE_MS;
	}
	return err ? explain(dev, err) : 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char * const *)a, *(char * const *)b);
}

char **device_names(size_t *count)
{
	char **names = NULL;
	struct dirent *e;
	DIR *dir = opendir(ROOT);

	*count = 0;
	if (!dir)
		return NULL;
	while ((e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		names = realloc(names, (*count + 1) * sizeof(*names));
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

char *join(char **words, int count)
{
	size_t len = 1;
	char *text;
	int i;

	for (i = 0; i < count; i++)
		len += strlen(words[i]) + 1;
	text = calloc(1, len);
	for (i = 0; i < count; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, words[i]);
	}
	return text;
}
