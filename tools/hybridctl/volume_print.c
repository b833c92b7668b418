// SPDX-License-Identifier: GPL-2.0-only
/* A volume's state for people and as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bdev.h"
#include "health.h"
#include "json_print.h"
#include "quote.h"
#include "units.h"
#include "volume.h"

#define BAR_MAX	64

static json_t *device_json(const struct volume *v, unsigned int i)
{
	const struct status_dev *d = &v->st.dev[i];
	const struct standing_dev *s = v->has_standing ? &v->standing.dev[i] : NULL;

	return json_pack("{s:i, s:o, s:o, s:b, s:s, s:o, s:o, s:{s:I, s:I}, s:f, s:f, s:f, s:f, s:f, s:f, s:I}",
			 "index", (int)i,
			 "path", v->path[i] ? text_json(v->path[i]) : json_null(),
			 "uuid", v->uuid[i][0] ? json_string(v->uuid[i]) : json_null(),
			 "volatile", v->forgets[i],
			 "state", status_dev_state_name(d->state),
			 "leaving", s ? json_boolean(s->leaving) : json_null(),
			 "errors", s ? json_integer((json_int_t)s->errors) : json_null(),
			 "extents", "total", (json_int_t)d->total, "used", (json_int_t)d->used,
			 "share", (double)d->share_ppm / 1e6, "target", (double)d->target_ppm / 1e6,
			 "read_us", (double)d->read_ns / 1e3, "write_us", (double)d->write_ns / 1e3,
			 "read_p99_us", (double)d->read_p99_ns / 1e3,
			 "write_p99_us", (double)d->write_p99_ns / 1e3,
			 "inflight", (json_int_t)d->inflight);
}

static double sync_part(const struct sync_at *at)
{
	return (double)at->done / (double)at->total;
}

static json_t *metadata_json(const struct volume *v)
{
	json_t *list = json_array(), *one;
	unsigned int i;

	for (i = 0; i < v->st.nr_meta; i++) {
		one = json_pack("{s:i, s:s}", "index", (int)i,
				"state", status_meta_name(v->st.meta[i]));
		if (v->has_sync && v->sync.area == i)
			json_object_set_new(one, "progress", json_real(sync_part(&v->sync)));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *direction_json(const struct status *st)
{
	return st->from < 0 ? json_null() : json_sprintf("%d>%d", st->from, st->to);
}

static json_t *cache_json(const struct cached *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "extents",
			 (json_int_t)c->extents, "limit", (json_int_t)c->limit,
			 "hits", (json_int_t)c->hits,
			 "misses", (json_int_t)c->misses, "fills", (json_int_t)c->fills,
			 "updates", (json_int_t)c->updates, "drops", (json_int_t)c->drops,
			 "moves", (json_int_t)c->moves);
}

static json_t *run_json(const struct tier_run *r)
{
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:f}",
			 "first_extent", (json_int_t)r->first, "extents", (json_int_t)r->extents,
			 "share", (double)r->share_ppm / 1e6, "windows", (json_int_t)r->windows,
			 "moved", (json_int_t)r->fast, "left_s", (double)r->left_ms / 1e3);
}

static json_t *tier_json(const struct volume *v)
{
	const struct tier *t = &v->tier;
	json_t *runs = json_array();
	unsigned int i;

	for (i = 0; i < t->nr_runs; i++)
		json_array_append_new(runs, run_json(&t->run[i]));
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}",
			 "device", t->member < 0 ? json_null() : json_integer(t->member),
			 "sublun_extents", (json_int_t)t->sublun, "extents", (json_int_t)t->fast,
			 "moved_up", (json_int_t)t->up, "moved_down", (json_int_t)t->down,
			 "concentrations", runs);
}

static json_t *range_json(const struct extent_range *l, uint64_t extent)
{
	return json_pack("{s:I, s:I, s:i}", "first_sector", (json_int_t)(l->first * extent),
			 "sectors", (json_int_t)(l->nr * extent), "device", (int)l->dev);
}

void *volume_lost_json(const struct volume *v)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < v->lost.nr; i++)
		json_array_append_new(list, range_json(&v->lost.range[i], v->st.extent_sectors));
	return list;
}

json_t *volume_json(const struct volume *v)
{
	json_t *devices = json_array(), *reasons = json_object(), *allocations = json_array();
	const struct status *st = &v->st;
	char *advice = health_advice(st, v->name);
	unsigned int i, which;
	json_t *all;

	for (i = 0; i < st->nr_devs; i++) {
		json_array_append_new(devices, device_json(v, i));
		json_array_append_new(allocations, json_integer(st->dev[i].allocations));
	}
	for (i = 0; i < st->nr_reasons; i++)
		json_object_set_new(reasons, st->reason[i].name, json_integer(st->reason[i].count));
	all = json_pack("{s:o, s:s, s:s, s:o, s:b, s:o, s:{s:I, s:I}, s:s, s:I, s:{s:I, s:I}, s:o, s:I, s:o,"
			" s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:b, s:o, s:o}",
			"name", text_json(v->name), "mode", status_mode_name(st->mode),
			"health", health_name(health_of(st, &which)),
			"advice", advice ? text_json(advice) : json_null(),
			"needs_check", st->needs_check, "metadata", metadata_json(v),
			"journal", "total", (json_int_t)st->journal_total,
			"used", (json_int_t)st->journal_used, "policy", st->policy,
			"extent_bytes", (json_int_t)(st->extent_sectors * SECTOR_SIZE),
			"extents", "total", (json_int_t)st->logical, "used", (json_int_t)st->mapped,
			"devices", devices, "tokens", (json_int_t)st->tokens,
			"direction", direction_json(st),
			"migrations", "started", (json_int_t)st->started,
			"completed", (json_int_t)st->completed, "failed", (json_int_t)st->failed,
			"bytes", (json_int_t)st->bytes, "queued", (json_int_t)st->queued,
			"not_migrated", reasons, "allocations", allocations,
			"flushes", (json_int_t)st->flushes, "commits", (json_int_t)st->commits,
			"checkpoints", (json_int_t)st->checkpoints,
			"errors", (json_int_t)st->errors, "lost", (json_t *)volume_lost_json(v),
			"lost_complete", !v->lost.partly,
			"tier", v->has_tier ? tier_json(v) : json_null(),
			"cache", v->has_cache ? cache_json(&v->cache) : json_null());
	free(advice);
	return all;
}

int volume_print_json(FILE *out, const struct volume *v)
{
	return json_print(out, volume_json(v), JSON_INDENT(2) | JSON_REAL_PRECISION(10));
}

/* On one line, for who reads no other. */
static void print_health(FILE *out, const struct volume *v)
{
	char *advice = health_advice(&v->st, v->name);
	unsigned int which;

	fprintf(out, "health: %s%s%s\n", health_name(health_of(&v->st, &which)),
		advice ? ": " : "", advice ? advice : "");
	free(advice);
}

