// SPDX-License-Identifier: GPL-2.0-only
/* VFS' copies of inodes, and their attributes. */
#include <linux/iomap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "vfs.h"

static s64 sfs_ns(struct timespec64 ts)
{
	return timespec64_to_ns(&ts);
}

static void sfs_set_ops(struct inode *inode, dev_t rdev)
{
	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		inode->i_op = &sfs_file_iops;
		inode->i_fop = &sfs_file_fops;
		inode->i_mapping->a_ops = &sfs_aops;
		inode->i_flags |= S_DAX;
		break;
	case S_IFDIR:
		inode->i_op = &sfs_dir_iops;
		inode->i_fop = &sfs_dir_fops;
		break;
	case S_IFLNK:
		inode->i_op = &sfs_symlink_iops;
		break;
	default:
		inode->i_op = &sfs_special_iops;
		init_special_inode(inode, inode->i_mode, rdev);
	}
}

static void sfs_fill(struct inode *inode, const struct scmfs_attr *attr)
{
	inode->i_mode = attr->mode;
	i_uid_write(inode, attr->uid);
	i_gid_write(inode, attr->gid);
	set_nlink(inode, attr->links);
	i_size_write(inode, attr->size);
	inode->i_generation = attr->generation;
	inode->i_blocks = attr->blocks << (SCMFS_BLOCK_SHIFT - SECTOR_SHIFT);
}

static void sfs_fill_times(struct inode *inode, s64 mtime, s64 ctime)
{
	inode_set_mtime_to_ts(inode, ns_to_timespec64(mtime));
	inode_set_ctime_to_ts(inode, ns_to_timespec64(ctime));
}

static void sfs_fill_new(struct inode *inode, const struct scmfs_attr *attr)
{
	sfs_fill(inode, attr);
	sfs_fill_times(inode, attr->mtime, attr->ctime);
	inode_set_atime_to_ts(inode, ns_to_timespec64(attr->atime));
	sfs_set_ops(inode, new_decode_dev(attr->rdev));
	sfs_apply_flags(inode, attr->flags);
	sfs_node(inode)->ino = attr->ino;
	if (S_ISREG(inode->i_mode) && attr->blocks)
		sfs_note_ahead(inode);	/* a frozen, or a read-only one may have left some */
}

/**
 * sfs_refresh - take what the engine says after an operation on an inode
 * @inode: locked
 *
 * But for the access time, which may be newer in RAM, as may be all times of what has no content
 * here. What can't be had stays as it is.
 */
void sfs_refresh(struct inode *inode)
{
	struct scmfs_attr attr;

	if (scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr))
		return;
	sfs_fill(inode, &attr);
	if (special_file(inode->i_mode))
		sfs_fill_times(inode, max(attr.mtime, sfs_ns(inode_get_mtime(inode))),
			       max(attr.ctime, sfs_ns(inode_get_ctime(inode))));
	else
		sfs_fill_times(inode, attr.mtime, attr.ctime);
	sfs_changed(inode);
}

/**
 * sfs_iget - an inode in RAM by its number
 * @sb: the file system
 * @ino: number
 *
 * Return: the inode, or an ERR_PTR: -ESTALE: no live one has this number; -ENOMEM; -EUCLEAN.
 */
struct inode *sfs_iget(struct super_block *sb, u64 ino)
{
	struct inode *inode = iget_locked(sb, ino);
	struct scmfs_attr attr;
	int err;

	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode->i_state & I_NEW))
		return inode;
	err = scmfs_getattr(sfs_sb(sb)->fs, ino, &attr);
	if (!err && !attr.links)	/* removed, then shut down: the next mount frees it */
		err = -ESTALE;
	if (err) {
		iget_failed(inode);
		return ERR_PTR(err);
	}
	sfs_fill_new(inode, &attr);
	sfs_begin_version(inode, TICK_NSEC);	/* its last tick may have had more than one */
	unlock_new_inode(inode);
	return inode;
}

/**
 * sfs_adopt - give a blank inode the number that the engine chose for it
 * @inode: from new_inode(), filled but for that
 * @ino: its number from now on
 * @rdev: of a device
 *
 * On return it can be found, and is locked until unlock_new_inode() or d_instantiate_new().
 * Return: 0 or a negative error number.
 */
int sfs_adopt(struct inode *inode, u64 ino, dev_t rdev)
{
	inode->i_ino = ino;
	if (insert_inode_locked(inode))
		return -EUCLEAN;	/* two files have one number */
	inode->i_generation = le32_to_cpu(scmfs_inode(sfs_fs(inode), ino)->generation);
	sfs_set_ops(inode, rdev);
	sfs_begin_version(inode, 0);
	sfs_node(inode)->ino = ino;
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------- */

int sfs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);
	struct scmfs_attr attr;
	int err = scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr);

	if (err)
		return err;
	compat_fillattr(idmap, mask, inode, stat);
	sfs_tell_flags(inode, attr.flags, stat);
	stat->blocks = attr.blocks << (SCMFS_BLOCK_SHIFT - SECTOR_SHIFT);
	if (S_ISDIR(inode->i_mode))
		stat->size = attr.size;
	stat->result_mask |= STATX_BTIME;
	stat->btime = ns_to_timespec64(attr.btime);
	return 0;
}

