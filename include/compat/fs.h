/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file system meets: id-mapped mounts under another name, times as plain members. */
#ifndef EVENKEEL_COMPAT_FS_H
#define EVENKEEL_COMPAT_FS_H

#include <linux/exportfs.h>
#include <linux/fs.h>

#include "compat.h"

#ifndef HAVE_MNT_IDMAP
#define compat_mnt_idmap(mnt)	mnt_user_ns(mnt)
#define mnt_idmap	user_namespace
#define nop_mnt_idmap	init_user_ns
#else
#define compat_mnt_idmap(mnt)	mnt_idmap(mnt)
#endif

#ifdef HAVE_FILLATTR_MASK
#define compat_fillattr(idmap, mask, inode, stat)	generic_fillattr(idmap, mask, inode, stat)
#else
#define compat_fillattr(idmap, mask, inode, stat)	generic_fillattr(idmap, inode, stat)
#endif

#ifndef HAVE_INODE_MTIME
static inline struct timespec64 inode_get_atime(const struct inode *inode)
{
	return inode->i_atime;
}

static inline struct timespec64 inode_get_mtime(const struct inode *inode)
{
	return inode->i_mtime;
}

static inline struct timespec64 inode_set_atime_to_ts(struct inode *inode, struct timespec64 ts)
{
	return inode->i_atime = ts;
}

static inline struct timespec64 inode_set_mtime_to_ts(struct inode *inode, struct timespec64 ts)
{
	return inode->i_mtime = ts;
}
#endif

#ifndef HAVE_SUPER_SET_UUID
static inline void super_set_uuid(struct super_block *sb, const u8 *uuid, unsigned int len)
{
	memcpy(&sb->s_uuid, uuid, min_t(size_t, len, sizeof(sb->s_uuid)));
}
#endif

/* A member of struct export_operations: handles of inode and generation, 32 bits each. */
#ifdef HAVE_ENCODE_INO32
#define COMPAT_ENCODE_INO32	.encode_fh = generic_encode_ino32_fh
#else
#define COMPAT_ENCODE_INO32	.encode_fh = NULL
#endif

/* Pages handed to a pipe are copies, as there is no page cache. */
#ifndef HAVE_COPY_SPLICE_READ
#define copy_splice_read	generic_file_splice_read
#endif

#endif
