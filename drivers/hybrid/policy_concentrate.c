// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tier of memory for what accesses concentrate on: ATSMF, oe-nanri sections 2.1 and 2.2.
 *
 * The volume is seen as sub-LUNs, groups of extents.  Once a window it is known which few of them
 * had most of the accesses; those that are worth it are gathered on the fast member, and go back
 * when their concentration is over and no other one is expected there, or when room gets short.
 * Documentation/design/policies.rst has the rules, policy_window.c is the end of a window,
 * policy_predict.c what is expected, policy_order.c which is next.
 *
 * What lies where is the map's business: @here is what was seen there, by accesses and by
 * ranges gone through.  It is lost with the policy, so when the fast member holds more than is
 * known of, all of the volume is gone through to find it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "policy_concentrate.h"

#define MIB_SECTORS	2048u
#define NS_PER_MS	1000000ULL

/**
 * struct param - a parameter that is a number
 * @key: its name
 * @places: decimal places
 * @min: its bounds, in units of the last place
 * @max: likewise
 * @initial: likewise
 * @reason: what is said about a bad value
 */
struct param {
	const char *key;
	unsigned int places;
	u32 min;
	u32 max;
	u32 initial;
	const char *reason;
};

static const struct param params[NR_PARAMS] = {
	[SUBLUN] = { "sublun", 0, 1, 1048576, 1024,
		     "sublun: MiB, a power of two, 1 to 1048576" },
	[WINDOW_MS] = { "window_ms", 0, 10, 3600000, 24000,
			"window_ms: 10 to 3600000" },
	[SHARE] = { "share", 4, 10000, HY_PPM, 500000,
		    "share: percent, 1 to 100, at most 4 decimals" },
	[SIZE] = { "size", 4, 100, HY_PPM, 50000,
		   "size: percent, 0.01 to 100, at most 4 decimals" },
	[EVICT] = { "evict", 0, 0, GROUPS, 10,
		    "evict: sub-LUNs, 0 to 8192" },
};

#define SHOWN	64u		/* lines of an answer at a time */
#define AUTO	(-1)

static void concentrate_init(struct hy_policy *policy)
{
	struct concentrate *c = policy->priv;
	unsigned int i;

	for (i = 0; i < NR_PARAMS; i++)
		c->param[i] = params[i].initial;
	c->fast = AUTO;
	c->member = -1;
}

static int set_fast(struct hy_policy *policy, const char *value, const char **reason)
{
	struct concentrate *c = policy->priv;
	u64 v;

	if (!strcmp(value, "auto")) {
		c->fast = AUTO;
		return 0;
	}
	if (hy_parse_decimal(value, NULL, 0, policy->nr - 1, &v)) {
		*reason = "fast: auto or a member's index";
		return -EINVAL;
	}
	c->fast = v;
	return 0;
}

/* What groups have counted in windows. */
static void forget_windows(struct concentrate *c)
{
	u32 i;

	c->rise.nr = 0;		/* their order was by these */
	c->leave.nr = 0;
	for (i = 0; i < c->nr; i++) {
		c->group[i].since = 0;
		c->group[i].pause = 0;
		c->group[i].age = !!c->group[i].age;
		c->group[i].flags &= ~(AGAIN | NONE);
	}
}

static int concentrate_set(struct hy_policy *policy, const char *key, const char *value,
			   const char **reason)
{
	struct concentrate *c = policy->priv;
	const struct param *p;
	unsigned int i;
	u64 v;

	if (!strcmp(key, "fast"))
		return set_fast(policy, value, reason);
	for (i = 0; i < NR_PARAMS; i++)
		if (!strcmp(params[i].key, key))
			break;
	if (i == NR_PARAMS) {
		*reason = "not one of: sublun window_ms share size evict fast";
		return -ENOENT;
	}
	p = &params[i];
	if (hy_parse_decimal(value, NULL, p->places, p->max, &v) || v < p->min ||
	    (i == SUBLUN && !is_power_of_2(v))) {
		*reason = p->reason;
		return -EINVAL;
	}
	if (i == WINDOW_MS && v != c->param[i]) {	/* what is counted in windows */
		memset(&c->lives, 0, sizeof(c->lives));
		memset(&c->returns, 0, sizeof(c->returns));
		forget_windows(c);
	}
	c->param[i] = v;
	return 0;
}

static int concentrate_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	const struct concentrate *c = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };
	unsigned int i;

	for (i = 0; i < NR_PARAMS; i++) {
		if (c->param[i] == params[i].initial)
			continue;
		hy_text_add_key(&text, params[i].key);
		hy_text_add_decimal(&text, c->param[i], params[i].places);
	}
	if (c->fast != AUTO) {
		hy_text_add_key(&text, "fast");
		hy_text_add_decimal(&text, c->fast, 0);
	}
	return text.len;
}

