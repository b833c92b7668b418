// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks and inodes are free: bits in RAM, saved when the file system is closed.
 *
 * A block may be given out again as soon as what referred to it has durably ceased to; what
 * refers to it next is durable later than that. So the maps need no transactions.
 */
#include "engine_internal.h"

#define UNITS_LOOKED_AT	16u	/* for the one with least wear */
#define GC_WHOLE_UNITS	4096u	/* that a relocation looks at under the lock: 8 KiB of counts */
#define GC_PACK_UNITS	512u	/* and at the counts of so many, */
#define GC_PACK_TRIES	24u	/* and into so many of them, bit by bit, for a run */

static u64 map_words(u64 bits)
{
	return DIV_ROUND_UP(bits, 64);
}

int scmfs_maps_init(struct scmfs *fs)
{
	fs->block_map = kvzalloc(map_words(fs->nr_blocks) * 8, GFP_KERNEL);
	fs->inode_map = kvzalloc(map_words(fs->nr_inodes) * 8, GFP_KERNEL);
	fs->unit_free = kvcalloc(fs->nr_units, sizeof(*fs->unit_free), GFP_KERNEL);
	fs->wear = kvcalloc(fs->nr_units, sizeof(*fs->wear), GFP_KERNEL);
	if (!fs->block_map || !fs->inode_map || !fs->unit_free || !fs->wear)
		return -ENOMEM;
	memcpy(fs->wear, fs->base + le64_to_cpu(fs->super.wear_offset), fs->nr_units * 8);
	scmfs_set_bits(fs->block_map, 0, fs->first_data);
	__set_bit(fs->nr_blocks - 1, fs->block_map);
	__set_bit(0, fs->inode_map);
	return 0;
}

void scmfs_maps_free(struct scmfs *fs)
{
	kvfree(fs->block_map);
	kvfree(fs->inode_map);
	kvfree(fs->unit_free);
	kvfree(fs->wear);
	kvfree(fs->gc_done);
	scmfs_bad_free(fs);
}

u64 scmfs_gc_done_bytes(const struct scmfs *fs)
{
	return map_words(fs->nr_inodes) * 8;
}

/* For a new collector, which knows nothing. Return: 0 or -ENOMEM. */
int scmfs_gc_done_init(struct scmfs *fs)
{
	unsigned long *done = fs->gc_done;

	if (!done)
		done = kvzalloc(scmfs_gc_done_bytes(fs), GFP_KERNEL);
	else
		memset(done, 0, scmfs_gc_done_bytes(fs));
	smp_store_release(&fs->gc_done, done);	/* zeroed: pairs with scmfs_gc_undone() */
	return done ? 0 : -ENOMEM;
}

/* Its extents or its size may change. */
void scmfs_gc_undone(struct scmfs *fs, u64 ino)
{
	unsigned long *done = smp_load_acquire(&fs->gc_done);	/* see scmfs_gc_done_init() */

	if (done && ino < fs->nr_inodes && test_bit(ino, done))
		clear_bit(ino, done);
}

static u64 maps_hash(const struct scmfs *fs, const void *blocks, const void *inodes)
{
	u64 h = ek_undo_hash(le64_to_cpu(fs->super.salt), blocks, map_words(fs->nr_blocks));

	return ek_undo_hash(h, inodes, map_words(fs->nr_inodes)) | 1;
}

static bool bits_end(const unsigned long *map, u64 bits)
{
	u64 end = map_words(bits) * 64;

	return find_next_bit(map, end, bits) >= end;
}

/*
 * Whatever is free in them may be given out: never what the file system itself is in. No inode is
 * used that a scan would not get to.
 */
static bool maps_ok(const struct scmfs *fs)
{
	return find_next_zero_bit(fs->block_map, fs->first_data, 0) >= fs->first_data &&
		test_bit(fs->nr_blocks - 1, fs->block_map) &&
		test_bit(0, fs->inode_map) && test_bit(SCMFS_ROOT_INO, fs->inode_map) &&
		find_next_bit(fs->inode_map, fs->nr_inodes, fs->inode_high) >= fs->nr_inodes &&
		bits_end(fs->block_map, fs->nr_blocks) && bits_end(fs->inode_map, fs->nr_inodes);
}

/* -EUCLEAN when what was saved is not what `clean` vouches for, or can't be. */
int scmfs_maps_load(struct scmfs *fs)
{
	memcpy(fs->block_map, fs->base + le64_to_cpu(fs->super.block_map_offset),
	       map_words(fs->nr_blocks) * 8);
	memcpy(fs->inode_map, fs->base + le64_to_cpu(fs->super.inode_map_offset),
	       map_words(fs->nr_inodes) * 8);
	if (maps_hash(fs, fs->block_map, fs->inode_map) != scmfs_read(&fs->state->clean) ||
	    !maps_ok(fs))
		return -EUCLEAN;
	scmfs_maps_count(fs);
	return 0;
}

