// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX ACLs: attributes whose values the kernel knows. An ACL and the permission bits that follow
 * from it change in one operation.
 */
#include <linux/fs.h>
#include <linux/slab.h>

#include <compat/acl.h>

#include "vfs.h"

#ifdef CONFIG_FS_POSIX_ACL

static u32 sfs_acl_index(int type)
{
	return type == ACL_TYPE_ACCESS ? SCMFS_XATTR_ACL_ACCESS : SCMFS_XATTR_ACL_DEFAULT;
}

/* The value on the media; to be freed. */
static void *sfs_acl_value(const struct posix_acl *acl, u32 *len)
{
	size_t size = posix_acl_xattr_size(acl->a_count);
	void *value = kmalloc(size, GFP_KERNEL);
	int n;

	if (!value)
		return ERR_PTR(-ENOMEM);
	n = posix_acl_to_xattr(&init_user_ns, acl, value, size);
	if (n < 0) {
		kfree(value);
		return ERR_PTR(n);
	}
	*len = n;
	return value;
}

static struct posix_acl *sfs_load_acl(struct inode *inode, u32 index, int len)
{
	struct posix_acl *acl;
	void *value = kvmalloc(len, GFP_KERNEL);

	if (!value)
		return ERR_PTR(-ENOMEM);
	len = sfs_get_xattr(inode, index, "", value, len);
	acl = len < 0 ? ERR_PTR(len) : posix_acl_from_xattr(&init_user_ns, value, len);
	kvfree(value);
	return acl;
}

struct posix_acl *sfs_get_inode_acl(struct inode *inode, int type, bool rcu)
{
	u32 index = sfs_acl_index(type);
	struct posix_acl *acl;
	int len;

	if (rcu)
		return ERR_PTR(-ECHILD);
	do {
		len = sfs_get_xattr(inode, index, "", NULL, 0);
		if (len == -ENODATA || !len)
			return NULL;
		acl = len < 0 ? ERR_PTR(len) : sfs_load_acl(inode, index, len);
	} while (acl == ERR_PTR(-ERANGE));	/* it has grown meanwhile */
	return acl == ERR_PTR(-ENODATA) ? NULL : acl;
}

/* One that says no more than the mode, and was never there, is no change but to the mode. */
static int sfs_store_acl(struct inode *inode, const struct posix_acl *acl, int type,
			 const struct scmfs_attr *attr, unsigned int mask)
{
	struct scmfs_xattr x = { .index = sfs_acl_index(type), .name = "" };
	void *value = NULL;
	int err;

	if (acl) {
		value = sfs_acl_value(acl, &x.value_len);
		if (IS_ERR(value))
			return PTR_ERR(value);
		x.value = value;
	}
	err = sfs_set_xattr(inode, &x, 0, attr, mask);
	kfree(value);
	if (err != -ENODATA || acl)
		return err;
	down_write(&sfs_inode(inode)->extents);
	err = scmfs_setattr(sfs_fs(inode), inode->i_ino, attr, mask);
	sfs_refresh(inode);
	up_write(&sfs_inode(inode)->extents);
	return err ?: sfs_settle_inode(inode);
}

int sfs_set_acl(struct mnt_idmap *idmap, struct compat_acl_target *target, struct posix_acl *acl,
		int type)
{
	struct inode *inode = compat_acl_inode(target);
	struct scmfs_attr attr = { .ctime = sfs_now(inode) };
	unsigned int mask = SCMFS_SET_CTIME;
	umode_t mode = inode->i_mode;
	int err;

	if (!scmfs_has_xattrs(sfs_fs(inode)))
		return -EOPNOTSUPP;
	if (type == ACL_TYPE_DEFAULT && !S_ISDIR(inode->i_mode))
		return acl ? -EACCES : 0;
	if (type == ACL_TYPE_ACCESS && acl) {
		err = posix_acl_update_mode(idmap, inode, &mode, &acl);
		if (err)
			return err;
		mask |= SCMFS_SET_MODE;
		attr.mode = mode;
	}
	err = sfs_store_acl(inode, acl, type, &attr, mask);
	if (err)
		forget_cached_acl(inode, type);	/* it may be there all the same */
	else
		set_cached_acl(inode, type, acl);
	return err;
}

/**
 * sfs_chmod_begin - the ACL that a change of the mode changes
 * @inode: locked, its extents not
 * @valid: ATTR_*; with ATTR_KILL_* it is but set-user-ID and set-group-ID that go, and no ACL has
 *	these
 *
 * Return: it, NULL: there is none, or an ERR_PTR.
 */
struct posix_acl *sfs_chmod_begin(struct inode *inode, unsigned int valid)
{
	if (!(valid & ATTR_MODE) || valid & (ATTR_KILL_SUID | ATTR_KILL_SGID) ||
	    !IS_POSIXACL(inode) || S_ISLNK(inode->i_mode))
		return NULL;
	return get_inode_acl(inode, ACL_TYPE_ACCESS);
}

/**
 * sfs_chmod - change it, and fields of the inode with it
 * @inode: locked, its extents, too
 * @acl: from sfs_chmod_begin(); another one afterwards, to be released as well
 * @attr: the fields, the mode among them
 * @mask: which: SCMFS_SET_*
 *
 * Return: 0 or a negative error number.
 */
int sfs_chmod(struct inode *inode, struct posix_acl **acl, const struct scmfs_attr *attr,
	      unsigned int mask)
{
	struct scmfs_xattr x = { .index = SCMFS_XATTR_ACL_ACCESS, .name = "" };
	void *value;
	int err = __posix_acl_chmod(acl, GFP_KERNEL, attr->mode);

	if (err)
		return err;
	value = sfs_acl_value(*acl, &x.value_len);
	if (IS_ERR(value))
		return PTR_ERR(value);
	x.value = value;
	err = scmfs_xattr_set(sfs_fs(inode), inode->i_ino, &x, 0, attr, mask);
	kfree(value);
	if (!err)
		set_cached_acl(inode, ACL_TYPE_ACCESS, *acl);
	return err;
}

/* --- what a new inode inherits ---------------------------------------------------------------- */

static int sfs_birth_acl(struct sfs_birth *birth, const struct posix_acl *acl, int type)
{
	void *value;
	u32 len;
	int err;

	if (!acl)
		return 0;
	value = sfs_acl_value(acl, &len);
	if (IS_ERR(value))
		return PTR_ERR(value);
	err = sfs_birth_add(birth, sfs_acl_index(type), "", value, len);
	kfree(value);
	return err;
}

/**
 * sfs_birth_acls - those that follow from the directory's default
 * @birth: begun
 * @inode: whose mode may change, by the ACL or by the task's umask
 * @dir: where it is made
 *
 * Return: 0 or a negative error number.
 */
int sfs_birth_acls(struct sfs_birth *birth, struct inode *inode, struct inode *dir)
{
	int err = posix_acl_create(dir, &inode->i_mode, &birth->default_acl, &birth->acl);

	if (!err)
		err = sfs_birth_acl(birth, birth->acl, ACL_TYPE_ACCESS);
	if (!err)
		err = sfs_birth_acl(birth, birth->default_acl, ACL_TYPE_DEFAULT);
	if (!err) {
		set_cached_acl(inode, ACL_TYPE_ACCESS, birth->acl);
		set_cached_acl(inode, ACL_TYPE_DEFAULT, birth->default_acl);
	}
	return err;
}

#endif
