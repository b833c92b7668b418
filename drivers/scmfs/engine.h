/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: scmfs' metadata engine
 *
 * Inodes, names, extents, allocation and recovery of a file system in a region of memory
 * (scmfs_format.h). It knows no VFS: the module, mkfs, fsck and the tests build the same source.
 * It stores to the region only through evenkeel/scm.h and evenkeel/undo.h. It never reads or
 * writes the content of files, except to zero what must not be seen and to copy the edges of
 * blocks.
 *
 * Every function that changes something is atomic whenever power goes, and what it did lasts when
 * it returns, unless it says otherwise. When it returns an error nothing was changed, with the
 * exception of scmfs_write_end(), scmfs_reserve(), scmfs_zero() and scmfs_punch(), whose work is in
 * steps: each is atomic.
 *
 * Who locks what
 *
 *   The caller (VFS: i_rwsem) serializes the operations on one object: those marked [X] have the
 *   exclusive lock of every node and ino among their arguments, those marked [S] the shared or
 *   the exclusive one. What
 *   is read without it (scmfs_getattr()) is right word by word. For a name that is replaced or
 *   removed the victim counts as an argument. Where VFS does not lock an inode whose ctime
 *   changes (a directory that is renamed in place), nothing is lost: the engine has locks of its
 *   own
 *   for words of inodes.
 *   The engine: hashed mutexes for the words of inodes, up to five at once, in order of their
 *   index; within them the lane of the undo log (a mutex); within that the spinlock of a unit of
 *   blocks (one at a time), or the one for the words of the inode map, which only a CPU takes
 *   that has used its own up. Beside them hashed mutexes for making indexes, one at a time. None
 *   is held when a function returns. The lanes are chosen by task.
 *
 * Memory: an idle file takes one bit. A directory that was used has an index (about 12 to 24
 * bytes a name, 48 after many were removed, and 24 to 48 a block) until scmfs_node_clear(), a file
 * in more than eight extents one (about 16 to 32 bytes an extent) until scmfs_forget().
 *
 * Times are s64 nanoseconds since 1970, sizes and offsets bytes, `region offset` bytes from the
 * region's start. All functions may sleep, but those that say so.
 */
#ifndef EVENKEEL_SCMFS_ENGINE_H
#define EVENKEEL_SCMFS_ENGINE_H

#include <linux/types.h>
#include <evenkeel/scmfs_format.h>
#include <evenkeel/undo.h>

struct scmfs;			/* an open file system */
struct scmfs_dir;		/* a directory's index */

/**
 * struct scmfs_node - an inode in use; part of the caller's own
 * @ino: its number
 * @dir: of a directory: its index, made when it is first needed; NULL for all others
 */
struct scmfs_node {
	u64 ino;
	struct scmfs_dir *dir;
};

/* ---- format, open, close ------------------------------------------------------------------- */

struct scmfs_bad_list;

/* Of the end of a device or of a region: what other formats have there is looked for within. */
#define SCMFS_TAIL_BYTES	131072u

/**
 * struct scmfs_format_params - what a new file system is to be
 * @uuid: its name for good; all zero: a random one
 * @label: NUL terminated, may be NULL
 * @nr_inodes: 0: one for 16 KiB
 * @lanes: of the undo log; 0: 16, fewer in a region below 16 MiB
 * @now: time
 * @uid: owner of the root directory
 * @gid: its group
 * @without: SCMFS_INCOMPAT_* that it is not to have, for older readers
 * @bad: memory at the end that can't be stored to; NULL: all can
 */
struct scmfs_format_params {
	u8 uuid[SCMFS_UUID_SIZE];
	const char *label;
	u64 nr_inodes;
	u32 lanes;
	s64 now;
	u32 uid;
	u32 gid;
	u64 without;
	const struct scmfs_bad_list *bad;
};

/*
 * scmfs_format - make an empty file system with a root directory (mode 0755)
 *
 * @base is aligned to 4 KiB, to 2 MiB if files are to be mapped by huge pages. What was there is
 *	gone, as is what is in the last SCMFS_TAIL_BYTES, but in bad memory: who looks for other
 *	formats finds none. A cut leaves either no file system (the magic is written last) or the
 *	new one.
 * Return: 0; -ENOSPC: too small; -EINVAL: params.
 */
