// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mounting scmfs, also after a crash, and every operation on it. What failed has changed nothing,
 * neither names nor room, and succeeds the next time. The reserved memory begins at 512 MiB.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <evenkeel/scmfs_format.h>

#include "scmfs.h"

#define WHERE	"phys=520M,size=8M"
#define START	(520ull << 20)
#define HEAD	(2u << 20)		/* struct pages are there */
#define BYTES	((8u << 20) - HEAD)
#define IMAGE	"/tmp/failnth.scmfs.img"
#define XATTR	"user.failnth"

static bool mounted;
struct statvfs scmfs_room;

static int mount_with(const char *options)
{
	const char *source = strstr(options, "phys=") ? "none" : "/dev/pmem0";
	int r = mount(source, DIR_AT, "scmfs", 0, options);

	mounted |= !r;
	return r;
}

static void unmounted(const struct op *op)
{
	(void)op;
	if (mounted && umount(DIR_AT))
		die("unmounting");
	mounted = false;
}

/* What a crash leaves: memory that does not say that it was left in order. */
static void crashed(const struct op *op)
{
	const char zeros[8] = "";
	int fd;

	unmounted(op);
	fd = open("/dev/mem", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, zeros, sizeof(zeros), START + HEAD + SCMFS_STATE_OFFSET) != sizeof(zeros))
		die("/dev/mem");
	close(fd);
}

int scmfs_fill(const char *path, char byte, size_t len, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644), err;
	static char text[3 * BLOCK];
	ssize_t n;

	if (fd < 0)
		return -1;
	memset(text, byte, sizeof(text));
	n = write(fd, text, len);
	err = n < 0 ? errno : ENOSPC;
	close(fd);
	errno = err;
	return n == (ssize_t)len ? 0 : -1;
}

/* How many bytes it has, all of them @byte; -1: another. */
static long has(const char *path, char byte)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[BLOCK];
	long all = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (text[i] != byte)
				n = -1;
		if (n < 0)
			break;
		all += n;
	}
	close(fd);
	return n < 0 ? -1 : all;
}

static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static void look(struct statvfs *at)
{
	if (statvfs(DIR_AT, at))
		die("statvfs");
}

/* One file of two blocks, and an empty directory; nothing else. */
void scmfs_made(const struct op *op)
{
	(void)op;
	if (!mounted && mount_with(WHERE))
		die("mounting");
	unlink(AT("new"));
	rmdir(AT("new"));
	if (mkdir(AT("dir"), 0755) && errno != EEXIST)
		die("a directory");
	if (scmfs_fill(AT("old"), 1, 2 * BLOCK, O_CREAT | O_TRUNC))
		die("a file");
	removexattr(AT("old"), XATTR);
	look(&scmfs_room);
}

static void two(const struct op *op)
{
	scmfs_made(op);
	if (scmfs_fill(AT("new"), 2, BLOCK, O_CREAT | O_TRUNC))
		die("another file");
	look(&scmfs_room);
}

/* Longer than what fits beside the inode. */
static int try_setxattr(const struct op *op)
{
	static const char value[600];

	(void)op;
	return setxattr(AT("old"), XATTR, value, sizeof(value), 0);
}

static void with_xattr(const struct op *op)
{
	scmfs_made(op);
	if (try_setxattr(op))
		die("an attribute");
	look(&scmfs_room);
}

/* A byte of the file, -1: its end. */
static int byte_at(off_t at)
{
	int fd = open(AT("old"), O_RDONLY | O_CLOEXEC);
	unsigned char byte;
	ssize_t n;

	n = fd < 0 ? -1 : pread(fd, &byte, 1, at);
	if (n < 0)
		die("reading");
	close(fd);
	return n ? byte : -1;
}

static void nothing_lost(int error)
{
	struct statvfs now;

	look(&now);
	if (now.f_bfree != scmfs_room.f_bfree || now.f_ffree != scmfs_room.f_ffree)
		wrong("%s, and %ld blocks and %ld inodes are gone", strerror(error),
		      (long)(scmfs_room.f_bfree - now.f_bfree), (long)(scmfs_room.f_ffree - now.f_ffree));
}