/* With this the file system is clean. */
void scmfs_maps_save(struct scmfs *fs)
{
	scmfs_show_aside(fs, false);
	scmfs_save_wear(fs);
	scm_copy_nt(fs->base + le64_to_cpu(fs->super.block_map_offset), fs->block_map,
		    map_words(fs->nr_blocks) * 8);
	scm_copy_nt(fs->base + le64_to_cpu(fs->super.inode_map_offset), fs->inode_map,
		    map_words(fs->nr_inodes) * 8);
	scm_fence();
	scmfs_write_word(&fs->state->clean, maps_hash(fs, fs->block_map, fs->inode_map));
	scm_fence();
	scmfs_show_aside(fs, true);
}

void scmfs_save_wear(struct scmfs *fs)
{
	scm_copy_nt(fs->base + le64_to_cpu(fs->super.wear_offset), fs->wear, fs->nr_units * 8);
}

/* Sums, from the bits. */
void scmfs_maps_count(struct scmfs *fs)
{
	u64 unit, i;

	fs->free_blocks = 0;
	for (unit = 0; unit < fs->nr_units; unit++) {
		u64 end = min_t(u64, fs->nr_blocks, (unit + 1) * SCMFS_UNIT_BLOCKS);
		u32 used = 0;

		for (i = unit * SCMFS_UNIT_BLOCKS; i < end; i += 64)
			used += hweight_long(fs->block_map[i / 64]);
		fs->unit_free[unit] = end - unit * SCMFS_UNIT_BLOCKS - used;
		fs->free_blocks += fs->unit_free[unit];
	}
	fs->free_inodes = fs->nr_inodes;
	for (i = 0; i < map_words(fs->nr_inodes); i++)
		fs->free_inodes -= hweight_long(fs->inode_map[i]);
	fs->inode_hint = 1;
}

static void take(struct scmfs *fs, u64 block, u64 count)
{
	u64 unit, n;

	scmfs_set_bits(fs->block_map, block, count);
	fs->free_blocks -= count;
	for (; count; block += n, count -= n) {
		unit = block / SCMFS_UNIT_BLOCKS;
		n = min(count, (unit + 1) * SCMFS_UNIT_BLOCKS - block);
		fs->unit_free[unit] -= n;
		fs->wear[unit] += n;
	}
}

/* While the maps are made: not twice. */
int scmfs_mark_used(struct scmfs *fs, u64 block, u64 count)
{
	if (!scmfs_run_ok(fs, block, count) ||
	    find_next_bit(fs->block_map, block + count, block) < block + count)
		return -EUCLEAN;
	scmfs_set_bits(fs->block_map, block, count);
	fs->marked += count;
	return 0;
}

/* Free blocks from @block on, at most @want. */
static u64 free_from(const struct scmfs *fs, u64 block, u64 want)
{
	u64 end = min(block + want, fs->nr_blocks - 1);

	return block < end ? find_next_bit(fs->block_map, end, block) - block : 0;
}

