// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the metadata of an ext2, 3 or 4 file system is.
 *
 * What stays where it was made: directories and extent trees come and go with files and are not
 * looked for.  The file system may be mounted: none of this changes while it is, unless it is
 * resized.
 */
#include <ext2fs/ext2fs.h>

#include "commands.h"
#include "ext_meta.h"
#include "msg.h"

struct search {
	ext2_filsys fs;
	uint64_t unit;
	struct ranges *r;
};

static void add_blocks(struct search *s, blk64_t first, uint64_t nr)
{
	uint64_t start = first * s->fs->blocksize, end = (first + nr) * s->fs->blocksize;

	if (nr)
		ranges_add(s->r, start / s->unit, (end - 1) / s->unit - start / s->unit + 1);
}

static void add_group(struct search *s, dgrp_t group)
{
	blk64_t super, old_desc, new_desc;
	blk_t used;

	if (ext2fs_super_and_bgd_loc2(s->fs, group, &super, &old_desc, &new_desc, &used))
		return;
	if (super || !group)
		add_blocks(s, super, 1);
	if (old_desc)
		add_blocks(s, old_desc,
			   s->fs->desc_blocks + s->fs->super->s_reserved_gdt_blocks);
	if (new_desc)
		add_blocks(s, new_desc, 1);
	add_blocks(s, ext2fs_block_bitmap_loc(s->fs, group), 1);
	add_blocks(s, ext2fs_inode_bitmap_loc(s->fs, group), 1);
	add_blocks(s, ext2fs_inode_table_loc(s->fs, group), s->fs->inode_blocks_per_group);
}

/* Only two of what libext2fs tells are of use. */
static int add_block(__attribute__((unused)) ext2_filsys fs, blk64_t *block,
		     __attribute__((unused)) e2_blkcnt_t count, __attribute__((unused)) blk64_t ref,
		     __attribute__((unused)) int offset, void *private)
{
	add_blocks(private, *block, 1);
	return 0;
}

static errcode_t add_journal(struct search *s)
{
	if (!ext2fs_has_feature_journal(s->fs->super) || !s->fs->super->s_journal_inum)
		return 0;
	return ext2fs_block_iterate3(s->fs, s->fs->super->s_journal_inum,
				     BLOCK_FLAG_READ_ONLY, NULL, add_block, s);
}

int ext_meta_find(const char *path, uint64_t unit, struct ranges *r)
{
	struct search s = { .unit = unit, .r = r };
	errcode_t err;
	dgrp_t group;

	initialize_ext2_error_table();
	err = ext2fs_open(path, EXT2_FLAG_64BITS | EXT2_FLAG_SOFTSUPP_FEATURES |
			  EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &s.fs);
	if (err)
		return fail("%s: no file system of ext2, 3 or 4: %s", path, error_message(err));
	for (group = 0; group < s.fs->group_desc_count; group++)
		add_group(&s, group);
	err = add_journal(&s);
	ext2fs_free(s.fs);
	if (err)
		return fail("%s: the journal's place: %s", path, error_message(err));
	ranges_settle(r);
	return EXIT_OK;
}
