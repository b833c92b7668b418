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
 * (member.c).  What is copied to a metadata area by and by, and flushed at its end, is not believed
 * if the disk has lost something in between (mirror.c).  What a commit writes there it writes
 * anew, as a checkpoint, if a user's FUA write has failed meanwhile (commit.c):
 *
 *	a block of the journal is written	in the disk's cache
 *	the flush behind a FUA write fails	it is gone
 *	that behind the block			ends well
 *
 * Disks that others are made of, those below a logical volume for instance, the block layer tells
 * nobody: two devices that are not the same do not count as sharing any, but where caution costs
 * nothing (settle.c).
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
		if (is_on(&pool->member[i], bdev))
			set_bit(i, &pool->distrusted);
}

/**
 * hy_disk_losses - how often has a disk lost something?
 * @pool: the pool
 * @bdev: a device on it
 *
 * Context: the committer.
 * Return: a number that is another one after each time that a member there may have lost something.
 */
unsigned int hy_disk_losses(struct hy_pool *pool, const struct block_device *bdev)
{
	unsigned int i, losses = 0;

	/* The bit is a loss that is yet to be counted. */
	for (i = 0; i < pool->nr_members; i++)
		if (is_on(&pool->member[i], bdev))
			losses += atomic_read(&pool->member[i].losses) +
				  test_bit(i, &pool->distrusted);
	return losses;
}
