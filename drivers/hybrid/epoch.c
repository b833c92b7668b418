// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bios may still look at where an extent was.
 *
 * Every bio is an SRCU reader from its look at the map until it is done.  To know
 * that nobody uses an old place any more, change the map, then drain: call_srcu()
 * comes back when all readers that began before are done, and those that begin
 * later see the change.  The same for the announcement of a migration.
 *
 * A bio that waits for something is no reader meanwhile, or what it waits for
 * would wait for it.
 */
#include "hybrid.h"

static void drained(struct work_struct *work)
{
	struct hy_drain *drain = container_of(work, struct hy_drain, work);

	drain->fn(drain);
}

/* No place for what a drain does: bottom halves are off. */
static void grace_period_over(struct rcu_head *head)
{
	struct hy_drain *drain = container_of(head, struct hy_drain, rcu);

	queue_work(drain->pool->wq, &drain->work);
}

/**
 * hy_drain_bios - call back when all bios that began before now are done
 * @pool: the pool
 * @drain: its fn is called once, in process context; may be freed by it
 *
 * Context: any but hard interrupt.
 */
void hy_drain_bios(struct hy_pool *pool, struct hy_drain *drain)
{
	drain->pool = pool;
	INIT_WORK(&drain->work, drained);
	call_srcu(&pool->srcu, &drain->rcu, grace_period_over);
}

/**
 * hy_drain_wait - let all drains begun before now, and what they do, end
 * @pool: the pool; no bio waits for anything
 *
 * Context: sleeps.
 */
void hy_drain_wait(struct hy_pool *pool)
{
	srcu_barrier(&pool->srcu);
	flush_workqueue(pool->wq);
	flush_workqueue(pool->discard_wq);
}
