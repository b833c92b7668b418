// SPDX-License-Identifier: GPL-2.0-only
/* Directories: what they are made of, where their names lead, how many lead to each inode. */
#include <stdlib.h>
#include <sys/stat.h>

#include "check_internal.h"

/*
 * Blocks behind the last name's would be there twice once the directory grows. Return: how many
 * they were.
 */
static u64 cut_behind(struct run *run, u64 ino, u64 nr)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u64 cut = 0, keep;

	scmfs_slots(run->fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (e.file + e.count <= nr)
			continue;
		keep = e.file < nr ? nr - e.file : 0;
		scmfs_clear_bits(run->used, e.block + keep, e.count - keep);
		scmfs_write_word(&place->second, scmfs_second(e.file, keep));
		cut += e.count - keep;
	}
	run->check->blocks -= cut;
	return cut;
}

static int by_file(const void *pa, const void *pb)
{
	struct scmfs_extent * const *a = pa, * const *b = pb;
	struct scmfs_ext x = ext_of(*a), y = ext_of(*b);

	return x.file < y.file ? -1 : x.file > y.file;
}

/*
 * Names are found by what is in the blocks, wherever these are in the directory: behind a hole they
 * are moved down to it, a word for each extent, from the first one on. Return: all blocks.
 */
static u64 close_holes(struct run *run, u64 ino, struct scmfs_extent **place, u64 nr)
{
	u64 i, have = 0;

	if (nr)
		qsort(place, nr, sizeof(*place), by_file);
	for (i = 0; i < nr; i++) {
		struct scmfs_ext e = ext_of(place[i]);

		if (e.file != have) {
			found(run, "directory %llu: a hole at block %llu; closed", ino, have);
			scmfs_write_word(&place[i]->second, scmfs_second(have, e.count));
		}
		have += e.count;
	}
	return have;
}

/*
 * All blocks up to the size are there, and none behind it. Blocks and size change together, so it
 * is the blocks that tell the size; but if what the inode counts, @others of them for else than
 * names, says that it is right, too many are there, or some are missing. Return: as cut_behind().
 */
u64 check_dir_blocks(struct run *run, u64 ino, u64 others)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	static const char text[] = "directory %llu: %llu bytes are there, not %llu";
	u64 size = scmfs_read(&inode->size), nr, have;
	struct scmfs_extent **place = collect_extents(run, inode, &nr);

	if (run->no_memory)
		return 0;
	have = close_holes(run, ino, place, nr);
	kvfree(place);
	if (size == have * SCMFS_BLOCK_SIZE)
		return 0;
	if (size < have * SCMFS_BLOCK_SIZE && !(size % SCMFS_BLOCK_SIZE) &&
	    scmfs_read(&inode->blocks) == size / SCMFS_BLOCK_SIZE + others)
		return found_loss(run, "directory %llu: %llu blocks behind its end", ino,
				  have - size / SCMFS_BLOCK_SIZE) ?
			cut_behind(run, ino, size / SCMFS_BLOCK_SIZE) : 0;
	if (size < have * SCMFS_BLOCK_SIZE || scmfs_read(&inode->blocks) == have + others ||
	    nothing_lost(run, have, block_of(size)))
		found(run, text, ino, have * SCMFS_BLOCK_SIZE, size);
	else if (!found_loss(run, text, ino, have * SCMFS_BLOCK_SIZE, size))
		return 0;
	scmfs_write_word(&inode->size, have * SCMFS_BLOCK_SIZE);
	return 0;
}

static bool text_ok(const struct scmfs_dirent *ent)
{
	return ent->len && !memchr(ent->name, 0, ent->len) && !memchr(ent->name, '/', ent->len) &&
		!(ent->len == 1 && ent->name[0] == '.') &&
		!(ent->len == 2 && ent->name[0] == '.' && ent->name[1] == '.');
}

/* By its length, which the hash vouches for; 0: there is no such name. */
u64 slots_of(const struct scmfs_dirent *ent, u64 slot)
{
	u64 slots = DIV_ROUND_UP(SCMFS_SLOT_NAME + ent->len, SCMFS_SLOT_SIZE);

	return slot + slots <= SCMFS_SLOTS_PER_BLOCK && text_ok(ent) &&
		le32_to_cpu(ent->hash) == scmfs_name_hash((const char *)ent->name, ent->len) ?
		slots : 0;
}

/*
 * What is wrong with a name; NULL: nothing.
 *
 * One that leads to the directory that it is in, or to one above, would close a ring. Of these only
 * run->top has no name, and one that has is refused for that. For whatever is walked but the top
 * was in the list, where follow() put it, which counted the name and made the directory that it is
 * in its parent: by parents each way up goes through directories with names and ends at the top.
 * That has none when the walk begins, as the root may have none, and what has one was in a list and
 * has been walked; and it gets none as long as the walk lasts, as it is refused here. Directories
 * that earlier walks began with may get one: they are not walked again, so nothing is below them
 * that is walked now.
 */
static const char *wrong_name(const struct run *run, u64 head, u64 slots)
{
	u64 ino = SCMFS_HEAD_INO(head);

	if (!slots)
		return "is damaged";
	if (!is_live(run, ino))
		return "leads to no inode";
	if (S_ISDIR(mode_of(run, ino)) && (run->refs[ino] || ino == SCMFS_ROOT_INO))
		return "is another one of a directory";
	if (ino == run->top)
		return "leads to a directory above";
	return NULL;
}

