// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a table of system calls and of what POSIX says that they do: posix.table has the language.
 *
 *	posix DIRECTORY TABLE
 *
 * Run it on a file system that is known to be right as well: the table may be wrong.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS	8
#define FDS	10

static char *word[WORDS];
static int words, fds[FDS];
static char text[PATH_MAX * 2];		/* what a command answers; empty: its status */

struct flag {
	const char *name;
	unsigned int bit;
};

static const struct flag open_flags[] = {
	{ "r", O_RDONLY }, { "w", O_WRONLY }, { "rw", O_RDWR }, { "creat", O_CREAT },
	{ "excl", O_EXCL }, { "trunc", O_TRUNC }, { "append", O_APPEND },
	{ "nofollow", O_NOFOLLOW }, { "directory", O_DIRECTORY }, { "nonblock", O_NONBLOCK },
	{ "path", O_PATH }, { "tmpfile", O_TMPFILE }, { "noatime", O_NOATIME }, { NULL, 0 },
};

static const struct flag rename_flags[] = {
	{ "noreplace", RENAME_NOREPLACE }, { "exchange", RENAME_EXCHANGE },
	{ "whiteout", RENAME_WHITEOUT }, { "unknown", 0x80 }, { NULL, 0 },
};

static const struct flag types[] = {
	{ "fifo", S_IFIFO }, { "char", S_IFCHR }, { "block", S_IFBLK }, { "socket", S_IFSOCK },
	{ "file", S_IFREG }, { "dir", S_IFDIR }, { "link", S_IFLNK }, { NULL, 0 },
};

enum {
	BAD_OPEN, BAD_STAT, BAD_STATBUF, BAD_MKDIR, BAD_RMDIR, BAD_UNLINK, BAD_RENAME, BAD_RENAMETO,
	BAD_LINK, BAD_SYMLINK, BAD_MKNOD, BAD_CHMOD, BAD_TRUNCATE, BAD_READLINK, BAD_READ, BAD_WRITE,
};

static const struct flag bad_calls[] = {
	{ "open", BAD_OPEN }, { "stat", BAD_STAT }, { "statbuf", BAD_STATBUF },
	{ "mkdir", BAD_MKDIR }, { "rmdir", BAD_RMDIR }, { "unlink", BAD_UNLINK },
	{ "rename", BAD_RENAME }, { "renameto", BAD_RENAMETO }, { "link", BAD_LINK },
	{ "symlink", BAD_SYMLINK }, { "mknod", BAD_MKNOD }, { "chmod", BAD_CHMOD },
	{ "truncate", BAD_TRUNCATE }, { "readlink", BAD_READLINK }, { "read", BAD_READ },
	{ "write", BAD_WRITE }, { NULL, 0 },
};

__attribute__((noreturn)) static void wrong(const char *what)
{
	printf("# the table: %s\n", what);
	exit(2);
}

static unsigned int flags_of(const struct flag *table, char *list)
{
	unsigned int flags = 0;
	const struct flag *f;
	char *name;

	while ((name = strsep(&list, ","))) {
		for (f = table; f->name && strcmp(f->name, name); f++)
			;
		if (!f->name)
			wrong(name);
		flags |= f->bit;
	}
	return flags;
}

static const char *arg(int i)
{
	if (i >= words)
		wrong("a word is missing");
	return word[i];
}

static long num(int i, int base)
{
	return strtol(arg(i), NULL, base);
}

/* --- commands: an answer in `text`, or what the call returned --------------------------------- */

static long c_open(void)
{
	int fd = open(arg(1), flags_of(open_flags, word[2]) | O_CLOEXEC,
		      words > 3 ? num(3, 8) : 0);

	return fd < 0 ? -1 : close(fd);
}

static long c_fd(void)
{
	fds[num(1, 10)] = open(arg(2), flags_of(open_flags, word[3]) | O_CLOEXEC,
			       words > 4 ? num(4, 8) : 0);
	return fds[num(1, 10)] < 0 ? -1 : 0;
}

static long c_close(void)
{
	return close(fds[num(1, 10)]);
}

static long c_fdwrite(void)
{
	return write(fds[num(1, 10)], arg(2), strlen(arg(2))) < 0 ? -1 : 0;
}

static long c_fdread(void)
{
	ssize_t n = read(fds[num(1, 10)], text, 200);

	if (n >= 0)
		strcpy(text + n, n ? "" : "nothing");
	return n < 0 ? -1 : 0;
}

static long c_fdlink(void)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fds[num(1, 10)]);
	return linkat(AT_FDCWD, link, AT_FDCWD, arg(2), AT_SYMLINK_FOLLOW);
}

static long c_fdnlink(void)
{
	struct stat st;

	if (fstat(fds[num(1, 10)], &st))
		return -1;
	snprintf(text, sizeof(text), "%lu", (long)st.st_nlink);
	return 0;
}

