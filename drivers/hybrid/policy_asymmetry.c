// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each extent where its mix of reads and writes costs least: wu-2011 chapter II.
 *
 * What is new is striped, as in most of its figures, or put on the first member that has room; then
 * extents move one by one (policy_asym.c).  Nothing balances the load but that a member with too
 * much of it gets slow.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "policy_asym.h"
#include "policy_util.h"

/**
 * struct asymmetry - the policy
 * @fill: what is new goes to the first member that has room
 * @asym: what is known of extents
 */
struct asymmetry {
	bool fill;
	struct hy_asym asym;
};

static const struct hy_policy_ops *first_of(const struct asymmetry *s)
{
	return s->fill ? &hy_policy_fill : &hy_policy_stripe;
}

static void asymmetry_init(struct hy_policy *policy)
{
	struct asymmetry *s = policy->priv;

	hy_asym_init(&s->asym, false);
}

static int asymmetry_set(struct hy_policy *policy, const char *key, const char *value,
			 const char **reason)
{
	struct asymmetry *s = policy->priv;

	if (!strcmp(key, "first")) {
		if (strcmp(value, "stripe") && strcmp(value, "fill")) {
			*reason = "first: stripe or fill";
			return -EINVAL;
		}
		s->fill = !strcmp(value, "fill");
		return 0;
	}
	*reason = "not one of: first " HY_ASYM_KEYS;
	return hy_asym_set(&s->asym, key, value, reason);
}

static int asymmetry_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	const struct asymmetry *s = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };

	hy_asym_emit(&s->asym, &text);
	if (s->fill) {
		hy_text_add_key(&text, "first");
		hy_text_add(&text, "fill");
	}
	return text.len;
}

static void asymmetry_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			     struct hy_decision *decision)
{
	struct asymmetry *s = policy->priv;

	hy_asym_period(&s->asym, snap, &decision->probe);
	if (first_of(s)->period)
		first_of(s)->period(policy, snap, decision);
	else
		hy_spread_targets(decision->target, decision->receive, snap);
}

static bool asymmetry_go_on(struct hy_policy *policy, const struct hy_snapshot *snap)
{
	struct asymmetry *s = policy->priv;

	return hy_asym_go_on(&s->asym, policy->stays);
}

static int asymmetry_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			   struct hy_decision *tokens, u64 le)
{
	return first_of(policy->priv)->place(policy, snap, tokens, le);
}

static void asymmetry_accessed(struct hy_policy *policy, const struct hy_access *access)
{
	struct asymmetry *s = policy->priv;

	hy_asym_accessed(&s->asym, access, policy->stays);
}

static bool asymmetry_next(struct hy_policy *policy, const struct hy_snapshot *snap,
			   struct hy_range *range)
{
	struct asymmetry *s = policy->priv;

	return hy_asym_next(&s->asym, snap, range, policy->stays);
}

static void asymmetry_moved(struct hy_policy *policy, const struct hy_range *range,
			    const struct hy_moved *moved)
{
	struct asymmetry *s = policy->priv;

	hy_asym_moved(&s->asym, range, moved);
}

static int asymmetry_explain(const struct hy_policy *policy, const struct hy_snapshot *snap,
			     u64 le, unsigned int member, struct hy_verdict *verdict, char *buf,
			     size_t len)
{
	const struct asymmetry *s = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };

	hy_asym_explain(&s->asym, snap, le, member, verdict, &text);
	return text.len;
}

static unsigned int asymmetry_counts(const struct hy_policy *policy, u64 *cursor,
				     struct hy_count *count, unsigned int max)
{
	const struct asymmetry *s = policy->priv;

	return hy_asym_counts(&s->asym, cursor, count, max);
}

const struct hy_policy_ops hy_policy_asymmetry = {
	.name = "asymmetry",
	.size = sizeof(struct asymmetry),
	.init = asymmetry_init,
	.set = asymmetry_set,
	.emit = asymmetry_emit,
	.period = asymmetry_period,
	.go_on = asymmetry_go_on,
	.place = asymmetry_place,
	.accessed = asymmetry_accessed,
	.next = asymmetry_next,
	.fills = true,
	.moved = asymmetry_moved,
	.explain = asymmetry_explain,
	.counts = asymmetry_counts,
};
