// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of zones, their blocks and what OOB says. */
#include <linux/sched.h>
#include "check.h"
#include "ftl_zoned.h"

static void nl_check_zone_page(struct nl_checking *c, const struct nl_zoned_ftl *f, u32 zone,
			       u32 page, u8 type)
{
	u32 block = *nl_zone_block(f, zone, page);
	struct nl_rec rec;
	const void *oob;

	if (block == NL_NONE) {
		nl_finding(c, "zone %u: no block for page %u", zone, page);
		return;
	}
	oob = nl_flash_peek(f->ftl.flash, nl_ppn(f->ftl.geo, block, page / f->shape.blocks));
	if (!oob || nl_oob_decode(&f->ftl, oob, &rec))
		nl_finding(c, "zone %u: page %u has no record", zone, page);
	else if (rec.type != type || rec.lpn != (u64)zone * f->shape.size + page)
		nl_finding(c, "zone %u: page %u is type %u of %llu", zone, page, rec.type,
			   (unsigned long long)rec.lpn);
}

/* Blocks that it has. */
static u32 nl_check_zone_blocks(struct nl_checking *c, const struct nl_zoned_ftl *f, u32 zone)
{
	const struct nl_zone *z = &f->zone[zone];
	u32 i, block, held = 0, wanted;

	for (i = 0; i < f->shape.blocks; i++) {
		block = *nl_zone_block(f, zone, i);
		if (block == NL_NONE)
			continue;
		held++;
		wanted = z->done / f->shape.blocks + (i < z->done % f->shape.blocks) +
			 (z->finished && i == z->done % f->shape.blocks);
		if (f->ftl.blocks.bk[block].use != NL_USE_DATA && z->state != NL_ZONE_READONLY)
			nl_finding(c, "zone %u: block %u is not its own", zone, block);
		if (f->ftl.blocks.bk[block].fill != wanted && z->state != NL_ZONE_READONLY)
			nl_finding(c, "zone %u: block %u has %u pages, not %u", zone, block,
				   f->ftl.blocks.bk[block].fill, wanted);
	}
	return held;
}

static void nl_check_zone_state(struct nl_checking *c, const struct nl_zoned_ftl *f, u32 zone,
				u32 held)
{
	const struct nl_zone *z = &f->zone[zone];
	bool none = z->state == NL_ZONE_EMPTY || z->state == NL_ZONE_OFFLINE;
	bool said = z->state == NL_ZONE_FULL, full = z->finished || z->pointer == f->shape.capacity;

	if (z->pointer > f->shape.capacity || z->done > z->pointer)
		nl_finding(c, "zone %u: %u pages programmed, %u written", zone, z->done,
			   z->pointer);
	if (none && (z->pointer || held))
		nl_finding(c, "zone %u: %s with %u pages, %u blocks", zone,
			   nl_zone_names[z->state], z->pointer, held);
	if (z->state != NL_ZONE_READONLY && said != full)
		nl_finding(c, "zone %u: %s with %u pages", zone, nl_zone_names[z->state],
			   z->pointer);
	if (z->state == NL_ZONE_CLOSED && !z->pointer)
		nl_finding(c, "zone %u: closed and empty", zone);
}

static void nl_check_zone_pages(struct nl_checking *c, const struct nl_zoned_ftl *f, u32 zone)
{
	const struct nl_zone *z = &f->zone[zone];
	struct nl_buf *buf;
	u32 page;

	for (page = 0; page < z->done; page++)
		nl_check_zone_page(c, f, zone, page, NL_OOB_DATA);
	if (z->finished)
		nl_check_zone_page(c, f, zone, page, NL_OOB_PAD);
	for (; page < z->pointer; page++) {
		if (!nl_wbuf_read(c->ftl, zone * f->shape.size + page, &buf))
			nl_finding(c, "zone %u: page %u is nowhere", zone, page);
		else
			nl_buf_put(buf);
	}
}

/* Zones that can't be gone on with, for want of a spare block, are closed again after a start. */
static void nl_check_limits(struct nl_checking *c, const struct nl_zoned_ftl *f)
{
	u64 max_open = f->ftl.config.p[NL_P_MAX_OPEN];
	u64 max_active = f->ftl.config.p[NL_P_MAX_ACTIVE];
	bool whole = f->ftl.blocks.good + f->ftl.config.p[NL_P_FACTORY_BAD] ==
		     f->ftl.geo->nr_blocks;
	u32 open = f->count[NL_ZONE_IMPLICIT] + f->count[NL_ZONE_EXPLICIT];

	if (max_open && open > max_open)
		nl_finding(c, "%u zones are open", open);
	if (max_active && whole && open + f->count[NL_ZONE_CLOSED] > max_active)
		nl_finding(c, "%u zones are active", open + f->count[NL_ZONE_CLOSED]);
}

u32 nl_zoned_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	struct nl_checking c = { .ftl = ftl, .report = report, .ctx = ctx };
	u32 zone, state, held, bad = 0, all = 0, owed = 0, mapped = 0, written = 0;
	const struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	u32 count[NL_NR_ZONE_STATES] = { 0 };

	for (zone = 0; zone < f->nr; zone++) {
		held = nl_check_zone_blocks(&c, f, zone);
		nl_check_zone_state(&c, f, zone, held);
		nl_check_zone_pages(&c, f, zone);
		cond_resched();
		for (state = 0; state < f->shape.blocks; state++) {
			u32 block = *nl_zone_block(f, zone, state);

			bad += block != NL_NONE && ftl->blocks.bk[block].use == NL_USE_BAD;
		}
		count[f->zone[zone].state]++;
		all += held;
		mapped += f->zone[zone].done;
		written += f->zone[zone].pointer;
		if (nl_zone_lives(&f->zone[zone]))
			owed += f->shape.blocks - held;
	}
	for (state = 0; state < NL_NR_ZONE_STATES; state++)
		if (count[state] != f->count[state])
			nl_finding(&c, "%u zones are %s, %u are counted", count[state],
				   nl_zone_names[state], f->count[state]);
	if (owed != f->owed || mapped != f->mapped || written - mapped != ftl->wbuf.nr)
		nl_finding(&c, "%u blocks owed, %u counted; %u pages, %u counted; %u buffered, %u",
			   owed, f->owed, mapped, f->mapped, written - mapped, ftl->wbuf.nr);
	if (ftl->blocks.nr_free < owed && count[NL_ZONE_EMPTY])
		nl_finding(&c, "%u blocks are free, %u owed", ftl->blocks.nr_free, owed);
	nl_check_limits(&c, f);
	nl_check_blocks(&c, 0);
	if (c.use[NL_USE_DATA] != all - bad)
		nl_finding(&c, "%u blocks are of zones, %u have a place", c.use[NL_USE_DATA],
			   all - bad);
	return c.found;
}
