// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: zones
 *
 * A zone is written in order, so where a page is follows from its address: page n of the zone is
 * page n / blocks of its block n % blocks. Blocks are taken one by one when their first page is
 * programmed, one of each plane in turn, the least erased one; a reset erases them all and gives
 * them back. So wear spreads over the blocks of zones that are reset, and no further: those of one
 * that is not stay where they are. A bad block is only one that is never taken again.
 *
 * Each zone that is neither read-only nor offline has all its blocks or is owed them: as many
 * blocks are free as are owed (nl_zone_settle()), so what a zone promises it can keep. What is free
 * beyond that is spare.
 *
 * A start finds the pages of a zone up to the first that can't be read (zoned_recover.c). The one
 * behind them may have been under way when the power went, and nothing more can be programmed
 * there: the first write to the zone moves its block's pages to a spare block (zone->unsure). Until
 * that has all of them the old one counts.
 *
 * A reset erases the block of page 0 first. With that the zone has no first page, so a start
 * finishes what the cut interrupted: all or nothing.
 *
 * A program that fails in a block where there is nothing yet costs a spare block. In one with pages
 * it makes the zone read-only: the block is marked as bad and keeps its pages, which is how a start
 * knows. What the write buffer had of that zone still is programmed, if there is a spare block for
 * what is in the bad one.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_zoned.h"

const char * const nl_zone_names[NL_NR_ZONE_STATES] = {
	[NL_ZONE_EMPTY] = "empty", [NL_ZONE_IMPLICIT] = "implicit", [NL_ZONE_EXPLICIT] = "explicit",
	[NL_ZONE_CLOSED] = "closed", [NL_ZONE_FULL] = "full", [NL_ZONE_READONLY] = "readonly",
	[NL_ZONE_OFFLINE] = "offline",
};

int nl_zone_shape(struct nl_zone_shape *shape, const struct nl_config *config)
{
	const u64 *p = config->p;
	u64 blocks = p[NL_P_ZONE_BLOCKS];

	if (!blocks)
		blocks = p[NL_P_PACKAGES] * p[NL_P_DIES] * p[NL_P_PLANES];
	if (blocks * p[NL_P_PAGES] > 1 << 30)
		return -EFBIG;
	shape->blocks = blocks;
	shape->capacity = blocks * p[NL_P_PAGES];
	shape->size = roundup_pow_of_two(shape->capacity);
	return 0;
}

const struct nl_zone_shape *nl_zone_shape_of(const struct nl_ftl *ftl)
{
	return &container_of(ftl, struct nl_zoned_ftl, ftl)->shape;
}

u32 nl_zone_count(const struct nl_ftl *ftl)
{
	return container_of(ftl, struct nl_zoned_ftl, ftl)->nr;
}

void nl_zone_look(const struct nl_ftl *ftl, u32 zone, struct nl_zone_info *info)
{
	const struct nl_zone *z = &container_of(ftl, struct nl_zoned_ftl, ftl)->zone[zone];

	info->state = z->state;
	info->pointer = z->pointer;
	info->stuck = z->stuck;
}

bool nl_zone_rec_is_sane(const struct nl_ftl *ftl, const struct nl_rec *rec)
{
	const struct nl_zone_shape *shape = nl_zone_shape_of(ftl);

	return (rec->type == NL_OOB_DATA || rec->type == NL_OOB_PAD) && rec->aux == shape->blocks &&
	       rec->lpn < ftl->logical_pages && (u32)rec->lpn % shape->size < shape->capacity;
}

static u32 nl_zone_missing(const struct nl_zoned_ftl *f, u32 zone)
{
	u32 i, missing = 0;

	for (i = 0; i < f->shape.blocks; i++)
		missing += *nl_zone_block(f, zone, i) == NL_NONE;
	return missing;
}

void nl_zone_set(struct nl_zoned_ftl *f, u32 zone, enum nl_zone_state state)
{
	struct nl_zone *z = &f->zone[zone];
	bool lived = nl_zone_lives(z);

	f->count[z->state]--;
	f->count[state]++;
	z->state = state;
	if (lived && !nl_zone_lives(z))
		f->owed -= nl_zone_missing(f, zone);
}

/* --- states ----------------------------------------------------------------------------------- */

static bool nl_zone_is_open(const struct nl_zone *z)
{
	return z->state == NL_ZONE_IMPLICIT || z->state == NL_ZONE_EXPLICIT;
}

