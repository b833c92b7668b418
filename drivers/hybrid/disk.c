// SPDX-License-Identifier: GPL-2.0-only
/*
 * What lies on one disk is lost together.
 *
 * Members and metadata areas have a place each, and may share a disk, as they do by default.  A
 * flush of it that fails may have dropped all that was in its cache, and the next one, whoever
 * sends it, ends well as there is nothing left to be written:
 *
 *	W, on member b, is acknowledged		in the disk's cache
 *	a superblock's flush fails		W is gone; the area is left out, the commit goes on
 *						with the other one
 *	a user's FLUSH, b is flushed		ends well
 *
 * So b is distrusted, whatever it was that the flush was sent for, as if it had been sent to b
 * (member.c).  Nor is what was written to a metadata area believed if the disk has lost something
 * on the way: it is written again, with all that was to be durable with it (lib/store.c), and what
 * was copied there by and by is given up (lib/resync.c).
 *
 * Disks that others are made of, those below a logical volume for instance, the block layer tells
 * nobody: two devices that are not the same do not count as sharing any, but where caution costs
 * little (settle.c, hy_disk_losses()).
 */
#include "hybrid.h"

/* Is it made of other disks? */
static bool is_stacked(const struct block_device *bdev)
{
#ifdef CONFIG_BLOCK_HOLDER_DEPRECATED
	return !list_empty(&bdev->bd_disk->slave_bdevs);
#else
	return true;
#endif
}

/**
 * hy_disk_may_be_same - may two devices lie on one disk?
 * @a: the one
 * @b: the other
 *
 * Context: any.
 * Return: false if it is known that they don't.
 */
bool hy_disk_may_be_same(const struct block_device *a, const struct block_device *b)
{
	return a->bd_disk == b->bd_disk || is_stacked(a) || is_stacked(b);
}

/**
 * hy_disk_fua_flushes - has a FUA write to a device failed if a flush has?
 * @bdev: the device
 *
 * Context: any.
 * Return: it may, as it has a cache and no such write of its own, and gets a write and a flush.
 */
bool hy_disk_fua_flushes(struct block_device *bdev)
{
	return bdev_write_cache(bdev) && (!bdev_fua(bdev) || is_stacked(bdev));
}

static bool is_on(const struct hy_member *m, const struct block_device *bdev)
{
	return m->bdev && m->bdev->bd_disk == bdev->bd_disk;
}

/**
 * hy_disk_lost - a flush of a disk has failed that was not sent to a member
 * @pool: the pool
 * @bdev: the device that it was sent to
 *
 * The next commit does as if its members had failed to flush; see hy_members_rest(), too.
 * Context: the committer.
 */
void hy_disk_lost(struct hy_pool *pool, const struct block_device *bdev)
{
	unsigned int i;

	/* Nobody has written anything yet. */
	if (!pool->loaded)
		return;
	for (i = 0; i < pool->nr_members; i++)
		if (is_on(&pool->member[i], bdev)) {
			hy_disk_dropped(&pool->member[i], true);
			set_bit(i, &pool->distrusted);
		}
}

/**
 * hy_disk_dropped - a member's disk may have dropped what was in its cache
 * @m: the member
 * @known: a flush has failed; or it may have been something else that has
 *
 * Counted at once, so that a flush that ends well after it is not believed.
 * Context: any.
 */
void hy_disk_dropped(struct hy_member *m, bool known)
{
	atomic_inc(known ? &m->dropped : &m->dropped_perhaps);
}

static void add(struct ek_losses *losses, const struct block_device *area,
		const struct block_device *other, unsigned int known, unsigned int likely)
{
	if (area->bd_disk == other->bd_disk)
		losses->known += known;
	if (hy_disk_may_be_same(area, other))
		losses->likely += known + likely;
}

/**
 * hy_disk_losses - how often has a metadata area's disk lost something?
 * @pool: the pool
 * @area: the area, whose device is there
 * @losses: other numbers after each time that a member there may have, or another area
 *
 * Context: the committer.
 */
void hy_disk_losses(struct hy_pool *pool, unsigned int area, struct ek_losses *losses)
{
	const struct block_device *bdev = pool->meta[area].dev->bdev;
	unsigned int i;

	memset(losses, 0, sizeof(*losses));
	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (m->bdev)
			add(losses, bdev, m->bdev, atomic_read(&m->dropped),
			    atomic_read(&m->dropped_perhaps));
	}
	for (i = 0; i < pool->nr_meta; i++)
		if (i != area && pool->meta[i].dev)
			add(losses, bdev, pool->meta[i].dev->bdev, pool->meta_io[i].dropped, 0);
}