/*
 * The one that was named, else memory that can be used, else memory, else the
 * first.  Where memory is about to leave, or has failed, no disk takes its
 * place: nothing is moved.
 */
static int choose_fast(const struct concentrate *c, const struct hy_snapshot *snap)
{
	int i, memory = -1, first = -1;

	if (c->fast != AUTO)
		return c->fast;
	for (i = snap->nr - 1; i >= 0; i--) {
		const struct hy_dev_snap *d = &snap->dev[i];

		if (!d->extents)
			continue;	/* nobody is there */
		first = i;
		if (d->memory && (d->usable || memory < 0 || !snap->dev[memory].usable))
			memory = i;
	}
	return memory >= 0 ? memory : max(first, 0);
}

/* A sub-LUN is as large as asked for, or as it takes for no more than GROUPS of them. */
static void divide(struct concentrate *c, const struct hy_snapshot *snap)
{
	unsigned int shift = 0;
	int member = choose_fast(c, snap);
	u64 sublun = (u64)c->param[SUBLUN] * MIB_SECTORS;

	if (!snap->extent_sectors || !snap->logical_extents)
		return;
	while ((u64)snap->extent_sectors << shift < sublun ||
	       (snap->logical_extents - 1) >> shift >= GROUPS)
		shift++;
	if (c->nr && shift == c->shift && member == c->member &&
	    c->extents == snap->logical_extents && c->extent_sectors == snap->extent_sectors)
		return;
	memset(c->group, 0, sizeof(c->group));
	if (member != c->member)
		c->times.fast_ns = 0;
	c->shift = shift;
	c->member = member;
	c->extents = snap->logical_extents;
	c->extent_sectors = snap->extent_sectors;
	c->nr = ((c->extents - 1) >> shift) + 1;
	c->accesses = 0;
	c->evict = 0;
	c->unknown = 0;
	c->searched = 0;
	c->search = c->nr;
	c->end.stage = AT_REST;
	c->rise.nr = 0;
	c->leave.nr = 0;
}

static void concentrate_accessed(struct hy_policy *policy, const struct hy_access *access)
{
	struct concentrate *c = policy->priv;
	struct group *g;

	if (access->ahead || access->le >> c->shift >= c->nr)
		return;
	g = &c->group[access->le >> c->shift];
	g->now += min(access->weight, U32_MAX - g->now);
	if (access->member == c->member && !g->here)
		g->here = 1;
}

static void measure(struct concentrate *c, const struct hy_snapshot *snap)
{
	struct hy_window *w = &c->window;
	unsigned int i;

	w->ns += snap->period_ns;
	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *d = &snap->dev[i];

		w->requests += d->requests;
		if (i == c->member) {
			w->fast += d->requests;
			w->fast_ns += d->requests * min_t(u64, d->mean_ns, BIT_ULL(38));
		} else {
			w->slow += d->requests;
			w->slow_ns += d->occupancy_ns;
			w->quiet += d->quiet.requests;
			w->quiet_ns += d->quiet.occupancy_ns;
		}
	}
}

static void aim(struct concentrate *c, const struct hy_snapshot *snap, struct hy_decision *decision)
{
	u32 extents[EK_MAX_MEMBERS] = {};
	unsigned int i;
	u64 slow = 0;

	for (i = 0; i < snap->nr; i++) {
		extents[i] = i != c->member && snap->dev[i].usable ? snap->dev[i].extents : 0;
		slow += extents[i];
	}
	hy_spread_targets(c->target, extents, snap);
	memcpy(decision->target, c->target, sizeof(c->target));
	if (slow && !c->times.fast_ns && snap->dev[c->member].usable)
		decision->probe = BIT(c->member);
}

static void take_probes(struct concentrate *c, const struct hy_dev_snap *fast)
{
	if (!c->times.fast_ns && fast->probes)
		c->times.fast_ns = fast->probe_ns;
}

static void concentrate_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			       struct hy_decision *decision)
{
	struct concentrate *c = policy->priv;

	divide(c, snap);
	if (c->member < 0)
		c->member = choose_fast(c, snap);
	measure(c, snap);
	take_probes(c, &snap->dev[c->member]);
	if (c->end.stage == AT_REST && c->window.ns >= c->param[WINDOW_MS] * NS_PER_MS)
		hy_window_end(c);
	aim(c, snap, decision);
}

static bool concentrate_go_on(struct hy_policy *policy, const struct hy_snapshot *snap)
{
	return hy_window_go_on(policy->priv, snap);
}

static int concentrate_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			     struct hy_decision *tokens, u64 le)
{
	struct concentrate *c = policy->priv;

	return hy_credit_place(&c->credit, c->target, snap);
}