static long c_fdallocate(void)
{
	return fallocate(fds[num(1, 10)], num(2, 0), num(3, 10), num(4, 10));
}

static long c_ftruncate(void) { return ftruncate(fds[num(1, 10)], num(2, 10)); }
static long c_fchmod(void) { return fchmod(fds[num(1, 10)], num(2, 8)); }
static long c_fsync(void) { return fsync(fds[num(1, 10)]); }
static long c_mkdir(void) { return mkdir(arg(1), num(2, 8)); }
static long c_rmdir(void) { return rmdir(arg(1)); }
static long c_unlink(void) { return unlink(arg(1)); }
static long c_link(void) { return link(arg(1), arg(2)); }
static long c_symlink(void) { return symlink(arg(1), arg(2)); }
static long c_rename(void) { return rename(arg(1), arg(2)); }
static long c_chmod(void) { return chmod(arg(1), num(2, 8)); }
static long c_chown(void) { return chown(arg(1), num(2, 10), num(3, 10)); }
static long c_lchown(void) { return lchown(arg(1), num(2, 10), num(3, 10)); }
static long c_truncate(void) { return truncate(arg(1), num(2, 10)); }
static long c_access(void) { return faccessat(AT_FDCWD, arg(1), num(2, 8), AT_EACCESS); }
static long c_chdir(void) { return chdir(arg(1)); }
static long c_umask(void) { umask(num(1, 8)); return 0; }

static long c_rename2(void)
{
	return renameat2(AT_FDCWD, arg(1), AT_FDCWD, arg(2), flags_of(rename_flags, word[3]));
}

static long c_mknod(void)
{
	return mknod(arg(1), flags_of(types, word[2]) | num(3, 8), makedev(7, 9));
}

static long c_bind(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long r;

	strncpy(a.sun_path, arg(1), sizeof(a.sun_path) - 1);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a));
	close(fd);
	return r;
}

static long c_readlink(void)
{
	ssize_t n = readlink(arg(1), text, sizeof(text) - 1);

	if (n >= 0)
		text[n] = 0;
	return n;
}

static struct timespec time_of(const char *s)
{
	if (!strcmp(s, "now"))
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	if (!strcmp(s, "omit"))
		return (struct timespec){ .tv_nsec = UTIME_OMIT };
	return (struct timespec){ .tv_sec = strtol(s, NULL, 10),
				  .tv_nsec = strchr(s, '.') ? atol(strchr(s, '.') + 1) : 0 };
}

static long utimes_at(int flags)
{
	const struct timespec t[2] = { time_of(arg(2)), time_of(arg(3)) };

	return utimensat(AT_FDCWD, arg(1), t, flags);
}

static long c_utimens(void) { return utimes_at(0); }
static long c_lutimens(void) { return utimes_at(AT_SYMLINK_NOFOLLOW); }

static const char *type_of(mode_t mode)
{
	const struct flag *f;

	for (f = types; f->name; f++)
		if ((mode & S_IFMT) == f->bit)
			return f->name;
	return "none";
}

