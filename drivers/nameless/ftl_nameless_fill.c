// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: in-place garbage collection
 *
 * GC moves nothing, as that would change names (zhang-2013 4.2.2). What is live in a block goes
 * into battery-backed memory, the block is erased, and becomes the one that its plane fills:
 * writes go into the holes, and when the next page is one that was held, that is put back first.
 * Both segments' pages and trim records go back to where they were; no map changes.
 *
 * While anything of a block is to be put back, the slot has all that is live in it, new writes
 * too. So a cut at any operation, torn or not, costs nothing: the start erases the block and puts
 * back what the slot has (ftl_nameless_recover.c), however often the power goes meanwhile. When
 * the last page is put back the slot is empty, and the block is like any that is being filled.
 *
 * Holes wait for writes as long as there are any: only when the device has been idle for a while
 * (nl_ftl_gc()), at a stop and after a cut they are filled with nothing, and counted as wasted;
 * the flash can't leave them out.
 *
 * It never wedges. GC needs no free block. A write that finds no hole in any active block finds
 * all blocks closed, and nl_ftl_min_blocks() has one with a page that is not live among them. The
 * free blocks of the floor are for what is left without a block by one that failed, and are made
 * again when they were used (nl_nw_refill_floor()).
 */
#include <linux/bitmap.h>
#include <evenkeel/copy.h>
#include "ftl_nameless.h"

u32 nl_nw_holes(const struct nl_nw *f, u32 plane)
{
	u32 block = f->active[plane];

	if (block == NL_NONE)
		return 0;
	return f->ftl.geo->pages - f->ftl.blocks.bk[block].fill - f->pins[plane];
}

void nl_nw_dead(struct nl_nw *f, u32 ppn)
{
	u32 block = nl_block_of(f->ftl.geo, ppn), plane = nl_plane_of(f->ftl.geo, block);
	struct nl_bk *bk = &f->ftl.blocks.bk[block];
	struct nl_held *held = nl_nw_held(f, ppn);

	if (held) {
		nl_held_drop(held);
		if (f->active[plane] == block && nl_page_of(f->ftl.geo, ppn) >= bk->fill)
			f->pins[plane]--;
	}
	nl_page_dead(&f->ftl, ppn);
}

/* --- filling ---------------------------------------------------------------------------------- */

int nl_nw_restore(struct nl_nw *f, u32 ppn, const struct nl_held *held, u64 *when)
{
	struct nl_rec pad = { .type = NL_OOB_PAD };

	if (held)
		return nl_media_restore(&f->ftl, ppn, NL_FOR_GC, when, held->buf, held->oob);
	f->wasted++;
	return nl_media_program(&f->ftl, ppn, NL_FOR_GC, when, NULL, &pad);
}

/* A block is left without a place for what is live in it: the slot has that. */
static void nl_nw_lose(struct nl_nw *f, struct nl_slot *slot)
{
	if (f->ftl.blocks.bk[slot->block].live) {
		slot->lost = true;
		f->nr_lost++;
	} else {
		nl_slot_drop(f->battery, slot);
	}
}

/* A program in the plane's active block failed. -EAGAIN: there is none now. */
static int nl_nw_failed(struct nl_nw *f, u32 plane)
{
	u32 block = f->active[plane];
	struct nl_slot *slot = nl_nw_slot(f, block);
	int r;

	f->active[plane] = NL_NONE;
	f->pins[plane] = 0;
	f->ftl.blocks.bk[block].use = NL_USE_HELD;
	if (slot)
		nl_nw_lose(f, slot);
	r = nl_media_retire(&f->ftl, block);
	return r ? r : -EAGAIN;
}

/* The next page of the plane's active block that was not live when it was erased, or its end. */
static int nl_nw_advance(struct nl_nw *f, u32 plane, u64 start)
{
	u32 block = f->active[plane], ppn;
	struct nl_bk *bk = &f->ftl.blocks.bk[block];
	struct nl_held *held;
	u64 when;
	int r;

	while (f->pins[plane]) {
		ppn = nl_ppn(f->ftl.geo, block, bk->fill);
		held = nl_nw_held(f, ppn);
		if (!held)
			return 0;
		if (!nl_page_is_live(&f->ftl, ppn)) {	/* a trim record that was replaced */
			nl_held_drop(held);
			f->pins[plane]--;
			continue;
		}
		when = start;
		r = nl_nw_restore(f, ppn, held, &when);
		if (r)
			return r == -EIO ? nl_nw_failed(f, plane) : r;
		f->pins[plane]--;
	}
	if (nl_nw_slot(f, block))
		nl_slot_drop(f->battery, nl_nw_slot(f, block));
	return 0;
}