/* One that is open isn't any more. */
static void nl_zone_shut(struct nl_zoned_ftl *f, u32 zone)
{
	nl_zone_set(f, zone, f->zone[zone].pointer ? NL_ZONE_CLOSED : NL_ZONE_EMPTY);
	nl_zone_settle(f);
}

/* Close one that nobody asked to be open, and that nobody is writing to. */
static bool nl_zone_shut_any(struct nl_zoned_ftl *f)
{
	u32 i, zone;

	for (i = 0; i < f->nr; i++) {
		zone = (f->cursor + i) % f->nr;
		if (f->zone[zone].state != NL_ZONE_IMPLICIT || f->zone[zone].busy)
			continue;
		nl_zone_shut(f, zone);
		f->cursor = zone + 1;
		return true;
	}
	return false;
}

static int nl_zone_make_open(struct nl_zoned_ftl *f, u32 zone, enum nl_zone_state how)
{
	u32 open = f->count[NL_ZONE_IMPLICIT] + f->count[NL_ZONE_EXPLICIT];
	u64 max_open = f->ftl.config.p[NL_P_MAX_OPEN];
	u64 max_active = f->ftl.config.p[NL_P_MAX_ACTIVE];
	struct nl_zone *z = &f->zone[zone];

	if (nl_zone_is_open(z)) {
		if (how == NL_ZONE_EXPLICIT)
			nl_zone_set(f, zone, how);
		return 0;
	}
	if (max_active && z->state == NL_ZONE_EMPTY &&
	    open + f->count[NL_ZONE_CLOSED] >= max_active)
		return -EOVERFLOW;
	if (max_open && open >= max_open && !nl_zone_shut_any(f))
		return -ETOOMANYREFS;
	nl_zone_set(f, zone, how);
	return 0;
}

/* Why nothing about it can be changed. */
static int nl_zone_dead(const struct nl_zone *z)
{
	if (z->state == NL_ZONE_OFFLINE)
		return -EIO;
	return z->state == NL_ZONE_READONLY ? -EROFS : 0;
}

static int nl_zone_may_write(struct nl_zoned_ftl *f, u32 zone, u32 page, u32 count)
{
	struct nl_zone *z = &f->zone[zone];
	int r = nl_zone_dead(z);

	if (r)
		return r;
	if (z->state == NL_ZONE_FULL)
		return -ENOSPC;
	if (page != z->pointer || count > f->shape.capacity - page)
		return -EINVAL;
	return nl_zone_make_open(f, zone, NL_ZONE_IMPLICIT);
}

int nl_zone_admit(struct nl_ftl *ftl, u32 lpn, u32 count)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	int r;

	if (ftl->flash->off)
		return -ESHUTDOWN;
	if (lpn >= ftl->logical_pages)
		return -ERANGE;
	r = nl_zone_may_write(f, lpn / f->shape.size, lpn % f->shape.size, count);
	f->refused += nl_zone_refused(r);
	return r;
}

int nl_zone_append(struct nl_ftl *ftl, u32 zone, u32 count, u32 *lpn)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	int r;

	if (ftl->flash->off)
		return -ESHUTDOWN;
	if (zone >= f->nr)
		return -ERANGE;
	r = nl_zone_may_write(f, zone, f->zone[zone].pointer, count);
	f->refused += nl_zone_refused(r);
	*lpn = zone * f->shape.size + f->zone[zone].pointer;
	return r;
}

void nl_zone_busy(struct nl_ftl *ftl, u32 zone, bool busy)
{
	nl_zoned_ftl(ftl)->zone[zone].busy = busy;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What the write buffer has of it finds no place: as if it had never been written. */
static void nl_zone_lose(struct nl_zoned_ftl *f, u32 zone)
{
	struct nl_zone *z = &f->zone[zone];
	u32 lpn = zone * f->shape.size;

	if (z->pointer == z->done)
		return;
	f->lost = true;
	f->nr_lost += z->pointer - z->done;
	while (z->pointer > z->done)
		nl_wbuf_drop(&f->ftl, lpn + --z->pointer);
}

/* Out of the write buffer, which goes on without a page that is lost. */
static int nl_zoned_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	u32 zone = lpn / f->shape.size;
	u64 when = io->now;
	int r;

	if (lpn % f->shape.size != f->zone[zone].done)
		return -EUCLEAN;
	r = nl_zone_program(f, zone, NL_OOB_DATA, buf, &when);
	nl_io_wait(io, when);
	if (r != -EIO)
		return r;
	nl_zone_lose(f, zone);
	return 0;
}

