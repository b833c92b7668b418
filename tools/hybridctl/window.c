// SPDX-License-Identifier: GPL-2.0-only
/* See window.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dm.h"
#include "interrupt.h"
#include "msg.h"
#include "usage.h"
#include "volume.h"
#include "window.h"

#define PERIOD_MS	2000	/* the kernel's default, which is not among the arguments */

static int get_samples(const char *name, struct sample *sample, unsigned int *nr)
{
	char *reply = NULL, *why = NULL;
	int err = dm_message(name, "samples", &reply, &why);

	if (err)
		err = fail("%s: %s", name, why);
	*nr = err || !reply ? 0 : samples_parse(reply, sample, STATUS_MAX_DEVS);
	if (!err && !*nr)
		err = fail("%s: the kernel's answer was not understood", name);
	free(reply);
	free(why);
	return err;
}

/* One period: sums; divided when all are there. */
static int add_period(struct window *w, const char *name, uint64_t *period_ms)
{
	struct sample sample[STATUS_MAX_DEVS];
	unsigned int nr, i;
	struct volume v;
	int err;

	if (volume_look(&v, name, 0))
		return EXIT_FAILED;
	*period_ms = status_setting(&v.st, "period_ms", PERIOD_MS);
	err = get_samples(name, sample, &nr);
	for (i = 0; !err && i < nr && i < v.st.nr_devs; i++) {
		const struct sample *s = &sample[i];
		struct window_member *m = &w->dev[i];
		double requests = (double)s->reads + (double)s->writes;

		w->requests += requests;
		w->mean_ns += requests * (double)s->mean_ns;
		/* The status may be of the next period already: then it has no time for some. */
		if (v.st.dev[i].read_ns) {
			m->reads += (double)s->reads;
			m->read_ns += (double)s->reads * (double)v.st.dev[i].read_ns;
		}
		if (v.st.dev[i].write_ns) {
			m->writes += (double)s->writes;
			m->write_ns += (double)s->writes * (double)v.st.dev[i].write_ns;
		}
		m->idle_ns = s->idle_reads ? (double)s->idle_ns / (double)s->idle_reads : 0;
	}
	volume_free(&v);
	return err;
}

/* A signal ends it, which is told. */
static bool pause_for(uint64_t ms)
{
	sleep_interruptibly((double)ms / 1e3, NULL, 0);
	return interrupted;
}

static double mean_of(double n, double sum)
{
	return n > 0 ? sum / n : 0;
}

static void divide(struct window *w)
{
	unsigned int i;

	w->mean_ns = mean_of(w->requests, w->mean_ns);
	for (i = 0; i < STATUS_MAX_DEVS; i++) {
		struct window_member *m = &w->dev[i];

		w->reads += m->reads;
		w->writes += m->writes;
		w->read_ns += m->read_ns;
		w->write_ns += m->write_ns;
		m->read_ns = mean_of(m->reads, m->read_ns);
		m->write_ns = mean_of(m->writes, m->write_ns);
	}
	w->read_ns = mean_of(w->reads, w->read_ns);
	w->write_ns = mean_of(w->writes, w->write_ns);
}

int window_measure(struct window *w, const char *name, double seconds)
{
	struct window none;
	uint64_t period_ms;
	int err;

	memset(w, 0, sizeof(*w));
	memset(&none, 0, sizeof(none));
	/* The first period that ends from now on has begun before the window. */
	err = add_period(&none, name, &period_ms);
	if (!err && !pause_for(period_ms))
		err = add_period(&none, name, &period_ms);
	while (!err && !interrupted) {
		if (w->seconds > 0 && w->seconds + (double)period_ms / 2e3 > seconds)
			break;
		if (pause_for(period_ms))
			break;
		w->seconds += (double)period_ms / 1e3;
		err = add_period(w, name, &period_ms);
	}
	divide(w);
	return err;
}

double window_mean(const struct window *w, const struct window *as)
{
	double n = as->reads + as->writes;

	if (n <= 0 || (as->reads > 0 && w->reads <= 0) || (as->writes > 0 && w->writes <= 0))
		return w->mean_ns;
	return (as->reads * w->read_ns + as->writes * w->write_ns) / n;
}
