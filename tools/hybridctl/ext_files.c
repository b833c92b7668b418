// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in lost ranges of an ext2, 3 or 4 file system.
 *
 * Once through all inodes: whose blocks lie there?  Then once through all directories: what are
 * these inodes called?  The file system may be mounted: what is seen is what its driver has in the
 * device's page cache, so what is not allocated yet is not found, and the names are those of now.
 */
#include <stdlib.h>
#include <string.h>

#include "ext_files.h"
#include "ext_io.h"
#include "msg.h"

const char * const ext_part_name[EXT_NR_PARTS] = {
	[EXT_SUPER] = "superblock",
	[EXT_DESCRIPTORS] = "group descriptors",
	[EXT_BLOCK_BITMAP] = "block bitmap",
	[EXT_INODE_BITMAP] = "inode bitmap",
	[EXT_INODE_TABLE] = "inode table",
	[EXT_JOURNAL] = "journal",
	[EXT_INTERNAL] = "internal files",
};

struct search {
	struct ext_volume v;
	struct ext_files *f;
	unsigned long limit;
	ext2_ino_t *dir;	/* directories */
	unsigned long nr_dirs, max_dirs;
	unsigned long nr_named;
	ext2_ino_t now;		/* of them, the one that is looked through */
	/* Of the inode that is looked at: */
	uint64_t data, map;
};

/* How many bytes of these blocks are lost. */
static uint64_t lost_of(const struct search *s, blk64_t first, uint64_t nr)
{
	uint64_t size = s->v.fs->blocksize;

	return ranges_overlap(s->v.lost, s->v.offset + first * size, nr * size);
}

static void look_at_group(struct search *s, dgrp_t group)
{
	ext2_filsys fs = s->v.fs;
	blk64_t super, old_desc, new_desc;
	uint64_t *part = s->f->part;
	blk_t used;

	if (ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc, &new_desc, &used))
		return;
	if (super || !group)
		part[EXT_SUPER] += lost_of(s, super, 1);
	if (old_desc)
		part[EXT_DESCRIPTORS] += lost_of(s, old_desc, fs->desc_blocks +
						 fs->super->s_reserved_gdt_blocks);
	if (new_desc)
		part[EXT_DESCRIPTORS] += lost_of(s, new_desc, 1);
	part[EXT_BLOCK_BITMAP] += lost_of(s, ext2fs_block_bitmap_loc(fs, group), 1);
	part[EXT_INODE_BITMAP] += lost_of(s, ext2fs_inode_bitmap_loc(fs, group), 1);
	part[EXT_INODE_TABLE] += lost_of(s, ext2fs_inode_table_loc(fs, group),
					 fs->inode_blocks_per_group);
}

/* What is behind the index block at hand, which can't be read. */
static errcode_t skip_below(ext2_extent_handle_t handle, struct ext2fs_extent *e)
{
	errcode_t err;

	while ((err = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT_SIB, e)) ==
	       EXT2_ET_EXTENT_NO_NEXT) {
		err = ext2fs_extent_get(handle, EXT2_EXTENT_UP, e);
		if (err)
			return EXT2_ET_EXTENT_NO_NEXT;
	}
	return err;
}

/* A tree of extents, without going through its blocks one by one. */
static void look_at_extents(struct search *s, ext2_ino_t ino, struct ext2_inode *inode)
{
	struct ext2fs_extent e;
	ext2_extent_handle_t handle;
	uint64_t lost;
	errcode_t err = ext2fs_extent_open2(s->v.fs, ino, inode, &handle);

	if (err) {
		s->f->partly = true;
		return;
	}
	err = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &e);
	while (!err) {
		bool leaf = e.e_flags & EXT2_EXTENT_FLAGS_LEAF;

		lost = lost_of(s, e.e_pblk, leaf ? e.e_len : 1);
		if (!leaf && lost) {
			s->map += lost;
			err = skip_below(handle, &e);
			continue;
		}
		/* What was never written reads as zeroes wherever it is. */
		if (leaf && !(e.e_flags & EXT2_EXTENT_FLAGS_UNINIT))
			s->data += lost;
		err = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &e);
	}
	if (err != EXT2_ET_EXTENT_NO_NEXT)
		s->f->partly = true;
	ext2fs_extent_free(handle);
}

