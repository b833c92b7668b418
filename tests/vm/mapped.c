// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are mapped while all else happens to them. Each case makes a file of its own.
 *
 *	mapped DIR CASE		one of those at the end of this file; exits with 0: as it has to be
 *	mapped DIR list		their names
 *	mapped DIR after	what `last` left, after the file system was mounted once more
 *	mapped DIR race SEED N	stores, writes, holes, truncations by four processes at once
 *	mapped DIR holds NAME	pins the first page of a file, unmapped and closed, says "held", waits for a line
 *	mapped DIR poison NAME PAGE	that page's memory goes bad; exits with 3 if this kernel can't do that
 *	mapped DIR faults NAME	says how many faults it takes to read all pages of a file
 *	mapped DIR sparse	says how many blocks a store to a file without any takes
 *	mapped DIR windows OTHER	who reads a file in pieces waits for memory, in another file system
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif

#define PAGE	4096u
#define HUGE	(2u << 20)
#define FILE_BYTES	(16u * PAGE)

static const char *dir;
static char path[PATH_MAX];
static unsigned char buf[FILE_BYTES];

__attribute__((noreturn)) static void fail(int line, const char *what)
{
	printf("# line %d: %s (%s)\n", line, what, strerrorname_np(errno));
	exit(1);
}

#define NEED(condition) do { if (!(condition)) fail(__LINE__, #condition); } while (0)

static int file(const char *name, off_t size)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	NEED(fd >= 0 && !ftruncate(fd, size));
	return fd;
}

static unsigned char *map(int fd, size_t len, int flags)
{
	unsigned char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);

	NEED(p != MAP_FAILED);
	return p;
}

static bool all(const unsigned char *p, int byte, size_t len)
{
	while (len && *p == byte)
		p++, len--;
	return !len;
}

static long blocks(int fd)
{
	struct stat st;

	NEED(!fstat(fd, &st));
	return st.st_blocks / 8;
}

/* --- signals of stores that can't be done ----------------------------------------------------- */

static sigjmp_buf back;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static bool is_bus(volatile unsigned char *p, bool store)
{
	const struct sigaction sa = { .sa_handler = on_bus };

	sigaction(SIGBUS, &sa, NULL);
	if (sigsetjmp(back, 1))
		return true;
	if (store)
		*p = 1;
	else
		(void)*p;
	return false;
}

/* --- holes ------------------------------------------------------------------------------------ */

static void hole_read(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(all(p, 0, FILE_BYTES) && !blocks(fd));
	memset(buf, 7, PAGE);
	NEED(pwrite(fd, buf, PAGE, 3 * PAGE) == PAGE);
	NEED(all(p + 3 * PAGE, 7, PAGE) && all(p, 0, 3 * PAGE) && all(p + 4 * PAGE, 0, PAGE));
	NEED(!posix_fallocate(fd, 0, FILE_BYTES));
	p[5 * PAGE] = 9;
	NEED(pread(fd, buf, 1, 5 * PAGE) == 1 && buf[0] == 9 && all(p + 3 * PAGE, 7, PAGE));
}

static void hole_store(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED), *q = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(!q[4 * PAGE]);
	p[4 * PAGE + 1] = 5;
	NEED(blocks(fd) == 1 && q[4 * PAGE + 1] == 5 && all(p + 4 * PAGE + 2, 0, PAGE - 2));
	NEED(lseek(fd, 0, SEEK_DATA) == 4 * PAGE && lseek(fd, 4 * PAGE, SEEK_HOLE) == 5 * PAGE);
	NEED(pread(fd, buf, 2, 4 * PAGE) == 2 && buf[0] == 0 && buf[1] == 5);
	NEED(!fsync(fd));
}

static void private_map(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_PRIVATE);

	p[0] = 1;
	NEED(!blocks(fd) && p[0] == 1);
	memset(buf, 7, FILE_BYTES);
	NEED(pwrite(fd, buf, FILE_BYTES, 0) == FILE_BYTES);
	NEED(p[0] == 1 && p[1] == 0 && p[PAGE] == 7);
	p[2 * PAGE] = 3;
	NEED(p[2 * PAGE + 1] == 7 && pread(fd, buf, 1, 2 * PAGE) == 1 && buf[0] == 7);
	NEED(!ftruncate(fd, 0) && is_bus(p, false) && is_bus(p + 2 * PAGE, true));
}

/* --- less of a file --------------------------------------------------------------------------- */

