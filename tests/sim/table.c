// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-table [--periods N] [--seed N] [--members NAME] [--load NAME] [--depth N]
 *	[--variant 0|1|2|3|4|5] [--json FILE] [key value]...
 *
 * Throughput of the policy's objectives, with the given parameters on top, over that
 * of the best static split, of the best member alone, of stripe and of the sum of what
 * the members do alone; the first member's share, how much the shares vary, after how many
 * periods they stay, the same less what the copies take at the members' own pace, copies.
 * Variants: average, marginal; only if asked 2: preset paper, 3: asymmetry, 4: unified, 5: 3 and
 * 4 over 1 instead, which is faster.
 */
#include "oracle.h"

enum kind { UNIFORM, ZIPF, NEW, FRESH, SKEW, MIXED, CLOSED, LOAD_STEP, SPEED_STEP, FILES, BURSTS,
	ALLOC, FSYNC, FIRST, APART, BACK, FILLED, WRITEBACK, TIGHT, PULSE, NR_KINDS };

static const char * const kind_name[NR_KINDS] = {
	"uniform", "zipf", "new", "fresh", "skew", "mixed", "closed", "load", "speed", "files", "bursts",
	"alloc", "fsync", "first", "apart", "back", "filled", "writeback",
	"tight", "pulse"
};

static const struct sim_cycle cycle[NR_KINDS] = {
	[FILES] = { .singles = 8, .burst = 64, .think_us = 5000 },
	[BURSTS] = { .burst = 128, .think_us = 50000 },
	[ALLOC] = { .singles = 8, .burst = 32, .think_us = 5000 },
	[FSYNC] = { .singles = 1, .think_us = 500 },
	[FIRST] = { .singles = 8, .burst = 64, .think_us = 5000 },
	[BACK] = { .singles = 16, .burst = 64, .think_us = 5000 },
	[WRITEBACK] = { .singles = 24, .burst = 320, .think_us = 500000 },
	[TIGHT] = { .burst = 256, .think_us = 2000 },
	[PULSE] = { .singles = 1, .burst = 256, .think_us = 1500000 },
};

static const char * const variant[][3] = {
	{ "wardrop", "objective", "average" },
	{ "wardrop", "objective", "marginal" },
	{ "wardrop", "preset", "paper" },
	{ "asymmetry", "first", "stripe" },
	{ "unified", "objective", "marginal" },
};

struct options {
	const char *members, *load;
	unsigned int depth;
	int variant;
	FILE *json;
	char **extra;
	int nr_extra;
};

/* A pool that is used from its first probes on. */
static bool is_new(enum kind kind)
{
	return kind == FIRST || kind == FILLED || kind == WRITEBACK;
}

static void set_kind(struct sim_config *c, enum kind kind)
{
	c->load = kind == ZIPF || kind == FRESH || kind == SKEW ||
		  (kind >= FILES && kind != FILLED) ? SIM_ZIPF : kind == NEW ? SIM_NEW_WRITES : SIM_UNIFORM;
	c->zipf = .95;
	c->fresh = kind == FRESH ? .02 : kind == SKEW ? .3 : kind == ALLOC ? .5 : 0;
	c->writes = kind == FSYNC ? 1 : kind == MIXED || kind == SKEW || kind >= FILES ? .3 : 0;
	c->apart = kind == APART || kind == BACK ? .1 : 0;
	if (kind == APART || kind == BACK)
		c->writes = .6;
	c->cycle = cycle[kind];
	c->fill = kind == FILLED ? 16 : 0;
	c->start = kind == CLOSED ? 0 : is_new(kind) ? SIM_PROBED : -1;
	c->whole = kind == FIRST || kind == WRITEBACK;
	memset(&c->step, 0, sizeof(c->step));
	if (kind == LOAD_STEP)
		c->step = (struct sim_step){ .period = c->periods / 2,
					     .processes = c->processes * 4 };
	if (kind == SPEED_STEP)
		c->step = (struct sim_step){ .period = c->periods / 2, .slower = 3 };
}

static void json(const struct options *o, const struct sim_config *c, const char *name,
		 enum kind kind, const struct oracle *or, const char *objective,
		 const struct sim_result *r)
{
	unsigned int i;

	if (!o->json)
		return;
	fprintf(o->json, "{\"members\":\"%s\",\"load\":\"%s\",\"depth\":%u,\"seed\":%llu,"
		"\"objective\":\"%s\",\"iops\":%.0f,\"best_split\":%.0f,\"best_split_share\":%.1f,"
		"\"best_single\":%.0f,\"sum_alone\":%.0f,\"stripe\":%.0f,\"share\":[",
		name, kind_name[kind], c->processes, (unsigned long long)c->seed, objective,
		r->iops, or->split, or->share, or->single, or->sum, or->stripe);
	for (i = 0; i < c->nr; i++)
		fprintf(o->json, "%s%.2f", i ? "," : "", r->share[i]);
	fprintf(o->json, "],\"share_sd\":%.2f,\"periods\":%u,\"copying\":%.1f,\"copies\":%llu}\n",
		r->share_sd, r->converged, r->copying, (unsigned long long)r->moves);
	fflush(o->json);
}

