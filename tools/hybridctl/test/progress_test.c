// SPDX-License-Identifier: GPL-2.0-only
/* When it is said how far something is. */
#include <string.h>

#include "../progress.h"
#include "ktap.h"

static struct progress p;

/* Lines for @total steps, a second each if @slow. */
static unsigned int lines(unsigned int seconds, bool tty, unsigned int total, bool slow)
{
	unsigned int i, n = 0;

	progress_init(&p, "x", seconds, tty, 100);
	for (i = 0; i < total; i++)
		n += progress_due(&p, i, total, false, 100 + (slow ? i : 0));
	n += progress_due(&p, total, total, true, 100 + (slow ? total : 0));
	return n;
}

int main(void)
{
	ktap_begin();
	ktap_ok(lines(0, false, 100, false) == 11, "a line for each tenth, and the end");
	ktap_ok(lines(0, false, 5, false) == 6, "none twice");
	ktap_ok(lines(0, true, 100, false) == 101, "a terminal is told each time");
	ktap_ok(lines(5, false, 100, false) == 0, "what takes no time needs no word");
	ktap_ok(lines(5, false, 100, true) == 11, "a line for each tenth, if it takes its time");
	ktap_ok(lines(60, false, 100, true) == 2, "but not more often than it is wanted");
	ktap_ok(lines(0, false, 0, false) == 1, "nothing to be done: all is");
	progress_init(&p, NULL, 0, false, 0);
	ktap_ok(progress_due(&p, UINT64_MAX / 2, UINT64_MAX, false, 1) && p.tenths == 5,
		"large numbers");
	ktap_ok(!progress_due(&p, UINT64_MAX / 2 + 9, UINT64_MAX, false, 0), "likewise");
	return ktap_end();
}
