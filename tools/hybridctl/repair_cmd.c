// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl repair: the command line. */
#include <getopt.h>

#include "claims.h"
#include "commands.h"
#include "msg.h"
#include "offline.h"
#include "repair.h"

static int repair(struct pool *p, const struct repair_how *how)
{
	int err = claims_judge(p, how->force);

	return err ? err : repair_pool(p, how);
}

int cmd_repair(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' }, { "degraded", no_argument, NULL, 'd' },
		OPT_HELP, { NULL, 0, NULL, 0 },
	};
	struct repair_how how = { .force = false };
	struct pools pools;
	unsigned int i;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (opt) {
		case 'f':
			how.force = true;
			break;
		case 'd':
			how.degraded = true;
			break;
		default:
			return opt == 'h' ? command_help() : bad_option(argv);
		}
	if (argc == optind)
		return usage_error("at least one device is needed");
	err = offline_pools(&pools, argv + optind, argc - optind);
	if (err)
		return err;
	for (i = 0; i < pools.nr; i++) {
		int ret = offline_lock(&pools, i, argv + optind, argc - optind);

		if (ret)
			return ret;
		err = repair_worse(err, repair(&pools.pool[i], &how));
	}
	pools_free(&pools);
	return err;
}
