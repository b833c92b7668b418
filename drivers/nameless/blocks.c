// SPDX-License-Identifier: GPL-2.0-only
/* Blocks: which are free, which could be emptied, which pages are live. */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_internal.h"

static void nl_list_init(struct nl_list *list)
{
	list->first = NL_NONE;
	list->last = NL_NONE;
}

static void nl_list_add(struct nl_bk *bk, struct nl_list *list, u32 n)
{
	bk[n].prev = list->last;
	bk[n].next = NL_NONE;
	if (list->last == NL_NONE)
		list->first = n;
	else
		bk[list->last].next = n;
	list->last = n;
}

static void nl_list_del(struct nl_bk *bk, struct nl_list *list, u32 n)
{
	if (bk[n].prev == NL_NONE)
		list->first = bk[n].next;
	else
		bk[bk[n].prev].next = bk[n].next;
	if (bk[n].next == NL_NONE)
		list->last = bk[n].prev;
	else
		bk[bk[n].next].prev = bk[n].prev;
}

static u64 nl_blocks_lists(const struct nl_ftl *ftl)
{
	return (u64)ftl->geo->nr_planes * ftl->blocks.lists;
}

/* What tells which pages are live, and which closed block has fewest: where pages are moved. */
static int nl_blocks_init_live(struct nl_ftl *ftl)
{
	const struct nl_geometry *geo = ftl->geo;
	struct nl_blocks *b = &ftl->blocks;
	u64 i;

	b->lists = geo->pages + 1;
	b->live = kvcalloc(BITS_TO_LONGS(geo->nr_pages), sizeof(long), NL_GFP_IO);
	b->closed = kvcalloc(nl_blocks_lists(ftl), sizeof(*b->closed), NL_GFP_IO);
	b->least = kvcalloc(geo->nr_planes, sizeof(u32), NL_GFP_IO);
	if (!b->live || !b->closed || !b->least)
		return -ENOMEM;
	for (i = 0; i < nl_blocks_lists(ftl); i++)
		nl_list_init(&b->closed[i]);
	return 0;
}

int nl_blocks_init(struct nl_ftl *ftl)
{
	const struct nl_geometry *geo = ftl->geo;
	struct nl_blocks *b = &ftl->blocks;
	u64 i;

	b->bk = kvcalloc(geo->nr_blocks, sizeof(*b->bk), NL_GFP_IO);
	b->free = kvcalloc(geo->nr_planes, sizeof(*b->free), NL_GFP_IO);
	b->nr_free_in = kvcalloc(geo->nr_planes, sizeof(u32), NL_GFP_IO);
	if (!b->bk || !b->free || !b->nr_free_in)
		return -ENOMEM;
	if (!ftl->ops->lean && nl_blocks_init_live(ftl))
		return -ENOMEM;
	for (i = 0; i < geo->nr_planes; i++)
		nl_list_init(&b->free[i]);
	for (i = 0; i < geo->nr_blocks; i++) {
		b->bk[i].use = nl_flash_is_bad(ftl->flash, i) ? NL_USE_BAD : NL_USE_HELD;
		if (b->bk[i].use == NL_USE_BAD)
			continue;
		b->good++;
		b->erases += nl_flash_erases(ftl->flash, i);
	}
	return 0;
}

void nl_blocks_destroy(struct nl_ftl *ftl)
{
	struct nl_blocks *b = &ftl->blocks;

	kvfree(b->bk);
	kvfree(b->live);
	kvfree(b->free);
	kvfree(b->nr_free_in);
	kvfree(b->closed);
	kvfree(b->least);
}

u64 nl_blocks_memory(const struct nl_ftl *ftl)
{
	const struct nl_geometry *geo = ftl->geo;
	u64 bytes = (u64)geo->nr_blocks * sizeof(struct nl_bk) +
		    (u64)geo->nr_planes * (sizeof(struct nl_list) + sizeof(u32));

	if (ftl->ops->lean)
		return bytes;
	return bytes + BITS_TO_LONGS(geo->nr_pages) * sizeof(long) +
	       (u64)geo->nr_planes * sizeof(u32) +
	       nl_blocks_lists(ftl) * sizeof(struct nl_list);
}

