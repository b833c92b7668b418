// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: the page map
 *
 * Every logical page has an entry of 4 bytes; writes go to the next page of a plane's active
 * block, planes in turn (3.1.2). GC takes the block with the fewest live pages, moves them to
 * active blocks as writes do, and erases it.
 *
 * It never wedges. Let ppb be the pages of a block, V the live pages: at most one per logical
 * page and one per chunk's trim record. nl_ftl_min_blocks() demands floor(V / ppb) + 1 + NL_FLOOR
 * good blocks.
 *
 * Writes open a free block only while more than NL_FLOOR are free. So there comes a write that
 * finds no blank page in an active block and at most NL_FLOOR free blocks; then at least floor(V
 * / ppb) + 1 good blocks are closed, and one of them has a page that is not live.
 *
 * To empty that one takes at most ppb - 1 blank pages: those of active blocks and of one free
 * block suffice, and no second one is opened (nl_page_alloc()). The erase gives a free block
 * back, and the opened one keeps at least one blank page: for the write.
 *
 * A cut in between leaves the victim as it is, not erased, and a block that was opened meanwhile
 * holds nothing but copies of its pages. Of equal pages the scan takes the one that was
 * programmed first, so that block has no live page, and is erased at the start and free again:
 * however often the power goes, nothing adds up. What active blocks had blank is lost, but they
 * are closed then and counted above.
 *
 * With metadata that is written at a flush (nl_ftl_split, split_meta.c) the same holds, but that a
 * page which was overwritten or moved stays live until what refers to it is no longer what a start
 * would find. So GC commits the metadata between the last page that it moved and the erase, and
 * after a commit V is what it is above. Commits are whole or not at all: a cut leaves no block in
 * which some of the moved pages count and others don't.
 *
 * A program or an erase that fails takes the block with it; the second free block is for that.
 * When good blocks become fewer than the minimum, or no room can be made, the device is
 * read-only.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_page.h"

static bool nl_page_has_room(const struct nl_page_ftl *f)
{
	return f->blank || f->ftl.blocks.nr_free > NL_FLOOR;
}

/* Open a block in @plane; -EAGAIN if that did not succeed, but might with another. */
static int nl_page_open_block(struct nl_page_ftl *f, u32 plane, enum nl_cause cause, u64 *when)
{
	u32 block = nl_block_take(&f->ftl, plane);
	int r = nl_media_ready(&f->ftl, block, cause, when);

	if (r == -EIO)
		return -EAGAIN;
	if (r)
		return r;
	f->ftl.blocks.bk[block].use = NL_USE_ACTIVE;
	nl_split_opened(f, block);
	f->active[plane] = block;
	f->blank += f->ftl.geo->pages;
	return 0;
}

/*
 * The next plane with a blank page in its active block, or for which one may be opened: in turn,
 * but what GC moves stays in its plane if it can. In another one it would keep all that is asked
 * of that waiting, until it has been read behind all that was asked of its own; and an erase in
 * one plane would hold up all of them.
 */
static int nl_page_choose(struct nl_page_ftl *f, enum nl_cause cause, u64 *when, u32 floor,
			  u32 *plane)
{
	u32 i, n, first = f->collecting ? f->home : f->cursor;
	const struct nl_blocks *b = &f->ftl.blocks;
	int r;

	for (i = 0; i < f->ftl.geo->nr_planes; i++) {
		n = (first + i) % f->ftl.geo->nr_planes;
		if (f->active[n] == NL_NONE) {
			if (b->nr_free <= floor || !b->nr_free_in[n])
				continue;
			do {
				r = nl_page_open_block(f, n, cause, when);
			} while (r == -EAGAIN && b->nr_free > floor && b->nr_free_in[n]);
			if (r == -EAGAIN)
				continue;
			if (r)
				return r;
		}
		*plane = n;
		if (!f->collecting)
			f->cursor = n + 1;
		return 0;
	}
	return -ENOSPC;
}

/*
 * A page to be programmed next. Below the floor only who moves pages gets a block, and only when
 * no active one has room.
 */
static int nl_page_alloc(struct nl_page_ftl *f, enum nl_cause cause, u64 *when, u32 *ppn)
{
	u32 plane, block;
	int r = nl_page_choose(f, cause, when, NL_FLOOR, &plane);

	if (r == -ENOSPC && f->collecting)
		r = nl_page_choose(f, cause, when, 0, &plane);
	if (r)
		return r;
	block = f->active[plane];
	*ppn = nl_ppn(f->ftl.geo, block, f->ftl.blocks.bk[block].fill);
	return 0;
}

