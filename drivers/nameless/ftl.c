// SPDX-License-Identifier: GPL-2.0-only
/* What all FTLs have in common towards their users. */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_internal.h"

const char * const nl_merge_names[NL_NR_MERGES] = {
	[NL_MERGE_SWITCH] = "switch", [NL_MERGE_PARTIAL] = "partial", [NL_MERGE_FULL] = "full",
};

const char * const nl_map_names[NL_NR_MAPS] = {
	[NL_MAP_PAGE] = "page", [NL_MAP_BLOCK] = "block", [NL_MAP_LOG] = "log",
	[NL_MAP_CHAIN] = "chain", [NL_MAP_MOVED] = "moved",
	[NL_MAP_ZONE] = "zone",
};

static const struct nl_ftl_ops *nl_ftl_kinds[NL_NR_FTLS] = {
	[NL_FTL_PAGE] = &nl_ftl_page, [NL_FTL_HYBRID] = &nl_ftl_hybrid,
	[NL_FTL_NAMELESS] = &nl_ftl_nameless, [NL_FTL_ZONED] = &nl_ftl_zoned,
	[NL_FTL_SPLIT] = &nl_ftl_split,
};

/*
 * Free blocks below which GC begins. It must not want more than there is: half of what is left
 * when all logical pages are in use.
 */
static u32 nl_ftl_reserve(const struct nl_ftl *ftl)
{
	u32 want = ftl->config.p[NL_P_RESERVE];
	u32 spare = ftl->blocks.good + NL_FLOOR + 1 - min(ftl->min_blocks, ftl->blocks.good);

	if (!want)
		want = ftl->geo->nr_planes + NL_FLOOR;
	return max(NL_FLOOR, min(want, spare / 2));
}

static int nl_ftl_init(struct nl_ftl *ftl)
{
	int r;

	ftl->oob = kvmalloc(ftl->geo->oob_bytes, NL_GFP_IO);
	ftl->record = kvzalloc(ftl->geo->oob_bytes, NL_GFP_IO);
	if (!ftl->oob || !ftl->record)
		return -ENOMEM;
	r = nl_blocks_init(ftl);
	if (!r && !ftl->ops->lean)
		r = nl_trims_init(ftl);
	if (!r)
		r = nl_wbuf_init(ftl);
	if (r)
		return r;
	ftl->min_blocks = nl_ftl_min_blocks(ftl->geo, &ftl->config, ftl->logical_pages);
	if (ftl->geo->nr_blocks < ftl->min_blocks + ftl->config.p[NL_P_FACTORY_BAD])
		return -ENOSPC;
	if (ftl->blocks.good < ftl->min_blocks)
		ftl->state = NL_FTL_RO;
	ftl->reserve = nl_ftl_reserve(ftl);
	return 0;
}

int nl_ftl_open(struct nl_ftl **result, struct nl_flash *flash, const struct nl_config *config,
		u32 logical_pages, struct nl_io *io)
{
	const struct nl_ftl_ops *ops;
	struct nl_ftl *ftl;
	int r;

	if (config->p[NL_P_FTL] >= NL_NR_FTLS || !logical_pages)
		return -EINVAL;
	ops = nl_ftl_kinds[config->p[NL_P_FTL]];
	if (!ops)
		return -EINVAL;
	ftl = kvzalloc(ops->size, NL_GFP_IO);
	if (!ftl)
		return -ENOMEM;
	ftl->ops = ops;
	ftl->flash = flash;
	ftl->geo = &flash->geo;
	ftl->config = *config;
	ftl->logical_pages = logical_pages;
	ftl->checkpoint = NL_NONE;
	io->done = io->now;
	r = nl_ftl_init(ftl);
	if (!r)
		r = ops->open(ftl, io);
	if (r) {
		nl_ftl_destroy(ftl);
		return r;
	}
	ftl->recovery_ns = io->done - io->now;
	*result = ftl;
	return 0;
}

void nl_ftl_destroy(struct nl_ftl *ftl)
{
	ftl->ops->close(ftl);
	nl_wbuf_destroy(ftl);
	nl_trims_destroy(ftl);
	nl_blocks_destroy(ftl);
	kvfree(ftl->oob);
	kvfree(ftl->record);
	kvfree(ftl);
}

