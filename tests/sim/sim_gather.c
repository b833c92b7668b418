// SPDX-License-Identifier: GPL-2.0-only
/* Ranges that the policy has moved, as in drivers/hybrid/gather.c. */
#include "sim_internal.h"

static bool have_range(struct sim *s)
{
	struct sim_gather *g = &s->gather;

	if (g->active && g->at >= g->range.first + g->range.nr) {
		g->moved.ns = s->now - g->start;
		s->policy->ops->moved(s->policy, &g->range, &g->moved);
		g->active = false;
	}
	if (!g->active) {
		memset(g, 0, sizeof(*g));
		s->snap.now_ns = s->now;
		g->active = s->policy->ops->next(s->policy, &s->snap, &g->range);
		g->at = g->range.first;
		g->start = s->now;
	}
	return g->active;
}

/* Room for one more than is on its way? */
static bool room_at(const struct sim *s, unsigned int to)
{
	return s->snap.dev[to].free > MAX_MOVERS;
}

/* Returns false if it has to wait. */
static bool look_at(struct sim *s, u64 le)
{
	u64 gap = s->set.migrate_kbps ? EXTENT_KB * 1000000000ULL / s->set.migrate_kbps : 0;
	struct sim_gather *g = &s->gather;
	unsigned int from = s->map[le];
	struct request *r;
	int to = g->range.to;

	if (from == to) {
		g->moved.there++;
		return true;
	}
	if (g->range.from >= 0 && from != g->range.from)
		return true;
	r = sim_free_mover(s, from);
	if (!r || s->now + gap < s->next_copy)
		return false;
	if (to < 0)
		to = hy_policy_place(s->policy, &s->snap, &s->tokens, le);
	if (s->dev[from].debt > 0 || s->dev[to].debt > 0)
		return false;
	if (to == from || !room_at(s, to)) {
		g->moved.left++;
		return true;
	}
	r->le = le;
	sim_copy(s, r, from, to);
	g->moved.moved++;
	g->moved.there += g->range.to >= 0;
	s->next_copy = max(s->next_copy, s->now) + gap;
	return true;
}

void sim_gather_tick(struct sim *s)
{
	struct sim_gather *g = &s->gather;

	while (have_range(s)) {
		while (g->at < g->range.first + g->range.nr) {
			if (!look_at(s, g->at))
				return;
			g->at++;
		}
	}
}
