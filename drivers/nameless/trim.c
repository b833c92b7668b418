// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trims that last.
 *
 * To drop a page from the map is not enough: its OOB still says whose it is, and a scan would
 * bring it back; and were its block erased first, the scan would bring back an older version,
 * which nobody may see again after a newer one was flushed. So a trimmed page stays live, as GC
 * sees it, until a record in flash says that it is trimmed; reads give zeros from the start.
 * There is one record per chunk of logical pages, a bitmap of all in it that is not mapped, so
 * they don't add up.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "ftl_internal.h"

int nl_trims_init(struct nl_ftl *ftl)
{
	struct nl_trims *t = &ftl->trims;
	u32 i;

	t->bits = NL_TRIM_BITS(ftl->geo->page_bytes);
	t->nr = DIV_ROUND_UP(ftl->logical_pages, t->bits);
	t->pending = kvcalloc(BITS_TO_LONGS(ftl->logical_pages), sizeof(long), NL_GFP_IO);
	t->pending_in = kvcalloc(t->nr, sizeof(u32), NL_GFP_IO);
	t->ppn = kvcalloc(t->nr, sizeof(u32), NL_GFP_IO);
	t->seq = kvcalloc(t->nr, sizeof(u64), NL_GFP_IO);
	if (!t->pending || !t->pending_in || !t->ppn || !t->seq)
		return -ENOMEM;
	for (i = 0; i < t->nr; i++)
		t->ppn[i] = NL_UNMAPPED;
	return 0;
}

void nl_trims_destroy(struct nl_ftl *ftl)
{
	kvfree(ftl->trims.pending);
	kvfree(ftl->trims.pending_in);
	kvfree(ftl->trims.ppn);
	kvfree(ftl->trims.seq);
}

u64 nl_trims_memory(const struct nl_ftl *ftl)
{
	if (ftl->ops->lean)
		return 0;
	return BITS_TO_LONGS(ftl->logical_pages) * sizeof(long) +
	       (u64)ftl->trims.nr * (2 * sizeof(u32) + sizeof(u64));
}

void nl_trims_mark(struct nl_ftl *ftl, u32 lpn, u32 count)
{
	struct nl_trims *t = &ftl->trims;

	for (; count; lpn++, count--) {
		if (!nl_is_mapped(ftl, lpn) || nl_is_trimmed(ftl, lpn))
			continue;
		__set_bit(lpn, t->pending);
		t->pending_in[lpn / t->bits]++;
		t->nr_pending++;
	}
}

void nl_trims_unmark(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_trims *t = &ftl->trims;

	if (!nl_is_trimmed(ftl, lpn))
		return;
	__clear_bit(lpn, t->pending);
	t->pending_in[lpn / t->bits]--;
	t->nr_pending--;
}

static u32 nl_chunk_end(const struct nl_ftl *ftl, u32 chunk)
{
	return min_t(u64, (u64)(chunk + 1) * ftl->trims.bits, ftl->logical_pages);
}

static void nl_chunk_fill(struct nl_ftl *ftl, u32 chunk, u8 *bitmap)
{
	u32 first = chunk * ftl->trims.bits, lpn;

	memset(bitmap, 0, ftl->geo->page_bytes);
	for (lpn = first; lpn < nl_chunk_end(ftl, chunk); lpn++)
		if (nl_is_trimmed(ftl, lpn) || !nl_is_mapped(ftl, lpn))
			bitmap[(lpn - first) / 8] |= 1 << (lpn - first) % 8;
}

static void nl_chunk_forget(struct nl_ftl *ftl, u32 chunk)
{
	u32 lpn;

	for (lpn = chunk * ftl->trims.bits; lpn < nl_chunk_end(ftl, chunk); lpn++) {
		if (!nl_is_trimmed(ftl, lpn))
			continue;
		ftl->ops->forget(ftl, lpn);
		nl_trims_unmark(ftl, lpn);
	}
}

