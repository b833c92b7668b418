// SPDX-License-Identifier: GPL-2.0-only
/*
 * chattr and lsattr: FS_*_FL of a file, which the engine keeps.
 *
 * A file that nvmalloc() has is immutable for VFS and has no flag for it: that is over when it is
 * given back, or at the latest with the machine.
 */
#include <linux/fs.h>
#include <linux/fileattr.h>	/* needs it */

#include "vfs.h"

#define SFS_FLAGS (FS_SYNC_FL | FS_DIRSYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NOATIME_FL | \
		   FS_NODUMP_FL)
#define SFS_VFS_FLAGS (S_SYNC | S_DIRSYNC | S_IMMUTABLE | S_APPEND | S_NOATIME)

static unsigned int sfs_vfs_flags(u32 flags)
{
	static const struct {
		u32 kept;
		unsigned int vfs;
	} bits[] = {
		{ FS_SYNC_FL, S_SYNC },
		{ FS_DIRSYNC_FL, S_DIRSYNC },
		{ FS_IMMUTABLE_FL, S_IMMUTABLE },
		{ FS_APPEND_FL, S_APPEND },
		{ FS_NOATIME_FL, S_NOATIME },
	};
	unsigned int i, vfs = 0;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (flags & bits[i].kept)
			vfs |= bits[i].vfs;
	return vfs;
}

/**
 * sfs_apply_flags - make VFS heed what is kept
 * @inode: new, or locked
 * @flags: FS_*_FL
 */
void sfs_apply_flags(struct inode *inode, u32 flags)
{
	inode_set_flags(inode, sfs_vfs_flags(flags), SFS_VFS_FLAGS);
}

/**
 * sfs_tell_flags - for statx()
 * @inode: whose
 * @flags: FS_*_FL
 * @stat: gets what there is, and what there may be
 */
void sfs_tell_flags(struct inode *inode, u32 flags, struct kstat *stat)
{
	generic_fill_statx_attr(inode, stat);
	stat->attributes_mask |= STATX_ATTR_NODUMP;
	if (flags & FS_NODUMP_FL)
		stat->attributes |= STATX_ATTR_NODUMP;
}

int sfs_fileattr_get(struct dentry *dentry, struct fileattr *fa)
{
	struct inode *inode = d_inode(dentry);
	struct scmfs_attr attr;
	int err = scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr);

	if (!err)
		fileattr_fill_flags(fa, attr.flags & SFS_FLAGS);
	return err;
}

/* VFS has seen to the permission, and locked the inode. */
int sfs_fileattr_set(struct mnt_idmap *idmap, struct dentry *dentry, struct fileattr *fa)
{
	struct inode *inode = d_inode(dentry);
	struct timespec64 now = current_time(inode);
	struct scmfs_attr attr;
	int err = sfs_alive(inode) ?: scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr);

	if (err)
		return err;
	if (fileattr_has_fsx(fa) || fa->flags & ~SFS_FLAGS)
		return -EOPNOTSUPP;
	if (IS_IMMUTABLE(inode) && !(attr.flags & FS_IMMUTABLE_FL))
		return -EBUSY;		/* nvmalloc() has it */
	attr.flags = (attr.flags & ~SFS_FLAGS) | fa->flags;
	attr.ctime = timespec64_to_ns(&now);
	filemap_invalidate_lock(inode->i_mapping);
	down_write(&sfs_inode(inode)->extents);
	err = scmfs_setattr(sfs_fs(inode), inode->i_ino, &attr, SCMFS_SET_FLAGS | SCMFS_SET_CTIME);
	if (!err) {
		sfs_apply_flags(inode, attr.flags);
		inode_set_ctime_to_ts(inode, now);
		sfs_changed(inode);
	}
	up_write(&sfs_inode(inode)->extents);
	/* Who has mapped it finds out at the next store; who is about to waits for the lock. */
	if (!err && IS_IMMUTABLE(inode) && S_ISREG(inode->i_mode))
		unmap_mapping_range(inode->i_mapping, 0, 0, 0);
	filemap_invalidate_unlock(inode->i_mapping);
	return err ?: sfs_settle_inode(inode);
}
