// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks the memory of which is known to be bad.
 *
 * The kernel may have taken their pages out of its map: to touch them is an oops then. So nobody
 * stores to them or zeroes them, and those that are free are set aside: they are marked as used, as
 * long as the file system is open. What is saved says that they are free, as the memory may be
 * mended, or another one's, by the next time.
 */
#include "engine_internal.h"

static u64 bad_bytes(const struct scmfs *fs)
{
	return DIV_ROUND_UP(fs->nr_blocks, 64) * 8;
}

/* Both at once. */
static int bad_init(struct scmfs *fs)
{
	unsigned long *bad = kvzalloc(bad_bytes(fs), GFP_KERNEL);
	unsigned long *aside = kvzalloc(bad_bytes(fs), GFP_KERNEL);
	bool ok = bad && aside;

	spin_lock(&fs->lock);
	if (ok && !fs->bad) {
		fs->aside = aside;
		smp_store_release(&fs->bad, bad);	/* zeroed: pairs with scmfs_good() */
		bad = NULL;
		aside = NULL;
	}
	ok = fs->bad;
	spin_unlock(&fs->lock);
	kvfree(bad);
	kvfree(aside);
	return ok ? 0 : -ENOMEM;
}

void scmfs_bad_free(struct scmfs *fs)
{
	kvfree(fs->bad);
	kvfree(fs->aside);
}

/* Those of a run in one unit, whose lock is held, that are bad and free. */
void scmfs_set_aside(struct scmfs *fs, u64 block, u64 count)
{
	u64 end = block + count, unit = block / SCMFS_UNIT_BLOCKS;

	if (!fs->bad)
		return;
	for (;; block++) {
		block = find_next_bit(fs->bad, end, block);
		if (block >= end)
			return;
		if (test_bit(block, fs->block_map))
			continue;
		__set_bit(block, fs->block_map);
		__set_bit(block, fs->aside);
		WRITE_ONCE(fs->unit_free[unit], fs->unit_free[unit] - 1);
		percpu_counter_dec(&fs->free_blocks);
		atomic64_inc(&fs->nr_aside);
	}
}

/* What is saved has them as free: before that, and after. Nobody else changes any meanwhile. */
void scmfs_show_aside(struct scmfs *fs, bool used)
{
	u64 block = 0;

	for (; atomic64_read(&fs->nr_aside); block++) {
		block = find_next_bit(fs->aside, fs->nr_blocks, block);
		if (block >= fs->nr_blocks)
			break;
		if (used)
			__set_bit(block, fs->block_map);
		else
			__clear_bit(block, fs->block_map);
	}
}

int scmfs_set_bad(struct scmfs *fs, u64 at, u64 len)
{
	u64 block = block_of(at), end = min(blocks_to(at + len), fs->nr_blocks), n;
	int r;

	if (block >= end)
		return 0;
	r = fs->bad ? 0 : bad_init(fs);
	for (; !r && block < end; block += n) {
		spinlock_t *lock = scmfs_block_lock(fs, block);

		n = scmfs_in_unit(block, end - block);
		spin_lock(lock);
		bitmap_set(fs->bad, block, n);
		scmfs_set_aside(fs, block, n);
		spin_unlock(lock);
		cond_resched();
	}
	smp_mb__before_atomic();	/* the bits come first: pairs with who asks a directory */
	atomic64_inc(&fs->bad_seen);
	return r;
}

static int each_bad(struct scmfs *fs, const struct scmfs_bad_list *bad,
		    int (*fn)(struct scmfs *fs, u64 at, u64 len))
{
	u64 at = 0, end = fs->nr_blocks << SCMFS_BLOCK_SHIFT, len = 0;
	int r = 0;

	while (!r && bad && (at = bad->next(bad->ctx, at, end, &len)) < end) {
		r = fn(fs, at, len);
		at += len;
	}
	return r;
}

static int know(struct scmfs *fs, u64 at, u64 len)
{
	int r = fs->bad ? 0 : bad_init(fs);

	if (r)
		return r;
	scmfs_set_bits(fs->bad, block_of(at),
		       min(blocks_to(at + len), fs->nr_blocks) - block_of(at));
	atomic64_inc(&fs->bad_seen);
	return 0;
}

/* While it is being opened, and the maps say nothing yet. Return: 0; -ENOMEM. */
int scmfs_know_bad(struct scmfs *fs, const struct scmfs_bad_list *bad)
{
	return each_bad(fs, bad, know);
}

/* Once they do. */
int scmfs_put_aside(struct scmfs *fs, const struct scmfs_bad_list *bad)
{
	return each_bad(fs, bad, scmfs_set_bad);
}

u64 scmfs_good(const struct scmfs *fs, u64 at, u64 len)
{
	const unsigned long *bad = smp_load_acquire(&fs->bad);	/* see bad_init() */
	u64 end = min(blocks_to(at + len), fs->nr_blocks), block;

	if (likely(!bad) || block_of(at) >= end)
		return len;
	block = find_next_bit(bad, end, block_of(at));
	if (block >= end)
		return len;
	return block == block_of(at) ? 0 : (block << SCMFS_BLOCK_SHIFT) - at;
}
