// SPDX-License-Identifier: GPL-2.0-only
/* The store's tree into a folder. A tree that was decoded has no path that leads out of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../common/configfs.h"
#include "import.h"

/* The folder @top, made or found empty. -1 after a message. */
static int open_top(const char *folder)
{
	struct dirent *entry = NULL;
	DIR *open_folder;
	int fd;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return complain("%s: %s", folder, strerror(errno)), -1;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	open_folder = fd < 0 ? NULL : fdopendir(dup(fd));
	if (!open_folder) {
		complain("%s: %s", folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	do
		entry = readdir(open_folder);
	while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	closedir(open_folder);
	if (!entry)
		return fd;
	close(fd);
	return complain("%s is not empty", folder), -1;
}

static int write_all(int fd, const uint8_t *data, size_t bytes, off_t at)
{
	ssize_t n;

	for (; bytes; bytes -= n, at += n, data += n) {
		n = pwrite(fd, data, bytes, at);
		if (n < 0)
			return -errno;
	}
	return 0;
}

/* Blocks that are nowhere become holes. */
static int put_data(struct ns_store *store, const struct ns_node *node, int fd, uint8_t *data)
{
	uint64_t at, bytes;
	unsigned int bad;
	uint32_t i, nr;
	int err = ftruncate(fd, node->size) ? -errno : 0;

	for (i = 0; !err && i < node->blocks; i += nr) {
		at = (uint64_t)i * store->block;
		if (!node->piece[i].serial) {
			nr = 1;
			continue;
		}
		for (nr = 1; nr < NS_BATCH && i + nr < node->blocks && node->piece[i + nr].serial;)
			nr++;
		err = store_read(store, &node->piece[i], nr, data, &bad);
		bytes = (uint64_t)nr * store->block;
		if (bytes > node->size - at)
			bytes = node->size - at;
		if (!err)
			err = write_all(fd, data, bytes, at);
	}
	return err;
}

static int put_file(struct ns_store *store, const struct ns_node *node, int top, uint8_t *data)
{
	int fd = openat(top, node->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int err;

	if (fd < 0)
		return -errno;
	err = put_data(store, node, fd, data);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int put_node(const struct ns_node *node, int top)
{
	mode_t kind = node->type == NS_FIFO ? S_IFIFO : node->type == NS_CHAR ? S_IFCHR : S_IFBLK;
	dev_t device = makedev(node->device >> 32, node->device & 0xffffffff);

	return mknodat(top, node->path, kind | 0600, device) ? -errno : 0;
}

static int put_path(struct ns_store *store, const struct ns_node *node, int top, uint8_t *data)
{
	switch (node->type) {
	case NS_DIRECTORY:
		return *node->path && mkdirat(top, node->path, 0700) ? -errno : 0;
	case NS_FILE:
		return put_file(store, node, top, data);
	case NS_SYMLINK:
		return symlinkat(node->target, top, node->path) ? -errno : 0;
	case NS_LINK:
		return linkat(top, node->target, top, node->path, 0) ? -errno : 0;
	default:
		return put_node(node, top);
	}
}

/* Whose it is, who may use it, and when it changed. Only root gives files away. */
static int put_status(const struct ns_node *node, int top)
{
	const char *path = *node->path ? node->path : ".";
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = node->mtime, .tv_nsec = node->mtime_nsec },
	};

	if (node->type == NS_LINK)
		return 0;
	if (fchownat(top, path, node->uid, node->gid, AT_SYMLINK_NOFOLLOW) && errno != EPERM)
		return -errno;
	if (node->type != NS_SYMLINK && fchmodat(top, path, node->mode, 0))
		return -errno;
	return utimensat(top, path, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int put_all(struct ns_store *store, int top, uint8_t *data)
{
	const struct ns_tree *tree = &store->tree;
	size_t i;
	int err;

	for (i = 0; i < tree->nr; i++) {
		err = put_path(store, &tree->node[i], top, data);
		if (err)
			return complain("%s: %s", tree->node[i].path,
					err == -EUCLEAN ? "damaged" : strerror(-err));
	}
	/* From the end: what is in a folder is done before it, and changes its time no more. */
	for (i = tree->nr; i--;) {
		err = put_status(&tree->node[i], top);
		if (err)
			return complain("%s: %s", tree->node[i].path, strerror(-err));
	}
	return syncfs(top) ? complain("%s", strerror(errno)) : 0;
}

int export_folder(struct ns_store *store, const char *folder)
{
	uint8_t *data = malloc((size_t)NS_BATCH * store->block);
	int top = data ? open_top(folder) : -1, err = 1;

	if (top >= 0) {
		err = put_all(store, top, data);
		close(top);
	}
	free(data);
	return err;
}