static void truncated(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	memset(p, 6, FILE_BYTES);
	NEED(!ftruncate(fd, 2 * PAGE + 100));
	NEED(is_bus(p + 3 * PAGE, false) && is_bus(p + 5 * PAGE, true));
	NEED(all(p, 6, 2 * PAGE + 100) && all(p + 2 * PAGE + 100, 0, PAGE - 100));
	p[2 * PAGE + 200] = 8;		/* behind the end: nobody may see it */
	NEED(!ftruncate(fd, FILE_BYTES));
	NEED(all(p + 2 * PAGE + 100, 0, FILE_BYTES - 2 * PAGE - 100) && blocks(fd) == 3);
	p[9 * PAGE] = 4;
	NEED(blocks(fd) == 4 && pread(fd, buf, 1, 9 * PAGE) == 1 && buf[0] == 4);
}

static void punched(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	memset(p, 6, FILE_BYTES);
	NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE + 10, 3 * PAGE));
	NEED(blocks(fd) == 14 && all(p, 6, PAGE + 10) && all(p + PAGE + 10, 0, 3 * PAGE) &&
	     all(p + 4 * PAGE + 10, 6, FILE_BYTES - 4 * PAGE - 10));
	p[2 * PAGE] = 1;
	NEED(blocks(fd) == 15 && all(p + 2 * PAGE + 1, 0, PAGE - 1));
}

/* What was freed under a mapping must not be seen through it when it is another file's. */
static void reused(void)
{
	int fd = file("f", FILE_BYTES), other, i;
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED), *q;

	memset(p, 6, FILE_BYTES);
	NEED(!ftruncate(fd, 0) && !ftruncate(fd, FILE_BYTES));
	for (i = 0; i < 8; i++) {
		other = file((const char *[]){ "g0", "g1", "g2", "g3" }[i % 4], FILE_BYTES);
		q = map(other, FILE_BYTES, MAP_SHARED);
		memset(q, 0x11 + i, FILE_BYTES);
		NEED(all(p, 0, FILE_BYTES));
		close(other);
	}
	memset(p, 9, FILE_BYTES);
	NEED(all(q, 0x18, FILE_BYTES));
}

/* What is stored to a private mapping is nowhere else: it goes with what moved, and not with what didn't. */
static void private_shift(void)
{
	const int take = FALLOC_FL_COLLAPSE_RANGE, put = FALLOC_FL_INSERT_RANGE;
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_PRIVATE);

	memset(buf, 7, FILE_BYTES);
	NEED(pwrite(fd, buf, FILE_BYTES, 0) == FILE_BYTES);
	p[9 * PAGE] = 1;
	NEED(fallocate(fd, take, 8 * PAGE, 8 * PAGE) && errno == EINVAL && p[9 * PAGE] == 1);
	NEED(fallocate(fd, take, 0, FILE_BYTES) && errno == EINVAL && p[9 * PAGE] == 1);
	NEED(fallocate(fd, put, FILE_BYTES, PAGE) && errno == EINVAL && p[9 * PAGE] == 1);
	NEED(!fallocate(fd, take, 10 * PAGE, PAGE) && p[9 * PAGE] == 1);
	NEED(!fallocate(fd, take, PAGE, PAGE) && p[9 * PAGE] == 7);
	p[9 * PAGE] = 2;
	NEED(!fallocate(fd, put, 9 * PAGE, PAGE) && p[9 * PAGE] == 0 && p[10 * PAGE] == 7);
}

/* --- the file's own bytes as a buffer --------------------------------------------------------- */

static void own_buffer(void)
{
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(pwrite(fd, p + 4 * PAGE, 4 * PAGE, 0) == 4 * PAGE && all(p, 0, FILE_BYTES));
	p[0] = 3;
	NEED(pwrite(fd, p, PAGE, 9 * PAGE + 1) == PAGE && p[9 * PAGE + 1] == 3);
	NEED(pread(fd, p + 12 * PAGE, 2 * PAGE, 9 * PAGE) == 2 * PAGE && p[12 * PAGE + 1] == 3);
	NEED(pwrite(fd, p, 2 * PAGE, FILE_BYTES) == 2 * PAGE);
}

/* A buffer that ends in what can't be read: what is before it is written. */
static void bad_buffer(void)
{
	int fd = file("f", 0);
	unsigned char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	ssize_t n;

	NEED(p != MAP_FAILED && !munmap(p + PAGE, PAGE));
	memset(p, 3, PAGE);
	n = pwrite(fd, p + PAGE - 100, 200, 0);
	NEED(n == 100 && !fstat(fd, &st) && st.st_size == 100);
	NEED(pread(fd, buf, 200, 0) == 100 && all(buf, 3, 100));
	NEED(pwrite(fd, p + PAGE, 10, 0) == -1 && errno == EFAULT);
}

