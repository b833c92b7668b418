// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks are given out and taken back.
 *
 * Every CPU has a unit of 2 MiB of its own for small files, as long as there are enough, and each
 * unit has its lock, of a hash: who writes on different CPUs meets nobody. What is looked at to
 * choose a unit is looked at without a lock, and again with it.
 */
#include "engine_internal.h"

#define UNITS_LOOKED_AT	16u	/* for the one with least wear */
#define GC_WHOLE_UNITS	4096u	/* that a relocation looks at: 8 KiB of counts */
#define GC_PACK_UNITS	512u	/* and at the counts of so many, */
#define GC_PACK_TRIES	24u	/* and into so many of them, bit by bit, for a run */

static u32 unit_free(const struct scmfs *fs, u64 unit)
{
	return READ_ONCE(fs->unit_free[unit]);
}

/* Free blocks of one unit, its lock is held. */
static void take(struct scmfs *fs, u64 block, u64 count)
{
	u64 unit = block / SCMFS_UNIT_BLOCKS;

	bitmap_set(fs->block_map, block, count);
	WRITE_ONCE(fs->unit_free[unit], fs->unit_free[unit] - count);
	WRITE_ONCE(fs->wear[unit], fs->wear[unit] + count);
	percpu_counter_sub(&fs->free_blocks, count);
}

/* Free blocks from @block on, at most @want. */
static u64 free_from(const struct scmfs *fs, u64 block, u64 want)
{
	u64 end = min(block + want, fs->nr_blocks - 1);

	return block < end ? find_next_bit(fs->block_map, end, block) - block : 0;
}

/* All that is free from @block on, at most @want, unit by unit. Return: how many. */
static u64 take_from(struct scmfs *fs, u64 block, u64 want)
{
	u64 part, n, got = 0;

	do {
		part = scmfs_in_unit(block + got, want - got);
		spin_lock(scmfs_block_lock(fs, block + got));
		n = free_from(fs, block + got, part);
		if (n)
			take(fs, block + got, n);
		spin_unlock(scmfs_block_lock(fs, block + got));
		got += n;
	} while (n == part && got < want);
	return got;
}

/* All of a run in one unit, or none of it. */
static bool take_all(struct scmfs *fs, u64 block, u64 count)
{
	bool free;

	spin_lock(scmfs_block_lock(fs, block));
	free = free_from(fs, block, count) == count;
	if (free)
		take(fs, block, count);
	spin_unlock(scmfs_block_lock(fs, block));
	return free;
}

/* The first run of a unit that is long enough, or its longest. */
static u64 run_in_unit(const struct scmfs *fs, u64 unit, u64 want, u64 *block)
{
	u64 at = unit * SCMFS_UNIT_BLOCKS, n, best = 0;
	u64 end = min(at + SCMFS_UNIT_BLOCKS, fs->nr_blocks - 1);

	for (;;) {
		at = find_next_zero_bit(fs->block_map, end, at);
		if (at >= end)
			return best;
		n = free_from(fs, at, min(want, end - at));
		if (n > best) {
			best = n;
			*block = at;
		}
		if (n == want)
			return best;
		at += n;
	}
}

static u64 take_in_unit(struct scmfs *fs, u64 unit, u64 want, u64 *block)
{
	spinlock_t *lock = scmfs_block_lock(fs, unit * SCMFS_UNIT_BLOCKS);
	u64 got;

	spin_lock(lock);
	got = run_in_unit(fs, unit, want, block);
	if (got)
		take(fs, *block, got);
	spin_unlock(lock);
	return got;
}

static bool less_worn(const struct scmfs *fs, u64 unit, u64 best)
{
	return best == fs->nr_units || READ_ONCE(fs->wear[unit]) < READ_ONCE(fs->wear[best]);
}

/*
 * The one with least wear among the next that have @free blocks, and are not @claimed, if that is
 * not NULL; nr_units if there is none.
 */
static u64 find_unit(const struct scmfs *fs, u64 from, u32 free, const unsigned long *claimed)
{
	u64 i, unit, best = fs->nr_units;
	u32 seen = 0;

	for (i = 0; i < fs->nr_units && seen < UNITS_LOOKED_AT; i++) {
		unit = (from + i) % fs->nr_units;
		if (unit_free(fs, unit) < free || (claimed && test_bit(unit, claimed)))
			continue;
		seen++;
		if (less_worn(fs, unit, best))
			best = unit;
	}
	return best;
}

