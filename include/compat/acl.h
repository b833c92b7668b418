/* SPDX-License-Identifier: GPL-2.0-only */
/* ACLs and extended attributes: who is told of an inode, by a dentry or by itself. */
#ifndef EVENKEEL_COMPAT_ACL_H
#define EVENKEEL_COMPAT_ACL_H

#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>

#include "fs.h"

/* The operation that is asked for an inode's ACL, and the function that asks it, by one name. */
#ifndef HAVE_GET_INODE_ACL
#define get_inode_acl	get_acl
#endif

#ifdef HAVE_SET_ACL_DENTRY
#define compat_acl_target	dentry
#define compat_acl_inode(target)	d_inode(target)
#else
#define compat_acl_target	inode
#define compat_acl_inode(target)	(target)
#endif

#ifdef HAVE_CONST_HANDLERS
#define compat_handler	const struct xattr_handler * const
#else
#define compat_handler	const struct xattr_handler *
#endif

/* Where ACLs are no operations of their own they are attributes like others. */
#if defined(HAVE_ACL_HANDLERS) && defined(CONFIG_FS_POSIX_ACL)
#define COMPAT_ACL_HANDLERS	&posix_acl_access_xattr_handler, &posix_acl_default_xattr_handler,
#else
#define COMPAT_ACL_HANDLERS
#endif

#endif
