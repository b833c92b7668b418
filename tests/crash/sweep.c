// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cut after cut: for each point on standard input the disks are put to what they
 * held then, the device is made, judged, and removed again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "oracle.h"

#define SHOWN 3		/* points of which the failure is told in full */
#define SETTLE_MS 3000	/* for a pool that is moving extents to come to rest */

static int replay(const struct sweep *s, uint64_t point, unsigned int n, char *how, size_t len)
{
	static const char *const keep[] = { "none", "random", "random", "all" };
	char text[128];
	int fd, r;

	if (n % 4 == 0 || n % 4 == 3)
		snprintf(how, len, "keep=%s", keep[n % 4]);
	else
		snprintf(how, len, "keep=random seed=%" PRIu64 "%s", s->seed + n, n % 4 == 2 ? " tear=1" : "");
	snprintf(text, sizeof(text), "replay to=%" PRIu64 " %s\n", point, how);
	fd = open(s->record, O_WRONLY);
	r = fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return r;
}

/*
 * In order, nothing to be checked, and what moves has arrived: every extent in use is a mapped one.
 * Of space that was lost before the start that says nothing, mapped is counted by it then; s->then does.
 */
static bool sound_now(const char *line)
{
	unsigned long total = 0, mapped;
	char value[64], key[32];

	if (hybrid_field(line, "mode", value, sizeof(value)) || strcmp(value, "rw") ||
	    hybrid_field(line, "needs_check", value, sizeof(value)) || strcmp(value, "-") ||
	    hybrid_field(line, "mapped", value, sizeof(value)))
		return false;
	mapped = strtoul(value, NULL, 10);
	for (int i = 0; ; i++) {
		snprintf(key, sizeof(key), "dev.%d.used", i);
		if (hybrid_field(line, key, value, sizeof(value)))
			break;
		total += strtoul(value, NULL, 10);
	}
	return total == mapped;
}

/* It may be moving extents already: one is in two places then, and until the next commit. */
static int sound(const struct sweep *s)
{
	char line[DM_LINE_ROOM];

	for (int tries = 0; tries < SETTLE_MS / 10; tries++) {
		if (dm_line(s->name, 0, line, sizeof(line)))
			return -1;
		if (sound_now(line))
			return 0;
		if (dm_message(s->name, "commit"))
			break;
		usleep(10000);
	}
	printf("# not rw, or not as many extents are used as are mapped: %s\n", line);
	return -1;
}

static int judge(const struct sweep *s, struct log *log, uint64_t point, unsigned int n)
{
	char node[64];
	int r;

	if (dm_make(s->name, s->table, node, sizeof(node))) {
		printf("# the device can't be made: %s\n", strerror(errno));
		return -1;
	}
	r = check_device(node, log, s->judge_at == UINT64_MAX ? point : s->judge_at, true);
	if (!r && !s->plain)
		r = sound(s);
	if (dm_unmake(s->name, 1)) {
		printf("# the device can't be removed: %s\n", strerror(errno));
		exit(2);
	}
	if (!r && s->then && n % 8 == 0) {
		fflush(stdout);
		r = system(s->then);
	}
	return r;
}

int cmd_sweep(const struct sweep *s)
{
	struct log *log = log_map(s->log, 0);
	unsigned int n = 0, bad = 0;
	char line[64], how[64];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t point = strtoull(line, NULL, 0);

		if (replay(s, point, n++, how, sizeof(how)))
			die("replay");
		fflush(stdout);
		if (bad == SHOWN && !freopen("/dev/null", "w", stdout))
			die("/dev/null");
		if (judge(s, log, point, n)) {
			bad++;
			printf("# ^ at %" PRIu64 ", %s\n", point, how);
		}
	}
	fprintf(stderr, "# %u points, %u wrong\n", n, bad);
	return bad || !n ? 1 : 0;	/* what was never cut has shown nothing */
}