/* From NL_USE_HELD: nothing in it is live, it is erased or NL_DIRTY. */
void nl_block_free(struct nl_ftl *ftl, u32 block)
{
	struct nl_blocks *b = &ftl->blocks;
	u32 plane = nl_plane_of(ftl->geo, block);

	b->bk[block].use = NL_USE_FREE;
	b->bk[block].fill = 0;
	b->bk[block].newest = 0;
	nl_list_add(b->bk, &b->free[plane], block);
	b->nr_free_in[plane]++;
	b->nr_free++;
}

void nl_block_take_this(struct nl_ftl *ftl, u32 block)
{
	struct nl_blocks *b = &ftl->blocks;
	u32 plane = nl_plane_of(ftl->geo, block);

	nl_list_del(b->bk, &b->free[plane], block);
	b->nr_free_in[plane]--;
	b->nr_free--;
	b->bk[block].use = NL_USE_HELD;
}

/* The free block of a plane that has been so for longest, as NL_USE_HELD; NL_NONE if none is. */
u32 nl_block_take(struct nl_ftl *ftl, u32 plane)
{
	u32 block = ftl->blocks.free[plane].first;

	if (block != NL_NONE)
		nl_block_take_this(ftl, block);
	return block;
}

static bool nl_gc_is_fifo(const struct nl_ftl *ftl)
{
	return ftl->config.p[NL_P_GC] == NL_GC_FIFO;
}

static struct nl_list *nl_closed_list(struct nl_ftl *ftl, u32 block)
{
	u32 plane = nl_plane_of(ftl->geo, block);

	if (nl_gc_is_fifo(ftl))
		return &ftl->blocks.closed[0];
	return &ftl->blocks.closed[(u64)plane * ftl->blocks.lists + ftl->blocks.bk[block].live];
}

static void nl_closed_add(struct nl_ftl *ftl, u32 block)
{
	struct nl_blocks *b = &ftl->blocks;
	u32 plane = nl_plane_of(ftl->geo, block);

	nl_list_add(b->bk, nl_closed_list(ftl, block), block);
	b->least[plane] = min(b->least[plane], b->bk[block].live);
}

/* From NL_USE_HELD or NL_USE_ACTIVE: nothing more is programmed into it. */
void nl_block_close(struct nl_ftl *ftl, u32 block)
{
	ftl->blocks.bk[block].use = NL_USE_CLOSED;
	nl_closed_add(ftl, block);
}

/* To NL_USE_HELD. */
void nl_block_unclose(struct nl_ftl *ftl, u32 block)
{
	nl_list_del(ftl->blocks.bk, nl_closed_list(ftl, block), block);
	ftl->blocks.bk[block].use = NL_USE_HELD;
}

static void nl_block_live(struct nl_ftl *ftl, u32 block, int by)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];
	bool moves = bk->use == NL_USE_CLOSED && !nl_gc_is_fifo(ftl);

	if (moves)
		nl_list_del(ftl->blocks.bk, nl_closed_list(ftl, block), block);
	bk->live += by;
	if (moves)
		nl_closed_add(ftl, block);
}

void nl_page_live(struct nl_ftl *ftl, u32 ppn)
{
	__set_bit(ppn, ftl->blocks.live);
	nl_block_live(ftl, nl_block_of(ftl->geo, ppn), 1);
}

void nl_page_dead(struct nl_ftl *ftl, u32 ppn)
{
	u32 block = nl_block_of(ftl->geo, ppn);
	struct nl_bk *bk = &ftl->blocks.bk[block];

	__clear_bit(ppn, ftl->blocks.live);
	nl_block_live(ftl, block, -1);
	if (!(bk->flags & NL_UNREADABLE))
		return;
	bk->flags &= ~NL_UNREADABLE;
	ftl->blocks.unreadable--;
	if (!(bk->flags & NL_RETIRED))
		nl_block_close(ftl, block);
}

/* A live page of a closed or held block can't be read: nothing is gained there until one dies. */
void nl_block_set_aside(struct nl_ftl *ftl, u32 block)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];

	if (bk->use == NL_USE_CLOSED)
		nl_block_unclose(ftl, block);
	bk->flags |= NL_UNREADABLE;
	ftl->blocks.unreadable++;
}

