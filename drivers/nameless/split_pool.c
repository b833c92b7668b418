// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: which blocks have the metadata
 *
 * Any: as many as nl_split_blocks() says are its pool, and nothing in the flash says which. A start
 * looks at the first page of every block, and what has metadata is the pool's; free blocks make up
 * the number. So nothing that a cut could leave half done says where the metadata is.
 *
 * A block that failed when it was erased or programmed is replaced by a free one. One that was
 * erased more often than a free one is given for that, when it is its turn: so what frequent
 * flushes wear out is not a few blocks but all that are not full of what nobody changes, and to
 * those leveling gets (nl_page_level()).
 *
 * What GC frees above the floor is the metadata's as long as that has too few, and users' then.
 *
 * What leaves the pool is erased first: so there are never more blocks with metadata than the
 * pool has room for, and all that a start finds are its own again. A block is taken only from above
 * the floor, but for a device that is read-only and has no use for it: GC's room is not touched
 * (ftl_page.c), and as there are as many good blocks as GC and a full pool need, or the device is
 * read-only, the pool is full again in the end.
 *
 *	pool a b c; generation 7 is in a, and has no room for a commit
 *	c is to be the next one's; f is free, and was erased less often
 *	erase c			cut: c has no metadata, f neither, all of 7 is in a
 *	swap c and f		cut: the same, as only the memory knew
 *	program in f: 8 begins	cut: f says that it is the pool's; 8 is not complete, 7 counts
 *	program in f: 8 ends	cut: 8 counts; a is the pool's, for what it has of 7
 *	program data in c	cut: c's OOB says that it is data's
 *	next turn: erase a	cut: torn, it has no metadata: it is free, to be erased; 8 counts
 *
 *	a program of 8 fails	cut: f is the pool's, with what is not complete unmarked
 *	mark f, have g		cut: f is bad, g is free
 *	program in g: 9 begins	7 counts until 9 ends, as a was never touched
 *
 * All these erases and programs are one after the other in time, too: the erase of a block begins
 * when what makes it superfluous is in the flash.
 */
#include "check.h"
#include "ftl_page.h"

/* It has what does not count any more, or may have: to be erased before it is used. */
static void nl_split_unuse(struct nl_page_ftl *f, u32 i)
{
	f->split->used[i] = false;
	f->ftl.blocks.bk[f->split->block[i]].flags |= NL_DIRTY;
}

/* A block that is held is the pool's. -EUCLEAN: there are more of these than can be. */
int nl_split_add(struct nl_page_ftl *f, u32 block)
{
	struct nl_split *s = f->split;

	if (s->have == s->nr)
		return -EUCLEAN;
	f->ftl.blocks.bk[block].use = NL_USE_META;
	s->used[s->have] = false;
	s->block[s->have++] = block;
	return 0;
}

static void nl_split_remove(struct nl_split *s, u32 i)
{
	s->have--;
	s->block[i] = s->block[s->have];
	s->used[i] = s->used[s->have];
}

/* A free block: of the plane that has most, then the least erased. */
static u32 nl_split_spare(const struct nl_page_ftl *f)
{
	const struct nl_blocks *b = &f->ftl.blocks;
	u32 plane, block, most = 0, best = NL_NONE;

	for (plane = 0; plane < f->ftl.geo->nr_planes; plane++) {
		block = b->free[plane].first;
		if (block == NL_NONE || b->nr_free_in[plane] < most ||
		    (b->nr_free_in[plane] == most && nl_flash_erases(f->ftl.flash, block) >=
						     nl_flash_erases(f->ftl.flash, best)))
			continue;
		most = b->nr_free_in[plane];
		best = block;
	}
	return best;
}

void nl_split_fill(struct nl_page_ftl *f)
{
	u32 block, floor = f->ftl.state == NL_FTL_RO ? 0 : NL_FLOOR;
	struct nl_split *s = f->split;

	while (s && s->have < s->nr && f->ftl.blocks.nr_free > floor) {
		block = nl_split_spare(f);
		nl_block_take_this(&f->ftl, block);
		nl_split_add(f, block);
		s->rotated++;
	}
}

