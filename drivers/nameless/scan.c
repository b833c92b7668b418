// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map out of all OOB. Nothing is written but erases of what is dead, so a cut meanwhile
 * changes nothing that counts.
 *
 * The version with the highest seq counts; of pages that hold the same version, the one that was
 * programmed first (ftl_page.c and ftl_hybrid.c say why). Then trim records take away what they
 * are newer than.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "ftl_internal.h"

struct nl_scan {
	struct nl_ftl *ftl;
	u32 *map;
	u64 *seq;
};

/* Is the page to be taken for the one that is known, which has the same seq? */
static int nl_scan_is_source(struct nl_ftl *ftl, u32 known, const struct nl_rec *rec, u64 *when)
{
	struct nl_rec other;
	int r = nl_media_read(ftl, known, NL_FOR_RECOVERY, when, NULL, &other);

	return r ? r : rec->program < other.program;
}

static int nl_scan_data(struct nl_scan *scan, u32 ppn, const struct nl_rec *rec, u64 *when)
{
	u32 *known = &scan->map[rec->lpn];
	int r = 1;

	if (*known != NL_UNMAPPED) {
		r = rec->seq > scan->seq[rec->lpn];
		if (rec->seq == scan->seq[rec->lpn])
			r = nl_scan_is_source(scan->ftl, *known, rec, when);
	}
	if (r <= 0)
		return r;
	*known = ppn;
	scan->seq[rec->lpn] = rec->seq;
	return 0;
}

/* A record that was moved counts where it was, as data does. */
static int nl_scan_trim(struct nl_scan *scan, u32 ppn, const struct nl_rec *rec, u64 *when)
{
	const struct nl_trims *t = &scan->ftl->trims;
	u32 known = t->ppn[rec->lpn];
	int r = 1;

	if (known != NL_UNMAPPED && t->seq[rec->lpn] == rec->seq)
		r = nl_scan_is_source(scan->ftl, known, rec, when);
	if (r > 0)
		nl_trims_found(scan->ftl, ppn, rec);
	return min(r, 0);
}

static int nl_scan_page(struct nl_scan *scan, u32 ppn, u64 *when)
{
	struct nl_ftl *ftl = scan->ftl;
	struct nl_bk *bk = &ftl->blocks.bk[nl_block_of(ftl->geo, ppn)];
	struct nl_rec rec;
	int r = nl_flash_read(ftl->flash, ppn, NL_FOR_RECOVERY, when, NULL, ftl->oob);

	if (r == -EBADMSG)
		return 0;
	if (!r)
		r = nl_oob_decode(ftl, ftl->oob, &rec);
	if (r)
		return r;
	ftl->seq = max(ftl->seq, rec.seq);
	ftl->program = max(ftl->program, rec.program);
	if (rec.type == NL_OOB_DATA || rec.type == NL_OOB_NAMELESS)
		bk->newest = max(bk->newest, rec.seq);
	if (bk->prev == NL_NONE) {
		bk->prev = rec.lpn;
		bk->next = rec.type == NL_OOB_TRIM ? NL_SCAN_TRIM : rec.role;
	}
	if (rec.type == NL_OOB_DATA || rec.type == NL_OOB_LOST)
		return nl_scan_data(scan, ppn, &rec, when);
	return rec.type == NL_OOB_TRIM ? nl_scan_trim(scan, ppn, &rec, when) : 0;
}

static int nl_scan_block(struct nl_scan *scan, u32 block, struct nl_io *io)
{
	struct nl_bk *bk = &scan->ftl->blocks.bk[block];
	u64 when = io->now;
	int r = 0;

	bk->prev = NL_NONE;
	bk->next = NL_NONE;
	while (bk->fill < scan->ftl->geo->pages && !r) {
		r = nl_scan_page(scan, nl_ppn(scan->ftl->geo, block, bk->fill), &when);
		bk->fill += !r;
	}
	nl_io_wait(io, when);
	cond_resched();
	return r == -ENODATA ? 0 : r;
}

static int nl_scan(struct nl_ftl *ftl, u32 *map, struct nl_io *io)
{
	struct nl_scan scan = { .ftl = ftl, .map = map };
	u64 when;
	u32 i;
	int r = 0;

	scan.seq = kvcalloc(ftl->logical_pages, sizeof(*scan.seq), NL_GFP_IO);
	if (!scan.seq)
		return -ENOMEM;
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		if (ftl->blocks.bk[i].use != NL_USE_BAD)
			r = nl_scan_block(&scan, i, io);
	when = io->done;
	if (!r)
		r = nl_trims_apply(ftl, map, scan.seq, &when);
	nl_io_wait(io, when);
	kvfree(scan.seq);
	return r;
}

static void nl_recover_live(struct nl_ftl *ftl, const u32 *ppn, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (ppn[i] != NL_UNMAPPED)
			nl_page_live(ftl, ppn[i]);
}

int nl_recover_map(struct nl_ftl *ftl, u32 *map, struct nl_io *io)
{
	int r = ftl->no_checkpoint ? 0 : nl_checkpoint_load(ftl, map, io);

	ftl->scanned = !r;
	if (!r)
		r = nl_scan(ftl, map, io);
	if (r < 0)
		return r;
	nl_recover_live(ftl, map, ftl->logical_pages);
	nl_recover_live(ftl, ftl->trims.ppn, ftl->trims.nr);
	return 0;
}

/* A mark is a change, too: a checkpoint that says otherwise would not be taken for one. */
static int nl_scan_retire(struct nl_ftl *ftl, u32 block, struct nl_io *io)
{
	u64 when = io->now;
	int r = nl_media_change(ftl, &when);

	nl_io_wait(io, when);
	return r ? r : nl_media_retire(ftl, block);
}

/*
 * Nothing in it is live. If there is something dead it is erased here and now: it may hold copies
 * of what is live elsewhere, and when those are moved and erased, the next scan would take these
 * for the source, in a block that is free. One that looks erased may be torn, and is erased
 * before it is used.
 */
int nl_scan_free(struct nl_ftl *ftl, u32 block, struct nl_io *io)
{
	u64 when = io->now;
	int r;

	if (ftl->blocks.bk[block].flags & NL_RETIRED)
		return nl_scan_retire(ftl, block, io);
	ftl->blocks.bk[block].flags |= NL_DIRTY;
	if (!ftl->blocks.bk[block].fill) {
		nl_block_free(ftl, block);
		return 0;
	}
	r = nl_media_erase(ftl, block, NL_FOR_RECOVERY, &when);
	nl_io_wait(io, when);
	return r;
}

int nl_scan_place(struct nl_ftl *ftl, u32 block, u32 *active, struct nl_io *io)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];
	u32 plane = nl_plane_of(ftl->geo, block);

	if (bk->use != NL_USE_HELD || bk->flags & NL_RETIRED)
		return 0;
	if (ftl->scanned && !bk->live)
		return nl_scan_free(ftl, block, io);
	if (ftl->scanned || bk->next != NL_USE_ACTIVE || active[plane] != NL_NONE) {
		nl_block_close(ftl, block);
		return 0;
	}
	bk->use = NL_USE_ACTIVE;
	active[plane] = block;
	return 1;
}