/*
 * Another unit for a CPU's small files: one that is no other CPU's, if such a one has room for
 * them. Of two tasks that come for the same CPU one sets it, the other one takes from its own this
 * once. Return: it, nr_units: nothing is free.
 */
static u64 next_unit(struct scmfs *fs, struct scmfs_pool *pool, u64 want)
{
	u32 free = min_t(u64, want, SCMFS_UNIT_BLOCKS / 2);
	u64 old = READ_ONCE(pool->unit);
	u64 unit = find_unit(fs, old, free, fs->unit_claimed);
	bool mine;

	if (unit == fs->nr_units)
		unit = find_unit(fs, old, free, NULL);
	if (unit == fs->nr_units)
		unit = find_unit(fs, old, 1, NULL);
	if (unit == fs->nr_units)
		return unit;
	/* First, so that who leaves it for another one at once clears it behind this. */
	mine = !test_and_set_bit(unit, fs->unit_claimed);
	if (cmpxchg(&pool->unit, old, unit) == old) {
		if (old < fs->nr_units && old != unit)
			clear_bit(old, fs->unit_claimed);
	} else if (mine) {
		clear_bit(unit, fs->unit_claimed);
	}
	return unit;
}

/* What was seen in a unit and is not there any more somebody else has got: no loop for ever. */
static u64 take_small(struct scmfs *fs, u64 want, u64 *block)
{
	struct scmfs_pool *pool = scmfs_my_pool(fs);
	u64 unit = READ_ONCE(pool->unit), got;

	if (unit == fs->nr_units || unit_free(fs, unit) < want)
		unit = next_unit(fs, pool, want);
	while (unit < fs->nr_units) {
		got = take_in_unit(fs, unit, want, block);
		if (got)
			return got;
		unit = next_unit(fs, pool, want);
	}
	return 0;
}

/* Whole units, aligned: mapped by huge pages. */
static u64 take_units(struct scmfs *fs, u64 want, u64 *block)
{
	u64 unit = READ_ONCE(scmfs_my_pool(fs)->unit);

	unit = find_unit(fs, unit + 1, SCMFS_UNIT_BLOCKS, NULL);
	if (unit == fs->nr_units)
		return 0;
	*block = unit * SCMFS_UNIT_BLOCKS;
	return take_from(fs, *block, want);
}

/*
 * Up to @want blocks in one piece, preferably from @goal on; returns how many, 0 if none is free.
 */
u64 scmfs_alloc(struct scmfs *fs, u64 want, u64 goal, u64 *block)
{
	u64 got = 0;

	if (goal && goal < fs->nr_blocks) {
		*block = goal;
		got = take_from(fs, goal, want);
	}
	if (!got && want >= SCMFS_UNIT_BLOCKS)
		got = take_units(fs, want, block);
	return got ? got : take_small(fs, want, block);
}

static u32 unit_blocks(const struct scmfs *fs, u64 unit)
{
	return min((unit + 1) * SCMFS_UNIT_BLOCKS, fs->nr_blocks) - unit * SCMFS_UNIT_BLOCKS;
}

/* Of the units that a call looks at, the least worn of the first that are free as a whole. */
static u64 find_whole(struct scmfs *fs)
{
	u64 i, unit, from = READ_ONCE(fs->gc_unit), best = fs->nr_units;
	u64 end = min_t(u64, fs->nr_units, GC_WHOLE_UNITS);
	u32 seen = 0;

	for (i = 0; i < end && seen < UNITS_LOOKED_AT; i++) {
		unit = (from + i) % fs->nr_units;
		if (unit_free(fs, unit) < SCMFS_UNIT_BLOCKS)
			continue;
		seen++;
		if (less_worn(fs, unit, best))
			best = unit;
	}
	WRITE_ONCE(fs->gc_unit, (from + i) % fs->nr_units);
	return best;
}

/*
 * A whole free unit, for what is to be mapped by huge pages. Not all of a large memory is looked
 * at, but all of it in turn. Return: its first block, 0: none.
 */
u64 scmfs_alloc_whole(struct scmfs *fs)
{
	u64 unit;

	do {
		unit = find_whole(fs);
		if (unit == fs->nr_units)
			return 0;
	} while (!take_all(fs, unit * SCMFS_UNIT_BLOCKS, SCMFS_UNIT_BLOCKS));
	return unit * SCMFS_UNIT_BLOCKS;
}

