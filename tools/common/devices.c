// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"

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

int device_dir_remove(const char *name)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	if (!rmdir(path) || (errno == EPERM && configfs.keeps_folders))
		return EXIT_OK;
	return complain("%s: %s", name, strerror(errno));
}

int device_make(const char *name, const char *attr, const char *text)
{
	bool made = false;
	int err;

	if (device_dir_make(name, &made))
		return EXIT_FAILED;
	err = attr_explain(name, attr_write(name, attr, text));
	/* Another one may have made the device meanwhile. */
	if (err && made && configfs.is_empty(name))
		device_dir_remove(name);
	return err;
}

static int delete_one(const char *name)
{
	int err = attr_write_patiently(name, "release", "1");

	return err && err != ENODEV ? attr_explain(name, err) : device_dir_remove(name);
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
	int err = run(argc, argv);

	/* Output that did not get out (a full disk, a closed pipe) is a failure, too. */
	if (fflush(stdout) || ferror(stdout))
		return err ? err : complain("cannot write: %s", strerror(errno));
	return err;
}
