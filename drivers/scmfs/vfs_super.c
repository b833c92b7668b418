// SPDX-License-Identifier: GPL-2.0-only
/* Mounting, and what VFS asks of a file system as a whole. */
#include <linux/fs_context.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <linux/string_helpers.h>
#include <evenkeel/scm.h>

#include "vfs.h"

static struct kmem_cache *sfs_inode_cache;

/* --- inodes in RAM ---------------------------------------------------------------------------- */

static void sfs_inode_once(void *p)
{
	struct sfs_inode *si = p;

	inode_init_once(&si->vfs);
	init_rwsem(&si->extents);
	init_rwsem(&si->flushing);
}

int sfs_inode_cache_init(void)
{
	sfs_inode_cache = kmem_cache_create("scmfs_inode", sizeof(struct sfs_inode), 0,
					    SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT, sfs_inode_once);
	return sfs_inode_cache ? 0 : -ENOMEM;
}

void sfs_inode_cache_exit(void)
{
	rcu_barrier();	/* inodes are freed by RCU */
	kmem_cache_destroy(sfs_inode_cache);
}

static struct inode *sfs_alloc_inode(struct super_block *sb)
{
	struct sfs_inode *si = alloc_inode_sb(sb, sfs_inode_cache, GFP_KERNEL);

	if (!si)
		return NULL;
	memset(&si->node, 0, sizeof(si->node));
	sfs_piece_init(si);
	RCU_INIT_POINTER(si->window, NULL);
	si->walks = 0;
	si->tried = 0;
	si->around = false;
	atomic_set(&si->last_tries, 0);
	si->tail_known = false;
	si->pinned = false;
	atomic_set(&si->held, 0);
	INIT_LIST_HEAD(&si->ahead);
	return &si->vfs;
}

static void sfs_free_inode(struct inode *inode)
{
	kmem_cache_free(sfs_inode_cache, container_of(inode, struct sfs_inode, vfs));
}

/*
 * Nothing is stored for an inode that leaves RAM while the file system is frozen. It may be reclaim
 * that wants it to, with s_umount held, which a thaw needs: room ahead stays for another time, and
 * so it does on one that has become read-only. What has no name leaves RAM with its last user, who
 * can wait, and nothing becomes read-only before. It may be shut down after that.
 *
 * Return: it is free, and its number may be another one's by now.
 */
static bool sfs_put_blocks(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	bool nameless = !inode->i_nlink, free = false;

	if (nameless)
		sb_start_intwrite(sb);
	else if (sb_rdonly(sb) || !sfs_has_room_ahead(inode) || !sb_start_intwrite_trylock(sb))
		return false;
	if (nameless && READ_ONCE(sfs_sb(sb)->writable)) {
		sfs_release_orphan(sfs_sb(sb), sfs_node(inode)->ino);
		free = true;
	} else if (!nameless && sfs_try_begin_store(sfs_sb(sb))) {
		sfs_trim(inode);
		sfs_end_store(sfs_sb(sb));
	}
	sb_end_intwrite(sb);
	return free;
}

/* With its last name gone nobody but this inode refers to the blocks. */
static void sfs_evict_inode(struct inode *inode)
{
	struct scmfs_node *node = sfs_node(inode);
	bool used = node->ino && !is_bad_inode(inode) && sfs_sb(inode->i_sb)->writable;

	truncate_inode_pages_final(&inode->i_data);	/* none is pinned: see sfs_hold() */
	clear_inode(inode);
	sfs_forget_places(inode);
	sfs_forget_ahead(inode);
	scmfs_node_clear(node);
	if (used && sfs_put_blocks(inode))
		return;
	if (node->ino)
		scmfs_forget(sfs_fs(inode), node->ino);
}

/*
 * Nothing but the access time can be newer in RAM: with lazytime. And the other times of what is
 * written to without scmfs: a FIFO's content is a pipe's.
 */