/* A page of an active block was spent. */
static void nl_page_spent(struct nl_page_ftl *f, u32 block)
{
	f->blank--;
	if (f->ftl.blocks.bk[block].fill < f->ftl.geo->pages)
		return;
	f->active[nl_plane_of(f->ftl.geo, block)] = NL_NONE;
	nl_block_close(&f->ftl, block);
}

/* A program in an active block failed. */
static int nl_page_retire(struct nl_page_ftl *f, u32 block)
{
	f->blank -= f->ftl.geo->pages - f->ftl.blocks.bk[block].fill + 1;
	f->active[nl_plane_of(f->ftl.geo, block)] = NL_NONE;
	f->ftl.blocks.bk[block].use = NL_USE_HELD;
	return nl_media_retire(&f->ftl, block);
}

/* Program somewhere; the page is live then. */
static int nl_page_program(struct nl_page_ftl *f, enum nl_cause cause, u64 *when,
			   struct nl_buf *buf, struct nl_rec *rec, u32 *ppn)
{
	int r;

	for (;;) {
		r = nl_page_alloc(f, cause, when, ppn);
		if (r)
			return r;
		r = nl_media_program(&f->ftl, *ppn, cause, when, buf, rec);
		if (r != -EIO)
			break;
		r = nl_page_retire(f, nl_block_of(f->ftl.geo, *ppn));
		if (r)
			return r;
	}
	if (r)
		return r;
	nl_page_live(&f->ftl, *ppn);
	nl_page_spent(f, nl_block_of(f->ftl.geo, *ppn));
	nl_split_programmed(f, nl_block_of(f->ftl.geo, *ppn), *when);
	return 0;
}

/* Where a logical page was is not where it is any more. */
static void nl_page_leave(struct nl_page_ftl *f, u32 ppn)
{
	if (f->split)
		nl_split_leave(f, ppn);
	else
		nl_page_dead(&f->ftl, ppn);
}

static void nl_page_map(struct nl_page_ftl *f, u32 lpn, u32 ppn)
{
	u32 old = f->map[lpn];

	f->map[lpn] = ppn;
	if (old == NL_UNMAPPED)
		f->mapped++;
	nl_split_changed(f, lpn);
	if (old != NL_UNMAPPED)
		nl_page_leave(f, old);
}

/* A live page is elsewhere now. */
static void nl_page_moved(struct nl_page_ftl *f, const struct nl_rec *rec, u32 from, u32 to)
{
	if (rec->type == NL_OOB_TRIM) {
		nl_trims_moved(&f->ftl, rec->lpn, to);
		nl_page_dead(&f->ftl, from);
	} else {
		nl_page_map(f, rec->lpn, to);
	}
}

/*
 * Read a live page. -EUCLEAN if it can't be read, which is not a program that failed, or says that
 * it is another's: a checkpoint that lied.
 */
static int nl_page_fetch(struct nl_page_ftl *f, u32 ppn, enum nl_cause cause, u64 *when,
			 struct nl_buf **buf, struct nl_rec *rec)
{
	int r = nl_media_read(&f->ftl, ppn, cause, when, buf, rec);

	if (r)
		return r == -EIO ? -EUCLEAN : r;
	if (rec->type == NL_OOB_TRIM ? f->ftl.trims.ppn[rec->lpn] == ppn :
				       rec->type == NL_OOB_DATA && f->map[rec->lpn] == ppn)
		return 0;
	nl_buf_put(*buf);
	return -EUCLEAN;
}

static int nl_page_move(struct nl_page_ftl *f, u32 from, enum nl_cause cause, u64 *when)
{
	struct nl_rec rec;
	struct nl_buf *buf;
	u32 to;
	int r;

	r = nl_page_fetch(f, from, cause, when, &buf, &rec);
	if (r)
		return r;
	r = nl_page_program(f, cause, when, buf, &rec, &to);
	nl_buf_put(buf);
	if (!r)
		nl_page_moved(f, &rec, from, to);
	return r;
}

