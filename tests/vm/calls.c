// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that scmfs answers and tmpfs doesn't, so that posix.table can't have them.
 *
 *	calls DIR	an empty directory on scmfs; exits with 0: as it has to be
 *	calls DIR again	once more, after mounting again
 *	calls DIR handles, calls DIR ids, calls DIR reuse	exits with 3 if this kernel knows none
 *	calls DIR DEVICE	what FIEMAP says is where it says, on the mounted device
 *	calls DIR xattrs
 *	calls DIR shutdown
 *	calls DIR uuid	says what the kernel has; exits with 3 if this one isn't asked
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK	4096u
#define FILE_BYTES	(8 * BLOCK)
#define EXTENTS	16

static unsigned char buf[FILE_BYTES], want[FILE_BYTES];
static char text[1024];

__attribute__((noreturn)) static void fail(int line, const char *what)
{
	printf("# line %d: %s (%s)\n", line, what, strerrorname_np(errno));
	exit(1);
}

#define UNKNOWN	3	/* to the kernel */
#define NEED(condition) do { if (!(condition)) fail(__LINE__, #condition); } while (0)

static int file(const char *name, size_t size)
{
	int fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	memset(want, 'x', sizeof(want));
	NEED(fd >= 0 && write(fd, want, size) == (ssize_t)size);
	return fd;
}

static void is_as_wanted(int fd, size_t size)
{
	NEED(pread(fd, buf, sizeof(buf), 0) == (ssize_t)size && !memcmp(buf, want, size));
}

static off_t size_of(int fd)
{
	struct stat st;

	NEED(!fstat(fd, &st));
	return st.st_size;
}

/* --- FALLOC_FL_ZERO_RANGE --------------------------------------------------------------------- */

static void zero_range(void)
{
	int fd = file("zero", FILE_BYTES);
	unsigned char *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct stat st;
	blkcnt_t blocks;

	NEED(map != MAP_FAILED && !fstat(fd, &st));
	blocks = st.st_blocks;
	map[BLOCK] = 'y';
	want[BLOCK] = 'y';
	NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, BLOCK + 5, 2 * BLOCK));
	memset(want + BLOCK + 5, 0, 2 * BLOCK);
	is_as_wanted(fd, FILE_BYTES);
	NEED(!memcmp(map, want, FILE_BYTES));
	NEED(!fstat(fd, &st) && st.st_blocks == blocks);

	/* a hole gets blocks */
	NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * BLOCK, 2 * BLOCK));
	memset(want + 4 * BLOCK, 0, 2 * BLOCK);
	NEED(!map[4 * BLOCK]);		/* the zero page is mapped now */
	NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, 4 * BLOCK, 2 * BLOCK));
	NEED(!fstat(fd, &st) && st.st_blocks == blocks);
	NEED(lseek(fd, 0, SEEK_HOLE) == 2 * BLOCK && lseek(fd, 2 * BLOCK, SEEK_DATA) == 3 * BLOCK);
	NEED(!map[4 * BLOCK] && !map[5 * BLOCK]);
	NEED(pwrite(fd, "z", 1, 4 * BLOCK) == 1 && map[4 * BLOCK] == 'z');
	map[5 * BLOCK + 1] = 'm';
	want[4 * BLOCK] = 'z';
	want[5 * BLOCK + 1] = 'm';
	is_as_wanted(fd, FILE_BYTES);

	/* behind the end: the size stays, or grows */
	NEED(!ftruncate(fd, FILE_BYTES - 100));
	NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FILE_BYTES - 200, BLOCK));
	NEED(size_of(fd) == FILE_BYTES - 100);
	memset(want + FILE_BYTES - 200, 0, 200);
	is_as_wanted(fd, FILE_BYTES - 100);
	NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, FILE_BYTES - 300, 300));
	NEED(size_of(fd) == FILE_BYTES);
	memset(want + FILE_BYTES - 300, 0, 300);
	is_as_wanted(fd, FILE_BYTES);
	NEED(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
	munmap(map, FILE_BYTES);
	close(fd);
}

/* --- as large as a file can be ----------------------------------------------------------------- */