static int sfs_write_inode(struct inode *inode, struct writeback_control *wbc)
{
	if (!sfs_sb(inode->i_sb)->writable)
		return 0;
	sfs_store_atime(inode);
	return special_file(inode->i_mode) ? sfs_store_times(inode) : 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

/**
 * sfs_settle - make what was fenced last, too, where a fence isn't enough
 * @sb: the file system
 *
 * The memory of a virtual machine may be a file of its host's: the device beneath knows.
 * Return: 0 or a negative error number.
 */
int sfs_settle(struct super_block *sb)
{
	scm_fence();
	return sb->s_bdev ? blkdev_issue_flush(sb->s_bdev) : 0;
}

/**
 * sfs_settle_file - the same for one file
 * @sb: the file system
 *
 * Where the device is synchronous, which is what MAP_SYNC of other file systems rests on, a fence
 * is all; the platform's own flush is for sync and unmount.
 *
 * Return: 0 or a negative error number.
 */
int sfs_settle_file(struct super_block *sb)
{
	if (!sfs_sb(sb)->synchronous)
		return sfs_settle(sb);
	scm_fence();
	return 0;
}

/**
 * sfs_settle_dir - after a change of names, where that is to last when the call returns
 * @dir: by its flags, or those of the mount
 *
 * Return: 0 or a negative error number: the change is there all the same.
 */
int sfs_settle_dir(const struct inode *dir)
{
	return IS_DIRSYNC(dir) ? sfs_settle_file(dir->i_sb) : 0;
}

/* sfs_settle_inode - after a change of an inode, likewise */
int sfs_settle_inode(const struct inode *inode)
{
	return IS_SYNC(inode) ? sfs_settle_file(inode->i_sb) : 0;
}

static int sfs_sync_fs(struct super_block *sb, int wait)
{
	if (READ_ONCE(sfs_sb(sb)->shut))
		return -EIO;
	if (!wait || !sfs_sb(sb)->writable)
		return 0;
	scmfs_save_wear(sfs_sb(sb)->fs);
	return sfs_settle(sb);
}

/* Are there files without names? Only a recovery would free those. */
static bool sfs_has_orphans(struct super_block *sb)
{
	return atomic_long_read(&sb->s_remove_count);
}

/* What is saved is out of date from now on; also when it is shut down: who waited may go on. */
static int sfs_thaw(struct super_block *sb)
{
	struct sfs_sb *s = sfs_sb(sb);

	if (!s->saved)
		return 0;
	scmfs_thaw(s->fs);
	s->saved = false;
	return READ_ONCE(s->shut) ? 0 : sfs_settle(sb);
}

/*
 * A copy of the memory that is made now can be mounted at once, also read-only. It has nothing to
 * recover, so nobody would look there for room ahead: files that are in use give it back before.
 * Last, as nobody thaws what could not be frozen.
 */
static int sfs_freeze(struct super_block *sb)
{
	struct sfs_sb *s = sfs_sb(sb);
	int err;

	if (READ_ONCE(s->shut))
		return -EIO;
	if (!s->writable)
		return 0;
	scmfs_save_wear(s->fs);
	err = sfs_settle(sb);
	if (err || sfs_has_orphans(sb))
		return err;
	sfs_trim_quiet(sb);
	mutex_lock(&s->bad_lock);
	scmfs_freeze(s->fs);
	mutex_unlock(&s->bad_lock);
	s->saved = true;
	err = sfs_settle(sb);
	if (err)
		sfs_thaw(sb);
	return err;
}

static int sfs_statfs(struct dentry *dentry, struct kstatfs *buf)
{
	struct super_block *sb = dentry->d_sb;
	struct scmfs_statfs st;

	scmfs_statfs(sfs_sb(sb)->fs, &st);
	buf->f_type = SCMFS_STATFS_MAGIC;
	buf->f_bsize = SCMFS_BLOCK_SIZE;
	buf->f_blocks = st.blocks;
	buf->f_bfree = st.free;
	buf->f_bavail = st.free;
	buf->f_files = st.inodes;
	buf->f_ffree = st.free_inodes;
	buf->f_namelen = SCMFS_NAME_MAX;
	buf->f_fsid = uuid_to_fsid(sb->s_uuid.b);
	return 0;
}

static int sfs_show_options(struct seq_file *m, struct dentry *root)
{
	struct sfs_sb *s = sfs_sb(root->d_sb);
	char text[SFS_OPTIONS_TEXT];
	struct sfs_options o;

	spin_lock(&s->gc.lock);
	o = s->options;
	spin_unlock(&s->gc.lock);
	sfs_options_show(&o, text);
	seq_puts(m, text);
	return 0;
}

/* All inodes are gone. */
static void sfs_put_super(struct super_block *sb)
{
	struct sfs_sb *s = sfs_sb(sb);

	sfs_bad_end(s);
	if (s->writable)
		scmfs_close(s->fs);
	else
		scmfs_abandon(s->fs);
	if (s->writable)
		sfs_settle(sb);
	sfs_windows_exit(s);
	sfs_region_detach(s, sb);
}

static const struct super_operations sfs_super_ops = {
	.alloc_inode = sfs_alloc_inode,
	.free_inode = sfs_free_inode,
	.evict_inode = sfs_evict_inode,
	.write_inode = sfs_write_inode,
	.sync_fs = sfs_sync_fs,
	.freeze_fs = sfs_freeze,
	.unfreeze_fs = sfs_thaw,
	.statfs = sfs_statfs,
	.show_options = sfs_show_options,
	.put_super = sfs_put_super,
};

/* --- mounting --------------------------------------------------------------------------------- */

static int sfs_make_root(struct super_block *sb, struct fs_context *fc)
{
	struct inode *root = sfs_iget(sb, SCMFS_ROOT_INO);

	if (IS_ERR(root)) {
		errorf(fc, "scmfs: its root directory can't be read");
		return PTR_ERR(root);
	}
	if (!S_ISDIR(root->i_mode)) {
		iput(root);
		errorf(fc, "scmfs: its root is no directory; fsck.scmfs may repair it");
		return -EUCLEAN;
	}
	sb->s_root = d_make_root(root);
	return sb->s_root ? 0 : -ENOMEM;
}

static void sfs_set_limits(struct super_block *sb)
{
	sb->s_magic = SCMFS_STATFS_MAGIC;
	sb->s_op = &sfs_super_ops;
	sb->s_export_op = &sfs_export_ops;
	sb->s_xattr = sfs_xattr_handlers;
	sb->s_flags |= SB_NOSEC | SB_I_VERSION;
	sb->s_blocksize = SCMFS_BLOCK_SIZE;
	sb->s_blocksize_bits = SCMFS_BLOCK_SHIFT;
	sb->s_maxbytes = min_t(u64, MAX_LFS_FILESIZE, SCMFS_MAX_FILE_BLOCKS << SCMFS_BLOCK_SHIFT);
	sb->s_max_links = SCMFS_LINK_MAX;
	sb->s_time_gran = 1;
	/* Those at which timespec64_to_ns() takes the limit itself for it are not among them. */
	sb->s_time_min = KTIME_SEC_MIN + 1;
	sb->s_time_max = KTIME_SEC_MAX - 1;
}

/*
 * In file systems from before there were attributes there are no ACLs either. With one store, as
 * files may be made meanwhile: without the flag neither a umask nor an ACL would count for them.
 */
static void sfs_set_acl_flag(struct super_block *sb)
{
	const struct sfs_sb *s = sfs_sb(sb);
	unsigned long flags = sb->s_flags & ~SB_POSIXACL;

	if (s->options.acl && scmfs_has_xattrs(s->fs))
		flags |= SFS_ACL_FLAG;
	if (flags != sb->s_flags)
		WRITE_ONCE(sb->s_flags, flags);
}

static int sfs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct sfs_sb *s = sfs_sb(sb);
	int err;

	sfs_set_limits(sb);
	err = sfs_region_attach(s, sb, fc);
	if (err)
		return err;
	err = sfs_windows_init(s);
	if (err)
		goto no_windows;
	err = sfs_region_open(s, fc, sb_rdonly(sb), !sb->s_bdev || !bdev_read_only(sb->s_bdev));
	if (err)
		goto no_fs;
	sfs_set_acl_flag(sb);
	super_set_uuid(sb, scmfs_super(s->fs)->uuid, sizeof(sb->s_uuid.b));
	/* Bad memory that was told of meanwhile: what it is in is not looked at. */
	err = READ_ONCE(s->shut) ? -EIO : s->options.has_phys ? super_setup_bdi(sb) : 0;
	if (!err)
		err = sfs_make_root(sb, fc);
	if (err)
		goto no_root;
	if (s->writable)
		sfs_gc_allow(s, sb);
	return 0;

no_root:
	sfs_bad_end(s);
	/* Nothing was done to it since it was opened. */
	if (s->writable)
		scmfs_close(s->fs);
	else
		scmfs_abandon(s->fs);
no_fs:
	sfs_windows_exit(s);
no_windows:
	sfs_region_detach(s, sb);
	return err;
}

