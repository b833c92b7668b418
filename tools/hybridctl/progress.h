/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far something is that takes its time: one line that is written over on a terminal, else a
 * line for every tenth, but not more often than is of use.
 */
#ifndef HYBRIDCTL_PROGRESS_H
#define HYBRIDCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;	/* before each line; NULL: nothing */
	unsigned int seconds;	/* no two lines in less; on a terminal it does not matter */
	bool tty;
	unsigned int tenths;	/* told */
	int64_t last;		/* seconds, when */
	bool told;
};

/* @now in seconds of a clock that does not jump. */
void progress_init(struct progress *p, const char *what, unsigned int seconds, bool tty,
		   int64_t now);
/*
 * Is it to be told now that @done of @total is done?  Pure: prints nothing.  @end: it is the last
 * time, and is told if anything was.
 */
bool progress_due(struct progress *p, uint64_t done, uint64_t total, bool end, int64_t now);
/* Tell it, if it is due; bytes. */
void progress_tell(struct progress *p, uint64_t done, uint64_t total, bool end);
int64_t progress_now(void);

#endif