int nl_nw_spent(struct nl_nw *f, u32 plane, u64 start)
{
	u32 block = f->active[plane];
	int r;

	if (block == NL_NONE || nl_nw_holes(f, plane))
		return 0;
	r = nl_nw_advance(f, plane, start);
	if (r)
		return r == -EAGAIN ? 0 : r;
	if (f->ftl.blocks.bk[block].fill < f->ftl.geo->pages)
		return 0;
	f->active[plane] = NL_NONE;
	nl_block_close(&f->ftl, block);
	return 0;
}

int nl_nw_finish(struct nl_nw *f, u32 plane, u64 *when)
{
	u32 block = f->active[plane];
	int r;

	while (f->pins[plane]) {
		r = nl_nw_advance(f, plane, *when);
		if (r)
			return r == -EAGAIN ? 0 : r;
		if (!f->pins[plane])
			break;
		r = nl_nw_restore(f, nl_ppn(f->ftl.geo, block, f->ftl.blocks.bk[block].fill),
				  NULL, when);
		if (r == -EIO)
			r = nl_nw_failed(f, plane);
		if (r)
			return r == -EAGAIN ? 0 : r;
	}
	if (block != NL_NONE && nl_nw_slot(f, block))
		nl_slot_drop(f->battery, nl_nw_slot(f, block));
	return nl_nw_spent(f, plane, *when);
}

/* --- the victim ------------------------------------------------------------------------------- */

/*
 * Writes that come while @pages are programmed (4.2): S_write, of this plane's share. Holes wait
 * for them beyond that, until the device is taken for idle.
 */
static u64 nl_nw_coming(const struct nl_nw *f, u64 pages)
{
	u64 idle = f->ftl.config.p[NL_P_GC_IDLE];
	u64 us = div_u64(nl_latency(&f->ftl.flash->timing, NL_P_PROGRAM) * pages + idle, 1000);

	if (!idle)
		return U32_MAX;
	return div64_u64(us * min_t(u64, f->rate, 1 << 24),
			 1000000ULL * f->ftl.geo->nr_planes);
}

static void nl_nw_measure(struct nl_nw *f, u64 now)
{
	u64 ns = now - min(now, f->rate_from);

	if (ns < 1000000)
		return;
	f->rate = (f->rate + div64_u64((u64)f->rate_pages * 1000000000, ns)) / 2;
	f->rate_from = now;
	f->rate_pages = 0;
}

/* N_last: pages behind the last one that is live. */
static u32 nl_nw_tail(const struct nl_nw *f, u32 block)
{
	u32 n = 0;

	while (n < f->ftl.geo->pages &&
	       !nl_page_is_live(&f->ftl, nl_ppn(f->ftl.geo, block, f->ftl.geo->pages - 1 - n)))
		n++;
	return n;
}

/* Equations 4.1 and 4.2, in pages. */
static u64 nl_nw_benefit(const struct nl_nw *f, u32 block)
{
	u32 valid = f->ftl.blocks.bk[block].live;
	u64 wait = f->ftl.wbuf.nr / f->ftl.geo->nr_planes + 1;

	return min_t(u64, f->ftl.geo->pages - valid,
		     wait + nl_nw_tail(f, block) + nl_nw_coming(f, valid + wait));
}

static u64 nl_nw_cost(const struct nl_nw *f, u32 valid)
{
	const struct nl_timing *timing = &f->ftl.flash->timing;

	return 1 + nl_latency(timing, NL_P_ERASE) +
	       (nl_latency(timing, NL_P_READ) + nl_latency(timing, NL_P_PROGRAM)) * valid;
}

/* The closed block of a plane with most benefit for its cost, NL_NONE if all are full. */
static u32 nl_nw_choose(struct nl_nw *f, u32 plane)
{
	u32 first = plane * f->ftl.geo->blocks, block, best = NL_NONE;
	const struct nl_bk *bk = f->ftl.blocks.bk;
	u64 benefit, cost, most = 0, least = 1;

	for (block = first; block < first + f->ftl.geo->blocks; block++) {
		if (bk[block].use != NL_USE_CLOSED || bk[block].live == f->ftl.geo->pages)
			continue;
		cost = nl_nw_cost(f, bk[block].live);
		if ((f->ftl.geo->pages - bk[block].live) * least <= most * cost)
			continue;	/* whatever else it has */
		benefit = nl_nw_benefit(f, block);
		if (benefit * least <= most * cost)
			continue;
		best = block;
		most = benefit;
		least = cost;
	}
	return best;
}

/* --- collecting ------------------------------------------------------------------------------- */

static int nl_nw_hold(struct nl_nw *f, struct nl_slot *slot, u32 block, u64 start)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 page, ppn;
	u64 when;
	int r;

	for (page = 0; page < ftl->blocks.bk[block].fill; page++) {
		ppn = nl_ppn(ftl->geo, block, page);
		if (!nl_page_is_live(ftl, ppn))
			continue;
		when = start;
		r = nl_flash_read(ftl->flash, ppn, NL_FOR_GC, &when, &slot->page[page].buf,
				  ftl->oob);
		if (r)
			return r == -ENODATA || r == -EBADMSG ? -EIO : r;
		ek_copy(slot->page[page].oob, ftl->oob, NL_OOB_BYTES);
		slot->page[page].used = true;
	}
	return 0;
}