static int sfs_parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct sfs_sb *s = fc->s_fs_info;

	return sfs_options_parse(&s->options, &fc->log, param);
}

/* A device that is mounted already is mounted once more as it is, which init must not pass off. */
static int sfs_get_tree_bdev(struct fs_context *fc, bool init)
{
	const struct sfs_sb *s = fc->s_fs_info;
	int err = get_tree_bdev(fc, sfs_fill_super);
	struct super_block *sb;

	if (err || !init || fc->root->d_sb->s_fs_info == s)
		return err;
	sb = fc->root->d_sb;
	dput(fc->root);
	fc->root = NULL;
	deactivate_locked_super(sb);
	errorf(fc, "scmfs: it is mounted: no init");
	return -EBUSY;
}

static int sfs_get_tree(struct fs_context *fc)
{
	const struct sfs_sb *s = fc->s_fs_info;
	const struct sfs_options *o = &s->options;
	int err = sfs_options_check(o, fc->sb_flags & SB_RDONLY, &fc->log);

	if (err)
		return err;
	return o->has_phys ? get_tree_nodev(fc, sfs_fill_super) : sfs_get_tree_bdev(fc, o->init);
}

/* What nobody has said anything about stays: fsconfig() tells of what is to change alone. */
static bool sfs_will_be_read_only(const struct fs_context *fc)
{
	bool said = fc->sb_flags_mask & SB_RDONLY;

	return said ? fc->sb_flags & SB_RDONLY : sb_rdonly(fc->root->d_sb);
}

