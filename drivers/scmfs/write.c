// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes: blocks for what is stored, then extents, size and times at once.
 *
 * Timeline of an append: the bytes are stored into blocks that nothing refers to, or beyond the
 * size; the first fence of the transaction makes them durable; then extents and size change. A
 * cut before shows the old size.
 */
#include <linux/uaccess.h>
#include "engine_internal.h"

#define AHEAD_BLOCKS	SCMFS_UNIT_BLOCKS
#define AHEAD_PART	16u	/* of what is free a write takes no more ahead than 1 of so many */
#define ATOMIC_EXTENTS	16u	/* that one atomic write replaces at most */
#define EDGE_PART	256u	/* that is copied at once, by way of the stack */

static struct scmfs_run run_of(const struct scmfs_write *w, unsigned int i)
{
	const struct scmfs_seg *seg = &w->seg[i];
	u64 count = blocks_to(seg->file + seg->len) - block_of(seg->file);

	return (struct scmfs_run){ block_of(seg->at), count + (i == w->nr - 1 ? w->ahead : 0) };
}

static void give_up(struct scmfs *fs, struct scmfs_write *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (w->fresh & 1u << i)
			scmfs_free(fs, run.block, run.count);
	}
	w->nr = 0;
}

/* What the file has at @from, which may be bad: an error there, and no machine check. */
static int copy_edge(const struct scmfs *fs, u8 *to, u64 from, u64 len)
{
	u8 part[EDGE_PART] EK_UNINITIALIZED;
	u64 n;

	if (scmfs_good(fs, from, len) < len)
		return -EIO;
	for (; len; to += n, from += n, len -= n) {
		n = min_t(u64, len, EDGE_PART);
		if (copy_mc_to_kernel(part, fs->base + from, n))
			return -EIO;
		scm_copy_nt(to, part, n);
	}
	return 0;
}

/* Bytes [@from, @to) of a new block that the write does not cover: what the file has there. */
static int fill_edge(const struct scmfs *fs, struct scmfs_inode *inode,
		     const struct scmfs_write *w, u64 block, u64 from, u64 to)
{
	u8 *at = (u8 *)scmfs_block(fs, block) + in_block(from);
	u64 size = scmfs_read(&inode->size), keep = 0;
	struct scmfs_seg old;
	int r = 0;

	if (from >= to)
		return 0;
	if (w->flags & SCMFS_WRITE_ATOMIC && from < size &&
	    !scmfs_part_at(fs, inode, from, to, &old) && old.at != SCMFS_HOLE) {
		keep = min(to, size) - from;
		r = copy_edge(fs, at, old.at, keep);
	}
	scm_zero_nt(at + keep, to - from - keep);
	return r;
}

static int fill_edges(const struct scmfs *fs, struct scmfs_inode *inode,
		      const struct scmfs_write *w, unsigned int i)
{
	const struct scmfs_seg *seg = &w->seg[i];
	u64 end = seg->file + seg->len;
	int r;

	if (w->flags & SCMFS_WRITE_KEEP_SIZE)
		scm_zero_nt(fs->base + seg->at, seg->len);
	r = fill_edge(fs, inode, w, block_of(seg->at), round_down(seg->file, SCMFS_BLOCK_SIZE),
		      seg->file);
	if (!r && in_block(end))
		r = fill_edge(fs, inode, w, block_of(seg->at + seg->len), end,
			      round_up(end, SCMFS_BLOCK_SIZE));
	return r;
}

/*
 * How many blocks to have in store behind a write that ends the file: as many as it has, within
 * bounds. While the write lasts nobody can ask for them back, so little is taken of little. None
 * behind one that leaves a hole: the next one may as well, and would give them back; each had taken
 * a block of a free unit by then, until no unit was free as a whole.
 */
