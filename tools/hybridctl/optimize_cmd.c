// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl optimize: all extents at once.  What is known of their use is planned over, the plan is
 * carried out by the same migrations that policies make, and what came of it is measured.
 *
 * There is nothing to be kept between two runs: each extent's move stands for itself, and one that
 * is cut off anywhere leaves some where they were.  The next run plans for what is left.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>

#include "commands.h"
#include "dm.h"
#include "interrupt.h"
#include "json_print.h"
#include "msg.h"
#include "plan.h"
#include "plan_gather.h"
#include "quote.h"
#include "units.h"
#include "usage.h"
#include "volume.h"
#include "window.h"

#define BUDGET		(1ULL << 30)	/* bytes */
#define WINDOW		10.0		/* seconds */
#define AT_ONCE		2		/* extents on their way */
#define MIGRATE_KBPS	131072		/* as it comes */
#define LOOK_MS		20
#define PATIENCE	500		/* looks while nothing gets on */
#define FREED		25		/* looks until a place that was left is free */
#define SHOWN		10		/* moves; --json has all */

struct asked {
	const char *name;
	uint64_t budget;
	bool budget_bytes;	/* else extents */
	double window;
	bool dry_run, json;
};

struct run {
	const struct asked *a;
	struct volume v;
	struct known known;
	struct plan plan;
	struct window before, after;
	dev_t member[PLAN_MAX_MEMBERS];	/* that the plan is for; 0: lost */
	unsigned long done, failed;	/* moves */
	char *why;			/* the first that was refused was; NULL: none */
	unsigned int patience;		/* looks for a place that was left */
	bool carried_out;
};

