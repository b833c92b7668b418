// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two file systems side by side: every random operation is done on both, and both have to say the
 * same. One of them is the one that is tested, the other one (tmpfs) is taken for right.
 *
 *	fstwin run DIR DIR SEED OPERATIONS	both empty
 *	fstwin same DIR DIR			both hold the same
 *	fstwin pieces FILE FILE			write both in turns: they lie in many pieces
 *	fstwin again FILE FILE			read both, again and again: they are the same
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FDS	8		/* open at once */
#define NAMES	7		/* in a directory */
#define REACH	300000u		/* of most files */
#define FAR	(40u << 20)	/* and of some, with holes */
#define PIECE	70000u		/* bytes of a write at most */

static const char *top[2];
static int fd[FDS][2];
static unsigned char *map[FDS][2];	/* kept while all else goes on; NULL: none */
static uint64_t state;
static unsigned int step;
static char what[PATH_MAX];
static unsigned char buf[2][PIECE];

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

__attribute__((format(printf, 1, 2), noreturn)) static void differ(const char *fmt, ...)
{
	va_list args;

	printf("# step %u, %s: ", step, what);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

/* What both said: the same number, or the same error. */
static bool agree(long a, int error_a, long b, int error_b)
{
	if (a != b || (a < 0 && error_a != error_b))
		differ("%ld (%s) here, %ld (%s) there", a, a < 0 ? strerror(error_a) : "",
		       b, b < 0 ? strerror(error_b) : "");
	return a >= 0;
}

#define BOTH(call) ({							\
	long r_[2];							\
	int e_[2];							\
	for (int side = 0; side < 2; side++) {				\
		r_[side] = (call);					\
		e_[side] = errno;					\
	}								\
	agree(r_[0], e_[0], r_[1], e_[1]);				\
})

/* A name below the top: in it, or in a directory or what may be one. */
static const char *name(int side, unsigned int which)
{
	static char path[4][PATH_MAX];
	static unsigned int turn;
	char *p = path[turn++ % 4];

	if (which < NAMES)
		snprintf(p, PATH_MAX, "%s/n%u", top[side], which);
	else
		snprintf(p, PATH_MAX, "%s/n%u/m%u", top[side], which / NAMES - 1, which % NAMES);
	return p;
}

static unsigned int any(void)
{
	return rnd(NAMES + NAMES * 3);
}

static void compare_stat(const struct stat *a, const struct stat *b)
{
	if (a->st_mode != b->st_mode || a->st_uid != b->st_uid || a->st_gid != b->st_gid)
		differ("mode %o %u:%u here, %o %u:%u there", a->st_mode, a->st_uid, a->st_gid,
		       b->st_mode, b->st_uid, b->st_gid);
	if (a->st_nlink != b->st_nlink)
		differ("%lu links here, %lu there", (long)a->st_nlink, (long)b->st_nlink);
	if (!S_ISDIR(a->st_mode) && a->st_size != b->st_size)
		differ("%lld bytes here, %lld there", (long long)a->st_size, (long long)b->st_size);
	if (a->st_rdev != b->st_rdev)
		differ("device %lx here, %lx there", (long)a->st_rdev, (long)b->st_rdev);
}

static void unmap(unsigned int slot)
{
	int side;

	for (side = 0; side < 2 && map[slot][side]; side++) {
		munmap(map[slot][side], FAR);
		map[slot][side] = NULL;
	}
}

static uint32_t place(void)
{
	return rnd(20) ? rnd(REACH) : rnd(FAR);
}

static void do_write(unsigned int slot)
{
	uint32_t at = rnd(4) ? place() & (rnd(2) ? ~0u : ~4095u) : 0, len = rnd(PIECE), i;
	bool append = rnd(2);

	snprintf(what, sizeof(what), "%s %u at %u", append ? "append" : "write", len, at);
	for (i = 0; i < len; i += 8)
		*(uint64_t *)(buf[0] + i) = state + i * 0x9e3779b97f4a7c15ull;
	if (append)
		BOTH((lseek(fd[slot][side], 0, SEEK_END), write(fd[slot][side], buf[0], len)));
	else
		BOTH(pwrite(fd[slot][side], buf[0], len, at));
}

