// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks there are to have. Of a file system that was closed the saved maps tell, under their
 * hash: what was free then can't be anybody's, or he would have what somebody else has deleted.
 * What was used and is nobody's is what is missing, if something is. A mount may have left such
 * blocks, too, where it could not follow a chain; those are given back.
 */
#include "check_internal.h"

/* Before the first repair: with that the maps are vouched for no more. */
void know_blocks(struct run *run)
{
	struct scmfs *fs = run->fs;
	u64 i, end = fs->nr_blocks - 1;

	run->vouched = !scmfs_maps_load(fs);
	if (run->vouched) {
		for (i = 0; i <= end / 64; i++)
			run->used[i] = ~fs->block_map[i];
		scmfs_clear_bits(fs->block_map, 0, fs->first_data);
		scmfs_clear_bits(fs->block_map, end, 1);
		return;
	}
	memset(fs->block_map, 0, DIV_ROUND_UP(fs->nr_blocks, 64) * 8);
	scmfs_set_bits(fs->block_map, fs->first_data, end - fs->first_data);
}

static int claim(struct scmfs *fs, u64 block, u64 count)
{
	scmfs_clear_bits(fs->block_map, block, count);
	return 0;
}

static void claim_maps(struct scmfs *fs, u64 block, u64 nr)
{
	for (; nr && scmfs_run_ok(fs, block, 1); block = scmfs_next_map(fs, block), nr--)
		claim(fs, block, 1);
}

/* All that it refers to, right or wrong: that nobody refers to it must be beyond doubt. */
static void claim_all(struct run *run, struct scmfs_inode *inode)
{
	const u64 end = run->fs->nr_blocks - 1;
	struct scmfs_extent *place;
	struct scmfs_slots s;

	scmfs_slots(run->fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = ext_of(place);

		if (e.block < end)
			claim(run->fs, e.block, min(e.count, end - e.block));
	}
	if (s.maps)
		claim_maps(run->fs, scmfs_read(&inode->map), s.maps);
	scmfs_xattr_each(run->fs, inode, claim);
}

/* When each inode is what it is, and before anything of them is changed. */
void find_lost(struct run *run)
{
	struct scmfs *fs = run->fs;
	u64 ino, i;

	for (ino = 1; ino < fs->nr_inodes; ino++)
		if (is_live(run, ino))
			claim_all(run, scmfs_inode(fs, ino));
	for (i = 0; run->vouched && i <= (fs->nr_blocks - 1) / 64; i++)
		run->nr_lost += hweight_long(fs->block_map[i]);
}

bool all_lost(const struct run *run, u64 block, u64 count)
{
	return scmfs_run_ok(run->fs, block, count) &&
		find_next_zero_bit(run->fs->block_map, block + count, block) == block + count;
}

void give_lost(struct run *run, u64 block, u64 count)
{
	claim(run->fs, block, count);
	if (run->vouched)
		run->nr_lost -= count;
}

bool was_free(const struct run *run, u64 block, u64 count)
{
	const struct scmfs *fs = run->fs;
	const unsigned long *map =
		(const void *)(fs->base + le64_to_cpu(fs->super.block_map_offset));

	return run->vouched && scmfs_run_ok(fs, block, count) &&
		find_next_bit(map, block + count, block) == block + count;
}

/* Is it sure that an inode which has @has blocks, and counts @counted, misses none of them? */
bool nothing_lost(const struct run *run, u64 has, u64 counted)
{
	return run->vouched && (has > counted || !run->nr_lost);
}

bool maps_match(const struct run *run, const u8 *base)
{
	const struct scmfs *fs = run->fs;
	const unsigned long *map = (const void *)(base + le64_to_cpu(fs->super.block_map_offset));
	u64 i;

	if (!scmfs_read(&fs->state->clean))
		return true;
	/* what was free is among the used ones if they are vouched for, and is nobody's then */
	for (i = fs->first_data; i < fs->nr_blocks - 1; i++)
		if (test_bit(i, run->used) != (run->vouched || test_bit(i, map)))
			return false;
	map = (const void *)(base + le64_to_cpu(fs->super.inode_map_offset));
	for (i = 1; i < fs->nr_inodes; i++)
		if (test_bit(i, map) != is_live(run, i))
			return false;
	return true;
}
