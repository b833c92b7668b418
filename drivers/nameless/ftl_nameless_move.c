// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: migrations
 *
 * Pages move for two reasons only: to level wear (zhang-2013 4.3.6), and because the block that
 * they were to be put back into failed. A page of the virtual segment gets another entry in the
 * map. One of the physical segment gets another name, and its client is told; until it
 * acknowledges that, a migration leads from the old name to the new place.
 *
 * A move is decided in battery-backed memory, at once: the copy is programmed; then, without a
 * flash operation in between, the copy is valid, the old page is not, and the migration is there.
 * A cut before that leaves a copy that is not valid, and nobody has heard of.
 *
 * Old names are looked up by address and metadata together, as the page at the old address may
 * hold another block. No block with the same metadata gets that page meanwhile
 * (nl_nw_is_ambiguous()). When a block that moved moves again, the old migration leads to the new
 * place, and there is a second one from the place between: the client may know it by either.
 *
 * When a block is overwritten or freed, the migrations that led to it are no more, and their old
 * names end. One that was handed out keeps its page from blocks with the same metadata until it is
 * acknowledged, leading nowhere: it may lie in some queue yet, and a client that finds it there
 * later would look for its block where another one is. Without that, by time:
 *
 *	block m is at 5, moves to 9	the client is told "5 is 9", and does not look yet
 *	m is overwritten		9 is dead, and so is the migration; m is at 5, of all pages
 *	the client looks		its m is at 5, so now it is at 9: its name is lost
 *
 * Nor does a power cut end them: the client learns of one some time after the power is back, and
 * until then m must not be at 5 any more than before. All are handed out again, and what leads
 * nowhere ends, when nobody is left who was told, or he says that he has forgotten it
 * (nl_nw_replay()).
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "buf.h"
#include "ftl_nameless.h"

/* --- the table of migrations ------------------------------------------------------------------ */

static u32 nl_nw_hash(const struct nl_nw *f, u32 ppn)
{
	return ppn & (f->buckets - 1);
}

/* What waits to be acknowledged: where the block went that had this name. NULL: nothing. */
struct nl_moved *nl_nw_moved(const struct nl_nw *f, u32 from, const struct nl_meta *meta)
{
	struct nl_moved *moved = f->battery->moved;
	u32 i;

	if (!f->battery->nr_moved)
		return NULL;
	for (i = f->from.bucket[nl_nw_hash(f, from)]; i != NL_NONE; i = f->from.chain[i])
		if (moved[i].from == from && nl_meta_same(&moved[i].meta, meta))
			return &moved[i];
	return NULL;
}

/* The next one from entry @i of a chain on that leads to @to. */
static u32 nl_nw_leads(const struct nl_nw *f, u32 i, u32 to)
{
	while (i != NL_NONE && f->battery->moved[i].to != to)
		i = f->to.chain[i];
	return i;
}

static u32 nl_nw_first_to(const struct nl_nw *f, u32 to)
{
	return f->battery->nr_moved ? nl_nw_leads(f, f->to.bucket[nl_nw_hash(f, to)], to) : NL_NONE;
}

/* For checks. */
bool nl_nw_is_indexed(const struct nl_nw *f, u32 i)
{
	u32 to = f->battery->moved[i].to, at = nl_nw_first_to(f, to);

	while (at != NL_NONE && at != i)
		at = nl_nw_leads(f, f->to.chain[at], to);
	return at == i;
}

static void nl_index_add(struct nl_index *index, u32 hash, u32 i)
{
	index->chain[i] = index->bucket[hash];
	index->bucket[hash] = i;
}

static void nl_index_del(struct nl_index *index, u32 hash, u32 i)
{
	u32 *at = &index->bucket[hash];

	while (*at != i)
		at = &index->chain[*at];
	*at = index->chain[i];
}

static void nl_nw_index(struct nl_nw *f, u32 i)
{
	const struct nl_moved *moved = &f->battery->moved[i];

	nl_index_add(&f->from, nl_nw_hash(f, moved->from), i);
	if (moved->to != NL_NONE)
		nl_index_add(&f->to, nl_nw_hash(f, moved->to), i);
	f->untold += !moved->told;
}

static void nl_nw_free_entry(struct nl_nw *f, u32 i)
{
	f->from.chain[i] = f->free_move;
	f->free_move = i;
}

