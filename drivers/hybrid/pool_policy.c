// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy and settings of a running pool: shown and changed.
 */
#include <linux/slab.h>
#include "hybrid.h"

static int format(struct hy_pool *pool, char *args, char *buf, size_t len)
{
	unsigned long flags;
	int r;

	spin_lock_irqsave(&pool->policy_lock, flags);
	r = hy_policy_format(pool->policy, &pool->set, args, buf, len);
	spin_unlock_irqrestore(&pool->policy_lock, flags);
	return r;
}

/**
 * hy_policy_text - the running policy and settings as in the table line
 * @pool: the pool
 * @buf: filled, NUL terminated
 * @len: its size
 * @room: EK_POLICY_TEXT_SIZE bytes to work in
 *
 * Context: takes policy_lock; takes no memory.
 * Return: 0, -ENOSPC if it did not fit.
 */
int hy_policy_text(struct hy_pool *pool, char *buf, size_t len, char *room)
{
	return format(pool, room, buf, len);
}

/* As above; in the committer's room. */
static int own_text(struct hy_pool *pool, char **text)
{
	*text = pool->text + EK_POLICY_TEXT_SIZE;
	return format(pool, pool->text, *text, EK_POLICY_TEXT_SIZE);
}

/**
 * hy_policy_note - the same into the store, for its next superblock
 * @pool: the pool
 *
 * Context: the committer, for which memory may be waiting: it has room of its own; takes
 * policy_lock.
 * Return: 0, -ENOSPC: the store keeps the text that it had.
 */
int hy_policy_note(struct hy_pool *pool)
{
	char *text;
	int r = own_text(pool, &text);

	return r ? r : ek_store_set_policy(pool->store, text);
}

/**
 * hy_policy_is_noted - has the superblock what the pool goes by?
 * @pool: the pool
 *
 * Context: the committer; takes policy_lock.
 * Return: it has, or can't have it.
 */
bool hy_policy_is_noted(struct hy_pool *pool)
{
	char *text;

	return own_text(pool, &text) ||
	       !strncmp(text, (const char *)ek_store_super(pool->store)->policy,
			EK_POLICY_TEXT_SIZE);
}

/* First writes on every CPU want the lock: no more than a few lines at a time. */
static size_t show_part(struct hy_pool *pool, u64 *cursor, char *buf, size_t len)
{
	const struct hy_policy_ops *ops;
	size_t n = 0;

	spin_lock_irq(&pool->policy_lock);
	ops = pool->policy->ops;
	if (ops->show)
		n = ops->show(pool->policy, cursor, buf, len);
	else
		*cursor = U64_MAX;
	spin_unlock_irq(&pool->policy_lock);
	return n;
}

/**
 * hy_policy_show_any - what the running policy has in hand
 * @pool: the pool
 * @buf: gets lines, NUL terminated; empty if the policy has nothing to show
 * @len: its size; full if it is too small, which device-mapper takes for a wish for a larger one
 *
 * What changes meanwhile may be shown as it was, or as it is.
 *
 * Context: takes policy_lock; may sleep.
 */
void hy_policy_show_any(struct hy_pool *pool, char *buf, size_t len)
{
	size_t at = 0;
	u64 cursor = 0;

	*buf = '\0';
	while (cursor != U64_MAX && at < len) {
		at += show_part(pool, &cursor, buf + at, len - at);
		cond_resched();
	}
}

/* Of a table line they are not refused: it is how a volume starts, and they do no harm. */
static int check_pins(struct hy_pool *pool, const char *key, const struct hy_settings *set,
		      const char **reason)
{
	if (strcmp(key, "pin") || hy_pins_end(&set->pins) <= pool->nr_extents)
		return 0;
	*reason = "pin: beyond the end of the volume";
	return -EINVAL;
}

/**
 * hy_pool_set - change one parameter of a running pool
 * @pool: the pool
 * @key: the parameter's name
 * @value: its new value
 * @reason: why not
 *
 * Context: takes policy_lock, then heat_lock for the list's length.
 * Return: as hy_settings_set().
 */
int hy_pool_set(struct hy_pool *pool, const char *key, const char *value, const char **reason)
{
	struct hy_pins old = pool->set.pins;	/* message_lock is held */
	u32 commit_ms = pool->set.commit_ms;
	unsigned long flags;
	int r;

	spin_lock_irqsave(&pool->policy_lock, flags);
	r = hy_policy_set_any(pool->policy, &pool->set, key, value, reason);
	if (!r)
		r = check_pins(pool, key, &pool->set, reason);
	if (r)
		pool->set.pins = old;
	spin_unlock_irqrestore(&pool->policy_lock, flags);
	if (r)
		return r;
	if (pool->set.commit_ms != commit_ms)
		hy_commit_retime(pool);
	hy_pin_rescan(pool);
	mutex_lock(&pool->heat_lock);
	hy_heat_resize(&pool->heat, pool->set.candidates);
	mutex_unlock(&pool->heat_lock);
	hy_cache_resize(pool, pool->set.cache_extents, NULL);
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
 * Context: sleeps, under message_lock; takes policy_lock and heat_lock.
 * Return: 0, -EINVAL, -ENOMEM: nothing was changed.
 */
int hy_pool_set_policy(struct hy_pool *pool, const char *name, unsigned int argc, char **argv,
		       const char **reason)
{
	struct hy_settings set = pool->set;
	u32 commit_ms = set.commit_ms;
	struct hy_policy *policy, *old;
	unsigned int i;
	int r;

	*reason = "unknown policy";
	r = hy_policy_create(name, pool->nr_members, &policy);
	if (r)
		return r;
	for (i = 0; !r && i < argc; i += 2)
		r = hy_policy_set_any(policy, &set, argv[i], argv[i + 1], reason) ?:
		    check_pins(pool, argv[i], &set, reason);
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
	hy_gather_drop(pool);
	spin_unlock_irq(&pool->policy_lock);
	hy_policy_destroy(old);
	if (set.commit_ms != commit_ms)
		hy_commit_retime(pool);
	hy_pin_rescan(pool);
	mutex_lock(&pool->heat_lock);
	hy_heat_resize(&pool->heat, set.candidates);
	mutex_unlock(&pool->heat_lock);
	hy_cache_resize(pool, pool->set.cache_extents, NULL);
	return 0;
}
