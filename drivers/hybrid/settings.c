// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be set while the pool runs: the policy's own parameters and the
 * mover's and committer's, in one list of keys and values.
 */
#include "hybrid.h"

static const struct hy_setting {
	const char *key;
	size_t offset;
	u32 initial;
	u32 min;
	u32 max;
} hy_setting[] = {
#define S(name, initial, min, max) \
	{ #name, offsetof(struct hy_settings, name), initial, min, max }
	S(period_ms, 2000, 10, 3600000),
	S(candidates, 16384, 16, 1 << 24),
	S(cooldown_ms, 10000, 0, 3600000),
	S(migrate_kbps, 65536, 0, U32_MAX),
	S(movers, 2, 1, 64),
	S(low_free, 5, 0, 50),
	S(commit_ms, 1000, 1, 60000),
#undef S
};

static u32 *setting(struct hy_settings *set, const struct hy_setting *s)
{
	return (void *)set + s->offset;
}

void hy_settings_init(struct hy_settings *set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++)
		*setting(set, &hy_setting[i]) = hy_setting[i].initial;
}

/**
 * hy_settings_set - change one of the mover's or committer's settings
 * @set: they
 * @key: name
 * @value: decimal number
 * @reason: set on failure
 *
 * Return: 0, -ENOENT: no such key, -EINVAL: not a number or out of range.
 */
int hy_settings_set(struct hy_settings *set, const char *key, const char *value,
		    const char **reason)
{
	unsigned int i;
	u32 v;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++) {
		const struct hy_setting *s = &hy_setting[i];

		if (strcmp(key, s->key))
			continue;
		if (kstrtou32(value, 10, &v) || v < s->min || v > s->max) {
			*reason = "value is no number or out of range";
			return -EINVAL;
		}
		WRITE_ONCE(*setting(set, s), v);
		return 0;
	}
	*reason = "unknown policy argument";
	return -ENOENT;
}

/* What differs from the defaults, as snprintf(). */
int hy_settings_emit(const struct hy_settings *set, char *buf, size_t len)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < ARRAY_SIZE(hy_setting); i++) {
		const struct hy_setting *s = &hy_setting[i];
		u32 v = *setting((struct hy_settings *)set, s);

		if (v != s->initial)
			n += snprintf(n < len ? buf + n : NULL, n < len ? len - n : 0, "%s%s %u",
				      n ? " " : "", s->key, v);
	}
	return n;
}

static int set_one(struct hy_policy *policy, struct hy_settings *set, const char *key,
		   const char *value, const char **reason)
{
	int r = hy_policy_set(policy, key, value, reason);

	return r == -ENOENT ? hy_settings_set(set, key, value, reason) : r;
}

/**
 * hy_policy_parse - make a policy and settings from their text
 * @text: "<name> <#args> {<key> <value>}*", as in the table line
 * @nr: members
 * @policy: set on success
 * @set: filled, defaults where nothing is said
 * @reason: set to a static text on failure
 *
 * Context: sleeps.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int hy_policy_parse(const char *text, unsigned int nr, struct hy_policy **policy,
		    struct hy_settings *set, const char **reason)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	char *rest = copy, *name, *key, *value;
	struct hy_policy *p;
	int r;

	*reason = "out of memory";
	if (!copy)
		return -ENOMEM;
	hy_settings_init(set);
	name = strsep(&rest, " ");
	r = hy_policy_create(name, nr, &p);
	if (r) {
		if (r == -ENOENT)
			*reason = "unknown policy";
		goto out;
	}
	strsep(&rest, " ");	/* how many follow: known to be right */
	while (!r && (key = strsep(&rest, " "))) {
		value = strsep(&rest, " ");
		*reason = "policy argument without a value";
		r = value ? set_one(p, set, key, value, reason) : -EINVAL;
	}
	if (r)
		hy_policy_destroy(p);
	else
		*policy = p;
out:
	kfree(copy);
	return r == -ENOENT ? -EINVAL : r;
}

/**
 * hy_policy_text - the running policy and settings as in the table line
 * @pool: the pool
 * @buf: filled, NUL terminated
 * @len: its size
 *
 * Context: takes policy_lock.
 * Return: 0, -ENOSPC if it did not fit.
 */
int hy_policy_text(struct hy_pool *pool, char *buf, size_t len)
{
	char *args = kmalloc(EK_POLICY_TEXT_SIZE, GFP_NOIO);
	unsigned int words = 0;
	unsigned long flags;
	const char *name;
	int n, m;
	char *p;

	if (!args)
		return -ENOMEM;
	spin_lock_irqsave(&pool->policy_lock, flags);
	name = pool->policy->ops->name;
	n = hy_policy_emit(pool->policy, args, EK_POLICY_TEXT_SIZE - 2);
	if (n >= EK_POLICY_TEXT_SIZE - 2)
		n = 0;
	args[n] = '\0';
	if (n)
		args[n++] = ' ';
	m = hy_settings_emit(&pool->set, args + n, EK_POLICY_TEXT_SIZE - n);
	spin_unlock_irqrestore(&pool->policy_lock, flags);
	if (!m && n)
		args[n - 1] = '\0';
	for (p = args; *p; p++)
		words += *p == ' ';
	words += *args ? 1 : 0;
	n = snprintf(buf, len, "%s %u%s%s", name, words, *args ? " " : "", args);
	kfree(args);
	return n < len ? 0 : -ENOSPC;
}

/**
 * hy_pool_set - change one parameter of a running pool
 *
 * Context: takes policy_lock, then heat_lock for the list's length.
 * Return: as hy_settings_set().
 */
int hy_pool_set(struct hy_pool *pool, const char *key, const char *value, const char **reason)
{
	unsigned long flags;
	int r;

	spin_lock_irqsave(&pool->policy_lock, flags);
	r = set_one(pool->policy, &pool->set, key, value, reason);
	spin_unlock_irqrestore(&pool->policy_lock, flags);
	if (r)
		return r;
	mutex_lock(&pool->heat_lock);
	hy_heat_resize(&pool->heat, pool->set.candidates);
	mutex_unlock(&pool->heat_lock);
	return 0;
}

/**
 * hy_pool_set_policy - give a running pool another policy
 * @pool: the pool
 * @name: the policy's
 * @argc: words of arguments, even
 * @argv: keys and values, the policy's and the mover's
 * @reason: set on failure
 *
 * Context: sleeps; takes policy_lock and heat_lock.
 * Return: 0, -EINVAL, -ENOMEM: nothing was changed.
 */
int hy_pool_set_policy(struct hy_pool *pool, const char *name, unsigned int argc, char **argv,
		       const char **reason)
{
	struct hy_settings set = pool->set;
	struct hy_policy *policy, *old;
	unsigned int i;
	int r;

	*reason = "unknown policy, or no memory for it";
	r = hy_policy_create(name, pool->nr_members, &policy);
	if (r)
		return r;
	for (i = 0; !r && i < argc; i += 2)
		r = set_one(policy, &set, argv[i], argv[i + 1], reason);
	if (r) {
		hy_policy_destroy(policy);
		return r;
	}
	spin_lock_irq(&pool->policy_lock);
	old = pool->policy;
	pool->policy = policy;
	pool->set = set;
	hy_policy_period(policy, &pool->snap, &pool->decision);
	memset(&pool->tokens, 0, sizeof(pool->tokens));
	spin_unlock_irq(&pool->policy_lock);
	hy_policy_destroy(old);
	mutex_lock(&pool->heat_lock);
	hy_heat_resize(&pool->heat, set.candidates);
	mutex_unlock(&pool->heat_lock);
	return 0;
}
