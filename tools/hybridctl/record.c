// SPDX-License-Identifier: GPL-2.0-only
/* See record.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dm.h"
#include "interrupt.h"
#include "json_print.h"
#include "msg.h"
#include "record.h"
#include "volume.h"

static double clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What the block layer has counted of the volume. */
static json_t *io_json(const char *name)
{
	uint64_t reads = 0, read_sectors = 0, writes = 0, write_sectors = 0;
	struct dm_dev dev;
	char *path;
	FILE *f;

	if (dm_lookup(name, &dev) != 1)
		return NULL;
	path = xasprintf("/sys/dev/block/%u:%u/stat", dev.major, dev.minor);
	f = fopen(path, "re");
	free(path);
	if (!f)
		return NULL;
	if (fscanf(f, "%" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, &reads,
		   &read_sectors, &writes, &write_sectors) != 4) {
		fclose(f);
		return NULL;
	}
	fclose(f);
	return json_pack("{s:I, s:I, s:I, s:I}", "reads", (json_int_t)reads,
			 "read_bytes", (json_int_t)(read_sectors * 512),
			 "writes", (json_int_t)writes,
			 "write_bytes", (json_int_t)(write_sectors * 512));
}

/* @v: the one before, zeroed at first. */
static int sample(struct volume *v, FILE *out, const char *name, double begun)
{
	json_t *line, *io;
	double at;

	if (volume_look_again(v, name, LOOK_LOST | LOOK_UUIDS))
		return EXIT_FAILED;
	at = clock_now(CLOCK_MONOTONIC) - begun;
	io = io_json(name);
	if (!io)
		return fail("%s: its counters can't be read", name);
	line = volume_json(v);
	json_object_set_new(line, "time", json_real(clock_now(CLOCK_REALTIME)));
	json_object_set_new(line, "at", json_real(at));
	json_object_set_new(line, "io", io);
	if (!json_print(out, line, JSON_COMPACT | JSON_REAL_PRECISION(15)))
		return EXIT_OK;
	return ferror(out) ? fail("the recording can't be written: %s", strerror(errno)) :
			     EXIT_FAILED;
}

/* At multiples of the interval, however long a look takes. */
static void wait_until(double when)
{
	double left = when - clock_now(CLOCK_MONOTONIC);

	if (left > 0)
		sleep_interruptibly(left, NULL, 0);
}

int record_volume(FILE *out, const char *name, double interval, double seconds)
{
	double begun = clock_now(CLOCK_MONOTONIC);
	struct volume v = { .name = name };
	uint64_t n = 0;
	int err;

	catch_interrupts();
	for (;;) {
		err = sample(&v, out, name, begun);
		if (err || interrupted ||
		    (seconds > 0 && (double)(n + 1) * interval > seconds * 1.0001))
			break;
		n++;
		wait_until(begun + (double)n * interval);
		/* One more at a signal: what happened until then is not lost. */
	}
	volume_free(&v);
	return err;
}