static void sfs_attr_of(const struct inode *inode, struct scmfs_attr *attr)
{
	attr->mode = inode->i_mode;
	attr->uid = i_uid_read(inode);
	attr->gid = i_gid_read(inode);
	attr->atime = sfs_ns(inode_get_atime(inode));
	attr->mtime = sfs_ns(inode_get_mtime(inode));
	attr->ctime = sfs_ns(inode_get_ctime(inode));
}

static unsigned int sfs_attr_mask(unsigned int valid)
{
	static const struct {
		unsigned int vfs, engine;
	} bits[] = {
		{ ATTR_MODE, SCMFS_SET_MODE },
		{ ATTR_UID, SCMFS_SET_UID },
		{ ATTR_GID, SCMFS_SET_GID },
		{ ATTR_ATIME, SCMFS_SET_ATIME },
		{ ATTR_MTIME, SCMFS_SET_MTIME },
		{ ATTR_CTIME, SCMFS_SET_CTIME },
	};
	unsigned int i, mask = 0;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (valid & bits[i].vfs)
			mask |= bits[i].engine;
	return mask;
}

/* On success its layout is locked, until sfs_resize_end(). */
static int sfs_resize_begin(struct inode *inode, u64 size)
{
	u64 start = round_up(size, PAGE_SIZE);
	int err = sfs_layout_lock(inode, start, round_up(i_size_read(inode), PAGE_SIZE));

	if (err)
		return err;
	unmap_mapping_range(&inode->i_data, start, 0, 1);	/* private copies, too */
	sfs_forget_places(inode);
	return 0;
}

static int sfs_resize_end(struct inode *inode, const struct scmfs_attr *attr, unsigned int mask)
{
	int err = scmfs_truncate_set(sfs_fs(inode), inode->i_ino, attr, mask);

	sfs_refresh(inode);
	if (err)	/* perhaps smaller, and what is behind that not gone */
		sfs_note_ahead(inode);
	sfs_layout_unlock(inode);
	return err;
}

/**
 * sfs_resize - set a file's size
 * @inode: locked
 * @size: bytes
 *
 * Return: 0 or a negative error number; the size may have changed, and blocks not gone.
 */
int sfs_resize(struct inode *inode, u64 size)
{
	int err = sfs_resize_begin(inode, size);
	struct scmfs_attr attr;

	if (err)
		return err;
	attr = scmfs_sized(size, sfs_now(inode));
	return sfs_resize_end(inode, &attr, SCMFS_SET_TIMES);
}

/* The time is that of the change: it may have waited, and a fault has set a later one than VFS. */
static void sfs_time_resize(struct inode *inode, struct iattr *iattr)
{
	iattr->ia_ctime = current_time(inode);
	if (!(iattr->ia_valid & ATTR_MTIME_SET))
		iattr->ia_mtime = iattr->ia_ctime;
	if (!(iattr->ia_valid & ATTR_ATIME_SET))
		iattr->ia_atime = iattr->ia_ctime;
}

/*
 * The size and all that changes with it at once. Who cuts a file that is set-user-ID, and is not
 * entitled to, loses that bit. Were it to go in a transaction of its own behind the size's:
 *
 *	truncate
 *	size 0, durable
 *	--- power goes ---		the mode says set-user-ID still
 *	mode without it
 *
 * somebody else's choice of what is left of the program would run with its owner's rights. A
 * capability goes before: setattr_prepare() removes it, in a transaction of its own.
 */
static int sfs_resize_attr(struct mnt_idmap *idmap, struct inode *inode, const struct iattr *iattr)
{
	unsigned int mask = sfs_attr_mask(iattr->ia_valid);
	struct iattr timed = *iattr;
	struct scmfs_attr attr;
	int err = sfs_resize_begin(inode, iattr->ia_size);

	if (err)
		return err;
	sfs_time_resize(inode, &timed);
	setattr_copy(idmap, inode, &timed);
	sfs_attr_of(inode, &attr);
	attr.size = timed.ia_size;
	/* truncate(2) asks for no times */
	if (!(mask & SCMFS_SET_MTIME))
		attr.mtime = sfs_ns(timed.ia_ctime);
	if (!(mask & SCMFS_SET_CTIME))
		attr.ctime = sfs_ns(timed.ia_ctime);
	return sfs_resize_end(inode, &attr, mask | SCMFS_SET_TIMES);
}

/* Both, as a fault may set the times meanwhile. */
static int sfs_copy_attr_once(struct mnt_idmap *idmap, struct inode *inode,
			      const struct iattr *iattr, unsigned int mask, struct posix_acl **acl)
{
	struct scmfs_attr attr;
	int err = 0;

	down_write(&sfs_inode(inode)->extents);
	setattr_copy(idmap, inode, iattr);
	sfs_attr_of(inode, &attr);
	if (*acl)
		err = sfs_chmod(inode, acl, &attr, mask);
	else if (mask)
		err = scmfs_setattr(sfs_fs(inode), inode->i_ino, &attr, mask);
	if (err)
		sfs_refresh(inode);
	else
		sfs_changed(inode);
	up_write(&sfs_inode(inode)->extents);
	return err;
}

