// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: the nameless FTL
 *
 * Two segments in one space (zhang-2013 4.1.2, 4.2.1). The virtual one is what the block device
 * shows: a page map, in chunks that are there when something was written. The physical one has no
 * map: a block's name is where it is (names.h). Pages of both lie in the same blocks.
 *
 *	ftl_nameless_fill.c	where the next page goes; in-place GC; why it never wedges
 *	ftl_nameless_move.c	migrations, for wear and for failed blocks
 *	ftl_nameless_names.c	the physical segment's operations
 *	ftl_nameless_map.c	the virtual segment's map, in memory or not
 *	ftl_nameless_swap.c	into the flash with it
 *	battery.h		what lasts without being in the flash
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "buf.h"
#include "ftl_nameless.h"

/* --- the virtual segment's map ---------------------------------------------------------------- */

static u32 nl_nw_lookup(struct nl_ftl *ftl, u32 lpn)
{
	return nl_map_get(nl_nw(ftl), lpn);
}

static bool nl_nw_mapped(struct nl_ftl *ftl, u32 lpn)
{
	return nl_map_has(nl_nw(ftl), lpn);
}

/* Is all space in use, so that what has no page gets none? NL_NONE: a block without a name. */
static bool nl_nw_is_full(struct nl_ftl *ftl, u32 lpn)
{
	const struct nl_nw *f = nl_nw(ftl);

	if (lpn != NL_NONE && nl_map_has(f, lpn))
		return false;
	return (u64)f->mapped + f->battery->nr_valid + ftl->wbuf.nr >= ftl->logical_pages;
}

/* Nothing leads to a page any more; to one that is lost nothing did. */
static void nl_nw_leave(struct nl_nw *f, u32 ppn)
{
	if (ppn != NL_LOST)
		nl_nw_dead(f, ppn);
}

static void nl_nw_forget(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_nw *f = nl_nw(ftl);

	nl_nw_leave(f, nl_nw_lookup(ftl, lpn));
	nl_map_set(f, lpn, NL_UNMAPPED);
	f->mapped--;
}

/*
 * Is a live page what its record says?  -EUCLEAN: a checkpoint or a memory that lied. The map of a
 * page that is known is in memory.
 */
int nl_nw_know(struct nl_nw *f, u32 ppn, const struct nl_rec *rec, u64 *when)
{
	bool known;
	int r = 0;

	switch (rec->type) {
	case NL_OOB_DATA:
		r = nl_map_need(f, rec->lpn, when);
		known = !r && nl_map_get(f, rec->lpn) == ppn;
		break;
	case NL_OOB_TRIM:
		known = f->ftl.trims.ppn[rec->lpn] == ppn;
		break;
	case NL_OOB_MAP:
		known = nl_map_is_at(&f->map, rec->lpn, ppn);
		break;
	default:
		known = rec->type == NL_OOB_NAMELESS && nl_nw_is_valid(f, ppn);
	}
	if (r)
		return r;
	return known ? 0 : -EUCLEAN;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Room is made before the seq is taken: that may write records, and they are older than this. */
static int nl_nw_append(struct nl_nw *f, enum nl_cause cause, u64 *when, struct nl_buf *buf,
			struct nl_rec *rec, u32 *ppn)
{
	struct nl_io io = { .now = *when };
	int r = nl_nw_make_room(f, &io);

	/* Behind that, as making room may shrink the map; what a page replaces is in it. */
	if (!r && rec->type == NL_OOB_DATA)
		r = nl_map_need_for_write(f, rec->lpn, when);
	if (r)
		return r;
	rec->seq = ++f->ftl.seq;
	r = nl_nw_program(f, NL_NONE, cause, when, buf, rec, ppn);
	if (!r)
		nl_page_live(&f->ftl, *ppn);
	if (r != -ENOSPC)
		return r;
	f->ftl.state = NL_FTL_RO;
	return -EROFS;
}

/* What is put back behind a write that is done can fail by a cut only. */
static int nl_nw_behind(struct nl_nw *f, u32 ppn, u64 start)
{
	int r = nl_nw_spent(f, nl_plane_of(f->ftl.geo, nl_block_of(f->ftl.geo, ppn)), start);

	return r == -ESHUTDOWN ? r : 0;
}

static int nl_nw_append_record(struct nl_ftl *ftl, struct nl_buf *buf, struct nl_rec *rec,
			       u64 *when, u32 *ppn)
{
	u64 start = *when;
	int r = nl_nw_append(nl_nw(ftl), NL_FOR_META, when, buf, rec, ppn);

	return r ? r : nl_nw_behind(nl_nw(ftl), *ppn, start);
}

static int nl_nw_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	struct nl_rec rec = { .type = NL_OOB_DATA, .lpn = lpn };
	u64 when = io->now;
	u32 ppn, old;
	int r = nl_nw_append(f, NL_FOR_HOST, &when, buf, &rec, &ppn);

	if (r)
		return r;
	old = nl_map_get(f, lpn);
	if (old == NL_UNMAPPED)
		f->mapped++;
	else
		nl_nw_leave(f, old);
	nl_map_set(f, lpn, ppn);
	f->rate_pages++;
	nl_trims_unmark(ftl, lpn);
	nl_io_wait(io, when);
	return nl_nw_behind(f, ppn, io->now);
}

