// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mover: turns the tokens that allocation left over into migrations of hot
 * extents, and sheds cold extents off a member that fills up
 * (wu-reddy section II, the first two of its three migrations).
 *
 * Tokens are released evenly over the period, less what allocation took, so that
 * allocation comes first and migration never comes in a burst.
 *
 * Copies yield to users.  Each charges both its members with their part of the time it
 * took (hy_copy_part()).  A member pays off with the time in which no user kept it busy and a part
 * (migrate_share) of the time that users' requests spent in flight there, and takes
 * part in no further copy before it has.  So a single reader of a disk sees it
 * taken for that part of the time at most, while a disk with a long queue, where
 * one copy more makes no difference and moving extents away makes the most, is not
 * held up.
 *
 * Tokens that stand for shares (hy_decision.token_ppm) are used up by an extent according to its
 * part of the accesses, and an extent with a larger part than is wanted stays.
 *
 * A member that is as good as full changes what it has for what is hotter.  What is not in use
 * leaves it, else what is used the least, and only what is clearly hotter comes (heat.c): a fast
 * member that is smaller than the data has the hottest of it in the end.  While the devices are
 * idle low_free is kept free there, for what will be written; beside users a fourth of that, as
 * what has left is served by another one.
 */
#include <linux/math64.h>
#include "hybrid.h"
#include "policy_tokens.h"

#define HY_SETTLING	16	/* copies that wait for one flush */
#define HY_IDLE_MS	100	/* without a user: then there is nobody to yield to */
#define HY_TRIES	8	/* candidates tried for one token */
#define HY_COLD_SCAN	4096	/* map entries looked at per tick */
#define HY_COLD_NS	NSEC_PER_SEC	/* after which what is in use leaves instead */
#define HY_SHED_TRIES	64	/* extents that turn out to be gone, or elsewhere, per tick */

static const char * const reason_name[HY_REASONS] = {
	[HY_NOT_COOLDOWN] = "cooldown",
	[HY_NOT_BUSY] = "busy",
	[HY_NOT_NOSPACE] = "nospace",
	[HY_NOT_RATE] = "rate",
	[HY_NOT_FOREGROUND] = "foreground",
	[HY_NOT_CANDIDATE] = "candidate",
	[HY_NOT_UNMAPPED] = "unmapped",
	[HY_NOT_RACED] = "raced",
	[HY_NOT_MEMBER] = "member",
	[HY_NOT_ERROR] = "error",
	[HY_NOT_BALANCED] = "balanced",
	[HY_NOT_TOKEN] = "token",
	[HY_NOT_COST] = "cost",
	[HY_NOT_SIZE] = "size",
	[HY_NOT_PINNED] = "pinned",
	[HY_NOT_SHARE] = "share",
};

const char *hy_reason_name(enum hy_reason why)
{
	return reason_name[why];
}

void hy_not_migrated(struct hy_pool *pool, enum hy_reason why)
{
	atomic64_inc(&pool->not_migrated[why]);
}

/* Requests in flight as the device has them: a run of extents is one. */
static s64 bios_in_flight(struct hy_member *m)
{
	return max_t(s64, ek_rtmon_inflight(m->mon) - atomic_read(&m->more_inflight), 0);
}

/*
 * May another copy off this member begin, by how many there are?  Who comes to an idle pool waits
 * for all of them, so they are counted together; beside users each giver has a number of its own,
 * and all together no more than HY_MAX_MOVERS.  One is always free: what is copied off a member
 * with a long queue, or off one that does not answer, takes no turn of another one.  Nor does what
 * waits for a flush of where it was copied to; what users write meanwhile is copied after that,
 * beside those that begin.
 *
 * That is of copies alone.  Each migration begins with a grace period of pool->srcu, and each place
 * that was left waits for one (epoch.c): a single request of a user's that a dead member does not
 * answer holds up all of them until it ends.
 */
bool hy_mover_free(struct hy_pool *pool, unsigned int from)
{
	struct hy_member *m = &pool->member[from];
	int nr = atomic_read(&pool->nr_migrating) - atomic_read(&pool->nr_settling);
	int giving = atomic_read(&m->nr_giving) - atomic_read(&m->nr_given);

	if (giving <= 0)
		return true;
	if (pool->last_tick - pool->last_user >= HY_IDLE_MS * NSEC_PER_MSEC)
		return nr < hy_idle_movers(&pool->set, pool->extent_sectors);
	return nr < HY_MAX_MOVERS && giving < hy_movers(&pool->set, bios_in_flight(m));
}

