// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that are cut. Each is one operation of the file system, and what it needs is made before
 * it, so that they can follow each other in any order. What is written where something is written
 * already may be seen half way, in that file, unless the file system is mounted with data=atomic.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <evenkeel/scmfs.h>

#include "cuts.h"
#include "shim.h"

#define BLOCK	4096
#define SIZE	10006		/* of a file that is there: two blocks and some */
#define SOURCE	"/tmp/cuts.source"

static const char long_name[] =
	"d/a-name-that-takes-three-slots-of-a-directory-because-it-is-longer-than-one-hundred-and-twelve-bytes-which-is-what-two-hold-";
static char long_target[301];
static uint8_t buf[6000];
static uint8_t fill;
static int fd = -1;

/* --- what has to be there ----------------------------------------------------------------------- */

static void gone(const char *path)
{
	struct dirent *d;
	char below[600];
	DIR *dir;

	if (!unlink(path) || errno == ENOENT)
		return;
	dir = opendir(path);
	NEED(dir);
	while ((d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		gone(below);
	}
	closedir(dir);
	NEED(!rmdir(path));
}

static void dir(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISDIR(st.st_mode))
		return;
	gone(path);
	NEED(!mkdir(path, 0755));
}

static const void *next_fill(void)
{
	return memset(buf, ++fill ?: ++fill, sizeof(buf));
}

static void put(int to, size_t len, off_t at)
{
	NEED(pwrite(to, next_fill(), len, at) == (ssize_t)len);
}

static int opened(const char *path, int flags)
{
	int f = open(path, flags | O_CLOEXEC, 0644);

	NEED(f >= 0);
	return f;
}

/* New, of @size bytes, with no attributes. */
static void file(const char *path)
{
	int f;

	gone(path);
	f = opened(path, O_CREAT | O_EXCL | O_RDWR);
	put(f, SIZE / 2, 0);
	put(f, SIZE / 2, SIZE / 2);
	NEED(!close(f));
}

static void close_it(void)
{
	if (fd >= 0)
		NEED(!close(fd));
	fd = -1;
}

static void no_n(void) { gone("n"); }
static void no_dn(void) { dir("d"); gone("d/n"); }
static void no_long(void) { dir("d"); gone(long_name); }
static void have_a(void) { file("a"); }
static void have_a_no_n(void) { file("a"); gone("n"); }
static void have_a_b(void) { file("a"); dir("d"); file("d/b"); }
static void have_open_a(void) { file("a"); fd = opened("a", O_RDWR); }
static void have_open_append(void) { file("a"); fd = opened("a", O_RDWR | O_APPEND); }
static void have_nameless(void) { have_open_a(); NEED(!unlink("a")); }
static void have_sparse(void) { gone("h"); fd = opened("h", O_CREAT | O_RDWR); NEED(!ftruncate(fd, 5 * BLOCK)); put(fd, BLOCK, 2 * BLOCK); }
static void have_room(void) { have_sparse(); NEED(!fallocate(fd, 0, 0, 5 * BLOCK)); }
static void have_blocks(void) { file("a"); fd = opened("a", O_RDWR); put(fd, BLOCK, 3 * BLOCK); put(fd, BLOCK, 4 * BLOCK); }

/* In three extents. */
static void have_pieces(void)
{
	have_open_a();
	NEED(!fallocate(fd, FALLOC_FL_INSERT_RANGE, BLOCK, BLOCK));
	put(fd, BLOCK, BLOCK);
}

/* --- names -------------------------------------------------------------------------------------- */

static void create_at(const char *path)
{
	int f = opened(path, O_CREAT | O_EXCL | O_WRONLY);

	NEED(!close(f));
}

