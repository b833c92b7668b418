// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why is an extent where it is?  The answer of the message explain: words in pairs, a key and a
 * value, in Documentation/admin-guide/dm-hybrid.rst.
 *
 * What holds for whatever the policy is comes first: pins, migrations under way.  Then a policy
 * that looks at extents says what it makes of this one; one that has tokens does not know them, and
 * the mover's rules are gone through as they would be if it were picked now.
 */
#include "hybrid.h"
#include "policy_tokens.h"
#include "policy_util.h"

#define HY_EXPLAIN_TEXT	1024	/* costs by member of 32 */

/* What is known of an extent. */
struct facts {
	u64 le;
	u64 entry;
	unsigned int member;
	int pinned;
	bool moving;
	bool hot;
	struct hy_heat_node heat;
	u32 share;
	u32 places;		/* members where nothing has to leave for it, or what is cooler */
	u64 cooldown_ns;	/* left */
};

static void look_at(struct hy_pool *pool, u64 now, struct facts *f)
{
	u64 cooldown = (u64)READ_ONCE(pool->set.cooldown_ms) * NSEC_PER_MSEC, since;
	unsigned int i;

	f->member = ek_entry_member(f->entry);
	f->pinned = hy_pinned_to(pool, f->le);
	f->moving = xa_load(&pool->migs, f->le);	/* not looked into */
	mutex_lock(&pool->heat_lock);
	f->hot = hy_heat_get(&pool->heat, f->le, &f->heat);
	f->share = hy_heat_share(&pool->heat, f->le);
	for (i = 0; i < pool->nr_members; i++)
		if (hy_mover_has_place(pool, f->le, i, now))
			f->places |= BIT(i);
	mutex_unlock(&pool->heat_lock);
	if (!f->hot || !f->heat.moved_at)
		return;
	since = now > f->heat.moved_at ? now - f->heat.moved_at : 0;
	f->cooldown_ns = since < cooldown ? cooldown - since : 0;
}

static struct hy_verdict stays(enum hy_reason why)
{
	return (struct hy_verdict){ .to = -1, .why = why };
}

/* policy_lock held: the mover's rules for tokens, see mover.c. */
static struct hy_verdict by_tokens(struct hy_pool *pool, const struct facts *f)
{
	struct hy_decision *left = &pool->tokens;
	unsigned int nr = pool->nr_members;
	u32 self = BIT(f->member);
	unsigned int to = hy_tokens_most(left->receive, nr, self | ~f->places);

	if (!pool->decision.give[f->member])
		return stays(HY_NOT_BALANCED);
	if (f->cooldown_ns)
		return stays(HY_NOT_COOLDOWN);
	if (!left->give[f->member] || hy_tokens_most(left->receive, nr, self) == nr)
		return stays(HY_NOT_TOKEN);
	if (!f->hot)
		return stays(HY_NOT_CANDIDATE);
	if (to == nr)
		return stays(HY_NOT_COST);
	if (f->share > hy_most_share(left, f->member, to))
		return stays(HY_NOT_SHARE);
	if (!hy_has_room(&pool->snap.dev[to]))
		return stays(HY_NOT_NOSPACE);
	return (struct hy_verdict){ .to = to };
}

/* The policy may be gone once the lock is let go of; names are there as long as the module. */
static const char *policy_name(struct hy_pool *pool)
{
	const char *name;

	spin_lock_irq(&pool->policy_lock);
	name = pool->policy->ops->name;
	spin_unlock_irq(&pool->policy_lock);
	return name;
}

/*
 * By the policy's own rules, else by tokens, which go by the extent's heat, whatever the policy
 * counts of it.  What the policy says of one that stays is more than that there are none.
 * policy_lock held.
 */
static struct hy_verdict by_policy(struct hy_pool *pool, const struct facts *f, char *buf,
				   size_t len)
{
	const struct hy_policy_ops *ops = pool->policy->ops;
	struct hy_verdict own = stays(HY_NOT_BALANCED), v;

	if (ops->explain)
		ops->explain(pool->policy, &pool->snap, f->le, f->member, &own, buf, len);
	if (own.to >= 0 || ops->alone)
		return own;
	v = by_tokens(pool, f);
	return v.to >= 0 || own.why == HY_NOT_BALANCED ? v : own;
}

/* @name: of the policy that judged; @buf: what it has to say of the extent. */
static struct hy_verdict judge(struct hy_pool *pool, const struct facts *f, const char **name,
			       char *buf, size_t len)
{
	struct hy_verdict v;

	spin_lock_irq(&pool->policy_lock);
	hy_snap_space(pool);
	*name = pool->policy->ops->name;
	*buf = '\0';
	v = by_policy(pool, f, buf, len);
	spin_unlock_irq(&pool->policy_lock);
	if (f->pinned >= 0)
		return f->pinned == f->member ? stays(HY_NOT_PINNED) :
						(struct hy_verdict){ .to = f->pinned };
	return f->moving ? stays(HY_NOT_BUSY) : v;
}

/**
 * hy_explain - say where an extent is and why it stays there or where it would go
 * @pool: the pool
 * @le: logical extent; its page of the map is loaded
 * @result: gets the answer
 * @maxlen: its size
 *
 * Context: sleeps; takes heat_lock, policy_lock.
 */
void hy_explain(struct hy_pool *pool, u64 le, char *result, unsigned int maxlen)
{
	char *more = kmalloc(HY_EXPLAIN_TEXT, HY_MUST);
	struct facts f = { .le = le };
	struct hy_verdict v;
	const char *name;
	unsigned int sz = 0;

	if (ek_map_lookup(&pool->map, le, &f.entry) || !ek_entry_mapped(f.entry)) {
		DMEMIT("extent %llu member - pinned %d policy %s", le, hy_pinned_to(pool, le),
		       policy_name(pool));
		goto out;
	}
	look_at(pool, ktime_get_ns(), &f);
	v = judge(pool, &f, &name, more, HY_EXPLAIN_TEXT);
	DMEMIT("extent %llu member %u physical %u valid %08x pinned %d", le, f.member,
	       ek_entry_pe(f.entry), ek_entry_valid(f.entry), f.pinned);
	DMEMIT(" verdict %s to %d", v.to < 0 ? hy_reason_name(v.why) : "moves", v.to);
	DMEMIT(" accesses %u share_ppm %u cooldown_ms %llu", f.hot ? f.heat.accesses : 0, f.share,
	       div_u64(f.cooldown_ns, NSEC_PER_MSEC));
	DMEMIT(" policy %s%s", name, more);
out:
	kfree(more);
}