static u64 ahead_of(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w,
		    u64 end, u64 hole)
{
	u64 need = blocks_to(end) - block_of(w->offset);
	u64 want = min_t(u64, block_of(scmfs_read(&inode->size)), AHEAD_BLOCKS);

	want = min_t(u64, want, percpu_counter_read_positive(&fs->free_blocks) / AHEAD_PART);
	if (block_of(w->offset) > blocks_to(scmfs_read(&inode->size)))
		return 0;
	if (w->flags & (SCMFS_WRITE_KEEP_SIZE | SCMFS_WRITE_ATOMIC) ||
	    end < scmfs_read(&inode->size) || want + need > hole)
		return 0;
	return want;
}

/* New blocks for the hole @part; it may become shorter. */
static int add_fresh(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w,
		     struct scmfs_seg *part, u64 hole, u64 goal)
{
	u64 end = part->file + part->len, block, got, ahead;
	u64 need = blocks_to(end) - block_of(part->file);

	ahead = ahead_of(fs, inode, w, end, hole);
	got = scmfs_alloc(fs, need + ahead, goal, &block);
	if (!got)
		return -ENOSPC;
	if (got < need)
		part->len = ((block_of(part->file) + got) << SCMFS_BLOCK_SHIFT) - part->file;
	w->ahead = got > need ? got - need : 0;
	part->at = (block << SCMFS_BLOCK_SHIFT) + in_block(part->file);
	w->fresh |= 1u << w->nr;
	return 0;
}

/* Behind what comes before in the write or in the file. */
static u64 goal_of(const struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w,
		   u64 offset)
{
	struct scmfs_ext e;

	if (w->nr)
		return block_of(w->seg[w->nr - 1].at + w->seg[w->nr - 1].len - 1) + 1;
	if (!block_of(offset) || scmfs_ext_at(fs, inode, block_of(offset) - 1, &e) || !e.block)
		return 0;
	return e.block + 1;
}

/* Bad memory is not stored to: what lies before it is done. */
static int limit_good(const struct scmfs *fs, struct scmfs_seg *part)
{
	u64 good = scmfs_good(fs, part->at, part->len);

	part->len = good;
	return good ? 0 : -EIO;
}

static bool is_whole(const struct scmfs_write *w)
{
	return w->nr == 1 && w->seg[0].len == w->len && !(w->seg[0].at & (w->len - 1));
}

/* The part that has been added last, but for what the write covers. */
static int fill_part(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w)
{
	bool unfit = w->flags & SCMFS_WRITE_WHOLE && !is_whole(w);
	int r = unfit ? -EAGAIN : fill_edges(fs, inode, w, w->nr - 1);

	if (r)
		give_up(fs, w);
	return r;
}

/* The next part of a write, from @offset on. -EAGAIN: it is for another write. */
static int next_part(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w,
		     u64 offset, u64 end)
{
	bool atomic = w->flags & SCMFS_WRITE_ATOMIC;
	struct scmfs_seg *part = &w->seg[w->nr];
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, block_of(offset), &e);

	if (r)
		return r;
	part->file = offset;
	part->len = atomic ? end - offset :
		min(end, (e.file + e.count) << SCMFS_BLOCK_SHIFT) - offset;
	if (e.block && !atomic) {
		if (w->fresh)	/* if these can't be had at the end, nothing behind has changed */
			return -EAGAIN;
		part->at = (e.block << SCMFS_BLOCK_SHIFT) + in_block(offset);
		r = limit_good(fs, part);
		if (r)
			return r;
		w->unwritten |= (u32)e.unwritten << w->nr;
		w->nr++;
		return e.unwritten ? fill_part(fs, inode, w) : 0;
	}
	r = add_fresh(fs, inode, w, part, e.block ? 0 : e.count, goal_of(fs, inode, w, offset));
	if (r)
		return r;
	w->nr++;
	return fill_part(fs, inode, w);
}

/*
 * An atomic write takes out what was there in one operation: shorten it to as much as fits. One to
 * unwritten blocks needs no others: they become written when all of it is there.
 */
