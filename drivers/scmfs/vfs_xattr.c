// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended attributes. Those of an inode are read under its extents lock shared, as a change frees
 * the blocks that they were in.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/xattr.h>

#include <compat/acl.h>

#include "vfs.h"

/* --- reading and changing --------------------------------------------------------------------- */

/**
 * sfs_get_xattr - a value
 * @inode: its extents not locked
 * @index: SCMFS_XATTR_*
 * @name: without what @index stands for
 * @value: filled
 * @size: of that; 0: only tell how long it is
 *
 * Return: bytes, or a negative error number: -ENODATA, -ERANGE and others.
 */
int sfs_get_xattr(struct inode *inode, u32 index, const char *name, void *value, size_t size)
{
	int len;

	down_read(&sfs_inode(inode)->extents);
	len = scmfs_xattr_get(sfs_fs(inode), inode->i_ino, index, name, strlen(name), value, size);
	up_read(&sfs_inode(inode)->extents);
	return len;
}

static int sfs_set_xattr_once(struct inode *inode, const struct scmfs_xattr *x, unsigned int flags,
			      const struct scmfs_attr *attr, unsigned int mask)
{
	int err;

	down_write(&sfs_inode(inode)->extents);
	err = scmfs_xattr_set(sfs_fs(inode), inode->i_ino, x, flags, attr, mask);
	if (!err)
		sfs_refresh(inode);
	up_write(&sfs_inode(inode)->extents);
	return err;
}

/**
 * sfs_set_xattr - set or remove one, and fields of the inode with it
 * @inode: locked, its extents not
 * @x: which and what
 * @flags: XATTR_*
 * @attr: the fields
 * @mask: which of them: SCMFS_SET_*
 *
 * Return: 0 or a negative error number; then nothing has changed, unless all has and was to be
 * flushed at once, which failed.
 */
int sfs_set_xattr(struct inode *inode, const struct scmfs_xattr *x, unsigned int flags,
		  const struct scmfs_attr *attr, unsigned int mask)
{
	int err = sfs_alive(inode) ?: sfs_set_xattr_once(inode, x, flags, attr, mask);

	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = sfs_set_xattr_once(inode, x, flags, attr, mask);
		sfs_made_room(inode->i_sb);
	}
	return err ? sfs_full(err) : sfs_settle_inode(inode);
}

static int sfs_handler_get(const struct xattr_handler *handler, struct dentry *dentry,
			   struct inode *inode, const char *name, void *value, size_t size)
{
	return sfs_alive(inode) ?: sfs_get_xattr(inode, handler->flags, name, value, size);
}

static int sfs_handler_set(const struct xattr_handler *handler, struct mnt_idmap *idmap,
			   struct dentry *dentry, struct inode *inode, const char *name,
			   const void *value, size_t size, int flags)
{
	const struct scmfs_attr attr = { .ctime = sfs_now(inode) };
	const struct scmfs_xattr x = {
		.index = handler->flags,
		.name = name,
		.name_len = strlen(name),
		.value = value,
		.value_len = size,
	};

	return sfs_set_xattr(inode, &x, flags, &attr, SCMFS_SET_CTIME);
}

static const struct xattr_handler sfs_user_handler = {
	.prefix = XATTR_USER_PREFIX,
	.flags = SCMFS_XATTR_USER,
	.get = sfs_handler_get,
	.set = sfs_handler_set,
};

static const struct xattr_handler sfs_trusted_handler = {
	.prefix = XATTR_TRUSTED_PREFIX,
	.flags = SCMFS_XATTR_TRUSTED,
	.get = sfs_handler_get,
	.set = sfs_handler_set,
};

static const struct xattr_handler sfs_security_handler = {
	.prefix = XATTR_SECURITY_PREFIX,
	.flags = SCMFS_XATTR_SECURITY,
	.get = sfs_handler_get,
	.set = sfs_handler_set,
};

compat_handler sfs_xattr_handlers[] = {
	&sfs_user_handler,
	&sfs_trusted_handler,
	&sfs_security_handler,
	COMPAT_ACL_HANDLERS
	NULL
};

/* --- listing ---------------------------------------------------------------------------------- */

/**
 * struct sfs_listing - names, each with a NUL behind it
 * @inode: whose
 * @list: where to; NULL: only count
 * @size: of that
 * @used: of that
 */
