// SPDX-License-Identifier: GPL-2.0-only
/* The best static split, by a sweep in steps of 5% that is then refined; the members alone. */
#include "oracle.h"

/* After a step, the load and the devices as they are then. */
static struct sim_config settled(struct sim_config c)
{
	if (c.step.period && c.step.processes)
		c.processes = c.step.processes;
	if (c.step.period && c.step.slower) {
		c.dev[c.step.dev].us *= c.step.slower;
		c.dev[c.step.dev].write_us *= c.step.slower;
	}
	memset(&c.step, 0, sizeof(c.step));
	/* All is written: what counts is the load, and short runs would be of the filling. */
	c.fill = 0;
	c.start = -1;
	c.whole = false;
	return c;
}

/* Members before @first share @permille, the others the rest. */
static double split(struct sim_config c, unsigned int first, unsigned int permille,
		    unsigned int periods)
{
	unsigned int i, n = 0, left = 1000000;
	char shares[16 * SIM_DEVS];
	const char *params[3] = { "shares", shares };

	for (i = 0; i < c.nr; i++) {
		unsigned int part = i < first ? permille * 1000 / first :
						(1000 - permille) * 1000 / (c.nr - first);

		if (i == c.nr - 1)
			part = left;
		left -= part;
		n += snprintf(shares + n, sizeof(shares) - n, "%s%u.%04u", i ? "," : "",
			      part / 10000, part % 10000);
	}
	c.policy = "static";
	c.params = params;
	c.periods = periods;
	return sim_run(&c).iops;
}

/* From @from to @to by @by; the best so far goes on. */
static void sweep(const struct sim_config *c, unsigned int first, int from, int to, int by,
		  double *best, int *at)
{
	int share;

	for (share = max(from, 0); share <= min(to, 1000); share += by) {
		double iops = split(*c, first, share, 2);

		if (iops > *best) {
			*best = iops;
			*at = share;
		}
	}
}

static double alone(struct sim_config c, unsigned int dev)
{
	struct sim_dev d = c.dev[dev];

	c.dev[0] = d;
	c.nr = 1;
	c.policy = "fill";
	c.params = NULL;
	c.periods = 4;
	return sim_run(&c).iops;
}

static double stripe(struct sim_config c)
{
	c.policy = "stripe";
	c.params = NULL;
	c.periods = 4;
	return sim_run(&c).iops;
}

struct oracle ask_oracle(const struct sim_config *config, const struct sim_members *m)
{
	struct sim_config c = settled(*config);
	struct oracle o = {};
	unsigned int i;
	int at = 0, middle;
	double best = 0;

	sweep(&c, m->first, 0, 1000, 50, &best, &at);
	middle = at;
	sweep(&c, m->first, middle - 40, middle + 40, 10, &best, &at);
	o.share = at / 10.0;
	/*
	 * By chance the best of many is better than it is: once more, for longer.  Of the same
	 * load: with other hot extents in it another split is the best.
	 */
	c.order = c.seed ?: 1;
	c.seed += 1000;
	o.split = split(c, m->first, at, 12);
	for (i = 0; i < c.nr; i++) {
		double iops = alone(c, i);

		o.sum += iops;
		o.single = iops > o.single ? iops : o.single;
	}
	o.stripe = stripe(c);
	return o;
}
