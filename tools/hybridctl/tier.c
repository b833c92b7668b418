// SPDX-License-Identifier: GPL-2.0-only
/* See tier.h. */
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "tier.h"
#include "words.h"

#define PPM	1000000

static bool parse_run(char *line, struct tier_run *run)
{
	struct words w;

	words_init(&w, line);
	run->first = words_u64(&w, "first extent", UINT64_MAX);
	run->extents = words_u64(&w, "extents", UINT64_MAX);
	run->share_ppm = words_u64(&w, "share", PPM);
	run->windows = words_u64(&w, "windows", UINT64_MAX);
	run->fast = words_u64(&w, "extents in memory", UINT64_MAX);
	run->left_ms = words_u64(&w, "time left", UINT64_MAX);
	return words_done(&w);
}

static bool parse_head(char *line, struct tier *tier)
{
	bool unknown = !strncmp(line, "-1 ", 3);
	struct words w;

	words_init(&w, line + unknown);
	tier->member = words_u64(&w, "fast member", 1 << 16);
	if (unknown)
		tier->member = -1;
	tier->sublun = words_u64(&w, "sub-LUN", UINT64_MAX);
	tier->fast = words_u64(&w, "extents in memory", UINT64_MAX);
	tier->up = words_u64(&w, "moved up", UINT64_MAX);
	tier->down = words_u64(&w, "moved down", UINT64_MAX);
	return words_done(&w);
}

bool tier_parse(char *text, struct tier *tier)
{
	char *line = strsep(&text, "\n");
	bool good;

	memset(tier, 0, sizeof(*tier));
	good = parse_head(line, tier);
	while (good && (line = strsep(&text, "\n"))) {
		tier->run = xrealloc(tier->run, (tier->nr_runs + 1) * sizeof(*tier->run));
		good = parse_run(line, &tier->run[tier->nr_runs++]);
	}
	if (!good)
		tier_free(tier);
	return good;
}

void tier_free(struct tier *tier)
{
	free(tier->run);
	memset(tier, 0, sizeof(*tier));
}
