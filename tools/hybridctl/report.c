// SPDX-License-Identifier: GPL-2.0-only
/* See report.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chart.h"
#include "msg.h"
#include "report.h"
#include "status.h"

#define REASONS_DRAWN	8	/* those counted most; the table has all */

struct report {
	FILE *out;
	const json_t *lines;
	unsigned long nr;	/* lines */
	unsigned int members;
	double *at;
};

static const json_t *line_of(const struct report *r, unsigned long j)
{
	return json_array_get(r->lines, j);
}

static const json_t *member_of(const struct report *r, unsigned long j, unsigned int i)
{
	return json_array_get(json_object_get(line_of(r, j), "devices"), i);
}

static double number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static struct series *add(const struct report *r, struct chart *c, char *name)
{
	struct series *s;
	unsigned long j;

	c->series = xrealloc(c->series, (c->nr_series + 1) * sizeof(*c->series));
	s = &c->series[c->nr_series++];
	s->name = name;
	s->value = xcalloc(r->nr, sizeof(*s->value));
	for (j = 0; j < r->nr; j++)
		s->value[j] = NAN;
	return s;
}

static void end(struct chart *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_series; i++) {
		free(c->series[i].name);
		free(c->series[i].value);
	}
	free(c->series);
}

static void print(const struct report *r, struct chart *c)
{
	c->time = r->at;
	c->nr = r->nr;
	chart_print(r->out, c);
	end(c);
}

/* How fast a counter in object @of rose since the line before, times @scale. */
static void add_rate(const struct report *r, struct chart *c, char *name, const char *of,
		     const char *key, double scale)
{
	struct series *s = add(r, c, name);
	unsigned long j;

	for (j = 1; j < r->nr; j++) {
		double now = number(json_object_get(line_of(r, j), of), key);
		double before = number(json_object_get(line_of(r, j - 1), of), key);
		double seconds = r->at[j] - r->at[j - 1];

		if (now >= before && seconds > 0)
			s->value[j] = (now - before) * scale / seconds;
	}
}

/* A member's number; @none: what says that there is no value. */
static void add_member(const struct report *r, struct chart *c, const char *what, unsigned int i,
		       const char *key, double scale, double none)
{
	struct series *s = add(r, c, xasprintf("%s, member %u", what, i));
	unsigned long j;

	for (j = 0; j < r->nr; j++) {
		double v = number(member_of(r, j, i), key);

		if (!isnan(v) && fabs(v - none) > 0)
			s->value[j] = v * scale;
	}
}

static void print_throughput(const struct report *r)
{
	struct chart bytes = { .title = "Throughput", .unit = "MB/s" };
	struct chart requests = { .title = "Requests", .unit = "1/s" };

	add_rate(r, &bytes, xstrdup("read MB/s"), "io", "read_bytes", 1e-6);
	add_rate(r, &bytes, xstrdup("written MB/s"), "io", "write_bytes", 1e-6);
	print(r, &bytes);
	add_rate(r, &requests, xstrdup("reads/s"), "io", "reads", 1);
	add_rate(r, &requests, xstrdup("writes/s"), "io", "writes", 1);
	print(r, &requests);
}

static void print_times(const struct report *r)
{
	struct chart mean = { .title = "Response times, mean of a period", .unit = "us" };
	struct chart late = { .title = "Response times, 99th percentile of a period",
			      .unit = "us" };
	unsigned int i;

	for (i = 0; i < r->members; i++) {
		add_member(r, &mean, "read us", i, "read_us", 1, 0);
		add_member(r, &mean, "write us", i, "write_us", 1, 0);
		add_member(r, &late, "read p99 us", i, "read_p99_us", 1, 0);
		add_member(r, &late, "write p99 us", i, "write_p99_us", 1, 0);
	}
	print(r, &mean);
	print(r, &late);
}

static void print_shares(const struct report *r)
{
	struct chart c = { .title = "Shares of the requests, and what the policy aims at",
			   .unit = "%" };
	unsigned int i;

	for (i = 0; i < r->members; i++) {
		add_member(r, &c, "share %", i, "share", 100, -1);
		add_member(r, &c, "target %", i, "target", 100, -1);
	}
	print(r, &c);
}

static void print_migrations(const struct report *r)
{
	struct chart c = { .title = "Migrations", .unit = "1/s" };
	struct chart bytes = { .title = "Migrated", .unit = "MB/s" };

	add_rate(r, &c, xstrdup("completed/s"), "migrations", "completed", 1);
	add_rate(r, &c, xstrdup("failed/s"), "migrations", "failed", 1);
	print(r, &c);
	add_rate(r, &bytes, xstrdup("migrated MB/s"), "migrations", "bytes", 1e-6);
	print(r, &bytes);
}

static void print_used(const struct report *r)
{
	struct chart c = { .title = "Extents in use", .unit = "%" };
	unsigned long j;
	unsigned int i;

	for (i = 0; i < r->members; i++) {
		struct series *s = add(r, &c, xasprintf("used %%, member %u", i));

		for (j = 0; j < r->nr; j++) {
			const json_t *e = json_object_get(member_of(r, j, i), "extents");
			double all = number(e, "total");

			if (all > 0)
				s->value[j] = number(e, "used") * 100 / all;
		}
	}
	print(r, &c);
}

/* --- why extents stayed --- */

struct reason {
	const char *name;
	double count;
};