static void tell(const struct stat *st, const char *field)
{
	if (!strcmp(field, "type"))
		strcpy(text, type_of(st->st_mode));
	else if (!strcmp(field, "mode"))
		sprintf(text, "%04o", st->st_mode & 07777);
	else if (!strcmp(field, "nlink"))
		sprintf(text, "%lu", (long)st->st_nlink);
	else if (!strcmp(field, "size"))
		sprintf(text, "%lld", (long long)st->st_size);
	else if (!strcmp(field, "owner"))
		sprintf(text, "%u:%u", st->st_uid, st->st_gid);
	else if (!strcmp(field, "rdev"))
		sprintf(text, "%u:%u", major(st->st_rdev), minor(st->st_rdev));
	else if (!strcmp(field, "atime"))
		sprintf(text, "%lld.%09ld", (long long)st->st_atim.tv_sec, st->st_atim.tv_nsec);
	else if (!strcmp(field, "mtime"))
		sprintf(text, "%lld.%09ld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	else
		wrong(field);
}

static long c_lstat(void)
{
	struct stat st;

	if (lstat(arg(1), &st))
		return -1;
	if (words > 2)
		tell(&st, arg(2));
	return 0;
}

static long c_stat(void)
{
	struct stat st;

	if (stat(arg(1), &st))
		return -1;
	if (words > 2)
		tell(&st, arg(2));
	return 0;
}

/*
 * old PATH...: their times are set back; then `fresh PATH` says which of them some call has made
 * new again, a for atime and so on; ctime can't be set back, so it is told as new if it isn't the
 * one of the last `old`.
 */
static struct {
	char path[64];
	struct timespec ctime;
} aged[8];
static int nr_aged;

static long c_old(void)
{
	const struct timespec t[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct timespec tick = { .tv_nsec = 20000000 };
	struct stat st;
	int i;

	nr_aged = 0;
	for (i = 1; i < words; i++) {
		if (utimensat(AT_FDCWD, word[i], t, AT_SYMLINK_NOFOLLOW) || lstat(word[i], &st))
			return -1;
		strncpy(aged[nr_aged].path, word[i], sizeof(aged->path) - 1);
		aged[nr_aged++].ctime = st.st_ctim;
	}
	nanosleep(&tick, NULL);		/* times are as coarse as the kernel's tick */
	return 0;
}

static long c_fresh(void)
{
	struct stat st;
	int i;

	for (i = 0; i < nr_aged && strcmp(aged[i].path, arg(1)); i++)
		;
	if (i == nr_aged)
		wrong("fresh without old");
	if (lstat(arg(words > 2 ? 2 : 1), &st))
		return -1;
	sprintf(text, "%s%s%s", st.st_atim.tv_sec > 1000 ? "a" : "",
		st.st_mtim.tv_sec > 1000 ? "m" : "",
		memcmp(&st.st_ctim, &aged[i].ctime, sizeof(st.st_ctim)) ? "c" : "");
	if (!*text)
		strcpy(text, "none");
	return 0;
}

static long c_write(void)
{
	int fd = open(arg(1), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	long r = fd < 0 ? -1 : write(fd, arg(2), strlen(arg(2)));

	if (fd >= 0)
		close(fd);
	return r < 0 ? -1 : 0;
}

static long c_read(void)
{
	int fd = open(arg(1), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, 200);

	if (fd >= 0)
		close(fd);
	if (n >= 0)
		strcpy(text + n, n ? "" : "nothing");
	return n < 0 ? -1 : 0;
}

/* A path, or a buffer, that isn't there. */
static long c_bad(void)
{
	char * volatile nowhere = (char *)1;
	struct stat st;

	switch (flags_of(bad_calls, word[1])) {
	case BAD_OPEN: return open(nowhere, O_RDONLY | O_CLOEXEC);
	case BAD_STAT: return stat(nowhere, &st);
	case BAD_STATBUF: return stat(arg(2), (struct stat *)nowhere);
	case BAD_MKDIR: return mkdir(nowhere, 0755);
	case BAD_RMDIR: return rmdir(nowhere);
	case BAD_UNLINK: return unlink(nowhere);
	case BAD_RENAME: return rename(nowhere, arg(2));
	case BAD_RENAMETO: return rename(arg(2), nowhere);
	case BAD_LINK: return link(arg(2), nowhere);
	case BAD_SYMLINK: return symlink(nowhere, arg(2));
	case BAD_MKNOD: return mknod(nowhere, S_IFIFO | 0644, 0);
	case BAD_CHMOD: return chmod(nowhere, 0644);
	case BAD_TRUNCATE: return truncate(nowhere, 0);
	case BAD_READLINK: return readlink(arg(2), nowhere, 10);
	case BAD_READ: return read(fds[num(2, 10)], nowhere, 10);
	default: return write(fds[num(2, 10)], nowhere, 10);
	}
}

/* A directory once more, where nothing may be written; "readonly off DIR" takes that away. */
static long c_readonly(void)
{
	if (!strcmp(arg(1), "off"))
		return umount2(arg(2), MNT_DETACH);
	if (mount(arg(1), arg(1), NULL, MS_BIND, NULL))
		return -1;
	return mount(NULL, arg(1), NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

/* How large files can get by this program; 0: as they were. */
static long c_limit(void)
{
	struct rlimit l;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &l))
		return -1;
	l.rlim_cur = num(1, 10) ? (rlim_t)num(1, 10) : l.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &l);
}

/* A program of that name. */
static long c_program(void)
{
	int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC);
	int to = open(arg(1), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;
	long r = from < 0 || to < 0 || fstat(from, &st) ||
		sendfile(to, from, NULL, st.st_size) != st.st_size ? -1 : 0;

	close(from);
	close(to);
	return r;
}

/* Run it until "end"; the pipe tells when it has begun, or why not. */
static pid_t running;

static long c_run(void)
{
	int out[2], error = 0;

	if (pipe2(out, O_CLOEXEC))
		return -1;
	running = fork();
	if (!running) {
		execl(arg(1), arg(1), "1000", (char *)NULL);
		error = errno;
		_exit(write(out[1], &error, sizeof(error)) != sizeof(error));
	}
	close(out[1]);
	if (read(out[0], &error, sizeof(error)) > 0)
		waitpid(running, NULL, 0);
	close(out[0]);
	errno = error;
	return error ? -1 : 0;
}

static long c_end(void)
{
	return kill(running, SIGKILL) || waitpid(running, NULL, 0) != running ? -1 : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static long c_ls(void)
{
	struct dirent **list;
	int n = scandir(arg(1), &list, NULL, by_name), i;

	if (n < 0)
		return -1;
	for (i = 0; i < n; i++) {
		sprintf(text + strlen(text), "%s%s", i ? "," : "", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	long (*fn)(void);
} commands[] = {
	{ "open", c_open }, { "fd", c_fd }, { "close", c_close }, { "fdwrite", c_fdwrite },
	{ "fdread", c_fdread }, { "fdlink", c_fdlink }, { "fdnlink", c_fdnlink },
	{ "fdallocate", c_fdallocate }, { "ftruncate", c_ftruncate }, { "fchmod", c_fchmod },
	{ "fsync", c_fsync }, { "mkdir", c_mkdir }, { "rmdir", c_rmdir }, { "unlink", c_unlink },
	{ "link", c_link }, { "symlink", c_symlink }, { "rename", c_rename }, { "chmod", c_chmod },
	{ "chown", c_chown }, { "lchown", c_lchown }, { "truncate", c_truncate },
	{ "access", c_access }, { "chdir", c_chdir }, { "umask", c_umask },
	{ "rename2", c_rename2 }, { "mknod", c_mknod }, { "bind", c_bind },
	{ "readlink", c_readlink }, { "utimens", c_utimens }, { "lutimens", c_lutimens },
	{ "lstat", c_lstat }, { "stat", c_stat }, { "old", c_old }, { "fresh", c_fresh },
	{ "write", c_write }, { "read", c_read }, { "ls", c_ls }, { "bad", c_bad },
	{ "readonly", c_readonly }, { "limit", c_limit }, { "program", c_program },
	{ "run", c_run }, { "end", c_end },
};

/* "<255>" within a word: so many letters; "<a/b*200>": a text, repeated. */
static char *expand(char *s)
{
	static char room[WORDS][PATH_MAX * 2];
	static int turn;
	char *out = room[turn++ % WORDS], *o = out, *end, *star;
	size_t n, i;

	for (; *s; s++) {
		if (*s != '<') {
			*o++ = *s;
			continue;
		}
		end = strchr(s, '>');
		star = memchr(s, '*', end - s);
		n = strtoul(star ? star + 1 : s + 1, NULL, 10);
		for (i = 0; i < n; i++) {
			if (star)
				o = mempcpy(o, s + 1, star - s - 1);
			else
				*o++ = 'x';
		}
		s = end;
	}
	*o = 0;
	return out;
}

static const char *run(const char *name)
{
	size_t i;
	long r;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, name))
			continue;
		text[0] = 0;
		errno = 0;
		r = commands[i].fn();
		if (r < 0)
			return strerrorname_np(errno);
		return text[0] ? text : "ok";
	}
	wrong(name);
}

static void become(unsigned int uid)
{
	const gid_t groups[] = { uid + 100 };

	if (seteuid(0) || setgroups(uid ? 1 : 0, groups) || setegid(uid) || seteuid(uid))
		wrong("no such user");
}

/* [USER:] COMMAND WORD... -> ANSWER */
static bool line(char *s, int nr)
{
	char *arrow = strstr(s, " -> "), *copy = strdup(s), *w;
	const char *said, *want = arrow ? arrow + 4 : "ok";
	unsigned int uid = 0;

	if (arrow)
		*arrow = 0;
	for (words = 0; (w = strsep(&s, " \t"));) {
		if (*w && words == 0 && isdigit(*w))
			uid = atoi(w);
		else if (*w && words < WORDS)
			word[words++] = expand(w);
	}
	become(uid);
	said = run(word[0]);
	become(0);
	if (strchr(want, '<'))
		want = expand((char *)want);
	if (strcmp(said, want))
		printf("# %d: %s\n#	said %s\n", nr, copy, said);
	free(copy);
	return !strcmp(said, want);
}

static void begin(int top)
{
	static int nr;
	char name[32];

	snprintf(name, sizeof(name), "t%d", nr++);
	if (fchdir(top) || mkdir(name, 0755) || chmod(name, 0777) || chdir(name))
		wrong(name);
	umask(022);
}

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[2], "re") : NULL;
	int top = argc > 2 ? open(argv[1], O_DIRECTORY | O_CLOEXEC) : -1, nr = 0, bad = 0, all = 0;
	char buf[PATH_MAX];

	if (!f || top < 0)
		return 2;
	while (fgets(buf, sizeof(buf), f)) {
		buf[strcspn(buf, "\n")] = 0;
		nr++;
		if (!strncmp(buf, "==", 2))
			begin(top);
		else if (*buf && *buf != '#') {
			all++;
			bad += !line(buf, nr);
		}
	}
	printf("# %d of %d lines say what they have to\n", all - bad, all);
	return bad || !all;
}