/* --- times ------------------------------------------------------------------------------------ */

static void stamped(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	int fd = file("f", FILE_BYTES);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);
	struct stat st;

	p[0] = 1;
	NEED(!futimens(fd, old) && !fstat(fd, &st) && st.st_mtim.tv_sec == 1000);
	p[PAGE] = 1;		/* a block that isn't there yet */
	NEED(!fstat(fd, &st) && st.st_mtim.tv_sec > 1000 && st.st_ctim.tv_sec > 1000);
	NEED(!futimens(fd, old) && !msync(p, FILE_BYTES, MS_SYNC));
	p[0] = 2;		/* one that is, write-protected by the flush */
	NEED(!fstat(fd, &st) && st.st_mtim.tv_sec > 1000);
}

/* --- pinned pages ----------------------------------------------------------------------------- */

/* Has it gone to sleep, or ended? Then it has got as far as it gets. */
static bool rests(pid_t pid)
{
	char name[64], line[256] = "", *state;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "re");
	if (!f)
		return true;
	state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return state && strchr("SDZ", state[2]);
}

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid;
}

static void pin(int out, unsigned char *p)
{
	struct iovec v = { p, PAGE };

	NEED(vmsplice(out, &v, 1, 0) == PAGE);
}

/* Who cuts the file to a page waits, until the page of sixes that is pinned behind it was read. */
static void cut_waits(int fd, int pinned)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(ftruncate(fd, PAGE));
	while (!rests(pid))
		sched_yield();
	NEED(!has_ended(pid));
	NEED(read(pinned, buf, PAGE) == PAGE && all(buf, 6, PAGE));
	NEED(waitpid(pid, &status, 0) == pid && !status);
}

/* Whoever takes pinned blocks out of a file waits, although nothing is mapped any more. */
static void pinned_truncate(void)
{
	int fd = file("f", FILE_BYTES), end[2];
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(!pipe2(end, O_CLOEXEC));
	memset(p, 6, FILE_BYTES);
	pin(end[1], p + 3 * PAGE);
	NEED(!munmap(p, FILE_BYTES));
	NEED(!ftruncate(fd, 8 * PAGE));		/* others aren't waited for */
	cut_waits(fd, end[0]);
	NEED(blocks(fd) == 1);
}

/* Nor does a write beside it, after which the kernel doesn't know any more that it was mapped, end that. */
static void pinned_forgotten(void)
{
	int fd = file("f", FILE_BYTES), end[2];
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(!pipe2(end, O_CLOEXEC));
	memset(p + 3 * PAGE, 6, PAGE);
	pin(end[1], p + 3 * PAGE);
	NEED(!fsync(fd));		/* what is dirty is not forgotten */
	memset(buf, 7, PAGE);
	NEED(pwrite(fd, buf, PAGE, 5 * PAGE) == PAGE && !munmap(p, FILE_BYTES));
	cut_waits(fd, end[0]);
	NEED(!blocks(fd));
}

static int64_t changed(int fd)
{
	struct stat st;

	NEED(!fstat(fd, &st));
	return st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
}

#define ALTER_WAYS	6

static bool alter(int fd, int how)
{
	static const int mode[] = {
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE,
		FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE,
	};

	if (how < ALTER_WAYS - 2)
		return !fallocate(fd, mode[how], 3 * PAGE, PAGE);
	return !(how == ALTER_WAYS - 2 ? ftruncate(fd, PAGE) : truncate(path, PAGE));
}

/*
 * Who waits for a pinned page has begun before others store to the file, and changes it after them:
 * its time is not one before theirs.
 */
static void pinned_times(void)
{
	int fd, end[2], how, status;
	unsigned char *p;
	int64_t was, stored;
	pid_t pid;

	NEED(!pipe2(end, O_CLOEXEC));
	for (how = 0; how < ALTER_WAYS; how++) {
		fd = file("f", FILE_BYTES);
		p = map(fd, FILE_BYTES, MAP_SHARED);
		memset(p, 6, FILE_BYTES);
		pin(end[1], p + 3 * PAGE);
		pid = fork();
		if (!pid)
			_exit(!alter(fd, how));
		while (!rests(pid))
			sched_yield();
		NEED(!has_ended(pid));
		/* Until that is another tick's, of which it can know nothing; each store faults. */
		was = changed(fd);
		do {
			NEED(!fsync(fd));
			*p = 7;
			stored = changed(fd);
		} while (stored == was);
		NEED(read(end[0], buf, PAGE) == PAGE);
		NEED(waitpid(pid, &status, 0) == pid && !status);
		NEED(changed(fd) >= stored);
		NEED(!munmap(p, FILE_BYTES) && !close(fd));
	}
	close(end[0]);
	close(end[1]);
}

