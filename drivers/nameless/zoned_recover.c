// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zones out of all blocks' OOB. Nothing is written but erases of what is dead, so a cut meanwhile
 * changes nothing that counts.
 *
 * Pages of a block that can be read come before those that can't: they were programmed in order,
 * and after one that failed nothing was. So their number is found by halving.
 */
#include <linux/sched.h>
#include "ftl_zoned.h"

/* 1 if the page can be read and has a record of a zone, 0 if it can't be read. */
static int nl_zone_probe(struct nl_zoned_ftl *f, u32 block, u32 page, u64 *when,
			 struct nl_rec *rec)
{
	struct nl_ftl *ftl = &f->ftl;
	int r = nl_flash_read(ftl->flash, nl_ppn(ftl->geo, block, page), NL_FOR_RECOVERY, when,
			      NULL, ftl->oob);

	if (r == -EBADMSG || r == -ENODATA)
		return 0;
	if (!r)
		r = nl_oob_decode(ftl, ftl->oob, rec);
	return r ? r : 1;
}

/* Pages that can be read, and the record of the last one. */
static int nl_zone_pages(struct nl_zoned_ftl *f, u32 block, u64 *when, struct nl_rec *last)
{
	u32 low = 0, high = f->ftl.geo->pages, middle = 0;
	struct nl_rec rec;
	int r;

	while (low < high) {
		r = nl_zone_probe(f, block, middle, when, &rec);
		if (r < 0)
			return r;
		if (r) {
			low = middle + 1;
			*last = rec;
		} else {
			high = middle;
		}
		middle = (low + high) / 2;
	}
	return low;
}

/* It is not that zone's any more, or never was of use to it. */
static int nl_zone_drop(struct nl_zoned_ftl *f, u32 block, struct nl_io *io)
{
	if (f->ftl.blocks.bk[block].use == NL_USE_BAD)
		return 0;
	f->ftl.blocks.bk[block].use = NL_USE_HELD;
	return nl_scan_free(&f->ftl, block, io);
}

static bool nl_zone_is_better(const struct nl_zoned_ftl *f, u32 block, u32 than)
{
	const struct nl_bk *bk = f->ftl.blocks.bk;

	if (bk[block].fill != bk[than].fill)
		return bk[block].fill > bk[than].fill;
	return bk[than].use == NL_USE_BAD;
}

/* A block with pages, the last of which is @last: into its place in its zone. */
static int nl_zone_place(struct nl_zoned_ftl *f, u32 block, const struct nl_rec *last,
			 struct nl_io *io)
{
	u32 zone = (u32)last->lpn / f->shape.size, page = (u32)last->lpn % f->shape.size;
	u32 *place = nl_zone_block(f, zone, page), other = *place;
	struct nl_bk *bk = &f->ftl.blocks.bk[block];

	if (page / f->shape.blocks != bk->fill - 1)
		return -EMEDIUMTYPE;
	bk->prev = last->type == NL_OOB_PAD;
	if (bk->use == NL_USE_BAD)
		nl_zone_set(f, zone, NL_ZONE_READONLY);
	else
		bk->use = NL_USE_DATA;
	if (other != NL_NONE && !nl_zone_is_better(f, block, other))
		return nl_zone_drop(f, block, io);
	*place = block;
	if (other != NL_NONE)
		return nl_zone_drop(f, other, io);
	f->owed -= nl_zone_lives(&f->zone[zone]);
	return 0;
}

static int nl_zone_scan_block(struct nl_zoned_ftl *f, u32 block, struct nl_io *io)
{
	struct nl_bk *bk = &f->ftl.blocks.bk[block];
	struct nl_rec last;
	u64 when = io->now;
	int r = nl_zone_pages(f, block, &when, &last);

	nl_io_wait(io, when);
	cond_resched();
	if (r < 0)
		return r;
	bk->fill = r;
	if (r) {
		f->ftl.seq = max(f->ftl.seq, last.seq);
		f->ftl.program = max(f->ftl.program, last.program);
		return nl_zone_place(f, block, &last, io);
	}
	/* Maybe a torn page and nothing else: erased before it is used. */
	return nl_zone_drop(f, block, io);
}

/* Pages of the zone up to the first that is missing. */
static u32 nl_zone_prefix(const struct nl_zoned_ftl *f, u32 zone, bool *finished)
{
	u32 i, block, pages, done = f->shape.capacity;

	for (i = 0; i < f->shape.blocks; i++) {
		block = *nl_zone_block(f, zone, i);
		pages = 0;
		if (block != NL_NONE)
			pages = f->ftl.blocks.bk[block].fill - f->ftl.blocks.bk[block].prev;
		done = min(done, pages * f->shape.blocks + i);
		*finished |= block != NL_NONE && f->ftl.blocks.bk[block].prev;
	}
	return done;
}

/* What a reset left when the power went. */
static int nl_zone_clear(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io)
{
	u32 i, *block;
	int r = 0;

	for (i = 0; i < f->shape.blocks && !r; i++) {
		block = nl_zone_block(f, zone, i);
		if (*block == NL_NONE)
			continue;
		r = nl_zone_drop(f, *block, io);
		*block = NL_NONE;
		f->owed++;
	}
	return r;
}

static int nl_zone_recover(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io)
{
	struct nl_zone *z = &f->zone[zone];
	bool readonly = z->state == NL_ZONE_READONLY, finished = false;
	int r;

	z->done = nl_zone_prefix(f, zone, &finished);
	if (!z->done && !readonly && *nl_zone_block(f, zone, 0) == NL_NONE) {
		r = nl_zone_clear(f, zone, io);
		if (r)
			return r;
		finished = false;
	}
	z->finished = finished;
	z->pointer = z->done;
	f->mapped += z->done;
	if (readonly)
		return 0;
	if (finished || z->done == f->shape.capacity)
		nl_zone_set(f, zone, NL_ZONE_FULL);
	else if (z->done)
		nl_zone_set(f, zone, NL_ZONE_CLOSED);
	z->unsure = z->state == NL_ZONE_CLOSED;
	return 0;
}

int nl_zoned_recover(struct nl_zoned_ftl *f, struct nl_io *io)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 i;
	int r = 0;

	ftl->scanned = true;
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		r = nl_zone_scan_block(f, i, io);
	for (i = 0; i < f->nr && !r; i++)
		r = nl_zone_recover(f, i, io);
	if (!r)
		nl_zone_settle(f);
	return r;
}