int scmfs_format(void *base, u64 size, const struct scmfs_format_params *p);

/*
 * scmfs_format_head - how much of a region would be stored to by scmfs_format()
 *
 * @bytes: from the start. The last SCMFS_TAIL_BYTES are, too.
 * Return: as scmfs_format() would.
 */
int scmfs_format_head(u64 size, const struct scmfs_format_params *p, u64 *bytes);

/*
 * scmfs_probe - is there a file system?
 *
 * Reads the super block (or its copy: @damaged is set then), checks every field of it.
 * @reason is set to a static text on failure. Return: 0; -ENODATA: only zeroes where it should
 *	be; -EMEDIUMTYPE: something else is there, may be with such a copy behind it, as of who
 *	had the memory before; -EPROTONOSUPPORT: version or incompat bits not
 *	known; -EUCLEAN: damaged; -ENOSPC: the region is smaller than the file system.
 */
int scmfs_probe(const void *base, u64 size, struct scmfs_super *super, bool *damaged,
		const char **reason);
/* The copy alone, of whatever is at the start; as scmfs_probe(). */
int scmfs_probe_copy(const void *base, u64 size, struct scmfs_super *super, const char **reason);

#define SCMFS_OPEN_READ_ONLY	0x1	/* stores nothing; -EROFS when it was not closed cleanly */
#define SCMFS_OPEN_NO_SCAN	0x2	/* only to look: replays and loads nothing, as fsck does */

/**
 * struct scmfs_recovery - what opening had to do
 * @clean: it had been closed
 * @undo: of the log
 * @inodes: live ones seen; only when not @clean
 * @orphans: of them freed: unlinked, but in use when power went
 */
struct scmfs_recovery {
	bool clean;
	struct ek_undo_stats undo;
	u64 inodes;
	u64 orphans;
};

/*
 * scmfs_may_write - may what scmfs_probe() has found be changed?
 *
 * Return: 0; -EPROTONOSUPPORT: it has ro_compat bits, which are not known, and can be read; @reason
 *	as scmfs_probe() has it.
 */
int scmfs_may_write(const struct scmfs_super *super, const char **reason);

/*
 * scmfs_open - open, and recover what a cut left
 *
 * Time does not depend on the size when it was closed, but for copying the maps (a bit per
 * block). After a crash: the log, and one pass over the inodes that were ever used. May be cut
 * itself.
 * @recovery may be NULL. @reason as scmfs_probe() has it.
 * Return: 0; errors of scmfs_probe() and, but with SCMFS_OPEN_READ_ONLY or _NO_SCAN, of
 *	scmfs_may_write(); -EUCLEAN: an inode refers to blocks that it can't have; -EROFS; -ENOMEM.
 */
int scmfs_open(void *base, u64 size, unsigned int flags, struct scmfs **fs,
	       struct scmfs_recovery *recovery, const char **reason);

/**
 * struct scmfs_bad_list - memory that is known to be bad
 * @next: the next of it in [from, to), bytes of the region, and in @bytes how much in a row; @to:
 *	there is none
 * @ctx: of @next
 */
struct scmfs_bad_list {
	u64 (*next)(void *ctx, u64 from, u64 to, u64 *bytes);
	void *ctx;
};

/*
 * scmfs_open_beside - the same, where some memory is known to be bad before
 *
 * A file the extents of which are there would be taken for one without them by a recovery, and its
 * blocks be given to others: that is -EIO, too. What is before the files must be good. @bad may be
 * NULL.
 */
int scmfs_open_beside(void *base, u64 size, unsigned int flags, const struct scmfs_bad_list *bad,
		      struct scmfs **fs, struct scmfs_recovery *recovery, const char **reason);

/*
 * scmfs_damage_seen - was anything -EUCLEAN since the last fsck, while it could be changed?
 *
 * Context: any.
 */
bool scmfs_damage_seen(const struct scmfs *fs);

/*
 * scmfs_make_writable - what was opened with SCMFS_OPEN_READ_ONLY, or has become read-only, is
 *	going to be changed
 *
 * That it is in use is durable before anything else is stored. Nobody else is in the engine but to
 * read. @reason as scmfs_probe() has it. Return: 0; -ENOMEM; -EUCLEAN: the log; errors of
 * scmfs_may_write(). One that was writable before can always be.
 */
