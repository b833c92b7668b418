/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_SCMFS_CHECK_INTERNAL_H
#define EVENKEEL_SCMFS_CHECK_INTERNAL_H

#include "check.h"
#include "engine_internal.h"

/**
 * struct run - a check under way
 * @check: what is told
 * @fs: opened without recovery
 * @used: bit per block that belongs to something
 * @refs: names of each inode, by number
 * @subdirs: directories in each directory
 * @seen: directories whose names were looked at
 * @todo: directories that names were found for, for a while
 * @nr_todo: how many
 * @acls: inodes that have a broken ACL
 * @nr_acls: how many
 * @no_memory: there was none to check an inode, and no other is
 */
struct run {
	struct scmfs_check *check;
	struct scmfs *fs;
	unsigned long *used;
	u32 *refs;
	u32 *subdirs;
	unsigned long *seen;
	u32 *todo;
	u64 nr_todo;
	u64 *acls;
	u64 nr_acls;
	bool no_memory;
};

void found(struct run *run, const char *fmt, ...) __printf(2, 3);
/* The same where the repair takes something from somebody; false: so there is none. */
bool found_loss(struct run *run, const char *fmt, ...) __printf(2, 3);
bool is_live(const struct run *run, u64 ino);
bool take_blocks(struct run *run, u64 block, u64 count);	/* false: they can't be its */
u32 mode_of(const struct run *run, u64 ino);

/* check_extents.c */
/* Places of the extents that an inode has, and how many: kvfree(). NULL: none, or no memory. */
struct scmfs_extent **collect_extents(struct run *run, struct scmfs_inode *inode, u64 *nr);
bool adds_up(const struct run *run, u64 ino);
/* Return: blocks in them; @maps are in the blocks of extents. */
u64 check_extents(struct run *run, u64 ino, struct scmfs_inode *inode, u64 maps);

/* check_types.c */
bool known_type(u32 mode);
void check_types(struct run *run);

/* check_names.c */
u64 slots_of(const struct scmfs_dirent *ent, u64 slot);	/* of a name at @slot; 0: it is none */
u64 check_dir_blocks(struct run *run, u64 ino, u64 others);
void check_tree(struct run *run);
void check_links(struct run *run);

/* check_xattrs.c */
u64 check_xattrs(struct run *run, u64 ino, struct scmfs_inode *inode);	/* their blocks */

/* check_acls.c */
bool has_broken_acl(struct scmfs *fs, u64 ino);
int check_acls(u8 *base, u64 size, const u64 *inos, u64 nr, const char **reason);

/*
 * Inodes that no name leads to, from @from on; 0 when there is none. Directories come before
 * files.
 */
u64 next_lost(const struct run *run, u64 from);

#endif