static int nl_nw_read(struct nl_ftl *ftl, u32 ppn, struct nl_buf **buf, u64 *when)
{
	if (ppn == NL_LOST)
		return -EIO;
	return nl_nw_fetch(nl_nw(ftl), ppn, NL_FOR_HOST, when, buf, NULL);
}

/* What a page's record is, for checks. */
static const void *nl_nw_peek(const struct nl_ftl *ftl, u32 ppn)
{
	const struct nl_nw *f = container_of(ftl, struct nl_nw, ftl);
	const struct nl_held *held = nl_nw_held(f, ppn);

	return held ? held->oob : nl_flash_peek(ftl->flash, ppn);
}

/* --- in the background ------------------------------------------------------------------------ */

/* Blocks that failed and have been emptied by their users. */
static u32 nl_nw_retired(const struct nl_ftl *ftl)
{
	u32 i;

	for (i = 0; i < ftl->geo->nr_blocks && ftl->blocks.retired; i++)
		if (ftl->blocks.bk[i].flags & NL_RETIRED && !ftl->blocks.bk[i].live)
			return i;
	return NL_NONE;
}

/* Does battery-backed memory hold pages? */
bool nl_nw_has_slots(const struct nl_nw *f)
{
	u32 i;

	for (i = 0; i < f->battery->nr_slots; i++)
		if (f->battery->slot[i].block != NL_NO_SLOT)
			return true;
	return false;
}

/*
 * All into the flash. Pages without a block go first, as they may open blocks that have to be
 * finished. Each time round a block has found its end or failed. 1: something has to stay, or is
 * mapped and nobody knows where, and there may be no checkpoint, which has no word for that.
 */
static int nl_nw_settle(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	bool lost = f->map.lost;
	u64 when = io->now;
	u32 plane;
	int r = 0;

	while (nl_nw_has_slots(f) && !r) {
		if (f->nr_lost)
			r = nl_nw_rehome(f, &when);
		for (plane = 0; plane < ftl->geo->nr_planes && !r; plane++)
			r = nl_nw_finish(f, plane, &when);
	}
	nl_io_wait(io, when);
	return (!r && !lost) || r == -ESHUTDOWN || r == -ENOMEM ? r : 1;
}

/* Pages of the virtual segment that can't be found since the last call. */
static int nl_nw_lost(struct nl_ftl *ftl)
{
	struct nl_nw *f = nl_nw(ftl);
	bool lost = f->map.untold;

	f->map.untold = false;
	return lost ? -EIO : 0;
}