static void do_read(unsigned int slot)
{
	uint32_t at = place(), len = rnd(PIECE);
	ssize_t n;

	snprintf(what, sizeof(what), "read %u at %u", len, at);
	if (!BOTH(pread(fd[slot][side], buf[side], len, at)))
		return;
	n = pread(fd[slot][0], buf[0], len, at);
	if (n > 0 && memcmp(buf[0], buf[1], n))
		differ("other bytes");
}

static void do_open(unsigned int slot)
{
	static const int flags[] = { O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_TRUNC, O_APPEND, 0,
				     O_NOFOLLOW, O_TMPFILE };
	unsigned int which = any(), f = flags[rnd(sizeof(flags) / sizeof(*flags))];
	int mode = f == O_TMPFILE ? O_RDWR : O_RDWR | O_CLOEXEC | O_NONBLOCK;
	int side;

	snprintf(what, sizeof(what), "open %u, flags %x", which, f);
	for (side = 0; side < 2; side++) {
		if (fd[slot][side] >= 0)
			close(fd[slot][side]);
		if (!side)
			unmap(slot);
		fd[slot][side] = open(name(side, which), mode | f, 0600 | which);
		buf[0][side] = errno;
	}
	agree(fd[slot][0] < 0 ? -1 : 0, buf[0][0], fd[slot][1] < 0 ? -1 : 0, buf[0][1]);
}

/* Up to @len bytes at @at that can be mapped, and are; 0: none. */
static uint32_t mapped(unsigned int slot, uint32_t at, uint32_t len)
{
	struct stat st;
	int side;

	if (fstat(fd[slot][0], &st) || !S_ISREG(st.st_mode) || st.st_size <= at)
		return 0;
	for (side = 0; side < 2; side++) {
		if (!map[slot][side])
			map[slot][side] = mmap(NULL, FAR, PROT_READ | PROT_WRITE, MAP_SHARED,
					       fd[slot][side], 0);
		if (map[slot][side] == MAP_FAILED)
			differ("side %d: %s", side, strerror(errno));
	}
	if (st.st_size < at + len)
		len = st.st_size - at;
	return at + len > FAR ? 0 : len;
}

static void do_load(unsigned int slot)
{
	uint32_t at = place(), len = mapped(slot, at, rnd(PIECE));

	snprintf(what, sizeof(what), "load %u at %u", len, at);
	if (len && memcmp(map[slot][0] + at, map[slot][1] + at, len))
		differ("other bytes");
}

static void do_store(unsigned int slot)
{
	uint32_t at = place(), len = mapped(slot, at, rnd(PIECE));

	snprintf(what, sizeof(what), "store %u at %u", len, at);
	if (!len)
		return;
	memset(map[slot][0] + at, state >> 40, len);
	memset(map[slot][1] + at, state >> 40, len);
}

/* From the file into itself: who writes may have to fault in what he writes to. */
static void do_write_map(unsigned int slot)
{
	uint32_t from = place(), at = place(), len = mapped(slot, from, rnd(PIECE));

	snprintf(what, sizeof(what), "write %u of %u to %u", len, from, at);
	if (len && (at + len <= from || from + len <= at))
		BOTH(pwrite(fd[slot][side], map[slot][side] + from, len, at));
}

static void do_read_map(unsigned int slot)
{
	uint32_t from = place(), at = place(), len = mapped(slot, at, rnd(PIECE));

	snprintf(what, sizeof(what), "read %u at %u to %u", len, from, at);
	if (len && (at + len <= from || from + len <= at))
		BOTH(pread(fd[slot][side], map[slot][side] + at, len, from));
}

static void do_truncate(unsigned int slot)
{
	uint32_t size = place();

	snprintf(what, sizeof(what), "truncate to %u", size);
	BOTH(ftruncate(fd[slot][side], size));
}

static void do_allocate(unsigned int slot)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE };
	uint32_t at = rnd(REACH), len = rnd(PIECE), mode = modes[rnd(3)];

	snprintf(what, sizeof(what), "fallocate %x, %u at %u", mode, len, at);
	BOTH(fallocate(fd[slot][side], mode, at, len));
}

static void do_fstat(unsigned int slot)
{
	struct stat st[2];

	snprintf(what, sizeof(what), "fstat");
	if (BOTH(fstat(fd[slot][side], &st[side])))
		compare_stat(&st[0], &st[1]);
}

