// SPDX-License-Identifier: GPL-2.0-only
/* mem2mctl: memory devices from the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem2mctl.h"

static bool held_by_drivers(const char *dev)
{
	char *info = attr_read(dev, "info");
	bool held = info && info_number(info, "drivers");

	free(info);
	return held;
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

struct configfs configfs = {
	.tool = "mem2mctl",
	.module = "mem2m",
	.patience_ms = 1000,
	.name_max = 25,
	.keeps_folders = true,
	.is_empty = is_empty,
	.hopeless = held_by_drivers,
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

/*
 * What was interrupted may have been so while it waited for another command: then what is to be
 * read is that one's error.
 */
static bool explain_interrupted(int err)
{
	return err == EINTR && complain("interrupted");
}

/* Who asks by a file is not told to use a word that it can't have. */
static void drop_advice(char *why)
{
	char *advice = why ? strstr(why, "; --force ") : NULL;

	if (advice)
		*advice = 0;
}

/* The kernel's words, and who has what is in use. */
static int explain_create(const struct create *c, int err)
{
	char owner[1024] = "", *why;

	if (explain_interrupted(err))
		return EXIT_FAILED;
	why = attr_error(c->name, err);
	if (c->configured)
		drop_advice(why);
	if (err == EBUSY && c->phys)
		owner_of_range(number(c->phys), number(c->size), owner, sizeof(owner));
	if (err == EBUSY && c->dax)
		owner_of_device(c->dax, owner, sizeof(owner));
	complain("%s%s%s", why ? why : strerror(err), *owner ? " " : "", owner);
	free(why);
	return EXIT_FAILED;
}

int create_device(const struct create *c)
{
	char *text = NULL;
	bool made = false;
	int err;

	if (device_dir_make(c->name, &made))
		return EXIT_FAILED;
	if (asprintf(&text, "%s%s%s%s%s%s%s%s", c->size, c->unit ? " unit=" : "", c->unit ?: "",
		     c->phys ? " phys=" : "", c->phys ?: "", c->dax ? " dax=" : "", c->dax ?: "",
		     c->force ? " force" : "") < 0)
		text = NULL;
	err = text ? attr_write_waiting(c->name, "create", text, false, c->progress) : ENOMEM;
	free(text);
	if (!err)
		return EXIT_OK;
	explain_create(c, err);
	/* Another one may have made the device meanwhile. */
	if (made && is_empty(c->name))
		device_dir_remove(c->name);
	return EXIT_FAILED;
}

static int cmd_create(int argc, char **argv)
{
	const char *word[2];
	struct create c = { .progress = isatty(STDERR_FILENO) };

	if (parse(&c, argc, argv, word, 2) != 2)
		return usage();
	c.name = word[0];
	c.size = word[1];
	if (c.phys && c.dax)
		return complain("--phys and --dax exclude each other"), EXIT_USAGE;
	if (c.unit && (c.phys || c.dax))
		return complain("--unit is for ordinary RAM: --phys and --dax are one piece"),
		       EXIT_USAGE;
	device_lock(c.name);		/* till the end */
	return create_device(&c);
}

static int cmd_resize(int argc, char **argv)
{
	struct create c = { .progress = isatty(STDERR_FILENO) };
	const char *word[2];
	int err;

	if (parse(&c, argc, argv, word, 2) != 2 || c.phys || c.dax || c.unit || c.force)
		return usage();
	err = attr_write_waiting(word[0], "resize", word[1], true, c.progress);
	return explain_interrupted(err) ? EXIT_FAILED : attr_explain(word[0], err);
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
	{ "configured", cmd_configured, false, "FILE DEVICE",
	  "make what a file asks for on a pmem device",
	  "A line of FILE is NAME SIZE --dax DEVICE. What is there already stays as it is.\n" },
	{ "list", cmd_list, false, "[NAME] [--json]", "devices and what they are made of",
	  "  --json           as JSON\n" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

const struct tool tool = {
	.name = "mem2mctl",
	.about = "Block devices at /dev/mem2m/NAME out of RAM, reserved memory or pmem.",
	.notes = "Sizes take K, M, G, T (binary).\n"
		 "Exit status: 0 done, 1 refused or failed, 2 wrong command line.",
	.commands = commands,
};

int main(int argc, char **argv)
{
	return devices_main(argc, argv);
}