int scmfs_make_writable(struct scmfs *fs, const char **reason);
/*
 * scmfs_make_read_only - nothing is stored any more, and it is marked clean as if it was closed
 *
 * Nobody else is in the engine but to read, and there is no inode without links.
 */
void scmfs_make_read_only(struct scmfs *fs);

/*
 * scmfs_close - save the maps and mark it clean
 *
 * All nodes are cleared and released before. NULL is fine.
 */
void scmfs_close(struct scmfs *fs);
/* scmfs_abandon - forget it in RAM, touch nothing in the region: after an error, and in tests. */
void scmfs_abandon(struct scmfs *fs);
/*
 * scmfs_freeze - save the maps and mark it clean, as if it was closed, but keep it open
 * scmfs_thaw - it is going to be changed again
 *
 * Nothing at all is stored in between, so that a copy of the region can be opened at once.
 */
void scmfs_freeze(struct scmfs *fs);
void scmfs_thaw(struct scmfs *fs);
/* scmfs_save_wear - store the counts of wear; a crash loses what was counted since then. */
void scmfs_save_wear(struct scmfs *fs);

void *scmfs_base(const struct scmfs *fs);
const struct scmfs_super *scmfs_super(const struct scmfs *fs);
u64 scmfs_memory(const struct scmfs *fs);	/* bytes of RAM, without directories' indexes */
u64 scmfs_log_memory(const struct scmfs *fs);	/* RAM of the log: hsiao-2008 table 4.3 */
u64 scmfs_wear(struct scmfs *fs, u64 unit);	/* blocks allocated in these 2 MiB so far */

/*
 * scmfs_wear_counts - the same of up to @nr units from @unit on; at most SCMFS_LOOK_WORDS
 * scmfs_used_blocks - a bit for each block from @block on, which is a multiple of 64: 1 is used
 *
 * Each word is what it was at some moment of the call. Context: any.
 * Return: words filled; 0: there are no more.
 */
#define SCMFS_LOOK_WORDS	512u
u32 scmfs_wear_counts(struct scmfs *fs, u64 unit, u64 *count, u32 nr);
u32 scmfs_used_blocks(struct scmfs *fs, u64 block, u64 *word, u32 nr);
/* scmfs_next_inode - the number in use from @ino on, below @end; @end: none. Context: any. */
u64 scmfs_next_inode(struct scmfs *fs, u64 ino, u64 end);

/**
 * struct scmfs_statfs - how full it is
 * @blocks: that files can have, of 4 KiB
 * @free: of them
 * @inodes: that there can be
 * @free_inodes: of them
 * @aside: blocks that would be free if their memory was good
 */
struct scmfs_statfs {
	u64 blocks;
	u64 free;
	u64 inodes;
	u64 free_inodes;
	u64 aside;
};

/* scmfs_statfs - Context: any. */
void scmfs_statfs(struct scmfs *fs, struct scmfs_statfs *st);

/*
 * scmfs_set_bad - this memory is bad, from now on until it is closed
 *
 * Blocks that are free, or become free, are given to nobody; who is about to store to others gets
 * -EIO, and what would be zeroed of them is not. Nobody freezes it meanwhile.
 * @at, @len: bytes of the region; all of the blocks count. Return: 0; -ENOMEM.
 */
int scmfs_set_bad(struct scmfs *fs, u64 at, u64 len);
/* scmfs_good - how many bytes from @at on aren't known to be bad; up to @len. Context: any. */
u64 scmfs_good(const struct scmfs *fs, u64 at, u64 len);

/* ---- inodes ---------------------------------------------------------------------------------- */

/**
 * struct scmfs_attr - what an inode says
 * @ino: number
 * @size: bytes
 * @blocks: of 4 KiB, that it takes
 * @virtual_size: as scmfs_set_virtual_size() was told, or 0
 * @parent: of a directory
 * @atime: time
 * @mtime: time
 * @ctime: time
 * @btime: time
 * @mode: as in stat
 * @links: as in stat
 * @uid: as in stat
 * @gid: as in stat
 * @rdev: new_encode_dev() of the device
 * @generation: for file handles
 * @flags: FS_*_FL, kept for the caller
 */
