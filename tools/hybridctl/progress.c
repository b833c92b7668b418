// SPDX-License-Identifier: GPL-2.0-only
/* See progress.h. */
#include <stdio.h>
#include <time.h>

#include "progress.h"
#include "units.h"

#define NOTHING	99u	/* no tenth */

int64_t progress_now(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) ? 0 : now.tv_sec;
}

void progress_init(struct progress *p, const char *what, unsigned int seconds, bool tty,
		   int64_t now)
{
	*p = (struct progress){ .what = what, .seconds = seconds, .tty = tty, .tenths = NOTHING,
				.last = now };
}

static unsigned int part(uint64_t done, uint64_t total, unsigned int of)
{
	if (done >= total)
		return of;
	return total > UINT64_MAX / of ? done / (total / of) : done * of / total;
}

bool progress_due(struct progress *p, uint64_t done, uint64_t total, bool end, int64_t now)
{
	unsigned int tenths = part(done, total, 10);

	/* What took no time needs no word. */
	if (end && p->seconds && !p->told)
		return false;
	if (!p->tty && !end && (tenths == p->tenths || now - p->last < p->seconds))
		return false;
	p->tenths = tenths;
	p->last = now;
	p->told = true;
	return true;
}

void progress_tell(struct progress *p, uint64_t done, uint64_t total, bool end)
{
	char left[UNIT_TEXT];

	if (!progress_due(p, done, total, end, progress_now()))
		return;
	printf("%s%s%s%u%%, %s left%s", p->tty ? "\r\033[K" : "", p->what ? p->what : "",
	       p->what ? ": " : "", part(done, total, 100),
	       human_bytes(left, done < total ? total - done : 0), p->tty && !end ? "" : "\n");
	fflush(stdout);
}