static int limit_atomic(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w)
{
	u64 at = w->offset, end = w->offset + w->len;
	struct scmfs_seg part;
	struct scmfs_ext e;
	unsigned int i;
	int r;

	r = scmfs_ext_at(fs, inode, block_of(at), &e);
	if (r)
		return r;
	if (e.unwritten && e.count << SCMFS_BLOCK_SHIFT >= in_block(at) + w->len) {
		w->flags &= ~SCMFS_WRITE_ATOMIC;
		return 0;
	}
	end = min(end, at + SCMFS_UNIT_SIZE - in_block(at));
	for (i = 0; at < end && i < ATOMIC_EXTENTS; i++, at += part.len) {
		r = scmfs_part_at(fs, inode, at, end, &part);
		if (r)
			return r;
	}
	w->len = at - w->offset;
	return 0;
}

/*
 * Nothing of former use may show up between the old size and the new one, nor in the last block
 * behind it: the size does not pass what can't be zeroed.
 */
static int zero_gap(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w)
{
	u64 size = scmfs_read(&inode->size), end = w->offset + w->len;
	int r;

	if (w->flags & SCMFS_WRITE_KEEP_SIZE || end <= size)
		return 0;
	r = scmfs_zero_mapped(fs, inode, size, w->offset);
	if (!r && in_block(end) && round_down(end, SCMFS_BLOCK_SIZE) >= size)
		r = scmfs_zero_mapped(fs, inode, end, round_up(end, SCMFS_BLOCK_SIZE));
	return r;
}

static void start(struct scmfs_write *w, u64 ino, u64 offset, u64 len, unsigned int flags)
{
	w->ino = ino;
	w->offset = offset;
	w->len = len;
	w->flags = flags;
	w->nr = 0;
	w->fresh = 0;
	w->unwritten = 0;
	w->ahead = 0;
	w->around = false;
}

void scmfs_write_known(u64 ino, const struct scmfs_seg *seg, struct scmfs_write *w)
{
	start(w, ino, seg->file, seg->len, 0);
	w->seg[w->nr++] = *seg;
}

