/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page map's metadata as zhang-2013 5.3.4 has it: in the flash at a flush, in a place of its
 * own, and nothing else is asked at a start. See split_meta.c.
 *
 * What has no result here does nothing for a page map without it (nl_page_ftl.split NULL).
 */
#ifndef NAMELESS_SPLIT_H
#define NAMELESS_SPLIT_H

#include "ftl_internal.h"

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
 * @nr: blocks that are for it
 * @pages: of all of it at once
 * @used: per such block: a generation that counts, or is being written, has it
 * @gen: the one that counts; number 0: there is none
 * @next: one that is being written
 * @last: highest number that was seen or used
 * @whole: the next commit is all of it
 * @failed: a block of @gen in which a program failed, NL_NONE
 * @changed: bit per logical page that is elsewhere than was committed, and per block (behind these)
 *	whose erases are other ones
 * @nr_changed: bits that are set
 * @held: bit per flash page to which nothing refers but what was committed
 * @nr_held: bits that are set
 * @committed: per block: pages that were spent at the last commit
 * @until: when all is in the flash that a commit may refer to, and the last commit, ns
 * @commits: so far
 * @images: of these with all of it
 */
struct nl_split {
	u32 nr;
	u32 pages;
	bool *used;
	struct nl_gen gen, next;
	u64 last;
	bool whole;
	u32 failed;
	unsigned long *changed;
	u32 nr_changed;
	unsigned long *held;
	u32 nr_held;
	u32 *committed;
	u64 until;
	u64 commits, images;
};

/* Blocks that the metadata has for good. */
u32 nl_split_blocks(const struct nl_geometry *geo, const struct nl_config *config,
		    u32 logical_pages);
/* The @i-th of them: one plane after the other. */
static inline u32 nl_split_block(const struct nl_geometry *geo, u32 i)
{
	return i % geo->nr_planes * geo->blocks + i / geo->nr_planes;
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
void nl_split_programmed(struct nl_page_ftl *f, u64 when);
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

/* split_recover.c: map, erases and blocks out of the newest metadata that is complete. */
int nl_split_recover(struct nl_page_ftl *f, struct nl_io *io);

#endif
