// SPDX-License-Identifier: GPL-2.0-only
/* mem2mctl: memory devices from the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem2mctl.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	bool needs_module;
	const char *synopsis;
	const char *summary;
	const char *help;
};

static const struct command *current;

static bool held_by_drivers(const char *dev)
{
	char *info = attr_read(dev, "info");
	bool held = info && info_number(info, "drivers");

	free(info);
	return held;
}

struct configfs configfs = {
	.tool = "mem2mctl",
	.module = "mem2m",
	.patience_ms = 1000,
	.hopeless = held_by_drivers,
};

static int usage(void)
{
	fprintf(stderr, "usage: mem2mctl %s %s\n", current->name, current->synopsis);
	return EXIT_USAGE;
}

/* Those that the module's parameter asked for have a directory as long as there is the module. */
static bool is_empty(const char *name)
{
	char *info = attr_read(name, "info"), state[16] = "";

	if (info)
		info_get(info, "state", state, sizeof(state));
	free(info);
	return !strcmp(state, "empty");
}

/* *@made: it was not there */
static int make_dir(const char *name, bool *made)
{
	char path[512];

	if (!*name || strchr(name, '/') || strlen(name) > 200)
		return complain("%s: bad name", *name ? name : "''");
	attr_path(path, sizeof(path), name, NULL);
	*made = !mkdir(path, 0755);
	if (*made)
		return EXIT_OK;
	if (errno == EEXIST)
		return is_empty(name) ? EXIT_OK : complain("%s exists", name);
	if (errno == EINVAL)
		return complain("%s: bad name (up to 25 letters, digits, '-', '_' and '.')", name);
	return complain("%s: %s", name, strerror(errno));
}

static int remove_dir(const char *name)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	return rmdir(path) && errno != EPERM ? complain("%s: %s", name, strerror(errno)) : EXIT_OK;
}

struct create {
	const char *name, *size, *phys, *dax, *unit;
	bool force, progress;
};

static bool option(int argc, char **argv, int *i, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) || (argv[*i][len] && argv[*i][len] != '='))
		return false;
	if (argv[*i][len])
		*value = argv[*i] + len + 1;
	else if (*i + 1 < argc)
		*value = argv[++*i];
	else
		*value = NULL;
	return true;
}

/* What is not an option goes into @word, at most @most of them; how many there were, or -1. */
static int parse(struct create *c, int argc, char **argv, const char **word, int most)
{
	int i, n = 0;

	for (i = 0; i < argc; i++) {
		const char *value = "";

		if (!strcmp(argv[i], "--force"))
			c->force = true;
		else if (!strcmp(argv[i], "--progress"))
			c->progress = true;
		else if (option(argc, argv, &i, "--phys", &value))
			c->phys = value;
		else if (option(argc, argv, &i, "--dax", &value))
			c->dax = value;
		else if (option(argc, argv, &i, "--unit", &value))
			c->unit = value;
		else if (argv[i][0] != '-' && n < most)
			word[n++] = argv[i];
		else
			return -1;
		if (!value)
			return -1;
	}
	return n;
}

static uint64_t number(const char *text)
{
	static const char suffixes[] = "KMGTP";
	char *end;
	uint64_t n = strtoull(text, &end, 0);
	const char *s = *end ? strchr(suffixes, *end & ~0x20) : NULL;

	return s ? n << 10 * (s - suffixes + 1) : n;
}

/* The kernel's words, and who has what is in use. */
static int explain_create(const struct create *c, int err)
{
	char owner[1024] = "", *why = attr_error(c->name, err);

	if (err == EBUSY && c->phys)
		owner_of_range(number(c->phys), number(c->size), owner, sizeof(owner));
	if (err == EBUSY && c->dax)
		owner_of_device(c->dax, owner, sizeof(owner));
	complain("%s%s%s", why ? why : strerror(err), *owner ? " " : "", owner);
	free(why);
	return EXIT_FAILED;
}