void nl_nw_unmove(struct nl_nw *f, struct nl_moved *moved)
{
	u32 i = moved - f->battery->moved;

	nl_index_del(&f->from, nl_nw_hash(f, moved->from), i);
	if (moved->to != NL_NONE)
		nl_index_del(&f->to, nl_nw_hash(f, moved->to), i);
	f->untold -= !moved->told;
	moved->used = false;
	f->battery->nr_moved--;
	nl_nw_free_entry(f, i);
}

/* The block is no more; who was told of it may not know yet that it led there. */
static void nl_nw_end_move(struct nl_nw *f, struct nl_moved *moved)
{
	if (!moved->told) {
		nl_nw_unmove(f, moved);
		return;
	}
	nl_index_del(&f->to, nl_nw_hash(f, moved->to), moved - f->battery->moved);
	moved->to = NL_NONE;
}

void nl_nw_forget_moves(struct nl_nw *f, u32 to)
{
	u32 i;

	while ((i = nl_nw_first_to(f, to)) != NL_NONE)
		nl_nw_end_move(f, &f->battery->moved[i]);
}

static void nl_nw_index_all(struct nl_nw *f)
{
	u32 i;

	for (i = 0; i < f->buckets; i++) {
		f->from.bucket[i] = NL_NONE;
		f->to.bucket[i] = NL_NONE;
	}
	f->untold = 0;
	f->free_move = NL_NONE;
	for (i = f->battery->max_moved; i--;) {
		if (f->battery->moved[i].used)
			nl_nw_index(f, i);
		else
			nl_nw_free_entry(f, i);
	}
}

/* The start. Who was told knows of no cut yet. */
void nl_nw_index_moves(struct nl_nw *f)
{
	f->tell = 0;
	nl_nw_index_all(f);
}

/* Nobody knows any more what he was told: all wait to be handed out but those that are over. */
void nl_nw_replay(struct nl_nw *f)
{
	struct nl_battery *battery = f->battery;
	u32 i;

	if (f->untold == battery->nr_moved)
		return;
	for (i = 0; i < battery->max_moved; i++) {
		battery->moved[i].told = false;
		if (battery->moved[i].used && battery->moved[i].to == NL_NONE) {
			battery->moved[i].used = false;
			battery->nr_moved--;
		}
	}
	nl_nw_index_moves(f);
}

static void nl_nw_add_move(struct nl_nw *f, u32 from, u32 to, const struct nl_meta *meta)
{
	struct nl_moved *moved = f->battery->moved;
	u32 i;

	while ((i = nl_nw_first_to(f, from)) != NL_NONE) {
		nl_index_del(&f->to, nl_nw_hash(f, from), i);
		moved[i].to = to;
		nl_index_add(&f->to, nl_nw_hash(f, to), i);
	}
	i = f->free_move;
	f->free_move = f->from.chain[i];
	moved[i] = (struct nl_moved){ .used = true, .from = from, .to = to, .meta = *meta };
	nl_nw_index(f, i);
	f->battery->nr_moved++;
	f->migrated++;
}

static void nl_index_free(struct nl_index *index)
{
	kvfree(index->bucket);
	kvfree(index->chain);
}

void nl_nw_free_indexes(struct nl_nw *f)
{
	nl_index_free(&f->from);
	nl_index_free(&f->to);
}

/* Indexes of a table of @max, instead of what there is. On -ENOMEM that stays. */
int nl_nw_alloc_indexes(struct nl_nw *f, u32 max, gfp_t gfp)
{
	struct nl_index index[2] = { 0 };
	u32 buckets = 1, i;

	while (buckets < max)
		buckets *= 2;
	for (i = 0; i < 2; i++) {
		index[i].bucket = kvcalloc(buckets, sizeof(u32), gfp);
		index[i].chain = kvcalloc(max, sizeof(u32), gfp);
	}
	if (!index[0].bucket || !index[0].chain || !index[1].bucket || !index[1].chain) {
		nl_index_free(&index[0]);
		nl_index_free(&index[1]);
		return -ENOMEM;
	}
	nl_nw_free_indexes(f);
	f->from = index[0];
	f->to = index[1];
	f->buckets = buckets;
	return 0;
}

/* Blocks that failed have to be told of, however many wait: leveling's bound isn't theirs. */
static int nl_nw_room_for_moves(struct nl_nw *f)
{
	struct nl_battery *battery = f->battery;
	u32 max = max_t(u32, battery->max_moved, f->ftl.config.p[NL_P_MOVES]) + battery->pages * 4;
	gfp_t gfp = f->ftl.flash->nowait ? NL_GFP_NOWAIT : NL_GFP_IO;
	struct nl_moved *moved;

	if (battery->nr_moved + battery->pages <= battery->max_moved)
		return 0;
	moved = kvcalloc(max, sizeof(*moved), gfp);
	if (!moved || nl_nw_alloc_indexes(f, max, gfp)) {
		kvfree(moved);
		return -ENOMEM;
	}
	memcpy(moved, battery->moved, battery->max_moved * sizeof(*moved));
	kvfree(battery->moved);
	battery->moved = moved;
	battery->max_moved = max;
	nl_nw_index_all(f);
	return 0;
}