/* The one with least wear among the next that have @free blocks; nr_units if there is none. */
static u64 find_unit(const struct scmfs *fs, u64 from, u32 free)
{
	u64 i, unit, best = fs->nr_units;
	u32 seen = 0;

	for (i = 0; i < fs->nr_units && seen < UNITS_LOOKED_AT; i++) {
		unit = (from + i) % fs->nr_units;
		if (fs->unit_free[unit] < free)
			continue;
		seen++;
		if (best == fs->nr_units || fs->wear[unit] < fs->wear[best])
			best = unit;
	}
	return best;
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

static u64 find_run(struct scmfs *fs, u64 want, u64 goal, u64 *block)
{
	u64 unit = fs->nr_units, got;

	if (goal && goal < fs->nr_blocks) {
		got = free_from(fs, goal, want);
		if (got) {
			*block = goal;
			return got;
		}
	}
	if (want >= SCMFS_UNIT_BLOCKS)
		unit = find_unit(fs, fs->unit + 1, SCMFS_UNIT_BLOCKS);
	if (unit < fs->nr_units) {	/* whole units, aligned: mapped by huge pages */
		*block = unit * SCMFS_UNIT_BLOCKS;
		return free_from(fs, *block, want);
	}
	if (fs->unit_free[fs->unit] < want) {
		unit = find_unit(fs, fs->unit, min_t(u64, want, SCMFS_UNIT_BLOCKS / 2));
		if (unit == fs->nr_units)
			unit = find_unit(fs, fs->unit, 1);
		if (unit == fs->nr_units)
			return 0;
		fs->unit = unit;
	}
	return run_in_unit(fs, fs->unit, want, block);
}

/*
 * Up to @want blocks in one piece, preferably from @goal on; returns how many, 0 if none is free.
 */
u64 scmfs_alloc(struct scmfs *fs, u64 want, u64 goal, u64 *block)
{
	u64 got = 0;

	spin_lock(&fs->lock);
	if (fs->free_blocks)
		got = find_run(fs, want, goal, block);
	if (got)
		take(fs, *block, got);
	spin_unlock(&fs->lock);
	return got;
}

static u32 unit_blocks(const struct scmfs *fs, u64 unit)
{
	return min((unit + 1) * SCMFS_UNIT_BLOCKS, fs->nr_blocks) - unit * SCMFS_UNIT_BLOCKS;
}

/* Of the units that a call looks at, the least worn of the first that are free as a whole. */
static u64 find_whole(struct scmfs *fs)
{
	u64 i, unit, end = min_t(u64, fs->nr_units, GC_WHOLE_UNITS), best = fs->nr_units;
	u32 seen = 0;

	for (i = 0; i < end && seen < UNITS_LOOKED_AT; i++) {
		unit = (fs->gc_unit + i) % fs->nr_units;
		if (fs->unit_free[unit] < SCMFS_UNIT_BLOCKS)
			continue;
		seen++;
		if (best == fs->nr_units || fs->wear[unit] < fs->wear[best])
			best = unit;
	}
	fs->gc_unit = (fs->gc_unit + i) % fs->nr_units;
	return best;
}

/*
 * A whole free unit, for what is to be mapped by huge pages. Not all of a large memory is looked
 * at, but all of it in turn. Return: its first block, 0: none.
 */
u64 scmfs_alloc_whole(struct scmfs *fs)
{
	u64 unit, block = 0;

	spin_lock(&fs->lock);
	unit = find_whole(fs);
	if (unit < fs->nr_units) {
		block = unit * SCMFS_UNIT_BLOCKS;
		take(fs, block, SCMFS_UNIT_BLOCKS);
	}
	spin_unlock(&fs->lock);
	return block;
}

/* The fullest first, of those that can't be emptied anyway before all others. */
static u32 pack_rank(const struct scmfs *fs, u64 unit, const unsigned long *prefer)
{
	bool last = prefer && !test_bit(unit, prefer);

	return fs->unit_free[unit] + (last ? SCMFS_UNIT_BLOCKS : 0);
}

static bool can_pack(const struct scmfs *fs, u64 unit, u64 want, const unsigned long *avoid)
{
	return fs->unit_free[unit] >= want && fs->unit_free[unit] < unit_blocks(fs, unit) &&
		!(avoid && test_bit(unit, avoid));
}

/*
 * @want blocks in one piece, in the fullest unit that has such a piece, of those that a call looks
 * at, and into: never in a free one, which is what is to be had by this. If none of them has one,
 * the next call looks at others. Return: the first, 0: none.
 */
u64 scmfs_alloc_packed(struct scmfs *fs, u64 want, const unsigned long *avoid,
		       const unsigned long *prefer)
{
	u64 i, unit, at, block = 0, least = U64_MAX;
	u32 tries = 0;

	spin_lock(&fs->lock);
	for (i = 0; i < min_t(u64, fs->nr_units, GC_PACK_UNITS) && tries < GC_PACK_TRIES; i++) {
		unit = (fs->gc_unit + i) % fs->nr_units;
		if (pack_rank(fs, unit, prefer) >= least || !can_pack(fs, unit, want, avoid))
			continue;
		tries++;
		if (run_in_unit(fs, unit, want, &at) < want)
			continue;
		least = pack_rank(fs, unit, prefer);
		block = at;
	}
	if (block)
		take(fs, block, want);
	else
		fs->gc_unit = (fs->gc_unit + i) % fs->nr_units;
	spin_unlock(&fs->lock);
	return block;
}

/*
 * Free blocks of up to @nr units from *@unit on, which is moved on to the first that files alone
 * can have; of the one where small files are put now 0, unless it is free. Return: how many.
 */
u32 scmfs_unit_frees(struct scmfs *fs, u64 *unit, u16 *count, u32 nr)
{
	u64 end = (fs->nr_blocks - 1) / SCMFS_UNIT_BLOCKS, put;

	*unit = max_t(u64, *unit, DIV_ROUND_UP(fs->first_data, SCMFS_UNIT_BLOCKS));
	if (*unit >= end)
		return 0;
	nr = min_t(u64, nr, end - *unit);
	spin_lock(&fs->lock);
	memcpy(count, fs->unit_free + *unit, nr * sizeof(*count));
	put = fs->unit - *unit;	/* past all of them if it lies before */
	if (put < nr && count[put] < SCMFS_UNIT_BLOCKS)
		count[put] = 0;
	spin_unlock(&fs->lock);
	return nr;
}

void scmfs_free(struct scmfs *fs, u64 block, u64 count)
{
	u64 unit, n, first = block, all = count;

	spin_lock(&fs->lock);
	scmfs_clear_bits(fs->block_map, block, count);
	fs->free_blocks += count;
	for (; count; block += n, count -= n) {
		unit = block / SCMFS_UNIT_BLOCKS;
		n = min(count, (unit + 1) * SCMFS_UNIT_BLOCKS - block);
		fs->unit_free[unit] += n;
	}
	scmfs_set_aside(fs, first, all);
	spin_unlock(&fs->lock);
}

/*
 * A free inode's number, or 0. `inode_high` is flushed here and durable with the first fence of
 * the transaction that gives life to the inode; as any of the last step may be given to another
 * CPU before, each of them flushes it.
 */
u64 scmfs_alloc_inode(struct scmfs *fs)
{
	u64 ino;

	spin_lock(&fs->lock);
	ino = find_next_zero_bit(fs->inode_map, fs->nr_inodes, fs->inode_hint);
	if (ino >= fs->nr_inodes) {
		spin_unlock(&fs->lock);
		return 0;
	}
	__set_bit(ino, fs->inode_map);
	fs->inode_hint = ino + 1;
	fs->free_inodes--;
	if (ino >= fs->inode_high) {
		fs->inode_high = min(fs->nr_inodes, ino + 64);
		scmfs_set_high(fs->state, fs->inode_high);
	} else if (ino + 64 >= fs->inode_high) {
		scm_flush(fs->state, sizeof(*fs->state));
	}
	spin_unlock(&fs->lock);
	return ino;
}

/* One with links is somebody's, and the map was wrong: it stays used, the next one is another. */
void scmfs_free_inode(struct scmfs *fs, u64 ino)
{
	if (scmfs_links(scmfs_read(&scmfs_inode(fs, ino)->mode_links)))
		return;
	spin_lock(&fs->lock);
	__clear_bit(ino, fs->inode_map);
	fs->inode_hint = min(fs->inode_hint, ino);
	fs->free_inodes++;
	spin_unlock(&fs->lock);
}

void scmfs_statfs(struct scmfs *fs, struct scmfs_statfs *st)
{
	spin_lock(&fs->lock);
	st->blocks = fs->nr_blocks - 1 - fs->first_data;
	st->free = fs->free_blocks;
	st->inodes = fs->nr_inodes - 1;
	st->free_inodes = fs->free_inodes;
	st->aside = fs->nr_aside;
	spin_unlock(&fs->lock);
}

u64 scmfs_wear(struct scmfs *fs, u64 unit)
{
	u64 wear;

	spin_lock(&fs->lock);
	wear = unit < fs->nr_units ? fs->wear[unit] : 0;
	spin_unlock(&fs->lock);
	return wear;
}

u32 scmfs_wear_counts(struct scmfs *fs, u64 unit, u64 *count, u32 nr)
{
	if (unit >= fs->nr_units)
		return 0;
	nr = min3((u64)nr, fs->nr_units - unit, (u64)SCMFS_LOOK_WORDS);
	spin_lock(&fs->lock);
	memcpy(count, fs->wear + unit, nr * sizeof(*count));
	spin_unlock(&fs->lock);
	return nr;
}

u32 scmfs_used_blocks(struct scmfs *fs, u64 block, u64 *word, u32 nr)
{
	u64 first = block / 64, words = map_words(fs->nr_blocks);

	if (first >= words)
		return 0;
	nr = min3((u64)nr, words - first, (u64)SCMFS_LOOK_WORDS);
	spin_lock(&fs->lock);
	memcpy(word, fs->block_map + first, nr * sizeof(*word));
	spin_unlock(&fs->lock);
	return nr;
}

u64 scmfs_next_inode(struct scmfs *fs, u64 ino, u64 end)
{
	end = min(end, fs->nr_inodes);
	if (ino >= end)
		return end;
	spin_lock(&fs->lock);
	ino = find_next_bit(fs->inode_map, end, ino);
	spin_unlock(&fs->lock);
	return ino;
}