static int cmd_create(int argc, char **argv)
{
	const char *word[2];
	struct create c = { .progress = isatty(STDERR_FILENO) };
	char *text = NULL;
	bool made = false;
	int err;

	if (parse(&c, argc, argv, word, 2) != 2)
		return usage();
	c.name = word[0];
	c.size = word[1];
	if (c.phys && c.dax)
		return complain("--phys and --dax exclude each other"), EXIT_USAGE;
	if (make_dir(c.name, &made))
		return EXIT_FAILED;
	if (asprintf(&text, "%s%s%s%s%s%s%s%s", c.size, c.unit ? " unit=" : "", c.unit ?: "",
		     c.phys ? " phys=" : "", c.phys ?: "", c.dax ? " dax=" : "", c.dax ?: "",
		     c.force ? " force" : "") < 0)
		text = NULL;
	err = text ? attr_write_waiting(c.name, "create", text, false, c.progress) : ENOMEM;
	free(text);
	if (!err)
		return EXIT_OK;
	explain_create(&c, err);
	/* Another one may have made the device meanwhile. */
	if (made && is_empty(c.name))
		remove_dir(c.name);
	return EXIT_FAILED;
}

static int cmd_resize(int argc, char **argv)
{
	struct create c = { .progress = isatty(STDERR_FILENO) };
	const char *word[2];
	int err;

	if (parse(&c, argc, argv, word, 2) != 2 || c.phys || c.dax || c.unit || c.force)
		return usage();
	err = attr_write_waiting(word[0], "resize", word[1], true, c.progress);
	return attr_explain(word[0], err);
}

static int delete_one(const char *name)
{
	int err = attr_write_patiently(name, "release", "1");

	return err && err != ENODEV ? attr_explain(name, err) : remove_dir(name);
}

static int cmd_delete(int argc, char **argv)
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

static const struct command commands[] = {
	{ "create", cmd_create, true, "NAME SIZE [OPTION]...", "make a device out of memory",
	  "Without --phys or --dax of ordinary RAM, whose content is gone with the device.\n"
	  "\n"
	  "  --phys ADDRESS   of reserved memory from there on (memmap=SIZE$ADDRESS); SIZE is that\n"
	  "                   of the range, of which labels and struct pages take a part\n"
	  "  --dax DEVICE     of the first SIZE bytes of a pmem device\n"
	  "  --unit SIZE      get RAM in pieces of this size, a multiple of 2M (1G)\n"
	  "  --force          overwrite what is in the memory already\n"
	  "  --progress       say how far it is, also when nobody looks\n" },
	{ "resize", cmd_resize, true, "NAME SIZE", "change the size of a device that nobody uses",
	  "  --progress       say how far it is, also when nobody looks\n" },
	{ "delete", cmd_delete, true, "NAME...", "delete devices that nobody uses",
	  "What is in reserved memory and pmem stays there, and is found again by create.\n" },
	{ "list", cmd_list, false, "[NAME] [--json]", "devices and what they are made of",
	  "  --json           as JSON\n" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

static int help(void)
{
	const struct command *c;

	puts("Usage: mem2mctl COMMAND [ARGUMENT]...\n"
	     "Block devices at /dev/mem2m/NAME out of RAM, reserved memory or pmem.\n");
	for (c = commands; c->name; c++)
		printf("  %-9s %s\n", c->name, c->summary);
	puts("\n'mem2mctl COMMAND --help' tells more.  Sizes take K, M, G, T (binary).\n"
	     "Exit status: 0 done, 1 refused or failed, 2 wrong command line.");
	return EXIT_OK;
}

static int command_help(const struct command *c)
{
	printf("Usage: mem2mctl %s %s\n%c%s.\n\n%s", c->name, c->synopsis,
	       c->summary[0] - 'a' + 'A', c->summary + 1, c->help);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		return help(), EXIT_USAGE;
	if (!strcmp(argv[1], "--version"))
		return puts("mem2mctl " EVENKEEL_VERSION), EXIT_OK;
	if (!strcmp(argv[1], "--help"))
		return help();
	for (current = commands; current->name; current++)
		if (!strcmp(argv[1], current->name))
			break;
	if (!current->name) {
		complain("no command %s ('mem2mctl --help' tells)", argv[1]);
		return EXIT_USAGE;
	}
	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--help"))
			return command_help(current);
	if (current->needs_module && setup())
		return EXIT_FAILED;
	return current->run(argc - 2, argv + 2);
}