struct scmfs_attr {
	u64 ino;
	u64 size;
	u64 blocks;
	u64 virtual_size;
	u64 parent;
	s64 atime;
	s64 mtime;
	s64 ctime;
	s64 btime;
	u32 mode;
	u32 links;
	u32 uid;
	u32 gid;
	u32 rdev;
	u32 generation;
	u32 flags;
};

/* scmfs_getattr - Context: any. Return: 0; -ESTALE: no live inode has this number; -EUCLEAN. */
int scmfs_getattr(struct scmfs *fs, u64 ino, struct scmfs_attr *attr);

#define SCMFS_SET_MODE		0x01	/* permission bits only; the type stays */
#define SCMFS_SET_UID		0x02
#define SCMFS_SET_GID		0x04
#define SCMFS_SET_ATIME		0x08
#define SCMFS_SET_MTIME		0x10
#define SCMFS_SET_CTIME		0x20
#define SCMFS_SET_FLAGS		0x40

/* scmfs_setattr - change the fields of @attr that @mask names, all at once [X] */
int scmfs_setattr(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr, unsigned int mask);

/*
 * scmfs_touch_atime - flushed, not fenced: lasts by this CPU's next fence. @atime is asked where no
 * operation sets another one: what it says is not older than what is there. Context: may sleep.
 */
void scmfs_touch_atime(struct scmfs *fs, u64 ino, s64 (*atime)(void *), void *ctx);

/*
 * scmfs_touch_times - the times of the last change, where @attr has later ones than there are.
 * Return: 0 or a negative error number. Context: may sleep; no lock is needed, for what has no
 * content here.
 */
int scmfs_touch_times(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr);

/*
 * scmfs_node_clear - drop what a node has in RAM [X]
 * scmfs_forget - drop what a file has in RAM beside its node [X]
 * scmfs_release - nobody uses this inode any more [X]
 *
 * Release frees the inode and its blocks if it has no links left. It is not fenced: a cut may
 * bring the orphan back, which the next opening frees.
 */
void scmfs_node_clear(struct scmfs_node *node);
void scmfs_forget(struct scmfs *fs, u64 ino);
void scmfs_release(struct scmfs *fs, u64 ino);

/* ---- extended attributes --------------------------------------------------------------------- */

/**
 * struct scmfs_xattr - one of them
 * @index: what its name begins with: SCMFS_XATTR_USER and so on
 * @name: the rest of it
 * @name_len: bytes of that; 0 for SCMFS_XATTR_ACL_*
 * @value: NULL: it is to go
 * @value_len: bytes, up to SCMFS_MAX_XATTR_VALUE
 */
struct scmfs_xattr {
	u32 index;
	const char *name;
	u32 name_len;
	const void *value;
	u32 value_len;
};

/*
 * scmfs_xattr_get - copy a value [S]
 *
 * Return: its bytes, @size 0 asks for no more; -ENODATA; -ERANGE: more than @size; -EUCLEAN.
 */
int scmfs_xattr_get(struct scmfs *fs, u64 ino, u32 index, const char *name, u32 len, void *value,
		    size_t size);

typedef int (*scmfs_xattr_fn)(void *ctx, u32 index, const char *name, u32 len, u32 value_len);

/* scmfs_xattr_list - hand out names, as long as @fn returns 0 [S]. Return: 0, @fn's, -EUCLEAN. */
int scmfs_xattr_list(struct scmfs *fs, u64 ino, scmfs_xattr_fn fn, void *ctx);

#define SCMFS_XATTR_CREATE	0x1	/* XATTR_*, the same values */
#define SCMFS_XATTR_REPLACE	0x2

/*
 * scmfs_xattr_set - set or remove one, and the fields of @attr that @mask names, all at once [X]
 *
 * All of an inode's together take 126 KiB at most.
 * Return: 0; -EEXIST (CREATE); -ENODATA (REPLACE, removing); -ENOSPC; -E2BIG: more than that;
 * -EOPNOTSUPP: the file system
 * is too old; -EINVAL; -ENOMEM; -EUCLEAN.
 */
