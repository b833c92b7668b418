// SPDX-License-Identifier: GPL-2.0-only
/* nlctl: emulated SSDs from the command line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nlctl.h"

static bool is_empty(const char *name)
{
	char *info = attr_read(name, "info");
	bool empty = info && !*info;

	free(info);
	return empty;
}

struct configfs configfs = {
	.tool = "nlctl",
	.module = "nameless",
	.patience_ms = 1000,
	.name_max = 22,
	.is_empty = is_empty,
};

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
	const char *ftl = NULL, *preset = NULL, *on = NULL;
	char *words, *text;
	int err;

	if (take_option(&argc, argv, "--ftl", &ftl) || take_option(&argc, argv, "--on", &on) ||
	    take_option(&argc, argv, "--preset", &preset))
		return EXIT_USAGE;
	if (!are_words(argc, argv, 2))
		return usage();
	words = join(argv + 1, argc - 1);
	if (asprintf(&text, "%s%s%s%s%s%s%s", words, preset ? " preset=" : "", preset ?: "",
		     ftl ? " ftl=" : "", ftl ?: "", on ? " on=" : "", on ?: "") < 0)
		abort();
	err = device_make(argv[0], "create", text);
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

/* NAME FILE */
static int with_file(int argc, char **argv, int (*act)(const char *name, const char *path))
{
	if (argc != 2 || argv[0][0] == '-')
		return usage();
	return act(argv[0], argv[1]);
}

static int cmd_save(int argc, char **argv)
{
	save_over = take_flag(&argc, argv, "--force");
	return with_file(argc, argv, save);
}

static int load(const char *name, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return complain("%s: %s", path, strerror(errno));
	open_file_is(fd, path);
	err = device_make(name, "load", open_file.number);
	close(fd);
	return err;
}

static int cmd_load(int argc, char **argv)
{
	return with_file(argc, argv, load);
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
	{ "create", cmd_create, true, "NAME SIZE [--ftl FTL] [--preset PRESET] [--on RAW] [key=value]...",
	  "make a device of SIZE visible bytes",
	  "Its flash is larger: by over-provisioning, the log area and the FTL's reserve.\n"
	  "\n"
	  "  --ftl FTL        page, hybrid, nameless, zoned, split; raw: none, flash for --on\n"
	  "  --preset PRESET  whose parameters to begin with ('nlctl presets' lists them)\n"
	  "  --on RAW         its FTL, split, is on the host, and its flash the raw device RAW\n"
	  "  key=value        a parameter ('nlctl keys' lists them); times take ns, us, ms, s\n" },
	{ "stat", cmd_stat, false, "NAME [--json]", "what a device has done",
	  "  --json           as JSON\n" },
	{ "top", cmd_top, false, "NAME [--interval SECONDS] [--count N]",
	  "what a device does, line by line",
	  "  --interval SECONDS  between two lines (1)\n"
	  "  --count N           lines, after which it ends\n" },
	{ "names", cmd_names, false, "NAME [--count] [--json]", "valid blocks of the physical segment",
	  "The device must have no client.\n"
	  "\n"
	  "  --count          only how many there are\n"
	  "  --json           as JSON\n" },
	{ "migrations", cmd_migrations, false, "NAME [--count N] [--wait SECONDS] [--json]",
	  "blocks that get another address, as it happens",
	  "The device must have no client.  Nothing is acknowledged.\n"
	  "\n"
	  "  --count N        so many, after which it ends\n"
	  "  --wait SECONDS   it ends when none came for so long; 0 shows those that wait\n"
	  "  --json           each as JSON, on a line of its own\n" },
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
	{ "set", cmd_set, false, "NAME key=value...", "change latencies, gc_idle and queue of a device",
	  "Other parameters can be given to create only.\n" },
	{ "save", cmd_save, false, "NAME FILE [--force]",
	  "write a device that nobody has open into a file",
	  "A file that is there is replaced when the new one is complete.\n"
	  "\n"
	  "  --force          FILE may be a block device that nobody uses; what it has is gone\n" },
	{ "load", cmd_load, true, "NAME FILE", "make a device out of such a file", "" },
	{ "delete", cmd_delete, false, "NAME...", "delete devices that nobody has open",
	  "Their content is gone.\n" },
	{ "list", cmd_list, false, "[NAME] [--json]", "devices", "  --json           as JSON\n" },
	{ "presets", cmd_presets, true, "", "presets for create", "" },
	{ "keys", cmd_keys, true, "", "parameters for create and set", "" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

const struct tool tool = {
	.name = "nlctl",
	.about = "Emulated flash SSDs at /dev/nameless/NAME.",
	.notes = "Sizes take K, M, G, T (binary).\n"
		 "Exit status: 0 done, 1 refused or failed, 2 wrong command line.",
	.commands = commands,
};

int main(int argc, char **argv)
{
	return devices_main(argc, argv);
}
