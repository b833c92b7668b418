// SPDX-License-Identifier: GPL-2.0-only
/* Reading directories: positions 0 and 1 are "." and "..", the engine's cookies follow. */
#include <linux/fs.h>

#include "vfs.h"

#define SFS_DOTS	2

static bool sfs_emit(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	struct dir_context *dir = ctx;

	dir->pos = cookie + SFS_DOTS;
	return dir_emit(dir, name, len, ino, type);
}

static int sfs_iterate(struct file *file, struct dir_context *ctx)
{
	struct inode *dir = file_inode(file);
	u64 cookie;
	int err;

	err = sfs_alive(dir);
	if (err)
		return err;
	if (!dir_emit_dots(file, ctx))
		return 0;
	cookie = ctx->pos - SFS_DOTS;
	err = scmfs_readdir(sfs_fs(dir), sfs_node(dir), &cookie, sfs_emit, ctx);
	ctx->pos = cookie + SFS_DOTS;
	return err;
}

const struct file_operations sfs_dir_fops = {
	.read = generic_read_dir,
	.iterate_shared = sfs_iterate,
	.llseek = generic_file_llseek,
	.fsync = sfs_fsync,
	.unlocked_ioctl = sfs_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