int scmfs_xattr_set(struct scmfs *fs, u64 ino, const struct scmfs_xattr *x, unsigned int flags,
		    const struct scmfs_attr *attr, unsigned int mask);
/* scmfs_has_xattrs - can there be any? Context: any. */
bool scmfs_has_xattrs(const struct scmfs *fs);

/* ---- names ----------------------------------------------------------------------------------- */

/**
 * struct scmfs_new - what a new inode is to be
 * @mode: type and permissions
 * @uid: owner
 * @gid: group
 * @rdev: new_encode_dev(), of a device
 * @flags: FS_*_FL
 * @now: its four times, and the directory's mtime and ctime
 * @target: of a symbolic link
 * @target_len: bytes, without a NUL; up to 4095
 * @xattr: that it has from the beginning, of different names
 * @nr_xattrs: how many
 */
struct scmfs_new {
	u32 mode;
	u32 uid;
	u32 gid;
	u32 rdev;
	u32 flags;
	s64 now;
	const char *target;
	u32 target_len;
	const struct scmfs_xattr *xattr;
	u32 nr_xattrs;
};

/*
 * In all of these @len is 1 to SCMFS_NAME_MAX (-ENAMETOOLONG, -EINVAL for 0), and "." and ".."
 * are not names that are kept: they are the caller's business, by scmfs_attr.parent.
 */

/* scmfs_lookup - [S]. Return: 0; -ENOENT; -ENOMEM (index); -EUCLEAN. */
int scmfs_lookup(struct scmfs *fs, struct scmfs_node *dir, const char *name, u32 len, u64 *ino);

/*
 * scmfs_create - a new inode of any type, with a name: create, mkdir, mknod, symlink [X]
 *
 * At most two fences. A directory adds to the links of @dir.
 * Return: 0; -EEXIST; -ENOSPC: no blocks; -E2BIG: no inode, or too many names in @dir, which blocks
 * would not change; -EMLINK; -ENOENT: @dir was removed;
 * -ENOMEM; -EUCLEAN.
 */
int scmfs_create(struct scmfs *fs, struct scmfs_node *dir, const char *name, u32 len,
		 const struct scmfs_new *new, u64 *ino);

/* scmfs_tmpfile - a new inode with no name and no links, for O_TMPFILE; a cut frees it. */
int scmfs_tmpfile(struct scmfs *fs, const struct scmfs_new *new, u64 *ino);

/* scmfs_link - one more name for an inode, also for its first after scmfs_tmpfile() [X] */
int scmfs_link(struct scmfs *fs, struct scmfs_node *dir, const char *name, u32 len, u64 ino,
	       s64 now);

/*
 * scmfs_unlink - remove a name that is no directory's [X]
 * scmfs_rmdir - remove an empty directory's name [X]
 *
 * The inode stays until scmfs_release(). @ino is set to what had the name. @victim is its node.
 * Return: 0; -ENOENT; -EISDIR, -ENOTDIR; -ENOTEMPTY; -ENOMEM (index); -EUCLEAN.
 */
int scmfs_unlink(struct scmfs *fs, struct scmfs_node *dir, const char *name, u32 len, s64 now,
		 u64 *ino);
int scmfs_rmdir(struct scmfs *fs, struct scmfs_node *dir, const char *name, u32 len,
		struct scmfs_node *victim, s64 now);

#define SCMFS_RENAME_NOREPLACE	0x1	/* RENAME_*, the same values */
#define SCMFS_RENAME_EXCHANGE	0x2

/**
 * struct scmfs_rename - one end of a renaming
 * @dir: directory
 * @name: in it
 * @len: bytes of it
 * @node: what has the name; NULL if nothing has (only at the new end)
 * @whiteout: a file of scmfs_tmpfile()'s, not a directory, that gets the name in place of what had
 *	it (only at the old end, without SCMFS_RENAME_EXCHANGE); 0: the name goes
 */
struct scmfs_rename {
	struct scmfs_node *dir;
	const char *name;
	u32 len;
	struct scmfs_node *node;
	u64 whiteout;
};

