// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fixed shares: what wu-reddy compares with (figure 1).  Nothing moves.
 *
 * Parameter: shares, percent for each member, "80,20"; default equal.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "policy_util.h"

#define SHARE_PLACES	4	/* of a percent: parts per million */

struct static_policy {
	u32 share[EK_MAX_MEMBERS];
	bool changed;		/* from the default */
	struct hy_credit credit;
};

static void equal_shares(u32 *share, unsigned int nr)
{
	u64 one[EK_MAX_MEMBERS];
	unsigned int i;

	for (i = 0; i < nr; i++)
		one[i] = 1;
	hy_apportion(share, one, nr, HY_PPM);
}

static void static_init(struct hy_policy *policy)
{
	struct static_policy *s = policy->priv;

	equal_shares(s->share, policy->nr);
}

/* @nr numbers with commas between. */
static int parse_shares(const char *text, u32 *share, unsigned int nr, const char **reason)
{
	unsigned int i;
	u64 sum = 0, v;

	*reason = "shares: a percentage for each member, separated by commas";
	for (i = 0; i < nr; i++) {
		if (i && *text++ != ',')
			return -EINVAL;
		if (hy_parse_decimal(text, &text, SHARE_PLACES, HY_PPM, &v))
			return -EINVAL;
		share[i] = v;
		sum += v;
	}
	if (*text)
		return -EINVAL;
	*reason = "shares: must add up to 100";
	return sum == HY_PPM ? 0 : -EINVAL;
}

static int static_set(struct hy_policy *policy, const char *key, const char *value,
		      const char **reason)
{
	struct static_policy *s = policy->priv;
	u32 share[EK_MAX_MEMBERS] = {}, equal[EK_MAX_MEMBERS] = {};
	int r;

	if (strcmp(key, "shares")) {
		*reason = "not one of: shares";
		return -ENOENT;
	}
	r = parse_shares(value, share, policy->nr, reason);
	if (r)
		return r;
	equal_shares(equal, policy->nr);
	memcpy(s->share, share, sizeof(share));
	s->changed = memcmp(share, equal, sizeof(share)) != 0;
	return 0;
}

static int static_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	const struct static_policy *s = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };
	unsigned int i;

	if (!s->changed)
		return 0;
	hy_text_add_key(&text, "shares");
	for (i = 0; i < policy->nr; i++) {
		hy_text_add(&text, "%s", i ? "," : "");
		hy_text_add_decimal(&text, s->share[i], SHARE_PLACES);
	}
	return text.len;
}

static void static_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			  struct hy_decision *decision)
{
	struct static_policy *s = policy->priv;

	hy_spread_targets(decision->target, s->share, snap);
}

static int static_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			struct hy_decision *tokens, u64 le)
{
	struct static_policy *s = policy->priv;

	return hy_credit_place(&s->credit, s->share, snap);
}

const struct hy_policy_ops hy_policy_static = {
	.name = "static",
	.size = sizeof(struct static_policy),
	.init = static_init,
	.set = static_set,
	.emit = static_emit,
	.period = static_period,
	.place = static_place,
	.alone = true,
};