static int nl_nw_gc(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	u32 plane, block = nl_nw_retired(ftl), lost = f->nr_lost;
	u64 when = io->now;
	int r;

	/* Nothing has changed since: there is nothing to gain, and the checkpoint to lose. */
	if (ftl->checkpoint != NL_NONE)
		return 0;
	if (block != NL_NONE) {
		if (nl_nw_slot(f, block)) {
			nl_slot_drop(f->battery, nl_nw_slot(f, block));
			f->nr_lost--;
		}
		r = nl_media_retire(ftl, block);
		return r ? r : 1;
	}
	if (lost) {
		r = nl_nw_rehome(f, &when);
		if (r == -ESHUTDOWN || f->nr_lost < lost)
			return r < 0 ? r : 1;
	}
	/* Chunks first: they go into holes that would be wasted. */
	r = nl_map_idle(f, &when);
	if (r)
		return r;
	for (plane = 0; plane < ftl->geo->nr_planes; plane++) {
		if (!f->pins[plane])
			continue;
		r = nl_nw_finish(f, plane, &when);
		return r ? r : 1;
	}
	return 0;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void nl_nw_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat)
{
	const struct nl_nw *f = container_of(ftl, struct nl_nw, ftl);

	stat->mapped = f->mapped;
	stat->valid = f->battery->nr_valid;
	stat->wasted = f->wasted;
	stat->migrated = f->migrated;
	stat->waiting = f->battery->nr_moved;
	stat->stalled = f->stalled;
	stat->stale = f->stale;
	stat->unlisted = f->unlisted;
	nl_map_stat(f, stat);
	stat->map_bytes[NL_MAP_MOVED] = (u64)f->battery->nr_moved * sizeof(struct nl_moved);
	stat->other_bytes += sizeof(*f) + (u64)ftl->geo->nr_planes * 2 * sizeof(u32) +
			     ((u64)f->buckets + f->battery->max_moved) * 2 * sizeof(u32) +
			     nl_battery_memory(ftl->flash);
}

static int nl_nw_open(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	const struct nl_geometry *geo = ftl->geo;
	u32 i;
	int r;

	if (nl_battery_create(ftl->flash, nl_battery_moves(geo, &ftl->config)))
		return -ENOMEM;
	f->battery = ftl->flash->battery;
	r = nl_map_init(f);
	if (r)
		return r;
	f->active = kvmalloc_array(geo->nr_planes, sizeof(*f->active), NL_GFP_IO);
	f->pins = kvcalloc(geo->nr_planes, sizeof(*f->pins), NL_GFP_IO);
	if (!f->active || !f->pins ||
	    nl_nw_alloc_indexes(f, f->battery->max_moved, NL_GFP_IO))
		return -ENOMEM;
	for (i = 0; i < geo->nr_planes; i++)
		f->active[i] = NL_NONE;
	nl_nw_index_moves(f);
	return nl_nw_recover(f, io);
}

static void nl_nw_close(struct nl_ftl *ftl)
{
	struct nl_nw *f = nl_nw(ftl);

	nl_map_destroy(f);
	kvfree(f->active);
	kvfree(f->pins);
	nl_nw_free_indexes(f);
}

const struct nl_ftl_ops nl_ftl_nameless = {
	.name = "nameless",
	.size = sizeof(struct nl_nw),
	.open = nl_nw_open,
	.lookup = nl_nw_lookup,
	.load = nl_map_need_for_read,
	.mapped = nl_nw_mapped,
	.loads = nl_map_need_trimmed,
	.maps = nl_map_export,
	.forget = nl_nw_forget,
	.append = nl_nw_append_record,
	.write = nl_nw_write,
	.read = nl_nw_read,
	.peek = nl_nw_peek,
	.lost = nl_nw_lost,
	.full = nl_nw_is_full,
	.settle = nl_nw_settle,
	.gc = nl_nw_gc,
	.check = nl_nw_check,
	.stat = nl_nw_stat,
	.close = nl_nw_close,
};
