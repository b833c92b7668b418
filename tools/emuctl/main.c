// SPDX-License-Identifier: GPL-2.0-only
/* emuctl: emulated disks from the command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emuctl.h"
#include "../common/stdio_fds.h"

#define PATIENCE_MS 3000

struct configfs configfs = { .tool = "emuctl", .module = "emudisk", .patience_ms = PATIENCE_MS };

static int print_usage(FILE *to, int status)
{
	fputs("usage: emuctl add NAME MODEL SIZE [key=value]...\n"
	      "       emuctl set NAME key=value...\n"
	      "       emuctl del NAME...|--all [--force]\n"
	      "       emuctl list [NAME] [--json]\n"
	      "       emuctl models [--json]\n"
	      "       emuctl cut NAME|--all [--keep none|all|random] [--seed N] [--tear]\n"
	      "       emuctl power NAME|--all on|off\n"
	      "       emuctl record start|stop|clear|status [--json]|list [--json]|mark TEXT\n"
	      "       emuctl record replay [--to SEQ] [--keep none|all|random] [--seed N] [--tear]\n",
	      to);
	return status;
}

int usage(void)
{
	return print_usage(stderr, 2);
}

static int make_dir(const char *name)
{
	char path[512];

	if (!*name || strchr(name, '/'))
		return complain("%s: bad name", name);
	attr_path(path, sizeof(path), name, NULL);
	if (!mkdir(path, 0755))
		return 0;
	if (errno == EEXIST)
		return complain("%s exists", name);
	if (errno == EINVAL)
		return complain("%s: bad name (up to 23 letters, digits, '-', '_' and '.')", name);
	return complain("%s: %s", name, strerror(errno));
}

static int remove_dir(const char *name)
{
	char path[512];

	attr_path(path, sizeof(path), name, NULL);
	return rmdir(path) ? complain("%s: %s", name, strerror(errno)) : 0;
}

static int cmd_add(int argc, char **argv)
{
	char *text;
	int err;

	if (argc < 3)
		return usage();
	if (make_dir(argv[0]))
		return 1;
	text = join(argv + 1, argc - 1);
	err = attr_explain(argv[0], attr_write(argv[0], "create", text));
	free(text);
	if (err)
		remove_dir(argv[0]);
	return err;
}

static int cmd_set(int argc, char **argv)
{
	char *text;
	int err;

	if (argc < 2)
		return usage();
	text = join(argv + 1, argc - 1);
	err = attr_explain(argv[0], attr_write(argv[0], "set", text));
	free(text);
	return err;
}

static int delete_one(const char *name, bool force)
{
	int err = attr_write_patiently(name, "release", force ? "force" : "1");

	if (err)
		return attr_explain(name, err);
	return remove_dir(name);
}

static int cmd_del(int argc, char **argv)
{
	bool force = take_flag(&argc, argv, "--force"), all = take_flag(&argc, argv, "--all");
	size_t count = argc, i;
	int err = 0;

	if (all == !!argc)
		return usage();
	for (i = 0; i < count; i++)
		if (argv[i][0] == '-')
			return usage();
	if (all)
		argv = device_names(&count);
	for (i = 0; i < count; i++)
		err |= delete_one(argv[i], force);
	if (all)
		free_names(argv, count);
	return err;
}

static int cmd_cut(int argc, char **argv)
{
	struct survival s = { 0 };
	const char *name;
	char *text;
	int err;

	if (parse_survival(&s, &argc, argv, false))
		return 1;
	if (argc != !s.all)
		return usage();
	text = survival_text(&s);
	name = s.all ? NULL : argv[0];
	err = attr_explain(name, attr_write(name, "cut", text));
	free(text);
	return err;
}

static int cmd_power(int argc, char **argv)
{
	bool all = take_flag(&argc, argv, "--all"), on;
	const char *name, *word;
	int err;

	if (argc != (all ? 1 : 2))
		return usage();
	word = argv[argc - 1];
	on = !strcmp(word, "on");
	if (!on && strcmp(word, "off"))
		return complain("%s: on or off", word);
	name = all ? NULL : argv[0];
	if (all)
		err = attr_write(NULL, on ? "power" : "cut", on ? "on" : "keep=none");
	else
		err = attr_write(name, "set", on ? "power=on" : "power=off");
	return attr_explain(name, err);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "add", cmd_add },	{ "set", cmd_set },	  { "del", cmd_del },
	{ "list", cmd_list },	{ "models", cmd_models }, { "cut", cmd_cut },
	{ "power", cmd_power }, { "record", cmd_record },
};

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "--version")) {
		puts("emuctl " EVENKEEL_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help"))
		return print_usage(stdout, 0);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		return setup() ? 1 : commands[i].run(argc - 2, argv + 2);
	}
	complain("no command %s", argv[1]);
	return usage();
}

int main(int argc, char **argv)
{
	const char *patience = getenv("EMUCTL_PATIENCE_MS");
	int err;

	keep_stdio();
	configfs.patience_ms = patience ? strtol(patience, NULL, 10) : PATIENCE_MS;
	err = run(argc, argv);
	/* Output that did not get out (a full disk, a closed pipe) is a failure, too. */
	if (!fflush(stdout) && !ferror(stdout))
		return err;
	clearerr(stdout);	/* the tests' shell goes on */
	return err ? err : complain("cannot write: %s", strerror(errno));
}