/* Move all that is live in a block that is held. *@when: when the last one is done. */
static int nl_page_empty(struct nl_page_ftl *f, u32 block, enum nl_cause cause, u64 *when)
{
	u32 page, ppn = nl_ppn(f->ftl.geo, block, 0);
	u64 start = *when, one;
	int r = 0;

	f->collecting = true;
	f->home = nl_plane_of(f->ftl.geo, block);
	for (page = 0; page < f->ftl.blocks.bk[block].fill && !r; page++) {
		if (!nl_page_is_live(&f->ftl, ppn + page) || nl_split_holds(f, ppn + page))
			continue;
		one = start;
		r = nl_page_move(f, ppn + page, cause, &one);
		*when = max(*when, one);
	}
	f->collecting = false;
	return r;
}

/* Blank pages that moving may use without opening more than one block below the floor. */
static bool nl_page_fits(const struct nl_page_ftl *f, u32 live)
{
	u64 room = f->blank, free = f->ftl.blocks.nr_free;

	if (free)
		room += max_t(u64, free - min_t(u64, free, NL_FLOOR), 1) * f->ftl.geo->pages;
	return live <= room;
}

/* Move what is live in @from into the erased block @to, both held; then only @to holds it. */
static int nl_page_refill(struct nl_page_ftl *f, u32 from, u32 to, u64 *when)
{
	u32 page, ppn, at;
	struct nl_rec rec;
	struct nl_buf *buf;
	u64 one;
	int r;

	for (page = 0; page < f->ftl.blocks.bk[from].fill; page++) {
		ppn = nl_ppn(f->ftl.geo, from, page);
		if (!nl_page_is_live(&f->ftl, ppn) || nl_split_holds(f, ppn))
			continue;
		one = *when;
		r = nl_page_fetch(f, ppn, NL_FOR_WEAR, &one, &buf, &rec);
		if (r)
			return r;
		at = nl_ppn(f->ftl.geo, to, f->ftl.blocks.bk[to].fill);
		r = nl_media_program(&f->ftl, at, NL_FOR_WEAR, &one, buf, &rec);
		nl_buf_put(buf);
		if (r)
			return r;
		nl_page_live(&f->ftl, at);
		nl_split_programmed(f, to, one);
		nl_page_moved(f, &rec, ppn, at);
		*when = one;
	}
	return 0;
}

/*
 * A leveling that failed: both blocks are as any closed block, but one that can't be read, which
 * is no error of whoever wants a page programmed, or written.
 */
static int nl_page_level_undo(struct nl_page_ftl *f, u32 cold, u32 worn, int why)
{
	if (why == -EUCLEAN)
		nl_block_set_aside(&f->ftl, cold);
	else
		nl_block_close(&f->ftl, cold);
	if (why == -EIO)
		return nl_media_retire(&f->ftl, worn);
	nl_block_close(&f->ftl, worn);
	return why == -EUCLEAN ? 0 : why;
}

/*
 * 3.1.2: the erased block is worn: the coldest data moves into it, and the block that held it,
 * which is younger, takes its place among the free ones. A cut meanwhile is as in GC: the worn
 * block holds copies only, until the other one is erased.
 */
static int nl_page_level(struct nl_page_ftl *f, u32 worn, u64 *when)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 cold;
	int r;

	if (ftl->blocks.bk[worn].use != NL_USE_FREE || ftl->blocks.nr_free <= NL_FLOOR ||
	    !nl_block_is_worn(ftl, worn))
		return 0;
	cold = nl_block_coldest(ftl);
	if (cold == NL_NONE)
		return 0;
	nl_block_unclose(ftl, cold);
	nl_block_take_this(ftl, worn);
	nl_split_opened(f, worn);
	r = nl_page_refill(f, cold, worn, when);
	if (r)
		return nl_page_level_undo(f, cold, worn, r);
	nl_block_close(ftl, worn);
	r = nl_split_commit(f, when);
	if (r) {
		nl_block_close(ftl, cold);
		return r;
	}
	ftl->wear_swaps++;
	nl_split_erased(f, cold);
	return nl_media_erase(ftl, cold, NL_FOR_WEAR, when);
}

/* A block that is to be emptied and marked, and can be read; NL_NONE. */
static u32 nl_page_retired(const struct nl_ftl *ftl)
{
	u32 i;

	for (i = 0; i < ftl->geo->nr_blocks && ftl->blocks.retired; i++)
		if ((ftl->blocks.bk[i].flags & (NL_RETIRED | NL_UNREADABLE)) == NL_RETIRED)
			return i;
	return NL_NONE;
}

