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

static bool says(const char *what)
{
	char text[4096] = "";
	int fd = open(SAID, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		die(SAID);
	close(fd);
	return strstr(text, what);
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

/* It has other members now, or another size. */
static bool changed;

static void live(const struct op *op)
{
	if (pool_be(op->shape) || changed)
		pool_make();
	else if (!pool_there() &&
		 dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool by its labels");
	changed = false;
}

/* It is on the disks nevertheless. */
static void stopped(const struct op *op)
{
	if (changed)
		live(op);
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

static void anyhow(const struct op *op)
{
	(void)op;
}

static void after_look(const struct op *op, int error)
{
	(void)op;
	(void)error;
}

/* Given again, with memory, it does what it could not. */
static void again(const struct op *op, int error)
{
	int later = 0;

	if (error)
		command(op, 0, &later);
	if (later) {
		wrong("status 1, and the next time, too");
		tell_said();
	}
}

/* --- commands that change a live pool --- */

static char was[DM_LINE_ROOM];

/* Where commands look for it; udev, which would see to that, is not there. */
static void name_node(void)
{
	if (unlink("/dev/mapper/" POOL) && errno != ENOENT)
		die("/dev/mapper/" POOL);
	if (symlink(pool_node, "/dev/mapper/" POOL))
		die("/dev/mapper/" POOL);
}

/* In short periods, and with something in them. */
static void measured(const struct op *op)
{
	int fd;

	live(op);
	pool_tell("set period_ms 50");
	fd = disk_open();
	if (disk_read(fd, 0, 16))
		die("reading it");
	close(fd);
}

/* What has moved, and what has not, is where it can be read. */
static void after_optimize(const struct op *op, int error)
{
	again(op, error);
	pool_check();
}

static void unpinned(const struct op *op)
{
	live(op);
	pool_tell("set pin none");
	pool_says_table(was);
}

static void after_pin(const struct op *op, int error)
{
	char line[DM_LINE_ROOM];

	pool_says_table(line);
	if (!strcmp(line, was) != !!error)
		wrong("status %s, and the table is %s", error ? "1" : "0", line);
	again(op, error);
	pool_says_table(line);
	if (!strcmp(line, was))
		wrong("nothing is pinned");
	pool_check();
	pool_tell("set pin none");
}

static void staying(const struct op *op)
{
	live(op);
	if (!pool_field_is("dev.1.state", "active"))
		pool_tell("stay 1");
}

static void leaving(const struct op *op)
{
	staying(op);
	pool_tell("evacuate 1");
}

/* What was begun is so though the command could not look at it any more. */
static void after_evacuate(const struct op *op, int error)
{
	again(op, error);
	if (!pool_field_is("dev.1.state", "draining"))
		wrong("the member is not being emptied");
	staying(op);
	pool_check();
}

static void after_cancel(const struct op *op, int error)
{
	again(op, error);
	if (!pool_field_is("dev.1.state", "active"))
		wrong("the member does not stay");
	staying(op);
	pool_check();
}

/* The disks that are in no pool are blank. */
static void anew(const struct op *op)
{
	pool_be(op->shape);
	pool_make();
	name_node();
	changed = true;
}

static void anew_leaving(const struct op *op)
{
	anew(op);
	pool_tell("evacuate 1");
}

static void anew_lost(const struct op *op)
{
	anew(op);
	pool_lose(3);
}

/* Cut short anywhere, it goes on when it is given again. */
static void after_change(const struct op *op, int error, const char *key, const char *want)
{
	again(op, error);
	if (!pool_field_is(key, want)) {
		wrong("status 0, and %s is not %s", key, want);
		tell_said();
	}
	pool_check();
}

#define ON_SECOND	3u	/* an extent */

static void hurt(const struct op *op)
{
	live(op);
	name_node();
	pool_hurt(ON_SECOND);
}

static void after_reinstate(const struct op *op, int error)
{
	if (!error && !pool_field_is("dev.1.state", "active"))
		wrong("status 0, and the member is not trusted");
	again(op, error);
	pool_healed();
}

/* Nothing that is said of it changes it. */
static void lost(const struct op *op)
{
	static const struct op *last;

	if (last != op)
		anew_lost(op);
	last = op;
}

static void after_lost(const struct op *op, int error)
{
	(void)op;
	if (!error && !says("384 to 511, with device 1"))
		wrong("does not say what is lost");
}

static void whole(const struct op *op)
{
	live(op);
	pool_whole();
	name_node();
	if (op->shape == POOL_PLAIN)
		pool_second_has(ON_SECOND);
}

static void after_detach(const struct op *op, int error)
{
	again(op, error);
	if (!pool_is_less())
		wrong("it has the device");
	pool_whole();
	pool_check();
}

static void less(const struct op *op)
{
	whole(op);
	pool_less();
}

/* What can't be read is, after that: pool_check() reads all. */
static void after_give_up(const struct op *op, int error)
{
	after_change(op, error, "dev.1.used", "0");
}

static void after_add(const struct op *op, int error)
{
	after_change(op, error, "dev.2.state", "active");
}

static void after_remove(const struct op *op, int error)
{
	after_change(op, error, "dev.1.state", "removed");
}

static void after_replace(const struct op *op, int error)
{
	after_change(op, error, "dev.2.state", "active");
	after_change(op, 0, "dev.1.state", "removed");
}

static void after_grow(const struct op *op, int error)
{
	after_change(op, error, "logical", "40");
}

static void after_metadata(const struct op *op, int error)
{
	after_change(op, error, "meta", "AA");
}

static void after_attach(const struct op *op, int error)
{
	again(op, error);
	if (pool_is_less())
		wrong("it is without the device");
	if (op->shape == POOL_MIRRORED)
		after_metadata(op, 0);
	else
		after_change(op, 0, "dev.1.state", "active");
}

static void stale(const struct op *op)
{
	anew(op);
	pool_tell("metadata leave 1");
	for (int i = 0; !pool_field_is("meta", "AS"); i++) {
		if (i == 5000)
			die("the area does not leave");
		usleep(2000);
	}
}

/* --- commands for one that is not live --- */

#define DUMP	"/tmp/failnth.dump"
#define M "/dev/emudisk/m"
#define N "/dev/emudisk/n"
#define A "/dev/emudisk/a"
#define B "/dev/emudisk/b"
#define C "/dev/emudisk/c"

static void dumped(const struct op *op)
{
	static const struct op *last;

	if (last != op) {
		live(op);
		stopped(op);
		if (system("hybridctl dump " M " --map >" DUMP))
			die("dump");
	}
	last = op;
	stopped(op);
}

/* A label is lost, its copy is there. */
static void damaged(const struct op *op)
{
	static const char zeros[4096] __attribute__((aligned(4096)));
	int fd;

	stopped(op);
	fd = open(B, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, zeros, sizeof(zeros), 0) != sizeof(zeros))
		die(B);
	close(fd);
}

static void after_offline(const struct op *op, int error)
{
	again(op, error);
	live(op);
	pool_check();
}

#define ARGV(...) .argv = (const char *const []){ "hybridctl", __VA_ARGS__, NULL }
#define RECORDING "/tmp/failnth.jsonl"

const struct op command_ops[] = {
	{ "hybridctl list", live, NULL, command, after_look, ARGV("list"), .thin = 2 },
	{ "hybridctl status", live, NULL, command, after_look, ARGV("status", POOL, "--json") },
	{ "hybridctl lost", lost, NULL, command, after_lost, ARGV("lost", POOL), .thin = 8 },
	{ "hybridctl explain", live, NULL, command, after_look, ARGV("explain", POOL, "0"),
	  .thin = 8 },
	{ "hybridctl monitor", live, NULL, command, after_look,
	  ARGV("monitor", POOL, "--plain", "--count", "1") },
	{ "hybridctl record", live, NULL, command, after_look,
	  ARGV("record", POOL, "--interval", "0.05", "--for", "0.05", "-o", RECORDING),
	  .thin = 8 },
	{ "hybridctl report", live, NULL, command, after_look,
	  ARGV("report", RECORDING, "-o", "/tmp/failnth.html"), .thin = 8 },
	{ "hybridctl check of a live pool", live, NULL, command, sound, ARGV("check", POOL),
	  .thin = 24 },
	{ "hybridctl set", live, NULL, command, sound, ARGV("set", POOL, "period_ms=300") },
	{ "hybridctl policy", live, NULL, command, sound, ARGV("policy", POOL, "stripe") },
	/* It asks the kernel for nothing but to print. */
	{ "hybridctl size", anyhow, NULL, command, after_look, ARGV("size", "1T", "2T"),
	  .allocates_nothing = true },
	{ "hybridctl optimize", measured, NULL, command, after_optimize,
	  ARGV("optimize", POOL, "--window", "0.1"), .thin = 8 },
	{ "hybridctl pin", unpinned, NULL, command, after_pin, ARGV("pin", POOL, "1M", "128K", "1"),
	  .thin = 8 },
	{ "hybridctl evacuate", staying, NULL, command, after_evacuate,
	  ARGV("evacuate", POOL, B, "--no-wait"), .thin = 8 },
	{ "hybridctl evacuate --cancel", leaving, NULL, command, after_cancel,
	  ARGV("evacuate", POOL, B, "--cancel"), .thin = 8 },
	{ "hybridctl evacuate --give-up", anew_lost, NULL, command, after_give_up,
	  ARGV("evacuate", POOL, "1", "--give-up"), .thin = 4 },
	{ "hybridctl reinstate", hurt, NULL, command, after_reinstate, ARGV("reinstate", POOL, B),
	  .thin = 8 },
	{ "hybridctl detach", whole, NULL, command, after_detach,
	  ARGV("detach", POOL, B, "--force"), .thin = 8 },
	{ "hybridctl attach", less, NULL, command, after_attach, ARGV("attach", POOL, B),
	  .thin = 8 },
	{ "hybridctl attach of metadata", less, NULL, command, after_attach,
	  ARGV("attach", POOL, N), .thin = 16, .shape = POOL_MIRRORED },
	{ "hybridctl add", anew, NULL, command, after_add, ARGV("add", POOL, C),
	  .thin = 24 },
	{ "hybridctl grow", anew, NULL, command, after_grow, ARGV("grow", POOL, "--size", "2560K"),
	  .thin = 16 },
	{ "hybridctl remove", anew_leaving, NULL, command, after_remove, ARGV("remove", POOL, B),
	  .thin = 16 },
	{ "hybridctl replace", anew, NULL, command, after_replace, ARGV("replace", POOL, B, C),
	  .thin = 24 },
	{ "hybridctl metadata resync", stale, NULL, command, after_metadata,
	  ARGV("metadata", POOL, "resync"), .thin = 16, .shape = POOL_MIRRORED },
	{ "hybridctl metadata move", anew, NULL, command, after_metadata,
	  ARGV("metadata", POOL, "move", N, C), .thin = 24, .shape = POOL_MIRRORED },
	{ "hybridctl stop", live, NULL, command, after_stop, ARGV("stop", POOL), .thin = 2 },
	{ "hybridctl assemble", stopped, NULL, command, after_assemble, ARGV("assemble", POOL),
	  .thin = 2 },
	{ "hybridctl identify", stopped, NULL, command, after_look, ARGV("identify", M),
	  .thin = 8 },
	{ "hybridctl check", stopped, NULL, command, after_look, ARGV("check", M, A, B), .thin = 2 },
	{ "hybridctl dump", stopped, NULL, command, after_look, ARGV("dump", M, "--map"), .thin = 2 },
	{ "hybridctl restore", dumped, NULL, command, after_offline,
	  ARGV("restore", DUMP, M, A, B, "--force"), .thin = 16 },
	{ "hybridctl repair", damaged, NULL, command, after_offline, ARGV("repair", M, A, B),
	  .thin = 16 },
	{ "hybridctl create", blank, NULL, command, after_create,
	  ARGV("create", POOL, A, B, "--metadata", M, "--extent", "64K"), .thin = 2 },
	{ }
};

/* --- is any command forgotten? --- */

/* What has no row above, and why. */
static const struct {
	const char *program, *command, *why;
} without[] = {
	{ "mem2mctl", "create", "a word to configfs, as in memory.c" },
	{ "mem2mctl", "configured", "creates what a file says, as create does" },
	{ "mem2mctl", "resize", "a word to configfs, as in memory.c" },
	{ "mem2mctl", "delete", "a word to configfs, as in memory.c" },
	{ "mem2mctl", "list", "reads configfs" },
	{ "nlctl", "create", "a word to configfs, as in nameless.c" },
	{ "nlctl", "stat", "reads configfs" },
	{ "nlctl", "top", "reads configfs" },
	{ "nlctl", "names", "what names.c asks for" },
	{ "nlctl", "migrations", "what names.c asks for" },
	{ "nlctl", "check", "reads configfs" },
	{ "nlctl", "cut", "a word to configfs, as in nameless.c" },
	{ "nlctl", "power", "a word to configfs, as in nameless.c" },
	{ "nlctl", "set", "a word to configfs" },
	{ "nlctl", "save", "a word to configfs, as in nameless.c" },
	{ "nlctl", "load", "a word to configfs, as in nameless.c" },
	{ "nlctl", "delete", "a word to configfs, as in nameless.c" },
	{ "nlctl", "list", "reads configfs" },
	{ "nlctl", "presets", "reads configfs" },
	{ "nlctl", "keys", "reads configfs" },
	{ "nlstore", "format", "asks for what names.c asks for" },
	{ "nlstore", "import", "asks for what names.c asks for" },
	{ "nlstore", "export", "asks for what names.c asks for" },
	{ "nlstore", "list", "asks for what names.c asks for" },
	{ "nlstore", "verify", "asks for what names.c asks for" },
	{ "nlstore", "tend", "asks for what names.c asks for" },
	{ "scmfsctl", "usage", "reads only" },
	{ "scmfsctl", "windows", "reads only" },
	{ "scmfsctl", "wear", "reads only" },
	{ "scmfsctl", "frag", "reads only" },
	{ "scmfsctl", "gc", "asks for what scmfs does by itself" },
};

static bool has_row(const char *program, const char *name)
{
	for (const struct op *op = command_ops; op->name; op++)
		if (!strcmp(op->argv[0], program) && !strcmp(op->argv[1], name))
			return true;
	return false;
}

static bool has_reason(const char *program, const char *name)
{
	for (unsigned int i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (!strcmp(without[i].program, program) && !strcmp(without[i].command, name))
			return true;
	return false;
}

static void judge(const char *program, const char *name)
{
	if (!has_row(program, name) && !has_reason(program, name))
		wrong("%s %s: no row, and no reason for that", program, name);
	if (has_row(program, name) && has_reason(program, name))
		wrong("%s %s: a row, and a reason for none", program, name);
}

/* "  COMMAND   what it does" */
static unsigned int judge_all(const char *program)
{
	char line[256], name[32];
	unsigned int nr = 0;
	FILE *help;

	snprintf(line, sizeof(line), "%s --help", program);
	help = popen(line, "re");
	while (help && fgets(line, sizeof(line), help))
		if (!strncmp(line, "  ", 2) && sscanf(line + 2, "%31[a-z] ", name) == 1) {
			judge(program, name);
			nr++;
		}
	if (!help || pclose(help) || !nr)
		wrong("%s --help says nothing", program);
	return nr;
}

void commands_all(void)
{
	unsigned int nr = judge_all("hybridctl") + judge_all("mem2mctl") + judge_all("nlctl") +
			  judge_all("nlstore") + judge_all("scmfsctl"), rows = 0;

	for (const struct op *op = command_ops; op->name; op++)
		rows++;
	result("%u commands: each is in one of %u rows, or it is said why not", nr, rows);
}