/*
 * scmfs_rename - give @from's name up for @to's, in place of what had that, or exchange both [X]
 *
 * At most three fences. What was replaced stays until scmfs_release(). That a directory doesn't
 * get below itself is for the caller to see to. Two names of one inode: nothing happens.
 * Return: 0; -EINVAL: flags not known, or that exclude each other; -EEXIST (NOREPLACE); -ENOENT;
 * -ENOTEMPTY; -EISDIR; -ENOTDIR; -EMLINK; -ENOSPC; -ENOMEM; -EUCLEAN.
 */
int scmfs_rename(struct scmfs *fs, const struct scmfs_rename *from, const struct scmfs_rename *to,
		 unsigned int flags, s64 now);

/*
 * scmfs_readdir - hand out names [S]
 * @cookie: 0 at first; afterwards where to go on, which is at the damage with -EUCLEAN: names that
 *	came before that are not handed out again. A name keeps its cookie as long as it exists,
 *	whatever is created or removed beside it.
 * @emit: false ends the walk; the name it was called with is then handed out again. @name is not
 *	NUL terminated.
 *
 * "." and ".." are not among them.
 * Return: 0; -EUCLEAN.
 */
int scmfs_readdir(struct scmfs *fs, struct scmfs_node *dir, u64 *cookie,
		  bool (*emit)(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie),
		  void *ctx);

/*
 * scmfs_target - a symbolic link's target; @target is not NUL terminated. Return: bytes; -EINVAL;
 * -EUCLEAN.
 */
int scmfs_target(struct scmfs *fs, u64 ino, const char **target);

/* ---- content --------------------------------------------------------------------------------- */

#define SCMFS_HOLE	(~0ULL)

/**
 * struct scmfs_seg - a part of a file that is in one piece
 * @file: offset in the file
 * @at: region offset, or SCMFS_HOLE
 * @len: bytes
 */
struct scmfs_seg {
	u64 file;
	u64 at;
	u64 len;
};

/*
 * scmfs_map - where a file's bytes are [S]
 *
 * Fills @seg with up to @max parts from @offset on, at most @len bytes, whole; parts beyond the
 * size are told, too (what is there means nothing). Neighbours in file and region are one part.
 * Return: parts, less than @max when all of it was told; -EUCLEAN.
 */
int scmfs_map(struct scmfs *fs, u64 ino, u64 offset, u64 len, struct scmfs_seg *seg,
	      unsigned int max);
/*
 * scmfs_map_part - the part of a file at @offset, up to byte @end, which is behind it [S]
 *
 * As scmfs_map() tells it, up to the end of an extent or a hole. Return: 0; -EUCLEAN.
 */
int scmfs_map_part(struct scmfs *fs, u64 ino, u64 offset, u64 end, struct scmfs_seg *part);
/*
 * scmfs_report - the part of a file at @offset, up to @len bytes, with unwritten blocks told [S]
 *
 * To scmfs_map() those are holes: that is what is read there.
 * Return: 0; -EUCLEAN.
 */
int scmfs_report(struct scmfs *fs, u64 ino, u64 offset, u64 len, struct scmfs_seg *seg,
		 bool *unwritten);

/*
 * scmfs_each_written - the written blocks of a range that anybody could take out of the file [S]
 *
 * From @offset's block to that of the byte before @end, in no order, until @fn returns false. What
 * can't be read, or is damaged, is passed over; of what is left all is told that cutting, moving
 * or freeing the file finds, although scmfs_map() may tell an error there.
 */
void scmfs_each_written(struct scmfs *fs, u64 ino, u64 offset, u64 end,
			bool (*fn)(void *ctx, const struct scmfs_seg *seg), void *ctx);

/*
 * scmfs_mapped_size - bytes up to the end of the last extent (wu-2011's mapped_size) [S]
 *
 * All that a file can have if its extents can't be read: who grows it past some is to be refused.
 */
u64 scmfs_mapped_size(struct scmfs *fs, u64 ino);

#define SCMFS_WRITE_ATOMIC	0x1	/* data=atomic: into new blocks, which replace the old */
#define SCMFS_WRITE_KEEP_SIZE	0x2	/* of a page fault: the size stays */
#define SCMFS_WRITE_WHOLE	0x4	/* a hole's, for a huge page: in one aligned piece */
#define SCMFS_WRITE_NOT_AROUND	0x8	/* -ENOSPC rather than zeroes all over what was reserved */
#define SCMFS_WRITE_SEGS	8u