/* What a copy may take at least by the rate limit, ns; 0: there is no limit. */
static u64 copy_ns(struct hy_pool *pool)
{
	u32 kbps = READ_ONCE(pool->set.migrate_kbps);
	u64 bytes = (u64)pool->extent_sectors << SECTOR_SHIFT;

	return kbps ? div_u64(bytes * NSEC_PER_SEC / 1024, kbps) : 0;
}

/*
 * The rate limit: is it time for another copy?  One may begin ahead of its time; what was charged
 * beyond that was at a lower limit than there is now, and is forgiven.
 */
bool hy_mover_rate_allows(struct hy_pool *pool, u64 now)
{
	u64 ns = copy_ns(pool);

	pool->next_copy = min(pool->next_copy, now + 2 * ns);
	return now + ns >= pool->next_copy;
}

/*
 * One has begun: when is it time for the next?  What could not begin since the last tick is made
 * good: a limit is met though a tick is longer than a copy may take by it.
 */
void hy_mover_rate_charge(struct hy_pool *pool, u64 now)
{
	u64 tick = HY_WAITING_MS * NSEC_PER_MSEC;

	pool->next_copy = max(pool->next_copy, now - min(now, tick)) + copy_ns(pool);
}

/* Return: has a user had a request there since the last tick? */
static bool pay_debt(struct hy_member *m, u64 ns, u32 percent)
{
	u64 occupancy = ek_rtmon_occupancy(m->mon);
	s64 users = max_t(s64, occupancy - m->seen_occupancy, 0);
	s64 debt = atomic64_read(&m->copy_debt), inflight = ek_rtmon_inflight(m->mon), paid;

	if (inflight > 0 && atomic_read(&m->more_inflight))
		users = div64_s64(users * bios_in_flight(m), inflight);
	paid = div_s64(users * percent, 100) + max_t(s64, ns - users, 0);
	m->seen_occupancy = occupancy;
	/* Of requests that are in flight so short a time may not show. */
	if ((!users && inflight <= 0) || !percent || paid > debt)
		paid = debt;
	atomic64_sub(paid, &m->copy_debt);
	return users || inflight > 0;
}

static void pay_debts(struct hy_pool *pool, u64 now)
{
	u64 ns = now - pool->last_tick;
	unsigned int i;

	pool->last_tick = now;
	for (i = 0; i < pool->nr_members; i++)
		if (pay_debt(&pool->member[i], ns, READ_ONCE(pool->set.migrate_share)))
			pool->last_user = now;
}

/* Does the member still owe its users the time that copies took? */
bool hy_mover_in_debt(struct hy_pool *pool, unsigned int i)
{
	return atomic64_read(&pool->member[i].copy_debt) > 0;
}

/* Is there nothing that comes for copies to it, as they wait for its flush? */
static bool is_stuck(struct hy_pool *pool, unsigned int to)
{
	return atomic_read(&pool->member[to].nr_settling) >= HY_SETTLING;
}

/*
 * Must a copy to the member wait, and why?  For what it owes, or as so many wait for its flush,
 * which may never end: what goes elsewhere, or leaves it, goes on.
 */
bool hy_mover_bars(struct hy_pool *pool, unsigned int to, enum hy_reason *why)
{
	if (is_stuck(pool, to))
		*why = HY_NOT_BUSY;
	else if (hy_mover_in_debt(pool, to))
		*why = HY_NOT_FOREGROUND;
	else
		return false;
	return true;
}

/* How many tokens migration may take now, and between which members. */
static struct hy_due tokens_due(struct hy_pool *pool, struct hy_barred barred, u64 now)
{
	u64 period_ns = (u64)READ_ONCE(pool->set.period_ms) * NSEC_PER_MSEC;
	struct hy_due due;

	spin_lock_irq(&pool->policy_lock);
	due = hy_tokens_due(&pool->decision, &pool->tokens, pool->nr_members, barred,
			    now - pool->period_start, period_ns);
	spin_unlock_irq(&pool->policy_lock);
	if (due.spent)
		hy_not_migrated(pool, HY_NOT_TOKEN);
	return due;
}

