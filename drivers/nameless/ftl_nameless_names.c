// SPDX-License-Identifier: GPL-2.0-only
/* The physical segment: names in, names out. */
#include <linux/bitmap.h>
#include "ftl_nameless.h"

static int nl_name_begin(struct nl_ftl *ftl, struct nl_io *io)
{
	if (ftl->ops != &nl_ftl_nameless)
		return -EOPNOTSUPP;
	nl_ftl_begin(ftl, io);
	return ftl->flash->off ? -ESHUTDOWN : 0;
}

/* Where a name leads now; the place may hold nothing that is valid. */
static u32 nl_name_at(const struct nl_nw *f, const struct nl_name *name)
{
	const struct nl_moved *moved = nl_nw_moved(f, name->ppn, &name->meta);

	return moved ? moved->to : name->ppn;
}

static int nl_name_stale(struct nl_nw *f)
{
	f->stale++;
	return -ESTALE;
}

static int nl_name_compare(struct nl_nw *f, const struct nl_name *name, const struct nl_rec *rec)
{
	struct nl_meta meta = nl_rec_meta(rec);

	if (rec->type == NL_OOB_NAMELESS && nl_meta_same(&meta, &name->meta))
		return 0;
	return nl_name_stale(f);
}

/*
 * A device that trusts its client reads nothing to end a block, so it takes no time. The emulation
 * looks all the same: a name that is wrong would be somebody else's block, and its count.
 */
static int nl_name_trust(struct nl_nw *f, const struct nl_name *name, u32 at)
{
	const void *oob = f->ftl.ops->peek(&f->ftl, at);
	struct nl_rec rec;
	int r = oob ? nl_oob_decode(&f->ftl, oob, &rec) : -EIO;

	return r ? r : nl_name_compare(f, name, &rec);
}

/* Clients take -EIO for a cut: it is another thing that this block is no more to be read. */
static int nl_name_unreadable(int r)
{
	return r == -EIO ? -EBADMSG : r;
}

/*
 * Where a name's block is. That it is the one meant says its record, or the table of migrations;
 * with @buf its data is read, too.
 */
static int nl_name_find(struct nl_nw *f, const struct nl_name *name, struct nl_buf **buf,
			u64 *when, u32 *at)
{
	struct nl_rec rec;
	int r;

	*at = nl_name_at(f, name);
	if (*at >= f->ftl.geo->nr_pages || !nl_nw_is_valid(f, *at))
		return nl_name_stale(f);
	if (!buf && nl_nw_moved(f, name->ppn, &name->meta))
		return 0;
	if (!buf && f->ftl.config.p[NL_P_TRUST])
		return nl_name_unreadable(nl_name_trust(f, name, *at));
	r = nl_nw_fetch(f, *at, NL_FOR_HOST, when, buf, &rec);
	if (r)
		return nl_name_unreadable(r);
	r = nl_name_compare(f, name, &rec);
	if (r && buf)
		nl_buf_put(*buf);
	return r;
}

/* No flash operation, so it lasts. */
static void nl_name_drop(struct nl_nw *f, u32 at)
{
	__clear_bit(at, f->battery->valid);
	f->battery->nr_valid--;
	nl_nw_forget_moves(f, at);
	nl_nw_dead(f, at);
}

static int nl_name_program(struct nl_nw *f, const struct nl_meta *meta, struct nl_buf *buf,
			   u64 *when, u32 *ppn)
{
	struct nl_rec rec = {
		.type = NL_OOB_NAMELESS, .lpn = meta->word[0],
		.meta = { meta->word[1], meta->word[2] },
	};
	struct nl_io io = { .now = *when };
	int r = nl_nw_make_room(f, &io);

	if (r)
		return r;
	rec.seq = ++f->ftl.seq;
	r = nl_nw_program(f, NL_NONE, NL_FOR_HOST, when, buf, &rec, ppn);
	if (r != -ENOSPC)
		return r;
	f->ftl.state = NL_FTL_RO;
	return -EROFS;
}

int nl_name_write(struct nl_ftl *ftl, const struct nl_name *old, const struct nl_meta *meta,
		  struct nl_buf *buf, u32 *ppn, struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	u64 when = io->now, looked = io->now;
	u32 at;
	int r = nl_name_begin(ftl, io);

	if (!r)
		r = nl_ftl_may_write(ftl);
	if (!r)
		r = old ? nl_name_find(f, old, NULL, &looked, &at) : nl_ftl_admit(ftl, NL_NONE, io);
	if (!r)
		r = nl_name_program(f, meta, buf, &when, ppn);
	if (r)
		return r;
	ftl->writes++;
	f->rate_pages++;
	/* The new block is valid and the old one is not at one time; leveling may have moved it. */
	if (old)
		nl_name_drop(f, nl_name_at(f, old));
	__set_bit(*ppn, f->battery->valid);
	f->battery->nr_valid++;
	nl_page_live(ftl, *ppn);
	nl_io_wait(io, max(when, looked));
	r = nl_nw_spent(f, nl_plane_of(ftl->geo, nl_block_of(ftl->geo, *ppn)), io->now);
	return r == -ESHUTDOWN ? r : 0;
}

