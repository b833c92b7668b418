// SPDX-License-Identifier: GPL-2.0-only
/* The simulation itself; see sim.h. */
#include <math.h>
#include "rtmath.h"
#include "policy_util.h"
#include "sim.h"

#define MAX_PROCESSES	256
#define MOVERS		2
#define MAX_REQUESTS	(MAX_PROCESSES + MOVERS)
#define CAPACITY	(4 * SIM_EXTENTS)
#define NOWHERE		0xff

/* A process's request or a copy: read at @dev, then written at @to. */
struct request {
	unsigned int id;
	unsigned int dev;
	u64 start, end;
	u64 le;
	bool copy, writing;
	unsigned int to;
};

struct device {
	struct sim_dev model;
	unsigned int busy;
	struct request *queue[MAX_REQUESTS];
	unsigned int head, queued;
	u64 count, sum_ns, ewma;
	u32 free;
};

struct sim {
	const struct sim_config *config;
	u64 now, random;
	struct device dev[4];
	struct request request[MAX_REQUESTS];
	struct request *heap[MAX_REQUESTS];
	unsigned int heap_nr;
	u8 map[SIM_EXTENTS];
	u64 next_new;
	struct hy_policy *policy;
	struct hy_snapshot snap;
	struct hy_decision tokens;
	struct hy_heat heat;
	bool moving[MOVERS];
	u64 moves;
};

static double uniform(struct sim *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (s->random * 0x2545f4914f6cdd1dULL >> 11) / 9007199254740992.0;
}

/* Three uniforms: mean 1, standard deviation @cv, never below 0.1. */
static double variation(struct sim *s, double cv)
{
	double v = 1 + cv * 2 * (uniform(s) + uniform(s) + uniform(s) - 1.5);

	return v < 0.1 ? 0.1 : v;
}

static bool before(const struct request *a, const struct request *b)
{
	return a->end != b->end ? a->end < b->end : a->id < b->id;
}

