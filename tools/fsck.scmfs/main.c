// SPDX-License-Identifier: GPL-2.0-only
/* fsck.scmfs: check a file system, and repair it. */
#include <getopt.h>
#include <stdio.h>

#include "check.h"
#include "image.h"

static const char usage[] =
	"usage: fsck.scmfs [OPTION]... DEVICE|FILE\n"
	"\n"
	"Check an scmfs file system that is not mounted, and repair what is wrong.\n"
	"\n"
	"  -n, --no             repair nothing, only tell\n"
	"  -y, --yes            repair everything; the default\n"
	"  -a, --auto           the same\n"
	"  -p, --preen          the same\n"
	"  -f, --force          nothing: it always checks\n"
	"  -q, --quiet          say only what was wrong\n"
	"  -h, --help           show this\n"
	"  -V, --version        show the version\n";

static const struct option options[] = {
	{ "no", no_argument, NULL, 'n' },
	{ "yes", no_argument, NULL, 'y' },
	{ "auto", no_argument, NULL, 'a' },
	{ "preen", no_argument, NULL, 'p' },
	{ "force", no_argument, NULL, 'f' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* As fsck(8) has them. */
enum { FSCK_OK = 0, FSCK_REPAIRED = 1, FSCK_WRONG = 4, FSCK_ERROR = 8, FSCK_USAGE = 16 };

static void say(const char *text)
{
	puts(text);
}

static int check(const char *path, bool only, bool quiet)
{
	struct scmfs_check result = { .say = say };
	const char *reason;
	struct image im;
	int r;

	/* Checking is repairing a copy that is forgotten. */
	if (!image_open(&im, path, only ? IMAGE_COPY : IMAGE_WRITE))
		return FSCK_ERROR;
	r = scmfs_check(im.base, im.size, &result, &reason);
	if (r)
		fprintf(stderr, "%s: %s\n", path, reason);
	if (!image_close(&im) || r)
		return r == -EUCLEAN ? FSCK_WRONG : FSCK_ERROR;
	if (!quiet)
		printf("%s: %s%llu inodes, %llu blocks, %llu faults%s\n", path,
		       result.recovered ? "recovered, " : "", result.inodes, result.blocks,
		       result.found, !result.found ? "" : only ? " left" : " repaired");
	if (!result.found)
		return FSCK_OK;
	return only ? FSCK_WRONG : FSCK_REPAIRED;
}

int main(int argc, char **argv)
{
	bool only = false, quiet = false;
	int c;

	while ((c = getopt_long(argc, argv, "nyapfqhV", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			only = true;
			break;
		case 'y': case 'a': case 'p': case 'f':
			break;
		case 'q':
			quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return FSCK_OK;
		case 'V':
			puts("fsck.scmfs " EVENKEEL_VERSION);
			return FSCK_OK;
		default:
			fputs(usage, stderr);
			return FSCK_USAGE;
		}
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return FSCK_USAGE;
	}
	c = check(argv[optind], only, quiet);
	return output_is_out("fsck.scmfs") ? c : c | FSCK_ERROR;
}
