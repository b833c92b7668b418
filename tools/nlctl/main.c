// SPDX-License-Identifier: GPL-2.0-only
/* nlctl: emulated SSDs from the command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nlctl.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	bool needs_module;
	const char *synopsis;
	const char *summary;
	const char *help;
};

static const struct command *current;

struct configfs configfs = {
	.tool = "nlctl",
	.module = "nameless",
	.patience_ms = 1000,
};

int usage(void)
{
	fprintf(stderr, "usage: nlctl %s %s\n", current->name, current->synopsis);
	return EXIT_USAGE;
}

static bool is_empty(const char *name)
{
	char *info = attr_read(name, "info");
	bool empty = info && !*info;

	free(info);
	return empty;
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
		return complain("%s: bad name (up to 22 letters, digits, '-', '_' and '.')", name);
	return complain("%s: %s", name, strerror(errno));
}

static int remove_dir(const char *name)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	return rmdir(path) ? complain("%s: %s", name, strerror(errno)) : EXIT_OK;
}

/* Make a device by writing @text to its file @attr: it is there afterwards, or nothing is. */
static int make_device(const char *name, const char *attr, const char *text)
{
	bool made = false;
	int err;

	if (make_dir(name, &made))
		return EXIT_FAILED;
	err = attr_explain(name, attr_write(name, attr, text));
	if (err && made && is_empty(name))
		remove_dir(name);
	return err;
}

/* NAME SIZE [key=value]..., of which nothing begins like an option */
static bool are_words(int argc, char **argv, int least)
{
	int i;

	for (i = 0; i < argc; i++)
		if (argv[i][0] == '-' || (i >= 2 && !strchr(argv[i], '=')))
			return false;
	return argc >= least;
}

static int cmd_create(int argc, char **argv)
{
	const char *ftl = NULL, *preset = NULL;
	char *words, *text;
	int err;

	if (take_option(&argc, argv, "--ftl", &ftl) ||
	    take_option(&argc, argv, "--preset", &preset))
		return EXIT_USAGE;
	if (!are_words(argc, argv, 2))
		return usage();
	words = join(argv + 1, argc - 1);
	if (asprintf(&text, "%s%s%s%s%s", words, preset ? " preset=" : "", preset ?: "",
		     ftl ? " ftl=" : "", ftl ?: "") < 0)
		abort();
	err = make_device(argv[0], "create", text);
	free(text);
	free(words);
	return err;
}

static int cmd_set(int argc, char **argv)
{
	char *text;
	int err;

	if (argc < 2 || !are_words(argc, argv, 2) || !strchr(argv[1], '='))
		return usage();
	text = join(argv + 1, argc - 1);
	err = attr_explain(argv[0], attr_write(argv[0], "set", text));
	free(text);
	return err;
}

static int cmd_cut(int argc, char **argv)
{
	bool off = take_flag(&argc, argv, "--off");
	const char *after = NULL, *tear = NULL;
	char text[128];

	if (take_option(&argc, argv, "--after", &after) ||
	    take_option(&argc, argv, "--tear", &tear))
		return EXIT_USAGE;
	if (argc != 1 || argv[0][0] == '-' || (tear && !after))
		return usage();
	snprintf(text, sizeof(text), "%s%s%s%s%s ", off && !after ? "off" : "",
		 after ? "after=" : "", after ?: "", tear ? " tear=" : "", tear ?: "");
	return attr_explain(argv[0], attr_write(argv[0], "cut", text));
}

static int cmd_power(int argc, char **argv)
{
	if (argc != 2 || argv[0][0] == '-')
		return usage();
	return attr_explain(argv[0], attr_write(argv[0], "power", argv[1]));
}

static int cmd_check(int argc, char **argv)
{
	char *findings;
	int err;

	if (argc != 1 || argv[0][0] == '-')
		return usage();
	err = attr_write(argv[0], "check", "1");
	if (!err)
		return printf("%s: clean\n", argv[0]) < 0;
	findings = err == EUCLEAN ? attr_read(argv[0], "findings") : NULL;
	if (findings)
		fputs(findings, stdout);
	free(findings);
	return attr_explain(argv[0], err);
}

/* The kernel wants an absolute path; what is to be made has a folder that is there. */
static char *absolute(const char *file)
{
	char *here, *path = NULL;

	if (*file == '/')
		return strdup(file);
	here = getcwd(NULL, 0);
	if (!here || asprintf(&path, "%s/%s", here, file) < 0)
		path = NULL;
	free(here);
	return path;
}

/* A file that is there is replaced when the new one is complete; what is no file is written to. */
static int save(const char *name, const char *path)
{
	struct stat there;
	char *temp;
	int err;

	if (!lstat(path, &there) && !S_ISREG(there.st_mode))
		return attr_explain(name, attr_write_patiently(name, "save", path));
	if (asprintf(&temp, "%s.tmp", path) < 0)
		abort();
	err = attr_explain(name, attr_write_patiently(name, "save", temp));
	if (!err && rename(temp, path))
		err = complain("%s: %s", path, strerror(errno));
	if (err)
		unlink(temp);
	free(temp);
	return err;
}

