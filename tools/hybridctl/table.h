/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hybrid target's table line, both ways.  Pure.
 */
#ifndef HYBRIDCTL_TABLE_H
#define HYBRIDCTL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_MAX_META		2
#define TABLE_MAX_DEVS		32

/* An area: a path or "major:minor" ("-": lost) and its start in sectors. */
struct table_area {
	const char *dev;
	uint64_t start;
};

struct table {
	unsigned int nr_meta, nr_devs;
	struct table_area meta[TABLE_MAX_META];
	struct table_area dev[TABLE_MAX_DEVS];
	uint64_t extent_sectors;
	const char *features;	/* "0" or "<#> <feature>...": with its count */
	const char *policy;	/* "wardrop 2 alpha 10": with its count */
	char *text;		/* owns the strings of a parsed table */
};

/* The line's parameters; free() it. */
char *table_build(const struct table *t);
/* As status_parse(). */
bool table_parse(const char *params, struct table *t, char *why, unsigned long why_size);
void table_free(struct table *t);

/*
 * "POLICY COUNT key value ..." from "key=value" words; free() it.  NULL: @bad is
 * set to the word that is no key=value.
 */
char *table_policy(const char *policy, char * const *settings, unsigned int nr,
		   const char **bad);

/*
 * What is pinned to member @from is pinned to @to from now on; @to < 0: it is not any more.  False:
 * nothing is.
 */
bool table_move_pins(struct table *t, unsigned int from, int to);

#endif
