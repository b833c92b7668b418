// SPDX-License-Identifier: GPL-2.0-only
/* Round robin over the members with room: what a stripe would do, the baseline. */
#include <linux/math64.h>
#include "policy_util.h"

static int stripe_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			struct hy_decision *tokens, u64 le)
{
	unsigned int with_room[EK_MAX_MEMBERS], nr = 0, i;
	u32 turn;

	for (i = 0; i < snap->nr; i++)
		if (hy_has_room(&snap->dev[i]))
			with_room[nr++] = i;
	if (!nr)
		return -1;
	div_u64_rem(le, nr, &turn);
	return with_room[turn];
}

const struct hy_policy_ops hy_policy_stripe = {
	.name = "stripe",
	.place = stripe_place,
	.alone = true,
};