/* The fullest first, of those that can't be emptied anyway before all others. */
static u32 pack_rank(const struct scmfs *fs, u64 unit, const unsigned long *prefer)
{
	bool last = prefer && !test_bit(unit, prefer);

	return unit_free(fs, unit) + (last ? SCMFS_UNIT_BLOCKS : 0);
}

static bool can_pack(const struct scmfs *fs, u64 unit, u64 want, const unsigned long *avoid)
{
	return unit_free(fs, unit) >= want && unit_free(fs, unit) < unit_blocks(fs, unit) &&
		!(avoid && test_bit(unit, avoid));
}

/* In the fullest unit that has such a piece. Return: its first block, 0: none. */
static u64 find_packed(struct scmfs *fs, u64 want, const unsigned long *avoid,
		       const unsigned long *prefer)
{
	u64 i, unit, at, from = READ_ONCE(fs->gc_unit), block = 0, least = U64_MAX;
	u32 tries = 0;

	for (i = 0; i < min_t(u64, fs->nr_units, GC_PACK_UNITS) && tries < GC_PACK_TRIES; i++) {
		unit = (from + i) % fs->nr_units;
		if (pack_rank(fs, unit, prefer) >= least || !can_pack(fs, unit, want, avoid))
			continue;
		tries++;
		if (run_in_unit(fs, unit, want, &at) < want)
			continue;
		least = pack_rank(fs, unit, prefer);
		block = at;
	}
	if (!block)
		WRITE_ONCE(fs->gc_unit, (from + i) % fs->nr_units);
	return block;
}

/*
 * @want blocks in one piece, in the fullest unit that has such a piece, of those that a call looks
 * at, and into: never in a free one, which is what is to be had by this. If none of them has one,
 * the next call looks at others. Return: the first, 0: none.
 */
u64 scmfs_alloc_packed(struct scmfs *fs, u64 want, const unsigned long *avoid,
		       const unsigned long *prefer)
{
	u64 block;

	do {
		block = find_packed(fs, want, avoid, prefer);
	} while (block && !take_all(fs, block, want));
	return block;
}

/*
 * Free blocks of up to @nr units from *@unit on, which is moved on to the first that files alone
 * can have; of those where small files are put now 0, unless they are free. Return: how many.
 */
u32 scmfs_unit_frees(struct scmfs *fs, u64 *unit, u16 *count, u32 nr)
{
	u64 end = (fs->nr_blocks - 1) / SCMFS_UNIT_BLOCKS;
	u32 i;

	*unit = max_t(u64, *unit, DIV_ROUND_UP(fs->first_data, SCMFS_UNIT_BLOCKS));
	if (*unit >= end)
		return 0;
	nr = min_t(u64, nr, end - *unit);
	for (i = 0; i < nr; i++) {
		count[i] = unit_free(fs, *unit + i);
		if (count[i] < SCMFS_UNIT_BLOCKS && test_bit(*unit + i, fs->unit_claimed))
			count[i] = 0;
	}
	return nr;
}

static u64 used_of(const struct scmfs *fs, u64 block, u64 end)
{
	u64 used = 0, next;

	for (;; block = next) {
		block = find_next_bit(fs->block_map, end, block);
		if (block >= end)
			return used;
		next = find_next_zero_bit(fs->block_map, end, block);
		used += next - block;
	}
}

/*
 * Of an image that was damaged, or made for it, some may be free already, as they were two files'.
 * Counted twice, a unit would seem to have room for ever.
 */
static bool free_in_unit(struct scmfs *fs, u64 block, u64 n)
{
	u64 unit = block / SCMFS_UNIT_BLOCKS, used;

	spin_lock(scmfs_block_lock(fs, block));
	used = used_of(fs, block, block + n);
	bitmap_clear(fs->block_map, block, n);
	WRITE_ONCE(fs->unit_free[unit], fs->unit_free[unit] + used);
	percpu_counter_add(&fs->free_blocks, used);
	scmfs_set_aside(fs, block, n);
	spin_unlock(scmfs_block_lock(fs, block));
	return used == n;
}

void scmfs_free(struct scmfs *fs, u64 block, u64 count)
{
	bool all = true;
	u64 n;

	for (; count; block += n, count -= n) {
		n = scmfs_in_unit(block, count);
		all &= free_in_unit(fs, block, n);
	}
	if (!all)
		scmfs_damaged(fs);
}
