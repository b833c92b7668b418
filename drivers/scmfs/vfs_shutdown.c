// SPDX-License-Identifier: GPL-2.0-only
/*
 * FS_IOC_SHUTDOWN: from now on everything is EIO, and the memory is left as a crash would leave it.
 *
 * What had returned is durable, whatever the caller asks to be flushed; what is under way ends as
 * it would have. Nothing is saved at the unmount, orphans stay, and the next mount recovers.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "vfs.h"

/* Of 6.12's linux/fs.h; in 6.1 each file system has its own name for it. */
#define SFS_IOC_SHUTDOWN	_IOR('X', 125, __u32)
#define SFS_SHUTDOWN_MOST	2	/* with a freeze, with a flush of the log, without one */

static int sfs_shutdown(struct super_block *sb, u32 __user *arg)
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
	WRITE_ONCE(s->shut, true);
	WRITE_ONCE(s->writable, false);
	pr_notice("scmfs: %s: shut down\n", sb->s_id);
	return 0;
}

long sfs_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd != SFS_IOC_SHUTDOWN)
		return -ENOTTY;
	return sfs_shutdown(file_inode(file)->i_sb, (u32 __user *)arg);
}
