// SPDX-License-Identifier: GPL-2.0-only
/*
 * The start. First what in-place GC left under way is put back into its blocks, so that all is in
 * the flash that can be; then the virtual segment's map comes out of a checkpoint or all OOB, as
 * it does for the other FTLs. What the physical segment holds the battery-backed memory knows. The
 * map is whole in memory then; what is more than its cache holds goes into the flash at once.
 *
 * A cut meanwhile does no harm: a slot is emptied when the last of it is in the flash.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_nameless.h"

static u32 nl_slot_end(const struct nl_nw *f, const struct nl_slot *slot)
{
	u32 n = f->battery->pages;

	while (n && !slot->page[n - 1].used)
		n--;
	return n;
}

/* -EIO: the block failed, the slot goes on having it all. */
static int nl_slot_restore(struct nl_nw *f, struct nl_slot *slot, u64 *when)
{
	u32 page, end = nl_slot_end(f, slot), block = slot->block;
	int r = nl_media_erase_held(&f->ftl, block, NL_FOR_RECOVERY, when);

	for (page = 0; page < end && !r; page++)
		r = nl_nw_restore(f, nl_ppn(f->ftl.geo, block, page),
				  slot->page[page].used ? &slot->page[page] : NULL, when);
	f->ftl.blocks.bk[block].fill = 0;	/* the scan counts */
	f->ftl.blocks.bk[block].newest = 0;
	if (!r)
		nl_slot_drop(f->battery, slot);
	return r;
}

static int nl_slots_restore(struct nl_nw *f, struct nl_io *io)
{
	struct nl_slot *slot;
	u64 when = io->now;
	u32 i;
	int r = 0;

	for (i = 0; i < f->battery->nr_slots && !r; i++) {
		slot = &f->battery->slot[i];
		if (slot->block != NL_NO_SLOT && !slot->lost)
			r = nl_slot_restore(f, slot, &when);
		if (r == -EIO) {
			slot->lost = true;
			r = 0;
		}
		f->nr_lost += slot->lost;
	}
	nl_io_wait(io, when);
	return r;
}

/* --- what has no block ------------------------------------------------------------------------ */

/*
 * Has a record that the scan has found taken it away?  The power may go between that and what the
 * slot forgets for it.
 */
static int nl_lost_is_trimmed(struct nl_nw *f, const struct nl_rec *rec, u64 *when)
{
	struct nl_trims *t = &f->ftl.trims;
	u32 chunk = rec->lpn / t->bits, bit = rec->lpn % t->bits;
	const u8 *bitmap;
	struct nl_buf *buf;
	int r;

	if (t->ppn[chunk] == NL_UNMAPPED || t->seq[chunk] < rec->seq)
		return 0;
	r = nl_nw_fetch(f, t->ppn[chunk], NL_FOR_RECOVERY, when, &buf, NULL);
	if (r)
		return r;
	if (!buf)
		return -EIO;
	bitmap = nl_buf_data(buf);
	r = !!(bitmap[bit / 8] & 1 << bit % 8);
	nl_buf_put(buf);
	return r;
}

static int nl_lost_data(struct nl_nw *f, u32 *map, u32 ppn, const struct nl_rec *rec, u64 *when)
{
	int r = nl_lost_is_trimmed(f, rec, when);

	if (r)
		return min(r, 0);
	if (map[rec->lpn] != NL_UNMAPPED)
		nl_page_dead(&f->ftl, map[rec->lpn]);
	map[rec->lpn] = ppn;
	nl_page_live(&f->ftl, ppn);
	return 0;
}

/* What a trim record that the scan did not see takes away. */
static int nl_lost_trim(struct nl_nw *f, u32 *map, u32 ppn, const struct nl_rec *rec,
			struct nl_buf *buf, u64 *when)
{
	struct nl_trims *t = &f->ftl.trims;
	u32 lpn = rec->lpn * t->bits, i;
	const u8 *bitmap = nl_buf_data(buf);
	struct nl_rec other;
	int r;

	if (t->ppn[rec->lpn] != NL_UNMAPPED) {
		if (t->seq[rec->lpn] > rec->seq)
			return 0;
		nl_page_dead(&f->ftl, t->ppn[rec->lpn]);
	}
	nl_trims_found(&f->ftl, ppn, rec);
	nl_page_live(&f->ftl, ppn);
	for (i = 0; i < t->bits && lpn + i < f->ftl.logical_pages; i++) {
		if (!(bitmap[i / 8] & 1 << i % 8) || map[lpn + i] == NL_UNMAPPED)
			continue;
		r = nl_nw_fetch(f, map[lpn + i], NL_FOR_RECOVERY, when, NULL, &other);
		if (r)
			return r;
		if (other.seq > rec->seq)
			continue;
		nl_page_dead(&f->ftl, map[lpn + i]);
		map[lpn + i] = NL_UNMAPPED;
	}
	return 0;
}

