// SPDX-License-Identifier: GPL-2.0-only
/* Garbage collection: what it did, and what it is to do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "scmfsctl.h"

#define PAUSE_NS	10000000	/* between two looks at whether it has ended */

/* What the command line wants; once, however often it is shown. */
static struct scmfs_gc_info wanted;
static bool wait_for_end;

static bool ask_gc(const struct place *p, struct scmfs_gc_info *info)
{
	*info = wanted;
	info->size = sizeof(*info);
	wanted.set = 0;
	if (!ioctl(p->fd, SCMFS_IOC_GC, info))
		return true;
	if (errno == EROFS)
		return complain("%s: read-only: nothing is collected", p->path), false;
	if (errno == EINVAL)
		return complain("%s: percent are 0 to 100, and --low is not above --high",
				p->path), false;
	return place_refused(p);
}

static bool ask_and_wait(const struct place *p, struct scmfs_gc_info *info)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (!ask_gc(p, info))
		return false;
	while (wait_for_end && info->flags & SCMFS_GC_RUNNING) {
		if (info->error == ENOMEM)
			return complain("%s: there is no memory to collect with; it is tried again until --stop",
					p->path), false;
		nanosleep(&pause, NULL);
		if (!ask_gc(p, info))
			return false;
	}
	if (wait_for_end && info->error)
		return complain("%s: it ended before all was done: %s", p->path,
				strerror((int)info->error)), false;
	wait_for_end = false;
	return true;
}

static void add_numbers(json_t *seen, const struct scmfs_gc_info *info)
{
	json_object_set_new(seen, "low_percent", number_of(info->low));
	json_object_set_new(seen, "high_percent", number_of(info->high));
	json_object_set_new(seen, "whole_percent", number_of(info->whole));
	json_object_set_new(seen, "cold_seconds", number_of(info->cold));
	json_object_set_new(seen, "ram_bytes", number_of(info->ram));
	json_object_set_new(seen, "passes", number_of(info->passes));
	json_object_set_new(seen, "rounds", number_of(info->rounds));
	json_object_set_new(seen, "inodes", number_of(info->inodes));
	json_object_set_new(seen, "unchanged", number_of(info->unchanged));
	json_object_set_new(seen, "moves", number_of(info->moves));
	json_object_set_new(seen, "moved_bytes", number_of(info->moved_bytes));
	json_object_set_new(seen, "wholes", number_of(info->wholes));
	json_object_set_new(seen, "emptied", number_of(info->emptied));
	json_object_set_new(seen, "stuck", number_of(info->stuck));
	json_object_set_new(seen, "refilled", number_of(info->refilled));
	json_object_set_new(seen, "room_bytes", number_of(info->room_bytes));
	json_object_set_new(seen, "bad", number_of(info->bad));
	json_object_set_new(seen, "failed", number_of(info->failed));
}

static json_t *passed_by(const struct scmfs_gc_info *info)
{
	json_t *seen = json_object();

	json_object_set_new(seen, "busy", number_of(info->busy));
	json_object_set_new(seen, "mapped", number_of(info->mapped));
	json_object_set_new(seen, "no_room", number_of(info->no_room));
	return seen;
}

json_t *gc_look(const struct place *p)
{
	struct scmfs_gc_info info;
	json_t *seen;

	if (!ask_and_wait(p, &info))
		return NULL;
	seen = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(seen, "on", json_boolean(info.flags & SCMFS_GC_ON));
	json_object_set_new(seen, "running", json_boolean(info.flags & SCMFS_GC_RUNNING));
	json_object_set_new(seen, "moves_blocks", json_boolean(info.flags & SCMFS_GC_HUGE));
	json_object_set_new(seen, "error", info.error ? json_string(strerror((int)info.error)) :
			    json_null());
	add_numbers(seen, &info);
	json_object_set_new(seen, "passed_by", passed_by(&info));
	return seen;
}

static unsigned long long count(json_t *seen, const char *key)
{
	return (unsigned long long)number(seen, key);
}

void gc_print(json_t *seen)
{
	json_t *by = json_object_get(seen, "passed_by");
	const char *error = json_string_value(json_object_get(seen, "error"));

	printf("state     %s, %s%s%s%s\n",
	       json_is_true(json_object_get(seen, "on")) ? "on" : "off",
	       json_is_true(json_object_get(seen, "running")) ? "at work" : "idle",
	       json_is_true(json_object_get(seen, "moves_blocks")) ? "" :
	       "; gives back room only: no huge pages here, or a fence isn't enough",
	       error ? "; the last pass ended early: " : "", error ? error : "");
	printf("room      given back below %llu%% free, up to %llu%%: %s so far\n",
	       count(seen, "low_percent"), count(seen, "high_percent"),
	       bytes_at(seen, "room_bytes"));
	printf("whole     %llu%% of free memory in units of 2 MiB; cold files are of %llu s\n",
	       count(seen, "whole_percent"), count(seen, "cold_seconds"));
	printf("rounds    %llu in %llu passes over %llu inodes, %llu of them unchanged; %s of ram\n",
	       count(seen, "rounds"), count(seen, "passes"), count(seen, "inodes"),
	       count(seen, "unchanged"), bytes_at(seen, "ram_bytes"));
	printf("moved     %s in %llu moves, %llu with bad memory, %llu failed\n",
	       bytes_at(seen, "moved_bytes"), count(seen, "moves"), count(seen, "bad"),
	       count(seen, "failed"));
	printf("made      %llu times 2 MiB of files in one piece, %llu free; %llu could not be\n",
	       count(seen, "wholes"), count(seen, "emptied"), count(seen, "stuck"));
	printf("passed by %llu busy, %llu mapped, %llu without room\n", count(by, "busy"),
	       count(by, "mapped"), count(by, "no_room"));
}

/* --- the command line ------------------------------------------------------------------------- */

static void take_set(int *argc, char **argv, const char *flag, __u32 set)
{
	if (take_flag(argc, argv, flag))
		wanted.set |= set;
}

/* Return: false: it is no number. */
static bool take_number(int *argc, char **argv, const char *option, __u32 set, __u32 *to)
{
	const char *text = NULL;
	unsigned long long n;
	char *end;

	if (take_option(argc, argv, option, &text))
		return false;
	if (!text)
		return true;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n > UINT32_MAX)
		return false;
	wanted.set |= set;
	*to = (__u32)n;
	return true;
}

static bool is_one(__u32 both)
{
	return (wanted.set & both) != both;
}

bool gc_take(int *argc, char **argv)
{
	take_set(argc, argv, "--on", SCMFS_GC_SET_ON);
	take_set(argc, argv, "--off", SCMFS_GC_SET_OFF);
	take_set(argc, argv, "--start", SCMFS_GC_SET_START);
	take_set(argc, argv, "--stop", SCMFS_GC_SET_STOP);
	wait_for_end = take_flag(argc, argv, "--run");
	if (wait_for_end)
		wanted.set |= SCMFS_GC_SET_START;
	return take_number(argc, argv, "--low", SCMFS_GC_SET_LOW, &wanted.low) &&
		take_number(argc, argv, "--high", SCMFS_GC_SET_HIGH, &wanted.high) &&
		take_number(argc, argv, "--whole", SCMFS_GC_SET_WHOLE, &wanted.whole) &&
		take_number(argc, argv, "--cold", SCMFS_GC_SET_COLD, &wanted.cold) &&
		is_one(SCMFS_GC_SET_ON | SCMFS_GC_SET_OFF) &&
		is_one(SCMFS_GC_SET_START | SCMFS_GC_SET_STOP);
}