/* @share: of what moves, ppm. */
static void take_tokens(struct hy_pool *pool, unsigned int from, unsigned int to, u32 share)
{
	spin_lock_irq(&pool->policy_lock);
	hy_tokens_take(&pool->tokens, pool->nr_members, from, to, share, &pool->moved_ppm);
	spin_unlock_irq(&pool->policy_lock);
}

static u32 most_share(struct hy_pool *pool, unsigned int from, unsigned int to)
{
	u32 most;

	spin_lock_irq(&pool->policy_lock);
	most = hy_most_share(&pool->tokens, from, to);
	spin_unlock_irq(&pool->policy_lock);
	return most;
}

struct way {
	struct hy_pool *pool;
	unsigned int to;
};

/* For hy_heat_pick(), under heat_lock. */
static bool is_pinned(void *data, u64 le)
{
	struct way *way = data;
	int member;

	if (!READ_ONCE(way->pool->set.pins.nr))
		return false;
	member = hy_pinned_to(way->pool, le);
	return member >= 0 && member != way->to;
}

/* In fourths of low_free. */
static bool is_low(struct hy_pool *pool, unsigned int i, unsigned int fourths)
{
	struct ek_space *s = &pool->member[i].space;

	return (u64)ek_space_nr_free(s) * 400 <
	       (u64)s->nr * READ_ONCE(pool->set.low_free) * fourths;
}

/*
 * Unless all of the map was gone through since the last time that some was found, or that is long
 * ago: a large map takes many ticks, and what is hot is not to wait for the last of what is not.
 */
static bool has_cold(struct hy_pool *pool, unsigned int member, u64 now)
{
	const struct hy_cold *cold = &pool->member[member].cold;

	return cold->looks < pool->nr_extents && now - cold->since < HY_COLD_NS;
}

/* Of what is in use what is used the least, and is not pinned; heat_lock held. */
static bool find_coolest(struct hy_pool *pool, unsigned int member, u64 now, u64 *le, u32 *lasting)
{
	struct way nowhere = { .pool = pool, .to = EK_MAX_MEMBERS };
	u64 cooldown = (u64)READ_ONCE(pool->set.cooldown_ms) * NSEC_PER_MSEC;
	bool found;

	pool->heat.held = is_pinned;
	pool->heat.data = &nowhere;
	found = hy_heat_coolest(&pool->heat, member, now, cooldown, le, lasting);
	pool->heat.held = NULL;
	return found;
}

/* Has something left it of late because nobody was there? */
static bool was_idle(struct hy_pool *pool, unsigned int member, u64 now)
{
	u64 shed = pool->member[member].shed_idle;

	return shed && now - shed < 2 * (u64)READ_ONCE(pool->set.period_ms) * NSEC_PER_MSEC;
}

/*
 * How hot is what has to leave a member for what comes there?  HY_HEAT_ANY: it has room.  That ends
 * before it sheds anything, or what came would leave, and come again.
 * heat_lock held.
 */
static u64 who_would_leave(struct hy_pool *pool, unsigned int member, u64 now)
{
	u32 lasting = 0;
	u64 le;

	if (!is_low(pool, member, was_idle(pool, member, now) ? 5 : 2))
		return HY_HEAT_ANY;
	if (has_cold(pool, member, now) || find_coolest(pool, member, now, &le, &lasting))
		return lasting;
	return HY_HEAT_ANY - 1;		/* nothing can: nor is anything so hot */
}

/**
 * hy_mover_has_place - is there room on a member for an extent, or what is clearly cooler there?
 * @pool: the pool
 * @le: the logical extent
 * @member: where it would go
 * @now: ns
 *
 * Context: heat_lock held.
 * Return: if so.
 */
bool hy_mover_has_place(struct hy_pool *pool, u64 le, unsigned int member, u64 now)
{
	bool beyond;

	pool->heat.beyond = who_would_leave(pool, member, now);
	beyond = hy_heat_is_beyond(&pool->heat, le);
	pool->heat.beyond = HY_HEAT_ANY;
	return beyond;
}