static int sfs_copy_attr(struct mnt_idmap *idmap, struct inode *inode, const struct iattr *iattr,
			 struct posix_acl **acl)
{
	unsigned int mask = sfs_attr_mask(iattr->ia_valid);
	int err = sfs_copy_attr_once(idmap, inode, iattr, mask, acl);

	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = sfs_copy_attr_once(idmap, inode, iattr, mask, acl);
		sfs_made_room(inode->i_sb);
	}
	return sfs_full(err);
}

/* Where an ACL has to change as well all but the size goes first: what is granted by it. */
static int sfs_change(struct mnt_idmap *idmap, struct inode *inode, const struct iattr *iattr)
{
	struct posix_acl *acl = sfs_chmod_begin(inode, iattr->ia_valid);
	bool sized = iattr->ia_valid & ATTR_SIZE;
	int err = PTR_ERR_OR_ZERO(acl);

	if (err)
		return err;
	if (acl || !sized)
		err = sfs_copy_attr(idmap, inode, iattr, &acl);
	if (!err && sized)
		err = sfs_resize_attr(idmap, inode, iattr);
	posix_acl_release(acl);
	return err;
}

int sfs_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *iattr)
{
	struct inode *inode = d_inode(dentry);
	int err = sfs_alive(inode);

	/* Through a file that was opened before nvmalloc() took it: its addresses must stay. */
	if (!err && (iattr->ia_valid & ATTR_SIZE) && IS_IMMUTABLE(inode))
		err = -EPERM;
	if (!err)
		err = setattr_prepare(idmap, dentry, iattr);
	/* It may have removed a capability, at a later time than VFS has seen: none goes back. */
	if (!err && iattr->ia_valid & ATTR_KILL_PRIV)
		iattr->ia_ctime = current_time(inode);
	if (!err)
		err = sfs_change(idmap, inode, iattr);
	if (!err && iattr->ia_valid & ATTR_ATIME)
		mark_inode_dirty_sync(inode);	/* writeback may just have stored the former one */
	return err ?: sfs_settle_inode(inode);
}

static s64 sfs_atime(void *inode)
{
	return sfs_ns(inode_get_atime((struct inode *)inode));
}

void sfs_store_atime(struct inode *inode)
{
	scmfs_touch_atime(sfs_fs(inode), inode->i_ino, sfs_atime, inode);
}

/**
 * sfs_store_times - of what the kernel writes to elsewhere, and notes it here
 * @inode: a FIFO, a device, or a socket
 *
 * Return: 0 or a negative error number.
 */
int sfs_store_times(struct inode *inode)
{
	struct scmfs_attr attr = {};
	int err;

	down_read(&sfs_inode(inode)->extents);	/* who sets them has it exclusively */
	attr.mtime = sfs_ns(inode_get_mtime(inode));
	attr.ctime = sfs_ns(inode_get_ctime(inode));
	err = scmfs_touch_times(sfs_fs(inode), inode->i_ino, &attr);
	up_read(&sfs_inode(inode)->extents);
	return err;
}

/* Where its blocks are, in the device; in reserved memory from the file system's first byte on. */
static int sfs_fiemap(struct inode *inode, struct fiemap_extent_info *info, u64 start, u64 len)
{
	int err;

	inode_lock_shared(inode);
	err = iomap_fiemap(inode, info, start, len, &sfs_report_ops);
	inode_unlock_shared(inode);
	return err;
}

const struct inode_operations sfs_file_iops = {
	.getattr = sfs_getattr,
	.setattr = sfs_setattr,
	.fiemap = sfs_fiemap,
	.fileattr_get = sfs_fileattr_get,
	.fileattr_set = sfs_fileattr_set,
	.listxattr = sfs_listxattr,
	SFS_ACL_IOPS,
};

const struct inode_operations sfs_special_iops = {
	.getattr = sfs_getattr,
	.setattr = sfs_setattr,
	.listxattr = sfs_listxattr,
	SFS_ACL_IOPS,
};

/* --- symbolic links --------------------------------------------------------------------------- */

static const char *sfs_get_link(struct dentry *dentry, struct inode *inode,
				struct delayed_call *done)
{
	const char *target;
	char *copy;
	int len;

	if (!dentry)
		return ERR_PTR(-ECHILD);
	len = scmfs_target(sfs_fs(inode), inode->i_ino, &target);
	if (len < 0)
		return ERR_PTR(len);
	copy = kmemdup_nul(target, len, GFP_KERNEL);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	set_delayed_call(done, kfree_link, copy);
	return copy;
}

const struct inode_operations sfs_symlink_iops = {
	.get_link = sfs_get_link,
	.listxattr = sfs_listxattr,
	.getattr = sfs_getattr,
	.setattr = sfs_setattr,
};