/* Asks for a read, a write and nothing in one call; says when nothing is done, ends when all is. */
static void ask(int fd, int said)
{
	static unsigned char page[2][PAGE] __attribute__((aligned(PAGE)));
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int direct, left;

	snprintf(path, sizeof(path), "%s/f", dir);
	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	NEED(direct >= 0 && !io_uring_queue_init(4, &ring, 0));
	io_uring_prep_read(io_uring_get_sqe(&ring), fd, page[0], PAGE, 0);
	io_uring_prep_write(io_uring_get_sqe(&ring), direct, page[1], PAGE, 0);
	io_uring_prep_nop(io_uring_get_sqe(&ring));
	io_uring_sqe_set_data64(&ring.sq.sqes[0], PAGE);
	io_uring_sqe_set_data64(&ring.sq.sqes[1], PAGE);
	io_uring_sqe_set_data64(&ring.sq.sqes[2], 0);
	NEED(io_uring_submit(&ring) == 3);
	for (left = 3; left; left--) {
		NEED(!io_uring_wait_cqe(&ring, &cqe));
		NEED(cqe->res == (int)io_uring_cqe_get_data64(cqe));
		if (!io_uring_cqe_get_data64(cqe))
			NEED(write(said, "", 1) == 1);
		io_uring_cqe_seen(&ring, cqe);
	}
	_exit(0);
}

/* Who asks a ring doesn't wait for who waits for pages. */
static void asked(void)
{
	int fd = file("f", FILE_BYTES), end[2], said[2], status;
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);
	struct pollfd wait = { .events = POLLIN };
	pid_t pid, asks;
	bool in_time;

	NEED(!pipe2(end, O_CLOEXEC) && !pipe2(said, O_CLOEXEC));
	memset(p, 6, FILE_BYTES);
	pin(end[1], p + 3 * PAGE);
	NEED(!munmap(p, FILE_BYTES));
	pid = fork();
	if (!pid)
		_exit(ftruncate(fd, PAGE));
	while (!rests(pid))
		sched_yield();
	asks = fork();
	if (!asks)
		ask(fd, said[1]);
	wait.fd = said[0];
	in_time = poll(&wait, 1, 30000) == 1;
	NEED(!has_ended(pid));
	NEED(read(end[0], buf, PAGE) == PAGE && all(buf, 6, PAGE));
	NEED(waitpid(pid, &status, 0) == pid && !status);
	NEED(waitpid(asks, &status, 0) == asks && !status);
	NEED(in_time);
}

/* A file that goes while its pages are pinned: nobody waits, and nobody gets its blocks. */
static void pinned_unlink(void)
{
	int fd = file("f", FILE_BYTES), other = file("g", 0), end[2], i;
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);

	NEED(!pipe2(end, O_CLOEXEC));
	memset(p, 6, FILE_BYTES);
	pin(end[1], p + 3 * PAGE);
	NEED(!munmap(p, FILE_BYTES));
	close(fd);
	snprintf(path, sizeof(path), "%s/f", dir);
	NEED(!unlink(path));
	memset(buf, 9, sizeof(buf));
	for (i = 0; write(other, buf, sizeof(buf)) > 0; i++)
		;
	NEED(errno == ENOSPC && i > 10);
	NEED(read(end[0], buf, PAGE) == PAGE && all(buf, 6, PAGE));
	NEED(!ftruncate(other, 0));
}

static long faults(void)
{
	struct rusage u;

	NEED(!getrusage(RUSAGE_SELF, &u));
	return u.ru_minflt + u.ru_majflt;
}

#ifndef FS_IOC_SHUTDOWN
#define FS_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#endif

/*
 * Nothing but pinned pages is left: of a file with a name, and when the file system is shut down of
 * one without, too. Says so, and lets go of them when told to.
 */
