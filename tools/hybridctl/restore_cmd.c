// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl restore and size: the command lines. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "claims.h"
#include "commands.h"
#include "layout.h"
#include "msg.h"
#include "offline.h"
#include "relabel.h"
#include "restore.h"
#include "units.h"

static bool is_device(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISBLK(st.st_mode);
}

/* Where only devices are named, as for check, dump and repair, the dump is what comes in. */
static FILE *open_dump(const char *path)
{
	return strcmp(path, "-") && !is_device(path) ? fopen(path, "re") : stdin;
}

static int restore(FILE *dump, char **paths, int nr, const struct restore_how *how)
{
	struct pools pools;
	int err = offline_pools(&pools, paths, nr);

	if (err)
		return err;
	if (pools.nr != 1)
		err = fail("the devices are of %u pools", pools.nr);
	else
		err = offline_lock(&pools, 0, paths, nr);
	if (!err)
		err = claims_judge(&pools.pool[0], how->force);
	if (!err)
		err = restore_pool(&pools.pool[0], dump, how);
	pools_free(&pools);
	return err;
}

int cmd_restore(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' }, { "degraded", no_argument, NULL, 'd' },
		{ "labels", no_argument, NULL, 'l' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	struct restore_how how = { .force = false };
	bool labels = false;
	FILE *dump;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (opt) {
		case 'f':
			how.force = true;
			break;
		case 'd':
			how.degraded = true;
			break;
		case 'l':
			labels = true;
			break;
		default:
			return opt == 'h' ? command_help() : bad_option(argv);
		}
	argc -= optind;
	argv += optind;
	if (labels && how.degraded)
		return usage_error("--labels writes no metadata: --degraded has no meaning");
	if (argc < 1 || (argc < 2 && !is_device(*argv)))
		return usage_error("a dump and the pool's devices are needed");
	dump = open_dump(*argv);
	if (!dump)
		return fail("%s: %s", *argv, strerror(errno));
	if (dump == stdin && isatty(STDIN_FILENO))
		note("the dump is read from the terminal");
	if (!is_device(*argv)) {
		argc--;
		argv++;
	}
	err = labels ? relabel(dump, argv, argc, how.force) : restore(dump, argv, argc, &how);
	fclose(dump);
	return err;
}

int cmd_size(int argc, char **argv)
{
	static const struct option options[] = {
		{ "extent", required_argument, NULL, 'e' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	uint64_t bytes, extent = LAYOUT_DEFAULT_EXTENT * SECTOR_SIZE;
	struct layout l = { .nr_members = 0 };
	char *why, meta[UNIT_TEXT];
	int opt, i;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'e')
			return bad_option(argv);
		if (!parse_size(optarg, &extent) || extent & (extent - 1) ||
		    extent < EK_MIN_EXTENT_SECTORS * SECTOR_SIZE ||
		    extent > EK_MAX_EXTENT_SECTORS * SECTOR_SIZE)
			return usage_error("--extent %s: must be a power of two from 64K to 4M",
					   optarg);
	}
	if (argc == optind || argc - optind > EK_MAX_MEMBERS)
		return usage_error("the members' sizes are needed, 1 to %d", EK_MAX_MEMBERS);
	l.extent_sectors = extent / SECTOR_SIZE;
	for (i = optind; i < argc; i++) {
		if (!parse_size(argv[i], &bytes))
			return usage_error("%s: not a size", argv[i]);
		l.path[l.nr_members] = argv[i];
		l.dev_sectors[l.nr_members++] = bytes / SECTOR_SIZE;
	}
	why = layout_make(&l);
	if (why)
		return fail("%s", why);
	printf("%llu bytes (%s) for each of %u metadata areas, room for the volume to grow included\n",
	       (unsigned long long)(l.meta_sectors[0] * SECTOR_SIZE),
	       human_bytes(meta, l.meta_sectors[0] * SECTOR_SIZE), l.nr_meta);
	return EXIT_OK;
}
