// SPDX-License-Identifier: GPL-2.0-only
/* Room that is reserved, and ranges that are made zeroes or holes. */
#include "engine_internal.h"

#define RESERVE_BLOCKS	(16ULL * SCMFS_UNIT_BLOCKS)	/* zeroed under locks of inodes */

/* Blocks for a hole of @count at most; @file is set to what comes behind those that there were. */
static int reserve_part(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 *file, u64 count,
			bool unwritten)
{
	u64 block, got, goal = 0;
	struct scmfs_ext e;
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	if (*file && !scmfs_ext_at(fs, inode, *file - 1, &e) && e.block)
		goal = e.block + 1;
	scmfs_op_begin(fs, &op, &ino, 1);
	got = scmfs_op_alloc(&op, count, goal, &block);
	r = got ? 0 : -ENOSPC;
	if (!r && !unwritten)
		scm_zero_nt(scmfs_block(fs, block), got << SCMFS_BLOCK_SHIFT);
	if (!r)
		r = scmfs_ext_add(&op, inode, (struct scmfs_ext){ block, *file, got, unwritten });
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	*file += r ? 0 : got;
	return r;
}

/* Unwritten blocks are to be stored to. */
static int write_part(struct scmfs *fs, struct scmfs_inode *inode, u64 ino,
		      const struct scmfs_ext *e, u64 count)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	if (!scmfs_all_good(fs, e->block, count))
		return -EIO;
	scm_zero_nt(scmfs_block(fs, e->block), count << SCMFS_BLOCK_SHIFT);
	scmfs_op_begin(fs, &op, &ino, 1);
	r = scmfs_ext_mark(&op, inode, e->file, count, false);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Written blocks of a file that is to grow past them: those beyond its size may hold anything. */
static int zero_beyond(struct scmfs *fs, struct scmfs_inode *inode, u64 file, u64 count)
{
	u64 from = max(file, blocks_to(scmfs_read(&inode->size)));

	return scmfs_zero_mapped(fs, inode, from << SCMFS_BLOCK_SHIFT,
				 (file + count) << SCMFS_BLOCK_SHIFT);
}

/* The next step of a reservation; @file is set to what comes next. */
static int reserve_step(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 *file, u64 end,
			bool unwritten, bool grows)
{
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, *file, &e);
	u64 count;

	if (r)
		return r;
	count = min3(e.count, end - *file, RESERVE_BLOCKS);
	if (!e.block)
		return reserve_part(fs, inode, ino, file, count, unwritten);
	if (e.unwritten && !unwritten)
		r = write_part(fs, inode, ino, &e, count);
	else if (grows)
		r = zero_beyond(fs, inode, *file, count);
	*file += count;
	return r;
}

/*
 * The end of what leaves the size as it is. What is there of one that failed before that is room
 * ahead.
 */
static int keep(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 end, bool times, s64 now)
{
	bool more = end > scmfs_read(&inode->size) && end > scmfs_read(&inode->kept);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	if (!more && !times)
		return 0;
	scmfs_op_begin(fs, &op, &ino, 1);
	r = times ? scmfs_op_times(&op, inode, now) : 0;
	if (!r && more)
		r = ek_undo_set(&op.tx, &inode->kept, end);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

int scmfs_reserve(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags, s64 now)
{
	u64 file = block_of(offset), end = blocks_to(offset + len);
	bool unwritten = scmfs_has_unwritten(fs) && !(flags & SCMFS_RESERVE_ZEROED);
	bool grows = !(flags & SCMFS_RESERVE_KEEP_SIZE);
	struct scmfs_inode *inode;
	int r = scmfs_open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (!r && end > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	if (!r)
		r = scmfs_trim_before(fs, inode, ino, end << SCMFS_BLOCK_SHIFT);
	while (!r && file < end) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		r = reserve_step(fs, inode, ino, &file, end, unwritten, grows);
	}
	if (r)
		return r;
	if (!grows || offset + len <= scmfs_read(&inode->size))
		return keep(fs, inode, ino, grows ? 0 : offset + len,
			    !(flags & SCMFS_RESERVE_NO_TIMES), now);
	return scmfs_grow(fs, inode, ino, offset + len, round_down(offset, SCMFS_BLOCK_SIZE), now);
}

/*
 * The blocks of a range become unwritten, operation by operation; the first one sets the times.
 *
 *	edges zeroed, past the cache
 *	--- fence 1 ---			a cut: some of the edges, as in any write in place
 *	extents unwritten, times
 *	--- fence 2 ---			a cut: the front of the range, as far as it got
 */
static int unwrite_range(struct scmfs *fs, u64 ino, u64 file, u64 count, s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	do {
		scmfs_op_begin(fs, &op, &ino, 1);
		r = scmfs_op_times(&op, inode, now);
		if (!r)
			r = scmfs_ext_mark(&op, inode, file, count, true);
		if (r && r != -EAGAIN)
			scmfs_op_abort(&op);
		else
			scmfs_op_commit(&op);
		cond_resched();
		if (r == -EAGAIN && fatal_signal_pending(current))
			r = -EINTR;
	} while (r == -EAGAIN);
	return r;
}

/* The whole blocks of a range, which what lies behind the size makes whole, too. */
static void whole_blocks(const struct scmfs_inode *inode, u64 offset, u64 end, u64 *from, u64 *to)
{
	*from = round_up(offset, SCMFS_BLOCK_SIZE);
	*to = end == scmfs_read(&inode->size) ? round_up(end, SCMFS_BLOCK_SIZE) :
		round_down(end, SCMFS_BLOCK_SIZE);
	*to = max(*from, *to);
}

/* Of any length: who is killed leaves part of it. */
static int zero_in_steps(struct scmfs *fs, struct scmfs_inode *inode, u64 from, u64 to)
{
	u64 end;
	int r = 0;

	for (; !r && from < to; from = end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		end = min(to, from + (RESERVE_BLOCKS << SCMFS_BLOCK_SHIFT));
		r = scmfs_zero_mapped(fs, inode, from, end);
	}
	return r;
}

int scmfs_zero(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	const struct scmfs_attr times = { .mtime = now, .ctime = now };
	struct scmfs_inode *inode;
	u64 end, from, to;
	int r = scmfs_open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (r)
		return r;
	end = min(offset + len, scmfs_read(&inode->size));
	if (scmfs_has_unwritten(fs) && offset < end) {
		whole_blocks(inode, offset, end, &from, &to);
		r = scmfs_zero_mapped(fs, inode, offset, min(from, end));
		if (!r && to < end)
			r = scmfs_zero_mapped(fs, inode, to, end);
		if (!r)
			r = unwrite_range(fs, ino, block_of(from), block_of(to - from), now);
		if (r != -ENOSPC)
			return r;
	}
	r = zero_in_steps(fs, inode, offset, end);
	return r ? r : scmfs_setattr(fs, ino, &times, SCMFS_SET_MTIME | SCMFS_SET_CTIME);
}

int scmfs_punch(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	struct scmfs_inode *inode;
	u64 end, from, to;
	int r = scmfs_open_file(fs, ino, &inode);

	if (r)
		return r;
	end = min(offset + len, scmfs_read(&inode->size));
	if (offset >= end || offset + len < offset)
		return 0;
	whole_blocks(inode, offset, end, &from, &to);
	r = scmfs_zero_mapped(fs, inode, offset, min(from, end));
	if (!r && to < end)
		r = scmfs_zero_mapped(fs, inode, to, end);
	return r ? r : scmfs_cut_range(fs, ino, block_of(from), block_of(to - from), &now);
}
