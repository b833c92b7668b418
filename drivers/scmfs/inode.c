// SPDX-License-Identifier: GPL-2.0-only
/* Inodes: what they say, how they begin and end. */
#include "engine_internal.h"

struct scmfs_inode *scmfs_inode(const struct scmfs *fs, u64 ino)
{
	if (ino >= fs->nr_inodes)
		return NULL;
	return (struct scmfs_inode *)(fs->base + le64_to_cpu(fs->super.inode_offset)) + ino;
}

/*
 * For the next mount and fsck. Not while it is opened, which fails, nor where nothing is to be
 * changed; not fenced, as nothing goes by it. Return: -EUCLEAN.
 */
int scmfs_damaged(const struct scmfs *fs)
{
	if (fs->log && !READ_ONCE(fs->read_only) && !scmfs_damage_seen(fs))
		scmfs_write_word(&fs->state->error, 1);
	return -EUCLEAN;
}

/* The inode of a number that is in use. */
int scmfs_live(const struct scmfs *fs, u64 ino, struct scmfs_inode **inode)
{
	*inode = scmfs_inode(fs, ino);
	if (!*inode || !ino || !scmfs_mode(scmfs_read(&(*inode)->mode_links)))
		return -ESTALE;
	return le16_to_cpu((*inode)->magic) == SCMFS_INODE_MAGIC && scmfs_size_ok(*inode) ? 0 :
		scmfs_damaged(fs);
}

int scmfs_getattr(struct scmfs *fs, u64 ino, struct scmfs_attr *attr)
{
	struct scmfs_inode *inode;
	int r = scmfs_live(fs, ino, &inode);
	u64 mode_links;

	if (r)
		return r;
	mode_links = scmfs_read(&inode->mode_links);
	*attr = (struct scmfs_attr){
		.ino = ino,
		.size = scmfs_read(&inode->size),
		.blocks = scmfs_read(&inode->blocks),
		.virtual_size = scmfs_read(&inode->virtual_size),
		.parent = scmfs_read(&inode->parent),
		.atime = scmfs_read(&inode->atime),
		.mtime = scmfs_read(&inode->mtime),
		.ctime = scmfs_read(&inode->ctime),
		.btime = scmfs_read(&inode->btime),
		.mode = scmfs_mode(mode_links),
		.links = scmfs_links(mode_links),
		.uid = le32_to_cpu(inode->uid),
		.gid = le32_to_cpu(inode->gid),
		.rdev = le32_to_cpu(inode->rdev),
		.generation = le32_to_cpu(inode->generation),
		.flags = le32_to_cpu(inode->flags),
	};
	return 0;
}

/* Two fields of 32 bits that share a word. */
static int set_pair(struct scmfs_op *op, __le32 *low, u32 a, u32 b)
{
	return ek_undo_set(&op->tx, (__le64 *)low, (u64)b << 32 | a);
}

static int set_owner(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_attr *attr,
		     unsigned int mask)
{
	if (!(mask & (SCMFS_SET_UID | SCMFS_SET_GID)))
		return 0;
	return set_pair(op, &inode->uid,
			mask & SCMFS_SET_UID ? attr->uid : le32_to_cpu(inode->uid),
			mask & SCMFS_SET_GID ? attr->gid : le32_to_cpu(inode->gid));
}

static int set_mode(struct scmfs_op *op, struct scmfs_inode *inode, u32 mode)
{
	u64 now = scmfs_read(&inode->mode_links);

	mode = (scmfs_mode(now) & SCMFS_IFMT) | (mode & ~SCMFS_IFMT);
	return ek_undo_set(&op->tx, &inode->mode_links, scmfs_mode_links(mode, scmfs_links(now)));
}

int scmfs_set_fields(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_attr *attr,
		     unsigned int mask)
{
	int r = 0;

	if (mask & SCMFS_SET_MODE)
		r = set_mode(op, inode, attr->mode);
	if (!r && mask & SCMFS_SET_MTIME)
		r = ek_undo_set(&op->tx, &inode->mtime, attr->mtime);
	if (!r && mask & SCMFS_SET_CTIME)
		r = ek_undo_set(&op->tx, &inode->ctime, attr->ctime);
	if (!r && mask & SCMFS_SET_ATIME)
		r = ek_undo_set(&op->tx, &inode->atime, attr->atime);
	if (!r)
		r = set_owner(op, inode, attr, mask);
	if (!r && mask & SCMFS_SET_FLAGS)
		r = set_pair(op, &inode->generation, le32_to_cpu(inode->generation), attr->flags);
	return r;
}

