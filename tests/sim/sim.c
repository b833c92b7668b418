// SPDX-License-Identifier: GPL-2.0-only
/* The simulation itself; see sim.h. */
#include <math.h>
#include "policy_util.h"
#include "sim_internal.h"

#define CAPACITY	(4 * SIM_EXTENTS)
#define TICK_NS		100000000ULL
#define MOVER_TICK_NS	10000000ULL	/* while there is something to move */

void sim_put(struct sim *s, u64 le, unsigned int member)
{
	if (s->map[le] != NOWHERE)
		s->snap.dev[s->map[le]].free++;
	s->map[le] = member;
	if (!s->snap.dev[member].free)
		abort();
	s->snap.dev[member].free--;
}

static void allocate(struct sim *s, u64 le)
{
	int member = hy_policy_place(s->policy, &s->snap, &s->tokens, le);

	if (member < 0)
		abort();
	s->first++;
	sim_put(s, le, member);
}

/* To the extent and in the direction that the request has. */
static void submit(struct sim *s, struct request *r)
{
	r->active = true;
	r->start = s->now;
	sim_note_access(s, r);
	r->start = ek_rtmon_start(s->dev[s->map[r->le]].mon);
	sim_submit(s, r, s->map[r->le]);
}

static void issue(struct sim *s, struct request *r, bool burst)
{
	const struct sim_config *c = s->config;
	double fresh = burst == !!c->cycle.burst ? c->fresh : 0;

	r->le = sim_next_extent(s);
	while (burst && c->apart && c->writes && !sim_is_written(s, r->le))
		r->le = sim_next_extent(s);
	if (c->load == SIM_NEW_WRITES || (fresh && sim_uniform(s) < fresh))
		allocate(s, r->le);
	r->dir = burst || sim_writes(s, r->le) ? EK_WRITE : EK_READ;
	submit(s, r);
}

/* A process's first request; those that are in a burst follow. */
static struct request *requests_of(struct sim *s, unsigned int process)
{
	return &s->request[process * max(s->config->cycle.burst, 1u)];
}

static void go_on(struct sim *s, unsigned int process)
{
	const struct sim_cycle *c = &s->config->cycle;
	unsigned int i, singles = c->burst ? c->singles : max(c->singles, 1u);
	struct request *r = requests_of(s, process);
	struct process *p = &s->process[process];

	p->started = process < s->processes;
	if (!p->started)
		return;
	if (p->at > singles || (p->at == singles && !c->burst)) {
		p->at = 0;
		if (c->think_us) {
			p->pending = 1;
			sim_pause(s, r, c->think_us);
			return;
		}
	}
	p->pending = p->at == singles ? c->burst : 1;
	for (i = 0; i < p->pending; i++)
		issue(s, r + i, p->at == singles);
	p->at++;
}

static void start_processes(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->processes; i++)
		go_on(s, i);
}

/* As files are copied to a new volume: the next piece is written when the last one is. */
static void fill_or_start(struct sim *s)
{
	unsigned int i, n = min_t(u64, s->config->fill, SIM_EXTENTS - s->filled);

	if (!n) {
		start_processes(s);
		return;
	}
	s->filling = n;
	for (i = 0; i < n; i++) {
		if (s->map[s->filled] == NOWHERE)
			allocate(s, s->filled);
		s->request[i].le = s->filled++;
		s->request[i].dir = EK_WRITE;
		submit(s, &s->request[i]);
	}
}

static void complete(struct sim *s, struct request *r)
{
	unsigned int process;

	shim_cpu = r->id % SHIM_CPUS;
	if (r->copy) {
		sim_copy_done(s, r);
		return;
	}
	if (r->probe) {
		sim_probe_done(s, r);
		return;
	}
	if (!r->pause)
		ek_rtmon_end(s->dev[r->dev].mon, r->dir, 4096, r->start);
	r->pause = false;
	if (s->filling) {
		if (!--s->filling)
			fill_or_start(s);
		return;
	}
	process = r->id / max(s->config->cycle.burst, 1u);
	if (!--s->process[process].pending)
		go_on(s, process);
}

static void run_until(struct sim *s, u64 end)
{
	struct request *r;

	while ((r = sim_next_done(s, end)))
		complete(s, r);
}