static void largest(void)
{
	const off_t most = (1LL << 44) - BLOCK;
	int fd = file("large", 100);
	char byte;

	NEED(ftruncate(fd, most + 1) && errno == EFBIG);
	NEED(pwrite(fd, "x", 1, most) < 0 && errno == EFBIG);
	NEED(fallocate(fd, 0, most - 100, 101) && errno == EFBIG);
	NEED(fallocate(fd, FALLOC_FL_ZERO_RANGE, most, 1) && errno == EFBIG);
	NEED(size_of(fd) == 100);
	NEED(pwrite(fd, "xy", 2, most - 1) == 1 && size_of(fd) == most);
	NEED(pread(fd, &byte, 1, most - 1) == 1 && byte == 'x');
	NEED(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, BLOCK) && errno == EFBIG);
	NEED(!ftruncate(fd, 0) && !ftruncate(fd, most) && pread(fd, &byte, 1, most - 1) == 1 && !byte);
	NEED(!unlink("large"));
	close(fd);
}

/* --- sources of writes that are not there ------------------------------------------------------ */

static unsigned char *source;
static _Atomic int looks_at;	/* page of the source, -1: that was all */

/* Brings pages in, perhaps in the middle of a copy from them. */
static void *bring_in(void *none)
{
	int page;

	while ((page = looks_at) >= 0)
		(void)*(volatile unsigned char *)(source + page * BLOCK);
	return none;
}

/* Up to three parts, any of which begins and ends anywhere. */
static size_t write_parts(int fd, unsigned int *seed, off_t at)
{
	struct iovec part[3];
	size_t len = 0;
	int i, nr = 1 + rand_r(seed) % 3;

	for (i = 0; i < nr; i++) {
		size_t most = rand_r(seed) % 2 ? 40 : 3 * BLOCK, left = sizeof(want) - at - len;

		part[i].iov_base = source + rand_r(seed) % (FILE_BYTES - most);
		part[i].iov_len = rand_r(seed) % ((most < left ? most : left) + 1);
		memcpy(want + at + len, part[i].iov_base, part[i].iov_len);
		len += part[i].iov_len;
	}
	NEED(!madvise(source, FILE_BYTES, MADV_DONTNEED));
	looks_at = rand_r(seed) % 8;
	NEED(pwritev(fd, part, nr, at) == (ssize_t)len);
	return len;
}

/* From a file that is mapped and whose pages aren't: each write stops where one of them begins. */
static void sources(void)
{
	int from = file("source", FILE_BYTES), fd = file("sink", FILE_BYTES), i;
	unsigned int seed = getenv("EVENKEEL_SEED") ? atoi(getenv("EVENKEEL_SEED")) : 1;
	pthread_t other;

	for (i = 0; i < (int)FILE_BYTES; i++)
		buf[i] = rand_r(&seed);
	NEED(pwrite(from, buf, FILE_BYTES, 0) == FILE_BYTES);
	source = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, from, 0);
	NEED(source != MAP_FAILED && !pthread_create(&other, NULL, bring_in, NULL));
	for (i = 0; i < 400; i++) {
		write_parts(fd, &seed, rand_r(&seed) % FILE_BYTES);
		is_as_wanted(fd, FILE_BYTES);
	}
	looks_at = -1;
	pthread_join(other, NULL);

	/* The last of them ends: what there was is written, and told. */
	NEED(!munmap(source + 7 * BLOCK, BLOCK));
	for (i = 1; i < 100; i++) {
		NEED(!madvise(source, 7 * BLOCK, MADV_DONTNEED));
		NEED(pwrite(fd, source + 7 * BLOCK - i, 2 * i, i % 13) == i);
		memcpy(want + i % 13, source + 7 * BLOCK - i, i);
		is_as_wanted(fd, FILE_BYTES);
	}
	NEED(pwrite(fd, source + 7 * BLOCK, 100, 0) < 0 && errno == EFAULT);
	munmap(source, 7 * BLOCK);
	close(from);
	close(fd);
}

/* --- FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE ------------------------------------------ */