static int by_count(const void *a, const void *b)
{
	const struct reason *x = a, *y = b;

	if (x->count > y->count || x->count < y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Within the recording, most first; a counter that is smaller at last began anew. */
static struct reason *reasons_of(const struct report *r, unsigned int *nr)
{
	json_t *last = json_object_get(line_of(r, r->nr - 1), "not_migrated"), *v;
	const json_t *first = json_object_get(line_of(r, 0), "not_migrated");
	struct reason *reason = xcalloc(json_object_size(last), sizeof(*reason));
	const char *name;

	*nr = 0;
	json_object_foreach(last, name, v) {
		double before = number(first, name), now = json_number_value(v);

		reason[(*nr)++] = (struct reason){ name, before <= now ? now - before : now };
	}
	if (*nr)
		qsort(reason, *nr, sizeof(*reason), by_count);
	return reason;
}

static void print_reasons(const struct report *r)
{
	struct chart c = { .title = "Why extents stayed", .unit = "1/s" };
	struct reason *reason;
	unsigned int nr, i;

	reason = reasons_of(r, &nr);
	for (i = 0; i < nr && i < REASONS_DRAWN && reason[i].count > 0; i++)
		add_rate(r, &c, xasprintf("%s/s", reason[i].name), "not_migrated",
			 reason[i].name, 1);
	print(r, &c);
	fputs("<table id=\"reasons\"><tr><th>reason</th><th>times left, or had to wait</th></tr>\n",
	      r->out);
	for (i = 0; i < nr; i++) {
		fputs("<tr><td>", r->out);
		chart_text(r->out, reason[i].name);
		fprintf(r->out, "</td><td>%.0f</td></tr>\n", reason[i].count);
	}
	fputs("</table>\n", r->out);
	free(reason);
}

/* --- members --- */

static void print_states(const struct report *r)
{
	struct chart c = { .title = "States of the members", .unit = "" };
	const char ***state = xcalloc(r->members, sizeof(*state));
	unsigned long j;
	unsigned int i;

	for (i = 0; i < r->members; i++) {
		add(r, &c, xasprintf("member %u", i));
		state[i] = xcalloc(r->nr, sizeof(**state));
		for (j = 0; j < r->nr; j++)
			state[i][j] = json_string_value(json_object_get(member_of(r, j, i),
									"state"));
	}
	c.time = r->at;
	c.nr = r->nr;
	chart_print_states(r->out, &c, (const char * const * const *)state);
	end(&c);
	for (i = 0; i < r->members; i++)
		free(state[i]);
	free(state);
}

static void print_members(const struct report *r)
{
	unsigned int i;

	fputs("<table id=\"members\"><tr><th>member</th><th>device</th><th>state at the end</th>"
	      "<th>extents used</th><th>of</th></tr>\n", r->out);
	for (i = 0; i < r->members; i++) {
		const json_t *m = member_of(r, r->nr - 1, i), *e = json_object_get(m, "extents");

		fprintf(r->out, "<tr><td>%u</td><td>", i);
		chart_text(r->out, string(m, "path"));
		fputs("</td><td>", r->out);
		chart_text(r->out, string(m, "state"));
		fprintf(r->out, "</td><td>%.0f</td><td>%.0f</td></tr>\n", number(e, "used"),
			number(e, "total"));
	}
	fputs("</table>\n", r->out);
}

/* "-": there is none, or it is none that a calendar has. */
static void time_text(char *text, size_t size, double seconds)
{
	struct tm tm;
	time_t t;

	snprintf(text, size, "-");
	if (!(fabs(seconds) <= 1e15))
		return;
	t = (time_t)seconds;
	if (gmtime_r(&t, &tm))
		strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &tm);
}

static void print_head(const struct report *r)
{
	const json_t *first = line_of(r, 0), *last = line_of(r, r->nr - 1);
	char when[64];

	time_text(when, sizeof(when), number(first, "time"));
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", r->out);
	chart_text(r->out, string(first, "name"));
	fputs("</title>\n<style>body{font-family:sans-serif;max-width:960px;margin:1em auto}"
	      "svg{width:100%;font-size:11px}h2{font-size:1.1em}td,th{padding:0 1em 0 0;"
	      "text-align:left}</style></head><body>\n<h1>", r->out);
	chart_text(r->out, string(first, "name"));
	fputs("</h1>\n<p>From ", r->out);
	chart_text(r->out, when);
	fprintf(r->out, ", %.1f s in %lu looks; policy ", r->at[r->nr - 1] - r->at[0], r->nr);
	chart_text(r->out, string(first, "policy"));
	if (strcmp(string(first, "policy"), string(last, "policy"))) {
		fputs(", at the end ", r->out);
		chart_text(r->out, string(last, "policy"));
	}
	fprintf(r->out, "; errors %.0f.</p>\n", number(last, "errors"));
}

void report_print(FILE *out, const json_t *lines)
{
	struct report r = { .out = out, .lines = lines, .nr = json_array_size(lines) };
	unsigned long j;

	r.at = xcalloc(r.nr, sizeof(*r.at));
	for (j = 0; j < r.nr; j++) {
		unsigned int n = json_array_size(json_object_get(line_of(&r, j), "devices"));

		r.at[j] = number(line_of(&r, j), "at");
		r.members = n > r.members ? n : r.members;
	}
	print_head(&r);
	print_members(&r);
	print_throughput(&r);
	print_times(&r);
	print_shares(&r);
	print_migrations(&r);
	print_reasons(&r);
	print_states(&r);
	print_used(&r);
	fputs("</body></html>\n", out);
	free(r.at);
}
