// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bios may still look at where an extent was.
 *
 * Every bio holds a reference on the epoch in which it looked at the map, until
 * it is done.  To know that nobody uses an old place any more, change the map,
 * then drain: a new epoch begins and the old one's reference is killed; when it
 * falls to zero all bios that could have seen the old entry are done.
 *
 * Pairing: hy_drain_bios() publishes the new epoch with release semantics after
 * the caller's change of the map (or of the list of migrations); a bio that gets
 * the new epoch loads it with acquire semantics before it looks at them, so it
 * sees the change; a bio that does not is in the old epoch and is waited for.
 */
#include "hybrid.h"

static void epoch_released(struct percpu_ref *ref)
{
	struct hy_epoch *epoch = container_of(ref, struct hy_epoch, ref);

	queue_work(epoch->pool->wq, &epoch->pool->drain_work);
}

/* drain_lock held: begin the next drain if somebody waits for one. */
static struct hy_epoch *switch_epoch(struct hy_pool *pool)
{
	struct hy_epoch *old = rcu_dereference_protected(pool->epoch,
							 lockdep_is_held(&pool->drain_lock));
	struct hy_epoch *new = old == &pool->epochs[0] ? &pool->epochs[1] : &pool->epochs[0];

	if (pool->draining || list_empty(&pool->drain_waiting))
		return NULL;
	pool->draining = true;
	list_splice_tail_init(&pool->drain_waiting, &pool->drain_running);
	rcu_assign_pointer(pool->epoch, new);
	return old;
}

static void drain_done(struct work_struct *work)
{
	struct hy_pool *pool = container_of(work, struct hy_pool, drain_work);
	struct hy_drain *drain, *tmp;
	struct hy_epoch *next, *idle;
	LIST_HEAD(done);

	spin_lock_irq(&pool->drain_lock);
	list_splice_init(&pool->drain_running, &done);
	idle = rcu_dereference_protected(pool->epoch, true) == &pool->epochs[0] ?
	       &pool->epochs[1] : &pool->epochs[0];
	spin_unlock_irq(&pool->drain_lock);

	percpu_ref_reinit(&idle->ref);

	spin_lock_irq(&pool->drain_lock);
	pool->draining = false;
	next = switch_epoch(pool);
	spin_unlock_irq(&pool->drain_lock);
	if (next)
		percpu_ref_kill(&next->ref);

	list_for_each_entry_safe(drain, tmp, &done, list)
		drain->fn(drain);
}

/**
 * hy_drain_bios - call back when all bios that began before now are done
 * @pool: the pool
 * @drain: its fn is called once, in process context; may be freed by it
 *
 * Context: any; takes drain_lock.
 */
void hy_drain_bios(struct hy_pool *pool, struct hy_drain *drain)
{
	struct hy_epoch *old;
	unsigned long flags;

	spin_lock_irqsave(&pool->drain_lock, flags);
	list_add_tail(&drain->list, &pool->drain_waiting);
	old = switch_epoch(pool);
	spin_unlock_irqrestore(&pool->drain_lock, flags);
	if (old)
		percpu_ref_kill(&old->ref);
}

/**
 * hy_epoch_get - enter the present epoch
 * @pool: the pool
 *
 * Context: any.
 * Return: it, with a reference; never NULL.
 */
struct hy_epoch *hy_epoch_get(struct hy_pool *pool)
{
	struct hy_epoch *epoch;

	rcu_read_lock();
	for (;;) {
		/* acquire: see the head of this file */
		epoch = smp_load_acquire((struct hy_epoch * __force *)&pool->epoch);
		if (likely(percpu_ref_tryget_live_rcu(&epoch->ref)))
			break;
		cpu_relax();
	}
	rcu_read_unlock();
	return epoch;
}

int hy_epochs_init(struct hy_pool *pool)
{
	int r;

	spin_lock_init(&pool->drain_lock);
	INIT_LIST_HEAD(&pool->drain_waiting);
	INIT_LIST_HEAD(&pool->drain_running);
	INIT_WORK(&pool->drain_work, drain_done);
	pool->epochs[0].pool = pool;
	pool->epochs[1].pool = pool;
	r = percpu_ref_init(&pool->epochs[0].ref, epoch_released, PERCPU_REF_ALLOW_REINIT,
			    GFP_KERNEL);
	if (r)
		return r;
	r = percpu_ref_init(&pool->epochs[1].ref, epoch_released, PERCPU_REF_ALLOW_REINIT,
			    GFP_KERNEL);
	if (r) {
		percpu_ref_exit(&pool->epochs[0].ref);
		return r;
	}
	RCU_INIT_POINTER(pool->epoch, &pool->epochs[0]);
	return 0;
}

/* No bios, no drains under way. */
void hy_epochs_exit(struct hy_pool *pool)
{
	percpu_ref_exit(&pool->epochs[0].ref);
	percpu_ref_exit(&pool->epochs[1].ref);
}
