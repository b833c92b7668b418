// SPDX-License-Identifier: GPL-2.0-only
/* An operation: locks of inodes' words, a transaction, blocks that go one way or the other. */
#include "engine_internal.h"

void scmfs_op_begin(struct scmfs *fs, struct scmfs_op *op, const u64 *ino, u32 nr)
{
	u32 i, left;

	op->fs = fs;
	op->locks = 0;
	op->nr_allocs = 0;
	op->nr_drops = 0;
	op->indexed = 0;
	for (i = 0; i < nr; i++) {
		if (!ino[i])
			continue;
		op->locks |= 1u << (ino[i] % INODE_LOCKS);
		scmfs_gc_undone(fs, ino[i]);
	}
	for (left = op->locks, i = 0; left; left &= left - 1, i++)
		mutex_lock_nested(&fs->inode_lock[__ffs(left)], i);
	ek_undo_begin(fs->log, &op->tx);
}

static void op_unlock(struct scmfs_op *op)
{
	u32 left;

	for (left = op->locks; left; left &= left - 1)
		mutex_unlock(&op->fs->inode_lock[__ffs(left)]);
}

/*
 * What was dropped is free only now, when nothing durable refers to it any more, and settled: it
 * may hold words that a transaction named, and be stored to by its next user.
 */
void scmfs_op_commit(struct scmfs_op *op)
{
	u32 i;

	ek_undo_commit(&op->tx);
	op_unlock(op);
	if (op->nr_drops)
		ek_undo_settle(op->fs->log);
	for (i = 0; i < op->nr_drops; i++)
		scmfs_free(op->fs, op->drop[i].block, op->drop[i].count);
}

void scmfs_op_abort(struct scmfs_op *op)
{
	u32 i;

	ek_undo_abort(&op->tx);
	op_unlock(op);
	if (op->indexed)
		scmfs_forget(op->fs, op->indexed);
	for (i = 0; i < op->nr_allocs; i++)
		scmfs_free(op->fs, op->alloc[i].block, op->alloc[i].count);
}

u64 scmfs_op_alloc(struct scmfs_op *op, u64 want, u64 goal, u64 *block)
{
	u64 got;

	if (op->nr_allocs == MAX_ALLOCS)
		return 0;
	got = scmfs_alloc(op->fs, want, goal, block);
	if (got)
		op->alloc[op->nr_allocs++] = (struct scmfs_run){ *block, got };
	return got;
}

int scmfs_op_times(struct scmfs_op *op, struct scmfs_inode *inode, s64 now)
{
	int r = ek_undo_set(&op->tx, &inode->mtime, now);

	return r ? r : ek_undo_set(&op->tx, &inode->ctime, now);
}
