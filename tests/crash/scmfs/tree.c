// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cuts.h"

#define VALUE	(16u << 10)	/* of an attribute, at most here */

static uint64_t sum(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		h = (h ^ *p++) * 1099511628211ull;
	return h;
}

/* Each name and value by itself, added up: whatever order they come in. */
static uint64_t attrs(const char *path)
{
	static char names[4096], value[VALUE];
	ssize_t len = llistxattr(path, names, sizeof(names)), n;
	uint64_t all = 0;
	const char *name;

	NEED(len >= 0);
	for (name = names; name < names + len; name += strlen(name) + 1) {
		n = lgetxattr(path, name, value, sizeof(value));
		NEED(n >= 0);
		all += sum(sum(1, name, strlen(name)), value, n);
	}
	return all;
}

static void read_all(struct entry *e, const char *path, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	NEED(fd >= 0);
	e->content = malloc(size + 1);
	e->size = size;
	NEED(e->content && pread(fd, e->content, size + 1, 0) == (ssize_t)size);
	close(fd);
}

static int64_t ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static void add(struct tree *t, const char *path, const char *shown, const struct statx *st)
{
	struct entry *e;
	char target[PATH_MAX] = "";

	t->entry = realloc(t->entry, (t->nr + 1) * sizeof(*t->entry));
	NEED(t->entry);
	e = &t->entry[t->nr++];
	*e = (struct entry){ .path = strdup(shown), .mode = st->stx_mode, .attrs = attrs(path),
			     .mtime = ns(&st->stx_mtime), .ctime = ns(&st->stx_ctime) };
	if (S_ISLNK(st->stx_mode))
		NEED(readlink(path, target, sizeof(target) - 1) == (ssize_t)st->stx_size);
	if (S_ISREG(st->stx_mode))
		read_all(e, path, st->stx_size);
	NEED(asprintf(&e->what, "inode %llu type %o links %u own %u:%u dev %u:%u size %llu made %lld flags %llx %s",
		      (unsigned long long)st->stx_ino, st->stx_mode & S_IFMT, st->stx_nlink, st->stx_uid, st->stx_gid,
		      st->stx_rdev_major, st->stx_rdev_minor,
		      S_ISDIR(st->stx_mode) ? 0 : (unsigned long long)st->stx_size, (long long)ns(&st->stx_btime),
		      (unsigned long long)(st->stx_attributes & ~(STATX_ATTR_MOUNT_ROOT | STATX_ATTR_DAX)), target) > 0);
}

static void see(struct tree *t, const char *top, const char *path)
{
	struct statx st;
	struct dirent *d;
	char below[PATH_MAX];
	DIR *dir;

	NEED(!statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st));
	add(t, path, path + strlen(top), &st);
	if (!S_ISDIR(st.stx_mode))
		return;
	dir = opendir(path);
	NEED(dir);
	while (errno = 0, (d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		see(t, top, below);
	}
	NEED(!errno);
	closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

struct tree *tree_see(const char *top)
{
	struct tree *t = calloc(1, sizeof(*t));

	NEED(t);
	see(t, top, top);
	qsort(t->entry, t->nr, sizeof(*t->entry), by_path);
	return t;
}

void tree_free(struct tree *t)
{
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < t->nr; i++) {
		free(t->entry[i].path);
		free(t->entry[i].what);
		free(t->entry[i].content);
	}
	free(t->entry);
	free(t);
}

static bool same_content(const struct entry *a, const struct entry *b)
{
	return a->size == b->size && !memcmp(a->content ?: (uint8_t *)"", b->content ?: (uint8_t *)"", a->size);
}

static bool same_rights(const struct entry *a, const struct entry *b)
{
	return a->mode == b->mode && a->attrs == b->attrs;
}

static bool same(const struct entry *a, const struct entry *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->what, b->what) && same_rights(a, b) && a->mtime == b->mtime &&
		a->ctime == b->ctime && same_content(a, b);
}

bool tree_same(const struct tree *a, const struct tree *b)
{
	unsigned int i;

	for (i = 0; i < a->nr && i < b->nr; i++)
		if (!same(&a->entry[i], &b->entry[i]))
			return false;
	return a->nr == b->nr;
}

static bool is_between(int64_t t, int64_t a, int64_t b)
{
	return a <= b ? a <= t && t <= b : b <= t && t <= a;
}

/* A byte of both sizes is the one's or the other's. */
static bool half_way(const struct entry *e, const struct entry *a, const struct entry *b)
{
	const struct entry *like = strcmp(e->what, a->what) ? b : a;
	size_t both = a->size < b->size ? a->size : b->size, i;

	if (strcmp(e->what, like->what) || e->size != like->size || !same_rights(e, b) ||
	    !is_between(e->mtime, a->mtime, b->mtime) || !is_between(e->ctime, a->ctime, b->ctime))
		return false;
	for (i = 0; i < e->size; i++)
		if (e->content[i] != like->content[i] &&
		    (i >= both || (e->content[i] != a->content[i] && e->content[i] != b->content[i])))
			return false;
	return true;
}

/* In all but @path as @after; that is as @fn says. */
static bool all_but(const struct tree *t, const struct tree *before, const struct tree *after, const char *path,
		    bool (*fn)(const struct entry *e, const struct entry *a, const struct entry *b))
{
	unsigned int i;

	if (t->nr != before->nr || t->nr != after->nr)
		return false;
	for (i = 0; i < t->nr; i++) {
		const struct entry *e = &t->entry[i], *a = &before->entry[i], *b = &after->entry[i];

		if (strcmp(e->path, a->path) || strcmp(e->path, b->path))
			return false;
		if (*e->path && !strcmp(e->path + 1, path) ? !fn(e, a, b) : !same(e, b))
			return false;
	}
	return true;
}