static void print_head(FILE *out, const struct volume *v)
{
	const struct status *st = &v->st;
	char size[UNIT_TEXT], extent[UNIT_TEXT];
	unsigned int i;

	fprintf(out, "%s: %s, %s%s, extents of %s, %llu of %llu mapped\n", v->name,
		human_bytes(size, v->sectors * SECTOR_SIZE), status_mode_name(st->mode),
		st->needs_check ? ", NEEDS CHECK" : "",
		human_bytes(extent, st->extent_sectors * SECTOR_SIZE),
		(unsigned long long)st->mapped, (unsigned long long)st->logical);
	fprintf(out, "policy %s%s%s; metadata", st->policy, *st->policy_args ? " " : "",
		st->policy_args);
	for (i = 0; i < st->nr_meta; i++) {
		fprintf(out, " %s", st->meta[i] == 'S' ? "STALE" : st->meta[i] == 'F' ? "FAILED" :
			status_meta_name(st->meta[i]));
		if (v->has_sync && v->sync.area == i)
			fprintf(out, " (%.0f%%)", sync_part(&v->sync) * 100);
	}
	fprintf(out, ", journal %llu/%llu\n", (unsigned long long)st->journal_used,
		(unsigned long long)st->journal_total);
	print_health(out, v);
}

static void print_dev(FILE *out, const struct volume *v, unsigned int i, unsigned int width)
{
	const struct status_dev *d = &v->st.dev[i];
	uint64_t extent = v->st.extent_sectors * SECTOR_SIZE;
	char cells[BAR_MAX + 1], free_text[UNIT_TEXT], total[UNIT_TEXT];
	char r[UNIT_TEXT], w[UNIT_TEXT], r99[UNIT_TEXT], w99[UNIT_TEXT];

	bar(cells, width < BAR_MAX ? width : BAR_MAX, d->share_ppm, d->target_ppm);
	fprintf(out, "%2u %-20s %-8s %5.1f%% %5.1f%% [%s] %7s %7s %7s %7s %5llu %7s/%s\n",
		i, v->path[i] ? v->path[i] : d->state == DEV_REMOVED ? "(none)" : "(lost)",
		status_dev_state_name(d->state),
		(double)d->share_ppm / 1e4, (double)d->target_ppm / 1e4, cells,
		human_ns(r, d->read_ns), human_ns(w, d->write_ns),
		human_ns(r99, d->read_p99_ns), human_ns(w99, d->write_p99_ns),
		(unsigned long long)d->inflight,
		human_bytes(free_text, (d->total - d->used) * extent),
		human_bytes(total, d->total * extent));
}