static bool is_asked(const struct options *o, unsigned int i)
{
	if (o->variant < 0)
		return i < 2;
	return o->variant == 5 ? i > 2 : i == o->variant;
}

/* To compare policies it takes no search for the best split. */
static struct oracle wardrop_as_oracle(struct sim_config c)
{
	double iops;

	c.policy = "wardrop";
	c.params = NULL;
	iops = sim_run(&c).iops;
	return (struct oracle){ .split = iops, .single = iops, .sum = iops, .stripe = iops };
}

static void row(const struct options *o, struct sim_config c, const struct sim_members *m,
		enum kind kind)
{
	const char *params[64];
	struct oracle or;
	unsigned int i;

	memcpy(c.dev, m->dev, sizeof(c.dev));
	c.periods *= m->longer;
	c.nr = m->nr;
	set_kind(&c, kind);
	or = o->variant == 5 ? wardrop_as_oracle(c) : ask_oracle(&c, m);
	printf("%-9s %-7s %3u %7.0f %3.0f%%", m->name, kind_name[kind], c.processes, or.split,
	       or.share);
	for (i = 0; i < ARRAY_SIZE(variant); i++) {
		struct sim_result r;

		if (!is_asked(o, i))
			continue;
		c.policy = variant[i][0];
		params[0] = variant[i][1];
		params[1] = variant[i][2];
		memcpy(&params[2], o->extra, o->nr_extra * sizeof(*params));
		params[2 + o->nr_extra] = NULL;
		c.params = params;
		r = sim_run(&c);
		printf(" | %5.3f %5.3f %5.3f %5.1f %4.1f %3u %3.0f %5llu", r.iops / or.split,
		       r.iops / or.single, r.iops / or.sum, r.share[0], r.share_sd, r.converged,
		       r.converged - r.copying, (unsigned long long)r.moves);
		json(o, &c, m->name, kind, &or, i > 2 ? variant[i][0] : variant[i][2], &r);
	}
	printf("\n");
	fflush(stdout);
}

static const unsigned int depths[NR_KINDS][9] = {
	[UNIFORM] = { 1, 8, 32, 64, 128 },
	[ZIPF] = { 4, 32 },
	[NEW] = { 8, 32 },
	[FRESH] = { 32 },
	[SKEW] = { 32 },
	[MIXED] = { 8, 16, 32 },
	[CLOSED] = { 1, 32 },
	[LOAD_STEP] = { 8 },
	[SPEED_STEP] = { 48 },
	[FILES] = { 1, 4 },
	[BURSTS] = { 1 },
	[ALLOC] = { 2 },
	[FSYNC] = { 4 },
	[FIRST] = { 1 },
	[APART] = { 4, 16 },
	[BACK] = { 2 },
	[FILLED] = { 8, 16, 32 },
	[WRITEBACK] = { 1 },
	[TIGHT] = { 1 },
	[PULSE] = { 1 },
};

static void rows(const struct options *o, const struct sim_config *base)
{
	struct sim_config c = *base;
	unsigned int i, kind, d;

	for (i = 0; i < ARRAY_SIZE(members); i++) {
		if (o->members && strcmp(o->members, members[i].name))
			continue;
		for (kind = 0; kind < NR_KINDS; kind++) {
			if (o->load && strcmp(o->load, kind_name[kind]))
				continue;
			for (d = 0; depths[kind][d]; d++) {
				c.processes = depths[kind][d];
				if (!o->depth || o->depth == c.processes)
					row(o, c, &members[i], kind);
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct sim_config c = { .policy = "wardrop", .periods = 60, .seed = 1 };
	struct options o = { .variant = -1 };

	for (argv++, argc--; argc >= 2 && !strncmp(*argv, "--", 2); argv += 2, argc -= 2) {
		if (!strcmp(*argv, "--periods"))
			c.periods = atoi(argv[1]);
		else if (!strcmp(*argv, "--seed"))
			c.seed = strtoull(argv[1], NULL, 0);
		else if (!strcmp(*argv, "--members"))
			o.members = argv[1];
		else if (!strcmp(*argv, "--load"))
			o.load = argv[1];
		else if (!strcmp(*argv, "--depth"))
			o.depth = atoi(argv[1]);
		else if (!strcmp(*argv, "--variant"))
			o.variant = atoi(argv[1]);
		else if (!strcmp(*argv, "--json"))
			o.json = fopen(argv[1], "w");
		else
			return 2;
	}
	if (argc % 2 || argc > 60)
		return 2;
	o.extra = argv;
	o.nr_extra = argc;
	printf("seed %llu, %u periods of 2 s, the second half counts\n",
	       (unsigned long long)c.seed, c.periods);
	printf("%-9s %-7s %3s %7s %4s | %s\n", "", "", "", "split", "at",
	       "average, marginal: X/split X/single X/sum share sd periods (less copying) copies");
	rows(&o, &c);
	if (o.json)
		fclose(o.json);
	return 0;
}
