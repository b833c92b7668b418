// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's tree into a folder. A tree that was decoded has no path that leads out of it; and no
 * link that somebody else puts there while it is written does: the folder is this user's, nobody
 * else may write into it or into what is made in it until that is done, and folders are opened
 * below it only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../common/configfs.h"
#include "acl.h"
#include "import.h"
#include "say.h"

struct export {
	struct ns_store *store;
	int top, above;		/* @above: the folder of what is written now */
	char *above_path;
	uint8_t *data;		/* NS_BATCH blocks */
	bool *failed;		/* of each node of the tree */
};

static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!folder) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	do
		entry = readdir(folder);
	while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	closedir(folder);
	return !entry;
}

/* The folder @top, made or found empty, which is nobody else's from here on. -1 after a message. */
static int open_top(const char *folder)
{
	struct stat status;
	int fd;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return complain("%s: %s", folder, strerror(errno)), -1;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		complain("%s: %s", folder, strerror(errno));
	else if (status.st_uid != geteuid())
		complain("%s is somebody else's", folder);
	else if (!is_empty(fd))
		complain("%s is not empty", folder);
	else if (fchmod(fd, 0700) || acl_remove(fd))
		complain("%s: %s", folder, strerror(errno));
	else if (!is_empty(fd))	/* what others put there before they couldn't any more */
		complain("%s is not empty", folder);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- folders below it ------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder that @path is in. Return: a file, to be closed, or an error. */
static int open_above(int top, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	const char *name = name_of(path);
	char *above = strndup(path, name > path ? name - path - 1 : 0);
	int fd;

	if (!above)
		return -ENOMEM;
	fd = syscall(SYS_openat2, top, *above ? above : ".", &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	free(above);
	return fd;
}

/* What is in one folder comes together, but for what is in folders in it. */
static int enter(struct export *export, const char *path)
{
	size_t length = name_of(path) - path;
	int fd;

	if (export->above_path && strlen(export->above_path) == length &&
	    !memcmp(path, export->above_path, length))
		return 0;
	fd = open_above(export->top, path);
	if (fd < 0)
		return fd;
	if (export->above >= 0)
		close(export->above);
	export->above = fd;
	free(export->above_path);
	export->above_path = strndup(path, length);
	return export->above_path ? 0 : -ENOMEM;
}

/* --- what is in a file ------------------------------------------------------------------------ */

static int write_all(int fd, const uint8_t *data, size_t bytes, off_t at)
{
	ssize_t n;

	for (; bytes; bytes -= n, at += n, data += n) {
		n = pwrite(fd, data, bytes, at);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int put_run(struct export *export, const struct ns_node *node, int fd, uint32_t from,
		   uint32_t nr)
{
	uint64_t at = (uint64_t)from * export->store->block;
	uint64_t bytes = (uint64_t)nr * export->store->block;

	return write_all(fd, export->data, bytes < node->size - at ? bytes : node->size - at, at);
}

/*
 * Those of @nr blocks that come before the first damaged one: *@good. They are read once more
 * without it, when another one may be damaged.
 */
static int put_good(struct export *export, const struct ns_node *node, int fd, uint32_t from,
		    uint32_t nr, uint32_t *good)
{
	unsigned int bad;
	int err = 0;

	while (nr) {
		err = store_read(export->store, &node->piece[from], nr, export->data, &bad);
		if (err != -EUCLEAN)
			break;
		nr = bad;
		err = 0;
	}
	*good = nr;
	return err || !nr ? err : put_run(export, node, fd, from, nr);
}

/* Blocks that are nowhere become holes; -EUCLEAN: damaged ones have become holes, too. */
static int put_data(struct export *export, const struct ns_node *node, int fd)
{
	int err = ftruncate(fd, node->size) ? -errno : 0, damaged = 0;
	uint32_t i, nr, good;

	for (i = 0; !err && i < node->blocks; i += nr) {
		nr = 1;
		if (!node->piece[i].serial)
			continue;
		while (nr < NS_BATCH && i + nr < node->blocks && node->piece[i + nr].serial)
			nr++;
		err = put_good(export, node, fd, i, nr, &good);
		if (good == nr)
			continue;
		damaged = -EUCLEAN;
		nr = good + 1;
	}
	return err ? err : damaged;
}

static int put_file(struct export *export, const struct ns_node *node)
{
	int fd = openat(export->above, name_of(node->path),
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = put_data(export, node, fd);
	if (close(fd) && (!err || err == -EUCLEAN))
		err = -errno;
	return err;
}

/* --- everything ------------------------------------------------------------------------------- */

static int put_node(const struct export *export, const struct ns_node *node)
{
	mode_t kind = node->type == NS_FIFO ? S_IFIFO : node->type == NS_CHAR ? S_IFCHR : S_IFBLK;
	dev_t device = makedev(node->device >> 32, node->device & 0xffffffff);

	return mknodat(export->above, name_of(node->path), kind | 0600, device) ? -errno : 0;
}

static int put_link(const struct export *export, const struct ns_node *node)
{
	int from = open_above(export->top, node->target), err;

	if (from < 0)
		return from;
	err = linkat(from, name_of(node->target), export->above, name_of(node->path), 0) ? -errno :
											  0;
	close(from);
	return err;
}

static int put_path(struct export *export, const struct ns_node *node)
{
	int err = enter(export, node->path);

	if (err)
		return err;
	switch (node->type) {
	case NS_DIRECTORY:
		return *node->path && mkdirat(export->above, name_of(node->path), 0700) ? -errno :
											 0;
	case NS_FILE:
		return put_file(export, node);
	case NS_SYMLINK:
		return symlinkat(node->target, export->above, name_of(node->path)) ? -errno : 0;
	case NS_LINK:
		return put_link(export, node);
	default:
		return put_node(export, node);
	}
}

/*
 * Whose it is, who may use it, and when it changed. Only root gives files away; what stays with who
 * exports is not to run as him because it ran as somebody else.
 */
static int put_status(struct export *export, const struct ns_node *node)
{
	const char *name = *node->path ? name_of(node->path) : ".";
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = node->mtime, .tv_nsec = node->mtime_nsec },
	};
	mode_t mode = node->mode;
	int err = enter(export, node->path);

	if (err || node->type == NS_LINK)
		return err;
	if (fchownat(export->above, name, node->uid, node->gid, AT_SYMLINK_NOFOLLOW)) {
		if (errno != EPERM)
			return -errno;
		mode &= 01777;
	}
	if (node->type != NS_SYMLINK && fchmodat(export->above, name, mode, 0))
		return -errno;
	return utimensat(export->above, name, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/* Is what comes after it to fail the same way? */
static bool is_final(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS || err == -EIO || err == -ENOMEM;
}

static int tell(const struct ns_node *node, int err)
{
	return say_of(node->path,
		      err == -EUCLEAN ? "damaged; the rest of it is there" : strerror(-err));
}

/* What can't be written is told, and the rest is written. */
static int put_all(struct export *export)
{
	const struct ns_tree *tree = &export->store->tree;
	int err, result = 0;
	size_t i;

	for (i = 0; i < tree->nr; i++) {
		err = put_path(export, &tree->node[i]);
		export->failed[i] = err && err != -EUCLEAN;
		if (err)
			result = tell(&tree->node[i], err);
		if (is_final(err))
			return result;
	}
	/* From the end: what is in a folder is done before it, and changes its time no more. */
	for (i = tree->nr; i--;) {
		err = export->failed[i] ? 0 : put_status(export, &tree->node[i]);
		if (err)
			result = tell(&tree->node[i], err);
	}
	return syncfs(export->top) ? complain("%s", strerror(errno)) : result;
}

int export_folder(struct ns_store *store, const char *folder)
{
	struct export export = { .store = store, .top = -1, .above = -1 };
	int err = 1;

	export.data = malloc((size_t)NS_BATCH * store->block);
	export.failed = calloc(store->tree.nr, sizeof(*export.failed));
	if (!export.data || !export.failed)
		complain("%s", strerror(ENOMEM));
	else
		export.top = open_top(folder);
	if (export.top >= 0) {
		err = put_all(&export);
		close(export.top);
	}
	if (export.above >= 0)
		close(export.above);
	free(export.above_path);
	free(export.failed);
	free(export.data);
	return err;
}
