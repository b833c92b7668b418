// SPDX-License-Identifier: GPL-2.0-only
/* What a device does now: the difference of two looks at its counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nlctl.h"

#define LINES_A_PAGE	20

static double busy(json_t *stat, const char *op, const char *cause)
{
	json_t *row = json_object_get(json_object_get(stat, "busy_ns"), op);

	return json_integer_value(json_object_get(row, cause));
}

/* Percent of the planes' time that went into these operations between two looks. */
static double share(json_t *old, json_t *new, const char *cause)
{
	static const char * const ops[] = { "read", "program", "erase" };
	double all = (double)(stat_number(new, NULL, "age_ns") - stat_number(old, NULL, "age_ns")) *
		     stat_number(new, NULL, "nr_planes"), ns = 0;
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		ns += busy(new, ops[i], cause) - busy(old, ops[i], cause);
	return all ? 100 * ns / all : 0;
}

static double rate(json_t *old, json_t *new, const char *op, const char *cause)
{
	double s = (stat_number(new, NULL, "age_ns") - stat_number(old, NULL, "age_ns")) / 1e9;

	return s ? (stat_count(new, op, cause) - stat_count(old, op, cause)) / s : 0;
}

static void print_title(void)
{
	printf("%8s %8s %8s %6s %6s %6s %6s %6s %6s %6s\n", "READ/S", "WRITE/S", "ERASE/S", "WA",
	       "HOST%", "GC%", "MERGE%", "WEAR%", "FREE", "QUEUE");
}

static void print_line(json_t *old, json_t *new)
{
	double host = rate(old, new, "program", "host"), all = rate(old, new, "program", NULL);

	printf("%8.0f %8.0f %8.1f %6.2f %6.1f %6.1f %6.1f %6.1f %6llu %6llu\n",
	       rate(old, new, "read", "host"), host, rate(old, new, "erase", NULL),
	       host ? all / host : 0, share(old, new, "host"), share(old, new, "gc"),
	       share(old, new, "merge"), share(old, new, "wear"),
	       (unsigned long long)stat_number(new, NULL, "free_blocks"),
	       (unsigned long long)stat_number(new, NULL, "inflight"));
}

static int watch(const char *name, double interval, unsigned long count)
{
	const struct timespec pause = {
		.tv_sec = (time_t)interval,
		.tv_nsec = (long)((interval - (time_t)interval) * 1e9),
	};
	json_t *old = stat_object(name), *new;
	unsigned long i;

	for (i = 0; old && (!count || i < count); i++) {
		if (i % LINES_A_PAGE == 0)
			print_title();
		nanosleep(&pause, NULL);
		new = stat_object(name);
		if (new)
			print_line(old, new);
		json_decref(old);
		old = new;
		if (fflush(stdout))
			break;
	}
	if (!old)
		return complain("no device %s", name);
	json_decref(old);
	return EXIT_OK;
}

int cmd_top(int argc, char **argv)
{
	const char *interval = "1", *count = "0";
	unsigned long lines;
	char *end, *stop;
	double seconds;

	if (take_option(&argc, argv, "--interval", &interval) ||
	    take_option(&argc, argv, "--count", &count))
		return EXIT_USAGE;
	seconds = strtod(interval, &end);
	lines = strtoul(count, &stop, 10);
	if (argc != 1 || argv[0][0] == '-' || *end || *stop || !(seconds > 0 && seconds < 1e6))
		return usage();
	return watch(argv[0], seconds, lines);
}
