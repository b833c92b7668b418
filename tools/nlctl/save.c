// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device is saved into a file that nobody else can have, beside the one that is wanted, which it
 * replaces when it is complete and durable: whatever happens before, what was there is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nlctl.h"

bool save_over;

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static char temp[PATH_MAX];	/* empty: there is none */
static pid_t writer;	/* 0: there is none */

static void drop_temp(int sig)
{
	if (writer > 0)
		kill(writer, SIGKILL);
	unlink(temp);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Who ignores one (nohup) goes on to. */
static void when_ended(void (*handler)(int))
{
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signal(signals[i], handler) == SIG_IGN)
			signal(signals[i], SIG_IGN);
}

/* The kernel takes what this process has open, wherever its name leads by now. */
static int save_to(const char *name, int fd, const char *path)
{
	open_file_is(fd, path);
	return attr_explain(name, attr_write_patiently(name, "save", open_file.number)) ?
		EXIT_FAILED : EXIT_OK;
}

/* It ends with @parent, also with one that has ended before it could say so. */
static void write_alone(pid_t parent, const char *name, int fd, const char *path)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	_exit(save_to(name, fd, path));
}

/*
 * The kernel ends a long write only for what ends the process, and a signal that is handled does
 * not: so another process writes, which handles none.  Whoever handles one here knows of it, so
 * none comes between.
 */
static int save_apart(const char *name, int fd, const char *path)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;
	int status;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	writer = pid > 0 ? pid : 0;
	if (!pid)
		when_ended(SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return complain("%s: %s", name, strerror(errno));
	if (!pid)
		write_alone(parent, name, fd, path);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	writer = 0;
	if (WIFSIGNALED(status))
		return complain("%s: %s", name, strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}

static int sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = fd < 0 || (fsync(fd) && errno != EINVAL) ? errno : 0;

	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static int put_in_place(const char *path)
{
	int err = rename(temp, path) ? errno : 0;

	if (err)
		return complain("%s: %s", path, strerror(err));
	*temp = 0;
	err = sync_folder(path);
	return err ? complain("%s: %s", path, strerror(err)) : EXIT_OK;
}

/* Whose it is, and who may use it, is as with what it replaces: not before it is complete. */
static int become(int fd, const struct stat *there, const char *path)
{
	if (!there || (!fchown(fd, there->st_uid, there->st_gid) &&
		       !fchmod(fd, there->st_mode & 07777) && !fsync(fd)))
		return EXIT_OK;
	return complain("%s: its owner and mode can't be kept: %s", path, strerror(errno));
}

/* @there: what it replaces; NULL: nothing */
static int save_anew(const char *name, const char *path, const struct stat *there)
{
	int fd, err;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return complain("%s: %s", path, strerror(ENAMETOOLONG));
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return complain("%s: %s", path, strerror(errno));
	when_ended(drop_temp);
	err = save_apart(name, fd, path);
	if (!err)
		err = become(fd, there, path);
	if (!err)
		err = put_in_place(path);
	if (err && *temp)
		unlink(temp);
	when_ended(SIG_DFL);
	close(fd);
	return err;
}

/* Nobody has it mounted or in use meanwhile. */
static int save_on_device(const char *name, const char *path)
{
	int fd, err;

	if (!save_over)
		return complain("%s is a block device; --force writes over what it has", path);
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		return complain("%s: %s", path, strerror(errno));
	err = save_to(name, fd, path);
	close(fd);
	return err;
}

int save(const char *name, const char *path)
{
	struct stat there;
	char *real;
	int err;

	if (stat(path, &there))
		return errno == ENOENT ? save_anew(name, path, NULL) :
		       complain("%s: %s", path, strerror(errno));
	if (S_ISBLK(there.st_mode))
		return save_on_device(name, path);
	if (!S_ISREG(there.st_mode))
		return complain("%s: neither a file nor a block device", path);
	real = realpath(path, NULL);	/* a link goes on to lead to it */
	if (!real)
		return complain("%s: %s", path, strerror(errno));
	err = save_anew(name, real, &there);
	free(real);
	return err;
}