static void do_publish(unsigned int slot)
{
	unsigned int which = any();
	char link[64];

	snprintf(what, sizeof(what), "link an open file as %u", which);
	BOTH((snprintf(link, sizeof(link), "/proc/self/fd/%d", fd[slot][side]),
	      linkat(AT_FDCWD, link, AT_FDCWD, name(side, which), AT_SYMLINK_FOLLOW)));
}

static void do_rename(void)
{
	unsigned int from = any(), to = any(), flags = rnd(2) ? 0 : rnd(4);

	snprintf(what, sizeof(what), "rename %u to %u, flags %u", from, to, flags);
	BOTH(renameat2(AT_FDCWD, name(side, from), AT_FDCWD, name(side, to), flags));
}

static void do_link(void)
{
	unsigned int from = any(), to = any();

	snprintf(what, sizeof(what), "link %u to %u", from, to);
	BOTH(link(name(side, from), name(side, to)));
}

static void do_unlink(void)
{
	unsigned int which = any();

	snprintf(what, sizeof(what), "unlink %u", which);
	BOTH(unlink(name(side, which)));
}

static void do_mkdir(void)
{
	unsigned int which = rnd(3) ? rnd(3) : any();

	snprintf(what, sizeof(what), "mkdir %u", which);
	BOTH(mkdir(name(side, which), 0700 | which));
}

static void do_rmdir(void)
{
	unsigned int which = any();

	snprintf(what, sizeof(what), "rmdir %u", which);
	BOTH(rmdir(name(side, which)));
}

static void do_symlink(void)
{
	unsigned int which = any(), len = 1 + (rnd(4) ? rnd(40) : rnd(4094));

	snprintf(what, sizeof(what), "symlink %u of %u bytes", which, len);
	memset(buf[0], 'a' + which % 26, len);
	buf[0][len] = 0;
	BOTH(symlink((char *)buf[0], name(side, which)));
}

static void do_mknod(void)
{
	unsigned int which = any();
	mode_t mode = (const mode_t[]){ S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK }[rnd(4)];

	snprintf(what, sizeof(what), "mknod %u, mode %o", which, mode);
	BOTH(mknod(name(side, which), mode | 0640, makedev(60 + which % 4, which)));
}

static void do_chmod(void)
{
	unsigned int which = any(), mode = rnd(010000);

	snprintf(what, sizeof(what), "chmod %u %o", which, mode);
	BOTH(fchmodat(AT_FDCWD, name(side, which), mode, 0));
	BOTH(lchown(name(side, which), mode & 7, mode >> 3 & 7));
}

static void do_times(void)
{
	unsigned int which = any();
	struct timespec t[2] = { { .tv_sec = rnd(1u << 31), .tv_nsec = rnd(1000000000) },
				 { .tv_sec = -(long)rnd(1u << 30), .tv_nsec = rnd(1000000000) } };
	struct stat st[2];

	snprintf(what, sizeof(what), "times of %u", which);
	if (!BOTH(utimensat(AT_FDCWD, name(side, which), t, AT_SYMLINK_NOFOLLOW)) ||
	    !BOTH(lstat(name(side, which), &st[side])))
		return;
	if (memcmp(&st[0].st_atim, &st[1].st_atim, sizeof(t[0])) ||
	    memcmp(&st[0].st_mtim, &st[1].st_mtim, sizeof(t[0])))
		differ("%ld.%09ld %ld.%09ld here", st[0].st_atim.tv_sec, st[0].st_atim.tv_nsec,
		       st[0].st_mtim.tv_sec, st[0].st_mtim.tv_nsec);
}

static void do_stat(void)
{
	unsigned int which = any();
	struct stat st[2];

	snprintf(what, sizeof(what), "stat %u", which);
	if (BOTH(lstat(name(side, which), &st[side])))
		compare_stat(&st[0], &st[1]);
}

/* --- trees ------------------------------------------------------------------------------------ */

static int dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
}

static void same_file(const char *a, const char *b)
{
	int in[2] = { open(a, O_RDONLY | O_CLOEXEC), open(b, O_RDONLY | O_CLOEXEC) };
	ssize_t n, m;

	if (in[0] < 0 || in[1] < 0)
		differ("can't be opened");
	do {
		n = read(in[0], buf[0], PIECE);
		m = read(in[1], buf[1], PIECE);
		if (n != m || n < 0 || memcmp(buf[0], buf[1], n))
			differ("other content");
	} while (n);
	close(in[0]);
	close(in[1]);
}