/* --- what moves next --- */

static bool range_of(const struct concentrate *c, u32 i, bool up, struct hy_range *range)
{
	range->first = (u64)i << c->shift;
	range->nr = min(extents_of(c), c->extents - range->first);
	range->from = up ? -1 : c->member;
	range->to = up ? c->member : -1;
	return true;
}

/* Of the fast member so much is free for what comes next, as far as what is kept is concerned. */
static u64 headroom(const struct concentrate *c, const struct hy_dev_snap *fast)
{
	return min(c->param[EVICT] * extents_of(c), fast->extents / 2ULL);
}

static bool lower(struct concentrate *c, u32 i, struct hy_range *range)
{
	hy_order_drop(c, &c->leave, hy_leaves_before);
	c->group[i].flags &= ~WANTED;
	c->group[i].flags |= LOWERED;
	return range_of(c, i, false, range);
}

/*
 * The one that is missed least of those in memory; one that is concentrated only if what waits is
 * accessed more than twice as much, so that two don't take turns.
 */
static bool next_evicted(struct concentrate *c, struct hy_range *range)
{
	u32 i = c->leave.at[0];

	if (!c->leave.nr)
		return false;
	if ((c->group[i].flags & (WANTED | KEPT)) == WANTED &&
	    c->end.waiting / 2 <= c->group[i].last)
		return false;
	return lower(c, i, range);
}

static u64 missing_of(const struct concentrate *c, const struct group *g)
{
	return extents_of(c) - min_t(u64, g->here, extents_of(c));
}

/* The most accessed of those that are to be gathered and were not in this window. */
static bool next_raised(struct concentrate *c, const struct hy_dev_snap *fast,
			struct hy_range *range)
{
	unsigned int popped = STEP;

	while (c->rise.nr) {
		u32 i = c->rise.at[0];
		struct group *g = &c->group[i];

		/* Of those kept only what has room anyway: else it would leave again at once. */
		if (g->flags & KEPT && fast->free < headroom(c, fast) + missing_of(c, g))
			return false;
		if (!popped--)
			return false;		/* policy_lock is held: the next tick goes on */
		hy_order_drop(c, &c->rise, hy_rises_before);
		if (!(g->flags & WANTED))
			continue;		/* it had to leave */
		g->flags |= RAISED;
		return range_of(c, i, true, range);
	}
	return false;
}

/* One whose concentration is over; one that is kept if there is too little room. */
static bool next_lowered(struct concentrate *c, const struct hy_dev_snap *fast,
			 struct hy_range *range)
{
	u32 i = c->leave.at[0];

	if (!c->leave.nr || c->group[i].age)
		return false;
	if (c->group[i].flags & WANTED &&
	    !(c->group[i].flags & KEPT && fast->free < headroom(c, fast)))
		return false;
	return lower(c, i, range);
}

/* What is on the fast member and not known of is brought down group by group, a few each time. */
static bool next_searched(struct concentrate *c, struct hy_range *range)
{
	u32 end = min(c->search + STEP, c->nr);

	while (c->search < end) {
		u32 i = c->search++;

		if (c->search == c->nr)
			c->searched = c->unknown;
		if (c->group[i].here || c->group[i].flags & WANTED)
			continue;
		c->group[i].flags |= LOWERED;
		return range_of(c, i, false, range);
	}
	return false;
}

static bool room_on_slow(const struct concentrate *c, const struct hy_snapshot *snap)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		if (i != c->member && hy_has_room(&snap->dev[i]))
			return true;
	return false;
}

static bool concentrate_next(struct hy_policy *policy, const struct hy_snapshot *snap,
			     struct hy_range *range)
{
	struct concentrate *c = policy->priv;
	const struct hy_dev_snap *fast = &snap->dev[c->member];
	bool down = room_on_slow(c, snap);

	if (c->evict && down) {
		c->evict--;
		if (next_evicted(c, range))
			return true;
		c->evict = 0;
	}
	if (snap->nr > 1 && hy_has_room(fast) && next_raised(c, fast, range))
		return true;
	return down && (next_lowered(c, fast, range) || next_searched(c, range));
}

static void concentrate_moved(struct hy_policy *policy, const struct hy_range *range,
			      const struct hy_moved *moved)
{
	struct concentrate *c = policy->priv;
	u64 i = range->first >> c->shift;

	/* Few of many: that is the time it takes to look at them, not to move them. */
	if (moved->moved >= range->nr / 4)
		hy_times_moved(&c->times, moved->moved, moved->ns);
	if (range->to >= 0)
		c->up += moved->moved;
	else
		c->down += moved->moved;
	/* Cut another way meanwhile? */
	if (i >= c->nr || range->first != i << c->shift ||
	    range->nr != min(extents_of(c), c->extents - range->first))
		return;
	c->group[i].here = min_t(u64, range->to >= 0 ? moved->there : moved->left, U32_MAX);
	if (range->to >= 0 && moved->left)
		c->group[i].flags |= SHORT;
	else
		c->group[i].flags &= ~SHORT;
}

