// SPDX-License-Identifier: GPL-2.0-only
/* See extents.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "extents.h"
#include "msg.h"

static void add(struct extents *e, const struct extent_range *one)
{
	struct extent_range *last = e->nr ? &e->range[e->nr - 1] : NULL;

	/* The kernel answers in parts. */
	if (last && last->dev == one->dev && last->first + last->nr == one->first) {
		last->nr += one->nr;
		return;
	}
	e->range = xrealloc(e->range, (e->nr + 1) * sizeof(*e->range));
	e->range[e->nr++] = *one;
}

static void take_unknown(struct extents *e, uint64_t nr)
{
	e->unknown += nr;
	e->partly = true;
}

/* One answer, every line of which has to be understood; the extent to go on at, 0: no more. */
static unsigned long long take(struct extents *e, char *reply)
{
	unsigned long long first, nr, more = 0;
	char *line, *save, unknown;
	bool ended = false;
	unsigned int dev;

	for (line = strtok_r(reply, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%llu %llu %u", &first, &nr, &dev) == 3)
			add(e, &(struct extent_range){ first, nr, dev });
		else if (sscanf(line, "%llu %llu %c", &first, &nr, &unknown) == 3 && unknown == '?')
			take_unknown(e, nr);
		else if (!strcmp(line, "end") || sscanf(line, "more %llu", &more) == 1)
			ended = true;
		else
			e->partly = true;
	}
	e->partly |= !ended;
	return more;
}

void extents_ask(struct extents *e, const char *name, const char *question)
{
	char *message, *reply, *why;
	unsigned long long at = 0, next;
	int err;

	*e = (struct extents){ .asked = true };
	do {
		message = xasprintf("%s %llu", question, at);
		reply = NULL;
		why = NULL;
		err = dm_message(name, message, &reply, &why);
		next = err ? 0 : reply ? take(e, reply) : 0;
		if (err)
			fail("%s: %s: the kernel can't tell: %s", name, message, why);
		/* It has to get on, or there would be no end. */
		if (err || (next && next <= at))
			e->partly = true;
		at = next > at ? next : 0;
		free(message);
		free(reply);
		free(why);
	} while (at);
}

void extents_free(struct extents *e)
{
	free(e->range);
	memset(e, 0, sizeof(*e));
}
