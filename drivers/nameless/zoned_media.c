// SPDX-License-Identifier: GPL-2.0-only
/* The blocks of zones: which they take, what is programmed into them, and what if that fails. */
#include "ftl_zoned.h"

void nl_zone_settle(struct nl_zoned_ftl *f)
{
	u32 zone = f->nr;

	while (f->ftl.blocks.nr_free < f->owed && zone--)
		if (f->zone[zone].state == NL_ZONE_EMPTY)
			nl_zone_set(f, zone, NL_ZONE_OFFLINE);
}

/* The least erased free block of a plane, or of the next one that has any. There is one. */
static u32 nl_zone_choose(struct nl_zoned_ftl *f, u32 plane)
{
	const struct nl_blocks *b = &f->ftl.blocks;
	u32 block, best;

	plane %= f->ftl.geo->nr_planes;
	while (!b->nr_free_in[plane])
		plane = (plane + 1) % f->ftl.geo->nr_planes;
	best = b->free[plane].first;
	for (block = best; block != NL_NONE; block = b->bk[block].next)
		if (nl_flash_erases(f->ftl.flash, block) < nl_flash_erases(f->ftl.flash, best))
			best = block;
	return best;
}

/* An erased block for a page of a zone; only a spare one, if @spare. -ENOSPC: there is none. */
static int nl_zone_take(struct nl_zoned_ftl *f, u32 zone, u32 page, bool spare, u32 *block,
			u64 *when)
{
	struct nl_blocks *b = &f->ftl.blocks;
	int r;

	do {
		if (b->nr_free <= (spare ? f->owed : 0))
			return -ENOSPC;
		*block = nl_zone_choose(f, zone * f->shape.blocks + page % f->shape.blocks);
		nl_block_take_this(&f->ftl, *block);
		r = nl_media_ready(&f->ftl, *block, NL_FOR_HOST, when);
	} while (r == -EIO);
	if (!r)
		b->bk[*block].use = NL_USE_DATA;
	return r;
}

/* A program in it failed: never again. Its pages can still be read. */
static int nl_zone_retire(struct nl_zoned_ftl *f, u32 block)
{
	f->ftl.blocks.bk[block].use = NL_USE_HELD;
	return nl_media_retire(&f->ftl, block);
}

static int nl_zone_copy_page(struct nl_zoned_ftl *f, u32 from, u32 to, u64 *when)
{
	struct nl_buf *buf;
	struct nl_rec rec;
	int r = nl_media_read(&f->ftl, from, NL_FOR_GC, when, &buf, &rec);

	if (r)
		return r == -EIO ? -EUCLEAN : r;
	r = nl_media_program(&f->ftl, to, NL_FOR_GC, when, buf, &rec);
	nl_buf_put(buf);
	return r;
}

static int nl_zone_copy(struct nl_zoned_ftl *f, u32 from, u32 to, u32 count, u64 *when, u32 *done)
{
	int r = 0;

	for (*done = 0; *done < count && !r; *done += !r)
		r = nl_zone_copy_page(f, nl_ppn(f->ftl.geo, from, *done),
				      nl_ppn(f->ftl.geo, to, *done), when);
	return r;
}

/*
 * Put what a zone's block has before @page into a spare block, and that in its place. The old one
 * counts until it is erased or the new one has more. One that fails with pages of the zone in it
 * stays behind as a bad one with records of it, so the zone is read-only.
 */
static int nl_zone_move(struct nl_zoned_ftl *f, u32 zone, u32 page, u64 *when)
{
	u32 *block = nl_zone_block(f, zone, page), from = *block, to, done;
	struct nl_ftl *ftl = &f->ftl;
	int r;

	do {
		r = nl_zone_take(f, zone, page, true, &to, when);
		if (r)
			return r;
		r = nl_zone_copy(f, from, to, page / f->shape.blocks, when, &done);
		if (r != -EIO)
			continue;
		r = nl_zone_retire(f, to);
		if (done)
			nl_zone_set(f, zone, NL_ZONE_READONLY);
		if (!r)
			r = -EIO;
	} while (r == -EIO);
	if (r == -ENOMEM) {
		ftl->blocks.bk[to].use = NL_USE_HELD;
		return nl_media_erase(ftl, to, NL_FOR_GC, when) ?: r;
	}
	if (r)
		return r;
	*block = to;
	f->moves++;
	if (ftl->blocks.bk[from].use == NL_USE_BAD)
		return 0;
	ftl->blocks.bk[from].use = NL_USE_HELD;
	return nl_media_erase(ftl, from, NL_FOR_GC, when);
}

