// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks and inodes are free: bits in RAM, saved when the file system is closed.
 *
 * A block may be given out again as soon as what referred to it has durably ceased to; what
 * refers to it next is durable later than that. So the maps need no transactions.
 */
#include "engine_internal.h"

#define POOL_UNITS	16u	/* for each CPU that has one of its own */

static u64 map_words(u64 bits)
{
	return DIV_ROUND_UP(bits, 64);
}

/* Of blocks and inodes: bits, and what is known of the units of 2 MiB. */
static int maps_alloc(struct scmfs *fs)
{
	fs->block_map = kvzalloc(map_words(fs->nr_blocks) * 8, GFP_KERNEL);
	fs->inode_map = kvzalloc(map_words(fs->nr_inodes) * 8, GFP_KERNEL);
	fs->unit_free = kvcalloc(fs->nr_units, sizeof(*fs->unit_free), GFP_KERNEL);
	fs->wear = kvcalloc(fs->nr_units, sizeof(*fs->wear), GFP_KERNEL);
	return fs->block_map && fs->inode_map && fs->unit_free && fs->wear ? 0 : -ENOMEM;
}

static int pools_init(struct scmfs *fs)
{
	u32 i;
	int r;

	/* Each keeps a unit from being free as a whole. A power of two: memory is aligned to it. */
	fs->nr_pools = 1u << ilog2(clamp_t(u64, fs->nr_units / POOL_UNITS, 1,
					   num_possible_cpus()));
	fs->unit_claimed = kvzalloc(map_words(fs->nr_units) * 8, GFP_KERNEL);
	fs->word_claimed = kvzalloc(map_words(map_words(fs->nr_inodes)) * 8, GFP_KERNEL);
	fs->pool = kvcalloc(fs->nr_pools, sizeof(*fs->pool), GFP_KERNEL);
	if (!fs->unit_claimed || !fs->word_claimed || !fs->pool)
		return -ENOMEM;
	for (i = 0; i < fs->nr_pools; i++) {
		fs->pool[i].unit = fs->nr_units;
		fs->pool[i].word = map_words(fs->nr_inodes);
	}
	r = percpu_counter_init(&fs->free_blocks, 0, GFP_KERNEL);
	return r ? r : percpu_counter_init(&fs->free_inodes, 0, GFP_KERNEL);
}

int scmfs_maps_init(struct scmfs *fs)
{
	int r = maps_alloc(fs);

	if (!r)
		r = pools_init(fs);
	if (r)
		return r;
	memcpy(fs->wear, fs->base + le64_to_cpu(fs->super.wear_offset), fs->nr_units * 8);
	scmfs_set_bits(fs->block_map, 0, fs->first_data);
	__set_bit(fs->nr_blocks - 1, fs->block_map);
	__set_bit(0, fs->inode_map);
	return 0;
}

void scmfs_maps_free(struct scmfs *fs)
{
	percpu_counter_destroy(&fs->free_blocks);
	percpu_counter_destroy(&fs->free_inodes);
	kvfree(fs->pool);
	kvfree(fs->unit_claimed);
	kvfree(fs->word_claimed);
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
	u64 unit, i, free = 0, inodes = fs->nr_inodes;

	for (unit = 0; unit < fs->nr_units; unit++) {
		u64 end = min_t(u64, fs->nr_blocks, (unit + 1) * SCMFS_UNIT_BLOCKS);
		u32 used = 0;

		for (i = unit * SCMFS_UNIT_BLOCKS; i < end; i += 64)
			used += hweight_long(fs->block_map[i / 64]);
		fs->unit_free[unit] = end - unit * SCMFS_UNIT_BLOCKS - used;
		free += fs->unit_free[unit];
	}
	for (i = 0; i < map_words(fs->nr_inodes); i++)
		inodes -= hweight_long(fs->inode_map[i]);
	percpu_counter_set(&fs->free_blocks, free);
	percpu_counter_set(&fs->free_inodes, inodes);
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

u64 scmfs_maps_memory(const struct scmfs *fs)
{
	return (map_words(fs->nr_blocks) + map_words(fs->nr_inodes) + map_words(fs->nr_units) +
		map_words(map_words(fs->nr_inodes))) * 8 +
		fs->nr_units * (sizeof(*fs->wear) + sizeof(*fs->unit_free)) +
		fs->nr_pools * sizeof(*fs->pool);
}

void scmfs_statfs(struct scmfs *fs, struct scmfs_statfs *st)
{
	st->blocks = fs->nr_blocks - 1 - fs->first_data;
	st->free = percpu_counter_sum_positive(&fs->free_blocks);
	st->inodes = fs->nr_inodes - 1;
	st->free_inodes = percpu_counter_sum_positive(&fs->free_inodes);
	st->aside = atomic64_read(&fs->nr_aside);
}

u64 scmfs_wear(struct scmfs *fs, u64 unit)
{
	return unit < fs->nr_units ? READ_ONCE(fs->wear[unit]) : 0;
}

u32 scmfs_wear_counts(struct scmfs *fs, u64 unit, u64 *count, u32 nr)
{
	u32 i;

	if (unit >= fs->nr_units)
		return 0;
	nr = min3((u64)nr, fs->nr_units - unit, (u64)SCMFS_LOOK_WORDS);
	for (i = 0; i < nr; i++)
		count[i] = READ_ONCE(fs->wear[unit + i]);
	return nr;
}

u32 scmfs_used_blocks(struct scmfs *fs, u64 block, u64 *word, u32 nr)
{
	u64 first = block / 64, words = map_words(fs->nr_blocks);
	u32 i;

	if (first >= words)
		return 0;
	nr = min3((u64)nr, words - first, (u64)SCMFS_LOOK_WORDS);
	for (i = 0; i < nr; i++)
		word[i] = READ_ONCE(fs->block_map[first + i]);
	return nr;
}
