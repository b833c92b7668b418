/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: the kernel's side of scmfs
 *
 * What begins with scmfs_ is the metadata engine (engine.h), which knows no VFS; what begins with
 * sfs_ is what lies between it and VFS. The engine's inode is the one that counts. VFS' copy of it
 * follows each operation, under the lock under which the operation was done.
 *
 * Lock order:
 *
 *   i_rwsem, as VFS has it
 *     mmap_lock
 *       sfs_sb.making_room, sfs_gc.step: who has one of them takes inodes' locks by trylock only,
 *       but for extents, so that who has i_rwsem may wait for it, and so may a fault
 *       the mapping's invalidate_lock: faults have it shared, who takes blocks out exclusively
 *         the kernel's locks of DAX entries
 *           sfs_inode.extents
 *             the engine's own, none of which is held when the engine returns
 *
 * A fault can't have i_rwsem, so to the engine ([X] and [S] in engine.h) a file's lock is
 * i_rwsem and extents: who changes extents, size, attributes or the times with these has both, or a
 * fault that fills a hole extents alone; who looks for blocks has it shared. Names and links, with
 * the times that change with them, are under i_rwsem alone, the directory's and the inode's: the
 * engine has locks for words of inodes. A user's memory is touched under i_rwsem alone, so that a
 * fault may take the rest; a write holds extents while it copies, and may not fault then. Extents
 * of two inodes are never locked at once, nor in eviction, which may be the kernel's that looks for
 * memory.
 */
#ifndef SCMFS_VFS_H
#define SCMFS_VFS_H

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/iversion.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/seqlock.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/workqueue.h>
#include <evenkeel/range.h>
#include <evenkeel/scm.h>

#include <compat/acl.h>
#include <compat/fs.h>
#include <compat/shrinker.h>

#include "engine.h"
#include "options.h"

struct dax_device;
struct fs_context;
struct iomap_ops;
struct sfs_window;
struct scmfs_gc;
struct scmfs_gc_info;

/**
 * struct sfs_areas - what nvmalloc() has of a file system; each is right by itself
 * @nr: open areas
 * @reserved: bytes that they can be expanded to
 * @mapped: bytes that they have
 * @windowed: bytes of these in several pieces, which are mapped next to each other
 */
struct sfs_areas {
	atomic64_t nr;
	atomic64_t reserved;
	atomic64_t mapped;
	atomic64_t windowed;
};

/**
 * struct sfs_gc - garbage collection of a file system; vfs_gc.c
 * @sb: of which
 * @collector: made by the first pass
 * @work: a pass
 * @inode: of the file that it is at, with a reference
 * @brought: number of the file that it has brought to RAM, and has not done with; 0: none
 * @lock: for what follows up to @error, and for sfs_options.gc
 * @allowed: passes may begin: it is mounted, writable, and not shut down
 * @wanted: somebody has started it
 * @order: counts how often, so that a round that began before is not taken for its answer
 * @halt: somebody has stopped it, or turned it off: the pass ends
 * @stopped: what was started was ended before all was done; until it is started, or on, again
 * @rounds: that began since then
 * @quiet: rounds in turn that found nothing to do
 * @done: what the collector counted when the round began
 * @error: why the last pass ended early
 * @step: held from the look for a run to the end of a relocation, see sfs_gc_make_way()
 * @needy: tasks that found no room, and have not tried again
 * @moved: there was a relocation, since it is mounted
 */
struct sfs_gc {
	struct super_block *sb;
	struct scmfs_gc *collector;
	struct delayed_work work;
	struct inode *inode;
	u64 brought;
	spinlock_t lock;	/* for what follows up to error */
	bool allowed;
	bool wanted;
	u64 order;
	bool halt;
	bool stopped;
	u32 rounds;
	u32 quiet;
	u64 done;
	int error;
	struct mutex step;	/* see sfs_gc_make_way() */
	atomic_t needy;
	bool moved;
};

#define SFS_BAD_EARLY	8u

/**
 * struct sfs_bad_part - bad memory of a range
 * @offset: of its first byte
 * @bytes: how many
 */