static void hold(bool shut)
{
	int fd = file("held", FILE_BYTES), gone = file("gone", FILE_BYTES), end[2];
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED), *q = map(gone, FILE_BYTES, MAP_SHARED);
	size_t bytes = shut ? 2 * PAGE : PAGE;
	uint32_t how = 0;

	NEED(!pipe2(end, O_CLOEXEC));
	memset(p, 6, FILE_BYTES);
	memset(q, 6, FILE_BYTES);
	pin(end[1], p + 3 * PAGE);
	if (shut)
		pin(end[1], q);
	snprintf(path, sizeof(path), "%s/gone", dir);
	NEED(!unlink(path) && (!shut || !ioctl(fd, FS_IOC_SHUTDOWN, &how)));
	NEED(!munmap(p, FILE_BYTES) && !munmap(q, FILE_BYTES) && !close(gone) && !close(fd));
	NEED(puts("held") >= 0 && !fflush(stdout) && getchar() == '\n');
	NEED(read(end[0], buf, bytes) == (ssize_t)bytes && all(buf, 6, bytes));
}

/* A page of a file that is there, until it is told to let go of it. */
static void hold_file(const char *name)
{
	static unsigned char was[PAGE];
	unsigned char *p;
	struct stat st;
	int fd, end[2];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	NEED(fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)PAGE && !pipe2(end, O_CLOEXEC));
	p = map(fd, st.st_size, MAP_SHARED);
	memcpy(was, p, PAGE);
	pin(end[1], p);
	NEED(!munmap(p, st.st_size) && !close(fd));
	NEED(puts("held") >= 0 && !fflush(stdout) && getchar() == '\n');
	NEED(read(end[0], buf, PAGE) == PAGE && !memcmp(buf, was, PAGE));
}

/* How many faults it takes to read all pages of a file. */
static void count_faults(const char *name)
{
	unsigned char *p, sum = 0;
	struct stat st;
	long before;
	off_t i;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	NEED(fd >= 0 && !fstat(fd, &st));
	p = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	before = faults();
	for (i = 0; i < st.st_size; i += PAGE)
		sum += *(volatile unsigned char *)(p + i);
	printf("%ld\n", faults() - before);
	(void)sum;
}

/* --- files in pieces -------------------------------------------------------------------------- */

#define PIECES	40

static int frozen = -1;

static void thaw(void)
{
	if (frozen >= 0)
		ioctl(frozen, FITHAW, 0);
	frozen = -1;
}

/* What the file system has mapped in the kernel, whether or not it still says so. */
static int mappings(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[512];
	int nr = 0;

	NEED(f);
	while (fgets(line, sizeof(line), f))
		nr += strstr(line, "[scmfs]") && strstr(line, " vmap");
	fclose(f);
	return nr;
}

