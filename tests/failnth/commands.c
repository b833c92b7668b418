// SPDX-License-Identifier: GPL-2.0-only
/* Each command of hybridctl, in which each allocation of the kernel's fails once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk.h"
#include "dm.h"
#include "failnth.h"
#include "shim.h"

#define SAID	"/tmp/failnth.said"

static const char *const *served;
static pid_t server;
static int to_server = -1, from_server = -1;

static void child(const char *const *argv, int in, int out)
{
	int said = open(SAID, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
	const char *shim = getenv("FAILNTH_SHIM");

	if (!shim || said < 0 || dup2(in, SHIM_IN) < 0 || dup2(out, SHIM_OUT) < 0 ||
	    dup2(said, 1) < 0 || dup2(said, 2) < 0)
		_exit(SHIM_BROKEN);
	setenv("LD_PRELOAD", shim, 1);
	execvp(argv[0], (char *const *)argv);
	_exit(SHIM_BROKEN);
}

static void serve(const char *const *argv)
{
	int in[2], out[2];

	if (served == argv)
		return;
	if (server) {
		close(to_server);
		close(from_server);
		waitpid(server, NULL, 0);
	}
	signal(SIGPIPE, SIG_IGN);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipes");
	server = fork();
	if (!server)
		child(argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	to_server = in[1];
	from_server = out[0];
	served = argv;
}

static void tell_said(void)
{
	char text[512] = "";
	int fd = open(SAID, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		printf("# it says: %s\n", text);
	if (fd >= 0)
		close(fd);
}

static unsigned int command(const struct op *op, unsigned int nth, int *error)
{
	struct shim_answer answer;

	serve(op->argv);
	if (truncate(SAID, 0) && errno != ENOENT)
		die(SAID);
	if (write(to_server, &nth, sizeof(nth)) != sizeof(nth) ||
	    read(from_server, &answer, sizeof(answer)) != sizeof(answer))
		die("%s does not serve", op->argv[0]);
	*error = 0;
	if (!WIFEXITED(answer.status)) {
		wrong("%s dies of signal %d", op->argv[1], WTERMSIG(answer.status));
		tell_said();
		*error = EINTR;
	} else if (WEXITSTATUS(answer.status) == SHIM_BROKEN || answer.left == SHIM_UNKNOWN) {
		die("%s was not armed, or did not say what was left", op->argv[1]);
	} else if (WEXITSTATUS(answer.status)) {
		*error = ENOMEM;
	}
	return answer.left;
}

/* --- around the commands --- */

static void blank(const struct op *op)
{
	(void)op;
	pool_blank();
}

static void live(const struct op *op)
{
	(void)op;
	if (!pool_there() && dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool by its labels");
}

/* It is on the disks nevertheless. */
static void stopped(const struct op *op)
{
	(void)op;
	if (pool_there() && dm_unmake(POOL, 1))
		die("removing the pool");
}

static void sound(const struct op *op, int error)
{
	(void)op;
	(void)error;
	pool_check();
}

/* libdevmapper only says so when it can't make the one in /dev/mapper. */
static void find_node(void)
{
	if (dm_node(POOL, pool_node, sizeof(pool_node)))
		die("its node");
}

/* Nothing is left of what did not succeed: the disks are as blank as they were. */
static void after_create(const struct op *op, int error)
{
	(void)op;
	if (!error) {
		if (!pool_there())
			wrong("says that it made it");
		return;
	}
	if (pool_there()) {
		wrong("a device is left of what failed");
		tell_said();
	} else if (dm_new(POOL, pool_node, sizeof(pool_node)) ||
		   dm_load(POOL, pool_table("fill 0"))) {
		wrong("the disks are not as they were: %s", strerror(errno));
		tell_said();
	}
}

static void after_assemble(const struct op *op, int error)
{
	(void)op;
	if (pool_there() == !!error) {
		wrong("status %s, and the pool is %sthere", error ? "1" : "0", error ? "" : "not ");
		tell_said();
	}
	if (!pool_there())
		return;		/* what is on the disks is looked at when it succeeds again */
	find_node();
	pool_check();
}

static void after_stop(const struct op *op, int error)
{
	(void)op;
	if (pool_there() != !!error) {
		wrong("status %s, and the pool is %sthere", error ? "1" : "0", error ? "not " : "");
		tell_said();
	}
	if (!pool_there() && dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		wrong("the pool again: %s", strerror(errno));
	pool_check();
}

static void after_look(const struct op *op, int error)
{
	(void)op;
	(void)error;
}

#define ARGV(...) .argv = (const char *const []){ "hybridctl", __VA_ARGS__, NULL }
#define M "/dev/emudisk/m"
#define A "/dev/emudisk/a"
#define B "/dev/emudisk/b"

const struct op command_ops[] = {
	{ "hybridctl list", live, NULL, command, after_look, ARGV("list") },
	{ "hybridctl status", live, NULL, command, after_look, ARGV("status", POOL, "--json") },
	{ "hybridctl monitor", live, NULL, command, after_look,
	  ARGV("monitor", POOL, "--plain", "--count", "1") },
	{ "hybridctl set", live, NULL, command, sound, ARGV("set", POOL, "period_ms=300") },
	{ "hybridctl policy", live, NULL, command, sound, ARGV("policy", POOL, "stripe") },
	{ "hybridctl stop", live, NULL, command, after_stop, ARGV("stop", POOL) },
	{ "hybridctl assemble", stopped, NULL, command, after_assemble, ARGV("assemble", POOL) },
	{ "hybridctl check", stopped, NULL, command, after_look, ARGV("check", M, A, B) },
	{ "hybridctl dump", stopped, NULL, command, after_look, ARGV("dump", M, "--map") },
	{ "hybridctl create", blank, NULL, command, after_create,
	  ARGV("create", POOL, A, B, "--metadata", M, "--extent", "64K") },
	{ }
};