static void create(void) { create_at("n"); }
static void create_below(void) { create_at("d/n"); }
static void create_long(void) { create_at(long_name); }
static void have_long(void) { no_long(); create_long(); }
static void make_dir(void) { NEED(!mkdir("n", 0755)); }
static void make_dir_below(void) { NEED(!mkdir("d/n", 0700)); }
static void make_fifo(void) { NEED(!mknod("n", S_IFIFO | 0600, 0)); }
static void make_device(void) { NEED(!mknod("d/n", S_IFBLK | 0600, makedev(7, 300))); }
static void make_symlink(void) { NEED(!symlink("short", "n")); }
static void make_symlink_long(void) { NEED(!symlink(memset(long_target, 'y', sizeof(long_target) - 1), "d/n")); }
static void before_link(void) { file("a"); no_dn(); }
static void make_link(void) { NEED(!link("a", "d/n")); }
static void have_two_links(void) { before_link(); make_link(); }
static void unlink_a(void) { NEED(!unlink("a")); }
static void unlink_long(void) { NEED(!unlink(long_name)); }
static void close_last(void) { close_it(); }
static void write_nameless(void) { put(fd, 3000, SIZE); }
static void have_dir_n(void) { dir("n"); gone("n/x"); }
static void remove_dir(void) { NEED(!rmdir("n")); }

static void before_tmpfile(void)
{
	gone("n");
	fd = opened(".", O_TMPFILE | O_RDWR);
	put(fd, 5000, 0);
}

/* With what a file can have besides content. */
static void before_tmpfile_full(void)
{
	before_tmpfile();
	NEED(!fallocate(fd, 0, 6000, 9000) && !fsetxattr(fd, "user.one", next_fill(), 300, 0) && !fchmod(fd, 0640));
}

static void open_tmpfile(void) { fd = opened(".", O_TMPFILE | O_RDWR); }
static void before_whole_tmpfile(void) { gone("n"); }

static void link_tmpfile(void)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	NEED(!linkat(AT_FDCWD, path, AT_FDCWD, "n", AT_SYMLINK_FOLLOW));
}

/* From the first call to the last; what it is until it has a name nobody sees. */
static void whole_tmpfile(void)
{
	open_tmpfile();
	put(fd, 3000, 0);
	link_tmpfile();
}

static void rename_to(const char *from, const char *to, unsigned int flags)
{
	NEED(!renameat2(AT_FDCWD, from, AT_FDCWD, to, flags));
}

static void before_rename_long(void) { have_a_b(); gone(long_name); }
static void have_open_b(void) { have_a_b(); fd = opened("d/b", O_RDONLY); }
static void two_dirs(void) { dir("d"); gone("d/n"); NEED(!mkdir("d/n", 0700)); gone("n"); }
static void over_dir(void) { two_dirs(); NEED(!mkdir("n", 0755)); }
static void file_and_dir(void) { file("a"); two_dirs(); }
static void rename_a(void) { rename_to("a", "n", 0); }
static void rename_over(void) { rename_to("a", "d/b", 0); }
static void rename_long(void) { rename_to("d/b", long_name, 0); }
static void rename_dir(void) { rename_to("d/n", "n", 0); }
static void rename_noreplace(void) { rename_to("a", "n", RENAME_NOREPLACE); }
static void rename_exchange(void) { rename_to("a", "d/b", RENAME_EXCHANGE); }
static void rename_exchange_dir(void) { rename_to("a", "d/n", RENAME_EXCHANGE); }
static void rename_whiteout(void) { rename_to("a", "n", RENAME_WHITEOUT); }
static void rename_whiteout_over(void) { rename_to("a", "d/b", RENAME_WHITEOUT); }

/* --- content ------------------------------------------------------------------------------------ */