static void ranges(void)
{
	int fd = file("ranges", FILE_BYTES - 100), i;
	unsigned char *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	NEED(map != MAP_FAILED);
	for (i = 0; i < 8; i++)
		memset(map + i * BLOCK, 'a' + i, BLOCK);
	NEED(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 100, BLOCK) && errno == EINVAL);
	NEED(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, BLOCK, 7 * BLOCK) && errno == EINVAL);
	NEED(fallocate(fd, FALLOC_FL_INSERT_RANGE, 8 * BLOCK, BLOCK) && errno == EINVAL);
	NEED(!fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 2 * BLOCK, 3 * BLOCK));
	NEED(size_of(fd) == 5 * BLOCK - 100);
	for (i = 0; i < 5; i++)
		memset(want + i * BLOCK, i < 2 ? 'a' + i : 'a' + i + 3, BLOCK);
	is_as_wanted(fd, 5 * BLOCK - 100);
	NEED(!memcmp(map, want, 5 * BLOCK - 100));
	NEED(!fallocate(fd, FALLOC_FL_INSERT_RANGE, BLOCK, 2 * BLOCK));
	NEED(size_of(fd) == 7 * BLOCK - 100);
	memmove(want + 3 * BLOCK, want + BLOCK, 4 * BLOCK);
	memset(want + BLOCK, 0, 2 * BLOCK);
	is_as_wanted(fd, 7 * BLOCK - 100);
	NEED(!memcmp(map, want, 7 * BLOCK - 100));
	NEED(lseek(fd, 0, SEEK_HOLE) == BLOCK && lseek(fd, BLOCK, SEEK_DATA) == 3 * BLOCK);
	map[BLOCK] = want[BLOCK] = 'n';
	is_as_wanted(fd, 7 * BLOCK - 100);
	munmap(map, FILE_BYTES);
	close(fd);
}

/* --- FIEMAP ----------------------------------------------------------------------------------- */

/* "FIRST+COUNT" in blocks for each extent, with what its flags say: u unwritten, l last */
static const char *extents(int fd, __u64 start, __u64 len)
{
	struct fiemap *map = calloc(1, sizeof(*map) + EXTENTS * sizeof(map->fm_extents[0]));
	char *at = text;
	unsigned int i;

	map->fm_start = start;
	map->fm_length = len;
	map->fm_extent_count = EXTENTS;
	NEED(!ioctl(fd, FS_IOC_FIEMAP, map));
	*at = 0;
	for (i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *e = &map->fm_extents[i];

		at += sprintf(at, " %llu+%llu%s%s", e->fe_logical / BLOCK, e->fe_length / BLOCK,
			      e->fe_flags & FIEMAP_EXTENT_UNWRITTEN ? "u" : "",
			      e->fe_flags & FIEMAP_EXTENT_LAST ? "l" : "");
		NEED(e->fe_physical && !(e->fe_physical % BLOCK));
	}
	free(map);
	return text;
}

static void fiemap(void)
{
	int fd = file("extents", 0);

	NEED(!strcmp(extents(fd, 0, ~0ULL), ""));
	NEED(pwrite(fd, want, 2 * BLOCK, 0) == 2 * BLOCK);
	NEED(!strcmp(extents(fd, 0, ~0ULL), " 0+2l"));	/* without the room ahead */
	NEED(pwrite(fd, want, 100, 5 * BLOCK) == 100);
	NEED(!strcmp(extents(fd, 0, ~0ULL), " 0+2 5+1l"));
	NEED(!strcmp(extents(fd, 2 * BLOCK, 3 * BLOCK), ""));
	NEED(!fallocate(fd, FALLOC_FL_KEEP_SIZE, 5 * BLOCK, 3 * BLOCK));
	NEED(!strcmp(extents(fd, 0, ~0ULL), " 0+2 5+1 6+2ul"));
	/* within the size, too, until it is written */
	NEED(!fallocate(fd, 0, 2 * BLOCK, 3 * BLOCK));
	NEED(!strcmp(extents(fd, 0, ~0ULL), " 0+2 2+3u 5+1 6+2ul"));
	NEED(pwrite(fd, want, 100, 3 * BLOCK + 50) == 100);
	NEED(!strcmp(extents(fd, 0, ~0ULL), " 0+2 2+1u 3+1 4+1u 5+1 6+2ul"));
	NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, 2 * BLOCK));
	NEED(extents(fd, 0, BLOCK) && strstr(text, "u") && lseek(fd, 0, SEEK_DATA) == 3 * BLOCK);
	close(fd);
}

