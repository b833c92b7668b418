// SPDX-License-Identifier: GPL-2.0-only
/* The flash as FTLs use it: records, bad blocks, and a checkpoint that goes before all changes. */
#include "ftl_internal.h"

int nl_media_change(struct nl_ftl *ftl, u64 *when)
{
	u32 block = ftl->checkpoint;

	if (block == NL_NONE)
		return 0;
	ftl->checkpoint = NL_NONE;
	nl_block_unclose(ftl, block);
	return nl_media_erase(ftl, block, NL_FOR_META, when);
}

/* The erase failed or a program did, and nothing in the block is live: it is no more. */
static void nl_media_lost(struct nl_ftl *ftl, u32 block)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];

	if (!(bk->flags & NL_RETIRED)) {
		ftl->blocks.good--;
		ftl->blocks.erases -= nl_flash_erases(ftl->flash, block);
	}
	bk->use = NL_USE_BAD;
	bk->flags = 0;
	if (ftl->blocks.good < ftl->min_blocks)
		ftl->state = NL_FTL_RO;
}

int nl_media_erase_held(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when)
{
	int r;

	if (block == ftl->checkpoint)
		ftl->checkpoint = NL_NONE;
	r = nl_media_change(ftl, when);
	if (r)
		return r;
	ftl->blocks.erases++;
	r = nl_flash_erase(ftl->flash, block, cause, when);
	if (r == -EIO)
		nl_media_lost(ftl, block);
	if (!r)
		ftl->blocks.bk[block].flags &= ~NL_DIRTY;
	return r;
}

/*
 * Erase a block that is held, and put it among the free ones. A block that went bad by that is
 * only lost: 0, too.
 */
int nl_media_erase(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when)
{
	int r = nl_media_erase_held(ftl, block, cause, when);

	if (r)
		return r == -EIO ? 0 : r;
	nl_block_free(ftl, block);
	return 0;
}

/* A free block that was taken is about to be used: -EIO if it went bad by being erased for that. */
int nl_media_ready(struct nl_ftl *ftl, u32 block, enum nl_cause cause, u64 *when)
{
	int r;

	if (!(ftl->blocks.bk[block].flags & NL_DIRTY))
		return 0;
	r = nl_media_erase(ftl, block, cause, when);
	if (r)
		return r;
	if (ftl->blocks.bk[block].use == NL_USE_BAD)
		return -EIO;
	nl_block_take_this(ftl, block);
	return 0;
}

/* Does its seq say how old what the block has is? The map's pages are as new as users' ones. */
static bool nl_rec_is_dated(const struct nl_rec *rec)
{
	return rec->type == NL_OOB_DATA || rec->type == NL_OOB_NAMELESS || rec->type == NL_OOB_MAP;
}

/*
 * Program a page of a block that is being filled. @rec gets its number here. On -EIO the page is
 * spent and the block has to be retired.
 */
int nl_media_program(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, struct nl_rec *rec)
{
	struct nl_bk *bk = &ftl->blocks.bk[nl_block_of(ftl->geo, ppn)];
	int r = nl_media_change(ftl, when);

	if (r)
		return r;
	rec->program = ++ftl->program;
	nl_oob_encode(ftl, ftl->record, rec);
	r = nl_flash_program(ftl->flash, ppn, cause, when, buf, ftl->record);
	if (!r || r == -EIO)
		bk->fill++;
	if (!r && nl_rec_is_dated(rec))
		bk->newest = max(bk->newest, rec->seq);
	return r;
}

/* Put a page back where it was, with the record that it had. As nl_media_program(). */
int nl_media_restore(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, const void *oob)
{
	struct nl_bk *bk = &ftl->blocks.bk[nl_block_of(ftl->geo, ppn)];
	struct nl_rec rec;
	int r = nl_oob_decode(ftl, oob, &rec);

	if (r)
		return r;
	r = nl_media_change(ftl, when);
	if (r)
		return r;
	memcpy(ftl->record, oob, NL_OOB_BYTES);
	r = nl_flash_program(ftl->flash, ppn, cause, when, buf, ftl->record);
	if (!r || r == -EIO)
		bk->fill++;
	if (!r && nl_rec_is_dated(&rec))
		bk->newest = max(bk->newest, rec.seq);
	return r;
}

/* Does it only say that what it stands for is lost? Such a page is programmed without data. */
static bool nl_media_is_lost(const struct nl_ftl *ftl, u32 ppn, const struct nl_buf *buf)
{
	const struct nl_oob *oob;

	if (buf || ftl->config.p[NL_P_FTL] != NL_FTL_HYBRID)
		return false;
	oob = nl_flash_peek(ftl->flash, ppn);
	return oob && oob->type == NL_OOB_LOST;
}

/* -EIO: it can't be read, or says that something else can't be; with @rec that is no error. */
int nl_media_read(struct nl_ftl *ftl, u32 ppn, enum nl_cause cause, u64 *when,
		  struct nl_buf **buf, struct nl_rec *rec)
{
	int r = nl_flash_read(ftl->flash, ppn, cause, when, buf, rec ? ftl->oob : NULL);

	if (r == -ENODATA || r == -EBADMSG)
		return -EIO;
	if (!r && !rec && buf && nl_media_is_lost(ftl, ppn, *buf))
		return -EIO;
	if (r || !rec)
		return r;
	r = nl_oob_decode(ftl, ftl->oob, rec);
	if (r && buf)
		nl_buf_put(*buf);
	return r ? -EIO : 0;
}

/* A program in a block failed: no more of them go there. */
void nl_media_retired(struct nl_ftl *ftl, u32 block)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];

	if (bk->flags & NL_RETIRED)
		return;
	bk->flags |= NL_RETIRED;
	ftl->blocks.good--;
	ftl->blocks.erases -= nl_flash_erases(ftl->flash, block);
	ftl->blocks.retired++;
	if (ftl->blocks.good < ftl->min_blocks)
		ftl->state = NL_FTL_RO;
}

/*
 * A program in a held block failed. What is live in it can still be read and has to be moved;
 * then, or at once, it is marked.
 */
int nl_media_retire(struct nl_ftl *ftl, u32 block)
{
	struct nl_bk *bk = &ftl->blocks.bk[block];
	int r;

	nl_media_retired(ftl, block);
	if (bk->live)
		return 0;
	r = nl_flash_mark_bad(ftl->flash, block);
	if (r)
		return r;
	ftl->blocks.retired--;
	nl_media_lost(ftl, block);
	return 0;
}