/* May the mover take it, by the rules that hold for those that it picks itself? */
static bool may_move(struct hy_pool *pool, u64 le, struct way *way, u64 now, u64 cooldown,
		     u32 most, u32 *share)
{
	bool known, cooling, held, beyond;
	struct hy_heat_node node;

	mutex_lock(&pool->heat_lock);
	known = hy_heat_get(&pool->heat, le, &node);
	cooling = known && node.moved_at && now < node.moved_at + cooldown;
	held = is_pinned(way, le);
	*share = hy_heat_share(&pool->heat, le);
	beyond = hy_mover_has_place(pool, le, way->to, now);
	mutex_unlock(&pool->heat_lock);
	/* Without a share it would use up no token. */
	if (!known)
		hy_not_migrated(pool, HY_NOT_CANDIDATE);
	else if (cooling)
		hy_not_migrated(pool, HY_NOT_COOLDOWN);
	else if (held)
		hy_not_migrated(pool, HY_NOT_PINNED);
	else if (*share > most)
		hy_not_migrated(pool, HY_NOT_SHARE);
	else if (!beyond)
		hy_not_migrated(pool, HY_NOT_COST);
	else
		return true;
	return false;
}

static void forget_heat(struct hy_pool *pool, u64 le)
{
	mutex_lock(&pool->heat_lock);
	hy_heat_forget(&pool->heat, le);
	mutex_unlock(&pool->heat_lock);
}

/* One that is in memory and written to goes first: nothing has to be read (wu-reddy figure 4). */
static bool move_cached(struct hy_pool *pool, struct way *way, unsigned int from, u64 now,
			u32 *share)
{
	u32 most = most_share(pool, from, way->to);
	u64 cooldown = (u64)READ_ONCE(pool->set.cooldown_ms) * NSEC_PER_MSEC, le;
	enum hy_reason why;
	unsigned int tries;

	for (tries = 0; tries < HY_TRIES && hy_cache_pick(pool, from, &le); tries++) {
		if (!may_move(pool, le, way, now, cooldown, most, share))
			continue;
		mutex_lock(&pool->heat_lock);
		hy_heat_moved(&pool->heat, le, from, now);
		mutex_unlock(&pool->heat_lock);
		if (!hy_mig_start(pool, le, from, way->to, &why))
			return true;
		hy_not_migrated(pool, why);
		if (why == HY_NOT_UNMAPPED)
			forget_heat(pool, le);
		if (why == HY_NOT_NOSPACE || why == HY_NOT_MEMBER)
			break;
	}
	return false;
}

/*
 * Start one of the hottest extents of a member on its way to another; @share is set to its part
 * of the accesses, or @barred to who is not to be asked again.
 */
static bool move_hot(struct hy_pool *pool, unsigned int from, unsigned int to, u64 now,
		     u32 *share, struct hy_barred *barred)
{
	u32 most = most_share(pool, from, to);
	u64 cooldown = (u64)READ_ONCE(pool->set.cooldown_ms) * NSEC_PER_MSEC;
	struct way way = { .pool = pool, .to = to };
	enum hy_reason why = HY_NOT_CANDIDATE;
	u64 le[HY_TRIES];
	unsigned int n, i, pinned, cool;

	if (move_cached(pool, &way, from, now, share))
		return true;
	mutex_lock(&pool->heat_lock);
	pool->heat.beyond = who_would_leave(pool, to, now);
	pool->heat.held = is_pinned;
	pool->heat.data = &way;
	n = hy_heat_pick(&pool->heat, from, now, cooldown, most, le, HY_TRIES);
	cool = pool->heat.too_cool;
	atomic64_add(cool, &pool->not_migrated[HY_NOT_COST]);
	pool->heat.beyond = HY_HEAT_ANY;
	atomic64_add(pool->heat.cooling, &pool->not_migrated[HY_NOT_COOLDOWN]);
	atomic64_add(pool->heat.too_hot, &pool->not_migrated[HY_NOT_SHARE]);
	pinned = pool->heat.nr_held;
	atomic64_add(pinned, &pool->not_migrated[HY_NOT_PINNED]);
	pool->heat.held = NULL;
	mutex_unlock(&pool->heat_lock);
	for (i = 0; i < n; i++) {
		mutex_lock(&pool->heat_lock);
		*share = hy_heat_share(&pool->heat, le[i]);
		/* Not picked again on its way, and not soon if it can't go. */
		hy_heat_moved(&pool->heat, le[i], from, now);
		mutex_unlock(&pool->heat_lock);
		if (!hy_mig_start(pool, le[i], from, to, &why))
			return true;
		if (why == HY_NOT_UNMAPPED)
			forget_heat(pool, le[i]);
		if (why == HY_NOT_NOSPACE || why == HY_NOT_MEMBER)
			break;
	}
	if (n || !(pinned || cool))
		hy_not_migrated(pool, why);
	/* Too cool for that one: another one may have room. */
	if (!n && cool)
		barred->to |= BIT(to);
	else if (why == HY_NOT_NOSPACE || why == HY_NOT_MEMBER)
		barred->to |= BIT(to);
	else
		barred->from |= BIT(from);
	return false;
}