struct sfs_bad_part {
	u64 offset;
	u64 bytes;
};

/**
 * struct sfs_sb - a mounted file system
 * @fs: the engine's
 * @mem: the memory set aside for it
 * @base: where the file system begins in that
 * @bytes: what is left from there on
 * @pages: DAX: holds the struct pages of its driver
 * @dax: the device that the kernel maps the memory by
 * @dax_offset: where @base is in it, bytes
 * @nr_held: files that no program has open, but pages of which are pinned (vfs_mmap.c)
 * @synchronous: what was fenced lasts, there is nothing for a device to flush
 * @options: what mount was told
 * @writable: the engine may store
 * @was_writable: or could, since it was mounted: its log stays the one it is
 * @shut: nothing is done any more (vfs_shutdown.c)
 * @saved: frozen, and the media says that it was closed
 * @ahead_lock: for the list of such files
 * @ahead: files in RAM that may have blocks beyond their ends (vfs_room.c)
 * @making_room: they give these back, for one task after the other
 * @rooms_made: that they had some, so often
 * @storing: shared: somebody stores of whom VFS doesn't know (vfs_remount.c)
 * @numbers: of files: who makes one has it shared until the file has an inode in RAM
 * @windows_lock: for the list of windows
 * @windows: those in use, the one that was made or used last first
 * @nr_windows: how many
 * @window_bytes: mapped by them
 * @windows_made: since it was mounted
 * @windows_reclaimed: of them, by the shrinker
 * @shrinker: drops windows when memory is short
 * @areas: of nvmalloc()
 * @gc: garbage collection
 * @bad: some of the memory is known to be bad
 * @bad_lock: for what follows, and held while something is noted, or the maps are saved
 * @bad_told: what is reported is noted
 * @bad_early: what was reported before, in the range
 * @nr_bad_early: how much of that; more than there is room for: some is forgotten
 */
struct sfs_sb {
	struct scmfs *fs;
	struct scm_range mem;
	void *base;
	u64 bytes;
	struct dev_pagemap *pages;
	struct dax_device *dax;
	u64 dax_offset;
	atomic_t nr_held;
	bool synchronous;
	struct sfs_options options;
	bool writable;
	bool was_writable;
	bool shut;
	bool saved;
	spinlock_t ahead_lock;	/* for ahead */
	struct list_head ahead;
	struct mutex making_room;	/* see sfs_trim_noted(); for rooms_made */
	u64 rooms_made;
	struct rw_semaphore storing;	/* see vfs_remount.c */
	struct rw_semaphore numbers;	/* see vfs_export.c */
	spinlock_t windows_lock;	/* protects what follows up to windows_reclaimed */
	struct list_head windows;
	unsigned long nr_windows;
	u64 window_bytes;
	u64 windows_made;
	u64 windows_reclaimed;
	struct compat_shrinker shrinker;
	struct sfs_areas areas;
	struct sfs_gc gc;
	bool bad;
	struct mutex bad_lock;	/* see vfs_bad.c */
	bool bad_told;
	struct sfs_bad_part bad_early[SFS_BAD_EARLY];
	unsigned int nr_bad_early;
};

/**
 * struct sfs_piece - where some of a file is, for who has i_rwsem; vfs_piece.c
 * @lock: for what follows: who remembers another one has i_rwsem shared, perhaps
 * @start: byte of the file
 * @end: byte behind it, the same when there is none
 * @shift: from a byte of the file to its offset in the region
 */
struct sfs_piece {
	seqlock_t lock;
	u64 start;
	u64 end;
	u64 shift;
};

/**
 * struct sfs_inode - an inode in RAM
 * @node: the engine's part
 * @extents: of a file: where its blocks are
 * @flushing: of a file: what is mapped, on kernels that need one at a time (compat/dax.h)
 * @piece: of a file: what was read or written last
 * @window: of a file in pieces: all of it in one; NULL: none yet
 * @walks: reads that had to go from piece to piece since the last look at whether to make one;
 *	below 0 after the shrinker has taken it
 * @tried: pages that the last try was for; 0: none since the window was dropped
 * @around: some of what was a hole to mappings has become written without their notice
 * @last_tries: who found no room to be had from others, and does without
 * @tail_known: behind its end are zeroes, or what was stored there through a mapping since
 * @pinned: the kernel has forgotten that pages were mapped while somebody had them pinned
 * @ahead: in the list of files that may have blocks beyond their ends
 * @held: in use until nobody has pages of it pinned
 * @vfs: VFS' part
 */
