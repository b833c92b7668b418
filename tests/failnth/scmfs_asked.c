// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mounted scmfs beside its names and their content: remounts, access control lists, attributes of
 * files, ioctls, files without a name, mappings, areas of the kernel's.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <evenkeel/scmfs.h>

#include "scmfs.h"

#define AREAS	"/sys/module/evenkeel_areas/parameters/"
#define ACL	"system.posix_acl_access"
#define INHERITED "system.posix_acl_default"
#define WORDS	8

/* --- remounts --------------------------------------------------------------------------------- */

static int remount(unsigned long flags, const char *options)
{
	return mount("none", DIR_AT, NULL, MS_REMOUNT | flags, options);
}

static bool is_read_only(void)
{
	return access(DIR_AT, W_OK);
}

static bool shows(const char *option)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024];
	bool found = false;

	if (!f)
		die("mounts");
	while (fgets(line, sizeof(line), f))
		if (strstr(line, " " DIR_AT " "))
			found = strstr(line, option);
	fclose(f);
	return found;
}

static int try_read_only(const struct op *op)
{
	(void)op;
	return remount(MS_RDONLY, "");
}

static int try_writable(const struct op *op)
{
	(void)op;
	return remount(0, "");
}

static void read_only(const struct op *op)
{
	scmfs_made(op);
	if (try_read_only(op))
		die("remounting");
}

/* @is: what it is if that worked */
static void after_change(const struct op *op, int error, bool is)
{
	if (is_read_only() != (error ? !is : is))
		wrong("%s, and it is read-%s", strerror(error), is_read_only() ? "only" : "write");
	scmfs_again(op, error);
	if (try_writable(op))
		die("remounting");
}

static void after_read_only(const struct op *op, int error)
{
	after_change(op, error, true);
}

static void after_writable(const struct op *op, int error)
{
	after_change(op, error, false);
}

static int try_options(const struct op *op)
{
	(void)op;
	return remount(0, "noacl,data=atomic");
}

static void after_options(const struct op *op, int error)
{
	if (shows("noacl") != !error || shows("data=atomic") != !error)
		wrong("%s, and it is mounted otherwise", strerror(error));
	scmfs_again(op, error);
	if (remount(0, "acl,data=inplace"))
		die("remounting");
}

/* --- access control lists ---------------------------------------------------------------------- */

/* As the kernel takes one: an entry for a user beside the owner's. */
static const uint32_t *list(void)
{
	static uint32_t words[1 + 2 * 5];
	static const struct {
		uint16_t tag, perm;
		uint32_t id;
	} entry[] = { { 1, 6, -1 }, { 2, 4, 1000 }, { 4, 4, -1 }, { 16, 4, -1 }, { 32, 0, -1 } };

	words[0] = htole32(2);
	for (int i = 0; i < 5; i++) {
		words[1 + 2 * i] = htole32(entry[i].perm << 16 | entry[i].tag);
		words[2 + 2 * i] = htole32(entry[i].id);
	}
	return words;
}

static int set_list(const char *path, const char *name)
{
	return setxattr(path, name, list(), 11 * sizeof(uint32_t), 0);
}

static bool has_list(const char *path, const char *name)
{
	return getxattr(path, name, NULL, 0) > 0;
}

/* Of what is not cached; who remounts drops none, and an inode that nobody uses may stay. */
static void without_list(const struct op *op)
{
	scmfs_made(op);
	removexattr(AT("old"), ACL);
	removexattr(AT("dir"), INHERITED);
	unlink(AT("dir/new"));
	scmfs_made(op);
}

static int try_set_list(const struct op *op)
{
	(void)op;
	return set_list(AT("old"), ACL);
}

static void after_set_list(const struct op *op, int error)
{
	struct stat st;

	if (has_list(AT("old"), ACL) != !error)
		wrong("%s, but the list is %sthere", strerror(error), error ? "" : "not ");
	if (stat(AT("old"), &st) || (st.st_mode & 0777) != (error ? 0644 : 0640))
		wrong("%s, and its mode is %o", strerror(error), st.st_mode & 0777);
	scmfs_again(op, error);
	if (removexattr(AT("old"), ACL) || chmod(AT("old"), 0644))
		die("removing the list");
}

