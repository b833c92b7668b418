// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "configfs.h"

#ifndef SYS_MODULE
#define SYS_MODULE	"/sys/module"
#endif
#define PAUSE_MS	10
#define LOOK_MS		100
#define MOST		65536u

int complain(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", configfs.tool);
	if (configfs.about)
		fprintf(stderr, "%s: ", configfs.about);
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

/* It may be about to be, or to fail. One that is built in has no state. */
static bool is_loaded(void)
{
	char path[128], state[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), SYS_MODULE "/%s/initstate", configfs.module);
	f = fopen(path, "re");
	if (!f) {
		*strrchr(path, '/') = 0;
		return exists(path);
	}
	if (!fgets(state, sizeof(state), f))
		*state = 0;
	fclose(f);
	return !strcmp(state, "live\n");
}

static int load_module(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("modprobe", "modprobe", configfs.module, (char *)NULL);
		/* udev gives its programs no PATH */
		execl("/sbin/modprobe", "modprobe", configfs.module, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return complain("modprobe: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain("cannot load the %s module", configfs.module);
	return 0;
}

/*
 * Who may not mount, as udev's programs may not, waits for somebody who does: a mount reaches where
 * it is waited for.
 */
static void mount_configfs(const char *root, long patience_ms)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	if (exists(CONFIGFS_MOUNT) && !mount("none", CONFIGFS_MOUNT, "configfs", 0, NULL))
		return;
	for (; !exists(root) && patience_ms > 0; patience_ms -= LOOK_MS)
		nanosleep(&pause, NULL);
}

int setup_within(long patience_ms)
{
	char root[128];

	snprintf(root, sizeof(root), CONFIGFS_MOUNT "/%s", configfs.module);
	if (exists(root))
		return 0;
	if (geteuid())
		return complain("must be root");
	if (!is_loaded() && load_module())
		return 1;
	if (!exists(root))
		mount_configfs(root, patience_ms);
	return exists(root) ? 0 : complain("no %s although the module is loaded", root);
}

int setup(void)
{
	return setup_within(0);
}

/* No device has another one: it would lead out of the folder, or be all of them. */
static bool is_name(const char *dev)
{
	return !dev || (*dev && strcmp(dev, ".") && strcmp(dev, "..") && !strchr(dev, '/'));
}

void attr_path(char *path, size_t size, const char *dev, const char *attr)
{
	snprintf(path, size, CONFIGFS_MOUNT "/%s%s%s%s%s", configfs.module, dev ? "/" : "",
		 dev ?: "", attr ? "/" : "", attr ?: "");
}

char *attr_read(const char *dev, const char *attr)
{
	char path[512], *text = calloc(1, MOST);
	size_t len = 0;
	ssize_t n;
	int fd;

	if (!text)
		return NULL;
	if (!is_name(dev)) {
		free(text);
		return NULL;
	}
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

int attr_write(const char *dev, const char *attr, const char *text)
{
	size_t len = strlen(text);
	char path[512];
	int fd, err = 0;
	ssize_t n;

	if (!is_name(dev))
		err = ENOENT;
	/* the kernel takes less than a page, and would do what it has got of more */
	else if (len >= (size_t)sysconf(_SC_PAGESIZE))
		err = EINVAL;
	if (err)
		return err;
	attr_path(path, sizeof(path), dev, attr);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	n = write(fd, text, len);
	if (n < 0)
		err = errno;
	else if ((size_t)n != len)
		err = EINVAL;
	close(fd);
	return err;
}

int attr_write_patiently(const char *dev, const char *attr, const char *text)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	long left = configfs.patience_ms;
	int err;

	while ((err = attr_write(dev, attr, text)) == EBUSY && left > 0) {
		if (configfs.hopeless && configfs.hopeless(dev))
			break;
		nanosleep(&pause, NULL);
		left -= PAUSE_MS;
	}
	return err;
}

struct open_file open_file;

void open_file_is(int fd, const char *path)
{
	snprintf(open_file.number, sizeof(open_file.number), "%d", fd);
	open_file.path = path;
}

/* A line that begins with the number of that file begins with its path. */
static char *by_path(char *why)
{
	size_t len = strlen(open_file.number);
	char *text;

	if (!open_file.path || strncmp(why, open_file.number, len) || why[len] != ':' ||
	    asprintf(&text, "%s%s", open_file.path, why + len) < 0)
		return why;
	free(why);
	return text;
}

char *attr_error(const char *dev, int err)
{
	char *why = attr_read(dev, "error");

	if (why && *why && *why != '\n') {
		why[strcspn(why, "\n")] = 0;
		return by_path(why);
	}
	free(why);
	if (dev && err == ENOENT && asprintf(&why, "no device %s", dev) >= 0)
		return why;
	return strdup(strerror(err));
}

int attr_explain(const char *dev, int err)
{
	char *why = err ? attr_error(dev, err) : NULL;

	if (err)
		complain("%s", why ? why : strerror(err));
	free(why);
	return !!err;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char * const *)a, *(char * const *)b);
}

char **device_names(size_t *count)
{
	char path[512], **names = NULL, **more;
	struct dirent *e;
	DIR *dir;

	*count = 0;
	attr_path(path, sizeof(path), NULL, NULL);
	dir = opendir(path);
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