void nl_ftl_retune(struct nl_ftl *ftl, const struct nl_config *config)
{
	int i;

	for (i = 0; i < NL_NR_PARAMS; i++)
		if (!nl_params[i].fixed)
			ftl->config.p[i] = config->p[i];
}

void nl_ftl_begin(struct nl_ftl *ftl, struct nl_io *io)
{
	nl_timing_begin(&ftl->flash->timing, io->came ? io->came : io->now);
	io->done = io->now;
}

static u64 nl_ram(const struct nl_ftl *ftl, const struct nl_io *io)
{
	return io->now + nl_latency(&ftl->flash->timing, NL_P_RAM);
}

/* Out of the flash. */
static int nl_ftl_fetch(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf, struct nl_io *io)
{
	u64 when = io->now;
	struct nl_rec rec;
	u32 ppn;
	int r = ftl->ops->load ? ftl->ops->load(ftl, lpn, &when) : 0;

	if (r)
		return r;
	ppn = ftl->ops->lookup(ftl, lpn);
	if (ppn == NL_UNMAPPED)
		return 0;
	r = ftl->ops->read ? ftl->ops->read(ftl, ppn, buf, &when) :
			     nl_media_read(ftl, ppn, NL_FOR_HOST, &when, buf,
					   ftl->ops->whose ? &rec : NULL);
	nl_io_wait(io, when);
	if (!r && ftl->ops->whose && (rec.type != NL_OOB_DATA || rec.lpn != lpn)) {
		nl_buf_put(*buf);
		r = -EIO;
	}
	if (r)
		*buf = NULL;
	return r;
}

int nl_ftl_read_part(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf, struct nl_io *io)
{
	int r;

	if (lpn >= ftl->logical_pages)
		return -ERANGE;
	nl_ftl_begin(ftl, io);
	if (ftl->flash->off)
		return -ESHUTDOWN;
	r = ftl->ops->refuse ? ftl->ops->refuse(ftl, lpn) : 0;
	if (r)
		return r;
	nl_io_wait(io, nl_ram(ftl, io));
	*buf = NULL;
	if (nl_wbuf_read(ftl, lpn, buf) || nl_is_trimmed(ftl, lpn))
		return 0;
	return nl_ftl_fetch(ftl, lpn, buf, io);
}

int nl_ftl_read(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf, struct nl_io *io)
{
	int r = nl_ftl_read_part(ftl, lpn, buf, io);

	ftl->reads += !r;
	return r;
}

int nl_ftl_may_write(const struct nl_ftl *ftl)
{
	if (ftl->flash->off)
		return -ESHUTDOWN;
	return ftl->state == NL_FTL_RO ? -EROFS : 0;
}

static int nl_ftl_empty(struct nl_ftl *ftl, struct nl_io *io)
{
	int r;

	if (!ftl->wbuf.nr && !ftl->trims.nr_pending)
		return 0;
	r = nl_ftl_may_write(ftl);
	if (r == -EROFS && !ftl->wbuf.nr && !ftl->ops->append)
		r = 0;		/* trims take no flash there */
	if (!r)
		r = nl_wbuf_flush(ftl, io);
	return r ? r : nl_trims_sync(ftl, io);
}

/* What was done before the device was read-only is committed all the same. */
static int nl_ftl_sync(struct nl_ftl *ftl, struct nl_io *io)
{
	int r = nl_ftl_empty(ftl, io), committed;

	if (!ftl->ops->commit || (r && r != -EROFS))
		return r;
	committed = ftl->ops->commit(ftl, io);
	return committed ? committed : r;
}

bool nl_ftl_behind(const struct nl_ftl *ftl)
{
	return ftl->ops->behind && ftl->ops->behind(ftl);
}

u32 nl_ftl_buffered(const struct nl_ftl *ftl)
{
	return ftl->wbuf.nr;
}

/* Is there space for a page that has none? What waits in the buffer or for a record may have it. */
int nl_ftl_admit(struct nl_ftl *ftl, u32 lpn, struct nl_io *io)
{
	int r;

	if (!ftl->ops->full || !ftl->ops->full(ftl, lpn))
		return 0;
	r = nl_ftl_sync(ftl, io);
	if (r)
		return r;
	return ftl->ops->full(ftl, lpn) ? -ENOSPC : 0;
}