static int cmd_save(int argc, char **argv)
{
	char *path;
	int err;

	if (argc != 2 || argv[0][0] == '-')
		return usage();
	path = absolute(argv[1]);
	if (!path)
		return complain("%s: %s", argv[1], strerror(errno));
	err = save(argv[0], path);
	free(path);
	return err;
}

static int cmd_load(int argc, char **argv)
{
	char *path;
	int err;

	if (argc != 2 || argv[0][0] == '-')
		return usage();
	path = absolute(argv[1]);
	if (!path)
		return complain("%s: %s", argv[1], strerror(errno));
	err = make_device(argv[0], "load", path);
	free(path);
	return err;
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

static int print_lines(const char *attr)
{
	char *text = attr_read(NULL, attr), *line, *value, *save;

	if (!text)
		return complain("cannot read the module's %s", attr);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (value)
			*value++ = 0;
		printf("%-14s %s\n", line, value ?: "");
	}
	free(text);
	return EXIT_OK;
}

static int cmd_presets(int argc, char **argv)
{
	(void)argv;
	return argc ? usage() : print_lines("presets");
}

static int cmd_keys(int argc, char **argv)
{
	(void)argv;
	return argc ? usage() : print_lines("keys");
}

static const struct command commands[] = {
	{ "create", cmd_create, true, "NAME SIZE [--ftl FTL] [--preset PRESET] [key=value]...",
	  "make a device of SIZE visible bytes",
	  "Its flash is larger: by over-provisioning, the log area and the FTL's reserve.\n"
	  "\n"
	  "  --ftl FTL        page, hybrid\n"
	  "  --preset PRESET  whose parameters to begin with ('nlctl presets' lists them)\n"
	  "  key=value        a parameter ('nlctl keys' lists them); times take ns, us, ms, s\n" },
	{ "stat", cmd_stat, false, "NAME [--json]", "what a device has done",
	  "  --json           as JSON\n" },
	{ "top", cmd_top, false, "NAME [--interval SECONDS] [--count N]",
	  "what a device does, line by line",
	  "  --interval SECONDS  between two lines (1)\n"
	  "  --count N           lines, after which it ends\n" },
	{ "check", cmd_check, false, "NAME",
	  "hold map, OOB, validity and free lists against each other",
	  "The device may be in use.  Findings are printed; then the exit status is 1.\n" },
	{ "cut", cmd_cut, false, "NAME [--off] [--after N [--tear HOW]]", "cut the power",
	  "What is not in the flash is lost.  Without options the power is back at once.\n"
	  "\n"
	  "  --off            it stays off, until 'nlctl power NAME on'\n"
	  "  --after N        it goes, and stays off, when N more programs and erases are done\n"
	  "  --tear HOW       how the next one is left: not (done), error, blank\n" },
	{ "power", cmd_power, false, "NAME on|off", "switch the power", "" },
	{ "set", cmd_set, false, "NAME key=value...", "change latencies of a device",
	  "Other parameters can be given to create only.\n" },
	{ "save", cmd_save, false, "NAME FILE", "write a device that nobody has open into a file",
	  "" },
	{ "load", cmd_load, true, "NAME FILE", "make a device out of such a file", "" },
	{ "delete", cmd_delete, false, "NAME...", "delete devices that nobody has open",
	  "Their content is gone.\n" },
	{ "list", cmd_list, false, "[NAME] [--json]", "devices", "  --json           as JSON\n" },
	{ "presets", cmd_presets, true, "", "presets for create", "" },
	{ "keys", cmd_keys, true, "", "parameters for create and set", "" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

static int help(void)
{
	const struct command *c;

	puts("Usage: nlctl COMMAND [ARGUMENT]...\n"
	     "Emulated flash SSDs at /dev/nameless/NAME.\n");
	for (c = commands; c->name; c++)
		printf("  %-9s %s\n", c->name, c->summary);
	puts("\n'nlctl COMMAND --help' tells more.  Sizes take K, M, G, T (binary).\n"
	     "Exit status: 0 done, 1 refused or failed, 2 wrong command line.");
	return EXIT_OK;
}

static int command_help(const struct command *c)
{
	printf("Usage: nlctl %s %s\n%c%s.\n%s%s", c->name, c->synopsis, c->summary[0] - 'a' + 'A',
	       c->summary + 1, *c->help ? "\n" : "", c->help);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		return help(), EXIT_USAGE;
	if (!strcmp(argv[1], "--version"))
		return puts("nlctl " EVENKEEL_VERSION), EXIT_OK;
	if (!strcmp(argv[1], "--help"))
		return help();
	for (current = commands; current->name; current++)
		if (!strcmp(argv[1], current->name))
			break;
	if (!current->name) {
		complain("no command %s ('nlctl --help' tells)", argv[1]);
		return EXIT_USAGE;
	}
	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--help"))
			return command_help(current);
	if (current->needs_module && setup())
		return EXIT_FAILED;
	return current->run(argc - 2, argv + 2);
}
