// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl metadata: the command line. */
#include <getopt.h>
#include <string.h>

#include "commands.h"
#include "mirror.h"
#include "msg.h"

/* All that may be left to do is to wipe what the area has left, which only its path says. */
static int finish(const struct live *l, unsigned int k, const char *path)
{
	if (mirror_is_there(l, k, path))
		note("%s: metadata area %u is there", path, k);
	else
		note("%s: metadata area %u is there, the place of area %u is vacant", path, !k, k);
	return mirror_tell_left(l, k);
}

static int change(const char *name, char **word, const struct fresh *how)
{
	struct live l;
	int k, err = live_open(&l, name);

	if (!err && !word[1]) {
		err = mirror_resync(&l);
	} else if (!err && mirror_has_left(&l, word[1], word[2])) {
		note("%s: is in place, %s has left", word[2], word[1]);
		err = mirror_forget(&l, word[1]);
	} else if (!err) {
		k = mirror_find(&l, word[1]);
		if (k < 0)
			err = EXIT_FAILED;
		else if (mirror_is_done(&l, k, word[2]) || mirror_is_there(&l, k, word[2]))
			err = finish(&l, k, word[2]);
		else if (mirror_goes_on(&l, k, word[2]))
			err = mirror_go_on(&l, k);
		else
			err = mirror_move(&l, k, word[2], how, -1);
	}
	if (!err && !mirror_is_wiped())
		err = fail("%s: the metadata has moved, but what it left is not wiped", l.name);
	live_close(&l);
	return err;
}

int cmd_metadata(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' }, { "volatile-ok", no_argument, NULL, 'v' },
		OPT_HELP, { NULL, 0, NULL, 0 },
	};
	struct fresh how = { .force = false };
	int opt, words;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt == '?')
			return bad_option(argv);
		how.force |= opt == 'f';
		how.volatile_ok |= opt == 'v';
	}
	words = argc - optind;
	argv += optind;
	if (!(words == 2 && !strcmp(argv[1], "resync")) &&
	    !(words == 4 && !strcmp(argv[1], "move")))
		return usage_error("NAME resync, or NAME move AREA DEV, is needed");
	return change(argv[0], argv + 1, &how);
}