static void heap_push(struct sim *s, struct request *r)
{
	unsigned int i = s->heap_nr++;

	for (; i && before(r, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = r;
}

static struct request *heap_pop(struct sim *s)
{
	struct request *first = s->heap[0], *last = s->heap[--s->heap_nr];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < s->heap_nr) {
		if (child + 1 < s->heap_nr && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return first;
}

static void serve(struct sim *s, struct device *d, struct request *r)
{
	double us = r->copy ? d->model.move_us : d->model.us;

	r->end = s->now + llround(us * 1000 * variation(s, d->model.cv));
	heap_push(s, r);
}

static void submit(struct sim *s, struct request *r, unsigned int dev)
{
	struct device *d = &s->dev[dev];

	r->dev = dev;
	r->start = s->now;
	if (d->busy < d->model.servers) {
		d->busy++;
		serve(s, d, r);
	} else {
		d->queue[(d->head + d->queued++) % MAX_REQUESTS] = r;
	}
}

static void next_in_queue(struct sim *s, struct device *d)
{
	if (!d->queued) {
		d->busy--;
		return;
	}
	d->queued--;
	serve(s, d, d->queue[d->head]);
	d->head = (d->head + 1) % MAX_REQUESTS;
}

static void put(struct sim *s, u64 le, unsigned int member)
{
	if (s->map[le] != NOWHERE)
		s->snap.dev[s->map[le]].free++;
	s->map[le] = member;
	s->snap.dev[member].free--;
}

static void allocate(struct sim *s, u64 le)
{
	int member = hy_policy_place(s->policy, &s->snap, &s->tokens, le);

	if (member < 0)
		abort();
	put(s, le, member);
}

static void issue(struct sim *s, struct request *r)
{
	if (s->config->new_writes) {
		r->le = s->next_new++ % SIM_EXTENTS;
		allocate(s, r->le);
	} else {
		r->le = uniform(s) * SIM_EXTENTS;
	}
	hy_heat_touch(&s->heat, r->le, s->map[r->le], GFP_KERNEL);
	submit(s, r, s->map[r->le]);
}

static int largest(const u32 *tokens, unsigned int nr)
{
	unsigned int i, best = 0;

	for (i = 1; i < nr; i++)
		if (tokens[i] > tokens[best])
			best = i;
	return tokens[best] ? (int)best : -1;
}

/* What the tokens leave to migration: from the largest giver to the largest receiver. */
static void start_moves(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < MOVERS; i++) {
		struct request *r = &s->request[MAX_PROCESSES + i];
		int from = largest(s->tokens.give, s->config->nr);
		int to = largest(s->tokens.receive, s->config->nr);

		if (s->moving[i] || from < 0 || to < 0)
			continue;
		s->tokens.give[from]--;
		s->tokens.receive[to]--;
		if (!hy_heat_pick(&s->heat, from, s->now, 2 * SIM_PERIOD_NS, &r->le, 1))
			continue;
		/* so that it isn't picked twice */
		hy_heat_moved(&s->heat, r->le, from, s->now);
		s->moving[i] = true;
		r->to = to;
		r->writing = false;
		submit(s, r, from);
	}
}

static void copy_done(struct sim *s, struct request *r)
{
	if (!r->writing) {
		r->writing = true;
		submit(s, r, r->to);
		return;
	}
	put(s, r->le, r->to);
	hy_heat_moved(&s->heat, r->le, r->to, s->now);
	s->moving[r->id - MAX_PROCESSES] = false;
	s->moves++;
	start_moves(s);
}

static void complete(struct sim *s, struct request *r)
{
	struct device *d = &s->dev[r->dev];

	next_in_queue(s, d);
	if (r->copy) {
		copy_done(s, r);
		return;
	}
	d->count++;
	d->sum_ns += s->now - r->start;
	d->ewma = ek_rt_ewma_next(d->ewma, ek_rt_clamp(s->now - r->start));
	issue(s, r);
}

static void run_until(struct sim *s, u64 end)
{
	while (s->heap_nr && s->heap[0]->end <= end) {
		struct request *r = heap_pop(s);

		s->now = r->end;
		complete(s, r);
	}
	s->now = end;
}

/* The period's measurements into the snapshot; returns the requests. */
static u64 measure(struct sim *s)
{
	u64 weight[4], total = 0;
	u32 share[4];
	unsigned int i, nr = s->config->nr;

	for (i = 0; i < nr; i++) {
		weight[i] = s->dev[i].count;
		total += weight[i];
	}
	hy_apportion(share, weight, nr, HY_PPM);
	for (i = 0; i < nr; i++) {
		struct device *d = &s->dev[i];
		struct hy_dev_snap *snap = &s->snap.dev[i];

		snap->requests = d->count;
		snap->share = share[i];
		snap->mean_ns = d->count ? d->sum_ns / d->count : 0;
		snap->ewma_ns = ek_rt_ewma_ns(d->ewma);
		d->count = 0;
		d->sum_ns = 0;
	}
	return total;
}

static void init(struct sim *s, const struct sim_config *c)
{
	const char *reason;
	unsigned int i;
	u64 le;

	memset(s, 0, sizeof(*s));
	s->config = c;
	s->random = c->seed ? c->seed : 1;
	s->snap.nr = c->nr;
	s->snap.period_ns = SIM_PERIOD_NS;
	for (i = 0; i < c->nr; i++) {
		s->dev[i].model = c->dev[i];
		s->snap.dev[i].usable = true;
		s->snap.dev[i].extents = CAPACITY;
		s->snap.dev[i].free = CAPACITY;
	}
	if (hy_policy_create(c->policy, c->nr, &s->policy))
		abort();
	for (i = 0; c->params && c->params[i]; i += 2) {
		if (hy_policy_set(s->policy, c->params[i], c->params[i + 1], &reason)) {
			fprintf(stderr, "%s=%s: %s\n", c->params[i], c->params[i + 1], reason);
			exit(2);
		}
	}
	hy_heat_init(&s->heat, SIM_EXTENTS);
	memset(s->map, NOWHERE, sizeof(s->map));
	for (le = 0; le < SIM_EXTENTS; le++)
		allocate(s, le);
	for (i = 0; i < MAX_REQUESTS; i++)
		s->request[i] = (struct request){ .id = i, .copy = i >= MAX_PROCESSES };
	for (i = 0; i < c->processes; i++)
		issue(s, &s->request[i]);
}

static void destroy(struct sim *s)
{
	hy_heat_destroy(&s->heat);
	hy_policy_destroy(s->policy);
}

static u64 hash(u64 h, u64 v)
{
	return (h ^ v) * 0x100000001b3ULL;
}

struct totals {
	u64 requests, count[4];
	double time_us[4];
	double sum[4], sum2[4];
	unsigned int periods;
};

static void account(struct totals *t, const struct sim *s, u64 requests)
{
	unsigned int i;

	t->requests += requests;
	t->periods++;
	for (i = 0; i < s->config->nr; i++) {
		const struct hy_dev_snap *d = &s->snap.dev[i];
		double share = d->share / 1e4;

		t->count[i] += d->requests;
		t->time_us[i] += d->mean_ns / 1e3 * d->requests;
		t->sum[i] += share;
		t->sum2[i] += share * share;
	}
}

static void summarise(struct sim_result *r, const struct totals *t, unsigned int nr)
{
	unsigned int i, n = t->periods;

	r->iops = t->requests / (n * (SIM_PERIOD_NS / 1e9));
	for (i = 0; i < nr; i++) {
		double mean = t->sum[i] / n;
		double var = t->sum2[i] / n - mean * mean;

		r->share[i] = mean;
		r->share_sd = fmax(r->share_sd, sqrt(fmax(var, 0)));
		r->mean_us[i] = t->count[i] ? t->time_us[i] / t->count[i] : 0;
	}
}

struct sim_result sim_run(const struct sim_config *config)
{
	struct sim *s = malloc(sizeof(*s));
	struct sim_result result = {};
	struct totals totals = {};
	unsigned int p, i;
	u64 requests;

	if (!s)
		abort();
	init(s, config);
	for (p = 0; p < config->periods; p++) {
		run_until(s, (p + 1) * SIM_PERIOD_NS);
		requests = measure(s);
		if (p >= config->periods / 2)
			account(&totals, s, requests);
		for (i = 0; i < config->nr; i++) {
			result.hash = hash(result.hash, s->snap.dev[i].requests);
			result.hash = hash(result.hash, s->snap.dev[i].mean_ns);
		}
		hy_policy_period(s->policy, &s->snap, &s->tokens);
		start_moves(s);
	}
	result.moves = s->moves;
	summarise(&result, &totals, config->nr);
	destroy(s);
	free(s);
	return result;
}