static void append(void) { NEED(write(fd, next_fill(), 5003) == 5003); }
static void append_in_block(void) { NEED(write(fd, next_fill(), 100) == 100); }
static void write_far(void) { put(fd, 300, SIZE + 20001); }
static void write_hole(void) { put(fd, 3000, 100); }
static void write_room(void) { put(fd, 100, 3 * BLOCK + 50); }
static void write_all_room(void) { put(fd, 5000, 3 * BLOCK + 50); }
static void overwrite(void) { put(fd, 5000, 1001); }
static void overwrite_pieces(void) { put(fd, 5900, BLOCK - 1001); }
static void overwrite_to_more(void) { put(fd, 5900, SIZE - 3000); }
static void shrink(void) { NEED(!ftruncate(fd, 5003)); }
static void grow(void) { NEED(!ftruncate(fd, SIZE + 3000)); }
static void empty(void) { NEED(!truncate("a", 0)); }
static void open_truncates(void) { NEED(!close(opened("a", O_WRONLY | O_TRUNC))); }
static void reserve(void) { NEED(!fallocate(fd, 0, SIZE + 9000, 9000)); }
static void reserve_ahead(void) { NEED(!fallocate(fd, FALLOC_FL_KEEP_SIZE, SIZE, 20000)); }
static void reserve_hole(void) { NEED(!fallocate(fd, 0, 0, 12000)); }
static void punch(void) { NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK, BLOCK)); }
static void zero(void) { NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 2 * BLOCK)); }
static void punch_bytes(void) { NEED(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 3 * BLOCK)); }
static void zero_bytes(void) { NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, 100, 2 * BLOCK)); }
static void zero_far(void) { NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE, 3 * BLOCK, 2 * BLOCK)); }
static void zero_ahead(void) { NEED(!fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 3 * BLOCK, BLOCK)); }
static void collapse(void) { NEED(!fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, BLOCK, BLOCK)); }
static void insert(void) { NEED(!fallocate(fd, FALLOC_FL_INSERT_RANGE, BLOCK, 2 * BLOCK)); }

/* Through the kernel's own pages. */
static void send(void)
{
	int from = open(SOURCE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	NEED(from >= 0 && pwrite(from, next_fill(), 3000, 0) == 3000);
	NEED(lseek(fd, 0, SEEK_END) >= 0 && sendfile(fd, from, NULL, 3000) == 3000);
	close(from);
}

/* What is stored goes past the recorder: so it is what is there already. */
static void fault(void)
{
	volatile uint8_t *p = mmap(NULL, 5 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	NEED(p != MAP_FAILED);
	p[BLOCK] = 0;
	NEED(!munmap((void *)p, 5 * BLOCK));
}

/* --- attributes --------------------------------------------------------------------------------- */

static void set_attr(const char *path, const char *name, int byte, size_t len)
{
	NEED(!setxattr(path, name, memset(buf, byte, sizeof(buf)), len, 0));
}

static void have_attr(void) { file("a"); set_attr("a", "user.one", 1, 100); }
static void attr_new(void) { set_attr("a", "user.two", 2, 30); }
static void attr_large(void) { set_attr("a", "user.one", 3, 4200); }
static void attr_gone(void) { NEED(!removexattr("a", "user.one")); }
static void mode(void) { NEED(!chmod("a", 04711)); }
static void have_setuid(void) { file("a"); mode(); }
static void own(void) { NEED(!chown("a", 1000, 1001)); }

static void times(void)
{
	const struct timespec t[2] = { { 1000, 1 }, { 2000, 2 } };

	NEED(!utimensat(AT_FDCWD, "a", t, 0));
}

/* As the kernel hands it out: version 2, then tag, permissions and id of each. */
static void set_acl(const char *path, const char *name)
{
	static const struct { uint32_t version; struct { uint16_t tag, perm; uint32_t id; } e[5]; } acl = {
		2, { { 1, 7, -1u }, { 2, 6, 1000 }, { 4, 5, -1u }, { 0x10, 7, -1u }, { 0x20, 4, -1u } }
	};

	NEED(!setxattr(path, name, &acl, sizeof(acl), 0));
}

static void acl(void) { set_acl("a", "system.posix_acl_access"); }
static void have_acl(void) { file("a"); acl(); }
static void mode_of_acl(void) { NEED(!chmod("a", 0640)); }
static void default_acl(void) { set_acl("n", "system.posix_acl_default"); }
static void have_default_acl(void) { gone("n"); dir("n"); default_acl(); }
static void create_heir(void) { create_at("n/x"); }
static void make_heir(void) { NEED(!mkdir("n/x", 0777)); }

static void flags(void)
{
	int f = FS_NODUMP_FL | FS_NOATIME_FL;

	NEED(!ioctl(fd, FS_IOC_SETFLAGS, &f));
}

/* --- rights ------------------------------------------------------------------------------------- */

/* Who has CAP_FSETID leaves set-user-ID and set-group-ID to whom he writes. */
static void set_fsetid(bool has)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	NEED(!syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_FSETID);
	if (has)
		data[0].effective |= 1u << CAP_FSETID;
	NEED(!syscall(SYS_capset, &head, data));
}

/* Of version 2: CAP_NET_RAW, permitted. */
static void capability(void)
{
	const struct vfs_cap_data cap = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1u << CAP_NET_RAW,
	};

	NEED(!setxattr("a", "security.capability", &cap, sizeof(cap), 0));
}

