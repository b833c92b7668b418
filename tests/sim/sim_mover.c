// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mover: tokens released over the period, less what allocation took; a bound on copies at a
 * time and a second; a copy's time is charged to both members, which pay with time that
 * users leave and a part of theirs.  Tokens, shares and parts are the target's code.  What
 * drivers/hybrid/mover.c does beside that, or otherwise:
 * - what the rate limit allowed since the last tick, and could not begin then, is caught up with;
 * - after 100 ms without a user as many go at once as make up HY_IDLE_SECTORS;
 * - runs of extents are one request, and what is in memory goes first.
 */
#include "policy_tokens.h"
#include "sim_internal.h"

#define COLD_NS		1000000000ULL

/* Requests begin anywhere in their extents, by a hash: no random number is spent on it. */
static u32 offset_of(const struct request *r)
{
	return (r->start ^ r->le) * 0x9e3779b97f4a7c15ULL >> 61 << 3;
}

void sim_note_access(struct sim *s, const struct request *r)
{
	struct ring *ring = &s->ring[shim_cpu];

	ring->slot[ring->head++ % HY_RING] = (struct hy_access){
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
		u32 all = ring->head - ring->tail, known = min_t(u32, all, HY_RING), i;

		ring->tail = ring->head;
		for (i = 0; i < known; i++) {
			struct hy_access *slot = &ring->slot[(ring->head - known + i) % HY_RING];

			slot->weight = hy_access_weight(i, known, all);
			hy_heat_touch(&s->heat, slot->le, slot->member, slot->write, slot->weight,
				      GFP_KERNEL);
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
		if ((!users && ek_rtmon_inflight(d->mon) <= 0) || !s->set.migrate_share || paid > d->debt)
			paid = d->debt;
		d->debt -= paid;
	}
}

/* One of those allowed, if not all are at work. */
struct request *sim_free_mover(struct sim *s, unsigned int from)
{
	unsigned int allowed = hy_movers(&s->set, ek_rtmon_inflight(s->dev[from].mon));
	struct request *r = NULL;
	unsigned int i, busy = 0;

	for (i = 0; i < MAX_MOVERS; i++) {
		if (!s->request[MAX_PROCESSES + i].active)
			r = &s->request[MAX_PROCESSES + i];
		else if (s->request[MAX_PROCESSES + i].from == from)
			busy++;
	}
	return busy < allowed ? r : NULL;
}

void sim_copy(struct sim *s, struct request *r, unsigned int from, unsigned int to)
{
	s->snap.dev[to].free--;
	r->active = true;
	r->from = from;
	r->to = to;
	r->writing = false;
	r->start = s->now;
	ek_rtmon_background_begin(s->dev[from].mon);
	ek_rtmon_background_begin(s->dev[to].mon);
	sim_submit(s, r, from);
}

/* What leaves @member next, if it is one that is in use. */
static bool coolest(struct sim *s, unsigned int member, u64 *le, u32 *lasting)
{
	return hy_heat_coolest(&s->heat, member, s->now, (u64)s->set.cooldown_ms * 1000000, le, lasting);
}

/* In fourths of low_free. */
static bool is_low(const struct sim *s, unsigned int member, unsigned int fourths)
{
	const struct hy_dev_snap *d = &s->snap.dev[member];

	return (u64)d->free * 400 < (u64)d->extents * s->set.low_free * fourths;
}

/* Unless all of the map was gone through since the last time that some was found, or for long. */
static bool has_cold(const struct sim *s, unsigned int member)
{
	const struct device *d = &s->dev[member];

	return d->cold_looks < SIM_EXTENTS && s->now - d->cold_since < COLD_NS;
}

static u64 hotter_than(struct sim *s, unsigned int to)
{
	u64 shed = s->dev[to].shed_idle, le;
	u32 lasting = 0;

	if (!is_low(s, to, shed && s->now - shed < 2 * SIM_PERIOD_NS ? 5 : 2))
		return HY_HEAT_ANY;
	return has_cold(s, to) || coolest(s, to, &le, &lasting) ? lasting : HY_HEAT_ANY - 1;
}

static bool start_copy(struct sim *s, struct request *r, unsigned int from, unsigned int to)
{
	u64 cooldown = (u64)s->set.cooldown_ms * 1000000;
	u32 most = hy_most_share(&s->tokens, from, to);
	bool picked;

	if (!s->snap.dev[to].free)
		return false;
	s->heat.beyond = hotter_than(s, to);
	picked = hy_heat_pick(&s->heat, from, s->now, cooldown, most, &r->le, 1);
	s->heat.beyond = HY_HEAT_ANY;
	if (!picked)
		return false;
	/* so that it isn't picked twice */
	hy_heat_moved(&s->heat, r->le, from, s->now);
	if (s->map[r->le] != from)
		return false;
	sim_copy(s, r, from, to);
	return true;
}

/* Who is in debt, or has nothing that may go, keeps nobody else from it. */
static void spend_tokens(struct sim *s)
{
	u64 gap = s->set.migrate_kbps ? EXTENT_KB * 1000000000ULL / s->set.migrate_kbps : 0;
	struct hy_barred barred = {};
	struct request *r;
	struct hy_due due;

	for (;;) {
		due = hy_tokens_due(&s->decision, &s->tokens, s->config->nr, barred,
				    s->now - s->period_start, SIM_PERIOD_NS);
		if (!due.tokens || s->now + gap < s->next_copy)
			return;
		if (s->dev[due.to].debt > 0)
			barred.to |= 1u << due.to;
		r = sim_free_mover(s, due.from);
		if (!r || s->dev[due.from].debt > 0)
			barred.from |= 1u << due.from;
		if (!r || s->dev[due.from].debt > 0 || s->dev[due.to].debt > 0)
			continue;
		if (!start_copy(s, r, due.from, due.to)) {
			barred.from |= 1u << due.from;
			continue;
		}
		hy_tokens_take(&s->tokens, s->config->nr, due.from, due.to,
			       hy_heat_share(&s->heat, r->le), &s->moved_ppm);
		s->next_copy = max(s->next_copy, s->now) + gap;
	}
}

static bool find_cold(struct sim *s, unsigned int member, u64 *le)
{
	struct device *d = &s->dev[member];
	unsigned int n;

	if (s->now - d->cold_last >= COLD_NS) {
		d->cold_looks = 0;
		d->cold_since = s->now;
	}
	d->cold_last = s->now;
	for (n = 0; n < 4096; n++) {
		*le = d->cold_cursor;
		d->cold_cursor = (d->cold_cursor + 1) % SIM_EXTENTS;
		d->cold_looks++;
		if (s->map[*le] != member || hy_heat_is_hot(&s->heat, *le))
			continue;
		d->cold_looks = 0;
		d->cold_since = s->now;
		return true;
	}
	return false;
}

static int emptiest(const struct sim *s)
{
	int best = -1;
	unsigned int i;

	for (i = 0; i < s->config->nr; i++) {
		const struct hy_dev_snap *d = &s->snap.dev[i], *b = &s->snap.dev[max(best, 0)];

		if (is_low(s, i, 8) || !d->free)
			continue;
		if (best < 0 || (u64)d->free * b->extents > (u64)b->free * d->extents)
			best = i;
	}
	return best;
}

static bool is_idle(const struct sim *s, unsigned int member)
{
	return ek_rtmon_inflight(s->dev[member].mon) <= 0;
}

static void shed_from(struct sim *s, unsigned int from, unsigned int to)
{
	bool idle = is_idle(s, from) && is_idle(s, to);
	struct request *r;
	u32 lasting;

	if (!idle && s->policy->ops->fills)
		return;
	while (is_low(s, from, idle ? 4 : 1) && s->dev[from].debt <= 0 && s->dev[to].debt <= 0) {
		r = sim_free_mover(s, from);
		if (!r || s->now < s->next_copy)
			return;
		if (!find_cold(s, from, &r->le) &&
		    (idle || has_cold(s, from) || !coolest(s, from, &r->le, &lasting)))
			return;
		hy_heat_moved(&s->heat, r->le, from, s->now);
		sim_copy(s, r, from, to);
		s->next_copy = max(s->next_copy, s->now);
		if (idle)
			s->dev[from].shed_idle = s->now;
	}
}

static void shed(struct sim *s)
{
	unsigned int i;
	int to;

	for (i = 0; i < s->config->nr; i++) {
		to = emptiest(s);
		if (to >= 0 && to != i)
			shed_from(s, i, to);
	}
}

/* Comes when a copy is done, and after a while if something was in the way of one. */
void sim_mover_tick(struct sim *s)
{
	sim_pay_debts(s);
	if (!s->policy->ops->alone) {
		spend_tokens(s);
		shed(s);
	}
	if (s->policy->ops->next)
		sim_gather_tick(s);
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
	s->snap.dev[r->to].free++;
	if (s->map[r->le] == r->from) {
		sim_put(s, r->le, r->to);
		hy_heat_moved(&s->heat, r->le, r->to, s->now);
	}
	r->active = false;
	s->moves++;
	sim_mover_tick(s);
}