bool tree_between(const struct tree *t, const struct tree *before, const struct tree *after, const char *path)
{
	return all_but(t, before, after, path, half_way);
}

static bool without_attrs(const struct entry *e, const struct entry *a, const struct entry *b)
{
	return !strcmp(e->what, a->what) && e->mode == a->mode && e->attrs == b->attrs && e->mtime == a->mtime &&
		is_between(e->ctime, a->ctime, b->ctime) && same_content(e, a);
}

static bool without_both(const struct entry *e, const struct entry *a, const struct entry *b)
{
	return !strcmp(e->what, a->what) && same_rights(e, b) && e->mtime == a->mtime &&
		is_between(e->ctime, a->ctime, b->ctime) && same_content(e, a);
}

bool tree_without_rights(const struct tree *t, const struct tree *before, const struct tree *after, const char *path,
			 bool mode)
{
	return all_but(t, before, after, path, mode ? without_both : without_attrs);
}

/* Bytes of a path up to the end of its first name; 0: the top directory. */
static size_t first_name(const char *path)
{
	return *path ? 1 + strcspn(path + 1, "/") : 0;
}

/* Where those with this first name begin in a tree, and how many they are. */
static const struct entry *group(const struct tree *t, const char *path, size_t len, unsigned int *nr)
{
	const struct entry *first = NULL;
	unsigned int i;

	*nr = 0;
	for (i = 0; i < t->nr; i++) {
		if (first_name(t->entry[i].path) != len || strncmp(t->entry[i].path, path, len))
			continue;
		if (!first)
			first = &t->entry[i];
		++*nr;
	}
	return first;
}

/* "p1-x" comes between "p1" and "p1/x": names there are such that this doesn't happen. */
static bool same_group(const struct entry *a, unsigned int nr_a, const struct entry *b, unsigned int nr_b)
{
	unsigned int i;

	for (i = 0; i < nr_a && i < nr_b; i++)
		if (!same(&a[i], &b[i]))
			return false;
	return nr_a == nr_b;
}

static bool each_group(const struct tree *t, const struct tree *before, const struct tree *after, const char *path,
		       bool parts)
{
	size_t len = first_name(path);
	unsigned int nr, nr_a, nr_b;
	const struct entry *e = group(t, path, len, &nr), *a = group(before, path, len, &nr_a);
	const struct entry *b = group(after, path, len, &nr_b);

	return same_group(e, nr, a, nr_a) || same_group(e, nr, b, nr_b) ||
		(parts && nr == 1 && nr_a == 1 && nr_b == 1 && half_way(e, a, b));
}

static bool groups_of(const struct tree *of, const struct tree *t, const struct tree *before, const struct tree *after,
		      bool parts)
{
	unsigned int i;

	for (i = 0; i < of->nr; i++)
		if (!each_group(t, before, after, of->entry[i].path, parts))
			return false;
	return true;
}

bool tree_each(const struct tree *t, const struct tree *before, const struct tree *after, bool parts)
{
	return groups_of(t, t, before, after, parts) && groups_of(before, t, before, after, parts) &&
		groups_of(after, t, before, after, parts);
}

static const struct entry *find(const struct tree *t, const char *path)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		if (!strcmp(t->entry[i].path, path))
			return &t->entry[i];
	return NULL;
}

static void print(const char *which, const struct entry *e)
{
	if (e)
		printf("# %s: %s %s mode %o attributes %llx times %lld %lld content %llx\n", which,
		       *e->path ? e->path : "/", e->what, e->mode, (unsigned long long)e->attrs, (long long)e->mtime,
		       (long long)e->ctime, (unsigned long long)sum(1, e->content, e->size));
	else
		printf("# %s: nothing\n", which);
}

static void print_three(const char *path, const struct tree *t, const struct tree *before, const struct tree *after)
{
	const struct entry *is = find(t, path), *a = find(before, path), *b = find(after, path);

	if (is && ((a && same(is, a)) && (b && same(is, b))))
		return;
	print("before", a);
	print("after", b);
	print("is", is);
}

void tree_explain(const struct tree *t, const struct tree *before, const struct tree *after)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		print_three(t->entry[i].path, t, before, after);
	for (i = 0; i < after->nr; i++)
		if (!find(t, after->entry[i].path))
			print_three(after->entry[i].path, t, before, after);
	for (i = 0; i < before->nr; i++)
		if (!find(t, before->entry[i].path) && !find(after, before->entry[i].path))
			print_three(before->entry[i].path, t, before, after);
}

/* --- it must be of use -------------------------------------------------------------------------- */

static void lengthen(const char *path)
{
	static const char more[100] = "more";
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	NEED(fd >= 0 && write(fd, more, sizeof(more)) == (ssize_t)sizeof(more) && !close(fd));
}

void tree_use(const char *top)
{
	struct tree *t;
	char path[PATH_MAX];
	struct stat st;
	unsigned int i;
	int fd;

	snprintf(path, sizeof(path), "%s/new", top);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
	NEED(fd >= 0 && !close(fd));
	snprintf(path, sizeof(path), "%s/newdir", top);
	NEED(!mkdir(path, 0755));
	t = tree_see(top);
	for (i = t->nr; i-- > 1;) {	/* what is below comes behind */
		snprintf(path, sizeof(path), "%s%s", top, t->entry[i].path);
		NEED(!lstat(path, &st));
		if (S_ISREG(st.st_mode))
			lengthen(path);
	}
	for (i = t->nr; i-- > 1;) {
		snprintf(path, sizeof(path), "%s%s", top, t->entry[i].path);
		if (remove(path))
			wrong("%s can't be removed: %m", path);
	}
	tree_free(t);
}
