// SPDX-License-Identifier: GPL-2.0-only
/* One member after the other, in the order of the table: a strict hierarchy. */
#include "policy_util.h"

static int fill_place(struct hy_policy *policy, const struct hy_snapshot *snap,
		      struct hy_decision *tokens, u64 le)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		if (hy_has_room(&snap->dev[i]))
			return i;
	return -1;
}

static void fill_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			struct hy_decision *decision)
{
	int first = fill_place(policy, snap, decision, 0);

	if (first >= 0)
		decision->target[first] = HY_PPM;
	else
		hy_spread_targets(decision->target, decision->target, snap);
}

const struct hy_policy_ops hy_policy_fill = {
	.name = "fill",
	.period = fill_period,
	.place = fill_place,
	.alone = true,
};
