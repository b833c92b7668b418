// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page map out of all OOB. Nothing is written, so a cut meanwhile changes nothing.
 *
 * The version with the highest seq counts; of pages that hold the same version, the one that was
 * programmed first (ftl_page.c says why). Then trim records take away what they are newer than.
 * Blocks that were being filled are closed: the page after the last one may be torn and only look
 * erased. For the same reason a block that looks erased is erased again before it is used.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_page.h"

/* Is the page at @ppn to be taken for the one that is known, which has the same seq? */
static int nl_scan_is_source(struct nl_page_ftl *f, u32 known, const struct nl_rec *rec, u64 *when)
{
	struct nl_rec other;
	int r = nl_media_read(&f->ftl, known, NL_FOR_RECOVERY, when, NULL, &other);

	return r ? r : rec->program < other.program;
}

static int nl_scan_data(struct nl_page_ftl *f, u32 ppn, const struct nl_rec *rec, u64 *seq,
			u64 *when)
{
	u32 *known = &f->map[rec->lpn];
	struct nl_bk *bk = &f->ftl.blocks.bk[nl_block_of(f->ftl.geo, ppn)];
	int r = 1;

	bk->newest = max(bk->newest, rec->seq);
	if (*known != NL_UNMAPPED) {
		r = rec->seq > seq[rec->lpn];
		if (rec->seq == seq[rec->lpn])
			r = nl_scan_is_source(f, *known, rec, when);
	}
	if (r <= 0)
		return r;
	f->mapped += *known == NL_UNMAPPED;
	*known = ppn;
	seq[rec->lpn] = rec->seq;
	return 0;
}

static int nl_scan_page(struct nl_page_ftl *f, u32 ppn, u64 *seq, u64 *when)
{
	struct nl_ftl *ftl = &f->ftl;
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
	if (rec.type == NL_OOB_DATA)
		return nl_scan_data(f, ppn, &rec, seq, when);
	if (rec.type == NL_OOB_TRIM)
		nl_trims_found(ftl, ppn, &rec);
	return 0;
}

static int nl_scan_block(struct nl_page_ftl *f, u32 block, u64 *seq, struct nl_io *io)
{
	struct nl_bk *bk = &f->ftl.blocks.bk[block];
	u64 when = io->now;
	int r = 0;

	while (bk->fill < f->ftl.geo->pages && !r) {
		r = nl_scan_page(f, nl_ppn(f->ftl.geo, block, bk->fill), seq, &when);
		bk->fill += !r;
	}
	nl_io_wait(io, when);
	return r == -ENODATA ? 0 : r;
}

static void nl_scan_settle(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 i;

	for (i = 0; i < ftl->logical_pages; i++)
		if (f->map[i] != NL_UNMAPPED)
			nl_page_live(ftl, f->map[i]);
	for (i = 0; i < ftl->trims.nr; i++)
		if (ftl->trims.ppn[i] != NL_UNMAPPED)
			nl_page_live(ftl, ftl->trims.ppn[i]);
	for (i = 0; i < ftl->geo->nr_blocks; i++) {
		if (ftl->blocks.bk[i].use == NL_USE_BAD)
			continue;
		if (ftl->blocks.bk[i].fill) {
			nl_block_close(ftl, i);
			continue;
		}
		ftl->blocks.bk[i].flags |= NL_DIRTY;
		nl_block_free(ftl, i);
	}
}

/* Between the scan and its settling no page is live: what records say is only unmapped. */
static void nl_scan_forget(struct nl_ftl *ftl, u32 lpn)
{
	nl_page_ftl(ftl)->map[lpn] = NL_UNMAPPED;
	nl_page_ftl(ftl)->mapped--;
}

static int nl_scan_trims(struct nl_page_ftl *f, const u64 *seq, struct nl_io *io)
{
	void (*forget)(struct nl_ftl *ftl, u32 lpn) = f->ftl.trims.forget;
	u64 when = io->done;
	int r;

	f->ftl.trims.forget = nl_scan_forget;
	r = nl_trims_apply(&f->ftl, seq, &when);
	f->ftl.trims.forget = forget;
	nl_io_wait(io, when);
	return r;
}

int nl_page_scan(struct nl_page_ftl *f, struct nl_io *io)
{
	struct nl_ftl *ftl = &f->ftl;
	u64 *seq = kvcalloc(ftl->logical_pages, sizeof(*seq), GFP_KERNEL);
	u32 i;
	int r = 0;

	if (!seq)
		return -ENOMEM;
	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		if (ftl->blocks.bk[i].use != NL_USE_BAD)
			r = nl_scan_block(f, i, seq, io);
	if (!r)
		r = nl_scan_trims(f, seq, io);
	kvfree(seq);
	if (!r)
		nl_scan_settle(f);
	return r;
}