void nl_trims_recorded(struct nl_ftl *ftl, u32 chunk, u32 ppn, u64 seq)
{
	struct nl_trims *t = &ftl->trims;

	if (t->ppn[chunk] != NL_UNMAPPED)
		nl_page_dead(ftl, t->ppn[chunk]);
	t->ppn[chunk] = ppn;
	t->seq[chunk] = seq;
	nl_chunk_forget(ftl, chunk);
}

int nl_trims_record(struct nl_ftl *ftl, u32 chunk, struct nl_buf **buf, struct nl_rec *rec,
		    u64 *when)
{
	int r = 0;

	*buf = nl_buf_alloc(ftl->geo->page_bytes, ftl->flash->nowait);
	if (!*buf)
		return -ENOMEM;
	if (ftl->ops->loads)
		r = ftl->ops->loads(ftl, chunk * ftl->trims.bits, nl_chunk_end(ftl, chunk), when);
	if (r) {
		nl_buf_put(*buf);
		return r;
	}
	nl_chunk_fill(ftl, chunk, nl_buf_data(*buf));
	*rec = (struct nl_rec){ .type = NL_OOB_TRIM, .lpn = chunk };
	rec->data_csum = nl_data_csum(ftl, *buf);
	return 0;
}

static int nl_chunk_record(struct nl_ftl *ftl, u32 chunk, struct nl_io *io)
{
	u64 when = io->now;
	struct nl_rec rec;
	struct nl_buf *buf;
	u32 ppn;
	int r = nl_trims_record(ftl, chunk, &buf, &rec, &when);

	if (r)
		return r;
	r = ftl->ops->append(ftl, buf, &rec, &when, &ppn);
	nl_buf_put(buf);
	if (r)
		return r;
	nl_trims_recorded(ftl, chunk, ppn, rec.seq);
	nl_io_wait(io, when);
	return 0;
}

int nl_trims_sync(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_trims *t = &ftl->trims;
	int r = 0;
	u32 i;

	t->syncing = true;
	for (i = 0; i < t->nr && t->nr_pending && !r; i++) {
		if (!t->pending_in[i])
			continue;
		if (ftl->ops->append)
			r = nl_chunk_record(ftl, i, io);
		else
			nl_chunk_forget(ftl, i);
		if (!ftl->flash->nowait)
			cond_resched();
	}
	t->syncing = false;
	return r;
}

void nl_trims_found(struct nl_ftl *ftl, u32 ppn, const struct nl_rec *rec)
{
	struct nl_trims *t = &ftl->trims;

	if (t->ppn[rec->lpn] != NL_UNMAPPED && t->seq[rec->lpn] > rec->seq)
		return;
	t->ppn[rec->lpn] = ppn;
	t->seq[rec->lpn] = rec->seq;
}

static int nl_chunk_apply(struct nl_ftl *ftl, u32 chunk, u32 *map, const u64 *seq, u64 *when)
{
	struct nl_trims *t = &ftl->trims;
	u32 first = chunk * t->bits, lpn;
	struct nl_rec rec;
	struct nl_buf *buf;
	const u8 *bitmap;
	int r;

	r = nl_media_read(ftl, t->ppn[chunk], NL_FOR_RECOVERY, when, &buf, &rec);
	if (r)
		return r;
	if (!buf || nl_data_csum(ftl, buf) != rec.data_csum) {
		nl_buf_put(buf);
		return -EIO;
	}
	bitmap = nl_buf_data(buf);
	for (lpn = first; lpn < nl_chunk_end(ftl, chunk); lpn++)
		if (bitmap[(lpn - first) / 8] & 1 << (lpn - first) % 8 &&
		    seq[lpn] < t->seq[chunk])
			map[lpn] = NL_UNMAPPED;
	nl_buf_put(buf);
	return 0;
}

int nl_trims_apply(struct nl_ftl *ftl, u32 *map, const u64 *seq, u64 *when)
{
	int r = 0;
	u32 i;

	for (i = 0; i < ftl->trims.nr && !r; i++)
		if (ftl->trims.ppn[i] != NL_UNMAPPED)
			r = nl_chunk_apply(ftl, i, map, seq, when);
	return r;
}
