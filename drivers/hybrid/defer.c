// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios that can't go on where they are: they wait in one of several lanes, each
 * worked on by its own work item, so that one that loads a page of the map does
 * not hold up the others.  An extent always takes the same lane.  A lane finds
 * places, and waits for no member: submit.c sends what goes to one.
 */
#include <linux/hash.h>
#include "hybrid.h"

static struct hy_lane *lane_of(struct hy_pool *pool, struct bio *bio)
{
	u64 page = (bio->bi_iter.bi_sector >> pool->extent_shift) / EK_PAGE_ENTRIES;

	return &pool->lane[hash_64(page, ilog2(HY_LANES))];
}

/**
 * hy_defer_bio - let a lane map this bio again
 * @pool: the pool
 * @bio: in no epoch; its sector relative to the target
 *
 * Nobody may poll for it any more: device-mapper's hybrid volume can be polled where its members
 * can, and who does would look at what this bio becomes below while a worker submits it.  The
 * device's interrupt ends it.
 *
 * Context: any.
 */
void hy_defer_bio(struct hy_pool *pool, struct bio *bio)
{
	struct hy_lane *lane = lane_of(pool, bio);
	unsigned long flags;

	bio_clear_polled(bio);
	spin_lock_irqsave(&lane->lock, flags);
	bio_list_add(&lane->bios, bio);
	spin_unlock_irqrestore(&lane->lock, flags);
	queue_work(pool->wq, &lane->work);
}

/* As above for all bios of a list, which is empty then. */
void hy_defer_bios(struct hy_pool *pool, struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		hy_defer_bio(pool, bio);
}

static void lane_work(struct work_struct *work)
{
	struct hy_lane *lane = container_of(work, struct hy_lane, work);
	struct bio_list bios;
	struct bio *bio;

	bio_list_init(&bios);
	spin_lock_irq(&lane->lock);
	bio_list_merge(&bios, &lane->bios);
	bio_list_init(&lane->bios);
	spin_unlock_irq(&lane->lock);

	while ((bio = bio_list_pop(&bios))) {
		hy_map_deferred(lane->pool, bio);
		cond_resched();
	}
}

void hy_lanes_init(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < HY_LANES; i++) {
		struct hy_lane *lane = &pool->lane[i];

		spin_lock_init(&lane->lock);
		bio_list_init(&lane->bios);
		INIT_WORK(&lane->work, lane_work);
		lane->pool = pool;
	}
}
