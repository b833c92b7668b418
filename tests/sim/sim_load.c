// SPDX-License-Identifier: GPL-2.0-only
/* Which extents the processes access. */
#include <math.h>
#include "sim_internal.h"

double sim_uniform(struct sim *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (s->random * 0x2545f4914f6cdd1dULL >> 11) / 9007199254740992.0;
}

/* A random order, so that rank and place have nothing to do with each other. */
static void shuffle(struct sim *s, u32 *extent)
{
	u32 i, j, t;

	for (i = 0; i < SIM_EXTENTS; i++)
		extent[i] = i;
	for (i = SIM_EXTENTS - 1; i; i--) {
		j = sim_uniform(s) * (i + 1);
		t = extent[i];
		extent[i] = extent[j];
		extent[j] = t;
	}
}

/* The same load with other chances has its hot extents where they were. */
static void order_extents(struct sim *s, u32 *extent)
{
	u64 random = s->random;

	if (s->config->order)
		s->random = s->config->order;
	shuffle(s, extent);
	if (s->config->order)
		s->random = random;
}

void sim_load_init(struct sim *s)
{
	struct zipf *z = &s->zipf;
	double sum = 0;
	u32 i, at = 0;

	if (s->config->load != SIM_ZIPF)
		return;
	z->cdf = malloc(SIM_EXTENTS * sizeof(*z->cdf));
	z->guide = malloc(SIM_EXTENTS * sizeof(*z->guide));
	z->extent = malloc(SIM_EXTENTS * sizeof(*z->extent));
	if (!z->cdf || !z->guide || !z->extent)
		abort();
	for (i = 0; i < SIM_EXTENTS; i++)
		z->cdf[i] = sum += pow(i + 1, -s->config->zipf);
	for (i = 0; i < SIM_EXTENTS; i++)
		z->cdf[i] /= sum;
	for (i = 0; i < SIM_EXTENTS; i++) {
		while (at < SIM_EXTENTS - 1 && z->cdf[at] < (double)i / SIM_EXTENTS)
			at++;
		z->guide[i] = at;
	}
	order_extents(s, z->extent);
}

void sim_load_destroy(struct sim *s)
{
	free(s->zipf.cdf);
	free(s->zipf.guide);
	free(s->zipf.extent);
}

/* The next concentration begins where and when the last one or its pause ends. */
static void next_hot(struct sim *s)
{
	const struct sim_hot *c = &s->config->hot;
	struct hot *h = &s->hot;
	double seconds = c->least_s + sim_uniform(s) * (c->most_s - c->least_s);

	/* places of their own, far from each other */
	if (c->among)
		h->first = (u64)(sim_uniform(s) * c->among) * (SIM_EXTENTS / c->among / c->extents) *
			   c->extents;
	else if (h->until && sim_uniform(s) < c->shift)
		h->first = (h->first + c->extents) % SIM_EXTENTS;
	else
		h->first = (u64)(sim_uniform(s) * SIM_EXTENTS / c->extents) * c->extents;
	h->first = min(h->first, (u64)SIM_EXTENTS - c->extents);
	h->from = h->until + llround(c->pause_s * 1e9);
	h->until = h->from + llround(seconds * 1e9);
}

static u64 concentrated(struct sim *s)
{
	while (s->now >= s->hot.until)
		next_hot(s);
	if (s->now >= s->hot.from && sim_uniform(s) < s->config->hot.share)
		return s->hot.first + (u64)(sim_uniform(s) * s->config->hot.extents);
	return sim_uniform(s) * SIM_EXTENTS;
}

u64 sim_next_extent(struct sim *s)
{
	double u;
	u32 i;

	if (s->config->load == SIM_NEW_WRITES)
		return s->next_new++ % SIM_EXTENTS;
	if (s->config->load == SIM_CONCENTRATED)
		return concentrated(s);
	u = sim_uniform(s);
	if (s->config->load == SIM_UNIFORM)
		return u * SIM_EXTENTS;
	i = s->zipf.guide[(u32)(u * SIM_EXTENTS)];
	while (i < SIM_EXTENTS - 1 && s->zipf.cdf[i] < u)
		i++;
	return s->zipf.extent[i];
}

/* Extents are of one kind or the other, for good. */
static double kind_of(u64 le, u64 salt)
{
	return ((le + 1) * salt >> 33) / 2147483648.0;
}

/* Is it one of those that are written more than read, where they are apart? */
bool sim_is_written(const struct sim *s, u64 le)
{
	return kind_of(le, 0x9e3779b97f4a7c15ULL) < s->config->writes;
}

/* Does a request to an extent write? */
bool sim_writes(struct sim *s, u64 le)
{
	const struct sim_config *c = s->config;
	double part = c->writes;

	if (c->apart)
		part = sim_is_written(s, le) ? 1 - c->apart : c->apart;
	return part && sim_uniform(s) < part;
}

/* Is it accessed in requests larger than an extent? */
bool sim_is_large(const struct sim *s, u64 le)
{
	return kind_of(le, 0xc2b2ae3d27d4eb4fULL) < s->config->large;
}