static void where(const char *device)
{
	struct fiemap *map = calloc(1, sizeof(*map) + sizeof(map->fm_extents[0]));
	int fd = file("where", BLOCK), raw = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	char *mine = aligned_alloc(BLOCK, BLOCK), *there = aligned_alloc(BLOCK, BLOCK);

	map->fm_length = ~0ULL;
	map->fm_extent_count = 1;
	NEED(raw >= 0 && pread(fd, mine, BLOCK, 0) == BLOCK);
	NEED(!ioctl(fd, FS_IOC_FIEMAP, map) && map->fm_mapped_extents == 1);
	NEED(pread(raw, there, BLOCK, map->fm_extents[0].fe_physical) == BLOCK);
	NEED(!memcmp(mine, there, BLOCK));
	free(map);
	free(mine);
	free(there);
	close(raw);
	close(fd);
}

/* --- handles ---------------------------------------------------------------------------------- */

static struct file_handle *handle_of(const char *name, int *mount)
{
	struct file_handle *h = calloc(1, sizeof(*h) + MAX_HANDLE_SZ);

	h->handle_bytes = MAX_HANDLE_SZ;
	NEED(!name_to_handle_at(AT_FDCWD, name, h, mount, 0));
	return h;
}

static void handles(void)
{
	int id, fd, again, dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct file_handle *h, *sub;

	if (open_by_handle_at(dir, NULL, 0) < 0 && errno == ENOSYS)
		exit(UNKNOWN);
	NEED(!mkdir("d", 0755) && !mkdir("d/e", 0755));
	fd = file("d/e/f", 10);
	h = handle_of("d/e/f", &id);
	sub = handle_of("d/e", &id);
	close(fd);
	/* out of RAM, so that the number has to do */
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	NEED(fd >= 0 && write(fd, "2", 1) == 1);
	close(fd);
	fd = open_by_handle_at(dir, sub, O_RDONLY);
	NEED(fd >= 0 && !faccessat(fd, "../e/f", R_OK, 0));
	close(fd);
	fd = open_by_handle_at(dir, h, O_RDWR);
	NEED(fd >= 0);
	is_as_wanted(fd, 10);

	/* without a name: as long as it is open, not behind that, and not who has its number next */
	NEED(!unlink("d/e/f"));
	again = open_by_handle_at(dir, h, O_RDONLY);
	NEED(again >= 0);
	close(again);
	close(fd);
	NEED(open_by_handle_at(dir, h, O_RDONLY) < 0 && errno == ESTALE);
	close(file("d/e/f", 10));
	NEED(open_by_handle_at(dir, h, O_RDONLY) < 0 && errno == ESTALE);
	free(h);
	free(sub);
	close(dir);
}

/*
 * Handles of a number that goes from file to file, while it does: who opens one gets that file or
 * none, and nobody who makes a file finds its number taken.
 */
struct reuse {
	struct file_handle h;
	__u32 word[2];		/* of it: number, generation */
};

