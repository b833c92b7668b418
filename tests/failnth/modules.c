// SPDX-License-Identifier: GPL-2.0-only
/* Loading and unloading each module; what another needs is loaded on the way. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "failnth.h"

static char *image;
static size_t image_len;
static const char *parameters = "";

static bool loaded(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	for (char *p = path + sizeof("/sys/module/") - 1; *p; p++)
		if (*p == '-')
			*p = '_';
	return !access(path, F_OK);
}

static int load(void)
{
	return syscall(SYS_init_module, image, image_len, parameters);
}

static int unload(const char *name)
{
	char under[64];

	snprintf(under, sizeof(under), "%s", name);
	for (char *p = under; *p; p++)
		if (*p == '-')
			*p = '_';
	return syscall(SYS_delete_module, under, O_NONBLOCK);
}

static void read_image(const char *name)
{
	struct utsname uts;
	struct stat st;
	char path[256];
	int fd;

	uname(&uts);
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/%s.ko", uts.release, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die("%s", path);
	free(image);
	image_len = st.st_size;
	image = malloc(image_len);
	if (!image || read(fd, image, image_len) != (ssize_t)image_len)
		die("%s", path);
	close(fd);
}

static void have(const char *name)
{
	if (loaded(name))
		return;
	read_image(name);
	if (load())
		die("cannot load %s", name);
}

static void need(const char *name)
{
	if (strcmp(name, "evenkeel") && strcmp(name, "emudisk"))
		have("evenkeel");
	if (!strcmp(name, "evenkeel_biogen_names")) {
		have("nameless");
		have("evenkeel_biogen");
	}
}

static void unloaded(const struct op *op)
{
	static const char *last;

	parameters = !strcmp(op->arg, "mem2m") ? "create=a:1M,b:1M" : "";
	if (last != op->arg) {
		need(op->arg);
		read_image(op->arg);
	}
	last = op->arg;
	if (loaded(op->arg) && unload(op->arg))
		die("cannot unload %s", op->arg);
}

static int try_load(const struct op *op)
{
	(void)op;
	return load();
}

static void after_load(const struct op *op, int error)
{
	if (loaded(op->arg) != !error)
		wrong("%s, but it is %sloaded", strerror(error), error ? "" : "not ");
}

static void is_loaded(const struct op *op)
{
	unloaded(op);
	if (load())
		die("cannot load %s", op->arg);
}

static int try_unload(const struct op *op)
{
	return unload(op->arg);
}

static void after_unload(const struct op *op, int error)
{
	if (loaded(op->arg) != !!error)
		wrong("unloading: %s, but it is %sloaded", strerror(error), error ? "not " : "");
	if (error && unload(op->arg))
		wrong("and never unloads: %s", strerror(errno));
}

const struct op module_ops[] = {
	{ "load evenkeel", unloaded, try_load, NULL, after_load, "evenkeel" },
	{ "unload evenkeel", is_loaded, try_unload, NULL, after_unload, "evenkeel" },
	{ "load emudisk", unloaded, try_load, NULL, after_load, "emudisk" },
	{ "unload emudisk", is_loaded, try_unload, NULL, after_unload, "emudisk" },
	{ "load dm-hybrid", unloaded, try_load, NULL, after_load, "dm-hybrid" },
	{ "unload dm-hybrid", is_loaded, try_unload, NULL, after_unload, "dm-hybrid" },
	{ "load mem2m", unloaded, try_load, NULL, after_load, "mem2m" },
	{ "unload mem2m", is_loaded, try_unload, NULL, after_unload, "mem2m" },
	{ "load nameless", unloaded, try_load, NULL, after_load, "nameless" },
	{ "unload nameless", is_loaded, try_unload, NULL, after_unload, "nameless" },
	{ "load evenkeel_biogen", unloaded, try_load, NULL, after_load, "evenkeel_biogen" },
	{ "unload evenkeel_biogen", is_loaded, try_unload, NULL, after_unload, "evenkeel_biogen" },
	{ "load evenkeel_biogen_names", unloaded, try_load, NULL, after_load,
	  "evenkeel_biogen_names" },
	{ "unload evenkeel_biogen_names", is_loaded, try_unload, NULL, after_unload,
	  "evenkeel_biogen_names" },
	{ "load scmfs", unloaded, try_load, NULL, after_load, "scmfs" },
	{ "unload scmfs", is_loaded, try_unload, NULL, after_unload, "scmfs" },
	{ }
};
