// SPDX-License-Identifier: GPL-2.0-only
/* See mounts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "bdev.h"
#include "mounts.h"
#include "msg.h"

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

/* Type and source follow optional fields and a lone "-". */
static bool parse(const char *line, struct mount *m)
{
	const char *rest = strstr(line, " - ");
	unsigned int ma, mi;

	if (!rest || sscanf(line, "%*u %*u %u:%u %*s %4095s", &ma, &mi, m->where) != 3 ||
	    sscanf(rest, " - %63s %4095s", m->type, m->source) != 2)
		return false;
	m->dev = makedev(ma, mi);
	unescape(m->where);
	unescape(m->source);
	return true;
}

/* Call @fn for each, until it returns true. */
static bool each_mount(bool (*fn)(void *ctx, const struct mount *m), void *ctx)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool stop = false;
	char *line = NULL;
	size_t size = 0;
	struct mount m;

	while (f && !stop && getline(&line, &size, f) > 0)
		if (parse(line, &m))
			stop = fn(ctx, &m);
	free(line);
	if (f)
		fclose(f);
	return stop;
}

struct of_device {
	dev_t rdev;
	const char *type;
	char *where;
};

static bool is_from(void *ctx, const struct mount *m)
{
	struct of_device *d = ctx;

	if (m->dev == d->rdev && !strncmp(m->type, d->type, strlen(d->type)))
		d->where = xstrdup(m->where);
	return d->where;
}

char *bdev_mounted(dev_t rdev, const char *type)
{
	struct of_device d = { .rdev = rdev, .type = type };

	each_mount(is_from, &d);
	return d.where;
}

struct of_path {
	const char *path;
	struct mount *best;
	bool found;
};

/* Of two in the same place the later one hides the other. */
static bool take_deeper(void *ctx, const struct mount *m)
{
	struct of_path *p = ctx;
	size_t len = strcmp(m->where, "/") ? strlen(m->where) : 0;

	if (strncmp(p->path, m->where, len) || (p->path[len] && p->path[len] != '/') ||
	    (p->found && strlen(m->where) < strlen(p->best->where)))
		return false;
	*p->best = *m;
	p->found = true;
	return false;
}

bool mount_of(const char *path, struct mount *m)
{
	struct of_path p = { .path = path, .best = m };

	each_mount(take_deeper, &p);
	return p.found;
}

bool mount_is_memory(const struct mount *m)
{
	static const char * const types[] = { "tmpfs", "ramfs", "devtmpfs", "rootfs" };
	unsigned int i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(m->type, types[i]))
			return true;
	return false;
}
