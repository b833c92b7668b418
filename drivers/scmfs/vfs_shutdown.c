// SPDX-License-Identifier: GPL-2.0-only
/*
 * FS_IOC_SHUTDOWN: from now on what changes, reads or opens a file is EIO, and the memory is left
 * as a crash would leave it.
 *
 * What had returned is durable, where the memory's host has to flush if the caller asks for it;
 * what is under way ends as it would have. Pages that are mapped already stay so, others are
 * SIGBUS. Nothing is saved at the unmount, orphans stay, and the next mount recovers.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "vfs.h"

#define SFS_SHUTDOWN_MOST	2	/* with a freeze, with a flush of the log, without one */

/**
 * sfs_shutdown - end it
 * @sb: the file system
 * @arg: how; 0 to 2 as other file systems have it
 *
 * Return: 0, also when it was over before; -EPERM; -EFAULT; -EINVAL.
 */
int sfs_shutdown(struct super_block *sb, u32 __user *arg)
{
	struct sfs_sb *s = sfs_sb(sb);
	u32 how;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (get_user(how, arg))
		return -EFAULT;
	if (how > SFS_SHUTDOWN_MOST)
		return -EINVAL;
	if (READ_ONCE(s->shut))
		return 0;
	if (how < SFS_SHUTDOWN_MOST)
		sfs_settle(sb);
	WRITE_ONCE(s->shut, true);
	WRITE_ONCE(s->writable, false);
	sfs_gc_end(s);
	pr_notice("scmfs: %s: shut down\n", sb->s_id);
	return 0;
}
