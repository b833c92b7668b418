// SPDX-License-Identifier: GPL-2.0-only
/* Showing something, once or again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scmfsctl.h"

struct how {
	bool json;
	double pause;		/* 0: once */
	unsigned long count;	/* 0: for ever */
};

json_t *number_of(uint64_t n)
{
	return json_integer((json_int_t)n);
}

uint64_t number(json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

const char *bytes_at(json_t *object, const char *key)
{
	static char text[8][UNIT_TEXT];
	static unsigned int next;

	return human_bytes(text[next++ % 8], number(object, key));
}

double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static bool show(const struct place *p, const struct view *view, const struct how *how)
{
	json_t *seen = view->look(p);
	bool written = true;

	if (!seen)
		return false;
	if (how->json) {
		written = !json_dumpf(seen, stdout, how->pause ? JSON_COMPACT : JSON_INDENT(2));
		putchar('\n');
	} else {
		view->print(seen);
	}
	json_decref(seen);
	/* What went wrong while it was printed is known to the stream alone. */
	written = !fflush(stdout) && !ferror(stdout) && written;
	return written || (complain("cannot write"), false);
}

static int repeat(const struct place *p, const struct view *view, const struct how *how)
{
	const struct timespec pause = {
		.tv_sec = (time_t)how->pause,
		.tv_nsec = (long)((how->pause - (time_t)how->pause) * 1e9),
	};
	unsigned long i;

	for (i = 0; !how->count || i < how->count; i++) {
		if (i) {
			nanosleep(&pause, NULL);
			if (!how->json)
				putchar('\n');
		}
		if (!show(p, view, how))
			return EXIT_FAILED;
	}
	return EXIT_OK;
}

static bool parse(struct how *how, const char *watch, const char *count)
{
	char *end, *stop;

	how->pause = watch ? strtod(watch, &end) : 0;
	how->count = count ? strtoul(count, &stop, 10) : !watch;
	if (watch && (*end || !(how->pause > 0 && how->pause < 1e6)))
		return false;
	return !count || (watch && *count && *count != '-' && !*stop && how->count);
}

/* Else what is shown would have no path in it. */
static bool has_name(const char *path)
{
	json_t *name = json_string(path);
	bool has = name;

	json_decref(name);
	return has || (complain("%s: not UTF-8, as names in JSON are", path), false);
}

int view_run(int argc, char **argv, const struct view *view)
{
	const char *watch = NULL, *count = NULL;
	struct place place;
	struct how how;
	int err;

	how.json = take_flag(&argc, argv, "--json");
	if (take_option(&argc, argv, "--watch", &watch) ||
	    take_option(&argc, argv, "--count", &count))
		return EXIT_USAGE;
	if (argc != 1 || argv[0][0] == '-' || !parse(&how, watch, count))
		return usage();
	if (how.json && !has_name(argv[0]))
		return EXIT_FAILED;
	if (!place_open(&place, argv[0]))
		return EXIT_FAILED;
	err = repeat(&place, view, &how);
	close(place.fd);
	return err;
}
