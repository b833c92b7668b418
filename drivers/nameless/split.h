/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page map's metadata as zhang-2013 5.3.4 has it: in the flash at a flush, in blocks of its
 * own, and nothing else is asked at a start but where these are. See split_meta.c.
 *
 * What has no result here does nothing for a page map without it (nl_page_ftl.split NULL).
 */
#ifndef NAMELESS_SPLIT_H
#define NAMELESS_SPLIT_H

#include "ftl_internal.h"
#include "marks.h"

struct nl_page_ftl;
struct nl_checking;

/**
 * struct nl_gen - a generation: all of the metadata, and commits behind it
 * @number: of it
 * @nr: blocks that it has
 * @block: they, in order
 * @index: of the page that comes next
 */
struct nl_gen {
	u64 number;
	u32 nr;
	u32 *block;
	u32 index;
};

/**
 * struct nl_split - the metadata
 * @nr: blocks that are for it, as long as there are so many
 * @have: blocks that it has
 * @block: they
 * @used: per such block: a generation that counts, or is being written, has it
 * @pages: of all of it at once
 * @gen: the one that counts; number 0: there is none
 * @next: one that is being written
 * @last: highest number that was seen or used
 * @whole: the next commit is all of it
 * @failed: a block of @gen in which a program failed, NL_NONE
 * @changed: bit per word of it that is another one than was committed: where a logical page is,
 *	then a block's erases, then its newest data
 * @held: bit per flash page to which nothing refers but what was committed
 * @committed: per block: pages that were spent at the last commit
 * @until: when all is in the flash that a commit may refer to, and the last commit, ns
 * @commits: so far
 * @images: of these with all of it
 * @rotated: blocks that it got from data's
 */
struct nl_split {
	u32 nr;
	u32 have;
	u32 *block;
	bool *used;
	u32 pages;
	struct nl_gen gen, next;
	u64 last;
	bool whole;
	u32 failed;
	struct nl_marks changed;
	struct nl_marks held;
	u32 *committed;
	u64 until;
	u64 commits, images;
	u64 rotated;
};

/* Blocks that the metadata has. */
u32 nl_split_blocks(const struct nl_geometry *geo, const struct nl_config *config,
		    u32 logical_pages);
/* Words of all of it: two of each block. */
static inline u32 nl_split_bits(const struct nl_geometry *geo, u32 logical_pages)
{
	return logical_pages + 2 * geo->nr_blocks;
}

/* What word @i of it is of, as a commit says that. */
static inline u32 nl_split_what(const struct nl_ftl *ftl, u32 i)
{
	if (i < ftl->logical_pages)
		return i;
	i -= ftl->logical_pages;
	return i < ftl->geo->nr_blocks ? NL_SPLIT_BLOCK | i :
					 NL_SPLIT_NEWEST | (i - ftl->geo->nr_blocks);
}

/* Words of a page. */
static inline u32 nl_split_room(const struct nl_geometry *geo)
{
	return (geo->page_bytes - sizeof(struct nl_split_page)) / sizeof(__le32);
}

static inline __le32 *nl_split_words(void *page)
{
	return page + sizeof(struct nl_split_page);
}

u32 nl_split_csum(const struct nl_ftl *ftl, void *page);

/* split_meta.c */
int nl_split_init(struct nl_page_ftl *f);
void nl_split_destroy(struct nl_page_ftl *f);
/* A block is being erased. */
void nl_split_erased(struct nl_page_ftl *f, u32 block);
/* A block is about to be filled, erased. */
void nl_split_opened(struct nl_page_ftl *f, u32 block);
/* A page of it was, and is in the flash at @when. */
void nl_split_programmed(struct nl_page_ftl *f, u32 block, u64 when);
/* The map has another flash page for it, or none. */
void nl_split_changed(struct nl_page_ftl *f, u32 lpn);
/* The map does not refer to a flash page any more: dead, or held until the next commit. */
void nl_split_leave(struct nl_page_ftl *f, u32 ppn);
bool nl_split_holds(const struct nl_page_ftl *f, u32 ppn);
/*
 * Have the metadata in the flash, if anything is not as it says: all or nothing. 0; -ENOMEM, and it
 * may be tried again; -EROFS, no blocks are left for it; -ESHUTDOWN.
 */
int nl_split_commit(struct nl_page_ftl *f, u64 *when);
/* Is anything not as the metadata in the flash says? */
bool nl_split_behind(const struct nl_page_ftl *f);
/* Commit if that sets pages free. */
int nl_split_release(struct nl_page_ftl *f, u64 *when);
void nl_split_stat(const struct nl_page_ftl *f, struct nl_ftl_stat *stat);
/* Pages that are live for being held. */
u32 nl_split_check(struct nl_checking *c, const struct nl_page_ftl *f);

/* split_pool.c */
int nl_split_add(struct nl_page_ftl *f, u32 block);
/* As many blocks as it is to have, if there are some to spare. */
void nl_split_fill(struct nl_page_ftl *f);
u32 nl_split_unused(const struct nl_page_ftl *f);
int nl_split_take(struct nl_page_ftl *f, struct nl_gen *gen, u64 *when);
/* A generation does not count, or not any more. */
void nl_split_drop(struct nl_page_ftl *f, struct nl_gen *gen);
int nl_split_retire(struct nl_page_ftl *f, u32 block);
void nl_split_check_pool(struct nl_checking *c, const struct nl_page_ftl *f);

/* split_recover.c: map, erases and blocks out of the newest metadata that is complete. */
int nl_split_recover(struct nl_page_ftl *f, struct nl_io *io);

#endif