/* To the flash at once, behind what is before it. */
static int nl_zone_put_through(struct nl_zoned_ftl *f, u32 zone, u32 page, struct nl_buf *buf,
			       struct nl_io *io)
{
	u64 when = io->now;
	int r = nl_wbuf_flush(&f->ftl, io);

	if (r)
		return r;
	if (f->zone[zone].done != page)
		return -EIO;
	r = nl_zone_program(f, zone, NL_OOB_DATA, buf, &when);
	nl_io_wait(io, when);
	return r;
}

/* Making room for it may have lost what is before it. */
static int nl_zone_put_buffer(struct nl_zoned_ftl *f, u32 zone, u32 lpn, struct nl_buf *buf,
			      struct nl_io *io)
{
	int r = nl_wbuf_write(&f->ftl, lpn, buf, io);

	if (r || f->zone[zone].pointer == lpn % f->shape.size)
		return r;
	nl_wbuf_drop(&f->ftl, lpn);
	return -EIO;
}

static int nl_zoned_put(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, u32 flags,
			struct nl_io *io)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	u32 zone = lpn / f->shape.size, page = lpn % f->shape.size;
	struct nl_zone *z = &f->zone[zone];
	int r = nl_zone_admit(ftl, lpn, 1);

	if (r)
		return r;
	/* The last page takes all to the flash: a full zone isn't active, nor may a cut make it. */
	if (ftl->wbuf.max && !(flags & NL_FUA) && page != f->shape.capacity - 1)
		r = nl_zone_put_buffer(f, zone, lpn, buf, io);
	else
		r = nl_zone_put_through(f, zone, page, buf, io);
	if (r)
		return r;
	z->pointer++;
	if (z->pointer == f->shape.capacity && nl_zone_lives(z))
		nl_zone_set(f, zone, NL_ZONE_FULL);
	return 0;
}

static int nl_zoned_lost(struct nl_ftl *ftl)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	bool lost = f->lost;

	f->lost = false;
	return lost ? -EIO : 0;
}

/* --- zones as a whole ------------------------------------------------------------------------- */

static int nl_zone_close(struct nl_zoned_ftl *f, u32 zone)
{
	struct nl_zone *z = &f->zone[zone];

	if (nl_zone_is_open(z))
		nl_zone_shut(f, zone);
	else if (z->state != NL_ZONE_CLOSED)
		return -EINVAL;
	return 0;
}

/* A zone that has not got what it needs to be full is as it was, but open. */
static int nl_zone_finish(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io)
{
	struct nl_zone *z = &f->zone[zone];
	u64 when = io->now;
	int r;

	r = nl_wbuf_flush(&f->ftl, io);
	if (!r)
		r = nl_zone_dead(z);
	if (r || z->state == NL_ZONE_FULL)
		return r;
	r = nl_zone_make_open(f, zone, NL_ZONE_IMPLICIT);
	if (r)
		return r;
	r = nl_zone_program(f, zone, NL_OOB_PAD, NULL, &when);
	nl_io_wait(io, when);
	if (!r && nl_zone_lives(z))
		nl_zone_set(f, zone, NL_ZONE_FULL);
	return r;
}

/* Have a zone that was read-only get again what it is owed. */
static void nl_zone_unstick(struct nl_zoned_ftl *f, u32 zone)
{
	f->zone[zone].stuck = false;
	nl_zone_set(f, zone, NL_ZONE_CLOSED);
	f->owed += nl_zone_missing(f, zone);
}

static int nl_zone_reset(struct nl_zoned_ftl *f, u32 zone, struct nl_io *io)
{
	struct nl_zone *z = &f->zone[zone];
	int r;

	if (z->state == NL_ZONE_EMPTY)
		return 0;
	if (z->stuck)
		nl_zone_unstick(f, zone);
	while (z->pointer > z->done)
		nl_wbuf_drop(&f->ftl, zone * f->shape.size + --z->pointer);
	r = nl_zone_erase(f, zone, io);
	if (r)
		return r;
	f->resets++;
	nl_zone_set(f, zone, NL_ZONE_EMPTY);
	if (f->ftl.blocks.nr_free < f->owed)
		nl_zone_set(f, zone, NL_ZONE_OFFLINE);
	nl_zone_settle(f);
	return nl_zone_dead(z);
}

static int nl_zone_open(struct nl_zoned_ftl *f, u32 zone)
{
	if (f->zone[zone].state == NL_ZONE_FULL)
		return -EINVAL;
	return nl_zone_make_open(f, zone, NL_ZONE_EXPLICIT);
}