static void have_rights(void)
{
	have_open_a();
	NEED(!chmod("a", 06777));
	capability();
	set_fsetid(false);
}

/* An ACL says nothing about set-user-ID. */
static void have_rights_acl(void)
{
	have_open_a();
	acl();
	NEED(!chmod("a", 06775));
	set_fsetid(false);
}

static void rights_end(void)
{
	set_fsetid(true);
	close_it();
}

static void reserve_rights(void) { NEED(!fallocate(fd, 0, 0, 20000)); }

/* --- many at once ------------------------------------------------------------------------------- */

#define AT_ONCE	8

static struct {
	const struct op *op;
	int fd;
} at_once[AT_ONCE];

static void in_own_dir(int i, bool make)
{
	char path[8];

	snprintf(path, sizeof(path), "p%d", i);
	if (make) {
		gone(path);
		NEED(!mkdir(path, 0755));
	}
	NEED(!chdir(path));
}

/* Each in its own directory; all of them are done or not begun. */
static const struct op *any_op(void)
{
	const struct op *op;

	do
		op = &ops[get_random_u32() % nr_ops];
	while (op->how & ~CUT_SOME);
	return op;
}

static void prepare_at_once(void)
{
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		in_own_dir(i, true);
		at_once[i].op = any_op();
		at_once[i].op->prepare();
		at_once[i].fd = fd;
		fd = -1;
		NEED(!chdir(".."));
	}
}

static void do_one(int i, int begin)
{
	char byte;

	in_own_dir(i, false);
	fd = at_once[i].fd;
	NEED(!read(begin, &byte, 1));
	at_once[i].op->run();
	_exit(0);
}

/* By as many tasks, so that several lanes of the log are in use when power goes. */
static void run_at_once(void)
{
	int begin[2], i, status;

	NEED(!pipe(begin));
	for (i = 0; i < AT_ONCE; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid)
			continue;
		close(begin[1]);
		do_one(i, begin[0]);
	}
	close(begin[1]);
	for (i = 0; i < AT_ONCE; i++)
		NEED(wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status));
	close(begin[0]);
}

static void end_at_once(void)
{
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		fd = at_once[i].fd;
		close_it();
	}
}

/* --- garbage collection ------------------------------------------------------------------------- */

#define SCATTERED	5	/* files of two blocks, */
#define BETWEEN		54	/* as many files between each of them and the next, */
#define EACH		8	/* which have as many blocks */

static int small[SCATTERED];
static uint64_t moves;

static void gc(uint32_t set, struct scmfs_gc_info *info)
{
	int top = opened(".", O_RDONLY);

	*info = (struct scmfs_gc_info){ .size = sizeof(*info), .set = set };
	NEED(!ioctl(top, SCMFS_IOC_GC, info) && !close(top));
}

static void make_small(int i)
{
	char path[16];

	snprintf(path, sizeof(path), "s%d", i);
	gone(path);
	small[i] = opened(path, O_CREAT | O_EXCL | O_RDWR);
	put(small[i], 5000, 0);
	NEED(!ftruncate(small[i], 5000));	/* no room ahead */
}

