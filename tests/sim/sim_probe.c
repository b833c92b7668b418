// SPDX-License-Identifier: GPL-2.0-only
/* Idle probes, as in drivers/hybrid/probe.c. */
#include "policy_first.h"
#include "sim_internal.h"

#define PROBES_KNOWN	32
#define GAP_NS		100000000ULL
#define LATER_NS	1000000000ULL

void sim_probe_tick(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->nr; i++) {
		struct request *r = &s->request[MAX_PROCESSES + MAX_MOVERS + i];
		struct device *d = &s->dev[i];

		if (!(s->decision.probe & BIT(i)) || r->active || !ek_rtmon_is_idle(d->mon) ||
		    (s->now < d->probe_due && !s->decision.probe_now))
			continue;
		d->probe_due = s->now + (d->probes >= PROBES_KNOWN ? LATER_NS : GAP_NS);
		r->active = true;
		r->start = s->now;
		sim_submit(s, r, i);
	}
}

void sim_probe_done(struct sim *s, struct request *r)
{
	struct device *d = &s->dev[r->dev];

	r->active = false;
	if (!ek_rtmon_is_idle(d->mon))
		return;
	d->last_probe[d->probes++ % HY_FIRST_PROBES] = s->now - r->start;
	d->new_probes++;
	d->probe_ns += s->now - r->start;
}

bool sim_probes_are_known(const struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->config->nr; i++)
		if (s->dev[i].new_probes < HY_FIRST_PROBES)
			return false;
	return true;
}

void sim_probe_sample(struct device *d, struct hy_dev_snap *snap)
{
	snap->probes = d->new_probes;
	snap->probe_ns = d->new_probes ? d->probe_ns / d->new_probes : 0;
	snap->probe_mid_ns = d->probes >= HY_FIRST_PROBES ? hy_first_median(d->last_probe) : 0;
	d->new_probes = 0;
	d->probe_ns = 0;
}