/*
 * Empty a block: 1 if that was done, or another one has to be tried, 0 if none would gain anything
 * or there is no room for it. One that failed takes room and gives none: it waits until the floor
 * is full again.
 */
static int nl_page_collect(struct nl_page_ftl *f, u64 when)
{
	struct nl_ftl *ftl = &f->ftl;
	int r = nl_split_release(f, &when);	/* or it can't tell what there is to gain */
	u32 victim, failed;
	bool retired;

	if (r)
		return r;
	victim = nl_block_victim(ftl);
	failed = nl_page_retired(ftl);
	retired = failed != NL_NONE && (ftl->blocks.nr_free > NL_FLOOR || victim == NL_NONE);
	if (retired)
		victim = failed;
	if (victim == NL_NONE || !nl_page_fits(f, ftl->blocks.bk[victim].live))
		return 0;
	if (!retired)
		nl_block_unclose(ftl, victim);
	r = nl_page_empty(f, victim, NL_FOR_GC, &when);
	if (r == -EUCLEAN) {
		nl_block_set_aside(ftl, victim);
		return 1;
	}
	if (!r)
		r = nl_split_commit(f, &when);
	if (r) {
		if (!retired)
			nl_block_close(ftl, victim);
		return r == -ENOSPC ? 0 : r;
	}
	ftl->victims++;
	nl_split_erased(f, victim);
	r = retired ? nl_media_retire(ftl, victim) :
		      nl_media_erase(ftl, victim, NL_FOR_GC, &when);
	if (!r)
		r = nl_page_level(f, victim, &when);
	nl_split_fill(f);
	return r ? r : 1;
}

static bool nl_page_is_low(const struct nl_page_ftl *f)
{
	return f->ftl.blocks.nr_free < f->ftl.reserve || !nl_page_has_room(f);
}

/* Before a page is programmed for a user. */
static int nl_page_make_room(struct nl_page_ftl *f, const struct nl_io *io)
{
	struct nl_io record = { .now = io->now };
	int r = 1;

	if (nl_page_is_low(f) && f->ftl.trims.nr_pending && !f->ftl.trims.syncing) {
		/* GC gains more when records are there; it can do without. */
		r = nl_trims_sync(&f->ftl, &record);
		if (r == -ESHUTDOWN)
			return r;
		r = 1;
	}
	while (r > 0 && nl_page_is_low(f))
		r = nl_page_collect(f, io->now);
	if (r < 0 && !(r == -ENOMEM && nl_page_has_room(f)))
		return r;
	if (nl_page_has_room(f))
		return 0;
	f->ftl.state = NL_FTL_RO;
	return -EROFS;
}

/*
 * Make room, then program. The seq is taken in between: making room may write records, and what
 * they say is older than this. A block that fails meanwhile takes what was made with it: again, for
 * as long as that goes on.
 */
static int nl_page_append(struct nl_page_ftl *f, enum nl_cause cause, u64 *when,
			  struct nl_buf *buf, struct nl_rec *rec, u32 *ppn)
{
	struct nl_io io = { .now = *when };
	u32 good;
	int r;

	do {
		r = nl_page_make_room(f, &io);
		if (r)
			return r;
		rec->seq = ++f->ftl.seq;
		good = f->ftl.blocks.good;
		r = nl_page_program(f, cause, when, buf, rec, ppn);
		if (r != -ENOSPC)
			return r;
	} while (f->ftl.blocks.good < good);
	f->ftl.state = NL_FTL_RO;
	return -EROFS;
}

static int nl_page_append_record(struct nl_ftl *ftl, struct nl_buf *buf, struct nl_rec *rec,
				 u64 *when, u32 *ppn)
{
	return nl_page_append(nl_page_ftl(ftl), NL_FOR_META, when, buf, rec, ppn);
}

static int nl_page_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io)
{
	struct nl_page_ftl *f = nl_page_ftl(ftl);
	struct nl_rec rec = { .type = NL_OOB_DATA, .lpn = lpn };
	u64 when = io->now;
	u32 ppn;
	int r;

	r = nl_page_append(f, NL_FOR_HOST, &when, buf, &rec, &ppn);
	if (r)
		return r;
	nl_page_map(f, lpn, ppn);
	nl_trims_unmark(ftl, lpn);
	nl_io_wait(io, when);
	return 0;
}

