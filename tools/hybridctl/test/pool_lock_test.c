// SPDX-License-Identifier: GPL-2.0-only
/* Of two commands one has a pool to itself; the files of locks are in a directory of the test. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../area.h"
#include "../lock.h"
#include "../msg.h"
#include "ktap.h"
#include "wrapped.h"

static char dir[KTAP_NAME];
static bool refused;	/* whatever is to be opened */
static uid_t user;

int __wrap_open(const char *path, int flags, mode_t mode)
{
	char here[256];

	if (refused) {
		errno = EROFS;
		return -1;
	}
	snprintf(here, sizeof(here), "%s/%s", dir, strrchr(path, '/') + 1);
	return __real_open(here, flags, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	errno = EEXIST;
	return -1;
}

uid_t __wrap_geteuid(void)
{
	return user;
}

char *uuid_text(char *buf, const uint8_t *uuid)
{
	snprintf(buf, UUID_TEXT, "%02x", *uuid);
	return buf;
}

static const uint8_t a[EK_UUID_SIZE] = { 1 }, b[EK_UUID_SIZE] = { 2 };

/* What another command gets that does not wait. */
static int other_tries(const uint8_t *uuid)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-lock_pool_try(uuid, "p"));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

/* Does another one have it before it is given up? */
static bool other_waits(void)
{
	int pipes[2], status;
	bool early;
	pid_t pid;
	char done;

	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return false;
	pid = fork();
	if (!pid) {
		status = lock_pool(a, "p");
		_exit(status || write(pipes[1], "!", 1) != 1);
	}
	usleep(200000);
	early = read(pipes[0], &done, 1) == 1;
	unlock_pool();
	return waitpid(pid, &status, 0) == pid && !status && !early &&
	       read(pipes[0], &done, 1) == 1;
}

int main(void)
{
	char command[KTAP_NAME + 8];
	int err;

	setbuf(stdout, NULL);
	ktap_begin();
	if (!mkdtemp(ktap_name(dir, "/tmp")) || !freopen("/dev/null", "w", stderr))
		return 1;
	ktap_ok(!lock_pool(a, "p"), "lock: nobody has it");
	ktap_ok(other_tries(a) == -EBUSY, "lock: another command does not get it");
	ktap_ok(!other_tries(b), "lock: another pool's it does");
	ktap_ok(other_waits(), "lock: who waits has it when it is given up");
	ktap_ok(!other_tries(a), "lock: one that has ended has it no more");
	refused = true;
	err = lock_pool_try(a, "p");
	ktap_ok(err == -EROFS && lock_pool(a, "p") == EXIT_FAILED, "lock: no work without it");
	user = 1;
	ktap_ok(!lock_pool(a, "p"), "lock: but on files, of who is not root");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return ktap_end() | !!system(command);
}