/* --- what is shown --- */

static void show_run(const struct concentrate *c, struct hy_text *text, u32 from, u32 to)
{
	u64 accesses = 0, here = 0, first = (u64)from << c->shift;
	u64 last = min((u64)to << c->shift, c->extents);
	u32 age = 0, i;

	for (i = from; i < to; i++) {
		accesses += c->group[i].last;
		here += c->group[i].here;
		age = max_t(u32, age, c->group[i].age);
	}
	hy_text_add(text, "\n%llu %llu %llu %u %llu %llu", (unsigned long long)first,
		    (unsigned long long)(last - first),
		    (unsigned long long)(c->accesses ?
					 div64_u64(accesses * HY_PPM, c->accesses) : 0),
		    age, (unsigned long long)here,
		    (unsigned long long)div_u64((u64)hy_lives_left(&c->lives, age) *
						c->param[WINDOW_MS], HY_LEFT_ONE));
}

static void show_whole(const struct concentrate *c, struct hy_text *text)
{
	u64 here = 0;
	u32 i;

	for (i = 0; i < c->nr; i++)
		here += c->group[i].here;
	hy_text_add(text, "%d %llu %llu %llu %llu", c->member,
		    (unsigned long long)(c->nr ? extents_of(c) : 0), (unsigned long long)here,
		    (unsigned long long)c->up, (unsigned long long)c->down);
}

/* All of it, and then runs of groups that are in use, by the number of the first group. */
static int concentrate_show(const struct hy_policy *policy, u64 *cursor, char *buf, size_t len)
{
	const struct concentrate *c = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };
	u32 i = min_t(u64, *cursor, c->nr), from, lines = 0;

	if (!*cursor)
		show_whole(c, &text);
	for (; i < c->nr && lines < SHOWN && text.len < len; i++) {
		for (from = i; i < c->nr && c->group[i].age; i++)
			;
		if (i > from) {
			show_run(c, &text, from, i);
			lines++;
		}
	}
	*cursor = i < c->nr ? i : U64_MAX;
	return text.len;
}

/* An extent of a group on a slow member. */
static struct hy_verdict below(const struct concentrate *c, const struct group *g,
			       const struct hy_dev_snap *fast)
{
	u64 room = g->flags & KEPT ? headroom(c, fast) + missing_of(c, g) : 0;

	if (g->flags & WANTED && hy_has_room(fast) && fast->free >= room)
		return (struct hy_verdict){ .to = c->member };
	if (g->flags & WANTED)
		return (struct hy_verdict){ .to = -1, .why = HY_NOT_NOSPACE };
	return (struct hy_verdict){ .to = -1, .why = g->age ? HY_NOT_COST : HY_NOT_BALANCED };
}

/* One on the fast member. */
static struct hy_verdict above(const struct concentrate *c, const struct group *g,
			       const struct hy_snapshot *snap)
{
	struct hy_credit credit = c->credit;
	int to = hy_credit_place(&credit, c->target, snap);

	if (g->age || g->flags & WANTED)
		return (struct hy_verdict){ .to = -1, .why = HY_NOT_BALANCED };
	if (to < 0 || to == c->member)
		return (struct hy_verdict){ .to = -1, .why = HY_NOT_NOSPACE };
	return (struct hy_verdict){ .to = to };
}

/* By the end of the last window; what has to leave because others need the room is not foreseen. */
static int concentrate_explain(const struct hy_policy *policy, const struct hy_snapshot *snap,
			       u64 le, unsigned int member, struct hy_verdict *verdict, char *buf,
			       size_t len)
{
	const struct concentrate *c = policy->priv;
	const struct group *g = &c->group[le >> c->shift];

	*verdict = (struct hy_verdict){ .to = -1, .why = HY_NOT_BALANCED };
	if (c->member < 0 || le >> c->shift >= c->nr)
		return 0;
	*verdict = member == c->member ? above(c, g, snap) : below(c, g, &snap->dev[c->member]);
	return 0;
}

const struct hy_policy_ops hy_policy_concentrate = {
	.name = "concentrate",
	.size = sizeof(struct concentrate),
	.init = concentrate_init,
	.set = concentrate_set,
	.emit = concentrate_emit,
	.period = concentrate_period,
	.go_on = concentrate_go_on,
	.place = concentrate_place,
	.accessed = concentrate_accessed,
	.next = concentrate_next,
	.moved = concentrate_moved,
	.alone = true,
	.show = concentrate_show,
	.explain = concentrate_explain,
};