/* The period's measurements into the snapshot; returns the requests. */
static u64 measure(struct sim *s)
{
	struct hy_traffic traffic[SIM_DEVS] = { };
	u64 weight[SIM_DEVS] = { }, total = 0;
	u32 share[SIM_DEVS];
	unsigned int i, nr = s->config->nr;

	for (i = 0; i < nr; i++) {
		share[i] = s->snap.dev[i].share;
		traffic[i].before = s->dev[i].sample.inflight;
		ek_rtmon_sample(s->dev[i].mon, &s->dev[i].sample);
		weight[i] = s->dev[i].sample.dir[EK_READ].count +
			    s->dev[i].sample.dir[EK_WRITE].count;
		traffic[i].ended = weight[i];
		traffic[i].after = s->dev[i].sample.inflight;
		total += weight[i];
	}
	s->snap.first = s->first;
	s->first = 0;
	hy_measure_shares(share, traffic, nr);
	for (i = 0; i < nr; i++) {
		struct ek_rt_sample *sample = &s->dev[i].sample;
		struct hy_dev_snap *snap = &s->snap.dev[i];

		snap->requests = weight[i];
		snap->reads = sample->dir[EK_READ].count;
		snap->share = share[i];
		snap->mean_ns = weight[i] ? (sample->dir[EK_READ].sum_ns +
					     sample->dir[EK_WRITE].sum_ns) / weight[i] : 0;
		snap->read_ns = ek_rt_mean(&sample->dir[EK_READ]);
		snap->write_ns = ek_rt_mean(&sample->dir[EK_WRITE]);
		snap->ewma_ns = sample->ewma_all_ns;
		snap->occupancy_ns = sample->occupancy_ns;
		snap->background_ns = sample->background_ns;
		snap->quiet = sample->quiet;
		sim_probe_sample(&s->dev[i], snap);
	}
	return total;
}

static void set_params(struct sim *s)
{
	const char *const *p = s->config->params;
	const char *reason;

	for (; p && *p; p += 2) {
		if (hy_policy_set_any(s->policy, &s->set, p[0], p[1], &reason)) {
			fprintf(stderr, "%s=%s: %s\n", p[0], p[1], reason);
			exit(2);
		}
	}
}

static void init_devices(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->nr; i++) {
		s->dev[i].model = s->config->dev[i];
		s->dev[i].mon = ek_rtmon_create();
		if (!s->dev[i].mon)
			abort();
		s->snap.dev[i].usable = true;
		s->snap.dev[i].extents = s->dev[i].model.extents ?: CAPACITY;
		s->snap.dev[i].free = s->snap.dev[i].extents;
	}
}

static void end_period(struct sim *s)
{
	s->snap.now_ns = s->now;
	hy_policy_period(s->policy, &s->snap, &s->decision);
	while (hy_policy_go_on(s->policy, &s->snap))
		;
}

/* A new pool, before anything is written. */
static void probe_first(struct sim *s)
{
	end_period(s);
	while (s->decision.probe_now && !sim_probes_are_known(s)) {
		run_until(s, s->now + MOVER_TICK_NS);
		sim_probe_tick(s);
	}
	measure(s);
	end_period(s);
	s->tokens = s->decision;
}

static void init(struct sim *s, const struct sim_config *c)
{
	unsigned int i;
	u64 le;

	memset(s, 0, sizeof(*s));
	shim_now = 0;
	shim_cpu = 0;
	s->config = c;
	s->random = c->seed ? c->seed : 1;
	s->processes = c->processes;
	s->snap.nr = c->nr;
	s->snap.period_ns = SIM_PERIOD_NS;
	s->snap.logical_extents = SIM_EXTENTS;
	s->snap.extent_sectors = EXTENT_KB * 2;
	init_devices(s);
	if (hy_policy_create(c->policy, c->nr, &s->policy))
		abort();
	hy_settings_init(&s->set);
	set_params(s);
	s->snap.cooldown_ns = s->set.cooldown_ms * 1000000ULL;
	hy_heat_init(&s->heat, s->set.candidates);
	memset(s->map, NOWHERE, sizeof(s->map));
	sim_load_init(s);
	for (i = 0; i < MAX_REQUESTS; i++)
		s->request[i] = (struct request){
			.id = i,
			.copy = i >= MAX_PROCESSES && i < MAX_PROCESSES + MAX_MOVERS,
			.probe = i >= MAX_PROCESSES + MAX_MOVERS,
		};
	if (c->start == SIM_PROBED)
		probe_first(s);
	for (le = 0; le < SIM_EXTENTS; le++) {
		if (c->start >= 0)
			sim_put(s, le, c->start);
		else if (!c->fill)
			allocate(s, le);
	}
	fill_or_start(s);
}

static void destroy(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->nr; i++)
		ek_rtmon_destroy(s->dev[i].mon);
	sim_load_destroy(s);
	hy_heat_destroy(&s->heat);
	hy_policy_destroy(s->policy);
}

static void change(struct sim *s, const struct sim_step *step)
{
	unsigned int i, old = s->processes;

	if (step->slower) {
		s->dev[step->dev].model.us *= step->slower;
		s->dev[step->dev].model.write_us *= step->slower;
	}
	if (step->processes)
		s->processes = step->processes;
	for (i = old; i < s->processes; i++)
		if (!s->process[i].started)
			go_on(s, i);
}

static u64 hash(u64 h, u64 v)
{
	return (h ^ v) * 0x100000001b3ULL;
}

/* What is kept of every period. */
struct record {
	u64 requests, moves;
	u64 count[SIM_DEVS];
	double us[SIM_DEVS];
	double share[SIM_DEVS];
};