static void open_reused(const struct reuse *shared, int dir)
{
	struct reuse h = { .h = { .handle_bytes = sizeof(h.word) } };
	__u32 is;
	int fd;

	NEED(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	h.h.handle_type = shared->h.handle_type;
	for (;;) {
		h.word[0] = __atomic_load_n(&shared->word[0], __ATOMIC_RELAXED);
		h.word[1] = __atomic_load_n(&shared->word[1], __ATOMIC_RELAXED);
		h.word[1] += rand() % 3;	/* the next file's, too, perhaps before it is there */
		if (!h.word[0])
			exit(0);
		fd = open_by_handle_at(dir, &h.h, O_RDONLY);
		if (fd < 0) {
			NEED(errno == ESTALE);
			continue;
		}
		/* what it holds is its generation; it may not have been written yet */
		NEED(pread(fd, &is, sizeof(is), 0) <= 0 || is == h.word[1]);
		close(fd);
	}
}

#define REUSES	3000

static void reuse(void)
{
	struct reuse *shared = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, fd, id, status, dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct file_handle *h;
	__u32 word[2];
	pid_t pid = 0;

	NEED(shared != MAP_FAILED);
	if (open_by_handle_at(dir, NULL, 0) < 0 && errno == ENOSYS)
		exit(UNKNOWN);
	for (i = 0; i < REUSES; i++) {
		fd = open("reused", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		NEED(fd >= 0);
		h = handle_of("reused", &id);
		NEED(h->handle_bytes == sizeof(word));
		memcpy(word, h->f_handle, sizeof(word));
		shared->h.handle_type = h->handle_type;
		free(h);
		NEED(write(fd, &word[1], sizeof(word[1])) == sizeof(word[1]));
		__atomic_store_n(&shared->word[0], word[0], __ATOMIC_RELAXED);
		__atomic_store_n(&shared->word[1], word[1], __ATOMIC_RELAXED);
		if (!pid) {
			pid = fork();
			NEED(pid >= 0);
			if (!pid)
				open_reused(shared, dir);
		}
		NEED(!unlink("reused") && !close(fd));
	}
	__atomic_store_n(&shared->word[0], 0, __ATOMIC_RELAXED);
	NEED(waitpid(pid, &status, 0) == pid && !status);
	close(dir);
}

/* --- flags ------------------------------------------------------------------------------------ */

static int flags_of(int fd)
{
	int flags;

	NEED(!ioctl(fd, FS_IOC_GETFLAGS, &flags));
	return flags;
}

static int set_flags(int fd, int flags)
{
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* Who stores to a page that he had stored to before the file became immutable is killed. */
static void no_more_stores(int fd)
{
	int ready[2], go[2], status;
	char byte = 0, *p;
	pid_t child;

	NEED(!pipe(ready) && !pipe(go));
	child = fork();
	NEED(child >= 0);
	close(child ? ready[1] : ready[0]);
	close(child ? go[0] : go[1]);
	if (!child) {
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			_exit(1);
		*p = 1;
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		*p = 2;
		_exit(0);
	}
	NEED(read(ready[0], &byte, 1) == 1);
	NEED(!set_flags(fd, FS_IMMUTABLE_FL));
	NEED(write(go[1], &byte, 1) == 1);
	NEED(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	close(ready[0]);
	close(go[1]);
}

static void flags(void)
{
	int fd = file("flags", 10), other;
	struct statx sx;

	NEED(!flags_of(fd) && !set_flags(fd, FS_APPEND_FL | FS_NODUMP_FL));
	NEED(flags_of(fd) == (FS_APPEND_FL | FS_NODUMP_FL));
	NEED(open("flags", O_WRONLY | O_CLOEXEC) < 0 && errno == EPERM);
	NEED((other = open("flags", O_WRONLY | O_APPEND | O_CLOEXEC)) >= 0);
	NEED(!set_flags(fd, 0));	/* of append-only files there are no such mappings */
	no_more_stores(fd);
	NEED(write(other, "x", 1) < 0 && errno == EPERM);
	NEED(unlink("flags") && errno == EPERM);
	NEED(!statx(fd, "", AT_EMPTY_PATH, 0, &sx));
	NEED(sx.stx_attributes_mask & STATX_ATTR_NODUMP);
	NEED((sx.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND | STATX_ATTR_NODUMP)) ==
	     STATX_ATTR_IMMUTABLE);
	NEED(set_flags(fd, FS_COMPR_FL) && errno == EOPNOTSUPP && flags_of(fd) == FS_IMMUTABLE_FL);
	close(other);
	close(fd);
}

/* After mounting again: what flags() left. */
static void flags_again(void)
{
	int fd = open("flags", O_RDONLY | O_CLOEXEC);

	NEED(fd >= 0 && flags_of(fd) == FS_IMMUTABLE_FL);
	NEED(open("flags", O_WRONLY | O_CLOEXEC) < 0 && errno == EPERM);
	NEED(!set_flags(fd, 0) && !unlink("flags"));
	close(fd);
}

/* --- ids that a mount maps -------------------------------------------------------------------- */

static void put(pid_t child, const char *name, const char *what)
{
	char proc[64];
	int fd;

	snprintf(proc, sizeof(proc), "/proc/%d/%s", child, name);
	fd = open(proc, O_WRONLY | O_CLOEXEC);
	NEED(fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what));
	close(fd);
}

/* A user namespace in which what is 0 to 9 on disk is 1000 to 1009. */
static int mapping(void)
{
	int ready[2], fd;
	char proc[64], byte;
	pid_t child;

	NEED(!pipe2(ready, O_CLOEXEC) && (child = fork()) >= 0);
	if (!child) {
		if (unshare(CLONE_NEWUSER) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	NEED(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	put(child, "uid_map", "0 1000 10");
	put(child, "gid_map", "0 1000 10");
	snprintf(proc, sizeof(proc), "/proc/%d/ns/user", child);
	NEED((fd = open(proc, O_RDONLY | O_CLOEXEC)) >= 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return fd;
}

static uid_t owner(int dir, const char *name)
{
	struct stat st;

	NEED(!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_uid == st.st_gid);
	return st.st_uid;
}

static void mapped_ids(void)
{
	struct mount_attr how = { .attr_set = MOUNT_ATTR_IDMAP };
	int tree;

	if (access("/proc/self/ns/user", F_OK))
		exit(UNKNOWN);
	NEED(!mkdir("ids", 0) && !chmod("ids", 0777));
	NEED(!mkdir("ids/old", 0755) && !chown("ids/old", 3, 3));
	NEED((tree = syscall(SYS_open_tree, AT_FDCWD, "ids",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)) >= 0);
	how.userns_fd = mapping();
	NEED(!syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &how, sizeof(how)));
	NEED(owner(tree, "old") == 1003);
	NEED(!fchownat(tree, "old", 1005, 1005, 0) && owner(AT_FDCWD, "ids/old") == 5);
	NEED(mkdirat(tree, "new", 0755) && errno == EOVERFLOW);	/* root is nobody there */
	NEED(!setresgid(-1, 1002, -1) && !setresuid(-1, 1002, -1));
	NEED(!mkdirat(tree, "new", 0755));
	NEED(!setresuid(-1, 0, -1) && !setresgid(-1, 0, -1));
	NEED(owner(AT_FDCWD, "ids/new") == 2 && owner(tree, "new") == 1002);
	close(how.userns_fd);
	close(tree);
}

/* --- extended attributes ---------------------------------------------------------------------- */

/* Leaves "kept". */
static void xattrs(void)
{
	static char large[65536], got[65536];
	int fd = file("kept", 100), dir;
	char list[256];

	memset(large, 'l', sizeof(large));
	NEED(fgetxattr(fd, "user.one", got, 10) < 0 && errno == ENODATA);
	NEED(fsetxattr(fd, "user.one", "12", 2, XATTR_REPLACE) && errno == ENODATA);
	NEED(!fsetxattr(fd, "user.one", "12", 2, XATTR_CREATE));
	NEED(fsetxattr(fd, "user.one", "3", 1, XATTR_CREATE) && errno == EEXIST);
	NEED(fgetxattr(fd, "user.one", NULL, 0) == 2 && fgetxattr(fd, "user.one", got, 2) == 2);
	NEED(!memcmp(got, "12", 2));
	NEED(fgetxattr(fd, "user.one", got, 1) < 0 && errno == ERANGE);
	NEED(!fsetxattr(fd, "user.one", "1", 1, XATTR_REPLACE));
	NEED(!fsetxattr(fd, "user.empty", "", 0, 0) && fgetxattr(fd, "user.empty", got, 5) == 0);
	NEED(!fsetxattr(fd, "user.large", large, sizeof(large), 0));
	NEED(fgetxattr(fd, "user.large", got, sizeof(got)) == sizeof(got));
	NEED(!memcmp(got, large, sizeof(got)));
	/* together with that one it is too much */
	NEED(fsetxattr(fd, "user.larger", large, sizeof(large), 0) && errno == ENOSPC);
	NEED(!fsetxattr(fd, "trusted.one", "t", 1, 0) && !fsetxattr(fd, "security.evil", "s", 1, 0));
	NEED(fsetxattr(fd, "nonsense.one", "t", 1, 0) && errno == EOPNOTSUPP);
	NEED(flistxattr(fd, NULL, 0) == 9 + 11 + 11 + 12 + 14);
	NEED(flistxattr(fd, list, 20) < 0 && errno == ERANGE);
	NEED(!fremovexattr(fd, "user.empty") && flistxattr(fd, list, sizeof(list)) == 9 + 11 + 12 + 14);
	NEED(fremovexattr(fd, "user.empty") && errno == ENODATA);
	is_as_wanted(fd, 100);
	close(fd);
	NEED((dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	NEED(!fsetxattr(dir, "user.d", "d", 1, 0) && fgetxattr(dir, "user.d", got, 1) == 1);
	close(dir);
}

/* --- FS_IOC_GETFSUUID ------------------------------------------------------------------------- */

struct fs_uuid {
	unsigned char len;
	unsigned char uuid[16];
};

static void tell_uuid(void)
{
	struct fs_uuid u = { 0 };
	int i, dir = open(".", O_RDONLY | O_CLOEXEC);

	NEED(dir >= 0);
	if (ioctl(dir, _IOR(0x15, 0, struct fs_uuid), &u)) {
		printf("%s\n", strerrorname_np(errno));
		exit(UNKNOWN);
	}
	NEED(u.len == sizeof(u.uuid));
	for (i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u.uuid[i]);
	puts("");
}

/* --- FS_IOC_SHUTDOWN -------------------------------------------------------------------------- */

#ifndef FS_IOC_SHUTDOWN
#define FS_IOC_SHUTDOWN	_IOR('X', 125, __u32)
#endif

/* Leaves "stays", and a file without a name. */
static void shutdown_now(void)
{
	__u32 how = 2;
	int fd = file("stays", 100), orphan = file("orphan", 100);
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char byte;

	NEED(dir >= 0 && !unlink("orphan"));
	NEED(!ioctl(dir, FS_IOC_SHUTDOWN, &how));
	NEED(pread(fd, &byte, 1, 0) < 0 && errno == EIO);
	NEED(pwrite(fd, "y", 1, 0) < 0 && errno == EIO);
	NEED(ftruncate(fd, 0) && errno == EIO);
	NEED(fallocate(fd, 0, 0, BLOCK) && errno == EIO);
	NEED(fsync(fd) && errno == EIO);
	NEED(syncfs(fd) && errno == EIO);
	NEED(mkdir("new", 0755) && errno == EIO);
	NEED(rename("stays", "gone") && errno == EIO);
	NEED(unlink("stays") && errno == EIO);
	NEED(link("stays", "more") && errno == EIO);
	NEED(fchmod(fd, 0) && errno == EIO);
	NEED(open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) < 0 && errno == EIO);
	NEED(!ioctl(dir, FS_IOC_SHUTDOWN, &how));
	close(orphan);
	close(fd);
	close(dir);
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3 || chdir(argv[1])) {
		fprintf(stderr, "usage: calls DIR [again|handles|ids|reuse|uuid|xattrs|shutdown|DEVICE]\n");
		return 2;
	}
	if (argc == 3) {
		if (!strcmp(argv[2], "shutdown"))
			shutdown_now();
		else if (!strcmp(argv[2], "uuid"))
			tell_uuid();
		else if (!strcmp(argv[2], "handles"))
			handles();
		else if (!strcmp(argv[2], "reuse"))
			reuse();
		else if (!strcmp(argv[2], "ids"))
			mapped_ids();
		else if (!strcmp(argv[2], "xattrs"))
			xattrs();
		else if (*argv[2] == '/')
			where(argv[2]);
		else
			flags_again();
		return 0;
	}
	zero_range();
	ranges();
	fiemap();
	flags();
	largest();
	sources();
	return 0;
}
