// SPDX-License-Identifier: GPL-2.0-only
/* The policies by name, and what holds for all of them. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "policy_util.h"

static const struct hy_policy_ops * const policies[] = {
	&hy_policy_wardrop,
	&hy_policy_static,
	&hy_policy_stripe,
	&hy_policy_fill,
	&hy_policy_concentrate,
	&hy_policy_asymmetry,
	&hy_policy_unified,
};

static const struct hy_policy_ops *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

static size_t size_of(const struct hy_policy_ops *ops)
{
	size_t size = sizeof(struct hy_policy) + round_up(ops->size, sizeof(u64));

	return ops->under ? size + size_of(ops->under) : size;
}

/* All of it lies in one piece at @p, what it is made of behind it. */
static void init(struct hy_policy *p, const struct hy_policy_ops *ops, unsigned int nr)
{
	p->ops = ops;
	p->nr = nr;
	p->priv = p + 1;
	if (ops->under) {
		p->under = p->priv + round_up(ops->size, sizeof(u64));
		init(p->under, ops->under, nr);
	}
	if (ops->init)
		ops->init(p);
}

/**
 * hy_policy_create - make a policy
 * @name: one of those above
 * @nr: members, 1 to EK_MAX_MEMBERS
 * @policy: set on success
 *
 * Context: sleeps (GFP_KERNEL).
 * Return: 0; -ENOENT: no such policy; -EINVAL: @nr; -ENOMEM.
 */
int hy_policy_create(const char *name, unsigned int nr, struct hy_policy **policy)
{
	const struct hy_policy_ops *ops = find(name);
	struct hy_policy *p;

	if (!ops)
		return -ENOENT;
	if (!nr || nr > EK_MAX_MEMBERS)
		return -EINVAL;
	p = kvzalloc(size_of(ops), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	init(p, ops, nr);
	*policy = p;
	return 0;
}

/**
 * hy_policy_destroy - free a policy
 * @policy: it, or NULL
 */
void hy_policy_destroy(struct hy_policy *policy)
{
	kvfree(policy);
}

/**
 * hy_policy_set - change a parameter
 * @policy: whose
 * @key: which
 * @value: to what
 * @reason: set to a static text on error
 *
 * Context: the caller's policy lock; takes effect with the next call.
 * Return: 0; -ENOENT: not a parameter of this policy; -EINVAL: bad value.  On
 * error nothing has changed.
 */
int hy_policy_set(struct hy_policy *policy, const char *key, const char *value,
		  const char **reason)
{
	if (policy->ops->set)
		return policy->ops->set(policy, key, value, reason);
	*reason = "this policy has no parameters";
	return -ENOENT;
}

/**
 * hy_policy_emit - the parameters that differ from the defaults
 * @policy: whose
 * @buf: gets "key value ...", which hy_policy_set() takes back
 * @len: its length
 *
 * Return: as snprintf(), may be more than @len.
 */
int hy_policy_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	if (len)
		buf[0] = '\0';
	return policy->ops->emit ? policy->ops->emit(policy, buf, len) : 0;
}

/**
 * hy_policy_nr_args - how many words hy_policy_emit() gives
 * @policy: whose
 *
 * Return: the number, even.
 */
unsigned int hy_policy_nr_args(const struct hy_policy *policy)
{
	char text[512];		/* 32 shares of 8 characters are 263 */
	unsigned int words = 0;
	const char *c;

	hy_policy_emit(policy, text, sizeof(text));
	for (c = text; *c; c++)
		words += *c != ' ' && (c == text || c[-1] == ' ');
	return words;
}

/**
 * hy_policy_period - a period has ended
 * @policy: who decides
 * @snap: what it measured
 * @decision: gets the targets and tokens; a policy that decides nothing gives
 *	equal targets and no tokens
 */
void hy_policy_period(struct hy_policy *policy, const struct hy_snapshot *snap,
		      struct hy_decision *decision)
{
	memset(decision, 0, sizeof(*decision));
	if (policy->ops->period)
		policy->ops->period(policy, snap, decision);
	else
		hy_spread_targets(decision->target, decision->receive, snap);
}

/**
 * hy_policy_go_on - a part of what the end of a period began
 * @policy: who decides
 * @snap: the members as they are
 *
 * To be called until it returns false, before ranges are asked for.  Each call is short: others may
 * have the lock in between, and @policy may be another one then.
 *
 * Return: is there more to do?
 */
bool hy_policy_go_on(struct hy_policy *policy, const struct hy_snapshot *snap)
{
	return policy->ops->go_on && policy->ops->go_on(policy, snap);
}

/**
 * hy_policy_place - where to put a new extent
 * @policy: who decides
 * @snap: who is usable and has room, kept current by the caller
 * @tokens: what is left of the decision; taken from here
 * @le: the logical extent
 *
 * Return: the member, -1 when none has room.
 */
int hy_policy_place(struct hy_policy *policy, const struct hy_snapshot *snap,
		    struct hy_decision *tokens, u64 le)
{
	return policy->ops->place(policy, snap, tokens, le);
}
