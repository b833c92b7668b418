// SPDX-License-Identifier: GPL-2.0-only
/*
 * wardrop and asymmetry as one: wardrop says how much of the load each member is to have, and
 * extents change places by what they are read and written.
 *
 * So that the two don't work against each other, response times are scaled for the second until
 * what all extents together do costs the same on every member (hy_asym.relative).  What is left
 * is who is better at reading and who at writing, as far as they differ; where they don't, this
 * is wardrop.  What then moves changes loads a little, which wardrop sees and makes good.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "policy_asym.h"
#include "policy_util.h"

#define SLACK	16u	/* part of a target that a share may be above it */

/**
 * struct unified - the policy
 * @rest_from: ns; then the members are left alone until the period ends
 * @asym: what is known of extents
 */
struct unified {
	u64 rest_from;
	struct hy_asym asym;
};

static void unified_init(struct hy_policy *policy)
{
	struct unified *u = policy->priv;

	hy_asym_init(&u->asym, true);
}

static int unified_set(struct hy_policy *policy, const char *key, const char *value,
		       const char **reason)
{
	struct unified *u = policy->priv;
	int r = hy_asym_set(&u->asym, key, value, reason);

	if (r != -ENOENT)
		return r;
	r = hy_policy_set(policy->under, key, value, reason);
	if (r == -ENOENT)
		*reason = "not one of: " HY_ASYM_KEYS ", nor of wardrop's";
	return r;
}

static int unified_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	const struct unified *u = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };
	size_t used;

	hy_asym_emit(&u->asym, &text);
	if (!hy_policy_emit(policy->under, NULL, 0))
		return text.len;
	hy_text_add(&text, "%s", text.len ? " " : "");
	used = min_t(size_t, text.len, len);
	text.len += hy_policy_emit(policy->under, used < len ? buf + used : NULL, len - used);
	return text.len;
}

static void take_stays(struct hy_policy *policy)
{
	unsigned int why;

	for (why = 0; why < HY_REASONS; why++) {
		policy->stays[why] += policy->under->stays[why];
		policy->under->stays[why] = 0;
	}
}

/*
 * Who has more than it should, or should have none, gets nothing: else what fits better there would
 * come as fast as wardrop sends other extents away.
 */
static u32 closed(const struct hy_snapshot *snap, const struct hy_decision *decision)
{
	unsigned int i;
	u32 mask = 0;

	for (i = 0; i < snap->nr; i++) {
		u32 target = decision->target[i];

		if (decision->give[i] || snap->dev[i].share >= target + target / SLACK)
			mask |= BIT(i);
	}
	return mask;
}

static void unified_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			   struct hy_decision *decision)
{
	struct unified *u = policy->priv;
	u32 probe = 0;

	policy->under->ops->period(policy->under, snap, decision);
	take_stays(policy);
	hy_asym_period(&u->asym, snap, &probe);	/* wardrop knows when it wants probes */
	u->asym.closed = closed(snap, decision);
	u->rest_from = snap->now_ns + div_u64(snap->period_ns, HY_PPM) * (HY_PPM - decision->rest);
}

static bool unified_go_on(struct hy_policy *policy, const struct hy_snapshot *snap)
{
	struct unified *u = policy->priv;

	return hy_asym_go_on(&u->asym, policy->stays);
}

static int unified_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			 struct hy_decision *tokens, u64 le)
{
	return hy_policy_place(policy->under, snap, tokens, le);
}

static void unified_accessed(struct hy_policy *policy, const struct hy_access *access)
{
	struct unified *u = policy->priv;

	hy_asym_accessed(&u->asym, access, policy->stays);
}

static bool unified_next(struct hy_policy *policy, const struct hy_snapshot *snap,
			 struct hy_range *range)
{
	struct unified *u = policy->priv;

	return snap->now_ns < u->rest_from &&
	       hy_asym_next(&u->asym, snap, range, policy->stays);
}

static void unified_moved(struct hy_policy *policy, const struct hy_range *range,
			  const struct hy_moved *moved)
{
	struct unified *u = policy->priv;

	hy_asym_moved(&u->asym, range, moved);
}

static int unified_explain(const struct hy_policy *policy, const struct hy_snapshot *snap,
			   u64 le, unsigned int member, struct hy_verdict *verdict, char *buf,
			   size_t len)
{
	const struct unified *u = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };

	hy_asym_explain(&u->asym, snap, le, member, verdict, &text);
	return text.len;
}

static unsigned int unified_counts(const struct hy_policy *policy, u64 *cursor,
				   struct hy_count *count, unsigned int max)
{
	const struct unified *u = policy->priv;

	return hy_asym_counts(&u->asym, cursor, count, max);
}

const struct hy_policy_ops hy_policy_unified = {
	.name = "unified",
	.size = sizeof(struct unified),
	.under = &hy_policy_wardrop,
	.init = unified_init,
	.set = unified_set,
	.emit = unified_emit,
	.period = unified_period,
	.go_on = unified_go_on,
	.place = unified_place,
	.accessed = unified_accessed,
	.next = unified_next,
	.moved = unified_moved,
	.explain = unified_explain,
	.counts = unified_counts,
};