struct sfs_inode {
	struct scmfs_node node;
	struct rw_semaphore extents;
	struct rw_semaphore flushing;
	struct sfs_piece piece;
	struct sfs_window __rcu *window;
	int walks;
	unsigned long tried;
	bool around;
	atomic_t last_tries;
	bool tail_known;
	bool pinned;
	atomic_t held;
	struct list_head ahead;
	struct inode vfs;
};

static inline struct sfs_sb *sfs_sb(const struct super_block *sb)
{
	return sb->s_fs_info;
}

static inline struct scmfs *sfs_fs(const struct inode *inode)
{
	return sfs_sb(inode->i_sb)->fs;
}

static inline struct sfs_inode *sfs_inode(const struct inode *inode)
{
	return container_of(inode, struct sfs_inode, vfs);
}

static inline struct scmfs_node *sfs_node(const struct inode *inode)
{
	return &sfs_inode(inode)->node;
}

/* Is it over? -EIO then. */
static inline int sfs_alive(const struct inode *inode)
{
	return READ_ONCE(sfs_sb(inode->i_sb)->shut) ? -EIO : 0;
}

/* The present as the engine wants it. */
static inline s64 sfs_now(struct inode *inode)
{
	struct timespec64 now = current_time(inode);

	return timespec64_to_ns(&now);
}

/*
 * The change attribute of NFS, whose clients take what they have for what there is as long as it
 * stays. It is in RAM alone: an inode that comes to RAM begins with its ctime, and @more, in ns;
 * there is less than a change in each of these. Somebody may have asked before it came, so the next
 * change counts.
 */
static inline void sfs_begin_version(struct inode *inode, u64 more)
{
	struct timespec64 ctime = inode_get_ctime(inode);

	inode_set_iversion_queried(inode, timespec64_to_ns(&ctime) + more);
}

/* Something has changed, be it in the tick of the last change; if anybody has asked since then. */
static inline void sfs_changed(struct inode *inode)
{
	inode_maybe_inc_iversion(inode, false);
}

/* What the engine was told about a change of the content. */
static inline void sfs_set_times(struct inode *inode, s64 now)
{
	inode_set_mtime_to_ts(inode, ns_to_timespec64(now));
	inode_set_ctime_to_ts(inode, ns_to_timespec64(now));
	sfs_changed(inode);
}

/* What blocks would not help, so that nobody need give any back, is a lack of room all the same. */
static inline int sfs_full(int err)
{
	return err == -E2BIG ? -ENOSPC : err;
}

/* How many bytes from @at of the region on may be touched; up to @len. */
static inline u64 sfs_good(const struct sfs_sb *s, u64 at, u64 len)
{
	return likely(!READ_ONCE(s->bad)) ? len : scmfs_good(s->fs, at, len);
}

/*
 * Free an inode that has no links. Who saves the maps as clean may be another task, with its own
 * fences: by then it has to be so.
 */
static inline void sfs_release_orphan(const struct sfs_sb *s, u64 ino)
{
	scmfs_release(s->fs, ino);
	scm_fence();
}

/* vfs_bad.c */
void sfs_bad_init(struct sfs_sb *s);
struct scmfs_bad_list sfs_bad_list(struct sfs_sb *s);
void sfs_bad_begin(struct sfs_sb *s);
void sfs_bad_end(struct sfs_sb *s);

/* vfs_main.c */
extern struct workqueue_struct *sfs_wq, *sfs_held_wq, *sfs_gc_wq;

/* vfs_region.c */
int sfs_region_attach(struct sfs_sb *s, struct super_block *sb, struct fs_context *fc);
void sfs_region_detach(struct sfs_sb *s, struct super_block *sb);
int sfs_region_open(struct sfs_sb *s, struct fs_context *fc, bool read_only, bool recover);