/* The plane's active block is one that has been collected. -EAGAIN: look again. */
static int nl_nw_collected(struct nl_nw *f, u32 plane, u32 block, u64 start)
{
	struct nl_bk *bk = &f->ftl.blocks.bk[block];

	f->ftl.victims++;
	bk->fill = 0;
	bk->newest = 0;
	if (!bk->live)
		nl_slot_drop(f->battery, &f->battery->slot[plane]);
	if (!bk->live && f->ftl.blocks.nr_free < f->ftl.reserve) {
		nl_block_free(&f->ftl, block);
		return -EAGAIN;
	}
	bk->use = NL_USE_ACTIVE;
	f->active[plane] = block;
	f->pins[plane] = bk->live;
	return nl_nw_level(f, plane, &start);
}

static int nl_nw_collect(struct nl_nw *f, u32 plane, u64 start)
{
	struct nl_slot *slot = &f->battery->slot[plane];
	u64 when = start;
	u32 block;
	int r;

	/* A cut may come in this one, and then the slot must not have anything yet. */
	r = nl_media_change(&f->ftl, &when);
	if (r)
		return r;
	nl_nw_measure(f, start);
	block = nl_nw_choose(f, plane);
	if (block == NL_NONE)
		return -ENOSPC;
	r = nl_nw_hold(f, slot, block, start);
	if (r)
		nl_slot_drop(f->battery, slot);
	if (r == -EIO)
		nl_block_set_aside(&f->ftl, block);
	if (r)
		return r == -EIO ? -EAGAIN : r;
	slot->block = block;	/* from here on a cut costs nothing */
	nl_block_unclose(&f->ftl, block);
	r = nl_media_erase_held(&f->ftl, block, NL_FOR_GC, &when);
	if (r == -EIO) {
		nl_nw_lose(f, slot);
		return -EAGAIN;
	}
	return r ? r : nl_nw_collected(f, plane, block, start);
}

static int nl_nw_open_free(struct nl_nw *f, u32 plane, u64 start)
{
	u32 block = nl_block_take(&f->ftl, plane);
	int r = nl_media_ready(&f->ftl, block, NL_FOR_GC, &start);

	if (r)
		return r == -EIO ? -EAGAIN : r;
	f->ftl.blocks.bk[block].use = NL_USE_ACTIVE;
	f->active[plane] = block;
	f->pins[plane] = 0;
	return 0;
}

static int nl_nw_open_plane(struct nl_nw *f, u32 plane, u32 floor, u64 start)
{
	const struct nl_blocks *b = &f->ftl.blocks;

	if (f->active[plane] != NL_NONE)
		return nl_nw_spent(f, plane, start);
	if (b->nr_free > floor && b->nr_free_in[plane])
		return nl_nw_open_free(f, plane, start);
	if (f->battery->slot[plane].block != NL_NO_SLOT)
		return -ENOSPC;
	return nl_nw_collect(f, plane, start);
}

/* Have a hole be next in @plane. -ENOSPC: it has none and gets none. */
static int nl_nw_prepare(struct nl_nw *f, u32 plane, u32 floor, u64 start)
{
	int r;

	for (;;) {
		r = nl_nw_holes(f, plane) ? nl_nw_advance(f, plane, start) :
					    nl_nw_open_plane(f, plane, floor, start);
		if (r && r != -EAGAIN)
			return r;
		if (!r && nl_nw_holes(f, plane) &&
		    !nl_nw_held(f, nl_ppn(f->ftl.geo, f->active[plane],
					  f->ftl.blocks.bk[f->active[plane]].fill)))
			return 0;
	}
}

/* The next plane with a hole, in turn. */
static int nl_nw_place(struct nl_nw *f, u32 floor, u64 start, u32 *plane)
{
	u32 i, n;
	int r;

	for (i = 0; i < f->ftl.geo->nr_planes; i++) {
		n = (f->cursor + i) % f->ftl.geo->nr_planes;
		r = nl_nw_prepare(f, n, floor, start);
		if (r == -ENOSPC)
			continue;
		if (!r) {
			*plane = n;
			f->cursor = n + 1;
		}
		return r;
	}
	return -ENOSPC;
}

static int nl_nw_place_low(struct nl_nw *f, u64 start, u32 *plane)
{
	int r = nl_nw_place(f, f->ftl.reserve, start, plane);

	return r == -ENOSPC ? nl_nw_place(f, NL_FLOOR, start, plane) : r;
}

