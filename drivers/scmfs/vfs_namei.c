// SPDX-License-Identifier: GPL-2.0-only
/* Names. VFS holds i_rwsem of every directory and inode concerned, exclusively where it changes. */
#include <linux/dcache.h>
#include <linux/fs.h>

#include "vfs.h"

/* A name came or went. */
static void sfs_dir_changed(struct inode *dir, struct timespec64 now)
{
	sfs_set_times(dir, timespec64_to_ns(&now));
}

/* It has other names than it had. */
static void sfs_names_changed(struct inode *inode, struct timespec64 now)
{
	inode_set_ctime_to_ts(inode, now);
	sfs_changed(inode);
}

static struct dentry *sfs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags)
{
	const struct qstr *name = &dentry->d_name;
	struct inode *inode = NULL;
	u64 ino;
	int err;

	if (name->len > SCMFS_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	err = sfs_alive(dir);
	if (!err)
		err = scmfs_lookup(sfs_fs(dir), sfs_node(dir), name->name, name->len, &ino);
	if (!err)
		inode = sfs_iget(dir->i_sb, ino);
	else if (err != -ENOENT)
		inode = ERR_PTR(err);
	return d_splice_alias(inode, dentry);
}

/* A blank inode, and what the engine has to make of it, or an ERR_PTR; sfs_birth_end() follows. */
static struct inode *sfs_blank(struct mnt_idmap *idmap, struct inode *dir, const struct qstr *name,
			       umode_t mode, struct scmfs_new *new, struct sfs_birth *birth)
{
	struct inode *inode = new_inode(dir->i_sb);
	struct timespec64 now;
	int err;

	birth->nr = 0;
	birth->acl = NULL;
	birth->default_acl = NULL;
	if (!inode)
		return ERR_PTR(-ENOMEM);
	now = current_time(inode);
	inode_init_owner(idmap, inode, dir, mode);
	inode_set_atime_to_ts(inode, now);
	inode_set_mtime_to_ts(inode, now);
	inode_set_ctime_to_ts(inode, now);
	i_size_write(inode, new->target_len);
	if (S_ISDIR(mode))
		set_nlink(inode, 2);
	err = sfs_birth_begin(birth, inode, dir, name);
	if (err) {
		iput(inode);
		return ERR_PTR(err);
	}
	new->xattr = birth->xattr;
	new->nr_xattrs = birth->nr;
	new->mode = inode->i_mode;
	new->uid = i_uid_read(inode);
	new->gid = i_gid_read(inode);
	new->now = timespec64_to_ns(&now);
	return inode;
}

/* Whoever may take numbers finds it whole, or not at all: see sfs_iget_unnamed(). */
static int sfs_make_named(struct inode *dir, struct dentry *dentry, struct inode *inode,
			  struct scmfs_new *new)
{
	const struct qstr *name = &dentry->d_name;
	struct sfs_sb *s = sfs_sb(dir->i_sb);
	u64 ino;
	int err;

	down_read(&s->numbers);
	err = scmfs_create(s->fs, sfs_node(dir), name->name, name->len, new, &ino);
	if (!err)
		err = sfs_adopt(inode, ino, new_decode_dev(new->rdev));
	if (!err) {
		if (S_ISDIR(inode->i_mode))
			inc_nlink(dir);
		sfs_dir_changed(dir, inode_get_ctime(inode));
		d_instantiate_new(dentry, inode);
	}
	up_read(&s->numbers);
	return err;
}

/* RAM comes first, so that nothing is left of what fails. */
static int sfs_make_blank(struct inode *dir, struct dentry *dentry, struct inode *inode,
			  struct scmfs_new *new)
{
	int err = sfs_alive(dir);

	if (!err)
		err = sfs_make_named(dir, dentry, inode, new);
	if (err == -ENOSPC && sfs_make_room(dir->i_sb, dir)) {
		err = sfs_make_named(dir, dentry, inode, new);
		sfs_made_room(dir->i_sb);
	}
	if (err)
		iput(inode);
	return sfs_full(err);
}

static int sfs_make(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		    umode_t mode, struct scmfs_new *new)
{
	struct sfs_birth birth EK_UNINITIALIZED;
	struct inode *inode = sfs_blank(idmap, dir, &dentry->d_name, mode, new, &birth);
	int err = PTR_ERR_OR_ZERO(inode);

	if (!err)
		err = sfs_make_blank(dir, dentry, inode, new);
	sfs_birth_end(&birth);
	return err ?: sfs_settle_dir(dir);
}

static int sfs_create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		      umode_t mode, bool excl)
{
	struct scmfs_new new = {};

	return sfs_make(idmap, dir, dentry, mode, &new);
}

static int sfs_mkdir(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		     umode_t mode)
{
	struct scmfs_new new = {};

	return sfs_make(idmap, dir, dentry, mode | S_IFDIR, &new);
}