static void same_target(const char *a, const char *b)
{
	ssize_t n = readlink(a, (char *)buf[0], PIECE), m = readlink(b, (char *)buf[1], PIECE);

	if (n < 0 || n != m || memcmp(buf[0], buf[1], n))
		differ("other target");
}

static void same(const char *a, const char *b);

static void same_dir(const char *a, const char *b)
{
	struct dirent **in[2];
	int n = scandir(a, &in[0], dots, alphasort), m = scandir(b, &in[1], dots, alphasort), i;

	snprintf(what, sizeof(what), "%s", a);
	if (n < 0 || n != m)
		differ("%d names here, %d there", n, m);
	for (i = 0; i < n; i++) {
		char path[2][PATH_MAX];

		if (strcmp(in[0][i]->d_name, in[1][i]->d_name))
			differ("%s here, %s there", in[0][i]->d_name, in[1][i]->d_name);
		if (in[0][i]->d_type != in[1][i]->d_type)
			differ("%s is of type %d", in[0][i]->d_name, in[0][i]->d_type);
		snprintf(path[0], PATH_MAX, "%s/%s", a, in[0][i]->d_name);
		snprintf(path[1], PATH_MAX, "%s/%s", b, in[1][i]->d_name);
		same(path[0], path[1]);
		free(in[0][i]);
		free(in[1][i]);
	}
	free(in[0]);
	free(in[1]);
}

static void same(const char *a, const char *b)
{
	struct stat st[2];

	snprintf(what, sizeof(what), "%s", a);
	if (lstat(a, &st[0]) || lstat(b, &st[1]))
		differ("is not there");
	compare_stat(&st[0], &st[1]);
	if (S_ISDIR(st[0].st_mode))
		same_dir(a, b);
	else if (S_ISREG(st[0].st_mode))
		same_file(a, b);
	else if (S_ISLNK(st[0].st_mode))
		same_target(a, b);
}

/* --- running ---------------------------------------------------------------------------------- */

static void (*const on_file[])(unsigned int slot) = {
	do_write, do_write, do_write, do_read, do_read, do_truncate, do_allocate, do_fstat,
	do_publish, do_load, do_store, do_store, do_write_map, do_read_map,
};

static void (*const on_name[])(void) = {
	do_rename, do_rename, do_link, do_unlink, do_unlink, do_mkdir, do_rmdir, do_symlink,
	do_mknod, do_chmod, do_times, do_stat,
};

static void run(unsigned int steps)
{
	unsigned int slot;

	for (slot = 0; slot < FDS; slot++)
		fd[slot][0] = fd[slot][1] = -1;
	for (step = 1; step <= steps; step++) {
		slot = rnd(FDS);
		if (rnd(5) < 2)
			on_name[rnd(sizeof(on_name) / sizeof(*on_name))]();
		else if (fd[slot][0] < 0 || !rnd(12))
			do_open(slot);
		else
			on_file[rnd(sizeof(on_file) / sizeof(*on_file))](slot);
		if (!(step % 1000))
			same_dir(top[0], top[1]);
	}
	for (slot = 0; slot < FDS; slot++) {
		close(fd[slot][0]);
		close(fd[slot][1]);
		unmap(slot);
	}
	same_dir(top[0], top[1]);
}

static void pieces(void)
{
	unsigned int i, j;

	for (j = 0; j < 2; j++)
		fd[0][j] = open(top[j], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	for (i = 0; i < 300; i++) {
		for (j = 0; j < PIECE; j += 8)
			*(uint64_t *)(buf[0] + j) = i * 0x9e3779b97f4a7c15ull + j;
		/* Each fills a hole of the other's room ahead: from the end to the start. */
		BOTH(pwrite(fd[0][side], buf[0], 5000, (300 - i) * 5000));
	}
	BOTH(pwrite(fd[0][side], buf[0], 5000, 0));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	top[0] = argv[2];
	top[1] = argv[3];
	umask(022);
	if (!strcmp(argv[1], "same")) {
		same_dir(top[0], top[1]);
	} else if (!strcmp(argv[1], "pieces")) {
		pieces();
	} else if (!strcmp(argv[1], "again")) {
		for (step = 1; step <= 20; step++)
			same_file(top[0], top[1]);
	} else {
		state = strtoull(argv[4], NULL, 0);
		run(strtoul(argv[5], NULL, 0));
	}
	return 0;
}
