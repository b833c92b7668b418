// SPDX-License-Identifier: GPL-2.0-only
/* A folder becomes the store's tree. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "../common/configfs.h"
#include "acl.h"
#include "crc.h"
#include "import.h"
#include "say.h"

/* A file may change twice within what its file system's clock tells apart. */
#define TICK_S 1

#define LOOKS_AGAIN 3	/* at a name that is there and can't be found */

/* A file with several paths: the first one that was found. */
struct shared {
	dev_t device;
	ino_t inode;
	char *path;
};

struct walk {
	struct ns_store *store;
	struct ns_import *result;
	struct ns_tree tree;
	void *shared;		/* a search tree of struct shared */
	time_t began;
	bool reread;		/* also files that are as they were */
	uint8_t *data, *old;	/* NS_BATCH blocks each */
};

static int compare_shared(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void free_shared(void *node)
{
	free(((struct shared *)node)->path);
	free(node);
}

static int failed(const char *path, int err)
{
	return say_of(path, strerror(err < 0 ? -err : err));
}

static void take_status(struct ns_node *node, const struct stat *status, time_t began)
{
	node->mode = status->st_mode & 07777;
	node->uid = status->st_uid;
	node->gid = status->st_gid;
	node->inode = status->st_ino;
	node->mtime = status->st_mtim.tv_sec;
	node->mtime_nsec = status->st_mtim.tv_nsec;
	if (status->st_ctim.tv_sec + TICK_S >= began)
		return;
	node->ctime = status->st_ctim.tv_sec;
	node->ctime_nsec = status->st_ctim.tv_nsec;
}

/* The mode is no more than what holds without a list, which is told. */
static int take_mode(struct ns_node *node, int found)
{
	bool has_list;
	int err = acl_narrow(found, &node->mode, &has_list);

	if (!err && has_list)
		say_of(node->path, "its access control list is not kept");
	if (err || node->type != NS_DIRECTORY)
		return err;
	err = acl_gives(found, &has_list);
	if (!err && has_list)
		say_of(node->path, "its default access control list is not kept");
	return err;
}

/* --- what is in a file ------------------------------------------------------------------------ */

/*
 * Are the times other ones whenever something changes from here on? Who has a file mapped changes
 * a page, and its times, when he stores into it first, and then without a trace:
 *
 *	he				an import
 *	stores: the times change	reads the file, and remembers the times
 *	stores again			the next one takes the file for what it was
 *
 * until the page is written back, which is waited for here: the next store changes the times again.
 */
static bool times_tell(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	switch ((uint32_t)fs.f_type) {
	case TMPFS_MAGIC:		/* nothing is ever written back */
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:	/* what is mapped is the file below */
	case CRAMFS_MAGIC:		/* another image may have the same times */
	case EROFS_SUPER_MAGIC_V1:
	case ISOFS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
		return false;
	default:
		return !sync_file_range(fd, 0, 0,
					SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
	}
}

static bool is_as_it_was(const struct ns_node *old, const struct stat *status)
{
	return old && old->type == NS_FILE && old->ctime && old->inode == status->st_ino &&
	       old->size == (uint64_t)status->st_size && old->ctime == status->st_ctim.tv_sec &&
	       old->ctime_nsec == status->st_ctim.tv_nsec && old->mtime == status->st_mtim.tv_sec &&
	       old->mtime_nsec == status->st_mtim.tv_nsec;
}

/* Does the device have all that the store had of it? */
static bool is_whole(const struct ns_store *store, const struct ns_node *old)
{
	uint32_t i;

	for (i = 0; i < old->blocks; i++)
		if (old->piece[i].serial && !map_find(&store->map, old->piece[i].serial))
			return false;
	return true;
}

static int keep_all(struct ns_node *node, const struct ns_node *old)
{
	size_t bytes = old->blocks * sizeof(*old->piece);

	node->piece = malloc(bytes ? bytes : 1);
	if (!node->piece)
		return -ENOMEM;
	if (bytes)
		memcpy(node->piece, old->piece, bytes);
	node->blocks = old->blocks;
	node->size = old->size;
	return 0;
}

static bool is_zeros(const uint8_t *data, size_t bytes)
{
	return !*data && !memcmp(data, data + 1, bytes - 1);
}

/* Does the store have this already, where it was in the file? A checksum alone would not say. */
static bool is_there(struct walk *walk, const struct ns_node *old, uint32_t at,
		     const uint8_t *data, struct ns_piece *piece)
{
	uint32_t block = walk->store->block;
	unsigned int bad;

	if (!old || old->type != NS_FILE || at >= old->blocks || !old->piece[at].serial ||
	    old->piece[at].csum != crc32c_of(0, data, block) ||
	    store_read(walk->store, &old->piece[at], 1, walk->old, &bad) ||
	    memcmp(data, walk->old, block))
		return false;
	*piece = old->piece[at];
	return true;
}

/* Those of @nr blocks that have to be written are moved together, written, and told apart again. */
static int put_blocks(struct walk *walk, struct ns_node *node, const struct ns_node *old,
		      unsigned int nr)
{
	struct ns_piece *piece = &node->piece[node->blocks], fresh[NS_BATCH];
	unsigned int which[NS_BATCH], n = 0, i;
	uint32_t block = walk->store->block;
	int err;

	for (i = 0; i < nr; i++) {
		uint8_t *data = walk->data + (size_t)i * block;

		piece[i] = (struct ns_piece){ 0 };
		if (is_zeros(data, block))
			continue;
		if (is_there(walk, old, node->blocks + i, data, &piece[i])) {
			walk->result->kept++;
			continue;
		}
		if (n < i)
			memcpy(walk->data + (size_t)n * block, data, block);
		which[n++] = i;
	}
	err = n ? store_write(walk->store, walk->data, n, fresh) : 0;
	for (i = 0; !err && i < n; i++)
		piece[which[i]] = fresh[i];
	node->blocks += nr;
	walk->result->written += n;
	return err ? err : store_tend(walk->store);
}

/* As much as there is, up to a batch, with zeros to the end of the last block. */
static ssize_t read_batch(struct walk *walk, int fd)
{
	size_t room = (size_t)NS_BATCH * walk->store->block, all = 0;
	ssize_t n;

	do {
		n = read(fd, walk->data + all, room - all);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		all += n;
	} while (n && all < room);
	memset(walk->data + all, 0, room - all);
	return all;
}

static int add_pieces(struct ns_node *node, uint64_t nr)
{
	struct ns_piece *more;

	if (nr > TREE_FILE_BLOCKS - node->blocks)
		return -EFBIG;
	more = reallocarray(node->piece, (size_t)node->blocks + nr, sizeof(*more));
	if (!more)
		return -ENOMEM;
	node->piece = more;
	memset(more + node->blocks, 0, nr * sizeof(*more));
	return 0;
}

/* Where a hole ends that nothing comes behind: @size, unless the file has become shorter. */
static off_t end_of(int fd, off_t size)
{
	off_t end = lseek(fd, 0, SEEK_END);

	return end < size ? end : size;
}

/*
 * Whole blocks of a hole are zeros without being read. Nothing is a hole but what the file had when
 * it was @size long: what comes behind that has come since. Return: 0, what is next has to be read;
 * 1, that was the end; or an error.
 */
static int skip_hole(struct ns_node *node, int fd, off_t size, uint32_t block)
{
	off_t data = lseek(fd, node->size, SEEK_DATA), end = -1;
	uint64_t nr;
	int err;

	if (data < 0 && errno == ENXIO)
		end = end_of(fd, size);
	if (end >= 0 && (uint64_t)end <= node->size)
		return 1;
	if (data < 0 && end < 0)
		return 0;
	nr = ((end < 0 ? data : end) - node->size + (end < 0 ? 0 : block - 1)) / block;
	err = add_pieces(node, nr);
	if (err)
		return err;
	node->blocks += nr;
	node->size = end < 0 ? (uint64_t)node->blocks * block : (uint64_t)end;
	if (end >= 0)
		return 1;
	return lseek(fd, node->size, SEEK_SET) < 0 ? -errno : 0;
}

/* What it grows by meanwhile is taken the next time: it has another time of change then. */
static int take_data(struct walk *walk, struct ns_node *node, const struct ns_node *old, int fd,
		     off_t size)
{
	uint32_t block = walk->store->block;
	unsigned int nr;
	ssize_t bytes;
	int err = 0;

	do {
		err = skip_hole(node, fd, size, block);
		if (err)
			return err < 0 ? err : 0;
		bytes = read_batch(walk, fd);
		if (bytes <= 0)
			return bytes;
		nr = (bytes + block - 1) / block;
		err = add_pieces(node, nr);
		if (err)
			return err;
		node->size += bytes;
		err = put_blocks(walk, node, old, nr);
	} while (!err && bytes == (ssize_t)NS_BATCH * block);
	return err;
}

/* --- what is at a name ------------------------------------------------------------------------ */

/*
 * Held without being opened: all that is taken of a path is of this one, whatever is at the name
 * by then, and no device is opened. As a folder first, so that what is mounted when somebody
 * enters it is. Return: a file or an error.
 */
static int find(int above, const char *name)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(above, name, flags | O_DIRECTORY);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = openat(above, name, flags);
	return fd < 0 ? -errno : fd;
}

/* What can't be mounted may be called missing, and what others make and remove comes and goes. */
static bool is_gone(int above, const char *name)
{
	struct stat status;

	return fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
	       errno == ENOENT;
}

/* As find(); 0: it is not there, and has gone since its folder was read. */
static int find_or_gone(int above, const char *name)
{
	int found = find(above, name), looks;

	for (looks = 0; found == -ENOENT && looks < LOOKS_AGAIN; looks++) {
		if (is_gone(above, name))
			return 0;
		found = find(above, name);
	}
	return found;
}

/* To be read. Who has a lease of it is waited for. Return: a file or an error. */
static int open_found(int found, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* --- a path ----------------------------------------------------------------------------------- */

/* A second path of a file that is in the tree. *@is: it is one. */
static int take_link(struct walk *walk, struct ns_node *node, const struct stat *status, bool *is)
{
	struct shared *shared, **found;

	*is = false;
	if (status->st_nlink < 2)
		return 0;
	shared = malloc(sizeof(*shared));
	if (!shared)
		return -ENOMEM;
	*shared = (struct shared){ status->st_dev, status->st_ino, strdup(node->path) };
	found = shared->path ? tsearch(shared, &walk->shared, compare_shared) : NULL;
	if (found && *found == shared)
		return 0;
	free_shared(shared);
	if (!found)
		return -ENOMEM;
	node->type = NS_LINK;
	node->target = strdup((*found)->path);
	*is = true;
	return node->target ? 0 : -ENOMEM;
}

static int take_file(struct walk *walk, struct ns_node *node, int found)
{
	const struct ns_node *old = tree_find(&walk->store->tree, node->path);
	int fd = open_found(found, 0), err;
	struct stat status;
	bool link, told;

	if (fd < 0)
		return fd;
	told = times_tell(fd);
	err = fstat(fd, &status) ? -errno : 0;	/* who had a lease may have written */
	if (!err) {
		take_status(node, &status, walk->began);
		if (!told) {
			node->ctime = 0;
			node->ctime_nsec = 0;
		}
		err = take_link(walk, node, &status, &link);
	}
	if (!err && !link) {
		node->type = NS_FILE;
		walk->result->files++;
		if (told && !walk->reread && is_as_it_was(old, &status) &&
		    is_whole(walk->store, old)) {
			walk->result->unchanged++;
			err = keep_all(node, old);
		} else {
			err = take_data(walk, node, old, fd, status.st_size);
		}
	}
	close(fd);
	return err;
}

static int take_symlink(struct ns_node *node, int found)
{
	char target[PATH_MAX];
	ssize_t bytes = readlinkat(found, "", target, sizeof(target));

	if (bytes < 0 || bytes == sizeof(target))
		return bytes < 0 ? -errno : -ENAMETOOLONG;
	if (!bytes)
		return -EINVAL;
	node->type = NS_SYMLINK;
	node->target = strndup(target, bytes);
	return node->target ? 0 : -ENOMEM;
}

static int take_node(struct ns_node *node, const struct stat *status)
{
	node->type = S_ISFIFO(status->st_mode) ? NS_FIFO :
		     S_ISCHR(status->st_mode) ? NS_CHAR : NS_BLOCK;
	if (node->type != NS_FIFO)
		node->device = (uint64_t)major(status->st_rdev) << 32 | minor(status->st_rdev);
	return 0;
}

/* The entry of what was found, without what is in it if it is a folder. */
static int take_found(struct walk *walk, int found, const struct stat *status, const char *path)
{
	struct ns_node *node;
	int err = 0;

	if (S_ISSOCK(status->st_mode)) {
		say_of(path, "a socket is not kept");
		walk->result->skipped++;
		return 0;
	}
	node = tree_add(&walk->tree, path);
	if (!node)
		return -ENOMEM;
	take_status(node, status, walk->began);
	node->type = NS_DIRECTORY;
	if (S_ISLNK(status->st_mode))
		return take_symlink(node, found);
	if (S_ISREG(status->st_mode))
		err = take_file(walk, node, found);
	else if (!S_ISDIR(status->st_mode))
		err = take_node(node, status);
	return err ? err : take_mode(node, found);
}

static int take_folder(struct walk *walk, int fd, const char *path);

/* What went since its folder was read is no part of the tree. 0, or 1 after a message. */
static int take_path(struct walk *walk, int above, const char *name, const char *path)
{
	int found = find_or_gone(above, name), folder = -1, err;
	struct stat status;

	if (found <= 0)
		return found ? failed(path, found) : 0;
	/* One that is longer could not be exported again. */
	err = strlen(path) >= PATH_MAX ? -ENAMETOOLONG : fstat(found, &status) ? -errno : 0;
	if (!err)
		err = take_found(walk, found, &status, path);
	if (!err && S_ISDIR(status.st_mode)) {
		folder = open_found(found, O_DIRECTORY);
		err = folder < 0 ? folder : 0;
	}
	close(found);
	if (err)
		return failed(path, err);
	return folder < 0 ? 0 : take_folder(walk, folder, path);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/* What readdir() told twice, as others were made or removed meanwhile, is there once. */
static size_t drop_doubles(char **names, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++) {
		if (n && !strcmp(names[n - 1], names[i]))
			free(names[i]);
		else
			names[n++] = names[i];
	}
	return n;
}

/* Sorted, each once; to be freed. NULL after a message. */
static char **names_in(DIR *folder, const char *path, size_t *nr)
{
	char **names = malloc(sizeof(*names)), **more;
	struct dirent *entry;

	*nr = 0;
	while (names && (errno = 0, entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		more = reallocarray(names, *nr + 1, sizeof(*names));
		if (!more)
			break;
		names = more;
		names[*nr] = strdup(entry->d_name);
		if (!names[(*nr)++])
			break;
	}
	if (names && !errno) {
		qsort(names, *nr, sizeof(*names), by_name);
		*nr = drop_doubles(names, *nr);
		return names;
	}
	failed(path, errno);
	while (names && *nr)
		free(names[--*nr]);
	free(names);
	return NULL;
}

/* @fd is closed. */
static int take_folder(struct walk *walk, int fd, const char *path)
{
	DIR *folder = fdopendir(fd);
	char **names, *inside;
	size_t nr, i;
	int err = 0;

	if (!folder) {
		close(fd);
		return failed(path, errno);
	}
	names = names_in(folder, path, &nr);
	if (!names)
		err = 1;
	for (i = 0; names && i < nr; i++) {
		if (!err && asprintf(&inside, "%s%s%s", path, *path ? "/" : "", names[i]) < 0)
			err = failed(path, ENOMEM);
		if (!err) {
			err = take_path(walk, fd, names[i], inside);
			free(inside);
		}
		free(names[i]);
	}
	free(names);
	closedir(folder);
	return err;
}

static int take_all(struct walk *walk, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ns_node *top;
	struct stat status;
	int err;

	if (fd < 0 || fstat(fd, &status)) {
		complain("%s: %s", folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return 1;
	}
	top = tree_add(&walk->tree, "");
	if (top) {
		take_status(top, &status, walk->began);
		top->type = NS_DIRECTORY;
	}
	err = top ? take_mode(top, fd) : -ENOMEM;
	if (!err)
		return take_folder(walk, fd, "");
	close(fd);
	return failed(folder, err);
}

/* Each folder that the walk is in is open: that is how deep it may go. If it can't, so be it. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int import_folder(struct ns_store *store, const char *folder, bool reread,
		  struct ns_import *result)
{
	struct walk walk = {
		.store = store, .result = result, .began = time(NULL), .reread = reread,
	};
	int err, forgotten;

	raise_limit();
	walk.data = malloc((size_t)NS_BATCH * store->block);
	walk.old = malloc((size_t)NS_BATCH * store->block);
	err = walk.data && walk.old ? take_all(&walk, folder) : failed(folder, ENOMEM);
	if (!err) {
		err = store_replace(store, &walk.tree);
		if (err)
			err = complain("the tree can't be committed: %s",
				       err == -EINVAL ? "no store has such" : strerror(-err));
	}
	if (err && !store->broken) {
		forgotten = store_forget(store);
		if (forgotten)
			complain("what was written so far stays until the store is opened again: %s",
				 strerror(-forgotten));
	}
	tree_free(&walk.tree);
	tdestroy(walk.shared, free_shared);
	free(walk.data);
	free(walk.old);
	return err;
}