/* Memory is given back a moment later. */
static bool mappings_become(int most)
{
	time_t end = time(NULL) + 60;

	while (mappings() > most) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

static void shrink(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	NEED(fd >= 0 && write(fd, "2", 1) == 1 && !close(fd));
}

static void two_in_pieces(int fd[2])
{
	int i, j;

	fd[0] = file("a", 0);
	fd[1] = file("b", 0);
	memset(buf, 5, sizeof(buf));
	/* From the end to the start: neither has room ahead. */
	for (i = PIECES - 1; i >= 0; i--)
		for (j = 0; j < 2; j++)
			NEED(pwrite(fd[j], buf, PAGE, (off_t)i * PAGE) == PAGE);
}

/* So often that it has a window after that, if it is to get one. */
static void read_again(int fd)
{
	int i;

	for (i = 0; i < 12; i++)
		NEED(pread(fd, buf, FILE_BYTES, 2 * PAGE) == FILE_BYTES && all(buf, 5, FILE_BYTES));
}

/*
 * Who stores to a file system that is frozen waits for as long as somebody likes. One who does so
 * within a read keeps what he reads through, not what others have read through, and given up.
 */
static void windows(const char *other)
{
	int fd[2], to, before = mappings(), i, status;
	unsigned char *p;
	pid_t pid;

	two_in_pieces(fd);
	read_again(fd[0]);
	NEED(mappings() == before + 1);
	snprintf(path, sizeof(path), "%s/to", other);
	to = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	NEED(to >= 0 && !ftruncate(to, FILE_BYTES));
	p = map(to, FILE_BYTES, MAP_SHARED);
	NEED(!atexit(thaw));
	frozen = open(other, O_RDONLY | O_CLOEXEC);
	NEED(frozen >= 0 && !ioctl(frozen, FIFREEZE, 0));
	pid = fork();
	if (!pid)
		_exit(pread(fd[0], p, FILE_BYTES, 2 * PAGE) != FILE_BYTES);
	while (!rests(pid))
		sched_yield();
	for (i = 0; i < 100; i++) {
		NEED(!ftruncate(fd[1], PIECES * PAGE));
		read_again(fd[1]);
	}
	NEED(mappings_become(before + 2));
	shrink();
	NEED(mappings_become(before + 1) && !has_ended(pid));
	thaw();
	NEED(waitpid(pid, &status, 0) == pid && !status && all(p, 5, FILE_BYTES));
	NEED(mappings_become(before));
}

/* Of a file that is as large as huge pages are. */
static void store_to_sparse(void)
{
	int fd = file("sparse", 2 * HUGE);
	unsigned char *p = map(fd, 2 * HUGE, MAP_SHARED);

	NEED(!((uintptr_t)p % HUGE));
	p[HUGE + 5 * PAGE] = 1;
	printf("%ld\n", blocks(fd));
	NEED(!unlink(path));
}

/* A page of each of as many files as a pipe has room for, so long as nobody says "enough". */
static void hold_many(int nr)
{
	int i, fd, end[2];
	unsigned char *p;

	NEED(!pipe2(end, O_CLOEXEC) && fcntl(end[1], F_SETPIPE_SZ, 512 * PAGE) >= nr * (int)PAGE);
	for (i = 0; i < nr; i++) {
		fd = file("many", PAGE);
		p = map(fd, PAGE, MAP_SHARED);
		*p = 7;
		pin(end[1], p);
		NEED(!munmap(p, PAGE) && !close(fd));
		snprintf(path, sizeof(path), "%s/many", dir);
		NEED(!unlink(path));
	}
	NEED(puts("held") >= 0 && !fflush(stdout) && getchar() == '\n');
}

/* --- no room ---------------------------------------------------------------------------------- */

static void fill_up(int fd)
{
	size_t len = sizeof(buf);

	while (len)
		if (write(fd, buf, len) < 0)
			len /= 2;
	NEED(errno == ENOSPC);
}

/* What another case had pinned a moment ago may be let go of meanwhile: then there is room once more. */
static void full(void)
{
	int fd = file("f", FILE_BYTES), other = file("g", 0);
	unsigned char *p = map(fd, FILE_BYTES, MAP_SHARED);
	off_t at;

	for (at = PAGE; at < FILE_BYTES; at += PAGE) {
		fill_up(other);
		NEED(!p[at]);
		if (is_bus(p + at, true))
			break;
	}
	NEED(at < FILE_BYTES && !p[at]);
	NEED(!ftruncate(other, 0));
	p[at] = 2;
	NEED(pread(fd, buf, 1, at) == 1 && buf[0] == 2);
}

/* --- huge pages ------------------------------------------------------------------------------- */

static void huge(void)
{
	int fd = file("f", 2 * HUGE);
	unsigned char *p = map(fd, 2 * HUGE, MAP_SHARED), *q;
	long before;
	size_t i;

	NEED(!((uintptr_t)p % HUGE));
	before = faults();
	for (i = 0; i < 2 * HUGE; i += PAGE)
		p[i] = i / PAGE;
	NEED(faults() - before < 16 && blocks(fd) == 1024);
	q = map(fd, 2 * HUGE, MAP_SHARED);
	NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5 * PAGE, PAGE));
	NEED(p[4 * PAGE] == 4 && !p[5 * PAGE] && q[6 * PAGE] == 6 && blocks(fd) == 1023);
	NEED(!ftruncate(fd, HUGE + 9 * PAGE) && is_bus(p + HUGE + 9 * PAGE, true));
	NEED(q[HUGE + 8 * PAGE] == 8 && !fsync(fd));
	p[5 * PAGE] = 1;
	NEED(q[5 * PAGE] == 1 && !msync(p, HUGE, MS_SYNC));
}

/*
 * Who has mapped a page of what others have mapped by a huge one, and of which the kernel knows by the
 * huge one alone: a write behind that has it forgotten.
 */
static void small_of_huge(void)
{
	int fd = file("f", 2 * HUGE), end[2], status;
	unsigned char *p = map(fd, HUGE, MAP_SHARED), *q = map(fd, PAGE, MAP_SHARED);
	pid_t pid;

	p[0] = 1;
	NEED(q[0] == 1 && !fsync(fd));
	memset(buf, 3, 2 * PAGE);
	NEED(pwrite(fd, buf, 2 * PAGE, HUGE - PAGE) == 2 * PAGE);
	memset(buf, 4, PAGE);
	NEED(pwrite(fd, buf, PAGE, 0) == PAGE && all(q, 4, PAGE));
	NEED(!pipe2(end, O_CLOEXEC) && !munmap(p, HUGE));
	pin(end[1], q);
	pid = fork();
	if (!pid)
		_exit(ftruncate(fd, 0));
	while (!rests(pid))
		sched_yield();
	NEED(!has_ended(pid));
	NEED(read(end[0], buf, PAGE) == PAGE && all(buf, 4, PAGE));
	NEED(waitpid(pid, &status, 0) == pid && !status && !blocks(fd));
}

