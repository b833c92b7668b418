// SPDX-License-Identifier: GPL-2.0-only
/*
 * What workers of the pool send to members.
 *
 * Whoever submits to a device that has no room for another request sleeps until one of its others
 * is done.  A user does so on his own account.  A lane has bios for other members behind that one,
 * and all lanes would wait sooner or later for a member that does not answer any more; so workers
 * hand their bios over to one for each member, on a queue of their own.
 *
 * Bios under way keep no order among each other, so this one need not keep it either.  Who waits
 * here is on his way to the member for all others: pinned, and measured.
 */
#include "hybrid.h"

static void submit_work(struct work_struct *work)
{
	struct hy_member *m = container_of(work, struct hy_member, submit_work);
	struct blk_plug plug;
	struct bio_list bios;
	struct bio *bio;

	bio_list_init(&bios);
	spin_lock(&m->submit_lock);
	bio_list_merge(&bios, &m->to_submit);
	bio_list_init(&m->to_submit);
	spin_unlock(&m->submit_lock);

	blk_start_plug(&plug);
	while ((bio = bio_list_pop(&bios))) {
		submit_bio_noacct(bio);
		cond_resched();
	}
	blk_finish_plug(&plug);
}

/**
 * hy_submit_bio - send a bio to a member, without waiting for room there
 * @m: the member
 * @bio: points to a place on it
 *
 * Context: process.
 */
void hy_submit_bio(struct hy_member *m, struct bio *bio)
{
	spin_lock(&m->submit_lock);
	bio_list_add(&m->to_submit, bio);
	spin_unlock(&m->submit_lock);
	queue_work(m->pool->submit_wq, &m->submit_work);
}

/**
 * hy_submit_init_member - nothing is to be sent to it
 * @m: one of the pool's places for members
 */
void hy_submit_init_member(struct hy_member *m)
{
	spin_lock_init(&m->submit_lock);
	bio_list_init(&m->to_submit);
	INIT_WORK(&m->submit_work, submit_work);
}