/* vfs_remount.c */
bool sfs_try_begin_store(struct sfs_sb *s);
void sfs_end_store(struct sfs_sb *s);
int sfs_make_writable(struct sfs_sb *s, struct fs_context *fc);
int sfs_end_writing(struct sfs_sb *s, struct super_block *sb, bool forced);

/* vfs_super.c */
extern struct file_system_type sfs_type;
int sfs_inode_cache_init(void);
void sfs_inode_cache_exit(void);

/* vfs_inode.c */
extern const struct inode_operations sfs_file_iops;
struct inode *sfs_iget(struct super_block *sb, u64 ino);
int sfs_adopt(struct inode *inode, u64 ino, dev_t rdev);
void sfs_refresh(struct inode *inode);
int sfs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		unsigned int flags);
int sfs_resize(struct inode *inode, u64 size);
int sfs_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr);
void sfs_store_atime(struct inode *inode);
int sfs_store_times(struct inode *inode);

/* vfs_namei.c, vfs_dir.c, vfs_file.c */
extern const struct inode_operations sfs_dir_iops, sfs_symlink_iops, sfs_special_iops;
extern const struct file_operations sfs_dir_fops, sfs_file_fops;
int sfs_fsync(struct file *file, loff_t start, loff_t end, int datasync);
int sfs_settle(struct super_block *sb);
int sfs_settle_file(struct super_block *sb);
int sfs_settle_dir(const struct inode *dir);
int sfs_settle_inode(const struct inode *inode);

/* vfs_dax.c */
extern const struct address_space_operations sfs_aops;
extern const struct iomap_ops sfs_iomap_ops, sfs_report_ops;
int sfs_dax_init(struct sfs_sb *s);
void sfs_dax_exit(struct sfs_sb *s);

/* vfs_export.c */
extern const struct export_operations sfs_export_ops;

/* vfs_flags.c */
struct fileattr;
void sfs_apply_flags(struct inode *inode, u32 flags);
void sfs_tell_flags(struct inode *inode, u32 flags, struct kstat *stat);
int sfs_fileattr_get(struct dentry *dentry, struct fileattr *fa);
int sfs_fileattr_set(struct mnt_idmap *idmap, struct dentry *dentry, struct fileattr *fa);

/* vfs_xattr.c */
#define SFS_BIRTH_XATTRS	8u

/**
 * struct sfs_birth - attributes that an inode has from the beginning
 * @xattr: those
 * @nr: how many
 * @acl: one of them, as the kernel has it; or NULL
 * @default_acl: likewise
 */
struct sfs_birth {
	struct scmfs_xattr xattr[SFS_BIRTH_XATTRS];
	u32 nr;
	struct posix_acl *acl;
	struct posix_acl *default_acl;
};

extern compat_handler sfs_xattr_handlers[];
int sfs_get_xattr(struct inode *inode, u32 index, const char *name, void *value, size_t size);
int sfs_set_xattr(struct inode *inode, const struct scmfs_xattr *x, unsigned int flags,
		  const struct scmfs_attr *attr, unsigned int mask);
ssize_t sfs_listxattr(struct dentry *dentry, char *list, size_t size);
int sfs_birth_begin(struct sfs_birth *birth, struct inode *inode, struct inode *dir,
		    const struct qstr *name);
int sfs_birth_add(struct sfs_birth *birth, u32 index, const char *name, const void *value,
		  size_t len);
void sfs_birth_end(struct sfs_birth *birth);

/* vfs_acl.c */
#ifdef CONFIG_FS_POSIX_ACL
#define SFS_ACL_IOPS	.get_inode_acl = sfs_get_inode_acl, .set_acl = sfs_set_acl
#define SFS_ACL_FLAG	SB_POSIXACL

struct posix_acl *sfs_get_inode_acl(struct inode *inode, int type, bool rcu);
int sfs_set_acl(struct mnt_idmap *idmap, struct compat_acl_target *target, struct posix_acl *acl,
		int type);
