/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_SCMFS_CHECK_INTERNAL_H
#define EVENKEEL_SCMFS_CHECK_INTERNAL_H

#include "check.h"
#include "engine_internal.h"

/**
 * struct run - a check under way
 * @check: what is told
 * @fs: opened without recovery. Its map of blocks has those that nobody refers to, of those that
 *	somebody may
 * @vouched: it was closed, and the maps are as they were then
 * @nr_lost: @vouched: blocks that were used then, and that nobody refers to
 * @used: bit per block that belongs to something, or that nobody can have: @vouched to be free
 * @refs: names of each inode, by number
 * @subdirs: directories in each directory
 * @seen: directories whose names were looked at
 * @todo: directories that names were found for, for a while
 * @nr_todo: how many
 * @top: the directory that the walk over names began with
 * @acls: inodes that have a broken ACL
 * @nr_acls: how many
 * @no_memory: there was none to check an inode, and no other is
 */
struct run {
	struct scmfs_check *check;
	struct scmfs *fs;
	bool vouched;
	u64 nr_lost;
	unsigned long *used;
	u32 *refs;
	u32 *subdirs;
	unsigned long *seen;
	u32 *todo;
	u64 nr_todo;
	u64 top;
	u64 *acls;
	u64 nr_acls;
	bool no_memory;
};

void found(struct run *run, const char *fmt, ...) __printf(2, 3);
/* The same where the repair takes something from somebody; false: so there is none. */
bool found_loss(struct run *run, const char *fmt, ...) __printf(2, 3);
void not_vouched(struct run *run);	/* what comes next does not believe the saved maps */
bool is_live(const struct run *run, u64 ino);
bool take_blocks(struct run *run, u64 block, u64 count);	/* false: they can't be its */
u32 mode_of(const struct run *run, u64 ino);

static inline struct scmfs_ext ext_of(const struct scmfs_extent *place)
{
	return scmfs_ext_of(scmfs_read(&place->block), scmfs_read(&place->second));
}

/* check_blocks.c */
void know_blocks(struct run *run);
void end_removed(struct run *run);
void find_lost(struct run *run);
bool all_lost(const struct run *run, u64 block, u64 count);
void give_lost(struct run *run, u64 block, u64 count);	/* to somebody: they are that no more */
bool was_free(const struct run *run, u64 block, u64 count);	/* all of them */
bool nothing_lost(const struct run *run, u64 has, u64 counted);
bool maps_match(const struct run *run, const u8 *base);

/* check_lengths.c */
/* Put right what one extent of an inode has wrong, if all else tells what; @maps: as below. */
void mend_extent(struct run *run, u64 ino, struct scmfs_inode *inode, u64 maps);

/* check_extents.c */
/* Can it be an extent of the inode, and do none of its blocks belong to others? */
bool can_have(const struct run *run, const struct scmfs_inode *inode, const struct scmfs_ext *e);
/* Places of the extents that an inode has, and how many: kvfree(). NULL: none, or no memory. */
struct scmfs_extent **collect_extents(struct run *run, struct scmfs_inode *inode, u64 *nr);
/* Does an inode have as many blocks as it says? Two that refer to the same can't both be right. */
bool adds_up(const struct run *run, u64 ino);
/* The same if @head is one of its blocks of extents, as it does not say. */
bool adds_up_with(const struct run *run, u64 ino, u64 head);
/* Return: blocks in them; @maps are in the blocks of extents. */
u64 check_extents(struct run *run, u64 ino, struct scmfs_inode *inode, u64 maps);

/* check_types.c */
bool known_type(u32 mode);
void check_types(struct run *run);

/* check_doubles.c */
/**
 * struct doubles - names that are in a directory more than once
 * @name: in the order in which they lie there
 * @nr: how many
 * @next: of them the walk comes by next
 * @stays: byte for each that is the first of some: one of these has been found to stay
 */
struct doubles {
	struct alike *name;
	u64 nr;
	u64 next;
	u8 *stays;
};

/*
 * Before anything of a directory's names is changed; its extents at @place, in order. False: no
 * memory, and nothing to forget.
 */
bool find_doubles(struct run *run, struct scmfs_extent **place, u64 nr, struct doubles *d);
void forget_doubles(struct doubles *d);
/*
 * Of all names that slots_of() knows, in order: has one like it stayed? If not, this one does, if
 * it may.
 */
bool is_double(struct doubles *d, const struct scmfs_dirent *ent, bool may_stay);

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

/* The first inode from @from on, by its number, that no name leads to; 0: there is none. */
u64 next_lost(const struct run *run, u64 from);

#endif