/* Who of them has to wait, and why?  Returns false if neither has. */
static bool must_wait(struct hy_pool *pool, const struct hy_due *due, struct hy_barred *barred)
{
	enum hy_reason why = HY_NOT_FOREGROUND;
	bool to = hy_mover_bars(pool, due->to, &why), from = hy_mover_in_debt(pool, due->from);

	if (!hy_mover_free(pool, due->from)) {
		hy_not_migrated(pool, HY_NOT_BUSY);
		barred->from |= BIT(due->from);
		return true;
	}
	if (from || to)
		hy_not_migrated(pool, from ? HY_NOT_FOREGROUND : why);
	if (from)
		barred->from |= BIT(due->from);
	if (to)
		barred->to |= BIT(due->to);
	return from || to;
}

/* Something due that had to wait?  Who waits, or has nothing that may go, holds nobody else up. */
static bool spend_tokens(struct hy_pool *pool, u64 now)
{
	struct hy_barred barred = {};
	struct hy_due due;
	bool waits = false;
	u32 share;

	for (;;) {
		due = tokens_due(pool, barred, now);
		if (!due.tokens)
			return waits;
		if (!hy_mover_rate_allows(pool, now)) {
			hy_not_migrated(pool, HY_NOT_RATE);
			return true;
		}
		if (must_wait(pool, &due, &barred)) {
			waits = true;
			continue;
		}
		if (!move_hot(pool, due.from, due.to, now, &share, &barred))
			continue;
		take_tokens(pool, due.from, due.to, share);
		hy_mover_rate_charge(pool, now);
	}
}

/*
 * Where extents of a member that fills up can go: the emptiest that stays above water.  One that is
 * stuck would stay the emptiest for as long.
 */
static int emptiest(struct hy_pool *pool)
{
	int best = -1;
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		struct ek_space *s = &pool->member[i].space;

		if (pool->member[i].state != EK_MEMBER_ACTIVE || !pool->member[i].bdev ||
		    is_low(pool, i, 8) || !ek_space_nr_free(s) || is_stuck(pool, i))
			continue;
		if (best < 0 || (u64)ek_space_nr_free(s) * pool->member[best].space.nr >
				(u64)ek_space_nr_free(&pool->member[best].space) * s->nr)
			best = i;
	}
	return best;
}

static bool is_idle(struct hy_pool *pool, unsigned int i)
{
	return !ek_rtmon_inflight(pool->member[i].mon);
}

/* The next cold extent, from where the last search ended; reads one page of the map at most. */
static bool find_cold(struct hy_pool *pool, unsigned int member, u64 now, u64 *le)
{
	struct hy_cold *cold = &pool->member[member].cold;
	bool loaded = false;
	unsigned int n;
	u64 entry;
	int r;

	/* One that has rested begins anew. */
	if (now - cold->last >= HY_COLD_NS)
		*cold = (struct hy_cold){ .cursor = cold->cursor, .since = now };
	cold->last = now;
	for (n = 0; n < HY_COLD_SCAN; n++) {
		u64 at = cold->cursor < pool->nr_extents ? cold->cursor : 0, step = 1;
		bool hot;

		r = hy_pool_lookup_step(pool, at, &entry, &loaded);
		if (r == -EAGAIN)
			return false;		/* the next search reads this one */
		/* A page that can't be read is passed over. */
		if (r)
			step = EK_PAGE_ENTRIES - at % EK_PAGE_ENTRIES;
		cold->cursor = at + step;
		cold->looks += step;
		if (r || !ek_entry_mapped(entry) ||
		    ek_entry_member(entry) != member)
			continue;
		mutex_lock(&pool->heat_lock);
		hot = hy_heat_is_hot(&pool->heat, at);
		mutex_unlock(&pool->heat_lock);
		if (!hot && hy_pinned_to(pool, at) < 0) {
			*le = at;
			cold->looks = 0;
			cold->since = now;
			return true;
		}
	}
	return false;
}