/* Only three of what libext2fs tells are of use. */
static int look_at_block(__attribute__((unused)) ext2_filsys fs, blk64_t *block, e2_blkcnt_t count,
			 __attribute__((unused)) blk64_t ref, __attribute__((unused)) int offset,
			 void *private)
{
	struct search *s = private;

	if (count < 0)
		s->map += lost_of(s, *block, 1);
	else
		s->data += lost_of(s, *block, 1);
	return 0;
}

static void look_at_blocks(struct search *s, ext2_ino_t ino, struct ext2_inode *inode)
{
	blk64_t attributes = ext2fs_file_acl_block(s->v.fs, inode);

	s->data = 0;
	s->map = 0;
	if (attributes)
		s->map += lost_of(s, attributes, 1);
	if (!ext2fs_inode_has_valid_blocks2(s->v.fs, inode))
		return;
	if (inode->i_flags & EXT4_EXTENTS_FL)
		look_at_extents(s, ino, inode);
	else if (ext2fs_block_iterate3(s->v.fs, ino, BLOCK_FLAG_READ_ONLY, NULL, look_at_block, s))
		s->f->partly = true;
}

static const char *type_of(const struct ext2_inode *inode)
{
	return LINUX_S_ISREG(inode->i_mode) ? "file" : LINUX_S_ISDIR(inode->i_mode) ? "directory" :
	       LINUX_S_ISLNK(inode->i_mode) ? "symlink" : "other";
}

static void add_file(struct search *s, ext2_ino_t ino, struct ext2_inode *inode)
{
	struct ext_files *f = s->f;

	if (f->all++ >= s->limit)
		return;
	if (!(f->nr & (f->nr - 1)))
		f->file = xrealloc(f->file, (f->nr ? 2 * f->nr : 1) * sizeof(*f->file));
	f->file[f->nr++] = (struct ext_file){
		.inode = ino, .type = type_of(inode), .size = EXT2_I_SIZE(inode), .lost = s->data,
		.map = s->map,
	};
}

static void add_dir(struct search *s, ext2_ino_t ino)
{
	if (s->nr_dirs == s->max_dirs) {
		s->max_dirs = s->max_dirs ? 2 * s->max_dirs : 1024;
		s->dir = xrealloc(s->dir, s->max_dirs * sizeof(*s->dir));
	}
	s->dir[s->nr_dirs++] = ino;
}

static void look_at_inode(struct search *s, ext2_ino_t ino, struct ext2_inode *inode)
{
	const struct ext2_super_block *super = s->v.fs->super;

	if (!inode->i_links_count || !inode->i_mode)
		return;
	/* Those lie among the group descriptors and are counted there. */
	if (ino == EXT2_RESIZE_INO || ino == EXT2_BAD_INO)
		return;
	look_at_blocks(s, ino, inode);
	if (ino == super->s_journal_inum)
		s->f->part[EXT_JOURNAL] += s->data + s->map;
	else if (ino != EXT2_ROOT_INO && ino < EXT2_FIRST_INODE(super))
		s->f->part[EXT_INTERNAL] += s->data + s->map;
	else if (s->data || s->map)
		add_file(s, ino, inode);
	/* A block map that is lost in part would send us anywhere; a tree is checked. */
	if (LINUX_S_ISDIR(inode->i_mode) && (!s->map || inode->i_flags & EXT4_EXTENTS_FL))
		add_dir(s, ino);
}