static void print_moves(FILE *out, const struct status *st)
{
	char bytes[UNIT_TEXT];
	unsigned int i;

	fprintf(out, "migration ");
	if (st->from < 0)
		fputs("idle", out);
	else
		fprintf(out, "%d>%d", st->from, st->to);
	fprintf(out, ", tokens %llu, queued %llu, started %llu, completed %llu, failed %llu, moved %s\n",
		(unsigned long long)st->tokens, (unsigned long long)st->queued,
		(unsigned long long)st->started, (unsigned long long)st->completed,
		(unsigned long long)st->failed, human_bytes(bytes, st->bytes));
	fputs("not migrated:", out);
	for (i = 0; i < st->nr_reasons; i++)
		fprintf(out, " %s %llu", st->reason[i].name,
			(unsigned long long)st->reason[i].count);
	fprintf(out, "%s\nallocations:", st->nr_reasons ? "" : " -");
	for (i = 0; i < st->nr_devs; i++)
		fprintf(out, " %llu", (unsigned long long)st->dev[i].allocations);
	fprintf(out, "; flushes %llu, commits %llu, checkpoints %llu, errors %llu\n",
		(unsigned long long)st->flushes, (unsigned long long)st->commits,
		(unsigned long long)st->checkpoints, (unsigned long long)st->errors);
}

static void print_cache(FILE *out, const struct cached *c)
{
	uint64_t reads = c->hits + c->misses;

	fprintf(out, "in memory: %llu of %llu extents, %llu hits of %llu reads (%u%%), %llu extents read, "
		"%llu writes taken over, %llu dropped, %llu moved\n",
		(unsigned long long)c->extents, (unsigned long long)c->limit,
		(unsigned long long)c->hits,
		(unsigned long long)reads, (unsigned int)(reads ? c->hits * 100.0 / reads : 0),
		(unsigned long long)c->fills, (unsigned long long)c->updates,
		(unsigned long long)c->drops, (unsigned long long)c->moves);
}

static void print_tier(FILE *out, const struct volume *v)
{
	uint64_t extent = v->st.extent_sectors * SECTOR_SIZE;
	const struct tier *t = &v->tier;
	char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];
	unsigned int i;

	fprintf(out, "tier: device %d, sub-LUNs of %s, holds %s, moved up %llu, down %llu extents\n",
		t->member, human_bytes(a, t->sublun * extent), human_bytes(b, t->fast * extent),
		(unsigned long long)t->up, (unsigned long long)t->down);
	for (i = 0; i < t->nr_runs; i++) {
		const struct tier_run *r = &t->run[i];

		fprintf(out, "  concentration at %s, %s: %.1f%% of the accesses for %llu windows, "
			"%s of it there, %llu s to go\n", human_bytes(a, r->first * extent),
			human_bytes(b, r->extents * extent), (double)r->share_ppm / 1e4,
			(unsigned long long)r->windows, human_bytes(c, r->fast * extent),
			(unsigned long long)r->left_ms / 1000);
	}
}