static int try_mount(const struct op *op)
{
	return mount_with(op->arg);
}

static void after_mount(const struct op *op, int error)
{
	if (error && mount_with(op->arg))
		wrong("%s, nor is it mounted the next time: %s", strerror(error), strerror(errno));
	if (mounted && strstr(op->arg, "init"))
		scmfs_made(op);
	if (has(AT("old"), 1) != 2 * BLOCK)
		wrong("its file is not what it was");
}

static void pmem_made(const struct op *op)
{
	unmounted(op);
	if (mount_with("init=force"))
		die("a file system on pmem");
	scmfs_made(op);
	unmounted(op);
}

static int try_unmount(const struct op *op)
{
	(void)op;
	if (umount(DIR_AT))
		return -1;
	mounted = false;
	return 0;
}

/* The kernel has no memory for the path, and it stays mounted; or it is gone and can come back. */
static void after_unmount(const struct op *op, int error)
{
	(void)op;
	(void)error;
	unmounted(NULL);
	if (mount_with(WHERE))
		wrong("it isn't mounted again: %s", strerror(errno));
	if (has(AT("old"), 1) != 2 * BLOCK)
		wrong("its file is not what it was");
}

static int try_create(const struct op *op)
{
	int fd = open(AT("new"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	(void)op;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int try_mkdir(const struct op *op)
{
	(void)op;
	return mkdir(AT("new"), 0755);
}

static int try_symlink(const struct op *op)
{
	(void)op;
	return symlink("somewhere that is longer than what an inode can hold by itself, which is not much at all",
		       AT("new"));
}

static int try_link(const struct op *op)
{
	(void)op;
	return link(AT("old"), AT("new"));
}

static int try_move(const struct op *op)
{
	(void)op;
	return rename(AT("old"), AT("dir/new"));
}

static int try_append(const struct op *op)
{
	(void)op;
	return scmfs_fill(AT("old"), 1, 3 * BLOCK, O_APPEND);
}

static int try_write(const struct op *op)
{
	(void)op;
	return scmfs_fill(AT("old"), 2, 2 * BLOCK, 0);
}

static int try_truncate(const struct op *op)
{
	(void)op;
	return truncate(AT("old"), BLOCK / 2);
}

static int allocate(int how, off_t at, off_t len)
{
	int fd = open(AT("old"), O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : close_as(fd, fallocate(fd, how, at, len));
}

static int try_fallocate(const struct op *op)
{
	(void)op;
	return allocate(FALLOC_FL_KEEP_SIZE, 8 * BLOCK, 4 * BLOCK);
}

static int try_punch(const struct op *op)
{
	(void)op;
	return allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BLOCK);
}

static int try_zero(const struct op *op)
{
	(void)op;
	return allocate(FALLOC_FL_ZERO_RANGE, 0, BLOCK);
}

static int try_collapse(const struct op *op)
{
	(void)op;
	return allocate(FALLOC_FL_COLLAPSE_RANGE, 0, BLOCK);
}

static int try_insert(const struct op *op)
{
	(void)op;
	return allocate(FALLOC_FL_INSERT_RANGE, 0, BLOCK);
}

static int try_replace(const struct op *op)
{
	(void)op;
	return rename(AT("new"), AT("old"));
}

static int try_exchange(const struct op *op)
{
	(void)op;
	return renameat2(AT_FDCWD, AT("new"), AT_FDCWD, AT("old"), RENAME_EXCHANGE);
}

static int try_rmdir(const struct op *op)
{
	(void)op;
	return rmdir(AT("dir"));
}

static int try_removexattr(const struct op *op)
{
	(void)op;
	return removexattr(AT("old"), XATTR);
}

static int try_read(const struct op *op)
{
	(void)op;
	errno = EILSEQ;
	return has(AT("old"), 1) == 2 * BLOCK ? 0 : -1;
}

static int try_remove(const struct op *op)
{
	(void)op;
	return unlink(AT("old"));
}

static int try_list(const struct op *op)
{
	DIR *d = opendir(DIR_AT);
	int err;

	(void)op;
	if (!d)
		return -1;
	errno = 0;
	while (readdir(d))
		;
	err = errno;
	closedir(d);
	errno = err;
	return err ? -1 : 0;
}

/* What failed has taken nothing, and succeeds the next time. */
void scmfs_again(const struct op *op, int error)
{
	if (!error)
		return;
	nothing_lost(error);
	if (op->run(op))
		wrong("%s, and not the next time either: %s", strerror(error), strerror(errno));
}

/* A name appears, or it does not and nothing else has changed; then it does. */
static void after_new(const struct op *op, int error)
{
	if (there(AT("new")) != !error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	scmfs_again(op, error);
}

static void after_move(const struct op *op, int error)
{
	if (there(AT("dir/new")) == !!error || there(AT("old")) != !!error)
		wrong("%s, and it is at neither place, or both", strerror(error));
	scmfs_again(op, error);
	if (unlink(AT("dir/new")))
		wrong("what was moved can't be removed: %s", strerror(errno));
}

static void after_size(const struct op *op, int error, long before, long then)
{
	long n = has(AT("old"), 1);

	if (n != (error ? before : then))
		wrong("%s, and there are %ld bytes", strerror(error), n);
	scmfs_again(op, error);
}

static void after_append(const struct op *op, int error)
{
	after_size(op, error, 2 * BLOCK, 5 * BLOCK);
}

static void after_truncate(const struct op *op, int error)
{
	after_size(op, error, 2 * BLOCK, BLOCK / 2);
}

static void after_same(const struct op *op, int error)
{
	after_size(op, error, 2 * BLOCK, 2 * BLOCK);
}

static void after_collapse(const struct op *op, int error)
{
	after_size(op, error, 2 * BLOCK, BLOCK);
}

/* The first block is as it was, or zero; what is behind it is there in any case. */
static void after_hole(const struct op *op, int error, off_t behind)
{
	int first = byte_at(0), last = byte_at(behind), end = byte_at(behind + BLOCK);

	if (first != !!error || last != 1 || end != -1)
		wrong("%s, and it has %d, %d, %d", strerror(error), first, last, end);
	scmfs_again(op, error);
}

static void after_punch(const struct op *op, int error)
{
	after_hole(op, error, BLOCK);
}

static void after_insert(const struct op *op, int error)
{
	after_hole(op, error, error ? BLOCK : 2 * BLOCK);
}

static void after_replace(const struct op *op, int error)
{
	if (there(AT("new")) != !!error || has(AT("old"), error ? 1 : 2) != (error ? 2 : 1) * BLOCK)
		wrong("%s, and it is %sreplaced", strerror(error), error ? "" : "not ");
	scmfs_again(op, error);
}

static void after_exchange(const struct op *op, int error)
{
	if (has(AT("old"), error ? 1 : 2) != (error ? 2 : 1) * BLOCK ||
	    has(AT("new"), error ? 2 : 1) != (error ? 1 : 2) * BLOCK)
		wrong("%s, and they are %sexchanged", strerror(error), error ? "" : "not ");
	scmfs_again(op, error);
}

static void after_rmdir(const struct op *op, int error)
{
	if (there(AT("dir")) != !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "not " : "");
	scmfs_again(op, error);
}

static void after_xattr(const struct op *op, int error, bool wanted)
{
	if ((getxattr(AT("old"), XATTR, NULL, 0) == 600) != wanted)
		wrong("%s, and the attribute is %sthere", strerror(error), wanted ? "not " : "");
	scmfs_again(op, error);
}

static void after_setxattr(const struct op *op, int error)
{
	after_xattr(op, error, !error);
}

static void after_removexattr(const struct op *op, int error)
{
	after_xattr(op, error, error);
}

static void after_write(const struct op *op, int error)
{
	if (has(AT("old"), error ? 1 : 2) != 2 * BLOCK)
		wrong("%s, and it is neither the old one nor the new", strerror(error));
	scmfs_again(op, error);
}

static void after_remove(const struct op *op, int error)
{
	if (there(AT("old")) != !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "not " : "");
	scmfs_again(op, error);
}

void scmfs_begin(void)
{
	if (mkdir(DIR_AT, 0755) && errno != EEXIST)
		die(DIR_AT);
	if (mount_with(WHERE ",init=force"))
		die("a file system");
	scmfs_made(NULL);
}

/* What all of it left, looked at from outside. */
void scmfs_end(void)
{
	char *memory = malloc(BYTES);
	int in = open("/dev/mem", O_RDONLY | O_CLOEXEC);
	int out = open(IMAGE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	scmfs_asked_end();
	unmounted(NULL);
	if (!memory || pread(in, memory, BYTES, START + HEAD) != BYTES || write(out, memory, BYTES) != BYTES)
		die("an image of it");
	close(in);
	close(out);
	free(memory);
	if (system("fsck.scmfs -n " IMAGE " >/tmp/failnth.said 2>&1")) {
		wrong("fsck.scmfs finds faults");
		if (system("sed 's/^/# /' /tmp/failnth.said"))
			wrong("and can't tell them");
	}
	result("scmfs: fsck finds nothing");
	unlink(IMAGE);
	rmdir(DIR_AT);
}

const struct op scmfs_ops[] = {
	/* Instead of what mem2m had there. */
	{ "scmfs: a new file system on pmem", unmounted, try_mount, NULL, after_mount, "init=force",
	  .thin = 8 },
	{ "scmfs: mount of pmem", pmem_made, try_mount, NULL, after_mount, "acl", .thin = 8 },
	{ "scmfs: a new file system", unmounted, try_mount, NULL, after_mount, WHERE ",init" },
	{ "scmfs: mount", unmounted, try_mount, NULL, after_mount, WHERE },
	{ "scmfs: mount after a crash", crashed, try_mount, NULL, after_mount, WHERE },
	{ "scmfs: unmount", scmfs_made, try_unmount, NULL, after_unmount },
	{ "scmfs: create", scmfs_made, try_create, NULL, after_new },
	{ "scmfs: mkdir", scmfs_made, try_mkdir, NULL, after_new },
	{ "scmfs: symlink", scmfs_made, try_symlink, NULL, after_new },
	{ "scmfs: link", scmfs_made, try_link, NULL, after_new },
	{ "scmfs: rename", scmfs_made, try_move, NULL, after_move },
	{ "scmfs: append", scmfs_made, try_append, NULL, after_append },
	{ "scmfs: write", scmfs_made, try_write, NULL, after_write },
	{ "scmfs: truncate", scmfs_made, try_truncate, NULL, after_truncate },
	{ "scmfs: fallocate", scmfs_made, try_fallocate, NULL, after_same },
	{ "scmfs: punch a hole", scmfs_made, try_punch, NULL, after_punch },
	{ "scmfs: zero a range", scmfs_made, try_zero, NULL, after_punch },
	{ "scmfs: collapse", scmfs_made, try_collapse, NULL, after_collapse },
	{ "scmfs: insert", scmfs_made, try_insert, NULL, after_insert },
	{ "scmfs: rename onto another", two, try_replace, NULL, after_replace },
	{ "scmfs: exchange", two, try_exchange, NULL, after_exchange },
	{ "scmfs: set an attribute", scmfs_made, try_setxattr, NULL, after_setxattr },
	{ "scmfs: remove an attribute", with_xattr, try_removexattr, NULL, after_removexattr },
	{ "scmfs: read", scmfs_made, try_read, NULL, after_same },
	{ "scmfs: rmdir", scmfs_made, try_rmdir, NULL, after_rmdir },
	{ "scmfs: readdir", scmfs_made, try_list, NULL, after_same },
	{ "scmfs: unlink", scmfs_made, try_remove, NULL, after_remove },
	{ }
};