static int nl_zone_may_manage(const struct nl_zone *z, enum nl_zone_op op)
{
	return op == NL_ZONE_RESET && z->stuck ? 0 : nl_zone_dead(z);
}

int nl_zone_manage(struct nl_ftl *ftl, u32 zone, enum nl_zone_op op, struct nl_io *io)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	int r;

	if (zone >= f->nr)
		return -ERANGE;
	nl_ftl_begin(ftl, io);
	r = nl_ftl_may_write(ftl);
	if (r)
		return r;
	nl_io_wait(io, io->now + nl_latency(&ftl->flash->timing, NL_P_RAM));
	r = nl_zone_may_manage(&f->zone[zone], op);
	if (!r && op == NL_ZONE_OPEN)
		r = nl_zone_open(f, zone);
	else if (!r && op == NL_ZONE_CLOSE)
		r = nl_zone_close(f, zone);
	else if (!r && op == NL_ZONE_FINISH)
		r = nl_zone_finish(f, zone, io);
	else if (!r)
		r = nl_zone_reset(f, zone, io);
	f->refused += nl_zone_refused(r);
	return r;
}

/* --- the FTL ---------------------------------------------------------------------------------- */

static u32 nl_zoned_lookup(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	u32 zone = lpn / f->shape.size, page = lpn % f->shape.size;

	if (page >= f->zone[zone].done)
		return NL_UNMAPPED;
	return nl_ppn(ftl->geo, *nl_zone_block(f, zone, page), page / f->shape.blocks);
}

static int nl_zoned_refuse(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);

	return f->zone[lpn / f->shape.size].state == NL_ZONE_OFFLINE ? -EIO : 0;
}

/* There is nothing that a checkpoint would save a start from reading. */
static int nl_zoned_settle(struct nl_ftl *ftl, struct nl_io *io)
{
	return 1;
}

static int nl_zoned_gc(struct nl_ftl *ftl, struct nl_io *io)
{
	return 0;
}

static void nl_zoned_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat)
{
	const struct nl_zoned_ftl *f = container_of(ftl, struct nl_zoned_ftl, ftl);
	u32 nr_free = ftl->blocks.nr_free;

	stat->mapped = f->mapped;
	memcpy(stat->zones, f->count, sizeof(stat->zones));
	stat->zone_spare = nr_free - min(nr_free, f->owed);
	stat->zone_resets = f->resets;
	stat->zone_moves = f->moves;
	stat->zone_refused = f->refused;
	stat->zone_lost = f->nr_lost;
	stat->map_bytes[NL_MAP_ZONE] = (u64)f->nr * f->shape.blocks * sizeof(*f->block) +
				       (u64)f->nr * sizeof(*f->zone);
	stat->other_bytes += sizeof(*f);
}

static int nl_zoned_open(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_zoned_ftl *f = nl_zoned_ftl(ftl);
	u64 i;

	if (nl_zone_shape(&f->shape, &ftl->config) || ftl->logical_pages % f->shape.size)
		return -EINVAL;
	/* Blocks that go bad cost zones, never the device. */
	ftl->min_blocks = 0;
	ftl->state = NL_FTL_RW;
	f->nr = ftl->logical_pages / f->shape.size;
	f->zone = kvcalloc(f->nr, sizeof(*f->zone), NL_GFP_IO);
	f->block = kvmalloc_array((size_t)f->nr * f->shape.blocks, sizeof(*f->block), NL_GFP_IO);
	if (!f->zone || !f->block)
		return -ENOMEM;
	for (i = 0; i < (u64)f->nr * f->shape.blocks; i++)
		f->block[i] = NL_NONE;
	f->count[NL_ZONE_EMPTY] = f->nr;
	f->owed = f->nr * f->shape.blocks;
	return nl_zoned_recover(f, io);
}

static void nl_zoned_close(struct nl_ftl *ftl)
{
	kvfree(nl_zoned_ftl(ftl)->zone);
	kvfree(nl_zoned_ftl(ftl)->block);
}

const struct nl_ftl_ops nl_ftl_zoned = {
	.name = "zoned",
	.size = sizeof(struct nl_zoned_ftl),
	.lean = true,
	.open = nl_zoned_open,
	.refuse = nl_zoned_refuse,
	.lookup = nl_zoned_lookup,
	.put = nl_zoned_put,
	.write = nl_zoned_write,
	.lost = nl_zoned_lost,
	.settle = nl_zoned_settle,
	.gc = nl_zoned_gc,
	.check = nl_zoned_check,
	.stat = nl_zoned_stat,
	.close = nl_zoned_close,
};
