// SPDX-License-Identifier: GPL-2.0-only
/* Files by handles instead of names: for NFS servers and open_by_handle_at(). */
#include <linux/exportfs.h>
#include <linux/fs.h>

#include "vfs.h"

/*
 * The inode of a number that no name led to. Who makes a file must not find its number taken in the
 * cache of inodes, so none gets there between the engine's choice of it and the new file's inode:
 *
 *	create					a handle of the number's former file, or a guess
 *	the engine takes the number
 *						finds the new file, makes an inode of it
 *	-EUCLEAN: two files have one number
 *
 * The kernel has no inode for who asks for one that is still being made, as if there were no memory
 * for it: so numbers are held until it is whole.
 *
 * Context: sleeps; takes numbers, under which eviction, and so reclaim, needs no lock of VFS.
 */
static struct inode *sfs_iget_unnamed(struct super_block *sb, u64 ino)
{
	struct inode *inode = ilookup(sb, ino);

	if (inode)
		return inode;
	down_write(&sfs_sb(sb)->numbers);
	inode = sfs_iget(sb, ino);
	up_write(&sfs_sb(sb)->numbers);
	return inode;
}

static struct inode *sfs_by_handle(struct super_block *sb, u64 ino, u32 generation)
{
	struct scmfs_attr attr;
	struct inode *inode;
	int err = scmfs_getattr(sfs_sb(sb)->fs, ino, &attr);

	if (err)
		return ERR_PTR(err);
	if (attr.generation != generation)
		return ERR_PTR(-ESTALE);
	inode = sfs_iget_unnamed(sb, ino);
	if (IS_ERR(inode) || (inode->i_generation == generation && !is_bad_inode(inode)))
		return inode;
	iput(inode);
	return ERR_PTR(-ESTALE);
}

static struct dentry *sfs_fh_to_dentry(struct super_block *sb, struct fid *fid, int len, int type)
{
	return generic_fh_to_dentry(sb, fid, len, type, sfs_by_handle);
}

static struct dentry *sfs_fh_to_parent(struct super_block *sb, struct fid *fid, int len, int type)
{
	return generic_fh_to_parent(sb, fid, len, type, sfs_by_handle);
}

static struct dentry *sfs_get_parent(struct dentry *child)
{
	struct inode *inode = d_inode(child);
	struct scmfs_attr attr;
	int err = scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr);

	return err ? ERR_PTR(err) : d_obtain_alias(sfs_iget_unnamed(inode->i_sb, attr.parent));
}

/* A name is durable once it is made, but on memory whose host has to flush. */
static int sfs_commit_metadata(struct inode *inode)
{
	return sfs_settle_file(inode->i_sb);
}

/* Inode numbers fit 32 bits; overlayfs knows that of who has the kernel's own handles. */
const struct export_operations sfs_export_ops = {
	COMPAT_ENCODE_INO32,
	.fh_to_dentry = sfs_fh_to_dentry,
	.fh_to_parent = sfs_fh_to_parent,
	.get_parent = sfs_get_parent,
	.commit_metadata = sfs_commit_metadata,
};