/**
 * struct scmfs_write - a write under way; the caller's, read-only for it
 * @ino: file
 * @offset: of the first byte
 * @len: bytes that this covers: up to what was asked for
 * @flags: SCMFS_WRITE_*
 * @nr: parts
 * @seg: where to store; never a hole
 * @fresh: bit per part: new blocks, which nothing refers to yet
 * @unwritten: bit per part: blocks that were reserved, and read as zeroes until now
 * @ahead: blocks allocated behind the last part
 * @around: more than was asked for is written now: zeroes around it
 */
struct scmfs_write {
	u64 ino;
	u64 offset;
	u64 len;
	unsigned int flags;
	unsigned int nr;
	struct scmfs_seg seg[SCMFS_WRITE_SEGS];
	u32 fresh;
	u32 unwritten;
	u32 ahead;
	bool around;
};

/*
 * scmfs_write_begin - find or allocate room for a write [X]
 * scmfs_write_end - and take it into the file [X]
 *
 * Between them the caller stores up to @len bytes into the parts, by scm_copy_nt(), or
 * scm_store() and scm_flush(); it need not fence. The end links new blocks, raises the size and
 * sets the times, at once, after what was stored is durable. With SCMFS_WRITE_ATOMIC the content
 * changes in the same instant; without, a cut may leave some of the bytes stored over old ones. A
 * write larger than what begin covers is several of them.
 *
 * Begin zeroes what a reader could otherwise see of former use: from the size to @offset, and the
 * edges of new blocks. Whoever appends gets room ahead (up to 2 MiB), which scmfs_trim() gives
 * back.
 * What was reserved can be written to without room for one more extent: then the end zeroes the
 * rest of it, all of which is written from then on. That takes as long as it is large, -EINTR: the
 * task is being killed. With SCMFS_WRITE_NOT_AROUND it is -ENOSPC.
 * With SCMFS_WRITE_WHOLE all of @len is one piece, the region offset of which is a multiple of
 * @len, or it is -EAGAIN before any of it is zeroed.
 * @done: bytes really stored, from the front; 0 gives up. The rest of new blocks is given back or
 *	zeroed. Each begin that returned 0 is followed by its end.
 * Return: 0; -EAGAIN; -ENOSPC; -EFBIG; -ENOMEM; -EUCLEAN. End: 0, and @len is what was written:
 * less than @done if there was no block for extents, and the front of it needed none; -ENOSPC: the
 * write did not happen.
 */
int scmfs_write_begin(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags,
		      struct scmfs_write *w);
int scmfs_write_end(struct scmfs *fs, struct scmfs_write *w, u64 done, s64 now);
/*
 * scmfs_write_known - begin a write to where the caller knows what is there [X]
 * @seg: not empty, in one piece of written blocks, each of which has a byte before the size; begins
 *	no later than at the size
 *
 * As scmfs_write_begin() without flags, but nothing is looked up.
 */
void scmfs_write_known(u64 ino, const struct scmfs_seg *seg, struct scmfs_write *w);

/*
 * scmfs_truncate - set the size [X]
 *
 * At once; blocks beyond are given back in further steps (a cut between them leaves them as room
 * ahead). Growing allocates nothing, and zeroes what there is already between the sizes.
 */
int scmfs_truncate(struct scmfs *fs, u64 ino, u64 size, s64 now);

#define SCMFS_SET_TIMES	(SCMFS_SET_MTIME | SCMFS_SET_CTIME)

/* A size, and SCMFS_SET_TIMES as of @now. */
static inline struct scmfs_attr scmfs_sized(u64 size, s64 now)
{
	return (struct scmfs_attr){ .size = size, .mtime = now, .ctime = now };
}

/*
 * scmfs_truncate_set - set the size, and the fields of @attr that @mask names, all at once [X]
 * @attr: its size is the new one
 * @mask: SCMFS_SET_*; no times are set but those that it names
 */
int scmfs_truncate_set(struct scmfs *fs, u64 ino, const struct scmfs_attr *attr,
		       unsigned int mask);