/* The least live block of a plane, NL_NONE if all are full of live pages. */
static u32 nl_plane_least(struct nl_ftl *ftl, u32 plane)
{
	struct nl_blocks *b = &ftl->blocks;
	struct nl_list *list = &b->closed[(u64)plane * b->lists];
	u32 *least = &b->least[plane];

	while (*least < ftl->geo->pages && list[*least].first == NL_NONE)
		(*least)++;
	return *least < ftl->geo->pages ? list[*least].first : NL_NONE;
}

/*
 * Greedy: the least live block of all, but one that is nearly as good in the plane that is
 * shortest of free blocks, so that all planes have some to write to (3.1.2: collection is
 * triggered by plane). Of dead blocks, which cost nothing but the erase, the one in the shortest
 * plane that has any: a sequential stream leaves many behind it, and with the first one of all it
 * would be in one plane after another.
 */
static bool nl_victim_is_better(const struct nl_ftl *ftl, u32 block, u32 than)
{
	const struct nl_blocks *b = &ftl->blocks;

	if (than == NL_NONE || b->bk[block].live != b->bk[than].live)
		return than == NL_NONE || b->bk[block].live < b->bk[than].live;
	return b->nr_free_in[nl_plane_of(ftl->geo, block)] <
	       b->nr_free_in[nl_plane_of(ftl->geo, than)];
}

static u32 nl_victim_greedy(struct nl_ftl *ftl)
{
	const struct nl_blocks *b = &ftl->blocks;
	u32 plane, best = NL_NONE, needy = NL_NONE, block;

	for (plane = 0; plane < ftl->geo->nr_planes; plane++) {
		block = nl_plane_least(ftl, plane);
		if (block == NL_NONE)
			continue;
		if (nl_victim_is_better(ftl, block, best))
			best = block;
		if (needy == NL_NONE ||
		    b->nr_free_in[plane] < b->nr_free_in[nl_plane_of(ftl->geo, needy)])
			needy = block;
	}
	if (best == NL_NONE || !b->bk[best].live ||
	    b->bk[needy].live > b->bk[best].live + ftl->geo->pages / 8)
		return best;
	return needy;
}

/* Oldest first; full ones too, if anything at all can be gained. */
static u32 nl_victim_fifo(struct nl_ftl *ftl)
{
	const struct nl_bk *bk = ftl->blocks.bk;
	u32 block, first = ftl->blocks.closed[0].first;

	for (block = first; block != NL_NONE; block = bk[block].next)
		if (bk[block].live < ftl->geo->pages)
			return block;
	return NL_NONE;
}

u32 nl_block_victim(struct nl_ftl *ftl)
{
	return nl_gc_is_fifo(ftl) ? nl_victim_fifo(ftl) : nl_victim_greedy(ftl);
}

bool nl_block_is_old(const struct nl_ftl *ftl, u32 block)
{
	return (u64)nl_flash_erases(ftl->flash, block) * ftl->blocks.good > ftl->blocks.erases;
}

/*
 * A block that is worn itself holds cold data because leveling put it there; to take that would
 * only swap worn blocks with each other.
 */
u32 nl_block_coldest(struct nl_ftl *ftl)
{
	const struct nl_bk *bk = ftl->blocks.bk;
	u32 i, best = NL_NONE;

	for (i = 0; i < ftl->geo->nr_blocks; i++)
		if (bk[i].use == NL_USE_CLOSED && bk[i].live &&
		    !nl_block_is_old(ftl, i) &&
		    (best == NL_NONE || bk[i].newest < bk[best].newest))
			best = i;
	return best;
}

/* 3.1.2: fewer erases left than NL_P_WEAR of what is left on average. */
bool nl_block_is_worn(const struct nl_ftl *ftl, u32 block)
{
	u64 permille = ftl->config.p[NL_P_WEAR], all = ftl->flash->endurance, used, left;

	if (!permille || !all || !ftl->blocks.good)
		return false;
	all *= ftl->blocks.good;
	left = all > ftl->blocks.erases ? all - ftl->blocks.erases : 0;
	used = nl_flash_erases(ftl->flash, block);
	if (used >= ftl->flash->endurance)
		return true;
	return (ftl->flash->endurance - used) * 1000 * ftl->blocks.good < left * permille;
}