static u32 nl_page_lookup(struct nl_ftl *ftl, u32 lpn)
{
	return nl_page_ftl(ftl)->map[lpn];
}

static void nl_page_forget(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_page_ftl *f = nl_page_ftl(ftl);
	u32 old = f->map[lpn];

	f->map[lpn] = NL_UNMAPPED;
	f->mapped--;
	nl_split_changed(f, lpn);
	nl_page_leave(f, old);
}

/* When nobody waits: what is cheap, up to twice the reserve. */
static int nl_page_gc(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_page_ftl *f = nl_page_ftl(ftl);
	u32 victim = nl_block_victim(ftl);

	/* Nothing has changed since: there is nothing to gain, and the checkpoint to lose. */
	if (ftl->checkpoint != NL_NONE)
		return 0;
	if (nl_page_retired(ftl) != NL_NONE)
		return nl_page_collect(f, io->now);
	if (victim == NL_NONE || ftl->blocks.bk[victim].live > ftl->geo->pages / 2 ||
	    (ftl->blocks.bk[victim].live && ftl->blocks.nr_free >= 2 * ftl->reserve))
		return 0;
	return nl_page_collect(f, io->now);
}

static void nl_page_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat)
{
	const struct nl_page_ftl *f = container_of(ftl, struct nl_page_ftl, ftl);

	stat->mapped = f->mapped;
	stat->map_bytes[NL_MAP_PAGE] = (u64)ftl->logical_pages * sizeof(*f->map);
	nl_split_stat(f, stat);
	stat->other_bytes += sizeof(*f) + (u64)ftl->geo->nr_planes * sizeof(*f->active);
}

static int nl_page_tables(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 i;

	f->map = kvmalloc_array(ftl->logical_pages, sizeof(*f->map), NL_GFP_IO);
	f->active = kvmalloc_array(ftl->geo->nr_planes, sizeof(*f->active), NL_GFP_IO);
	if (!f->map || !f->active)
		return -ENOMEM;
	for (i = 0; i < ftl->logical_pages; i++)
		f->map[i] = NL_UNMAPPED;
	for (i = 0; i < ftl->geo->nr_planes; i++)
		f->active[i] = NL_NONE;
	return 0;
}

static int nl_page_open(struct nl_ftl *ftl, struct nl_io *io)
{
	int r = nl_page_tables(nl_page_ftl(ftl));

	return r ? r : nl_page_recover(nl_page_ftl(ftl), io);
}

static void nl_page_close(struct nl_ftl *ftl)
{
	nl_split_destroy(nl_page_ftl(ftl));
	kvfree(nl_page_ftl(ftl)->map);
	kvfree(nl_page_ftl(ftl)->active);
}

static int nl_page_open_split(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_page_ftl *f = nl_page_ftl(ftl);
	int r = nl_page_tables(f);

	if (!r)
		r = nl_split_init(f);
	return r ? r : nl_split_recover(f, io);
}

static int nl_page_commit(struct nl_ftl *ftl, struct nl_io *io)
{
	u64 when = io->done;
	int r = nl_split_commit(nl_page_ftl(ftl), &when);

	nl_io_wait(io, when);
	return r;
}

static bool nl_page_behind(const struct nl_ftl *ftl)
{
	return nl_split_behind(container_of(ftl, struct nl_page_ftl, ftl));
}

const struct nl_ftl_ops nl_ftl_page = {
	.name = "page",
	.size = sizeof(struct nl_page_ftl),
	.open = nl_page_open,
	.lookup = nl_page_lookup,
	.forget = nl_page_forget,
	.append = nl_page_append_record,
	.write = nl_page_write,
	.gc = nl_page_gc,
	.check = nl_page_check,
	.stat = nl_page_stat,
	.close = nl_page_close,
};

const struct nl_ftl_ops nl_ftl_split = {
	.name = "split",
	.size = sizeof(struct nl_page_ftl),
	.whose = true,
	.open = nl_page_open_split,
	.lookup = nl_page_lookup,
	.forget = nl_page_forget,
	.commit = nl_page_commit,
	.behind = nl_page_behind,
	.write = nl_page_write,
	.gc = nl_page_gc,
	.check = nl_page_check,
	.stat = nl_page_stat,
	.close = nl_page_close,
};
