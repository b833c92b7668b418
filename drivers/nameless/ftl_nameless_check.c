// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of both segments, their blocks, and what is held and moved. */
#include <linux/bitmap.h>
#include <linux/sched.h>
#include "check.h"
#include "ftl_nameless.h"

static u32 nl_check_virtual(struct nl_checking *c, struct nl_nw *f)
{
	u32 i, ppn, nr = 0, lost = 0;
	bool mapped;

	for (i = 0; i < f->ftl.logical_pages; i++) {
		cond_resched();
		ppn = nl_map_peek(f, i);
		mapped = ppn != NL_UNMAPPED;
		if (nl_map_has(f, i) != mapped)
			nl_finding(c, "logical page %u: its bit and its chunk differ", i);
		if (!mapped)
			continue;
		nr++;
		lost += ppn == NL_LOST;
		if (ppn == NL_LOST)
			continue;
		nl_check_live(c, ppn, NL_OOB_DATA, i);
		if (nl_nw_is_valid(f, ppn))
			nl_finding(c, "flash page %u: is in both segments", ppn);
	}
	if (nr != f->mapped)
		nl_finding(c, "%u pages are mapped, %u are counted", nr, f->mapped);
	/* what is lost is live, somewhere, also when it was written again */
	return nr - lost + f->map.lost;
}

/* What the flash has of a chunk is what the map says. */
static void nl_check_chunk(struct nl_checking *c, struct nl_nw *f, const struct nl_chunk *chunk)
{
	u32 n = chunk->n, lpn = n * f->map.entries, end = nl_map_end(&f->ftl, &f->map, n);

	nl_check_live(c, chunk->ppn, NL_OOB_MAP, n);
	for (; chunk->entry && lpn < end; lpn++)
		if (nl_map_peek_flash(f, lpn) != nl_map_get(f, lpn))
			nl_finding(c, "chunk %u: its flash page %u has not logical page %u's place",
				   n, chunk->ppn, lpn);
}

static u32 nl_check_map(struct nl_checking *c, struct nl_nw *f)
{
	u32 n, live = 0, resident = 0, dirty = 0, clean = 0, changed = 0, chunks = 0;
	const struct nl_vmap *m = &f->map;
	const struct nl_chunk *chunk;

	for (n = 0; n < m->nr && m->max; n++) {
		chunk = nl_map_chunk(m, n);
		if (!chunk)
			continue;
		chunks++;
		resident += nl_chunk_is_in_memory(chunk);
		dirty += nl_chunk_is_dirty(chunk);
		if (chunk->n != n || (!chunk->entry && chunk->ppn == NL_UNMAPPED))
			nl_finding(c, "chunk %u: is there for nothing, or elsewhere", n);
		if (chunk->ppn == NL_UNMAPPED)
			continue;
		live++;
		nl_check_chunk(c, f, chunk);
		cond_resched();
	}
	if (!m->max)
		return 0;
	list_for_each_entry(chunk, &m->clean, lru)
		clean += nl_chunk_is_in_memory(chunk) && !nl_chunk_is_dirty(chunk);
	list_for_each_entry(chunk, &m->changed, lru)
		changed += nl_chunk_is_dirty(chunk);
	if (resident != m->resident || dirty != m->dirty || chunks != m->chunks ||
	    clean != resident - dirty || changed != dirty)
		nl_finding(c, "%u chunks, %u there, %u dirty; counted %u, %u, %u; listed %u, %u",
			   chunks, resident, dirty, m->chunks, m->resident, m->dirty, clean,
			   changed);
	return live;
}

static u32 nl_check_physical(struct nl_checking *c, struct nl_nw *f)
{
	struct nl_rec rec;
	const void *oob;
	u32 ppn, live = 0;

	for_each_set_bit(ppn, f->battery->valid, f->ftl.geo->nr_pages) {
		cond_resched();
		live++;
		oob = f->ftl.ops->peek(&f->ftl, ppn);
		if (!nl_page_is_live(&f->ftl, ppn))
			nl_finding(c, "flash page %u: is valid and not live", ppn);
		if (!oob || nl_oob_decode(&f->ftl, oob, &rec) || rec.type != NL_OOB_NAMELESS)
			nl_finding(c, "flash page %u: is valid and no block", ppn);
	}
	if (live != f->battery->nr_valid)
		nl_finding(c, "%u blocks are valid, %u are counted", live, f->battery->nr_valid);
	if (live + f->mapped > f->ftl.logical_pages)
		nl_finding(c, "%u pages and %u blocks are more than %u", f->mapped, live,
			   f->ftl.logical_pages);
	return live;
}

static void nl_check_planes(struct nl_checking *c, struct nl_nw *f)
{
	u32 plane, page, pins, active = 0, block;
	const struct nl_slot *slot;

	for (plane = 0; plane < f->ftl.geo->nr_planes; plane++) {
		block = f->active[plane];
		slot = &f->battery->slot[plane];
		pins = 0;
		if (block != NL_NONE) {
			active++;
			if (f->ftl.blocks.bk[block].use != NL_USE_ACTIVE)
				nl_finding(c, "plane %u: its active block is not", plane);
			for (page = f->ftl.blocks.bk[block].fill; page < f->battery->pages; page++)
				pins += slot->block == block && slot->page[page].used;
		}
		if (pins != f->pins[plane])
			nl_finding(c, "plane %u: %u pages are to be put back, %u are counted",
				   plane, pins, f->pins[plane]);
		if (slot->block != NL_NO_SLOT && slot->block != block && !slot->lost)
			nl_finding(c, "plane %u: block %u is held for nothing", plane, slot->block);
	}
	if (active != c->use[NL_USE_ACTIVE])
		nl_finding(c, "%u blocks are active, %u in planes", c->use[NL_USE_ACTIVE], active);
}

static void nl_check_moves(struct nl_checking *c, struct nl_nw *f)
{
	const struct nl_battery *battery = f->battery;
	const struct nl_moved *moved;
	u32 i, n = 0, untold = 0;

	for (i = 0; i < battery->max_moved; i++) {
		moved = &battery->moved[i];
		if (!moved->used)
			continue;
		n++;
		untold += !moved->told;
		if (moved->to == NL_NONE && !moved->told)
			nl_finding(c, "migration %u: is over, and nobody was told of it", i);
		if (moved->to != NL_NONE && !nl_nw_is_valid(f, moved->to))
			nl_finding(c, "migration %u: leads to flash page %u, which is not valid",
				   i, moved->to);
		if (nl_nw_moved(f, moved->from, &moved->meta) != moved ||
		    (moved->to != NL_NONE && !nl_nw_is_indexed(f, i)))
			nl_finding(c, "migration %u: is not found", i);
	}
	if (n != battery->nr_moved || untold != f->untold)
		nl_finding(c, "%u migrations wait, %u untold; %u and %u are counted", n, untold,
			   battery->nr_moved, f->untold);
}

u32 nl_nw_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	struct nl_checking c = { .ftl = ftl, .report = report, .ctx = ctx };
	struct nl_nw *f = nl_nw(ftl);
	u32 live = nl_check_virtual(&c, f) + nl_check_physical(&c, f);

	live += nl_check_map(&c, f) + nl_check_trims(&c);
	nl_check_blocks(&c, live);
	nl_check_closed(&c);
	nl_check_planes(&c, f);
	nl_check_moves(&c, f);
	return c.found;
}