static int sfs_mknod(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		     umode_t mode, dev_t rdev)
{
	struct scmfs_new new = { .rdev = new_encode_dev(rdev) };

	return sfs_make(idmap, dir, dentry, mode, &new);
}

static int sfs_symlink(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		       const char *target)
{
	struct scmfs_new new = { .target = target, .target_len = strlen(target) };

	return sfs_make(idmap, dir, dentry, S_IFLNK | 0777, &new);
}

static int sfs_make_nameless(struct inode *dir, struct file *file, struct inode *inode,
			     struct scmfs_new *new)
{
	struct sfs_sb *s = sfs_sb(dir->i_sb);
	u64 ino;
	int err;

	down_read(&s->numbers);
	err = sfs_alive(dir) ?: scmfs_tmpfile(s->fs, new, &ino);
	if (!err)
		err = sfs_adopt(inode, ino, 0);
	if (!err) {
		d_tmpfile(file, inode);	/* takes the link away that a new inode has */
		unlock_new_inode(inode);
	}
	up_read(&s->numbers);
	return err;
}

static int sfs_tmpfile(struct mnt_idmap *idmap, struct inode *dir, struct file *file, umode_t mode)
{
	struct sfs_birth birth EK_UNINITIALIZED;
	struct scmfs_new new = {};
	struct inode *inode = sfs_blank(idmap, dir, NULL, mode, &new, &birth);
	int err = PTR_ERR_OR_ZERO(inode);

	if (!err) {
		err = sfs_make_nameless(dir, file, inode, &new);
		if (err == -ENOSPC && sfs_make_room(dir->i_sb, NULL)) {
			err = sfs_make_nameless(dir, file, inode, &new);
			sfs_made_room(dir->i_sb);
		}
		if (err)
			iput(inode);
	}
	sfs_birth_end(&birth);
	return finish_open_simple(file, sfs_full(err));
}

static int sfs_link(struct dentry *old, struct inode *dir, struct dentry *dentry)
{
	const struct qstr *name = &dentry->d_name;
	struct inode *inode = d_inode(old);
	struct timespec64 now = current_time(inode);
	int err = sfs_alive(dir) ?: scmfs_link(sfs_fs(dir), sfs_node(dir), name->name, name->len,
					       inode->i_ino, timespec64_to_ns(&now));

	if (err == -ENOSPC && sfs_make_room(dir->i_sb, dir)) {
		err = scmfs_link(sfs_fs(dir), sfs_node(dir), name->name, name->len, inode->i_ino,
				 timespec64_to_ns(&now));
		sfs_made_room(dir->i_sb);
	}
	if (err)
		return sfs_full(err);
	inc_nlink(inode);
	sfs_names_changed(inode, now);
	sfs_dir_changed(dir, now);
	ihold(inode);
	d_instantiate(dentry, inode);
	return sfs_settle_dir(dir);
}

/*
 * sfs_settle_dir() where names went. They are gone when it fails, too, but the kernel does nothing
 * about names after an error: it would go on to find what is at them no more. So they are looked
 * for again.
 */
static int sfs_settle_names(const struct inode *dir, struct dentry *dentry, struct dentry *other)
{
	int err = sfs_settle_dir(dir);

	if (!err)
		return 0;
	d_invalidate(dentry);
	if (other)
		d_invalidate(other);
	return err;
}

static int sfs_unlink(struct inode *dir, struct dentry *dentry)
{
	const struct qstr *name = &dentry->d_name;
	struct inode *inode = d_inode(dentry);
	struct timespec64 now = current_time(inode);
	u64 ino;
	int err = sfs_alive(dir) ?: scmfs_unlink(sfs_fs(dir), sfs_node(dir), name->name, name->len,
						 timespec64_to_ns(&now), &ino);

	if (err)
		return err;
	drop_nlink(inode);
	sfs_names_changed(inode, now);
	sfs_dir_changed(dir, now);
	return sfs_settle_names(dir, dentry, NULL);
}

static int sfs_rmdir(struct inode *dir, struct dentry *dentry)
{
	const struct qstr *name = &dentry->d_name;
	struct inode *inode = d_inode(dentry);
	struct timespec64 now = current_time(inode);
	int err = sfs_alive(dir) ?: scmfs_rmdir(sfs_fs(dir), sfs_node(dir), name->name, name->len,
						sfs_node(inode), timespec64_to_ns(&now));

	if (err)
		return err;
	clear_nlink(inode);
	drop_nlink(dir);
	sfs_names_changed(inode, now);
	sfs_dir_changed(dir, now);
	return sfs_settle_names(dir, dentry, NULL);
}

/*
 * The link that a directory is to the one it is in, with what comes back for it. Not one after the
 * other: in an image that was made for it there may be one link in all, and none in between.
 */
static void sfs_move_parent_link(const struct inode *moved, const struct inode *back,
				 struct inode *from, struct inode *to)
{
	bool is_dir = S_ISDIR(moved->i_mode), was_dir = back && S_ISDIR(back->i_mode);