int scmfs_setattr(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr, unsigned int mask)
{
	struct scmfs_inode *inode;
	struct scmfs_op op EK_UNINITIALIZED;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	scmfs_op_begin(fs, &op, &ino, 1);
	r = scmfs_set_fields(&op, inode, attr, mask);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Under the lock no operation names the word between what is settled and the store. */
void scmfs_touch_atime(struct scmfs *fs, u64 ino, s64 (*atime)(void *), void *ctx)
{
	struct mutex *lock = &fs->inode_lock[ino % INODE_LOCKS];
	struct scmfs_inode *inode;

	if (scmfs_live(fs, ino, &inode))
		return;
	mutex_lock(lock);
	ek_undo_settle(fs->log);
	scmfs_write_word(&inode->atime, atime(ctx));
	mutex_unlock(lock);
}

int scmfs_touch_times(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr)
{
	struct scmfs_inode *inode;
	struct scmfs_op op EK_UNINITIALIZED;
	unsigned int mask = 0;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	scmfs_op_begin(fs, &op, &ino, 1);
	if (attr->mtime > (s64)scmfs_read(&inode->mtime))
		mask |= SCMFS_SET_MTIME;
	if (attr->ctime > (s64)scmfs_read(&inode->ctime))
		mask |= SCMFS_SET_CTIME;
	r = scmfs_set_fields(&op, inode, attr, mask);
	if (r || !mask)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

int scmfs_set_virtual_size(struct scmfs *fs, u64 ino, u64 size)
{
	struct scmfs_inode *inode;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	scmfs_write_word(&inode->virtual_size, size);
	scm_fence();
	return 0;
}

/* Blocks of a target that is too long for the inode. */
static int store_target(struct scmfs_op *op, struct scmfs_inode *body, const struct scmfs_new *new)
{
	u64 block;

	if (new->target_len <= SCMFS_INLINE_TARGET) {
		memcpy(body->target, new->target, new->target_len);
		return 0;
	}
	if (!scmfs_op_alloc(op, 1, 0, &block))
		return -ENOSPC;
	scm_copy_nt(scmfs_block(op->fs, block), new->target, new->target_len);
	body->extent[0].block = cpu_to_le64(block);
	body->extent[0].second = cpu_to_le64(scmfs_second(0, 1));
	body->blocks = cpu_to_le64(1);
	return 0;
}

/*
 * Fill a free inode but for its first word, which the transaction sets. That word may still tell
 * of an orphan that was freed without a fence: it has no links, so nobody looks at what is stored
 * here. One with links is used, and the map of inodes damaged.
 */
int scmfs_new_inode(struct scmfs_op *op, u64 ino, const struct scmfs_new *new, u64 parent)
{
	struct scmfs_inode *inode = scmfs_inode(op->fs, ino);
	bool used = scmfs_links(scmfs_read(&inode->mode_links));
	struct scmfs_inode body = {
		.size = cpu_to_le64(new->target_len),
		.mtime = cpu_to_le64(new->now),
		.ctime = cpu_to_le64(new->now),
		.parent = cpu_to_le64(parent),
		.atime = cpu_to_le64(new->now),
		.btime = cpu_to_le64(new->now),
		.uid = cpu_to_le32(new->uid),
		.gid = cpu_to_le32(new->gid),
		.generation = cpu_to_le32(le32_to_cpu(inode->generation) + 1),
		.flags = cpu_to_le32(new->flags),
		.rdev = cpu_to_le32(new->rdev),
		.magic = cpu_to_le16(SCMFS_INODE_MAGIC),
	};
	int r = used ? scmfs_damaged(op->fs) : 0;

	if (!r && new->target_len)
		r = store_target(op, &body, new);
	if (!r && new->nr_xattrs)
		r = scmfs_xattr_new(op, ino, new->xattr, new->nr_xattrs, &body);
	if (r)
		return r;
	scm_store(&inode->size, &body.size, sizeof(body) - sizeof(body.mode_links));
	scm_flush(inode, sizeof(body));
	return 0;
}

int scmfs_tmpfile(struct scmfs *fs, const struct scmfs_new *new, u64 *ino)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	*ino = scmfs_alloc_inode(fs);
	if (!*ino)
		return -E2BIG;
	scmfs_op_begin(fs, &op, ino, 1);
	r = scmfs_new_inode(&op, *ino, new, 0);
	if (!r)
		r = ek_undo_set(&op.tx, &scmfs_inode(fs, *ino)->mode_links,
				scmfs_mode_links(new->mode, 0));
	if (!r) {
		scmfs_op_commit(&op);
		scmfs_inode_lives(fs, *ino);
		return 0;
	}
	scmfs_op_abort(&op);
	scmfs_free_inode(fs, *ino);
	return r;
}

static int give_back(struct scmfs *fs, u64 block, u64 count)
{
	if (!scmfs_run_ok(fs, block, count))
		return scmfs_damaged(fs);
	scmfs_free(fs, block, count);
	return 0;
}

/*
 * Settled first: a cut between the unlinking's last fence and "retired" must find its words as it
 * left them. The orphan's first word and those who use its blocks next need no order: without
 * links its extents mean nothing. Extents that can't be read, or are there although it has no
 * blocks, keep what they refer to used until fsck.
 */
void scmfs_release(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;

	if (scmfs_live(fs, ino, &inode) || scmfs_links(scmfs_read(&inode->mode_links)))
		return;
	scmfs_forget(fs, ino);
	ek_undo_settle(fs->log);
	if (scmfs_read(&inode->blocks))
		scmfs_each_run(fs, inode, give_back);
	scmfs_write_word(&inode->mode_links, 0);
	scmfs_free_inode(fs, ino);
}

int scmfs_target(struct scmfs *fs, u64 ino, const char **target)
{
	struct scmfs_inode *inode;
	struct scmfs_ext e;
	int r = scmfs_live(fs, ino, &inode);
	u64 len;

	if (r)
		return r;
	if ((scmfs_mode(scmfs_read(&inode->mode_links)) & SCMFS_IFMT) != SCMFS_IFLNK)
		return -EINVAL;
	len = scmfs_read(&inode->size);
	if (!len || len >= SCMFS_BLOCK_SIZE)
		return scmfs_damaged(fs);
	*target = (const char *)inode->target;
	if (len > SCMFS_INLINE_TARGET) {
		r = scmfs_ext_at(fs, inode, 0, &e);
		if (r || !e.block)
			return r ? r : scmfs_damaged(fs);
		if (!scmfs_all_good(fs, e.block, 1))
			return -EIO;
		*target = scmfs_block(fs, e.block);
	}
	return len;
}