struct sfs_listing {
	struct inode *inode;
	char *list;
	size_t size;
	size_t used;
};

/* What the name begins with; NULL: it is not told. */
static const char *sfs_prefix(const struct inode *inode, u32 index)
{
	switch (index) {
	case SCMFS_XATTR_USER:
		return XATTR_USER_PREFIX;
	case SCMFS_XATTR_TRUSTED:
		return capable(CAP_SYS_ADMIN) ? XATTR_TRUSTED_PREFIX : NULL;
	case SCMFS_XATTR_SECURITY:
		return XATTR_SECURITY_PREFIX;
	case SCMFS_XATTR_ACL_ACCESS:
		return IS_POSIXACL(inode) ? XATTR_NAME_POSIX_ACL_ACCESS : NULL;
	case SCMFS_XATTR_ACL_DEFAULT:
		return IS_POSIXACL(inode) ? XATTR_NAME_POSIX_ACL_DEFAULT : NULL;
	}
	return NULL;
}

static int sfs_list_one(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	struct sfs_listing *l = ctx;
	const char *prefix = sfs_prefix(l->inode, index);
	size_t first, bytes;

	if (!prefix)
		return 0;
	first = strlen(prefix);
	bytes = first + len + 1;
	if (l->list) {
		if (bytes > l->size - l->used)
			return -ERANGE;
		memcpy(l->list + l->used, prefix, first);
		memcpy(l->list + l->used + first, name, len);
		l->list[l->used + bytes - 1] = 0;
	}
	l->used += bytes;
	return 0;
}

ssize_t sfs_listxattr(struct dentry *dentry, char *list, size_t size)
{
	struct inode *inode = d_inode(dentry);
	struct sfs_listing l = { .inode = inode, .list = list, .size = size };
	int err = sfs_alive(inode);

	if (err)
		return err;
	down_read(&sfs_inode(inode)->extents);
	err = scmfs_xattr_list(sfs_fs(inode), inode->i_ino, sfs_list_one, &l);
	up_read(&sfs_inode(inode)->extents);
	return err ?: l.used;
}

/* --- what a new inode has --------------------------------------------------------------------- */

/**
 * sfs_birth_add - one more attribute
 * @birth: of this inode
 * @index: SCMFS_XATTR_*
 * @name: without what @index stands for
 * @value: copied
 * @len: bytes
 *
 * Return: 0; -ENOMEM; -E2BIG.
 */
int sfs_birth_add(struct sfs_birth *birth, u32 index, const char *name, const void *value,
		  size_t len)
{
	struct scmfs_xattr *x = &birth->xattr[birth->nr];
	size_t name_len = strlen(name);
	char *copy;

	if (birth->nr == SFS_BIRTH_XATTRS)
		return -E2BIG;
	copy = kmalloc(name_len + len + 1, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, name, name_len);
	memcpy(copy + name_len, value, len);
	*x = (struct scmfs_xattr){
		.index = index,
		.name = copy,
		.name_len = name_len,
		.value = copy + name_len,
		.value_len = len,
	};
	birth->nr++;
	return 0;
}

static int sfs_birth_security(struct inode *inode, const struct xattr *xattrs, void *data)
{
	const struct xattr *x;
	int err = 0;

	for (x = xattrs; !err && x->name; x++)
		err = sfs_birth_add(data, SCMFS_XATTR_SECURITY, x->name, x->value, x->value_len);
	return err;
}

/**
 * sfs_birth_begin - what a new inode inherits, and what security modules say about it
 * @birth: empty; sfs_birth_end() follows in any case
 * @inode: blank, but for owner and mode, which may change
 * @dir: where it is made
 * @name: its name, or NULL
 *
 * Return: 0 or a negative error number.
 */
int sfs_birth_begin(struct sfs_birth *birth, struct inode *inode, struct inode *dir,
		    const struct qstr *name)
{
	int err;

	if (!scmfs_has_xattrs(sfs_fs(dir)))
		return 0;
	err = sfs_birth_acls(birth, inode, dir);
	return err ?: security_inode_init_security(inode, dir, name, sfs_birth_security, birth);
}

void sfs_birth_end(struct sfs_birth *birth)
{
	while (birth->nr)
		kfree(birth->xattr[--birth->nr].name);
	posix_acl_release(birth->acl);
	posix_acl_release(birth->default_acl);
}