struct posix_acl *sfs_chmod_begin(struct inode *inode, unsigned int valid);
int sfs_chmod(struct inode *inode, struct posix_acl **acl, const struct scmfs_attr *attr,
	      unsigned int mask);
int sfs_birth_acls(struct sfs_birth *birth, struct inode *inode, struct inode *dir);
#else
#define SFS_ACL_IOPS	.get_inode_acl = NULL
#define SFS_ACL_FLAG	0

static inline struct posix_acl *sfs_chmod_begin(struct inode *inode, unsigned int valid)
{
	return NULL;
}

static inline int sfs_chmod(struct inode *inode, struct posix_acl **acl,
			    const struct scmfs_attr *attr, unsigned int mask)
{
	return -EOPNOTSUPP;
}

static inline int sfs_birth_acls(struct sfs_birth *birth, struct inode *inode, struct inode *dir)
{
	return 0;
}
#endif

/* vfs_ioctl.c */
long sfs_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
struct inode *sfs_in_use(struct super_block *sb, u64 ino);

/* vfs_shutdown.c */
int sfs_shutdown(struct super_block *sb, u32 __user *arg);

/* vfs_mmap.c */
int sfs_mmap(struct file *file, struct vm_area_struct *vma);
int sfs_layout_lock(struct inode *inode, u64 start, u64 end);
void sfs_layout_unlock(struct inode *inode);
void sfs_filled(struct inode *inode, u64 start, u64 end);
bool sfs_is_free(struct inode *inode, u64 start, u64 end);
void sfs_unmapped(struct inode *inode);
void sfs_closed(struct file *file);

/* vfs_room.c */
void sfs_note_ahead(struct inode *inode);
void sfs_forget_ahead(struct inode *inode);
bool sfs_has_room_ahead(struct inode *inode);
int sfs_trim(struct inode *inode);
void sfs_trim_quiet(struct super_block *sb);
bool sfs_make_room(struct super_block *sb, struct inode *busy);
void sfs_made_room(struct super_block *sb);

/*
 * To write to what was reserved takes a block now and then, or else zeroes all over it. Nobody
 * begins with the zeroes, of which there may be gigabytes: first others are asked for room.
 */
static inline unsigned int sfs_not_around(const struct inode *inode)
{
	return atomic_read(&sfs_inode(inode)->last_tries) ? 0 : SCMFS_WRITE_NOT_AROUND;
}

static inline void sfs_last_try_begin(struct inode *inode)
{
	atomic_inc(&sfs_inode(inode)->last_tries);
}

static inline void sfs_last_try_end(struct inode *inode)
{
	atomic_dec(&sfs_inode(inode)->last_tries);
}

/* vfs_gc.c */
void sfs_gc_init(struct sfs_sb *s);
void sfs_gc_allow(struct sfs_sb *s, struct super_block *sb);
void sfs_gc_forbid(struct sfs_sb *s);
void sfs_gc_end(struct sfs_sb *s);
void sfs_gc_exit(struct sfs_sb *s);
void sfs_gc_configure(struct sfs_sb *s, const struct sfs_gc_options *o);
int sfs_gc_set(struct sfs_sb *s, const struct scmfs_gc_info *info);
void sfs_gc_tell(struct sfs_sb *s, struct scmfs_gc_info *info);
bool sfs_gc_make_way(struct sfs_sb *s);
void sfs_gc_go_on(struct sfs_sb *s);

/* vfs_piece.c */
void sfs_piece_init(struct sfs_inode *si);
u64 sfs_piece_find(const struct inode *inode, u64 pos, u64 len);
void sfs_piece_keep(struct inode *inode, const struct scmfs_seg *seg);
void sfs_forget_places(struct inode *inode);

/* vfs_window.c */
int sfs_windows_init(struct sfs_sb *s);
void sfs_windows_exit(struct sfs_sb *s);
struct sfs_window *sfs_window_enter(struct inode *inode, u64 pos, u64 len, const void **src);
void sfs_window_leave(struct sfs_window *w);
void sfs_window_walked(struct inode *inode);
void sfs_window_drop(struct inode *inode);
unsigned long sfs_collect(struct inode *inode, struct page **pages, unsigned long max);

#endif