/* Blocks that could be taken. */
u32 nl_split_unused(const struct nl_page_ftl *f)
{
	u32 i, n = 0;

	for (i = 0; i < f->split->have; i++)
		n += !f->split->used[i];
	return n;
}

/* The one of them that was erased least often, NL_NONE. */
static u32 nl_split_pick(const struct nl_page_ftl *f)
{
	const struct nl_split *s = f->split;
	u32 i, best = NL_NONE;

	for (i = 0; i < s->have; i++)
		if (!s->used[i] &&
		    (best == NL_NONE || nl_flash_erases(f->ftl.flash, s->block[i]) <
					nl_flash_erases(f->ftl.flash, s->block[best])))
			best = i;
	return best;
}

/*
 * A block that is not used, and gets another one in its place if that is worn less. It is free
 * before that is taken, so it needs no room. -EIO: it went bad by being erased for that.
 */
static int nl_split_rotate(struct nl_page_ftl *f, u32 i, u64 *when)
{
	struct nl_split *s = f->split;
	u32 old = s->block[i], new = nl_split_spare(f);
	int r = 0;

	if (new == NL_NONE ||
	    nl_flash_erases(f->ftl.flash, new) >= nl_flash_erases(f->ftl.flash, old))
		return 0;
	if (f->ftl.blocks.bk[old].flags & NL_DIRTY)
		r = nl_media_erase_held(&f->ftl, old, NL_FOR_META, when);
	if (r)
		return r;
	nl_block_free(&f->ftl, old);
	nl_block_take_this(&f->ftl, new);
	f->ftl.blocks.bk[new].use = NL_USE_META;
	s->block[i] = new;
	s->rotated++;
	return 0;
}

/*
 * One more block for a generation, erased. -ENOSPC: there is none. What changed is not marked here:
 * a commit that is being written counts it.
 */
int nl_split_take(struct nl_page_ftl *f, struct nl_gen *gen, u64 *when)
{
	struct nl_split *s = f->split;
	u32 i, block;
	int r;

	for (;;) {
		nl_split_fill(f);
		i = nl_split_pick(f);
		if (i == NL_NONE)
			return -ENOSPC;
		r = nl_split_rotate(f, i, when);
		block = s->block[i];
		if (!r && f->ftl.blocks.bk[block].flags & NL_DIRTY)
			r = nl_media_erase_held(&f->ftl, block, NL_FOR_META, when);
		if (!r)
			break;
		if (r != -EIO)
			return r;
		nl_split_remove(s, i);
	}
	f->ftl.blocks.bk[block].fill = 0;
	s->used[i] = true;
	gen->block[gen->nr++] = block;
	return 0;
}

void nl_split_drop(struct nl_page_ftl *f, struct nl_gen *gen)
{
	u32 i, n;

	for (n = 0; n < gen->nr; n++)
		for (i = 0; i < f->split->have; i++)
			if (f->split->block[i] == gen->block[n])
				nl_split_unuse(f, i);
	gen->nr = 0;
}

/* A program in it failed, and nothing that counts is in it. */
int nl_split_retire(struct nl_page_ftl *f, u32 block)
{
	u32 i;
	int r = nl_media_retire(&f->ftl, block);

	for (i = 0; i < f->split->have && !r; i++)
		if (f->split->block[i] == block) {
			nl_split_remove(f->split, i);
			break;
		}
	if (!r)
		nl_split_fill(f);
	return r;
}

/* --- to see ----------------------------------------------------------------------------------- */

void nl_split_check_pool(struct nl_checking *c, const struct nl_page_ftl *f)
{
	const struct nl_split *s = f->split;
	const struct nl_bk *bk = f->ftl.blocks.bk;
	u32 i, used = 0, meta = 0;

	for (i = 0; i < f->ftl.geo->nr_blocks; i++)
		meta += bk[i].use == NL_USE_META;
	for (i = 0; i < s->have; i++) {
		used += s->used[i];
		if (bk[s->block[i]].use != NL_USE_META)
			nl_finding(c, "block %u is the metadata's, and not so", s->block[i]);
	}
	if (meta != s->have)
		nl_finding(c, "%u blocks are the metadata's, %u are counted", meta, s->have);
	if (used != s->gen.nr)
		nl_finding(c, "metadata uses %u blocks, its generation has %u", used, s->gen.nr);
}
