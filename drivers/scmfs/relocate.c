// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of files put elsewhere.
 *
 * Up to 16 extents at a time, as many as a transaction takes out:
 *
 *	the content, past the cache, to a run that nothing refers to
 *	--- fence 1 ---			a cut until here: at its old place, the run is free
 *	extents
 *	--- fence 2 ---			at its new place, the old one is free
 *	"retired", settled
 *	the old blocks are free		only now others may store to them
 *
 * The run is taken as a whole before, in RAM alone, so that the steps of 2 MiB come to lie next to
 * each other and become one extent; a cut leaves the rest of it free.
 */
#include <linux/uaccess.h>
#include "engine_gc.h"
#include "engine_internal.h"

#define STEP_EXTENTS	16u

/**
 * struct move - a relocation under way
 * @fs: of which
 * @inode: of the file
 * @ino: its number
 * @page: what is copied goes through it: bad memory is an error there
 */
struct move {
	struct scmfs *fs;
	struct scmfs_inode *inode;
	u64 ino;
	void *page;
};

/* What is known to be bad may be readable, and hold anything: it stays where that is known. */
static int copy_blocks(const struct move *mv, u64 to, u64 from, u64 count)
{
	if (!scmfs_all_good(mv->fs, from, count))
		return -EIO;
	for (; count; to++, from++, count--) {
		if (copy_mc_to_kernel(mv->page, scmfs_block(mv->fs, from), SCMFS_BLOCK_SIZE))
			return -EIO;
		scm_copy_nt(scmfs_block(mv->fs, to), mv->page, SCMFS_BLOCK_SIZE);
	}
	return 0;
}

/* What the next step takes, copied to @to: extents that are all written or all reserved. */
static int copy_step(const struct move *mv, u64 file, u64 most, u64 to, struct scmfs_ext *step)
{
	struct scmfs_ext e;
	u32 nr;
	u64 n;
	int r;

	*step = (struct scmfs_ext){ to, file, 0, false };
	for (nr = 0; nr < STEP_EXTENTS && step->count < most; nr++) {
		r = scmfs_ext_at(mv->fs, mv->inode, file + step->count, &e);
		if (r)
			return r;
		if (!e.block)
			return -ENODATA;
		if (nr && e.unwritten != step->unwritten)
			break;
		step->unwritten = e.unwritten;
		n = min(e.count, most - step->count);
		r = e.unwritten ? 0 : copy_blocks(mv, to + step->count, e.block, n);
		if (r)
			return r;
		step->count += n;
	}
	return 0;
}

/* The extents change, at once; then what they had is free. */
static int swing(const struct move *mv, const struct scmfs_ext *step)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scmfs_op_begin(mv->fs, &op, &mv->ino, 1);
	r = scmfs_ext_remove(&op, mv->inode, step->file, step->count);
	if (!r)
		r = scmfs_ext_add(&op, mv->inode, *step);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r == -EAGAIN ? -EUCLEAN : r;
}

/* Into the run at @to. */
static int move_all(const struct move *mv, const struct scmfs_move *m, u64 to, u64 *moved)
{
	struct scmfs_ext step;
	int r = 0;

	while (!r && *moved < m->count) {
		r = copy_step(mv, m->file + *moved, m->count - *moved, to + *moved, &step);
		if (!r)
			r = swing(mv, &step);
		if (!r)
			*moved += step.count;
		cond_resched();
	}
	return r;
}

static int into_run(const struct move *mv, const struct scmfs_move *m, u64 *moved)
{
	u64 to = m->whole ? scmfs_alloc_whole(mv->fs) :
		scmfs_alloc_packed(mv->fs, m->count, m->avoid, m->prefer);
	int r;

	if (!to)
		return -ENOSPC;
	r = move_all(mv, m, to, moved);
	if (*moved < m->count)
		scmfs_free(mv->fs, to + *moved, m->count - *moved);
	return r;
}

int scmfs_relocate(struct scmfs *fs, u64 ino, const struct scmfs_move *m, u64 *moved)
{
	struct move mv = { .fs = fs, .ino = ino };
	int r = scmfs_open_file(fs, ino, &mv.inode);

	*moved = 0;
	if (!r && (!m->count || m->count > SCMFS_UNIT_BLOCKS || m->file >= SCMFS_MAX_FILE_BLOCKS ||
		   (m->whole && (m->count != SCMFS_UNIT_BLOCKS || m->file % SCMFS_UNIT_BLOCKS))))
		r = -EINVAL;
	if (r)
		return r;
	mv.page = kmalloc(SCMFS_BLOCK_SIZE, GFP_NOIO);
	if (!mv.page)
		return -ENOMEM;
	r = into_run(&mv, m, moved);
	kfree(mv.page);
	return r;
}