int nl_name_read(struct nl_ftl *ftl, const struct nl_name *name, struct nl_buf **buf,
		 struct nl_io *io)
{
	u64 when = io->now;
	u32 at;
	int r = nl_name_begin(ftl, io);

	*buf = NULL;
	if (r)
		return r;
	r = nl_name_find(nl_nw(ftl), name, buf, &when, &at);
	ftl->reads += !r;
	if (r)
		*buf = NULL;
	nl_io_wait(io, when);
	return r;
}

int nl_name_free(struct nl_ftl *ftl, const struct nl_name *name, struct nl_io *io)
{
	u64 when = io->now;
	u32 at;
	int r = nl_name_begin(ftl, io);

	if (!r)
		r = nl_ftl_may_write(ftl);
	if (!r)
		r = nl_name_find(nl_nw(ftl), name, NULL, &when, &at);
	if (r)
		return r;
	ftl->nr_trims++;
	nl_name_drop(nl_nw(ftl), at);
	nl_io_wait(io, when);
	return 0;
}

/* --- migrations ------------------------------------------------------------------------------- */

u32 nl_name_untold(const struct nl_ftl *ftl)
{
	return ftl->ops == &nl_ftl_nameless ? container_of(ftl, struct nl_nw, ftl)->untold : 0;
}

int nl_name_moves(struct nl_ftl *ftl, struct nl_move *moves, u32 max)
{
	struct nl_moved *moved;
	struct nl_nw *f;
	u32 i, n = 0, left;

	if (ftl->ops != &nl_ftl_nameless)
		return -EOPNOTSUPP;
	f = nl_nw(ftl);
	for (left = f->battery->max_moved; left && f->untold && n < max; left--) {
		i = f->tell++ % f->battery->max_moved;
		f->tell = i + 1;
		moved = &f->battery->moved[i];
		if (!moved->used || moved->told)
			continue;
		moved->told = true;
		f->untold--;
		moves[n++] = (struct nl_move){ moved->from, moved->to, moved->meta };
	}
	return n;
}

void nl_name_replay(struct nl_ftl *ftl)
{
	if (ftl->ops == &nl_ftl_nameless)
		nl_nw_replay(nl_nw(ftl));
}

void nl_name_untell(struct nl_ftl *ftl, const struct nl_move *move)
{
	struct nl_moved *moved;

	if (ftl->ops != &nl_ftl_nameless)
		return;
	moved = nl_nw_moved(nl_nw(ftl), move->from, &move->meta);
	if (!moved || !moved->told)
		return;
	moved->told = false;
	nl_nw(ftl)->untold++;
	if (moved->to == NL_NONE)	/* nobody has it in a queue now */
		nl_nw_unmove(nl_nw(ftl), moved);
}

int nl_name_acknowledge(struct nl_ftl *ftl, u32 from, const struct nl_meta *meta)
{
	struct nl_moved *moved;

	if (ftl->ops != &nl_ftl_nameless)
		return -EOPNOTSUPP;
	moved = nl_nw_moved(nl_nw(ftl), from, meta);
	if (!moved)
		return -ENOENT;
	nl_nw_unmove(nl_nw(ftl), moved);
	return 0;
}

/* --- what there is ---------------------------------------------------------------------------- */

/* Plane by plane in turn: what is listed at one go is read in all of them at once. */
static u32 nl_name_nth(const struct nl_geometry *geo, u32 n)
{
	return n % geo->nr_planes * (geo->blocks * geo->pages) + n / geo->nr_planes;
}

int nl_name_list(struct nl_ftl *ftl, u32 *from, struct nl_name *names, u32 max,
		 struct nl_io *io)
{
	struct nl_nw *f = nl_nw(ftl);
	struct nl_rec rec;
	u32 n = 0, ppn;
	u64 when;
	int r = nl_name_begin(ftl, io);

	for (; !r && n < max && *from < ftl->geo->nr_pages; (*from)++) {
		ppn = nl_name_nth(ftl->geo, *from);
		if (!nl_nw_is_valid(f, ppn))
			continue;
		when = io->now;
		r = nl_nw_fetch(f, ppn, NL_FOR_RECOVERY, &when, NULL, &rec);
		if (r && r != -EIO)
			break;
		nl_io_wait(io, when);
		if (!r)
			names[n++] = (struct nl_name){ .ppn = ppn, .meta = nl_rec_meta(&rec) };
		f->unlisted += !!r;
		r = 0;
	}
	return r ? r : n;
}