/*
 * scmfs_tail_is_dirty - is anything but zeroes behind the end of a file, in its last block? [S]
 * scmfs_clean_tail - zeroes there [X]
 *
 * Nobody sees these bytes but who maps the file. A cut leaves some: between a smaller size and the
 * zeroes that follow it, or between what is appended and the size. What was stored there through a
 * mapping goes as well, so this is for a file that nobody has mapped since the file system is
 * open: whoever changes the size afterwards looks after them.
 */
bool scmfs_tail_is_dirty(struct scmfs *fs, u64 ino);
void scmfs_clean_tail(struct scmfs *fs, u64 ino);

#define SCMFS_RESERVE_KEEP_SIZE	0x1
#define SCMFS_RESERVE_ZEROED	0x2	/* blocks that can be stored to at once */
#define SCMFS_RESERVE_NO_TIMES	0x4	/* who goes on with the same range sets them */

/*
 * scmfs_reserve - blocks for a range's holes, which are read as zeroes [X]
 *
 * They are unwritten, or zeroed where the file system has no such. Raises the size to the range's
 * end, or with KEEP_SIZE remembers that what is reserved stays: until scmfs_truncate() to the
 * size or below. In steps.
 * Return: 0; -EINVAL; -ENOSPC; -EFBIG; -EINTR: the task is being killed; -EUCLEAN.
 */
int scmfs_reserve(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags, s64 now);
/* scmfs_has_unwritten - can blocks be unwritten? Context: any. */
bool scmfs_has_unwritten(const struct scmfs *fs);
/*
 * scmfs_zero - make what a range has zeroes [X]
 *
 * Whole blocks become unwritten, where there are such, so nobody may store to them meanwhile; the
 * rest is zeroed in place, also all of it where there is no room for more extents. In steps.
 */
int scmfs_zero(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now);
/*
 * scmfs_punch - make a range zeroes, give its whole blocks back; not beyond the size [X]
 *
 * -ENOSPC: two extents would be left of one, and there is no room for that: to be followed by
 * another try, or by scmfs_zero() of the range, as parts of it are zeroes.
 */
int scmfs_punch(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now);
/*
 * scmfs_collapse - take a range of whole blocks out of a file: what follows moves up to it [X]
 * scmfs_insert - put a hole of whole blocks into a file: what follows moves behind it [X]
 *
 * At once. Nobody may have anything from @offset on mapped. Room ahead goes before.
 * Return: 0; -EINVAL: no whole blocks, or the range reaches the end of the file; -EFBIG; -ENOSPC
 * (blocks for extents); -ENOMEM; -EUCLEAN.
 */
int scmfs_collapse(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now);
int scmfs_insert(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now);
/* scmfs_trim - give back blocks beyond the size that nobody reserved [X] */
int scmfs_trim(struct scmfs *fs, u64 ino);

/*
 * scmfs_trim_all - the same for all files that a recovery has found
 *
 * Nobody has them then, and who has is whom room is asked of when blocks run short.
 * Context: nobody else uses it yet; sleeps.
 */
void scmfs_trim_all(struct scmfs *fs);
/* scmfs_kept_size - the byte from which on blocks are such [S] */
u64 scmfs_kept_size(struct scmfs *fs, u64 ino);
/* scmfs_has_room_ahead - are there such? [S] */
bool scmfs_has_room_ahead(struct scmfs *fs, u64 ino);
/* scmfs_room_ahead - how much that is, in bytes [S] */
u64 scmfs_room_ahead(struct scmfs *fs, u64 ino);
/* scmfs_set_virtual_size - remember how large a window nvmalloc() was asked for [X] */
int scmfs_set_virtual_size(struct scmfs *fs, u64 ino, u64 size);

/* ---- for fsck, dump and the tests ------------------------------------------------------------ */

/*
 * scmfs_name_hash - of a name, as dirents have it. Context: any.
 * scmfs_inode - an inode's place in the region; NULL when the number is out of range. Context:
 * any.
 */
u32 scmfs_name_hash(const char *name, u32 len);
struct scmfs_inode *scmfs_inode(const struct scmfs *fs, u64 ino);

#endif
