// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damage to an scmfs in reserved memory, and what becomes of it: a mount is refused with a reason,
 * or all of it can be asked for, written to and unmounted, and nothing worse than an error comes
 * of that. Some of the images go through fsck.scmfs; what that calls repaired has no fault left.
 */
#include <dirent.h>
#include <errno.h>
#include <evenkeel/scmfs_format.h>
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <evenkeel/label.h>

#include "fuzz.h"

#define PLACE		"/tmp/fuzz.scmfs"
#define IMAGE		"/tmp/fuzz.scmfs.img"
#define DEPTH		6	/* of the walk: a damaged directory can name its own parent */
#define ENTRIES		500
#define CHUNK		(64u << 10)

static u64 bytes;
static u8 *memory;		/* the file system's own */
static u8 *good, *now;
static char options[64];
static unsigned int entries, errors;

/* --- damage --- */

static u8 *pick(const char **what, u64 *span)
{
	const struct scmfs_super *s = (void *)good;
	u64 first = le64_to_cpu(s->first_data_block) * SCMFS_BLOCK_SIZE;

	switch (rnd(12)) {
	case 0:
		*what = "super", *span = 160;
		return now;
	case 1:
		*what = "state", *span = 64;
		return now + SCMFS_STATE_OFFSET;
	case 2:
		*what = "log", *span = 1024;
		return now + le64_to_cpu(s->log_offset) + rnd(le32_to_cpu(s->log_lanes)) * 8192;
	case 3:
		*what = "maps", *span = 512;
		return now + le64_to_cpu(rnd(2) ? s->block_map_offset : s->inode_map_offset);
	case 4:
	case 5:
		*what = "inode", *span = 256;
		return now + le64_to_cpu(s->inode_offset) + rnd(24) * 256;
	default:	/* names and more extents are among these */
		*what = "block", *span = SCMFS_BLOCK_SIZE;
		return now + first + rnd(48) * SCMFS_BLOCK_SIZE;
	}
}

static void hurt(u8 *at)
{
	u64 w;

	memcpy(&w, at, 8);
	w = hurt_word(w);
	memcpy(at, &w, 8);
}

/* Sizes that wrap, and blocks that two inodes have: what a tool makes that knows the format. */
static u8 *craft(const char **what)
{
	const struct scmfs_super *s = (void *)good;
	struct scmfs_inode *i = (void *)(now + le64_to_cpu(s->inode_offset) + rnd(24) * sizeof(*i));
	u64 first = le64_to_cpu(s->first_data_block);

	switch (rnd(3)) {
	case 0:
		*what = "size";
		i->size = cpu_to_le64(-1 - rnd(5000));
		return (u8 *)&i->size;
	case 1:
		*what = "reserved size";
		i->kept = cpu_to_le64(-1 - rnd(5000));
		return (u8 *)&i->kept;
	default:
		*what = "shared block";
		i->extent[0].block = cpu_to_le64(first + rnd(48));
		return (u8 *)&i->extent[0];
	}
}

static void damage(void)
{
	struct scmfs_super *s = (void *)now;
	unsigned int n, at = 0;
	const char *what;
	u64 span, word;
	u8 *block;

	memcpy(now, good, bytes);
	*fuzz_input = 0;
	for (n = 1 + rnd(rnd(2) ? 2 : 6); n; n--) {
		word = 0;
		if (rnd(3)) {
			block = pick(&what, &span);
			word = rnd(span / 8) * 8;
			hurt(block + word);
		} else {
			block = craft(&what);
		}
		at += snprintf(fuzz_input + at, sizeof(fuzz_input) - at, "%s at %llu; ", what,
			       (unsigned long long)(block - now + word));
	}
	if (rnd(4))
		s->csum = cpu_to_le32(ek_checksum(s, sizeof(*s), &s->csum));
	if (rnd(2))	/* as after a crash: the maps are made anew */
		memset(now + SCMFS_STATE_OFFSET, 0, 8);
}

/* --- use --- */

static void note(bool failed)
{
	errors += failed;
}

static void read_at(int fd, off_t at)
{
	static char buf[CHUNK];

	note(pread(fd, buf, sizeof(buf), at) < 0);
}

static void store_odd(int fd)
{
	u64 v;
	int i;

	for (i = 0; i < 4; i++) {
		v = odd_number();
		if (rnd(2))
			note(pwrite(fd, &v, sizeof(v), rnd(32) * sizeof(v)) < 0);
		else
			note(pwrite(fd, &v, 1, rnd(32) * sizeof(v) + 7) < 0);
	}
}