/*
 * Of one that is damaged nobody knows how far it goes: what follows may be the next one. If it is
 * text, that is found slot by slot.
 */
static void clear_name(struct scmfs_dirent *ent, u64 slots)
{
	do {
		scmfs_write_word(&ent->head, 0);
		ent++;
	} while (slots && --slots);
}

static void follow(struct run *run, u64 dir, struct scmfs_dirent *ent, u64 slots)
{
	u64 head = scmfs_read(&ent->head), ino = SCMFS_HEAD_INO(head);
	u32 mode = mode_of(run, ino);
	u64 right = scmfs_head(ino, mode, slots);

	run->refs[ino]++;
	if (head != right) {
		found(run, "directory %llu: \"%.*s\" has a wrong %s", dir, ent->len, ent->name,
		      SCMFS_HEAD_SLOTS(head) == slots ? "type" : "number of slots");
		scmfs_write_word(&ent->head, right);
	}
	if (!S_ISDIR(mode))
		return;
	run->todo[run->nr_todo++] = ino;
	run->subdirs[dir]++;
	if (scmfs_read(&scmfs_inode(run->fs, ino)->parent) == dir)
		return;
	found(run, "directory %llu: is in %llu, not %llu", ino, dir,
	      scmfs_read(&scmfs_inode(run->fs, ino)->parent));
	scmfs_write_word(&scmfs_inode(run->fs, ino)->parent, dir);
}

/* Names of a block; those that are longer than they look can't run into the next one. */
static void check_block(struct run *run, u64 dir, struct scmfs_dirent *ents, struct doubles *d)
{
	const char *wrong;
	u64 slot, slots, head;

	for (slot = 0; slot < SCMFS_SLOTS_PER_BLOCK;) {
		struct scmfs_dirent *ent = ents + slot;

		head = scmfs_read(&ent->head);
		if (!head) {
			slot++;
			continue;
		}
		slots = slots_of(ent, slot);
		wrong = wrong_name(run, head, slots);
		if (is_double(d, ent, !wrong) && !wrong)
			wrong = "is there twice";
		if (wrong) {
			if (found_loss(run, "directory %llu: a name %s; removed", dir, wrong))
				clear_name(ent, slots);
		} else {
			follow(run, dir, ent, slots);
		}
		slot += max_t(u64, slots, 1);
	}
}

static void check_dir(struct run *run, u64 dir)
{
	struct scmfs_extent **place;
	struct doubles d;
	u64 i, block, nr;

	__set_bit(dir, run->seen);
	place = collect_extents(run, scmfs_inode(run->fs, dir), &nr);
	if (!place)
		return;
	qsort(place, nr, sizeof(*place), by_file);
	if (find_doubles(run, place, nr, &d)) {
		for (i = 0; i < nr; i++) {
			struct scmfs_ext e = ext_of(place[i]);

			for (block = e.block; block < e.block + e.count; block++)
				check_block(run, dir, scmfs_block(run->fs, block), &d);
		}
		forget_doubles(&d);
	}
	kvfree(place);
}

/* A directory, and all that it leads to, in the order of their names. */
static void check_below(struct run *run, u64 dir)
{
	u64 i;

	run->nr_todo = 0;
	run->top = dir;
	check_dir(run, dir);
	for (i = 0; i < run->nr_todo && !run->no_memory; i++)
		if (!test_bit(run->todo[i], run->seen))
			check_dir(run, run->todo[i]);
}

/*
 * From the root on, then from each directory that was not reached: one of a ring is as good as
 * another. A name leads to each only once, so all of them have room in the list.
 */
void check_tree(struct run *run)
{
	u64 ino;

	run->todo = kvcalloc(run->fs->nr_inodes, sizeof(*run->todo), GFP_KERNEL);
	if (!run->todo) {
		run->no_memory = true;
		return;
	}
	check_below(run, SCMFS_ROOT_INO);
	for (ino = 1; ino < run->fs->nr_inodes && !run->no_memory; ino++)
		if (is_live(run, ino) && S_ISDIR(mode_of(run, ino)) && !test_bit(ino, run->seen))
			check_below(run, ino);
	kvfree(run->todo);
}

u64 next_lost(const struct run *run, u64 from)
{
	u64 ino;

	for (ino = from; ino < run->fs->nr_inodes; ino++)
		if (ino != SCMFS_ROOT_INO && is_live(run, ino) && !run->refs[ino])
			return ino;
	return 0;
}

/* A lost one has the links that lost+found will give it. */
void check_links(struct run *run)
{
	u64 ino, mode_links;
	u32 links;

	for (ino = 1; ino < run->fs->nr_inodes; ino++) {
		struct scmfs_inode *inode = scmfs_inode(run->fs, ino);

		mode_links = scmfs_read(&inode->mode_links);
		if (!mode_links)
			continue;
		links = scmfs_is_dir(mode_links) ? 2 + run->subdirs[ino] : run->refs[ino];
		if (ino != SCMFS_ROOT_INO && !run->refs[ino]) {
			found(run, "inode %llu: no name leads to it; put into lost+found", ino);
			links = max_t(u32, links, 1);
		}
		if (scmfs_links(mode_links) == links)
			continue;
		if (run->refs[ino] || ino == SCMFS_ROOT_INO)
			found(run, "inode %llu: has %u links, not %u", ino, links,
			      scmfs_links(mode_links));
		scmfs_write_word(&inode->mode_links,
				 scmfs_mode_links(scmfs_mode(mode_links), links));
	}
}
