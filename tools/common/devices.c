// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "devices.h"
#include "stdio_fds.h"

#ifndef RUN_DIR
#define RUN_DIR	"/run"
#endif
#define PAUSE_MS	10

static int lock_fd = -1;

/* Not below /run/lock, nor the folder of configfs: what others may open they could hold. */
static void open_lock(void)
{
	char path[128];

	snprintf(path, sizeof(path), RUN_DIR "/%s.lock", configfs.tool);
	lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The byte of the file that stands for a name; that another one has it, too, only takes time. */
static off_t lock_byte(const char *name)
{
	uint32_t hash = 2166136261u;

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

static void lock_do(const char *name, int command, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = lock_byte(name), .l_len = 1,
	};

	if (lock_fd < 0)
		open_lock();
	while (lock_fd >= 0 && fcntl(lock_fd, command, &lock) && errno == EINTR)
		;
}

void device_lock(const char *name)
{
	lock_do(name, F_OFD_SETLKW, F_WRLCK);
}

void device_unlock(const char *name)
{
	lock_do(name, F_OFD_SETLK, F_UNLCK);
}

int device_dir_make(const char *name, bool *made)
{
	char path[512];

	if (!*name || strchr(name, '/') || strlen(name) > 200)
		return complain("%s: bad name", *name ? name : "''");
	attr_path(path, sizeof(path), name, NULL);
	*made = !mkdir(path, 0755);
	if (*made)
		return EXIT_OK;
	if (errno == EEXIST)
		return configfs.is_empty && configfs.is_empty(name) ?
		       EXIT_OK : complain("%s exists", name);
	if (errno == EINVAL)
		return complain("%s: bad name (up to %u letters, digits, '-', '_' and '.')", name,
				configfs.name_max);
	return complain("%s: %s", name, strerror(errno));
}

/* @stays: it can't be removed, which is no failure. */
static int dir_remove(const char *name, bool *stays)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	*stays = false;
	if (!rmdir(path))
		return EXIT_OK;
	*stays = errno == EPERM && configfs.keeps_folders;
	return *stays ? EXIT_OK : complain("%s: %s", name, strerror(errno));
}

int device_dir_remove(const char *name)
{
	bool stays;

	return dir_remove(name, &stays);
}

int device_make(const char *name, const char *attr, const char *text)
{
	bool made = false;
	int err;

	device_lock(name);
	err = device_dir_make(name, &made);
	if (!err) {
		err = attr_explain(name, attr_write(name, attr, text));
		/* Another one may have made the device meanwhile, by hand. */
		if (err && made && configfs.is_empty(name))
			device_dir_remove(name);
	}
	device_unlock(name);
	return err;
}

/* The device and its folder at one go, or what is made in the folder between them goes with it. */
static int delete_at_once(const char *name, bool *busy)
{
	bool empty, stays = false;
	int err;

	device_lock(name);
	err = attr_write(name, "release", "1");
	*busy = err == EBUSY;
	empty = err == ENODEV;
	if (!err || empty)
		err = dir_remove(name, &stays);
	else if (!*busy)
		err = attr_explain(name, err);
	if (empty && stays)
		err = complain("no device %s", name);
	device_unlock(name);
	return err;
}

/* Who makes it anew meanwhile need not wait for who has it open. */
static int delete_one(const char *name)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	long left = configfs.patience_ms;
	bool busy;
	int err;

	while ((err = delete_at_once(name, &busy)) && busy) {
		if (left <= 0 || (configfs.hopeless && configfs.hopeless(name)))
			return attr_explain(name, err);
		nanosleep(&pause, NULL);
		left -= PAUSE_MS;
	}
	return err;
}

int cmd_delete(int argc, char **argv)
{
	int i, err = EXIT_OK;

	if (!argc)
		return usage();
	for (i = 0; i < argc; i++)
		if (argv[i][0] == '-')
			return usage();
	for (i = 0; i < argc; i++)
		err |= delete_one(argv[i]);
	return err;
}

static int run(int argc, char **argv)
{
	int i;

	if (argc < 2)
		return tool_help(), EXIT_USAGE;
	if (!strcmp(argv[1], "--version"))
		return printf("%s %s\n", tool.name, EVENKEEL_VERSION), EXIT_OK;
	if (!strcmp(argv[1], "--help"))
		return tool_help();
	command_current = command_find(argv[1]);
	if (!command_current) {
		complain("no command %s ('%s --help' tells)", argv[1], tool.name);
		return EXIT_USAGE;
	}
	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--help"))
			return command_help();
	if (command_current->needs_module && setup())
		return EXIT_FAILED;
	return command_current->run(argc - 2, argv + 2);
}

int devices_main(int argc, char **argv)
{
	int err;

	keep_stdio();
	signal(SIGCHLD, SIG_DFL);	/* who started it may ignore its children */
	err = run(argc, argv);

	/* Output that did not get out (a full disk, a closed pipe) is a failure, too. */
	if (fflush(stdout) || ferror(stdout))
		return err ? err : complain("cannot write: %s", strerror(errno));
	return err;
}