static void note(struct record *r, const struct sim *s, u64 requests)
{
	unsigned int i;

	r->requests = requests;
	r->moves = s->moves;
	for (i = 0; i < s->config->nr; i++) {
		r->count[i] = s->snap.dev[i].requests;
		r->us[i] = s->snap.dev[i].mean_ns / 1e3;
		r->share[i] = s->snap.dev[i].share / 1e4;
	}
}

static void summarise_dev(struct sim_result *r, const struct record *rec, unsigned int from,
			  unsigned int to, unsigned int dev)
{
	double sum = 0, sum2 = 0, us = 0, count = 0, n = to - from;
	unsigned int p;

	for (p = from; p < to; p++) {
		sum += rec[p].share[dev];
		sum2 += rec[p].share[dev] * rec[p].share[dev];
		us += rec[p].us[dev] * rec[p].count[dev];
		count += rec[p].count[dev];
	}
	r->share[dev] = sum / n;
	r->mean_us[dev] = count ? us / count : 0;
	r->share_sd = fmax(r->share_sd, sqrt(fmax(sum2 / n - sum / n * sum / n, 0)));
}

/* What a member needs for an extent at most, if it does nothing else. */
static double copy_us(const struct sim_config *c)
{
	double us = 0;
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		us = fmax(us, c->dev[i].move_us / c->dev[i].servers);
	return us;
}

static void summarise(struct sim_result *r, const struct record *rec,
		      const struct sim_config *c)
{
	unsigned int begin = max(c->step.period, r->filled), from, p, i;
	u64 requests = 0;

	from = c->whole || r->filled ? r->filled : begin + (c->periods - begin) / 2;
	if (from >= c->periods)
		abort();
	for (p = from; p < c->periods; p++)
		requests += rec[p].requests;
	r->iops = requests / ((c->periods - from) * (SIM_PERIOD_NS / 1e9));
	for (i = 0; i < c->nr; i++)
		summarise_dev(r, rec, from, c->periods, i);
	for (p = begin; p < c->periods; p++)
		for (i = 0; i < c->nr; i++)
			if (fabs(rec[p].share[i] - r->share[i]) > 5)
				r->converged = p - begin + 1;
	if (r->converged) {
		u64 moves = rec[begin + r->converged - 1].moves - (begin ? rec[begin - 1].moves : 0);

		r->copying = moves * copy_us(c) * 1000 / SIM_PERIOD_NS;
	}
}

static void run_period(struct sim *s, unsigned int p)
{
	u64 end = (p + 1) * SIM_PERIOD_NS, tick;

	for (tick = s->now + MOVER_TICK_NS; tick <= end; tick += MOVER_TICK_NS) {
		run_until(s, tick);
		if (!(tick % TICK_NS)) {
			sim_take_accesses(s);
			sim_probe_tick(s);
		}
		if (tick < end)
			sim_mover_tick(s);
	}
}

static void decide(struct sim *s)
{
	hy_heat_age(&s->heat);
	end_period(s);
	s->tokens = s->decision;
	s->period_start = s->now;
	sim_mover_tick(s);
}

/* Is a member to have none that had a tenth? */
static bool empties_one(const struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->nr; i++)
		if (s->snap.dev[i].share >= HY_PPM / 10 && !s->decision.target[i])
			return true;
	return false;
}

static void trace(const struct sim *s, unsigned int p)
{
	unsigned int i;

	if (!getenv("SIM_TRACE"))
		return;
	fprintf(stderr, "%3u", p);
	for (i = 0; i < s->config->nr; i++) {
		const struct hy_dev_snap *d = &s->snap.dev[i];

		fprintf(stderr, " | %6llu %7llu us %5.1f%% -> %5.1f%% +%u -%u", d->requests,
			d->mean_ns / 1000, d->share / 1e4, s->decision.target[i] / 1e4,
			s->decision.receive[i], s->decision.give[i]);
	}
	fprintf(stderr, " moves %llu\n", s->moves);
}

struct sim_result sim_run(const struct sim_config *config)
{
	struct sim *s = malloc(sizeof(*s));
	struct record rec[SIM_MAX_PERIODS];
	struct sim_result result = {};
	unsigned int p, i;
	bool filling;

	if (!s || config->periods > SIM_MAX_PERIODS || config->fill > MAX_PROCESSES)
		abort();
	init(s, config);
	for (p = 0; p < config->periods; p++) {
		if (p && p == config->step.period)
			change(s, &config->step);
		filling = s->filling;
		run_period(s, p);
		note(&rec[p], s, measure(s));
		if (filling) {
			result.filled = p + 1;
			result.fill_moves = s->moves;
		}
		for (i = 0; i < config->nr; i++) {
			result.hash = hash(result.hash, s->snap.dev[i].requests);
			result.hash = hash(result.hash, s->snap.dev[i].mean_ns);
		}
		decide(s);
		result.emptied += empties_one(s);
		trace(s, p);
	}
	result.moves = s->moves;
	summarise(&result, rec, config);
	destroy(s);
	free(s);
	return result;
}