/* The scan leaves bad blocks out: the numbers of what is lost may be the highest there are. */
static int nl_lost_page(struct nl_nw *f, u32 *map, u32 ppn, u8 type, u64 *when)
{
	const struct nl_held *held = nl_nw_held(f, ppn);
	struct nl_rec rec;
	int r = held ? nl_oob_decode(&f->ftl, held->oob, &rec) : 0;

	if (!held || r)
		return r;
	f->ftl.seq = max(f->ftl.seq, rec.seq);
	f->ftl.program = max(f->ftl.program, rec.program);
	if (rec.type != type)
		return 0;
	if (rec.type == NL_OOB_DATA)
		r = nl_lost_data(f, map, ppn, &rec, when);
	else if (rec.type == NL_OOB_TRIM && held->buf)
		r = nl_lost_trim(f, map, ppn, &rec, held->buf, when);
	return r;
}

static int nl_lost_pages(struct nl_nw *f, u32 *map, u8 type, struct nl_io *io)
{
	u32 i, page;
	u64 when = io->now;
	int r = 0;

	for (i = 0; i < f->battery->nr_slots && f->nr_lost; i++)
		for (page = 0; f->battery->slot[i].lost && page < f->battery->pages && !r; page++)
			r = nl_lost_page(f, map,
					 nl_ppn(f->ftl.geo, f->battery->slot[i].block, page),
					 type, &when);
	nl_io_wait(io, when);
	return r;
}

static int nl_lost_retire(struct nl_nw *f)
{
	struct nl_slot *slot;
	u32 i, block;
	int r = 0;

	for (i = 0; i < f->battery->nr_slots && !r; i++) {
		slot = &f->battery->slot[i];
		block = slot->block;
		if (!slot->lost)
			continue;
		if (!f->ftl.blocks.bk[block].live) {
			nl_slot_drop(f->battery, slot);
			f->nr_lost--;
		}
		if (f->ftl.blocks.bk[block].use != NL_USE_BAD)
			r = nl_media_retire(&f->ftl, block);
	}
	return r;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int nl_recover_virtual(struct nl_nw *f, const u32 *map)
{
	u64 when = 0;
	u32 lpn;
	int r = 0;

	for (lpn = 0; lpn < f->ftl.logical_pages && !r; lpn++) {
		if (map[lpn] == NL_UNMAPPED)
			continue;
		r = nl_map_need(f, lpn, &when);		/* there is none in the flash yet */
		if (r)
			break;
		nl_map_set(f, lpn, map[lpn]);
		f->mapped++;
	}
	f->map.hits = 0;
	f->map.misses = 0;
	return r;
}

/*
 * Can a page be a valid block? Battery-backed memory out of an image says what whoever made that
 * wanted; a page that is live twice would be counted beyond the end of all lists.
 */
static bool nl_recover_fits(const struct nl_nw *f, u32 ppn)
{
	u32 block = nl_block_of(f->ftl.geo, ppn);
	const struct nl_bk *bk = &f->ftl.blocks.bk[block];

	if (nl_page_is_live(&f->ftl, ppn))
		return false;
	if (nl_nw_slot(f, block))
		return nl_nw_held(f, ppn) && (bk->use == NL_USE_HELD || bk->use == NL_USE_BAD);
	return bk->use == NL_USE_HELD && nl_page_of(f->ftl.geo, ppn) < bk->fill;
}

static int nl_recover_physical(struct nl_nw *f)
{
	u32 ppn;

	f->battery->nr_valid = 0;
	for_each_set_bit(ppn, f->battery->valid, f->ftl.geo->nr_pages) {
		if (!nl_recover_fits(f, ppn))
			return -EUCLEAN;
		nl_page_live(&f->ftl, ppn);
		f->battery->nr_valid++;
	}
	return 0;
}

static int nl_recover_maps(struct nl_nw *f, u32 *map, struct nl_io *io)
{
	u32 i;
	int r;

	for (i = 0; i < f->ftl.logical_pages; i++)
		map[i] = NL_UNMAPPED;
	f->ftl.no_checkpoint = nl_nw_has_slots(f);
	r = nl_slots_restore(f, io);
	if (!r)
		r = nl_recover_map(&f->ftl, map, io);
	if (!r)
		r = nl_lost_pages(f, map, NL_OOB_DATA, io);
	if (!r)
		r = nl_lost_pages(f, map, NL_OOB_TRIM, io);
	return r ? r : nl_recover_virtual(f, map);
}

int nl_nw_recover(struct nl_nw *f, struct nl_io *io)
{
	u32 i, *map = kvmalloc_array(f->ftl.logical_pages, sizeof(*map), NL_GFP_IO);
	u64 when = io->now;
	int r;

	if (!map)
		return -ENOMEM;
	r = nl_recover_maps(f, map, io);
	kvfree(map);
	if (!r)
		r = nl_recover_physical(f);
	if (!r)
		r = nl_lost_retire(f);
	for (i = 0; i < f->ftl.geo->nr_blocks && r >= 0; i++)
		r = nl_scan_place(&f->ftl, i, f->active, io);
	if (r >= 0 && f->ftl.state != NL_FTL_RO)
		r = nl_map_shrink(f, &when);
	f->map.most = f->map.resident;
	nl_io_wait(io, when);
	return min(r, 0);
}
