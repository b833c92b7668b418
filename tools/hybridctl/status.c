// SPDX-License-Identifier: GPL-2.0-only
/* The strict parser of the kernel's status line; grammar in hybridctl(8)'s kernel page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "status.h"
#include "units.h"
#include "words.h"

#define PPM	1000000u

static const char * const mode_names[] = { "rw", "ro", "fail", NULL };
const char * const status_dev_states[] = {
	"active", "degraded", "failed", "draining", "removed", NULL
};

const char *status_mode_name(enum status_mode mode)
{
	return mode_names[mode];
}

const char *status_dev_state_name(enum status_dev_state state)
{
	return status_dev_states[state];
}

const char *status_meta_name(char state)
{
	switch (state) {
	case 'A':
		return "active";
	case 'S':
		return "stale";
	case 'L':
		return "leaving";
	case 'R':
		return "resync";
	case '-':
		return "vacant";
	}
	return "failed";
}

static void parse_number(struct words *w, struct status_dev *dev)
{
	char *word = words_take(w, "device number");
	char *colon = strchr(word, ':');
	uint64_t major = 0, minor = 0;

	if (w->bad || !strcmp(word, "-"))
		return;
	if (colon)
		*colon++ = 0;
	if (!colon || !parse_u64(word, &major) || !parse_u64(colon, &minor) ||
	    major > 0xfff || minor > 0xfffff) {
		words_bad(w, "device number");
		return;
	}
	dev->present = true;
	dev->major = major;
	dev->minor = minor;
}

static void parse_dev(struct words *w, struct status_dev *dev)
{
	parse_number(w, dev);
	dev->state = words_one_of(w, "device state", status_dev_states);
	words_ratio(w, "device's used/total extents", &dev->used, &dev->total);
	dev->share_ppm = words_u64(w, "share", PPM);
	dev->target_ppm = words_u64(w, "target share", PPM);
	dev->read_ns = words_u64(w, "read time", UINT64_MAX);
	dev->write_ns = words_u64(w, "write time", UINT64_MAX);
	dev->read_p99_ns = words_u64(w, "99th percentile of reads", UINT64_MAX);
	dev->write_p99_ns = words_u64(w, "99th percentile of writes", UINT64_MAX);
	dev->inflight = words_u64(w, "requests in flight", UINT64_MAX);
	dev->allocations = words_u64(w, "allocations", UINT64_MAX);
}

static void parse_pool(struct words *w, struct status *st)
{
	static const char * const check_names[] = { "-", "needs_check", NULL };

	st->mode = words_one_of(w, "mode", mode_names);
	st->needs_check = words_one_of(w, "needs_check or -", check_names);
	st->extent_sectors = words_u64(w, "extent size", 8192);
	if (st->extent_sectors < 128 || st->extent_sectors & (st->extent_sectors - 1))
		words_bad(w, "extent size");
	words_ratio(w, "mapped/logical extents", &st->mapped, &st->logical);
	words_ratio(w, "journal's used/total blocks", &st->journal_used, &st->journal_total);
}

static void parse_meta(struct words *w, struct status *st)
{
	static const char * const names[] = { "A", "S", "F", "L", "R", "-", NULL };
	unsigned int i;

	st->nr_meta = words_u64(w, "number of metadata areas", STATUS_MAX_META);
	if (!st->nr_meta)
		words_bad(w, "number of metadata areas");
	for (i = 0; i < st->nr_meta && !w->bad; i++)
		st->meta[i] = *names[words_one_of(w, "metadata state", names)];
}

static void parse_devs(struct words *w, struct status *st)
{
	unsigned int i;

	st->nr_devs = words_u64(w, "number of devices", STATUS_MAX_DEVS);
	if (!st->nr_devs)
		words_bad(w, "number of devices");
	for (i = 0; i < st->nr_devs && !w->bad; i++)
		parse_dev(w, &st->dev[i]);
}

static void parse_direction(struct words *w, struct status *st)
{
	char *word = words_take(w, "direction");
	char *arrow = strchr(word, '>');
	uint64_t from = 0, to = 0;

	st->from = -1;
	st->to = -1;
	if (w->bad || !strcmp(word, "-"))
		return;
	if (arrow)
		*arrow++ = 0;
	if (!arrow || !parse_u64(word, &from) || !parse_u64(arrow, &to) ||
	    from >= st->nr_devs || to >= st->nr_devs || from == to) {
		words_bad(w, "direction");
		return;
	}
	st->from = from;
	st->to = to;
}

static void parse_migrations(struct words *w, struct status *st)
{
	unsigned int i, j;

	st->tokens = words_u64(w, "tokens", UINT64_MAX);
	parse_direction(w, st);
	st->started = words_u64(w, "migrations started", UINT64_MAX);
	st->completed = words_u64(w, "migrations completed", UINT64_MAX);
	st->failed = words_u64(w, "migrations failed", UINT64_MAX);
	st->bytes = words_u64(w, "bytes migrated", UINT64_MAX);
	st->queued = words_u64(w, "migrations queued", UINT64_MAX);
	st->nr_reasons = words_u64(w, "number of reasons", STATUS_MAX_REASONS);
	for (i = 0; i < st->nr_reasons && !w->bad; i++) {
		st->reason[i].name = words_take(w, "reason");
		for (j = 0; j < i; j++)
			if (!strcmp(st->reason[i].name, st->reason[j].name))
				words_bad(w, "reason given twice");
		st->reason[i].count = words_u64(w, "reason's count", UINT64_MAX);
	}
}

static void parse_policy(struct words *w, struct status *st)
{
	uint64_t nr_args, i;
	const char *rest;
	char *keep;

	st->policy = words_take(w, "policy");
	nr_args = words_u64(w, "number of policy arguments", 1024);
	if (nr_args & 1)
		words_bad(w, "number of policy arguments");
	rest = words_rest(w);
	keep = xstrdup(rest);
	for (i = 0; i < nr_args && !w->bad; i++)
		words_take(w, "policy argument");
	st->policy_args = keep;
}

bool status_parse(const char *line, struct status *st, char *why, unsigned long why_size)
{
	struct words w;

	memset(st, 0, sizeof(*st));
	st->text = xstrdup(line);
	words_init(&w, st->text);
	parse_pool(&w, st);
	parse_meta(&w, st);
	parse_devs(&w, st);
	parse_migrations(&w, st);
	st->flushes = words_u64(&w, "flushes", UINT64_MAX);
	st->commits = words_u64(&w, "commits", UINT64_MAX);
	st->checkpoints = words_u64(&w, "checkpoints", UINT64_MAX);
	st->errors = words_u64(&w, "errors", UINT64_MAX);
	parse_policy(&w, st);
	if (words_done(&w))
		return true;
	snprintf(why, why_size, "%s", w.why);
	status_free(st);
	return false;
}

void status_free(struct status *st)
{
	free(st->text);
	free((char *)st->policy_args);
	memset(st, 0, sizeof(*st));
}

uint64_t status_setting(const struct status *st, const char *key, uint64_t otherwise)
{
	char *args = xstrdup(st->policy_args), *word, *save;
	uint64_t value = otherwise;

	for (word = strtok_r(args, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *text = strtok_r(NULL, " ", &save);

		if (!strcmp(word, key) && text && !parse_u64(text, &value))
			value = otherwise;
	}
	free(args);
	return value;
}