static void use_file(int dir, const char *name, const struct stat *st)
{
	int fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	note(fd < 0);
	if (fd < 0)
		return;
	read_at(fd, 0);
	read_at(fd, st->st_size - CHUNK / 2 < 0 ? 0 : st->st_size - CHUNK / 2);
	read_at(fd, st->st_size ? rnd(st->st_size) : 0);
	note(lseek(fd, 0, SEEK_HOLE) < 0);
	if (rnd(2))
		note(pwrite(fd, name, 1, rnd(st->st_size + 1 > 0 ? st->st_size + 1 : 1)) < 0);
	if (!rnd(3))	/* it may be what others have their names or extents in */
		store_odd(fd);
	if (!rnd(4))
		note(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192) < 0);
	if (!rnd(4))
		note(ftruncate(fd, 5000) < 0);
	note(fsync(fd) < 0);
	close(fd);
}

static void walk(int dir, int depth);

static void use(int dir, const char *name, int depth)
{
	char target[4096];
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		errors++;
	} else if (S_ISLNK(st.st_mode)) {
		note(readlinkat(dir, name, target, sizeof(target)) < 0);
	} else if (S_ISREG(st.st_mode)) {
		use_file(dir, name, &st);
	} else if (S_ISDIR(st.st_mode) && depth) {
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		note(fd < 0);
		if (fd >= 0)
			walk(fd, depth - 1);
	}
	if (!rnd(6))
		note(unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0));
	if (!rnd(8))
		note(renameat(dir, name, dir, "moved"));
}

static void walk(int dir, int depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	int fd;

	if (!d)
		wrong("fdopendir: %s", strerror(errno));
	errno = 0;
	while (entries < ENTRIES && (e = readdir(d))) {
		entries++;
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			use(dir, e->d_name, depth);
		errno = 0;
	}
	note(errno);
	fd = openat(dir, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	note(fd < 0 || write(fd, "new", 3) != 3);
	if (fd >= 0)
		close(fd);
	closedir(d);
}

static void use_all(void)
{
	int fd = open(PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statvfs room;

	entries = 0;
	note(fd < 0);
	if (fd >= 0)
		walk(fd, DEPTH);
	note(statvfs(PLACE, &room));
	if (umount(PLACE))
		wrong("it can't be unmounted: %s", strerror(errno));
}

/* --- tries --- */

static bool mounts(void)
{
	static const int refusals[] = { EUCLEAN, ENODATA, EMEDIUMTYPE, EPROTONOSUPPORT, EROFS, 0 };
	const int *r = refusals;
	int err;

	log_mark();
	if (!mount("none", PLACE, "scmfs", 0, options))
		return true;
	err = errno;
	while (*r && *r != err)
		r++;
	if (!*r)
		wrong("refused with %s", strerror(err));
	if (!log_says_why("scmfs: "))
		wrong("%s, and not a word why", strerror(err));
	return false;
}

/* What fsck has repaired is mounted, and the kernel's engine finds no fault in it. */
static bool repaired(void)
{
	int fd = open(IMAGE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;

	if (fd < 0 || write(fd, now, bytes) != (ssize_t)bytes)
		wrong(IMAGE ": %s", strerror(errno));
	status = system("fsck.scmfs -y -q " IMAGE " >/dev/null 2>&1");
	if (!WIFEXITED(status) || (WEXITSTATUS(status) > 1 && WEXITSTATUS(status) != 4))
		wrong("fsck.scmfs ends with %#x", status);
	if (WEXITSTATUS(status) != 4) {
		if (pread(fd, now, bytes, 0) != (ssize_t)bytes)
			wrong(IMAGE ": %s", strerror(errno));
		memcpy(memory, now, bytes);
		if (!mounts())
			wrong("what fsck repaired is not mounted");
		use_all();
	}
	close(fd);
	return WEXITSTATUS(status) != 4;
}

int image(time_t deadline, const char *phys, const char *size, const char *head)
{
	u64 start = strtoull(phys, NULL, 0) + strtoull(head, NULL, 0);
	unsigned int tried = 0, mounted = 0, mends = 0;
	int fd = open("/dev/mem", O_RDWR | O_CLOEXEC);

	bytes = strtoull(size, NULL, 0) - strtoull(head, NULL, 0);
	snprintf(options, sizeof(options), "phys=%s,size=%s", phys, size);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
	good = malloc(bytes);
	now = malloc(bytes);
	if (memory == MAP_FAILED || !good || !now || (mkdir(PLACE, 0755) && errno != EEXIST))
		wrong("%s", strerror(errno));
	memcpy(good, memory, bytes);
	/* until something has been seen of each, however slow the machine is */
	while (time(NULL) < deadline || !mounted || mounted == tried || !mends) {
		damage();
		memcpy(memory, now, bytes);
		tried++;
		if (mounts()) {
			mounted++;
			use_all();
		}
		if (tried % 16 == 1)
			mends += repaired();
	}
	memcpy(memory, good, bytes);
	printf("# %u images, %u mounted, %u errors met, %u repaired\n", tried, mounted, errors, mends);
	unlink(IMAGE);
	return !errors;
}
