// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks there are to have. Of a file system that was closed the saved maps tell, under their
 * hash: what was free then can't be anybody's, or he would have what somebody else has deleted.
 * What was used and is nobody's is what is missing, if something is. A mount may have left such
 * blocks, too, where it could not follow a chain; those are given back.
 *
 * The maps are as they were, but may have been wrong by then:
 *
 *	an extent of A is damaged, and is where B's is now	B is as it was
 *	A is removed						B's blocks are free in the maps
 *	the file system is closed				with their hash
 *
 * So if an inode that has as many blocks as it says has some that were free, nobody knows which of
 * the two is wrong: it may also have had others, of which nothing tells. The maps are vouched for
 * no more, it keeps what it has, and that is told.
 */
#include "check_internal.h"

static const unsigned long *saved_map(const struct scmfs *fs)
{
	return (const void *)(fs->base + le64_to_cpu(fs->super.block_map_offset));
}

static void know_nothing(struct scmfs *fs)
{
	memset(fs->block_map, 0, DIV_ROUND_UP(fs->nr_blocks, 64) * 8);
	scmfs_set_bits(fs->block_map, fs->first_data, fs->nr_blocks - 1 - fs->first_data);
}

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
	} else {
		know_nothing(fs);
	}
}

/* What an inode had stays in it when it is removed: a bit of its mode makes it look like a file. */
void end_removed(struct run *run)
{
	u64 ino;

	for (ino = SCMFS_ROOT_INO + 1; run->vouched && ino < run->fs->nr_inodes; ino++) {
		struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
		u64 mode_links = scmfs_read(&inode->mode_links);

		if (!mode_links || scmfs_links(mode_links) || test_bit(ino, run->fs->inode_map))
			continue;
		found(run, "inode %llu: was removed", ino);
		scmfs_write_word(&inode->mode_links, 0);
	}
}

static int claim(struct scmfs *fs, u64 block, u64 count)
{
	scmfs_clear_bits(fs->block_map, block, count);
	return 0;
}

static int has_free(struct scmfs *fs, u64 block, u64 count)
{
	return find_next_zero_bit(saved_map(fs), block + count, block) < block + count;
}

/* All that it refers to, right or wrong, until @fn doesn't return 0. */
static int each_run(struct run *run, struct scmfs_inode *inode,
		    int (*fn)(struct scmfs *fs, u64 block, u64 count))
{
	const u64 end = run->fs->nr_blocks - 1;
	struct scmfs *fs = run->fs;
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u64 block;
	int r = 0;

	scmfs_slots(fs, inode, &s);
	while (!r && (place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = ext_of(place);

		if (e.block < end)
			r = fn(fs, e.block, min(e.count, end - e.block));
	}
	block = s.maps ? scmfs_read(&inode->map) : 0;
	for (; !r && s.maps && scmfs_run_ok(fs, block, 1); s.maps--) {
		r = fn(fs, block, 1);
		block = scmfs_next_map(fs, block);
	}
	return r ?: scmfs_xattr_each(fs, inode, fn);
}

/* Does somebody have what was free, and as much as he says? Unasked that is left as it is. */
static bool is_contradicted(struct run *run)
{
	bool any = false;
	u64 ino;

	for (ino = 1; ino < run->fs->nr_inodes; ino++) {
		/* One that is free in the same maps has nothing by right. */
		if (!is_live(run, ino) || !test_bit(ino, run->fs->inode_map) ||
		    !adds_up(run, ino) ||
		    each_run(run, scmfs_inode(run->fs, ino), has_free) <= 0)
			continue;
		found_loss(run, "inode %llu: has blocks that were free: what is there may be another's",
			   ino);
		any = true;
	}
	return any;
}

/* What was free is somebody's if he has it, and no mount may give it away. */
static void trust_no_map(struct run *run)
{
	const unsigned long *map = saved_map(run->fs);
	u64 i;

	not_vouched(run);
	for (i = 0; i <= (run->fs->nr_blocks - 1) / 64; i++)
		run->used[i] &= map[i];
	run->vouched = false;
	know_nothing(run->fs);
}

/* When each inode is what it is, and before anything of them is changed. */
void find_lost(struct run *run)
{
	struct scmfs *fs = run->fs;
	u64 ino, i;

	if (run->vouched && is_contradicted(run))
		trust_no_map(run);
	for (ino = 1; ino < fs->nr_inodes; ino++)
		if (is_live(run, ino))	/* that nobody refers to it must be beyond doubt */
			each_run(run, scmfs_inode(fs, ino), claim);
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
	return run->vouched && scmfs_run_ok(run->fs, block, count) &&
		find_next_bit(saved_map(run->fs), block + count, block) == block + count;
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