/* Files all over the memory, which is empty but for them. */
static void scattered(void)
{
	struct scmfs_gc_info info;
	char path[16];
	int i, f;

	for (i = 0; i < SCATTERED * BETWEEN; i++) {
		if (i % BETWEEN == BETWEEN / 2)
			make_small(i / BETWEEN);
		snprintf(path, sizeof(path), "between%d", i);
		f = opened(path, O_CREAT | O_EXCL | O_RDWR);
		NEED(!fallocate(f, 0, 0, EACH * BLOCK) && !close(f));
	}
	for (i = 0; i < SCATTERED * BETWEEN; i++) {
		snprintf(path, sizeof(path), "between%d", i);
		NEED(!unlink(path));
	}
	gc(0, &info);
	moves = info.moves;
}

/* Collect, and meanwhile make these calls; NULL: none. */
static void collect_beside(void (*calls)(void))
{
	struct scmfs_gc_info info;

	gc(SCMFS_GC_SET_START, &info);
	if (calls)
		calls();
	do {
		usleep(1000);	/* there is nothing that tells */
		gc(0, &info);
	} while (info.flags & SCMFS_GC_RUNNING);
	if (info.moves == moves || info.failed)
		wrong("%llu moves, %llu failed, %llu without room, %llu inodes in %llu rounds, flags %x, error %d",
		      (unsigned long long)(info.moves - moves), (unsigned long long)info.failed,
		      (unsigned long long)info.no_room, (unsigned long long)info.inodes, (unsigned long long)info.rounds,
		      info.flags, info.error);
}

static void collect(void)
{
	collect_beside(NULL);
}

/*
 * Over what is being moved, from one block into the other. Some files are left alone: with
 * data=atomic a write puts them together itself, and who is written to may be passed by.
 */
static void write_small(void)
{
	int i;

	for (i = 0; i < SCATTERED; i += 2)
		put(small[i], 2000, 3000);
}

static void collect_and_write(void)
{
	collect_beside(write_small);
}

static void append_small(void)
{
	int i;

	for (i = 0; i < SCATTERED; i += 4)
		put(small[i], 4000, 5000);
	for (i = 2; i < SCATTERED; i += 4)
		NEED(!ftruncate(small[i], 4500));
}

static void collect_and_append(void)
{
	collect_beside(append_small);
}

static void end_scattered(void)
{
	int i;

	for (i = 0; i < SCATTERED; i++)
		NEED(!close(small[i]));
}

/* --- the whole ---------------------------------------------------------------------------------- */

static void sync_all(void) { NEED(!syncfs(fd) && !fsync(fd)); }
static void have_root(void) { fd = opened(".", O_RDONLY); }
static void freeze(void) { NEED(!ioctl(fd, FIFREEZE, 0) && !ioctl(fd, FITHAW, 0)); }
static void nothing(void) { }

/* Read-only it is closed, and from then on it isn't, until it is unmounted. */
static void read_only_and_back(void)
{
	NEED(!mount(NULL, ".", NULL, MS_REMOUNT | MS_RDONLY, NULL));
	NEED(!mount(NULL, ".", NULL, MS_REMOUNT, NULL));
	fd = opened("a", O_RDWR | O_APPEND);
	append();
}

static void again(void)
{
	unmount_here();
	mount_here();
}