static void look_at_inodes(struct search *s)
{
	int size = EXT2_INODE_SIZE(s->v.fs->super);
	struct ext2_inode *inode = xcalloc(1, size + sizeof(*inode));
	ext2_inode_scan scan;
	ext2_ino_t ino;
	errcode_t err = ext2fs_open_inode_scan(s->v.fs, 0, &scan);

	if (err) {
		s->f->partly = true;
		free(inode);
		return;
	}
	while (!(err = ext2fs_get_next_inode_full(scan, &ino, inode, size)) ||
	       err == EXT2_ET_BAD_BLOCK_IN_INODE_TABLE) {
		if (!err && !ino)
			break;
		if (ext_is_late(&s->v)) {
			s->f->partly = true;
			break;
		}
		if (!err)
			look_at_inode(s, ino, inode);
	}
	if (err)
		s->f->partly = true;
	ext2fs_close_inode_scan(scan);
	free(inode);
}

static int by_inode(const void *a, const void *b)
{
	const struct ext_file *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static struct ext_file *file_of(struct search *s, ext2_ino_t ino)
{
	struct ext_file key = { .inode = ino };

	return bsearch(&key, s->f->file, s->f->nr, sizeof(key), by_inode);
}

/* That of s->now; "<INODE>" if nothing leads there. */
static char *path_of_dir(struct search *s)
{
	struct ext_file *dir = file_of(s, s->now);
	char *found = NULL, *path;

	/* If its first block is lost it knows no parent, but its parent knew it. */
	if (dir && dir->path)
		return xstrdup(dir->path);
	if (ext2fs_get_pathname(s->v.fs, s->now, 0, &found) || *found != '/')
		path = xasprintf("<%u>", s->now);
	else
		path = xstrdup(found);
	ext2fs_free_mem(&found);
	return path;
}

/* A name in s->now. */
static int look_at_name(__attribute__((unused)) ext2_ino_t dir, int entry,
			struct ext2_dir_entry *e, __attribute__((unused)) int offset,
			__attribute__((unused)) int blocksize,
			__attribute__((unused)) char *buf, void *private)
{
	struct search *s = private;
	struct ext_file *file = e->inode ? file_of(s, e->inode) : NULL;
	int len = ext2fs_dirent_name_len(e);
	char *parent;

	if (entry != DIRENT_OTHER_FILE || !file || file->path)
		return 0;
	parent = path_of_dir(s);
	file->path = xasprintf("%s/%.*s", strcmp(parent, "/") ? parent : "", len, e->name);
	free(parent);
	return ++s->nr_named == s->f->nr ? DIRENT_ABORT : 0;
}

static void name_root(struct search *s)
{
	struct ext_file *root = file_of(s, EXT2_ROOT_INO);

	if (root) {
		root->path = xstrdup("/");
		s->nr_named++;
	}
}

static void look_for_names(struct search *s)
{
	unsigned long i;

	if (!s->f->nr)
		return;
	s->v.names = true;
	name_root(s);
	for (i = 0; i < s->nr_dirs && s->nr_named < s->f->nr; i++) {
		if (ext_is_late(&s->v)) {
			s->f->partly = true;
			break;
		}
		s->now = s->dir[i];
		if (ext2fs_dir_iterate2(s->v.fs, s->now, 0, NULL, look_at_name, s))
			s->f->partly = true;
	}
}

int ext_files_find(struct ext_files *f, const char *path, uint64_t offset,
		   const struct ranges *lost, unsigned long limit, time_t until, bool say)
{
	struct search s = { .f = f, .limit = limit };
	dgrp_t group;
	int err;

	memset(f, 0, sizeof(*f));
	err = ext_open(&s.v, path, offset, lost, until, say);
	if (err)
		return err;
	for (group = 0; group < s.v.fs->group_desc_count; group++)
		look_at_group(&s, group);
	look_at_inodes(&s);
	look_for_names(&s);
	f->partly |= s.v.partly;
	ext_close(&s.v);
	free(s.dir);
	return EXIT_OK;
}

void ext_files_free(struct ext_files *f)
{
	while (f->nr)
		free(f->file[--f->nr].path);
	free(f->file);
	memset(f, 0, sizeof(*f));
}
