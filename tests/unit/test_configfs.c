// SPDX-License-Identifier: GPL-2.0-only
/*
 * How tools get at a module's folder in configfs. Modules and the folder are in a directory, and
 * modprobe is a script in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "ktap.h"
#include "../../tools/common/configfs.h"

#define ENOUGH_MS	300000	/* for what is to come; who runs this has a limit */
#define SOON_MS		300

struct configfs configfs = { .tool = "test_configfs", .module = "mod" };

static bool may_mount, mount_has_it;

/* Instead of the C library's. */
uid_t geteuid(void)
{
	return 0;
}

int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data)
{
	if (!may_mount) {
		errno = EPERM;
		return -1;
	}
	if (mount_has_it)
		mkdir("config/mod", 0755);
	return 0;
}

static bool put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd);
}

/* A module in this state; NULL: it is built in, "": there is none. */
static void begin(const char *state)
{
	rmdir("config/mod");
	unlink("module/mod/initstate");
	rmdir("module/mod");
	unlink("asked");
	may_mount = true;
	mount_has_it = true;
	if (!state || *state)
		CHECK(!mkdir("module/mod", 0755));
	if (state && *state)
		CHECK(put("module/mod/initstate", state, 0644));
}

static bool asked_modprobe(void)
{
	return !access("asked", F_OK);
}

static void test_loaded(void)
{
	begin("");
	CHECK(!setup() && asked_modprobe(), "one that is not there");
	begin("live\n");
	CHECK(!setup() && !asked_modprobe(), "one that is");
	begin(NULL);
	CHECK(!setup() && !asked_modprobe(), "one that is built in");
	begin("coming\n");
	CHECK(!setup() && asked_modprobe(), "one that is on its way is waited for");
	begin("going\n");
	CHECK(!setup() && asked_modprobe(), "one that goes is loaded again");
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void test_mounted_by_others(void)
{
	long from;
	pid_t pid;

	begin("live\n");
	may_mount = false;
	CHECK(setup(), "nobody mounts it");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		usleep(SOON_MS * 1000);
		_exit(!!mkdir("config/mod", 0755));
	}
	CHECK(!setup_within(ENOUGH_MS), "it was not waited for");
	CHECK(waitpid(pid, NULL, 0) == pid);

	begin("live\n");
	may_mount = false;
	from = now_ms();
	CHECK(setup_within(SOON_MS) && now_ms() - from >= SOON_MS, "no longer than it is told to");

	begin("live\n");
	mount_has_it = false;
	from = now_ms();
	CHECK(setup_within(ENOUGH_MS) && now_ms() - from < ENOUGH_MS,
	      "what is mounted and has no folder is not waited for");
}

int main(int argc, char **argv)
{
	char root[] = "/tmp/test_configfs.XXXXXX";

	if (!mkdtemp(root) || chdir(root) || mkdir("module", 0755) || mkdir("config", 0755) ||
	    !put("modprobe", "#!/bin/sh\n: >asked\n", 0755))
		return 1;
	setenv("PATH", root, 1);
	ktap_init(argc, argv);
	ktap_run("a module is loaded, or waited for", test_loaded);
	ktap_run("who may not mount waits for who may", test_mounted_by_others);
	begin("");
	unlink("modprobe");
	if (rmdir("module") || rmdir("config") || chdir("/") || rmdir(root))
		ktap_note("something is left in %s", root);
	return ktap_done();
}