static int nl_ftl_put(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, u32 flags, struct nl_io *io)
{
	int r;

	if (ftl->ops->put)
		return ftl->ops->put(ftl, lpn, buf, flags, io);
	if (ftl->wbuf.max && !(flags & NL_FUA))
		return nl_wbuf_write(ftl, lpn, buf, io);
	r = ftl->ops->write(ftl, lpn, buf, io);
	if (r)
		return r;
	nl_wbuf_drop(ftl, lpn);
	return flags == NL_FUA && ftl->ops->commit ? ftl->ops->commit(ftl, io) : 0;
}

int nl_ftl_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, u32 flags, struct nl_io *io)
{
	int r;

	if (lpn >= ftl->logical_pages)
		return -ERANGE;
	nl_ftl_begin(ftl, io);
	r = nl_ftl_may_write(ftl);
	if (!r)
		r = nl_ftl_admit(ftl, lpn, io);
	if (!r)
		r = nl_ftl_put(ftl, lpn, buf, flags, io);
	ftl->writes += !r;
	return r;
}

int nl_ftl_trim(struct nl_ftl *ftl, u32 lpn, u32 count, struct nl_io *io)
{
	u32 i;
	int r;

	if (lpn >= ftl->logical_pages || count > ftl->logical_pages - lpn)
		return -ERANGE;
	nl_ftl_begin(ftl, io);
	r = ftl->ops->lean ? -EOPNOTSUPP : nl_ftl_may_write(ftl);
	if (r)
		return r;
	ftl->nr_trims += count;
	for (i = 0; i < count && ftl->wbuf.nr; i++)
		nl_wbuf_drop(ftl, lpn + i);
	nl_trims_mark(ftl, lpn, count);
	nl_io_wait(io, nl_ram(ftl, io));
	return 0;
}

int nl_ftl_flush(struct nl_ftl *ftl, struct nl_io *io)
{
	int r;

	nl_ftl_begin(ftl, io);
	if (ftl->flash->off)
		return -ESHUTDOWN;
	ftl->flushes++;
	nl_io_wait(io, ftl->wbuf.until);
	r = nl_ftl_sync(ftl, io);
	return !r && ftl->ops->lost ? ftl->ops->lost(ftl) : r;
}

int nl_ftl_gc(struct nl_ftl *ftl, struct nl_io *io)
{
	int r;

	nl_ftl_begin(ftl, io);
	r = nl_ftl_may_write(ftl);
	return r ? r : ftl->ops->gc(ftl, io);
}

u32 nl_ftl_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	return ftl->ops->check(ftl, report, ctx);
}

int nl_ftl_stop(struct nl_ftl *ftl, struct nl_io *io)
{
	int r;

	nl_ftl_begin(ftl, io);
	if (ftl->flash->off)
		return -ESHUTDOWN;
	r = nl_ftl_sync(ftl, io);
	if ((!r || r == -EROFS) && ftl->ops->lost)
		r = ftl->ops->lost(ftl) ?: r;
	if (!r && ftl->ops->settle && ftl->state != NL_FTL_RO)
		r = ftl->ops->settle(ftl, io);
	if (r || ftl->ops->commit || ftl->state == NL_FTL_RO || ftl->checkpoint != NL_NONE)
		return min(r, 0);
	return nl_checkpoint(ftl, io);
}

void nl_ftl_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	stat->reads = ftl->reads;
	stat->writes = ftl->writes;
	stat->trims = ftl->nr_trims;
	stat->flushes = ftl->flushes;
	stat->buffered = ftl->wbuf.nr;
	stat->free_blocks = ftl->blocks.nr_free;
	stat->bad_blocks = ftl->geo->nr_blocks - ftl->blocks.good;
	stat->min_blocks = ftl->min_blocks;
	stat->victims = ftl->victims;
	stat->wear_swaps = ftl->wear_swaps;
	stat->unreadable = ftl->blocks.unreadable;
	stat->lost = ftl->lost;
	memcpy(stat->merges, ftl->merges, sizeof(stat->merges));
	stat->recovered_by_scan = ftl->scanned;
	stat->recovery_ns = ftl->recovery_ns;
	stat->state = ftl->state;
	stat->other_bytes = nl_blocks_memory(ftl) + nl_trims_memory(ftl) +
			    (u64)ftl->wbuf.max * sizeof(struct nl_wslot) +
			    (u64)ftl->wbuf.size * sizeof(u32);
	ftl->ops->stat(ftl, stat);
}
