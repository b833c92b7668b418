// SPDX-License-Identifier: GPL-2.0-only
/*
 * The size of files, and what is given back with it: blocks beyond it, and those of extents that
 * are all empty.
 */
#include <linux/uaccess.h>
#include "engine_gc.h"
#include "engine_internal.h"

#define TAIL_PART	256u	/* in one look, by way of the stack */

/*
 * Take blocks out of a file, operation by operation; the first one sets the times, if @now is
 * there.
 */
int scmfs_cut_range(struct scmfs *fs, u64 ino, u64 file, u64 count, const s64 *now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	do {
		scmfs_op_begin(fs, &op, &ino, 1);
		r = now ? scmfs_op_times(&op, inode, *now) : 0;
		if (!r)
			r = scmfs_ext_remove(&op, inode, file, count);
		now = NULL;
		if (r && r != -EAGAIN)
			scmfs_op_abort(&op);
		else
			scmfs_op_commit(&op);
		cond_resched();
	} while (r == -EAGAIN);
	return r;
}

/* Blocks of extents that are all empty: the chain goes at once. */
static int drop_maps(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	u64 map = scmfs_read(&inode->map), next, blocks = scmfs_read(&inode->blocks);
	u64 maps = 0, attrs = scmfs_xattr_blocks(fs, inode);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	for (next = map; next && scmfs_run_ok(fs, next, 1) && maps <= blocks; maps++)
		next = scmfs_next_map(fs, next);
	if (!maps || maps + attrs != blocks)
		return 0;
	scmfs_op_begin(fs, &op, &ino, 1);
	r = ek_undo_set(&op.tx, &inode->blocks, attrs);
	if (!r)
		r = ek_undo_set(&op.tx, &inode->map, 0);
	if (r) {
		scmfs_op_abort(&op);
		return r;
	}
	scmfs_op_commit(&op);
	scmfs_forget(fs, ino);
	ek_undo_settle(fs->log);
	scmfs_free_maps(fs, map, maps);
	return 0;
}

