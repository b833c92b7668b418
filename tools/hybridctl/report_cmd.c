// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl record and report: what a volume did, and a page about it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "msg.h"
#include "record.h"
#include "report.h"

#define LEAST_SECONDS	.05

struct asked {
	const char *what, *output;
	double interval, seconds;
};

static int parse_seconds(const char *option, const char *text, double least, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end == text || *end || !(*seconds >= least && *seconds <= 1e7))
		return usage_error("%s %s: must be %g to 10000000", option, text, least);
	return EXIT_OK;
}

static int parse(int argc, char **argv, struct asked *a)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "for", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	const char *given = NULL;
	int opt, err = EXIT_OK;

	while (!err && (opt = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			err = parse_seconds("--interval", optarg, LEAST_SECONDS, &a->interval);
			break;
		case 'f':
			err = parse_seconds("--for", optarg, LEAST_SECONDS, &a->seconds);
			given = optarg;
			break;
		case 'o':
			a->output = optarg;
			break;
		case 'h':
			exit(command_help());
		default:
			return bad_option(argv);
		}
	}
	if (err)
		return err;
	if (given && a->seconds < a->interval)
		return usage_error("--for %s: must be at least the interval, %g", given,
				   a->interval);
	/* Of a report, and if it is not to be for ever. */
	if (!given && a->seconds && a->seconds < a->interval)
		a->seconds = a->interval;
	if (argc - optind != 1)
		return usage_error("one name is needed");
	a->what = argv[optind];
	return EXIT_OK;
}

static FILE *open_output(const struct asked *a)
{
	FILE *out = a->output ? fopen(a->output, "we") : stdout;

	if (!out)
		fail("%s: %s", a->output, strerror(errno));
	return out;
}

/* What did not get out is a failure; that of stdout is main()'s to tell. */
static int close_output(const struct asked *a, FILE *out, int err)
{
	bool bad = ferror(out);

	if (out == stdout)
		return err;
	if (fclose(out) || bad)
		return fail("%s: can't be written: %s", a->output, strerror(errno));
	return err;
}

int cmd_record(int argc, char **argv)
{
	struct asked a = { .interval = 2 };
	int err = parse(argc, argv, &a);
	FILE *out;

	if (err)
		return err;
	if (need_volume(a.what))
		return EXIT_FAILED;
	out = open_output(&a);
	if (!out)
		return EXIT_FAILED;
	err = record_volume(out, a.what, a.interval, a.seconds);
	return close_output(&a, out, err);
}

/* A recording is a file; an active volume is recorded first. */
static json_t *get_lines(const struct asked *a)
{
	json_t *lines = NULL;
	FILE *f;

	if (!access(a->what, F_OK)) {
		f = record_open(a->what);
		if (!f)
			return NULL;
	} else {
		if (need_volume(a->what))
			return NULL;
		f = tmpfile();
		if (!f || record_volume(f, a->what, a->interval, a->seconds)) {
			if (!f)
				fail("no temporary file: %s", strerror(errno));
			else
				fclose(f);
			return NULL;
		}
		rewind(f);
	}
	lines = record_read(f, a->what);
	fclose(f);
	return lines;
}

int cmd_report(int argc, char **argv)
{
	struct asked a = { .interval = 2, .seconds = 20 };
	int err = parse(argc, argv, &a);
	json_t *lines;
	FILE *out;

	if (err)
		return err;
	lines = get_lines(&a);
	if (!lines)
		return EXIT_FAILED;
	out = open_output(&a);
	if (out) {
		report_print(out, lines);
		err = close_output(&a, out, EXIT_OK);
	}
	json_decref(lines);
	return out ? err : EXIT_FAILED;
}