/* --- moving a page ---------------------------------------------------------------------------- */

int nl_nw_fetch(struct nl_nw *f, u32 ppn, enum nl_cause cause, u64 *when, struct nl_buf **buf,
		struct nl_rec *rec)
{
	struct nl_held *held = nl_nw_held(f, ppn);
	struct nl_rec own;
	int r;

	if (!held)
		return nl_media_read(&f->ftl, ppn, cause, when, buf, rec);
	r = nl_oob_decode(&f->ftl, held->oob, rec ? rec : &own);
	if (r)
		return -EIO;
	*when += nl_latency(&f->ftl.flash->timing, NL_P_RAM);
	if (!buf)
		return 0;
	*buf = held->buf;
	if (held->buf)
		nl_buf_get(held->buf);
	return 0;
}

/* Nothing below is a flash operation, so no cut comes in between. */
static void nl_nw_moved_to(struct nl_nw *f, const struct nl_rec *rec, u32 from, u32 to)
{
	struct nl_meta meta = nl_rec_meta(rec);

	nl_page_live(&f->ftl, to);
	nl_nw_dead(f, from);
	switch (rec->type) {
	case NL_OOB_DATA:
		nl_map_set(f, rec->lpn, to);
		break;
	case NL_OOB_MAP:
		nl_map_moved(&f->map, rec->lpn, to);
		break;
	case NL_OOB_TRIM:
		nl_trims_moved(&f->ftl, rec->lpn, to);
		break;
	default:
		__set_bit(to, f->battery->valid);
		__clear_bit(from, f->battery->valid);
		nl_nw_add_move(f, from, to, &meta);
	}
}

/* -EBUSY: too many migrations wait. */
static int nl_nw_move(struct nl_nw *f, u32 from, u32 plane, u32 limit, u64 start)
{
	u64 when = start;
	struct nl_rec rec;
	struct nl_buf *buf;
	u32 to;
	int r = nl_nw_fetch(f, from, NL_FOR_WEAR, &when, &buf, &rec);

	if (r)
		return r;
	if (rec.type == NL_OOB_NAMELESS &&
	    f->battery->nr_moved >= min(limit, f->battery->max_moved))
		r = -EBUSY;
	else
		r = nl_nw_know(f, from, &rec, &when);
	if (!r)
		r = nl_nw_program(f, plane, NL_FOR_WEAR, &when, buf, &rec, &to);
	nl_buf_put(buf);
	if (r)
		return r;
	/* The program may have moved others, and by that killed a page of the map. */
	if (nl_page_is_live(&f->ftl, from))
		nl_nw_moved_to(f, &rec, from, to);
	return nl_nw_spent(f, nl_plane_of(f->ftl.geo, nl_block_of(f->ftl.geo, to)), start);
}

/* --- a block that failed ---------------------------------------------------------------------- */

static int nl_nw_rehome_slot(struct nl_nw *f, struct nl_slot *slot, u64 start)
{
	u32 page, ppn, block = slot->block;
	int r = nl_nw_room_for_moves(f);

	if (r)
		return r;
	for (page = 0; page < f->battery->pages; page++) {
		ppn = nl_ppn(f->ftl.geo, block, page);
		if (!slot->page[page].used)
			continue;
		if (!nl_page_is_live(&f->ftl, ppn)) {
			nl_held_drop(&slot->page[page]);
			continue;
		}
		r = nl_nw_move(f, ppn, NL_NONE, f->battery->max_moved, start);
		if (r)
			return r;
	}
	nl_slot_drop(f->battery, slot);
	f->nr_lost--;
	return f->ftl.blocks.bk[block].flags & NL_RETIRED ? nl_media_retire(&f->ftl, block) : 0;
}

/* Find a place for what is left without one. What finds none stays, and can be read. */
int nl_nw_rehome(struct nl_nw *f, u64 *when)
{
	u32 i;
	int r = 0;

	f->moving = true;
	for (i = 0; i < f->battery->nr_slots && !r; i++)
		if (f->battery->slot[i].lost)
			r = nl_nw_rehome_slot(f, &f->battery->slot[i], *when);
	f->moving = false;
	return r;
}