static void look_at_hole(volatile unsigned char *p)
{
	unsigned int n;

	for (n = 0; n < 2000; n++)
		NEED(!madvise((void *)p, HUGE, MADV_DONTNEED) && !*p);
}

/* Two look at a hole again and again, three flush: there is nothing to flush, and nothing to be told. */
static void hole_flushed(void)
{
	int fd = file("f", HUGE), status, bad = 0;
	unsigned char *p = map(fd, HUGE, MAP_SHARED);
	volatile unsigned int *over = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	NEED(over != MAP_FAILED);
	for (i = 0; i < 5; i++) {
		if (fork())
			continue;
		if (i < 2) {
			look_at_hole(p);
			__sync_fetch_and_add(over, 1);
		}
		while (*over < 2)
			NEED(!fsync(fd));
		exit(0);
	}
	while (wait(&status) > 0) {
		bad |= status;
		if (status)
			*over = 2;
	}
	NEED(!bad && !fsync(fd) && !blocks(fd));
}

/* --- across mounts ---------------------------------------------------------------------------- */

static void last(void)
{
	int fd = file("last", FILE_BYTES);
	unsigned char *p = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	int i;

	NEED(p != MAP_FAILED);
	for (i = 0; i < 16; i += 3)
		memset(p + i * PAGE, i + 1, PAGE);
	/* As a cut leaves it: what is behind the end isn't the file's. */
	fd = file("end", 100);
	NEED(pwrite(fd, "x", 1, 0) == 1);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	memset(p, 0x77, PAGE);
}

static void after_end(void)
{
	unsigned char *p;
	int fd;

	snprintf(path, sizeof(path), "%s/end", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	NEED(p != MAP_FAILED && all(p, 0x77, 100) && all(p + 100, 0, PAGE - 100));
}

static void after(void)
{
	int i, fd;

	snprintf(path, sizeof(path), "%s/last", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	NEED(fd >= 0 && read(fd, buf, FILE_BYTES) == FILE_BYTES && blocks(fd) == 6);
	for (i = 0; i < 16; i++)
		NEED(all(buf + i * PAGE, i % 3 ? 0 : i + 1, PAGE));
	after_end();
}

/* --- at once ---------------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

/*
 * Each process has every fourth page for itself, knows what is in it, and stores or writes or
 * punches it. Behind them lies what all of them grow and cut.
 */
static void race_one(int fd, unsigned int me, unsigned int steps)
{
	static unsigned char want[64];
	unsigned char *p = map(fd, 512 * PAGE, MAP_SHARED);
	unsigned int i, nr;
	off_t at;

	for (i = 0; i < steps; i++) {
		nr = rnd(64);
		at = (nr * 4 + me) * PAGE;
		NEED(p[at] == want[nr] && p[at + PAGE - 1] == want[nr]);
		NEED(pread(fd, buf, PAGE, at) == PAGE && all(buf, want[nr], PAGE));
		want[nr] = rnd(4) ? i : 0;
		if (!want[nr]) {
			NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, PAGE));
		} else if (rnd(2)) {
			memset(p + at, want[nr], PAGE);
		} else {
			memset(buf, want[nr], PAGE);
			NEED(pwrite(fd, buf, PAGE, at) == PAGE);
		}
		if (!rnd(4))
			NEED(!ftruncate(fd, (256 + rnd(256)) * PAGE));
		else if (!is_bus(p + (256 + rnd(256)) * PAGE, true) && !rnd(8))
			NEED(!msync(p, 512 * PAGE, MS_SYNC));
	}
}

static void race(uint64_t seed, unsigned int steps)
{
	int fd = file("race", 512 * PAGE), status, bad = 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (fork())
			continue;
		state = seed + i;
		race_one(fd, i, steps);
		exit(0);
	}
	while (wait(&status) > 0)
		bad |= status;
	NEED(!bad && !ftruncate(fd, 0) && !blocks(fd));
}

