// SPDX-License-Identifier: GPL-2.0-only
/* See plan_gather.h. */
#include <stdlib.h>

#include "cold.h"
#include "dm.h"
#include "idle.h"
#include "msg.h"
#include "plan_gather.h"

#define RESERVE		20	/* part of a member that is left free */
#define CANDIDATES	16384	/* extents that are counted, if the status doesn't say */
#define TABLE		65536	/* and by asymmetry, whatever it says */

int known_read(struct known *k, const struct volume *v)
{
	char *message, *reply, *why;
	uint64_t at = 0, more;
	int err;

	do {
		reply = NULL;
		why = NULL;
		message = xasprintf("counts %llu", (unsigned long long)at);
		err = dm_message(v->name, message, &reply, &why);
		if (err)
			err = fail("%s: %s", v->name, why);
		else if (!reply || !usage_take(&k->usage, reply, &more) || more <= at)
			err = fail("%s: the kernel's answer was not understood", v->name);
		else
			at = more;
		free(message);
		free(reply);
		free(why);
	} while (!err && at != UINT64_MAX);
	usage_settle(&k->usage);
	k->nr_counted = k->usage.nr;
	return err;
}

void known_free(struct known *k)
{
	usage_free(&k->usage);
	k->nr_counted = 0;
}

/*
 * How long reads take that were not seen is known from idle ones.  Writes that were not seen may be
 * missing for a good reason, as somebody found that they are slow there; but for a member that
 * nothing was ever placed on, there is a beginning.
 */
static struct plan_member member_of(const struct volume *v, const struct window *window,
				    unsigned int i)
{
	const struct window_member *w = &window->dev[i];
	const struct status_dev *d = &v->st.dev[i];
	uint64_t left = d->total / RESERVE, room = d->total - d->used;
	double idle = w->idle_ns > 0 || !v->path[i] || d->state == DEV_FAILED ? w->idle_ns :
		      idle_probe(v->path[i]);
	double read = w->read_ns > 0 ? w->read_ns : idle, write = w->write_ns;

	if (write <= 0 && !d->allocations && w->read_ns <= 0)
		write = read;
	return (struct plan_member){
		.takes = d->present && d->state == DEV_ACTIVE,
		.read_ns = read,
		.write_ns = write,
		.idle_ns = idle,
		.room = room > left ? room - left : 0,
		.spare = room,
	};
}

/* Members that the plan may fill: extents there that nobody uses could make room. */
static void add_cold(const struct plan *p, struct known *k, const struct volume *v,
		     unsigned long budget)
{
	unsigned long most = budget / 2 < k->nr_counted ? budget / 2 : k->nr_counted;
	uint64_t counted = status_setting(&v->st, "candidates", CANDIDATES);
	unsigned long want[PLAN_MAX_MEMBERS] = { 0 };
	unsigned int i, takers = 0;
	bool spare = false;

	for (i = 0; i < p->nr_members; i++) {
		const struct plan_member *m = &p->member[i];

		takers += m->takes;
		spare |= m->takes && m->spare;
		if (m->takes && m->room < most)
			want[i] = most;
	}
	if (takers > 1 && spare)
		cold_find(v->name, v->sectors / v->st.extent_sectors, want, p->nr_members,
			  counted < TABLE ? counted : TABLE, &k->usage);
}

void plan_gather(struct plan *p, struct known *k, const struct volume *v, const struct window *w,
		 unsigned long budget)
{
	unsigned long i;

	p->nr_members = v->st.nr_devs;
	for (i = 0; i < p->nr_members; i++)
		p->member[i] = member_of(v, w, i);
	add_cold(p, k, v, budget);
	p->extent = xcalloc(k->usage.nr + 1, sizeof(*p->extent));
	for (i = 0; i < k->usage.nr; i++) {
		const struct usage_extent *u = &k->usage.extent[i];

		if (u->member >= p->nr_members)
			continue;
		p->extent[p->nr_extents++] = (struct plan_extent){
			.le = u->le, .member = u->member, .reads = u->reads, .writes = u->writes,
			.fixed = u->pinned || u->large || u->moving,
		};
	}
	p->per_second = w->seconds > 0 ? w->requests / w->seconds : 0;
}
