// SPDX-License-Identifier: GPL-2.0-only
/* The best static split, by a sweep whose best are run for longer; the members alone. */
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

#define BEST	3		/* of the sweep are run for long */
#define LONG	12		/* periods */
#define LAST	(2 * LONG)

/* A split, and what it gives. */
struct tried {
	int share;		/* permille */
	double iops;
};

/* Into its place among the best; what is there already stays. */
static void note_tried(struct tried *best, struct tried t)
{
	unsigned int i;

	for (i = 0; i < BEST; i++)
		if (best[i].iops && best[i].share == t.share)
			return;
	for (i = 0; i < BEST; i++)
		if (t.iops > best[i].iops)
			swap(t, best[i]);
}

/* From @from to @to by @by. */
static void sweep(const struct sim_config *c, unsigned int first, int from, int to, int by,
		  struct tried *best)
{
	int share;

	for (share = max(from, 0); share <= min(to, 1000); share += by)
		note_tried(best, (struct tried){ share, split(*c, first, share, 2) });
}

static void try_long(const struct sim_config *c, unsigned int first, int share,
		     struct tried *best)
{
	unsigned int i;

	if (share < 0 || share > 1000)
		return;
	for (i = 0; i < BEST; i++)
		if (best[i].iops && best[i].share == share)
			return;
	note_tried(best, (struct tried){ share, split(*c, first, share, LONG) });
}

/* Of those that were the best. */
static struct tried best_again(struct sim_config c, unsigned int first, const struct tried *tried)
{
	struct tried again[BEST] = {};
	unsigned int i;

	c.seed += 1000;
	for (i = 0; i < BEST && tried[i].iops; i++)
		note_tried(again, (struct tried){ tried[i].share,
						  split(c, first, tried[i].share, LAST) });
	return again[0];
}

/*
 * Queues are empty at first, so in a short run what starves one member looks good until the queue
 * of another has all that there is.  So the best are run again, with other chances and for longer,
 * and what is beside the best of them.  But what was chosen for being the best is so by chance,
 * too: the first of them run once more, for longer still, which decides, and what the chosen one
 * gives is said by a run that had no say in it.
 */
static struct tried settle(struct sim_config c, unsigned int first, const struct tried *candidates)
{
	static const int step[] = { 10, 5, 2 };
	struct tried best[BEST] = {}, chosen;
	unsigned int i;
	int at;

	c.seed += 1000;
	for (i = 0; i < BEST; i++)
		try_long(&c, first, candidates[i].share, best);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		at = best[0].share;
		try_long(&c, first, at - step[i], best);
		try_long(&c, first, at + step[i], best);
	}
	chosen = best_again(c, first, best);
	c.seed += 2000;
	chosen.iops = split(c, first, chosen.share, LAST);
	return chosen;
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
	struct tried best[BEST] = {}, split;
	struct oracle o = {};
	unsigned int i;

	sweep(&c, m->first, 0, 1000, 50, best);
	sweep(&c, m->first, best[0].share - 40, best[0].share + 40, 10, best);
	/* Of the same load: with other hot extents in it another split is the best. */
	c.order = c.seed ?: 1;
	split = settle(c, m->first, best);
	o.share = split.share / 10.0;
	o.split = split.iops;
	c.seed += 1000;
	for (i = 0; i < c.nr; i++) {
		double iops = alone(c, i);

		o.sum += iops;
		o.single = iops > o.single ? iops : o.single;
	}
	o.stripe = stripe(c);
	return o;
}