	if (from == to || is_dir == was_dir)
		return;
	drop_nlink(is_dir ? from : to);
	inc_nlink(is_dir ? to : from);
}

static void sfs_replaced(struct inode *dir, struct inode *victim)
{
	if (S_ISDIR(victim->i_mode)) {
		clear_nlink(victim);
		drop_nlink(dir);
	} else {
		drop_nlink(victim);
	}
}

static void sfs_renamed(struct inode *from, struct inode *inode, struct inode *to,
			struct inode *other, bool exchange, struct timespec64 now)
{
	sfs_move_parent_link(inode, exchange ? other : NULL, from, to);
	if (other && !exchange)
		sfs_replaced(to, other);
	if (other)
		sfs_names_changed(other, now);
	sfs_names_changed(inode, now);
	sfs_dir_changed(from, now);
	sfs_dir_changed(to, now);
}

static int sfs_swap_name(struct super_block *sb, const struct scmfs_new *new,
			 struct scmfs_rename *from, const struct scmfs_rename *to,
			 unsigned int flags, s64 now)
{
	struct sfs_sb *s = sfs_sb(sb);
	int err;

	down_read(&s->numbers);
	err = scmfs_tmpfile(s->fs, new, &from->whiteout);
	if (!err) {
		err = scmfs_rename(s->fs, from, to, flags, now);
		sfs_release_orphan(s, from->whiteout);	/* if it has no name */
	}
	up_read(&s->numbers);
	return err;
}

/*
 * For overlayfs, to which a device of this kind is a name that is gone. A cut before it has the
 * name leaves a file without one, which the next mount frees.
 */
static int sfs_rename_whiteout(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			       struct scmfs_rename *from, const struct scmfs_rename *to,
			       unsigned int flags, s64 now)
{
	struct sfs_birth birth EK_UNINITIALIZED;
	struct scmfs_new new = { .rdev = new_encode_dev(WHITEOUT_DEV) };
	struct inode *inode = sfs_blank(idmap, dir, &dentry->d_name, S_IFCHR | WHITEOUT_MODE, &new,
					&birth);
	int err = PTR_ERR_OR_ZERO(inode);

	if (!err) {
		err = sfs_swap_name(dir->i_sb, &new, from, to, flags & ~RENAME_WHITEOUT, now);
		iput(inode);	/* it gets its own by its name */
	}
	sfs_birth_end(&birth);
	return err;
}

static int sfs_rename_step(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			   struct scmfs_rename *from, const struct scmfs_rename *to,
			   unsigned int flags, s64 now)
{
	if (flags & RENAME_WHITEOUT)
		return sfs_rename_whiteout(idmap, dir, dentry, from, to, flags, now);
	return scmfs_rename(sfs_fs(dir), from, to, flags, now);
}

static int sfs_rename(struct mnt_idmap *idmap, struct inode *old_dir, struct dentry *old_dentry,
		      struct inode *new_dir, struct dentry *new_dentry, unsigned int flags)
{
	struct inode *inode = d_inode(old_dentry), *other = d_inode(new_dentry);
	struct scmfs_rename from = {
		.dir = sfs_node(old_dir),
		.name = old_dentry->d_name.name,
		.len = old_dentry->d_name.len,
		.node = sfs_node(inode),
	};
	const struct scmfs_rename to = {
		.dir = sfs_node(new_dir),
		.name = new_dentry->d_name.name,
		.len = new_dentry->d_name.len,
		.node = other ? sfs_node(other) : NULL,
	};
	struct timespec64 now = current_time(inode);
	int err;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	err = sfs_alive(inode) ?: sfs_rename_step(idmap, old_dir, old_dentry, &from, &to, flags,
						  timespec64_to_ns(&now));
	if (err == -ENOSPC && sfs_make_room(inode->i_sb, new_dir)) {
		err = sfs_rename_step(idmap, old_dir, old_dentry, &from, &to, flags,
				      timespec64_to_ns(&now));
		sfs_made_room(inode->i_sb);
	}
	if (err)
		return sfs_full(err);
	sfs_renamed(old_dir, inode, new_dir, other, flags & RENAME_EXCHANGE, now);
	return sfs_settle_names(IS_DIRSYNC(old_dir) ? old_dir : new_dir, old_dentry, new_dentry);
}

const struct inode_operations sfs_dir_iops = {
	.lookup = sfs_lookup,
	.create = sfs_create,
	.mkdir = sfs_mkdir,
	.mknod = sfs_mknod,
	.symlink = sfs_symlink,
	.link = sfs_link,
	.unlink = sfs_unlink,
	.rmdir = sfs_rmdir,
	.rename = sfs_rename,
	.tmpfile = sfs_tmpfile,
	.getattr = sfs_getattr,
	.setattr = sfs_setattr,
	.fileattr_get = sfs_fileattr_get,
	.fileattr_set = sfs_fileattr_set,
	.listxattr = sfs_listxattr,
	SFS_ACL_IOPS,
};