static int nl_nw_somewhere(struct nl_nw *f, u32 wanted, u64 start, u32 *plane)
{
	u64 when;
	int r;

	if (wanted != NL_NONE) {
		*plane = wanted;
		if (!nl_nw_holes(f, wanted))
			return -ENOSPC;
		return nl_nw_advance(f, wanted, start);
	}
	r = nl_nw_place_low(f, start, plane);
	if (r == -ENOSPC && f->nr_lost && !f->moving) {
		/* A block failed just now: its plane waits until what it had is elsewhere. */
		when = start;
		r = nl_nw_rehome(f, &when);
		if (!r)
			r = nl_nw_place_low(f, start, plane);
	}
	if (r == -ENOSPC && f->moving)
		r = nl_nw_place(f, 0, start, plane);
	return r;
}

/*
 * An old name that is still in use is the same as the new one would be. It can't be told which
 * block is meant then, so the page is left out.
 */
static bool nl_nw_is_ambiguous(const struct nl_nw *f, u32 ppn, const struct nl_rec *rec)
{
	struct nl_meta meta = nl_rec_meta(rec);

	return rec->type == NL_OOB_NAMELESS && nl_nw_moved(f, ppn, &meta);
}

static int nl_nw_program_here(struct nl_nw *f, u32 plane, enum nl_cause cause, u64 *when,
			      struct nl_buf *buf, struct nl_rec *rec, u32 ppn)
{
	struct nl_slot *slot;
	struct nl_held *held;
	int r = nl_media_program(&f->ftl, ppn, cause, when, buf, rec);

	if (r == -EIO)
		return nl_nw_failed(f, plane);
	slot = r ? NULL : nl_nw_slot(f, f->active[plane]);
	if (!slot)
		return r;
	held = &slot->page[nl_page_of(f->ftl.geo, ppn)];
	ek_copy(held->oob, f->ftl.record, NL_OOB_BYTES);
	held->buf = buf;
	held->used = true;
	if (buf)
		nl_buf_get(buf);
	return 0;
}

int nl_nw_program(struct nl_nw *f, u32 wanted, enum nl_cause cause, u64 *when, struct nl_buf *buf,
		  struct nl_rec *rec, u32 *ppn)
{
	/* A page that is left out is a hole again for whoever collects its block. */
	u32 left = f->battery->nr_moved + f->ftl.geo->pages, plane, block;
	u64 start = *when;
	int r;

	do {
		r = nl_nw_somewhere(f, wanted, start, &plane);
		if (r)
			return r;
		block = f->active[plane];
		*ppn = nl_ppn(f->ftl.geo, block, f->ftl.blocks.bk[block].fill);
		*when = start;
		if (nl_nw_is_ambiguous(f, *ppn, rec)) {
			r = nl_nw_restore(f, *ppn, NULL, when);
			if (r == -EIO)
				r = nl_nw_failed(f, plane);
			if (!r)
				r = nl_nw_spent(f, plane, start);
			if (!r)
				r = left-- ? -EAGAIN : -ENOSPC;
		} else {
			r = nl_nw_program_here(f, plane, cause, when, buf, rec, *ppn);
		}
	} while (r == -EAGAIN && wanted == NL_NONE);
	return r;
}

static bool nl_nw_is_low(const struct nl_nw *f)
{
	u32 plane = f->cursor % f->ftl.geo->nr_planes;

	return f->ftl.blocks.nr_free <= f->ftl.reserve && !nl_nw_holes(f, plane);
}

/*
 * What blocks that failed took: places for what they held, and the floor. For the next page: this
 * one can do without. Only -ESHUTDOWN is an error.
 */
int nl_nw_mend(struct nl_nw *f, u64 *when)
{
	int r = 0;

	if (f->moving)
		return 0;
	if (f->nr_lost)
		r = nl_nw_rehome(f, when);
	if (r != -ESHUTDOWN)
		r = nl_nw_refill_floor(f, when);
	return r == -ESHUTDOWN ? r : 0;
}

/* Before a page is programmed for a user, and before it gets its seq. */
int nl_nw_make_room(struct nl_nw *f, const struct nl_io *io)
{
	struct nl_io record = { .now = io->now };
	u64 when = io->now;
	int r;

	f->leveled = false;
	r = nl_nw_mend(f, &when);
	if (r)
		return r;
	if (f->ftl.trims.syncing)
		return 0;
	if (nl_nw_is_low(f) && f->ftl.trims.nr_pending) {
		/* GC gains more when records are there; it can do without. */
		r = nl_trims_sync(&f->ftl, &record);
		if (r == -ESHUTDOWN)
			return r;
	}
	/* Not while a record is about chunks that it has loaded. A name needs none of them. */
	r = nl_map_shrink(f, &when);
	return r == -ESHUTDOWN ? r : 0;
}
