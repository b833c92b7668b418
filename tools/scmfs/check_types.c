// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each inode is, before anything goes by it: its type, and that it is one. Both are a few
 * bits, and all of the file is lost with them. So an inode that what it has does not go with is
 * what its names say it is; without a name it is what it has the content of.
 */
#include <sys/stat.h>

#include "check_internal.h"

#define UNSURE	0xffu	/* names say this and that */

bool known_type(u32 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: case S_IFDIR: case S_IFLNK: case S_IFCHR: case S_IFBLK: case S_IFIFO:
	case S_IFSOCK:
		return true;
	}
	return false;
}

static bool has_magic(const struct run *run, u64 ino)
{
	return le16_to_cpu(scmfs_inode(run->fs, ino)->magic) == SCMFS_INODE_MAGIC;
}

/* Blocks in extents, whatever its type; ~0: they are not as many as it says. */
static u64 content(const struct run *run, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	struct scmfs_slots s = { .fs = run->fs, .inode = inode, .map = scmfs_read(&inode->map),
				 .place = inode->extent, .left = SCMFS_INLINE_EXTENTS };
	struct scmfs_extent *place;
	u64 sum = 0;

	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (!e.count)
			continue;
		if (!scmfs_run_ok(run->fs, e.block, e.count) ||
		    e.file + e.count > SCMFS_MAX_FILE_BLOCKS)
			return ~0ULL;
		sum += e.count;
	}
	return !s.error && scmfs_read(&inode->blocks) ==
		sum + s.maps + scmfs_xattr_blocks(run->fs, inode) ? sum : ~0ULL;
}

/* Is there text where extents would be? */
static bool has_target(const struct run *run, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	u64 size = scmfs_read(&inode->size);

	return size && size <= SCMFS_INLINE_TARGET && !memchr(inode->target, 0, size) &&
		scmfs_read(&inode->blocks) == scmfs_xattr_blocks(run->fs, inode);
}

/* Does what it has go with this type? */
static bool can_be(const struct run *run, u64 ino, u32 type)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	u64 size = scmfs_read(&inode->size), blocks = scmfs_read(&inode->blocks);

	switch (type) {
	case S_IFREG:
		return scmfs_size_ok(inode) && content(run, ino) != ~0ULL &&
			!has_target(run, ino);
	case S_IFDIR:
		return !(size % SCMFS_BLOCK_SIZE) && content(run, ino) == block_of(size);
	case S_IFLNK:
		if (size > SCMFS_INLINE_TARGET)
			return size < SCMFS_BLOCK_SIZE && content(run, ino) == 1;
		return has_target(run, ino);
	}
	return !size && blocks == scmfs_xattr_blocks(run->fs, inode);
}

static u32 type_of(const struct run *run, u64 ino)
{
	return mode_of(run, ino) & S_IFMT;
}

static bool is_doubtful(const struct run *run, u64 ino)
{
	u32 type = type_of(run, ino);

	if (ino == SCMFS_ROOT_INO && type != S_IFDIR)
		return true;
	return scmfs_read(&scmfs_inode(run->fs, ino)->mode_links) &&
		(!known_type(type) || !has_magic(run, ino) || !can_be(run, ino, type));
}

/* What the names of a block say. */
static void read_block(const struct run *run, const struct scmfs_dirent *ents, u8 *said)
{
	u64 slot, slots;

	for (slot = 0; slot < SCMFS_SLOTS_PER_BLOCK; slot += max_t(u64, slots, 1)) {
		u64 head = scmfs_read(&ents[slot].head), ino = SCMFS_HEAD_INO(head);
		u8 type = SCMFS_HEAD_TYPE(head);

		slots = head ? slots_of(ents + slot, slot) : 0;
		if (!slots || ino >= run->fs->nr_inodes || !known_type((u32)type << 12))
			continue;
		said[ino] = !said[ino] || said[ino] == type ? type : UNSURE;
	}
}

static void read_dir(const struct run *run, u64 dir, u8 *said)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u64 i;

	scmfs_slots(run->fs, scmfs_inode(run->fs, dir), &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (!scmfs_run_ok(run->fs, e.block, e.count))
			continue;
		for (i = 0; i < e.count; i++)
			read_block(run, scmfs_block(run->fs, e.block + i), said);
	}
}

/* 0: nothing that it could be kept as. */
static u32 right_type(const struct run *run, u64 ino, u8 said)
{
	u32 is = type_of(run, ino), named = said == UNSURE ? 0 : (u32)said << 12;

	if (ino == SCMFS_ROOT_INO)
		return has_magic(run, ino) || is == S_IFDIR ? S_IFDIR : 0;
	if (known_type(is) && can_be(run, ino, is))
		return is;
	if (named && can_be(run, ino, named))
		return named;
	if (known_type(is) && has_magic(run, ino))
		return is;	/* and what is wrong with what it has is for what follows */
	if (named)
		return named;
	return !known_type(is) && can_be(run, ino, S_IFREG) ? S_IFREG : 0;
}

static void mend(struct run *run, u64 ino, u8 said)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	u64 mode_links = scmfs_read(&inode->mode_links);
	u32 type = right_type(run, ino, said), mode = scmfs_mode(mode_links);
	__le16 magic = cpu_to_le16(SCMFS_INODE_MAGIC);

	if (!type)
		return;
	if (!has_magic(run, ino)) {
		found(run, "inode %llu: does not say that it is one, and is", ino);
		scm_store(&inode->magic, &magic, sizeof(magic));
		scm_flush(&inode->magic, sizeof(magic));
	}
	if ((mode & S_IFMT) == type)
		return;
	found(run, "inode %llu: its type is %o, not %o", ino, type, mode & S_IFMT);
	mode = mode_links ? (mode & ~S_IFMT) | type : type | 0755;
	scmfs_write_word(&inode->mode_links,
			 scmfs_mode_links(mode, scmfs_links(mode_links)));
}

void check_types(struct run *run)
{
	u64 ino, first = 1, nr = run->fs->nr_inodes;
	u8 *said;

	while (first < nr && !is_doubtful(run, first))
		first++;
	if (first == nr)
		return;
	said = kvcalloc(nr, 1, GFP_KERNEL);
	if (!said) {
		run->no_memory = true;
		return;
	}
	for (ino = 1; ino < nr; ino++)
		if (type_of(run, ino) == S_IFDIR)
			read_dir(run, ino, said);
	for (ino = first; ino < nr; ino++)
		if (is_doubtful(run, ino))
			mend(run, ino, said[ino]);
	kvfree(said);
}
