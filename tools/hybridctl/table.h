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
/*
 * If member @from was named to be the fast one, that is @to from now on; @to < 0: the one that the
 * policy chooses.  False: it was not.
 */
bool table_move_fast(struct table *t, unsigned int from, int to);
/*
 * What was written to one member goes to the other one; one that is yet to join has nothing until
 * then.  Shares that are equal by themselves have no text.  False: there is nothing to change.
 */
bool table_swap_shares(struct table *t, unsigned int a, unsigned int b);

/* Is some of what is new written to member @i as the text's shares say? */
bool table_has_share(const struct table *t, unsigned int i);

#define TABLE_FAST_IS_AUTO	0x1	/* table_move_fast() */
#define TABLE_HAS_NO_SHARE	0x2	/* nothing new is written to it, as the text has shares */
/*
 * Member @i, which the table has by now, joins: what the policy's text says of who was there before
 * is not of this one, and what it has to say of each member it says of this one, too.
 */
unsigned int table_make_place(struct table *t, unsigned int i);

#endif