/* All that is live in a closed block goes into holes elsewhere: it is free then. */
static int nl_nw_empty(struct nl_nw *f, u32 block, u64 *when)
{
	u32 page, ppn, fill = f->ftl.blocks.bk[block].fill;
	int r = nl_nw_room_for_moves(f);

	nl_block_unclose(&f->ftl, block);
	for (page = 0; page < fill && !r; page++) {
		ppn = nl_ppn(f->ftl.geo, block, page);
		if (nl_page_is_live(&f->ftl, ppn))
			r = nl_nw_move(f, ppn, NL_NONE, f->battery->max_moved, *when);
		if (!r && f->nr_lost)
			r = -EAGAIN;	/* that goes first */
	}
	if (!r)
		return nl_media_erase(&f->ftl, block, NL_FOR_GC, when);
	if (r == -EIO) {
		nl_block_set_aside(&f->ftl, block);
		return 0;
	}
	nl_block_close(&f->ftl, block);
	return r;
}

/*
 * GC in place gains holes and no blocks. So the free ones of the floor that took the place of
 * blocks that failed would not come back, and the next failure finds none: in a device of one
 * plane what is left without a block has nowhere else to go, as its plane's slot is taken.
 *
 * There are holes enough. Fewer free blocks than the floor, and as many good ones as are needed
 * (nl_ftl_min_blocks()), leave floor(V / ppb) + 2 that are not free, with all V live pages; without
 * one of these it is floor(V / ppb) + 1, which have more than V pages. Blocks that are set aside
 * have no holes for others, and don't count.
 */
int nl_nw_refill_floor(struct nl_nw *f, u64 *when)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 block;
	int r = 0;

	f->leveled = true;
	while (!r && !f->nr_lost && ftl->blocks.nr_free < NL_FLOOR &&
	       ftl->blocks.good - ftl->blocks.unreadable >= ftl->min_blocks) {
		block = nl_block_victim(ftl);
		r = block == NL_NONE ? -ENOSPC : nl_nw_empty(f, block, when);
	}
	f->leveled = false;
	return r;
}

/* --- leveling --------------------------------------------------------------------------------- */

/* 4.4.6: old enough for leveling to begin at all, and worn more than others. */
static bool nl_nw_is_worn(const struct nl_nw *f, u32 block)
{
	return (u64)nl_flash_erases(f->ftl.flash, block) * 1000 >=
		       f->ftl.config.p[NL_P_WEAR_AT] * f->ftl.flash->endurance &&
	       nl_block_is_worn(&f->ftl, block);
}

static int nl_nw_fill_cold(struct nl_nw *f, u32 plane, u32 cold, u64 start)
{
	u32 page, ppn;
	int r = 0;

	for (page = 0; page < f->ftl.blocks.bk[cold].fill && !r; page++) {
		ppn = nl_ppn(f->ftl.geo, cold, page);
		if (!nl_nw_holes(f, plane))
			break;
		if (nl_page_is_live(&f->ftl, ppn))
			r = nl_nw_move(f, ppn, plane, f->ftl.config.p[NL_P_MOVES], start);
	}
	if (r == -EBUSY)
		f->stalled++;
	if (r == -EIO)
		nl_block_set_aside(&f->ftl, cold);
	/* Whoever wants a page programmed does not wait for this: no memory is no error of his. */
	return r == -EBUSY || r == -EAGAIN || r == -EIO || r == -ENOMEM ? 0 : r;
}

/*
 * The plane's active block, just erased, is worn: the coldest data goes into its holes, and the
 * younger block that had it gets holes instead, or is free. What is put back into the worn block
 * stays there, so clients are told of the cold pages only.
 */
int nl_nw_level(struct nl_nw *f, u32 plane, u64 *when)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 cold;
	int r;

	if (f->moving || f->leveled || !nl_nw_is_worn(f, f->active[plane]))
		return 0;
	f->leveled = true;
	cold = nl_block_coldest(ftl);
	if (cold == NL_NONE)
		return 0;
	r = nl_nw_room_for_moves(f);
	if (r)
		return 0;
	f->moving = true;
	nl_block_unclose(ftl, cold);
	r = nl_nw_fill_cold(f, plane, cold, *when);
	f->moving = false;
	if (ftl->blocks.bk[cold].flags & NL_UNREADABLE)
		return 0;
	if (r || ftl->blocks.bk[cold].live) {
		nl_block_close(ftl, cold);
		return r;
	}
	ftl->wear_swaps++;
	return nl_media_erase(ftl, cold, NL_FOR_WEAR, when);
}