static void with_inherited(const struct op *op)
{
	without_list(op);
	if (set_list(AT("dir"), INHERITED))
		die("a list for a directory");
	if (statvfs(DIR_AT, &scmfs_room))
		die("statvfs");
}

static int try_inherit(const struct op *op)
{
	int fd = open(AT("dir/new"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660);

	(void)op;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void after_inherit(const struct op *op, int error)
{
	if (access(AT("dir/new"), F_OK) != (error ? -1 : 0))
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	scmfs_again(op, error);
	if (!has_list(AT("dir/new"), ACL))
		wrong("%s, and it is there without its list", strerror(error));
	if (unlink(AT("dir/new")) || removexattr(AT("dir"), INHERITED))
		die("removing it");
}

/* --- ioctls ----------------------------------------------------------------------------------- */

static int on_file(unsigned long cmd, void *arg)
{
	int fd = open(AT("old"), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : close_as(fd, ioctl(fd, cmd, arg));
}

static int ask(unsigned long cmd, void *arg, uint32_t size)
{
	memcpy(arg, &size, sizeof(size));
	return on_file(cmd, arg);
}

static int ask_words(unsigned long cmd)
{
	static uint64_t bits[WORDS];
	struct scmfs_words words = { .words = (uintptr_t)bits, .nr = WORDS };
	int r = ask(cmd, &words, sizeof(words));

	if (!r && (!words.nr || words.end <= words.first))
		wrong("%u words of blocks from %llu to %llu", words.nr,
		      (unsigned long long)words.first, (unsigned long long)words.end);
	return r;
}

static int ask_all(void)
{
	struct scmfs_info info = { };
	struct scmfs_file_info file = { };
	struct scmfs_room room = { };

	return ask(SCMFS_IOC_INFO, &info, sizeof(info)) ||
	       ask(SCMFS_IOC_FILE_INFO, &file, sizeof(file)) ||
	       ask(SCMFS_IOC_ROOM, &room, sizeof(room)) ||
	       ask_words(SCMFS_IOC_WEAR) || ask_words(SCMFS_IOC_USED) ? -1 : 0;
}

static int try_ask(const struct op *op)
{
	(void)op;
	return ask_all();
}

static int try_collect(const struct op *op)
{
	struct scmfs_gc_info gc = { .set = SCMFS_GC_SET_START };

	(void)op;
	return ask(SCMFS_IOC_GC, &gc, sizeof(gc));
}

/* It is done before the room is looked at, and anything else begins. */
static void after_collect(const struct op *op, int error)
{
	struct scmfs_gc_info gc;

	scmfs_again(op, error);
	do {
		gc = (struct scmfs_gc_info){ .set = SCMFS_GC_SET_STOP };
		if (ask(SCMFS_IOC_GC, &gc, sizeof(gc)))
			die("stopping it");
	} while (gc.flags & SCMFS_GC_RUNNING);
}

static int file_flags(void)
{
	int flags = 0;

	if (on_file(FS_IOC_GETFLAGS, &flags))
		die("flags");
	return flags;
}

static int set_flags(int flags)
{
	return on_file(FS_IOC_SETFLAGS, &flags);
}

static int try_flags(const struct op *op)
{
	(void)op;
	return set_flags(FS_NODUMP_FL);
}

static void after_flags(const struct op *op, int error)
{
	if ((file_flags() & FS_NODUMP_FL ? 0 : 1) != !!error)
		wrong("%s, and its flags are %x", strerror(error), file_flags());
	scmfs_again(op, error);
	if (set_flags(0))
		die("flags");
}

/* --- other files ------------------------------------------------------------------------------ */

static int try_nameless(const struct op *op)
{
	int fd = open(DIR_AT, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	(void)op;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int try_fifo(const struct op *op)
{
	(void)op;
	return mknod(AT("new"), S_IFIFO | 0600, 0);
}

static void after_fifo(const struct op *op, int error)
{
	struct stat st;

	if (lstat(AT("new"), &st) != (error ? -1 : 0))
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
	scmfs_again(op, error);
	if (lstat(AT("new"), &st) || !S_ISFIFO(st.st_mode))
		wrong("it is no fifo");
}

/* --- a mapping: a fault without memory is tried again, and nobody hears of it ------------------ */

static char *mapped;

static void behind_a_hole(const struct op *op)
{
	int fd;

	scmfs_made(op);
	fd = open(AT("new"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4 * BLOCK))
		die("a file with a hole");
	mapped = mmap(NULL, 4 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		die("mapping it");
	close(fd);
}

static int try_store(const struct op *op)
{
	(void)op;
	*(volatile char *)(mapped + 2 * BLOCK + 1) = 7;
	return 0;
}

static void after_store(const struct op *op, int error)
{
	int fd = open(AT("new"), O_RDONLY | O_CLOEXEC);
	char byte[3] = "";

	(void)op;
	if (error)
		wrong("%s", strerror(error));
	if (fd < 0 || pread(fd, byte, 3, 2 * BLOCK) != 3 || byte[0] || byte[1] != 7 || byte[2])
		wrong("there is %d %d %d", byte[0], byte[1], byte[2]);
	close(fd);
	if (munmap(mapped, 4 * BLOCK) || unlink(AT("new")))
		die("unmapping it");
}

/* --- areas that drivers have: nvmalloc() and what it is followed by ---------------------------- */

static void without_areas(const struct op *op)
{
	unlink(AT("area"));
	unlink(AT("area.other"));
	unlink(AT("area.through"));
	scmfs_made(op);
}

/* Loaded it has gone through it once; what is left are the files, empty. */
static void areas(const struct op *op)
{
	without_areas(op);
	if (access(AREAS "run", F_OK) &&
	    system("modprobe evenkeel_areas path=" AT("area") " rounds=2"))
		die("evenkeel_areas");
	without_areas(op);
}

static int try_areas(const struct op *op)
{
	(void)op;
	return say(AREAS "run", "1");
}

/* What drivers saw was right, they have nothing left, and it goes without failures. */
static void after_areas(const struct op *op, int error)
{
	struct scmfs_info info = { };

	if (error && error != ENOMEM)
		wrong("%s", strerror(error));
	if (ask(SCMFS_IOC_INFO, &info, sizeof(info)))
		die("asking it");
	if (info.areas || info.area_reserved || info.area_bytes || info.area_window_bytes)
		wrong("%s, and %llu areas are open", strerror(error),
		      (unsigned long long)info.areas);
	without_areas(op);
	scmfs_again(op, error);
	without_areas(op);
}

void scmfs_asked_end(void)
{
	if (!access(AREAS "run", F_OK) && system("rmmod evenkeel_areas"))
		wrong("evenkeel_areas stays");
}

const struct op scmfs_asked_ops[] = {
	{ "scmfs: remount read-only", scmfs_made, try_read_only, NULL, after_read_only },
	{ "scmfs: remount writable", read_only, try_writable, NULL, after_writable },
	{ "scmfs: remount with other options", scmfs_made, try_options, NULL, after_options },
	{ "scmfs: set an access list", without_list, try_set_list, NULL, after_set_list },
	{ "scmfs: create beneath a default list", with_inherited, try_inherit, NULL, after_inherit },
	{ "scmfs: ioctls", scmfs_made, try_ask, NULL, scmfs_again },
	{ "scmfs: start garbage collection", scmfs_made, try_collect, NULL, after_collect },
	{ "scmfs: attributes of chattr", scmfs_made, try_flags, NULL, after_flags },
	{ "scmfs: a file without a name", scmfs_made, try_nameless, NULL, scmfs_again },
	{ "scmfs: mknod", scmfs_made, try_fifo, NULL, after_fifo },
	{ "scmfs: store to a mapping", behind_a_hole, try_store, NULL, after_store },
	{ "scmfs: areas of nvmalloc()", areas, try_areas, NULL, after_areas, .thin = 4 },
	{ }
};
