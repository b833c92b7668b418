// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_version
 *
 * What an NFS server takes for a file's change attribute. Who writes a name to its parameter path
 * finds that in its parameter version, as if a client had asked. It is never installed.
 * tests/vm/scmfs.sh is its user.
 */
#include <linux/fs.h>
#include <linux/iversion.h>
#include <linux/module.h>
#include <linux/namei.h>

static unsigned long long version;
module_param(version, ullong, 0444);
MODULE_PARM_DESC(version, "of the file that was asked for last");

static u64 version_of(struct inode *inode)
{
	struct timespec64 ctime = inode_get_ctime(inode);

	return IS_I_VERSION(inode) ? inode_query_iversion(inode) : time_to_chattr(&ctime);
}

static int ask(const char *name, const struct kernel_param *param)
{
	struct path path;
	int err = kern_path(name, 0, &path);

	if (err)
		return err;
	version = version_of(d_inode(path.dentry));
	path_put(&path);
	return 0;
}

static const struct kernel_param_ops ops = { .set = ask };
module_param_cb(path, &ops, NULL, 0200);
MODULE_PARM_DESC(path, "name of a file, without a newline behind it");

MODULE_DESCRIPTION("the change attribute of files, for the tests");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