static void nap(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* Progress and results for people; with --json there is nothing but that. */
__attribute__((format(printf, 2, 3)))
static void tell(const struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->a->json)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* --- carried out --- */

static dev_t device_of(const struct volume *v, unsigned int i)
{
	const struct status_dev *d = &v->st.dev[i];

	return i < v->st.nr_devs && d->present ? makedev(d->major, d->minor) : 0;
}

/* The plan names members by numbers, which no lock keeps from becoming those of others. */
static bool is_as_planned(const struct run *r)
{
	unsigned int i;

	for (i = 0; i < r->plan.nr_members; i++)
		if (device_of(&r->v, i) != r->member[i]) {
			fail("%s: its members have changed since that was planned: run it again",
			     r->a->name);
			return false;
		}
	return true;
}

/*
 * Until fewer than @most are on their way; false: it is not writable, gone, or stuck, or not what
 * was planned for.
 */
static bool wait_queue(struct run *r, uint64_t most)
{
	unsigned int looks = 0, all = 0;
	uint64_t completed = UINT64_MAX;

	for (;;) {
		volume_free(&r->v);
		if (volume_look(&r->v, r->a->name, 0))
			return false;
		if (!is_as_planned(r))
			return false;
		if (r->v.st.queued < most)
			return true;
		/* A policy may always have something to move. */
		if (interrupted && all++ > PATIENCE)
			return false;
		looks = r->v.st.completed + r->v.st.failed == completed ? looks + 1 : 0;
		completed = r->v.st.completed + r->v.st.failed;
		if (r->v.st.mode != MODE_RW || looks > PATIENCE) {
			fail("%s: %s", r->a->name, looks > PATIENCE ? "migrations do not get on" :
			     "is not writable any more");
			return false;
		}
		nap(LOOK_MS);
	}
}

/* @why: the reason if it fails, in place of an earlier one; free(). */
static int send(const struct run *r, const char *message, char **why)
{
	free(*why);
	*why = NULL;
	return dm_message(r->a->name, message, NULL, why);
}

/* What stands for all if none is made. */
static void keep_first(struct run *r, const struct plan_move *m, const char *why)
{
	if (!r->why)
		r->why = xasprintf("extent %llu to member %u: %s", (unsigned long long)m->le,
				   m->to, why ? why : "refused");
}

/*
 * A place that was left is free once that is durable, which the message commit sees to, and nobody
 * reads there any more.
 */
static int move(struct run *r, const struct plan_move *m)
{
	char *message = xasprintf("move %llu %u", (unsigned long long)m->le, m->to), *why = NULL;
	unsigned int looks;
	int err = send(r, message, &why);

	for (looks = 0; err == -ENOSPC && looks < r->patience && !interrupted; looks++) {
		if (!wait_queue(r, 1) || send(r, "commit", &why))
			break;
		nap(LOOK_MS);
		err = send(r, message, &why);
	}
	if (looks == FREED)
		r->patience = 1;	/* somebody else takes what is left */
	if (err)
		keep_first(r, m, why);
	free(why);
	free(message);
	return err;
}

static bool is_there(const struct run *r, const struct plan_move *m)
{
	char *message = xasprintf("entry %llu", (unsigned long long)m->le), *reply = NULL;
	char *why = NULL;
	bool there = !dm_message(r->a->name, message, &reply, &why) && reply &&
		     *reply != '-' && strtoul(reply, NULL, 10) == m->to;	/* "-": discarded */

	free(message);
	free(reply);
	free(why);
	return there;
}

/* The moves that were begun: how many have arrived? */
static void count_done(struct run *r, unsigned long begun)
{
	unsigned long i;

	for (i = 0; i < begun; i++)
		r->done += is_there(r, &r->plan.move[i]);
	r->failed = begun - r->done;
}

/* A few may fail, as their extents have moved or are gone by then; not all of them. */
static int judge_done(const struct run *r)
{
	if (r->done || interrupted)
		return EXIT_OK;
	return fail("%s: none of %lu moves was made: %s", r->a->name, r->plan.nr_moves,
		    r->why ? r->why : "they were begun, and nothing has arrived");
}

static int carry_out(struct run *r)
{
	uint64_t kbps = status_setting(&r->v.st, "migrate_kbps", MIGRATE_KBPS);
	uint64_t bytes = r->v.st.extent_sectors * 512, owed_us = 0;
	unsigned long i, tenths = 0;
	int err = EXIT_OK;

	for (i = 0; i < r->plan.nr_moves && !interrupted; i++) {
		if (!wait_queue(r, AT_ONCE)) {
			err = EXIT_FAILED;
			break;
		}
		/* Half of an exchange would take room that is to stay free, or find none. */
		if (move(r, &r->plan.move[i]) && r->plan.move[i].with_next)
			i++;
		owed_us += kbps ? bytes * 1000000 / 1024 / kbps : 0;
		if (owed_us >= 1000 * LOOK_MS) {
			nap(owed_us / 1000);
			owed_us = 0;
		}
		if (i * 10 / r->plan.nr_moves == tenths)
			continue;
		tenths = i * 10 / r->plan.nr_moves;
		tell(r, "%lu0%%", tenths);
	}
	if (!err && !wait_queue(r, 1))
		err = EXIT_FAILED;
	r->carried_out = true;
	count_done(r, i < r->plan.nr_moves ? i : r->plan.nr_moves);
	return err ? err : judge_done(r);
}

/* --- shown --- */

/* "12.3% less"; into @buf of UNIT_TEXT bytes. */
static char *change(char *buf, double before, double after)
{
	double percent = before > 0 ? (before - after) * 100 / before : 0;

	snprintf(buf, UNIT_TEXT, "%.1f%% %s", percent < 0 ? -percent : percent,
		 percent < 0 ? "more" : "less");
	return buf;
}

static double percent_less(double before, double after)
{
	return before > 0 ? (before - after) * 100 / before : 0;
}

/* At the mix of before, for which the prediction was made. */
static double measured_ns(const struct run *r)
{
	return window_mean(&r->after, &r->before);
}

/* What was measured is as the model says only as far as it knows all extents: by its proportion. */
static double predicted_ns(const struct run *r)
{
	const struct plan *p = &r->plan;

	return p->before_ns > 0 ? r->before.mean_ns * p->after_ns / p->before_ns :
				  r->before.mean_ns;
}

static void print_ways(const struct run *r)
{
	unsigned long count[PLAN_MAX_MEMBERS][PLAN_MAX_MEMBERS] = { 0 }, i;
	uint64_t bytes = r->v.st.extent_sectors * 512;
	char text[UNIT_TEXT];
	unsigned int from, to;

	for (i = 0; i < r->plan.nr_moves; i++)
		count[r->plan.move[i].from][r->plan.move[i].to]++;
	for (from = 0; from < r->plan.nr_members; from++)
		for (to = 0; to < r->plan.nr_members; to++)
			if (count[from][to])
				tell(r, "  %lu extents, %s, from member %u to %u", count[from][to],
				     human_bytes(text, count[from][to] * bytes), from, to);
}

static void print_moves(const struct run *r)
{
	const struct plan *p = &r->plan;
	unsigned long i;
	char gain[UNIT_TEXT];

	for (i = 0; i < p->nr_moves && i < SHOWN; i++)
		tell(r, "  extent %llu, %u reads, %u writes: from %u to %u, %s%s",
		     (unsigned long long)p->move[i].le, p->move[i].reads, p->move[i].writes,
		     p->move[i].from, p->move[i].to,
		     p->move[i].makes_room ? "makes room" : "saves ",
		     p->move[i].makes_room ? "" : human_ns(gain, (uint64_t)p->move[i].gain_ns));
	if (p->nr_moves > SHOWN)
		tell(r, "  and %lu more", p->nr_moves - SHOWN);
}

static void print_plan(const struct run *r)
{
	const struct plan *p = &r->plan;
	char before[UNIT_TEXT], after[UNIT_TEXT], less[UNIT_TEXT];
	double predicted = predicted_ns(r);

	tell(r, "%lu extents are known of; %.0f requests in %.1f s took %s in the mean",
	     r->known.nr_counted, r->before.requests, r->before.seconds,
	     human_ns(before, (uint64_t)r->before.mean_ns));
	if (!p->nr_moves) {
		tell(r, "no move is worth its copy");
		return;
	}
	tell(r, "planned:");
	print_ways(r);
	print_moves(r);
	tell(r, "predicted: %s, %s", human_ns(after, (uint64_t)predicted),
	     change(less, r->before.mean_ns, predicted));
}

static void print_result(const struct run *r)
{
	char predicted[UNIT_TEXT], measured[UNIT_TEXT], less[UNIT_TEXT], did[UNIT_TEXT];

	tell(r, "moved: %lu of %lu%s", r->done, r->plan.nr_moves,
	     interrupted ? ", interrupted; run it again to go on" : "");
	if (!r->after.requests)
		return;
	tell(r, "predicted %s, %s; measured %s, %s, at the mix of reads and writes\n"
	     "of before (%.0f requests in %.1f s)",
	     human_ns(predicted, (uint64_t)predicted_ns(r)),
	     change(less, r->before.mean_ns, predicted_ns(r)),
	     human_ns(measured, (uint64_t)measured_ns(r)),
	     change(did, r->before.mean_ns, measured_ns(r)), r->after.requests,
	     r->after.seconds);
}

static json_t *window_json(const struct window *w)
{
	return json_pack("{s:f, s:f, s:f}", "seconds", w->seconds, "requests", w->requests,
			 "mean_us", w->mean_ns / 1e3);
}

static json_t *move_json(const struct plan_move *m)
{
	return json_pack("{s:I, s:i, s:i, s:I, s:I, s:f, s:b}", "extent", (json_int_t)m->le,
			 "from", (int)m->from, "to", (int)m->to, "reads", (json_int_t)m->reads,
			 "writes", (json_int_t)m->writes, "gain_us", m->gain_ns / 1e3,
			 "makes_room", m->makes_room);
}

static int print_json(const struct run *r)
{
	json_t *moves = json_array(), *all;
	const struct plan *p = &r->plan;
	unsigned long i;

	for (i = 0; i < p->nr_moves; i++)
		json_array_append_new(moves, move_json(&p->move[i]));
	all = json_pack("{s:o, s:I, s:o, s:o, s:f, s:f, s:b, s:b, s:I, s:I, s:o, s:o, s:o}",
			"name", text_json(r->a->name),
			"extents_known", (json_int_t)r->known.nr_counted,
			"moves", moves, "before", window_json(&r->before),
			"predicted_us", predicted_ns(r) / 1e3,
			"predicted_gain", percent_less(r->before.mean_ns, predicted_ns(r)) / 100,
			"dry_run", r->a->dry_run, "interrupted", interrupted != 0,
			"moved", (json_int_t)r->done, "not_moved", (json_int_t)r->failed,
			"after", r->after.requests > 0 ? window_json(&r->after) : json_null(),
			"measured_us", r->after.requests > 0 ?
				json_real(measured_ns(r) / 1e3) : json_null(),
			"measured_gain", r->after.requests > 0 ?
				json_real(percent_less(r->before.mean_ns, measured_ns(r)) / 100) :
				json_null());
	return json_print(stdout, all, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
}

/* --- the command --- */

/* A plain number is extents, one with a unit is a size. */
static bool parse_budget(const char *text, struct asked *a)
{
	a->budget_bytes = !parse_u64(text, &a->budget);
	return (!a->budget_bytes || parse_size(text, &a->budget)) && a->budget;
}

static int optimize(struct run *r)
{
	uint64_t extent = r->v.st.extent_sectors * 512;
	unsigned long budget = r->a->budget / (r->a->budget_bytes ? extent : 1);
	char size[UNIT_TEXT];
	unsigned int i;
	int err;

	if (!budget)
		return fail("%s: --budget: extents are of %s, less moves none", r->a->name,
			    human_bytes(size, extent));
	tell(r, "measuring for %.1f s", r->a->window);
	err = window_measure(&r->before, r->a->name, r->a->window);
	if (!err && !interrupted)
		err = known_read(&r->known, &r->v);
	if (!err && interrupted)
		return fail("%s: interrupted, nothing was moved", r->a->name);
	if (err)
		return err;
	plan_gather(&r->plan, &r->known, &r->v, &r->before, budget);
	if (interrupted)
		return fail("%s: interrupted, nothing was moved", r->a->name);
	plan_make(&r->plan, budget);
	for (i = 0; i < r->plan.nr_members; i++)
		r->member[i] = device_of(&r->v, i);
	print_plan(r);
	if (!r->a->dry_run && r->plan.nr_moves) {
		err = carry_out(r);
		if (!err && !interrupted) {
			tell(r, "measuring for %.1f s", r->a->window);
			err = window_measure(&r->after, r->a->name, r->a->window);
		}
		print_result(r);
	}
	if (r->a->json && print_json(r))
		err = EXIT_FAILED;
	return err || interrupted ? EXIT_FAILED : EXIT_OK;
}

static int parse(int argc, char **argv, struct asked *a)
{
	static const struct option options[] = {
		{ "budget", required_argument, NULL, 'b' },
		{ "window", required_argument, NULL, 'w' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	char *end;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'b':
			if (!parse_budget(optarg, a))
				return usage_error("--budget %s: neither extents nor a size",
						   optarg);
			break;
		case 'w':
			a->window = strtod(optarg, &end);
			if (end == optarg || *end || !(a->window >= 0.1 && a->window <= 86400))
				return usage_error("--window %s: must be 0.1 to 86400", optarg);
			break;
		case 'n':
			a->dry_run = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			exit(command_help());
		default:
			return bad_option(argv);
		}
	}
	if (argc - optind != 1)
		return usage_error("one name is needed");
	a->name = argv[optind];
	return EXIT_OK;
}

int cmd_optimize(int argc, char **argv)
{
	struct asked a = { .budget = BUDGET, .budget_bytes = true, .window = WINDOW };
	struct run r = { .a = &a, .patience = FREED };
	int err = parse(argc, argv, &a);

	if (err)
		return err;
	if (volume_look(&r.v, a.name, 0))
		return EXIT_FAILED;
	catch_interrupts();
	err = optimize(&r);
	volume_free(&r.v);
	known_free(&r.known);
	free(r.plan.extent);
	plan_free(&r.plan);
	free(r.why);
	return err;
}