/* What becomes of the volume when the power goes. */
static void print_survival(FILE *out, const struct volume *v)
{
	unsigned int i, lost = 0;

	for (i = 0; i < v->st.nr_devs; i++) {
		if (!v->forgets[i])
			continue;
		if (!lost++)
			fputs("volatile:", out);
		fprintf(out, " device %u (%s)", i, v->path[i]);
	}
	if (lost)
		fputs(": content does not survive a power cut (nor a reboot, but for RAM set aside),"
		      " and without it the volume is not assembled\n", out);
}

#define LOST_SHOWN	20	/* ranges; --json and the command lost have all */

void volume_print_lost(FILE *out, const struct volume *v, unsigned int shown)
{
	uint64_t extent = v->st.extent_sectors, sum = extents_sum(&v->lost);
	char size[UNIT_TEXT];
	unsigned int i;

	if (v->lost.unknown)
		fprintf(out, "UNKNOWN: of %s the map can't be read (hybridctl check says more)\n",
			human_bytes(size, v->lost.unknown * extent * SECTOR_SIZE));
	if (v->lost.partly)
		fputs("LOST: not all that is lost could be found out; there may be more\n", out);
	if (sum)
		fprintf(out, "LOST: %s in %u ranges, in sectors of the volume:\n",
			human_bytes(size, sum * extent * SECTOR_SIZE), v->lost.nr);
	for (i = 0; i < v->lost.nr && i < shown; i++)
		fprintf(out, "  %llu to %llu, with device %u\n",
			(unsigned long long)(v->lost.range[i].first * extent),
			(unsigned long long)((v->lost.range[i].first + v->lost.range[i].nr) *
					     extent - 1),
			v->lost.range[i].dev);
	if (v->lost.nr > shown)
		fprintf(out, "  and %u more\n", v->lost.nr - shown);
}

static void print_offers(FILE *out, const struct volume *v)
{
	const struct status_dev *d;
	unsigned int i;

	for (i = 0; i < v->st.nr_devs; i++) {
		d = &v->st.dev[i];
		if (d->state == DEV_DEGRADED && d->used)
			fprintf(out, "Device %u had errors: hybridctl evacuate %s %u would empty it (reinstate, if the cause is gone)\n",
				i, v->name, i);
		if (d->state == DEV_FAILED && !d->present)
			fprintf(out,
				"Device %u is not there: hybridctl attach %s DEV takes it back\n",
				i, v->name);
		if (d->state != DEV_FAILED || !d->present || !d->used || !v->has_standing)
			continue;
		if (v->standing.dev[i].leaving)
			fprintf(out, "Device %u has failed, and is to leave: "
				"what can be read of it moves\n", i);
		else
			fprintf(out, "Device %u has failed: hybridctl evacuate %s %u would move "
				"what can be read (reinstate, if the cause is gone; detach, if it is dead)\n",
				i, v->name, i);
	}
}

void volume_print(FILE *out, const struct volume *v, unsigned int width)
{
	unsigned int i;

	print_head(out, v);
	fprintf(out, "\n # %-20s %-8s %6s %6s [%-*s] %7s %7s %7s %7s %5s %7s/%s\n", "DEVICE",
		"STATE", "SHARE", "TARGET", (int)(width < BAR_MAX ? width : BAR_MAX),
		"#share |target", "READ", "WRITE", "R-P99", "W-P99", "BUSY", "FREE", "TOTAL");
	for (i = 0; i < v->st.nr_devs; i++)
		print_dev(out, v, i, width);
	fputc('\n', out);
	if (v->has_tier)
		print_tier(out, v);
	if (v->has_cache)
		print_cache(out, &v->cache);
	print_survival(out, v);
	print_offers(out, v);
	volume_print_lost(out, v, LOST_SHOWN);
	print_moves(out, &v->st);
}
