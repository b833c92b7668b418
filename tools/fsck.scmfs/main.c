// SPDX-License-Identifier: GPL-2.0-only
/* fsck.scmfs: check a file system, and repair it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "image.h"
#include "../common/stdio_fds.h"
#include "../common/text.h"

static const char usage[] =
	"usage: fsck.scmfs [OPTION]... DEVICE|FILE|phys=START,size=SIZE\n"
	"\n"
	"Check an scmfs file system that is not mounted, and repair what is wrong.\n"
	"\n"
	"  -n, --no             repair nothing, only tell\n"
	"  -y, --yes            repair everything; the default\n"
	"  -a, --auto           repair what can be without losing anything\n"
	"  -p, --preen          the same\n"
	"  -f, --force          nothing: it always checks\n"
	"  -b, --from-copy      take the copy of the super block at the end, whatever\n"
	"                       is in its place: that goes\n"
	"  -q, --quiet          say only what was wrong\n"
	"  -h, --help           show this\n"
	"  -V, --version        show the version\n";

static const struct option options[] = {
	{ "no", no_argument, NULL, 'n' },
	{ "yes", no_argument, NULL, 'y' },
	{ "auto", no_argument, NULL, 'a' },
	{ "preen", no_argument, NULL, 'p' },
	{ "force", no_argument, NULL, 'f' },
	{ "from-copy", no_argument, NULL, 'b' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* As fsck(8) has them. */
enum { FSCK_OK = 0, FSCK_REPAIRED = 1, FSCK_WRONG = 4, FSCK_ERROR = 8, FSCK_USAGE = 16 };

static struct image im = { .status = FSCK_ERROR };
static int if_found;		/* also the status if there was a fault, and it is ended */

/* Of each fault. */
static void say(const char *text)
{
	im.status |= if_found;
	text_put(stdout, text, strlen(text));
	putchar('\n');
}

static void tell(const char *path, const struct scmfs_check *c, bool only)
{
	u64 left = only ? c->found : c->left;

	printf("%s: %s%llu inodes, %llu blocks, %llu faults", path,
	       c->recovered ? "recovered, " : "", c->inodes, c->blocks, c->found);
	if (c->found > left)
		printf(left ? ", %llu repaired" : " repaired", c->found - left);
	if (left)
		printf(left < c->found ? ", %llu left" : " left", left);
	putchar('\n');
}

static int status_of(const struct scmfs_check *c, bool only)
{
	u64 left = only ? c->found : c->left;

	return (c->found > left ? FSCK_REPAIRED : FSCK_OK) | (left ? FSCK_WRONG : FSCK_OK);
}

static int check(const char *path, bool only, bool quiet, bool from_copy, bool keep)
{
	struct scmfs_check result = { .say = say, .from_copy = from_copy, .keep = keep };
	const char *reason;
	int r;

	if_found = only ? FSCK_WRONG : FSCK_REPAIRED;
	/* Checking is repairing a copy that is forgotten. */
	if (!image_open(&im, path, only ? IMAGE_COPY : IMAGE_WRITE))
		return FSCK_ERROR;
	r = scmfs_check(im.base, im.size, &result, &reason);
	if (r)
		fprintf(stderr, "%s: %s\n", path, reason);
	/* What was repaired before that is. */
	if (!image_close(&im) || r)
		return (r == -EUCLEAN ? FSCK_WRONG : FSCK_ERROR) |
		       (only ? FSCK_OK : status_of(&result, only));
	if (!only && keep && result.left)
		printf("%s: something is lost by repairing what is left; -y does that\n", path);
	if (!quiet)
		tell(path, &result, only);
	return status_of(&result, only);
}

int main(int argc, char **argv)
{
	bool only = false, quiet = false, from_copy = false, keep = false;
	int c;

	keep_stdio();
	while ((c = getopt_long(argc, argv, "nyapfbqhV", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			only = true;
			break;
		case 'a': case 'p':
			keep = true;
			break;
		case 'y':
			keep = false;
			break;
		case 'f':
			break;
		case 'b':
			from_copy = true;
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
	c = check(argv[optind], only, quiet, from_copy, keep && !only);
	return output_is_out("fsck.scmfs") ? c : c | FSCK_ERROR;
}