static const struct {
	const char *name;
	void (*fn)(void);
} cases[] = {
	{ "hole_read", hole_read }, { "hole_store", hole_store }, { "private", private_map },
	{ "truncated", truncated }, { "punched", punched }, { "reused", reused },
	{ "private_shift", private_shift },
	{ "own_buffer", own_buffer }, { "bad_buffer", bad_buffer }, { "stamped", stamped },
	{ "pinned_truncate", pinned_truncate }, { "pinned_unlink", pinned_unlink },
	{ "pinned_forgotten", pinned_forgotten }, { "pinned_times", pinned_times }, { "asked", asked },
	{ "full", full }, { "huge", huge }, { "hole_flushed", hole_flushed },
	{ "small_of_huge", small_of_huge }, { "last", last },
};

/* --- bad memory ------------------------------------------------------------------------------- */

#ifndef MADV_HWPOISON
#define MADV_HWPOISON 100
#endif
#define UNKNOWN	3	/* to the kernel */

/* As the kernel does when it has had a machine check, but that the memory is good. */
static void make_bad(unsigned char *page)
{
	const struct sigaction sa = { .sa_handler = on_bus };

	sigaction(SIGBUS, &sa, NULL);
	if (!sigsetjmp(back, 1) && madvise(page, PAGE, MADV_HWPOISON)) {
		if (errno == EINVAL)
			exit(UNKNOWN);
		NEED(!"madvise");
	}
}

static void poison(const char *name, unsigned int page)
{
	off_t at = (off_t)page * PAGE;
	unsigned char *p, before[2 * PAGE];
	int fd, to = memfd_create("to", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	NEED(fd >= 0 && to >= 0);
	NEED(pread(fd, before, PAGE, at - PAGE) == PAGE);
	p = map(fd, (page + 2) * PAGE, MAP_SHARED);
	p[at] = 'x';
	make_bad(p + at);
	NEED(pread(fd, buf, PAGE, at) == -1 && errno == EIO);
	NEED(pread(fd, buf, 2 * PAGE, at - PAGE) == PAGE && !memcmp(buf, before, PAGE));
	NEED(pread(fd, buf, PAGE, at + PAGE) == PAGE);
	NEED(sendfile(to, fd, &(off_t){ at }, PAGE) == -1 && errno == EIO);
	NEED(sendfile(to, fd, &(off_t){ at + PAGE }, PAGE) == PAGE);
	NEED(pwrite(fd, buf, PAGE, at) == -1 && errno == EIO);
	NEED(pwrite(fd, buf, 10, at + 100) == -1 && errno == EIO);
	NEED(pwrite(fd, before, 2 * PAGE, at - PAGE) == PAGE);
	NEED(fsync(fd) == -1 && errno == EIO);	/* what was stored to it */
	NEED(!fsync(fd));
	NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at + 100, 10));
	NEED(!munmap(p, (page + 2) * PAGE));
	p = map(fd, (page + 2) * PAGE, MAP_SHARED);
	NEED(!is_bus(p + at - PAGE, false) && !is_bus(p + at + PAGE, false));
	NEED(is_bus(p + at, false) && is_bus(p + at, true));
	p = map(fd, (page + 2) * PAGE, MAP_PRIVATE);
	NEED(!is_bus(p + at - PAGE, true) && !is_bus(p + at + PAGE, true) && is_bus(p + at, true));
}

int main(int argc, char **argv)
{
	size_t i, nr = sizeof(cases) / sizeof(*cases);

	if (argc < 3)
		return 2;
	dir = argv[1];
	if (!strcmp(argv[2], "after"))
		return after(), 0;
	if (!strcmp(argv[2], "hold") && argc > 3 && atoi(argv[3]))
		return hold_many(atoi(argv[3])), 0;
	if (!strcmp(argv[2], "hold"))
		return hold(argc > 3), 0;
	if (!strcmp(argv[2], "holds") && argc == 4)
		return hold_file(argv[3]), 0;
	if (!strcmp(argv[2], "poison") && argc == 5)
		return poison(argv[3], atoi(argv[4])), 0;
	if (!strcmp(argv[2], "faults") && argc == 4)
		return count_faults(argv[3]), 0;
	if (!strcmp(argv[2], "windows") && argc == 4)
		return windows(argv[3]), 0;
	if (!strcmp(argv[2], "sparse"))
		return store_to_sparse(), 0;
	if (!strcmp(argv[2], "race") && argc == 5)
		return race(strtoull(argv[3], NULL, 0), atoi(argv[4])), 0;
	for (i = 0; i < nr; i++) {
		if (!strcmp(argv[2], "list"))
			puts(cases[i].name);
		else if (!strcmp(argv[2], cases[i].name))
			return cases[i].fn(), 0;
	}
	return strcmp(argv[2], "list") ? 2 : 0;
}