const struct op ops[] = {
	{ "create", no_n, create, NULL, NULL, 0 },
	{ "create below", no_dn, create_below, NULL, NULL, 0 },
	{ "create, a long name", no_long, create_long, NULL, NULL, 0 },
	{ "mkdir", no_n, make_dir, NULL, NULL, 0 },
	{ "mkdir below", no_dn, make_dir_below, NULL, NULL, 0 },
	{ "mknod of a fifo", no_n, make_fifo, NULL, NULL, 0 },
	{ "mknod of a device", no_dn, make_device, NULL, NULL, 0 },
	{ "symlink", no_n, make_symlink, NULL, NULL, 0 },
	{ "symlink, a long one", no_dn, make_symlink_long, NULL, NULL, 0 },
	{ "link", before_link, make_link, NULL, NULL, 0 },
	{ "O_TMPFILE", nothing, open_tmpfile, close_it, NULL, 0 },
	{ "a name for O_TMPFILE", before_tmpfile, link_tmpfile, close_it, NULL, 0 },
	{ "a name for O_TMPFILE, with attributes and room", before_tmpfile_full, link_tmpfile, close_it, NULL, CUT_SOME },
	{ "O_TMPFILE and a name", before_whole_tmpfile, whole_tmpfile, close_it, NULL, CUT_SOME },
	{ "unlink", have_a, unlink_a, NULL, NULL, 0 },
	{ "unlink, a long name", have_long, unlink_long, NULL, NULL, 0 },
	{ "unlink of one of two links", have_two_links, unlink_a, NULL, NULL, 0 },
	{ "unlink of an open file", have_open_a, unlink_a, close_it, NULL, 0 },
	{ "write without a name", have_nameless, write_nameless, close_it, NULL, 0 },
	{ "close without a name", have_nameless, close_last, NULL, NULL, 0 },
	{ "rmdir", have_dir_n, remove_dir, NULL, NULL, 0 },
	{ "rename", have_a_no_n, rename_a, NULL, NULL, 0 },
	{ "rename over a file", have_a_b, rename_over, NULL, NULL, 0 },
	{ "rename over an open file", have_open_b, rename_over, close_it, NULL, 0 },
	{ "rename to a long name", before_rename_long, rename_long, NULL, NULL, 0 },
	{ "rename of a directory", two_dirs, rename_dir, NULL, NULL, 0 },
	{ "rename over a directory", over_dir, rename_dir, NULL, NULL, 0 },
	{ "rename, noreplace", have_a_no_n, rename_noreplace, NULL, NULL, 0 },
	{ "rename, exchange", have_a_b, rename_exchange, NULL, NULL, 0 },
	{ "rename, exchange with a directory", file_and_dir, rename_exchange_dir, NULL, NULL, 0 },
	{ "rename, whiteout", have_a_no_n, rename_whiteout, NULL, NULL, 0 },
	{ "rename, whiteout, over a file", have_a_b, rename_whiteout_over, NULL, NULL, 0 },
	{ "append", have_open_append, append, close_it, NULL, 0 },
	{ "append in the last block", have_open_append, append_in_block, close_it, NULL, 0 },
	{ "write behind the end", have_open_a, write_far, close_it, NULL, 0 },
	{ "write to a hole", have_sparse, write_hole, close_it, NULL, 0 },
	{ "write to reserved room", have_room, write_room, close_it, NULL, 0 },
	{ "write over the end of reserved room", have_room, write_all_room, close_it, NULL, 0 },
	{ "write in place", have_open_a, overwrite, close_it, "a", CUT_PARTS | CUT_WRITES },
	{ "write over several extents", have_pieces, overwrite_pieces, close_it, "a", CUT_PARTS | CUT_WRITES | CUT_SOME },
	{ "write in place and behind", have_open_a, overwrite_to_more, close_it, "a", CUT_PARTS | CUT_WRITES | CUT_SOME },
	{ "sendfile", have_open_a, send, close_it, NULL, 0 },
	{ "a store to a mapped hole", have_sparse, fault, close_it, NULL, 0 },
	{ "ftruncate", have_open_a, shrink, close_it, NULL, 0 },
	{ "ftruncate to more", have_open_a, grow, close_it, NULL, 0 },
	{ "truncate to nothing", have_a, empty, NULL, NULL, 0 },
	{ "open with O_TRUNC", have_a, open_truncates, NULL, NULL, 0 },
	{ "fallocate", have_open_a, reserve, close_it, NULL, 0 },
	{ "fallocate ahead", have_open_a, reserve_ahead, close_it, NULL, 0 },
	{ "fallocate in holes", have_sparse, reserve_hole, close_it, NULL, 0 },
	{ "fallocate, a hole", have_blocks, punch, close_it, NULL, 0 },
	{ "fallocate, zeroes", have_blocks, zero, close_it, NULL, 0 },
	{ "fallocate, a hole in blocks", have_blocks, punch_bytes, close_it, "a", CUT_PARTS | CUT_SOME },
	{ "fallocate, zeroes in blocks", have_blocks, zero_bytes, close_it, "a", CUT_PARTS | CUT_SOME },
	{ "fallocate, zeroes behind the end", have_open_a, zero_far, close_it, "a", CUT_PARTS | CUT_SOME },
	{ "fallocate, zeroes ahead", have_open_a, zero_ahead, close_it, "a", CUT_PARTS | CUT_SOME },
	{ "fallocate, collapse", have_blocks, collapse, close_it, NULL, 0 },
	{ "fallocate, insert", have_blocks, insert, close_it, NULL, 0 },
	{ "setxattr", have_attr, attr_new, NULL, NULL, 0 },
	{ "setxattr, another value", have_attr, attr_large, NULL, NULL, 0 },
	{ "removexattr", have_attr, attr_gone, NULL, NULL, 0 },
	{ "chmod", have_a, mode, NULL, NULL, 0 },
	{ "chown of a setuid file", have_setuid, own, NULL, NULL, 0 },
	{ "utimensat", have_a, times, NULL, NULL, 0 },
	{ "an ACL", have_a, acl, NULL, NULL, 0 },
	{ "chmod with an ACL", have_acl, mode_of_acl, NULL, NULL, 0 },
	{ "a default ACL", have_dir_n, default_acl, NULL, NULL, 0 },
	{ "create under a default ACL", have_default_acl, create_heir, NULL, NULL, 0 },
	{ "mkdir under a default ACL", have_default_acl, make_heir, NULL, NULL, 0 },
	{ "chattr", have_open_a, flags, close_it, NULL, 0 },
	{ "setxattr of a capability", have_a, capability, NULL, NULL, 0 },
	{ "chown with a capability", have_rights, own, rights_end, "a", CUT_CAPS | CUT_SOME },
	{ "truncate of who has rights", have_rights, empty, rights_end, "a", CUT_CAPS | CUT_SOME },
	{ "ftruncate to more of who has rights", have_rights, grow, rights_end, "a", CUT_CAPS | CUT_SOME },
	{ "ftruncate of who has rights and an ACL", have_rights_acl, shrink, rights_end, NULL, CUT_ALONE | CUT_SOME },
	{ "write to who has rights", have_rights, overwrite, rights_end, "a",
	  CUT_CAPS | CUT_MODE | CUT_PARTS | CUT_WRITES | CUT_SOME },
	{ "append to who has rights", have_rights, write_far, rights_end, "a", CUT_CAPS | CUT_MODE | CUT_SOME },
	{ "fallocate of who has rights", have_rights, reserve_rights, rights_end, "a", CUT_CAPS | CUT_MODE | CUT_SOME },
	{ "eight calls at once", prepare_at_once, run_at_once, end_at_once, NULL, CUT_EACH },
	{ "sync", have_open_a, sync_all, close_it, NULL, CUT_ALONE },
	{ "freeze and thaw", have_root, freeze, close_it, NULL, CUT_ALONE },
	{ "unmount and mount", nothing, again, NULL, NULL, CUT_ALONE },
	{ "read-only and back", have_a, read_only_and_back, close_it, NULL, CUT_ALONE },
};

const unsigned int nr_ops = sizeof(ops) / sizeof(*ops);

const struct op gc_ops[] = {
	{ "collecting", scattered, collect, end_scattered, NULL, CUT_SOME },
	{ "collecting beside writes", scattered, collect_and_write, end_scattered, NULL,
	  CUT_EACH | CUT_PARTS | CUT_WRITES },
	{ "collecting beside changes of size", scattered, collect_and_append, end_scattered, NULL, CUT_EACH | CUT_SOME },
};

const unsigned int nr_gc_ops = sizeof(gc_ops) / sizeof(*gc_ops);
