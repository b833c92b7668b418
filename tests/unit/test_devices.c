// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tools that make a device in a folder while others delete one of that name. The folders are in a
 * directory; what is a device is in memory that both processes have.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ktap.h"
#include "../../tools/common/devices.h"

#define ENOUGH_MS	300000	/* for what is to come; who runs this has a limit */
#define LONG_MS		500	/* for what is not: it would come at once */

static char root[] = "/tmp/test_devices.XXXXXX";
static bool *live;		/* 'a' and on */
static int go[2], made[2];
static void (*released)(void);

static bool is_empty(const char *name)
{
	return !live[*name - 'a'];
}

struct configfs configfs = { .tool = "test_devices", .is_empty = is_empty };
const struct tool tool = { .name = "test_devices" };
const struct command *command_current;

int usage(void)
{
	return EXIT_USAGE;
}

int tool_help(void)
{
	return EXIT_OK;
}

int command_help(void)
{
	return EXIT_OK;
}

const struct command *command_find(const char *name)
{
	return NULL;
}

int setup(void)
{
	return 0;
}

int complain(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	return 1;
}

void attr_path(char *path, size_t size, const char *dev, const char *attr)
{
	snprintf(path, size, "%s/%s", root, dev);
}

int attr_explain(const char *dev, int err)
{
	return err ? complain("%s: %s", dev, strerror(err)) : 0;
}

int attr_write(const char *dev, const char *attr, const char *text)
{
	bool *it = &live[*dev - 'a'];

	if (!strcmp(attr, "create")) {
		if (*it)
			return EBUSY;
		*it = true;
		return 0;
	}
	if (!*it)
		return ENODEV;
	*it = false;
	if (released)
		released();
	return 0;
}

/* A byte out of there in time. */
static bool came(int fd, int ms)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&in, 1, ms) == 1 && read(fd, &byte, 1) == 1;
}

/* The device is gone, its folder is not: now others make theirs. */
static void let_others(void)
{
	CHECK(write(go[1], "", 1) == 1);
	CHECK(came(made[0], ENOUGH_MS), "one of another name waits");
	if (came(made[0], LONG_MS))
		ktap_note("made in the folder of one that is being deleted");
}

static void other(void)
{
	bool ok = came(go[0], ENOUGH_MS);

	ok &= !device_make("b", "create", "1M") && write(made[1], "", 1) == 1;
	ok &= !device_make("a", "create", "1M") && write(made[1], "", 1) == 1;
	_exit(!ok);
}

static bool there(const char *name)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	return !access(path, F_OK) && !is_empty(name);
}

/* What is made while one of its name is deleted is there afterwards. */
static void test_made_anew(void)
{
	char *name[] = { "a" };
	int status = -1;
	pid_t pid;

	CHECK(!pipe(go) && !pipe(made));
	fflush(stdout);
	pid = fork();		/* before there is a lock: it would be the child's, too */
	if (!pid)
		other();
	CHECK(!device_make("a", "create", "1M") && there("a"));
	released = let_others;
	CHECK(!cmd_delete(1, name));
	released = NULL;
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %d", status);
	CHECK(there("a"), "who deleted the one before took its folder away");
	CHECK(there("b"));
}

int main(int argc, char **argv)
{
	static const char * const names[] = { "a", "b" };
	char path[512];
	unsigned int i;

	live = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (live == MAP_FAILED || !mkdtemp(root))
		return 1;
	ktap_init(argc, argv);
	ktap_run("made anew while it is deleted", test_made_anew);
	for (i = 0; i < 2; i++) {
		attr_path(path, sizeof(path), names[i], NULL);
		rmdir(path);
	}
	rmdir(root);
	return ktap_done();
}