/* What was reserved goes with what is cut off. */
static int set_size(struct scmfs *fs, struct scmfs_inode *inode, u64 ino,
		    const struct scmfs_attr *attr, unsigned int mask)
{
	struct scmfs_op op EK_UNINITIALIZED;
	bool cuts = attr->size <= scmfs_read(&inode->size);
	int r;

	scmfs_op_begin(fs, &op, &ino, 1);
	r = ek_undo_set(&op.tx, &inode->size, attr->size);
	if (!r)
		r = scmfs_set_fields(&op, inode, attr, mask);
	if (!r && cuts && scmfs_read(&inode->kept))
		r = ek_undo_set(&op.tx, &inode->kept, 0);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Up to where a file's blocks are no room ahead. */
static u64 blocks_kept(const struct scmfs_inode *inode)
{
	return min(blocks_to(max(scmfs_read(&inode->size), scmfs_read(&inode->kept))),
		   SCMFS_MAX_FILE_BLOCKS);
}

u64 scmfs_kept_size(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;

	return scmfs_live(fs, ino, &inode) ? 0 : blocks_kept(inode) << SCMFS_BLOCK_SHIFT;
}

bool scmfs_has_room_ahead(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;

	return !scmfs_live(fs, ino, &inode) &&
		block_of(scmfs_mapped_size(fs, ino)) > blocks_kept(inode);
}

/* By its index, which says where they begin, or else all extents, of which there may be many. */
u64 scmfs_room_ahead(struct scmfs *fs, u64 ino)
{
	struct scmfs_extent *place;
	struct scmfs_inode *inode;
	u64 kept, end, room = 0, nr = 0;
	struct scmfs_index *x;
	struct scmfs_slots s;
	struct scmfs_ext e;

	if (scmfs_find_file(fs, ino, &inode))
		return 0;
	kept = blocks_kept(inode);
	x = scmfs_index_get(fs, inode);
	scmfs_slots(fs, inode, &s);
	for (;;) {
		place = x ? scmfs_index_from(x, kept, &e) : scmfs_slots_next(&s);
		if (!place)
			return room << SCMFS_BLOCK_SHIFT;
		if (!x)
			e = scmfs_ext_of(0, scmfs_read(&place->second));
		end = e.file + e.count;
		if (end > kept)
			room += end - max(e.file, kept);
		if (x)
			kept = end;
		if (!(++nr % 256))	/* about a map block's */
			cond_resched();
	}
}

int scmfs_trim(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;
	int r = scmfs_find_file(fs, ino, &inode);	/* memory may be being reclaimed */
	u64 first;

	if (r)
		return r;
	first = blocks_kept(inode);
	r = scmfs_cut_range(fs, ino, first, SCMFS_MAX_FILE_BLOCKS - first, NULL);
	return r ? r : drop_maps(fs, ino);
}

/*
 * One that can't be done stays, as room that is taken. A truncation that was cut leaves much: it
 * goes by an index, as it would have.
 */
void scmfs_trim_all(struct scmfs *fs)
{
	struct scmfs_inode *inode;
	u64 ino;

	for (ino = 1; ino < READ_ONCE(fs->inode_high); ino++) {
		if (scmfs_has_room_ahead(fs, ino) && !scmfs_open_file(fs, ino, &inode)) {
			scmfs_trim(fs, ino);
			scmfs_forget(fs, ino);
		}
		if (!(ino % 4096))
			cond_resched();
	}
}

int scmfs_trim_some(struct scmfs *fs, u64 ino)
{
	struct scmfs_op op EK_UNINITIALIZED;
	struct scmfs_inode *inode;
	int r = scmfs_open_file(fs, ino, &inode);
	u64 first;

	if (r)
		return r;
	first = blocks_kept(inode);
	scmfs_op_begin(fs, &op, &ino, 1);
	r = scmfs_ext_remove(&op, inode, first, SCMFS_MAX_FILE_BLOCKS - first);
	if (r && r != -EAGAIN)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	if (r)
		return r == -EAGAIN ? 1 : r;
	return drop_maps(fs, ino);
}

/*
 * Before the size passes @offset: room ahead would be blocks of zeroes then where a hole belongs,
 * or what is unwritten.
 */
int scmfs_trim_before(struct scmfs *fs, const struct scmfs_inode *inode, u64 ino, u64 offset)
{
	if (block_of(offset) <= blocks_to(scmfs_read(&inode->size)) ||
	    !scmfs_has_room_ahead(fs, ino))
		return 0;
	return scmfs_trim(fs, ino);
}

/* Of what there is beyond the old size the blocks from @zeroed on are zeroes. */
static int resize(struct scmfs *fs, struct scmfs_inode *inode, u64 ino,
		  const struct scmfs_attr *attr, unsigned int mask, u64 zeroed)
{
	u64 old = scmfs_read(&inode->size), size = attr->size;
	int r = 0;

	if (size > old)		/* before the size shows it: what can't be zeroed is not shown */
		r = scmfs_zero_mapped(fs, inode, old,
				      min(zeroed, round_up(size, SCMFS_BLOCK_SIZE)));
	if (!r)
		r = set_size(fs, inode, ino, attr, mask);
	if (r || size > old)
		return r;
	if (in_block(size)) {
		scmfs_zero_mapped(fs, inode, size, round_up(size, SCMFS_BLOCK_SIZE));
		scm_fence();	/* there may be nothing to trim */
	}
	return scmfs_trim(fs, ino);
}

/*
 * A size that is larger. Whole blocks beyond the old one, from @zeroed on, have been zeroed by who
 * calls; stores that are on their way are fenced before the size shows them.
 */
int scmfs_grow(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 size, u64 zeroed, s64 now)
{
	const struct scmfs_attr attr = scmfs_sized(size, now);
	u64 tail = round_up(scmfs_read(&inode->size), SCMFS_BLOCK_SIZE);

	return resize(fs, inode, ino, &attr, SCMFS_SET_TIMES, max(zeroed, tail));
}

int scmfs_truncate_set(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr, unsigned int mask)
{
	struct scmfs_inode *inode;
	int r = scmfs_open_file(fs, ino, &inode);

	if (!r && blocks_to(attr->size) > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	if (!r)
		r = scmfs_trim_before(fs, inode, ino, attr->size);
	return r ? r : resize(fs, inode, ino, attr, mask, U64_MAX);
}

int scmfs_truncate(struct scmfs *fs, u64 ino, u64 size, s64 now)
{
	const struct scmfs_attr attr = scmfs_sized(size, now);

	return scmfs_truncate_set(fs, ino, &attr, SCMFS_SET_TIMES);
}

/* What is behind the size in the block of a file's last byte, if that is written. */
static bool find_tail(struct scmfs *fs, u64 ino, struct scmfs_seg *tail)
{
	struct scmfs_inode *inode;
	u64 size;

	if (scmfs_find_file(fs, ino, &inode))
		return false;
	size = scmfs_read(&inode->size);
	return in_block(size) &&
	       !scmfs_part_at(fs, inode, size, round_up(size, SCMFS_BLOCK_SIZE), tail) &&
	       tail->at != SCMFS_HOLE && scmfs_good(fs, tail->at, tail->len) == tail->len;
}

bool scmfs_tail_is_dirty(struct scmfs *fs, u64 ino)
{
	u8 part[TAIL_PART] EK_UNINITIALIZED;
	struct scmfs_seg tail;
	u64 n;

	if (!find_tail(fs, ino, &tail))
		return false;
	for (; tail.len; tail.at += n, tail.len -= n) {
		n = min_t(u64, tail.len, TAIL_PART);
		if (copy_mc_to_kernel(part, fs->base + tail.at, n))
			return false;	/* nor can anybody map it */
		if (memchr_inv(part, 0, n))
			return true;
	}
	return false;
}

void scmfs_clean_tail(struct scmfs *fs, u64 ino)
{
	struct scmfs_seg tail;

	if (!scmfs_tail_is_dirty(fs, ino) || !find_tail(fs, ino, &tail))
		return;
	scm_zero_nt(fs->base + tail.at, tail.len);
	scm_fence();
}
