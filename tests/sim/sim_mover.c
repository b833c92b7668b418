// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mover's rules, as in drivers/hybrid/mover.c: tokens released over the period, less
 * what allocation took; a bound on copies at a time and a second; a copy's time is
 * charged to both members, which pay with time that users leave and a part of theirs.
 */
#include "sim_internal.h"

/* Requests begin anywhere in their extents, by a hash: no random number is spent on it. */
static u32 offset_of(const struct request *r)
{
	return (r->start ^ r->le) * 0x9e3779b97f4a7c15ULL >> 61 << 3;
}

void sim_note_access(struct sim *s, const struct request *r)
{
	struct ring *ring = &s->ring[shim_cpu];

	ring->slot[ring->head++ % RING] = (struct hy_access){
		.le = r->le,
		.offset = offset_of(r),
		.member = s->map[r->le],
		.write = r->dir == EK_WRITE,
		.large = s->config->large && sim_is_large(s, r->le),
	};
}

void sim_take_accesses(struct sim *s)
{
	struct ring *ring;

	for (ring = s->ring; ring < s->ring + SHIM_CPUS; ring++) {
		if (ring->head - ring->tail > RING)
			ring->tail = ring->head - RING;
		for (; ring->tail != ring->head; ring->tail++) {
			struct hy_access *slot = &ring->slot[ring->tail % RING];

			hy_heat_touch(&s->heat, slot->le, slot->member, slot->write, GFP_KERNEL);
			if (s->policy->ops->accessed)
				s->policy->ops->accessed(s->policy, slot);
		}
	}
}

void sim_pay_debts(struct sim *s)
{
	s64 ns = s->now - s->last_tick;
	struct device *d;

	s->last_tick = s->now;
	for (d = s->dev; d < s->dev + s->config->nr; d++) {
		u64 occupancy = ek_rtmon_occupancy(d->mon);
		s64 users = max_t(s64, occupancy - d->seen_occupancy, 0);
		s64 paid = users * s->set.migrate_share / 100 + max_t(s64, ns - users, 0);

		d->seen_occupancy = occupancy;
		if (!users || !s->set.migrate_share || paid > d->debt)
			paid = d->debt;
		d->debt -= paid;
	}
}

static u64 tokens_due(struct sim *s, int *from, int *to)
{
	u64 spend = SIM_PERIOD_NS / HY_PPM * (HY_PPM - s->decision.rest);
	u64 all = 0, left = 0, due, since = s->now - s->period_start;
	unsigned int i;

	*from = 0;
	*to = 0;
	for (i = 0; i < s->config->nr; i++) {
		all += s->decision.receive[i];
		left += s->tokens.receive[i];
		if (s->tokens.give[i] > s->tokens.give[*from])
			*from = i;
		if (s->tokens.receive[i] > s->tokens.receive[*to])
			*to = i;
	}
	if (since >= spend && s->decision.rest)
		return 0;
	due = min((all * since + spend - 1) / spend, all);
	return due > all - left ? due - (all - left) : 0;
}

/* One of those allowed, if not all are at work. */
struct request *sim_free_mover(struct sim *s, unsigned int from)
{
	unsigned int allowed = hy_movers(&s->set, ek_rtmon_inflight(s->dev[from].mon));
	struct request *r = NULL;
	unsigned int i, busy = 0;

	for (i = 0; i < MAX_MOVERS; i++) {
		if (s->request[MAX_PROCESSES + i].active)
			busy++;
		else
			r = &s->request[MAX_PROCESSES + i];
	}
	return busy < allowed ? r : NULL;
}

/* How hot an extent may be for what is left of the tokens; drivers/hybrid/mover.c. */
static u32 hottest(const struct sim *s, unsigned int from, unsigned int to)
{
	u64 tokens = min(s->tokens.give[from], s->tokens.receive[to]);

	if (!s->decision.token_ppm)
		return U32_MAX;
	tokens = min_t(u64, tokens * s->decision.token_ppm * 3 / 2 + s->decision.token_ppm, U32_MAX);
	return max_t(u64, tokens, s->decision.largest[from]);
}

static u32 tokens_of(struct sim *s, u64 le)
{
	u32 tokens;

	if (!s->decision.token_ppm)
		return 1;
	s->moved_ppm += hy_heat_share(&s->heat, le);
	tokens = s->moved_ppm / s->decision.token_ppm;
	s->moved_ppm %= s->decision.token_ppm;
	return tokens;
}

void sim_copy(struct sim *s, struct request *r, unsigned int from, unsigned int to)
{
	r->active = true;
	r->from = from;
	r->to = to;
	r->writing = false;
	r->start = s->now;
	ek_rtmon_background_begin(s->dev[from].mon);
	ek_rtmon_background_begin(s->dev[to].mon);
	sim_submit(s, r, from);
}

static bool start_copy(struct sim *s, struct request *r, unsigned int from, unsigned int to)
{
	u64 cooldown = (u64)s->set.cooldown_ms * 1000000;

	if (!hy_heat_pick(&s->heat, from, s->now, cooldown, hottest(s, from, to), &r->le, 1))
		return false;
	/* so that it isn't picked twice */
	hy_heat_moved(&s->heat, r->le, from, s->now);
	if (s->map[r->le] != from)
		return false;
	sim_copy(s, r, from, to);
	return true;
}

/* Comes when a copy is done, and after a while if something was in the way of one. */
void sim_mover_tick(struct sim *s)
{
	u64 gap = s->set.migrate_kbps ? EXTENT_KB * 1000000000ULL / s->set.migrate_kbps : 0;
	struct request *r;
	int from, to;
	u32 n;

	sim_pay_debts(s);
	if (s->policy->ops->next)
		sim_gather_tick(s);
	if (s->policy->ops->alone)
		return;
	while (tokens_due(s, &from, &to)) {
		r = sim_free_mover(s, from);
		if (!r || s->now + gap < s->next_copy)
			return;
		if (s->dev[from].debt > 0 || s->dev[to].debt > 0)
			return;
		if (!start_copy(s, r, from, to))
			return;
		n = tokens_of(s, r->le);
		s->tokens.receive[to] -= min(s->tokens.receive[to], n);
		s->tokens.give[from] -= min(s->tokens.give[from], n);
		s->next_copy = max(s->next_copy, s->now) + gap;
	}
}

void sim_copy_done(struct sim *s, struct request *r)
{
	u64 ns = s->now - r->start;
	unsigned int i;

	if (!r->writing) {
		r->writing = true;
		sim_submit(s, r, r->to);
		return;
	}
	for (i = 0; i < 2; i++) {
		unsigned int dev = i ? r->to : r->from, other = i ? r->from : r->to;
		u64 part = hy_copy_part(ns, s->snap.dev[dev].mean_ns, s->snap.dev[other].mean_ns);
		struct device *d = &s->dev[dev];

		ek_rtmon_background_end(d->mon);
		ek_rtmon_note_background(d->mon, ns / 2, EXTENT_KB << 10);
		d->debt += part;
	}
	if (s->map[r->le] == r->from) {
		sim_put(s, r->le, r->to);
		hy_heat_moved(&s->heat, r->le, r->to, s->now);
	}
	r->active = false;
	s->moves++;
	sim_mover_tick(s);
}