/* A program failed. 0: it may be tried again. */
static int nl_zone_failed(struct nl_zoned_ftl *f, u32 zone, u32 page, u64 *when)
{
	u32 *block = nl_zone_block(f, zone, page);
	int r = nl_zone_retire(f, *block);

	if (r)
		return r;
	if (page >= f->shape.blocks) {
		nl_zone_set(f, zone, NL_ZONE_READONLY);
		return nl_zone_move(f, zone, page, when);
	}
	*block = NL_NONE;
	f->owed += nl_zone_lives(&f->zone[zone]);
	return 0;
}

/*
 * Have a block for the page: one in which nothing was under way when the power went, and not a bad
 * one, as there is if memory was short when its pages were to be copied (nl_zone_failed()).
 */
static int nl_zone_prepare(struct nl_zoned_ftl *f, u32 zone, u32 page, u64 *when)
{
	u32 *block = nl_zone_block(f, zone, page), taken;
	struct nl_zone *z = &f->zone[zone];
	bool lives = nl_zone_lives(z);
	int r;

	if (*block == NL_NONE) {
		r = nl_zone_take(f, zone, page, !lives, &taken, when);
		if (r)
			return r;
		*block = taken;
		f->owed -= lives;
	} else if (z->unsure || f->ftl.blocks.bk[*block].use == NL_USE_BAD) {
		r = nl_zone_move(f, zone, page, when);
		if (r)
			return r;
	}
	z->unsure = false;
	return 0;
}

/* Nothing could be programmed into a zone that has nothing yet: its block goes back. */
static void nl_zone_give_back(struct nl_zoned_ftl *f, u32 zone)
{
	u32 *block = nl_zone_block(f, zone, 0);

	if (f->zone[zone].done || *block == NL_NONE)
		return;
	f->ftl.blocks.bk[*block].use = NL_USE_HELD;
	nl_block_free(&f->ftl, *block);
	*block = NL_NONE;
	f->owed += nl_zone_lives(&f->zone[zone]);
}

int nl_zone_program(struct nl_zoned_ftl *f, u32 zone, u8 type, struct nl_buf *buf, u64 *when)
{
	struct nl_zone *z = &f->zone[zone];
	u32 page = z->done, at = page / f->shape.blocks;
	struct nl_rec rec = {
		.type = type, .lpn = (u64)zone * f->shape.size + page, .aux = f->shape.blocks,
		.seq = ++f->ftl.seq,
	};
	int r;

	do {
		r = nl_zone_prepare(f, zone, page, when);
		if (r)
			break;
		r = nl_media_program(&f->ftl,
				     nl_ppn(f->ftl.geo, *nl_zone_block(f, zone, page), at),
				     NL_FOR_HOST, when, buf, &rec);
		if (r != -EIO)
			break;
		r = nl_zone_failed(f, zone, page, when);
	} while (!r);
	if (r == -ENOSPC) {
		z->stuck = page && nl_zone_lives(z);
		nl_zone_set(f, zone, page ? NL_ZONE_READONLY : NL_ZONE_OFFLINE);
		r = -EIO;
	}
	if (r == -ENOMEM)
		nl_zone_give_back(f, zone);
	nl_zone_settle(f);
	if (r)
		return r;
	if (type == NL_OOB_PAD) {
		z->finished = true;
	} else {
		z->done++;
		f->mapped++;
	}
	return 0;
}

int nl_zone_erase(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io)
{
	struct nl_zone *z = &f->zone[zone];
	u32 i, *block;
	u64 when;
	int r;

	for (i = 0; i < f->shape.blocks; i++) {
		block = nl_zone_block(f, zone, i);
		if (*block == NL_NONE)
			continue;
		when = io->now;
		f->ftl.blocks.bk[*block].use = NL_USE_HELD;
		r = nl_media_erase(&f->ftl, *block, NL_FOR_HOST, &when);
		if (r)
			return r;
		nl_io_wait(io, when);
		*block = NL_NONE;
		f->owed++;
	}
	f->mapped -= z->done;
	z->done = 0;
	z->pointer = 0;
	z->finished = false;
	z->unsure = false;
	return 0;
}
