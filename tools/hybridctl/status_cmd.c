// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl status. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "lost.h"
#include "msg.h"
#include "volume.h"

#define BAR_WIDTH	20

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	bool json = false;
	struct volume v;
	int opt, err = EXIT_OK;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'j')
			return bad_option(argv);
		json = true;
	}
	if (argc - optind != 1)
		return usage_error("one name is needed");
	if (volume_look(&v, argv[optind], LOOK_LOST | (json ? LOOK_UUIDS : 0)))
		return EXIT_FAILED;
	if (json) {
		err = volume_print_json(stdout, &v);
	} else {
		volume_print(stdout, &v, BAR_WIDTH);
		lost_print_mounted(stdout, &v);
	}
	volume_free(&v);
	return err;
}
