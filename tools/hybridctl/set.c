// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl set and policy: changes while the volume runs, by messages. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "dm.h"
#include "live.h"
#include "msg.h"
#include "table.h"

#define MAX_SETTINGS	64

static int parse_plain(int argc, char **argv)
{
	static const struct option options[] = { OPT_HELP, { NULL, 0, NULL, 0 } };
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt != 'h')
			return bad_option(argv);
		exit(command_help());
	}
	return EXIT_OK;
}

static int send(const char *name, const char *message, const char *what)
{
	char *why = NULL;
	int err = dm_message(name, message, NULL, &why);

	if (err)
		err = fail("%s: %s: %s", name, what, why);
	free(why);
	return err;
}

/* The words of table_policy() behind its count are what messages take, too. */
static char *key_values(char * const *settings, unsigned int nr, const char **bad)
{
	char *text = table_policy("x", settings, nr, bad), *values;

	if (!text)
		return NULL;
	values = strchr(text + 2, ' ');
	values = xstrdup(values ? values : "");
	free(text);
	return values;
}

int cmd_set(int argc, char **argv)
{
	char *kv, *message;
	const char *bad, *name;
	int i, err = parse_plain(argc, argv);

	if (err)
		return err;
	if (argc - optind < 2)
		return usage_error("a name and at least one KEY=VALUE are needed");
	kv = key_values(argv + optind + 1, argc - optind - 1, &bad);
	if (!kv)
		return usage_error("%s: must be KEY=VALUE", bad);
	free(kv);
	name = argv[optind];
	/* A table that another command is about to load would take it back. */
	if (need_volume(name) || live_lock(name))
		return EXIT_FAILED;
	for (i = optind + 1; i < argc && !err; i++) {
		kv = key_values(&argv[i], 1, &bad);
		message = xasprintf("set%s", kv);
		err = send(name, message, argv[i]);
		free(message);
		free(kv);
	}
	if (!err)
		live_warn_kept(name);
	return err;
}

int cmd_policy(int argc, char **argv)
{
	const char *bad, *name, *policy;
	char *kv, *message;
	int err = parse_plain(argc, argv);

	if (err)
		return err;
	if (argc - optind < 2)
		return usage_error("a name and a policy are needed");
	if (argc - optind - 2 > MAX_SETTINGS)
		return usage_error("more than %d settings", MAX_SETTINGS);
	name = argv[optind];
	policy = argv[optind + 1];
	kv = key_values(argv + optind + 2, argc - optind - 2, &bad);
	if (!kv)
		return usage_error("%s: must be KEY=VALUE", bad);
	err = need_volume(name);
	if (!err)
		err = live_lock(name);
	if (!err) {
		message = xasprintf("policy %s%s", policy, kv);
		err = send(name, message, policy);
		free(message);
		if (!err)
			live_warn_kept(name);
	}
	free(kv);
	return err;
}