/* Would the policy fill the room again with whatever costs less there? */
static bool policy_fills(struct hy_pool *pool)
{
	bool fills;

	spin_lock_irq(&pool->policy_lock);
	fills = pool->policy->ops->fills;
	spin_unlock_irq(&pool->policy_lock);
	return fills;
}

/*
 * What leaves a member next: the first that is not in use.  Else what is used the least, beside
 * users: for who comes next, nothing that is in use need go.
 */
static bool find_leaver(struct hy_pool *pool, unsigned int member, bool idle, u64 now, u64 *le)
{
	u32 lasting;
	bool found;

	if (find_cold(pool, member, now, le))
		return true;
	if (idle || has_cold(pool, member, now))
		return false;
	mutex_lock(&pool->heat_lock);
	found = find_coolest(pool, member, now, le, &lasting);
	/* Not found again on its way. */
	if (found)
		hy_heat_moved(&pool->heat, *le, member, now);
	mutex_unlock(&pool->heat_lock);
	return found;
}

/* Has it less than so many fourths of low_free, once all that is leaving it has left? */
static bool stays_low(struct hy_pool *pool, unsigned int i, unsigned int fourths)
{
	struct hy_member *m = &pool->member[i];
	u64 free = ek_space_nr_free(&m->space) + (u64)atomic_read(&m->nr_quarantined) +
		   atomic_read(&m->nr_giving);

	return free * 400 < (u64)m->space.nr * READ_ONCE(pool->set.low_free) * fourths;
}

/* Returns: has it to wait for something? */
static bool shed_from(struct hy_pool *pool, unsigned int from, unsigned int to, u64 now)
{
	bool idle = is_idle(pool, from) && is_idle(pool, to);
	unsigned int tries = HY_SHED_TRIES;
	enum hy_reason why;
	u64 le;

	if (!idle && policy_fills(pool))
		return false;
	while (stays_low(pool, from, idle ? 4 : 1)) {
		why = HY_NOT_FOREGROUND;
		if (hy_mover_in_debt(pool, from) || hy_mover_bars(pool, to, &why)) {
			hy_not_migrated(pool, why);
			return true;
		}
		if (!hy_mover_free(pool, from) || !hy_mover_rate_allows(pool, now))
			return true;
		if (!find_leaver(pool, from, idle, now, &le))
			return !idle && has_cold(pool, from, now);
		if (!hy_mig_start(pool, le, from, to, &why)) {
			hy_mover_rate_charge(pool, now);
			if (idle)
				pool->member[from].shed_idle = now;
			continue;
		}
		hy_not_migrated(pool, why);
		if (why != HY_NOT_UNMAPPED || !--tries)
			return false;
		/* It was discarded, or is elsewhere by now: that is no member's list it is on. */
		forget_heat(pool, le);
	}
	return false;
}

/* What can't be read is no extent that can go, and who leaves is emptied by evacuate.c. */
static bool may_shed(const struct hy_member *m)
{
	return m->bdev && READ_ONCE(m->state) <= EK_MEMBER_DEGRADED;
}

static bool shed(struct hy_pool *pool, u64 now)
{
	bool waits = false;
	unsigned int i;
	int to;

	for (i = 0; i < pool->nr_members; i++) {
		to = may_shed(&pool->member[i]) && stays_low(pool, i, 4) ? emptiest(pool) : -1;
		if (to >= 0 && to != i)
			waits |= shed_from(pool, i, to, now);
	}
	return waits;
}

/**
 * hy_mover_tick - start what is due
 * @pool: the pool, running
 * @now: ns
 *
 * Context: the balancer's work; sleeps.
 * Return: had some of it to wait, so that it is worth to come back soon?
 */
bool hy_mover_tick(struct hy_pool *pool, u64 now)
{
	bool waits;

	if (!hy_pool_writable(pool))
		return false;
	pay_debts(pool, now);
	/* Somebody wants these there, and they come to an end: first. */
	waits = hy_evacuate_tick(pool, now);
	waits |= hy_pin_tick(pool, now);
	if (!hy_moves_ranges_only(pool)) {
		waits |= spend_tokens(pool, now);
		waits |= shed(pool, now);
	}
	return hy_gather_tick(pool, now) || waits;
}