/* Would they do, as it is now? */
static int sfs_check_named(struct sfs_sb *s, struct fs_context *fc, const struct sfs_options *new)
{
	struct sfs_options all;

	spin_lock(&s->gc.lock);
	all = s->options;
	spin_unlock(&s->gc.lock);
	sfs_options_name(&all, new);
	return sfs_options_check_gc(&all, &fc->log);
}

/* An ioctl may have set thresholds meanwhile: if these don't go together with them, its stay. */
static void sfs_set_named(struct sfs_sb *s, const struct sfs_options *new)
{
	struct sfs_options all;

	spin_lock(&s->gc.lock);
	all = s->options;
	sfs_options_name(&all, new);
	WRITE_ONCE(s->options.atomic, all.atomic);
	s->options.acl = all.acl;
	if (sfs_gc_options_ok(&all.gc))
		sfs_gc_configure(s, &all.gc);
	spin_unlock(&s->gc.lock);
}

/*
 * Where it is doesn't change, and nothing is made anew: of the options data=, acl and gc count.
 * What would fail comes before anything changes.
 */
static int sfs_reconfigure(struct fs_context *fc)
{
	struct sfs_sb *s = sfs_sb(fc->root->d_sb);
	const struct sfs_sb *new = fc->s_fs_info;
	bool read_only = sfs_will_be_read_only(fc);
	int err = sfs_check_named(s, fc, &new->options);

	if (err)
		return err;
	if (!read_only && !s->writable) {
		err = sfs_make_writable(s, fc);
		if (err)
			return err;
	}
	if (read_only)
		err = sfs_end_writing(s, fc->root->d_sb, fc->sb_flags & SB_FORCE);
	else
		sync_filesystem(fc->root->d_sb);
	if (err)
		return err;
	fc->sb_flags |= SB_I_VERSION;	/* mount(2) asks for all that it doesn't name to go */
	sfs_set_named(s, &new->options);
	sfs_set_acl_flag(fc->root->d_sb);
	if (!read_only && !s->shut)
		sfs_gc_allow(s, fc->root->d_sb);
	return 0;
}

static void sfs_free_fc(struct fs_context *fc)
{
	kfree(fc->s_fs_info);
}

static const struct fs_context_operations sfs_context_ops = {
	.parse_param = sfs_parse_param,
	.get_tree = sfs_get_tree,
	.reconfigure = sfs_reconfigure,
	.free = sfs_free_fc,
};

static int sfs_init_fs_context(struct fs_context *fc)
{
	struct sfs_sb *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	spin_lock_init(&s->ahead_lock);
	INIT_LIST_HEAD(&s->ahead);
	mutex_init(&s->making_room);
	init_rwsem(&s->numbers);
	init_rwsem(&s->storing);
	sfs_bad_init(s);
	sfs_options_init(&s->options);
	sfs_gc_init(s);
	fc->s_fs_info = s;
	fc->ops = &sfs_context_ops;
	return 0;
}

static void sfs_kill_sb(struct super_block *sb)
{
	struct sfs_sb *s = sfs_sb(sb);

	sfs_gc_forbid(s);	/* it has inodes in use */
	if (s->options.has_phys)
		kill_anon_super(sb);
	else
		kill_block_super(sb);
	sfs_gc_exit(s);
	kfree(s);
}

struct file_system_type sfs_type = {
	.owner = THIS_MODULE,
	.name = "scmfs",
	.init_fs_context = sfs_init_fs_context,
	.parameters = sfs_parameters,
	.kill_sb = sfs_kill_sb,
	.fs_flags = FS_ALLOW_IDMAP,
};