int scmfs_write_begin(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags,
		      struct scmfs_write *w)
{
	struct scmfs_inode *inode;
	u64 at = offset, end;
	int r = scmfs_open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (!r && blocks_to(offset + len) > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	start(w, ino, offset, len, flags);
	if (!r)
		r = scmfs_trim_before(fs, inode, ino, offset);
	if (!r && flags & SCMFS_WRITE_ATOMIC)
		r = limit_atomic(fs, inode, w);
	if (r)
		return r;
	for (end = offset + w->len; at < end && w->nr < SCMFS_WRITE_SEGS && !w->ahead;) {
		r = next_part(fs, inode, w, at, end);
		if (r)
			break;
		at += w->seg[w->nr - 1].len;
	}
	if (!w->nr)
		return r;
	w->len = at - offset;
	r = zero_gap(fs, inode, w);
	if (r)
		give_up(fs, w);
	return r;
}

/*
 * Parts behind @done bytes are given back; what is left of the last block is as if the write had
 * been begun with that length.
 */
static int shorten(struct scmfs *fs, struct scmfs_write *w, u64 done)
{
	struct scmfs_inode *inode = scmfs_inode(fs, w->ino);
	u64 end = w->offset + done;
	int r = 0;

	if (done == w->len)
		return 0;
	while (w->nr && w->seg[w->nr - 1].file >= end) {
		struct scmfs_run run = run_of(w, w->nr - 1);

		w->nr--;
		if (w->fresh & 1u << w->nr)
			scmfs_free(fs, run.block, run.count);
		w->fresh &= ~(1u << w->nr);
		w->unwritten &= ~(1u << w->nr);
		w->ahead = 0;
	}
	if (w->nr && w->seg[w->nr - 1].file + w->seg[w->nr - 1].len > end) {
		struct scmfs_seg *seg = &w->seg[w->nr - 1];
		struct scmfs_run run = run_of(w, w->nr - 1);
		u64 keep = blocks_to(end) - block_of(seg->file);

		seg->len = end - seg->file;
		w->ahead = 0;
		if (w->fresh & 1u << (w->nr - 1)) {
			if (in_block(end))
				r = fill_edge(fs, inode, w, block_of(seg->at + seg->len), end,
					      round_up(end, SCMFS_BLOCK_SIZE));
			if (run.count > keep)
				scmfs_free(fs, run.block + keep, run.count - keep);
		} else if (w->unwritten & 1u << (w->nr - 1)) {
			if (in_block(end))
				r = fill_edge(fs, inode, w, block_of(seg->at + seg->len), end,
					      round_up(end, SCMFS_BLOCK_SIZE));
		} else if (end > scmfs_read(&inode->size)) {
			/* Room ahead has what was there before: the size shows it to mappings. */
			r = scmfs_zero_mapped(fs, inode, end, round_up(end, SCMFS_BLOCK_SIZE));
		}
	}
	w->len = done;
	return r;
}

/* What was unwritten of a part is written; with @whole all of the extent that it lies in. */
static int mark_part(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		     unsigned int i, bool whole)
{
	struct scmfs_ext e = { .file = block_of(w->seg[i].file), .count = run_of(w, i).count };
	int r = whole ? scmfs_ext_around(op->fs, inode, e.file, &e) : 0;

	return r ? r : scmfs_ext_mark(op, inode, e.file, e.count, false);
}

static int link_parts(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		      bool whole)
{
	unsigned int i;
	int r = 0;

	if (w->flags & SCMFS_WRITE_ATOMIC)
		r = scmfs_ext_remove(op, inode, block_of(w->offset),
				     blocks_to(w->offset + w->len) - block_of(w->offset));
	for (i = 0; !r && i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (w->fresh & 1u << i)
			r = scmfs_ext_add(op, inode, (struct scmfs_ext){
				run.block, block_of(w->seg[i].file), run.count, false });
		else if (w->unwritten & 1u << i)
			r = mark_part(op, inode, w, i, whole);
	}
	return r == -EAGAIN ? -ENOSPC : r;
}

static int do_write(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		    s64 now, bool whole)
{
	u64 end = w->offset + w->len;
	int r = 0;

	if (!(w->flags & SCMFS_WRITE_KEEP_SIZE) && end > scmfs_read(&inode->size))
		r = ek_undo_set(&op->tx, &inode->size, end);
	if (!r)
		r = scmfs_op_times(op, inode, now);
	return r ? r : link_parts(op, inode, w, whole);
}

static int finish_write(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w,
			s64 now, bool whole)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scmfs_op_begin(fs, &op, &w->ino, 1);
	r = do_write(&op, inode, w, now, whole);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

static int zero_blocks(const struct scmfs *fs, u64 block, u64 count)
{
	u64 n;

	for (; count; block += n, count -= n) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = min_t(u64, count, SCMFS_UNIT_BLOCKS);
		scm_zero_nt(scmfs_block(fs, block), n << SCMFS_BLOCK_SHIFT);
		cond_resched();
	}
	return 0;
}

/*
 * What was reserved can be written to, even if there is no room to tell the part of an extent that
 * is written from the rest: then the rest is zeroed, and all of it is written, which needs none.
 * Nobody sees the zeroes before the transaction, whose first fence makes them durable. The extent
 * is read once more: in an image made for it that is no longer one around what was written.
 *
 * All that was reserved at once can be one extent, so this may take minutes, and who is killed
 * leaves. It is the last resort: whoever can have others give room back does that first.
 */
static int zero_around(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w)
{
	struct scmfs_ext e;
	unsigned int i;
	u64 end;
	int r;

	for (i = 0; i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (!(w->unwritten & 1u << i))
			continue;
		r = scmfs_ext_around(fs, inode, block_of(w->seg[i].file), &e);
		if (r)
			return r;
		end = run.block + run.count;
		if (e.block > run.block || end > e.block + e.count)
			return scmfs_damaged(fs);
		if (!scmfs_all_good(fs, e.block, e.count))
			return -EIO;
		r = zero_blocks(fs, e.block, run.block - e.block);
		if (!r)
			r = zero_blocks(fs, end, e.block + e.count - end);
		if (r)
			return r;
	}
	return 0;
}

