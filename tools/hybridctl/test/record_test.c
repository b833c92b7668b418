// SPDX-License-Identifier: GPL-2.0-only
/* A recording ends when a signal says so, also one that comes just before it would sleep. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../dm.h"
#include "../interrupt.h"
#include "../msg.h"
#include "../record.h"
#include "../volume.h"
#include "ktap.h"
#include "wrapped.h"

#define INTERVAL	3.0

static struct {
	unsigned int nr_looks, nr_clocks;
	unsigned int signal_at;		/* so many looks at the clock after a look at the volume */
} now;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	if (now.nr_looks && ++now.nr_clocks == now.signal_at)
		raise(SIGTERM);
	return __real_clock_gettime(clock, t);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	FILE *f = tmpfile();

	if (f && fputs("1 0 8 0 2 0 16 0\n", f) >= 0)
		rewind(f);
	return f;
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	return 1;
}

int volume_look_again(struct volume *v, const char *name, unsigned int what)
{
	now.nr_looks++;
	return EXIT_OK;
}

json_t *volume_json(const struct volume *v)
{
	return json_object();
}

void volume_free(struct volume *v)
{
}

static double seconds(void)
{
	struct timespec t;

	__real_clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ends_at(unsigned int at)
{
	double begun = seconds();
	FILE *out = tmpfile();
	int err;

	memset(&now, 0, sizeof(now));
	now.signal_at = at;
	interrupted = 0;
	err = record_volume(out, "vol", INTERVAL, 0);
	ktap_ok(!err && seconds() - begun < INTERVAL / 2 && now.nr_looks <= 2,
		"a signal at the %u. look at the clock: %u lines, not after %.0f s", at,
		now.nr_looks, INTERVAL);
	fclose(out);
}

int main(void)
{
	unsigned int at;

	ktap_begin();
	/* Two for a line, and one for the time to sleep: then it is not looked at any more. */
	for (at = 1; at <= 3; at++)
		ends_at(at);
	return ktap_end();
}