/* Room ahead may be what the block for one more extent was to come from. */
static bool drop_ahead(struct scmfs *fs, struct scmfs_write *w)
{
	struct scmfs_run run;

	if (!w->ahead)
		return false;
	run = run_of(w, w->nr - 1);
	scmfs_free(fs, run.block + run.count - w->ahead, w->ahead);
	w->ahead = 0;
	return true;
}

/*
 * A write to blocks that the file has, in the same tick of the clock as its last change, changes no
 * word but the size, if that, and needs no transaction:
 *
 *	the last change returns		its extents, size and times are durable
 *	bytes are stored in place	a cut: any words of them are new, as in any overwrite; what
 *					lies behind the size nobody sees
 *	the first fence			they are durable
 *	the size, if it is another one	a cut: the old one or the new one
 *	the second fence, then
 *	the write returns		a cut: all of them, with the time of this tick
 *
 * Whoever changed the times had the file's lock until they were durable. Bytes in new or unwritten
 * blocks would be durable and not be seen.
 */
static bool needs_transaction(struct scmfs_inode *inode, const struct scmfs_write *w, s64 now)
{
	if (w->fresh || w->unwritten)
		return true;
	return scmfs_read(&inode->mtime) != (u64)now || scmfs_read(&inode->ctime) != (u64)now;
}

/*
 * The last transaction that named the size has to be settled before it changes by itself. Whoever
 * names it has the file as this one has it, so none begins before the size is durable.
 */
static void finish_in_place(struct scmfs *fs, struct scmfs_inode *inode,
			    const struct scmfs_write *w)
{
	u64 end = w->offset + w->len;

	if (w->flags & SCMFS_WRITE_KEEP_SIZE || end <= scmfs_read(&inode->size)) {
		scm_fence();
		return;
	}
	scmfs_gc_undone(fs, w->ino);
	ek_undo_fence(fs->log);
	scmfs_write_word(&inode->size, end);
	scm_fence();
}

/*
 * What was stored behind the end, in the last block, is to be seen by nobody who maps it. A fault
 * has stored nothing there, and what others have through their mappings is not for it to zero.
 */
static int fail_write(struct scmfs *fs, struct scmfs_write *w, int error)
{
	give_up(fs, w);
	if (!(w->flags & SCMFS_WRITE_KEEP_SIZE))
		scmfs_clean_tail(fs, w->ino);
	return error;
}

/* What was begun becomes the file's, if need be with less around it than there was to be. */
static int finish(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w, s64 now)
{
	int r;

	if (!needs_transaction(inode, w, now)) {
		finish_in_place(fs, inode, w);
		return 0;
	}
	r = finish_write(fs, inode, w, now, false);
	if (r == -ENOSPC && drop_ahead(fs, w))
		r = finish_write(fs, inode, w, now, false);
	if (r == -ENOSPC && w->unwritten && !w->fresh && !(w->flags & SCMFS_WRITE_NOT_AROUND)) {
		r = zero_around(fs, inode, w);
		if (!r)
			r = finish_write(fs, inode, w, now, true);
		w->around = !r;
	}
	return r;
}

/* Bytes that lie in blocks which the file has: no room for another extent can take them back. */
static u64 before_fresh(const struct scmfs_write *w)
{
	return w->fresh ? w->seg[__ffs(w->fresh)].file - w->offset : w->len;
}

int scmfs_write_end(struct scmfs *fs, struct scmfs_write *w, u64 done, s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, w->ino);
	int r;

	if (!done)
		return fail_write(fs, w, 0);
	r = shorten(fs, w, min(done, w->len));
	if (!r)
		r = finish(fs, inode, w, now);
	if (r == -ENOSPC && before_fresh(w)) {
		r = shorten(fs, w, before_fresh(w));
		if (!r)
			r = finish(fs, inode, w, now);
	}
	return r ? fail_write(fs, w, r) : 0;
}
