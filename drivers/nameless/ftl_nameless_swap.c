// SPDX-License-Identifier: GPL-2.0-only
/* Chunks of the map into the flash, and out of memory. DOC: ftl_nameless_map.c */
#include <linux/slab.h>
#include "ftl_nameless.h"

static void nl_map_drop(struct nl_vmap *m, u32 n)
{
	m->dirty -= nl_map_is_dirty(m, n);
	list_del(&m->chunk[n].lru);
	kfree(m->entry[n]);
	m->entry[n] = NULL;
	m->resident--;
}

static struct nl_buf *nl_map_image(struct nl_nw *f, u32 n)
{
	struct nl_buf *buf = nl_buf_alloc(f->ftl.geo->page_bytes, f->ftl.flash->nowait);
	__le32 *to;
	u32 i;

	if (!buf)
		return NULL;
	to = nl_buf_data(buf);
	memset(to, 0, f->ftl.geo->page_bytes);
	for (i = 0; i < f->map.entries; i++)
		to[i] = cpu_to_le32(f->map.entry[n][i]);
	return buf;
}

/* A dirty chunk is in the flash, too. It is dirty still if the program moved pages of its own. */
static int nl_map_write(struct nl_nw *f, u32 n, u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_MAP, .lpn = n };
	struct nl_vmap *m = &f->map;
	u64 start = *when;
	struct nl_buf *buf;
	u32 ppn;
	int r;

	r = nl_nw_mend(f, when);	/* many may follow each other without a user's page */
	if (r)
		return r;
	buf = nl_map_image(f, n);
	if (!buf)
		return -ENOMEM;
	rec.data_csum = nl_data_csum(&f->ftl, buf);
	rec.seq = ++f->ftl.seq;
	m->chunk[n].changed = false;
	r = nl_nw_program(f, NL_NONE, NL_FOR_META, when, buf, &rec, &ppn);
	nl_buf_put(buf);
	if (r)
		return r;
	m->out++;
	if (!m->chunk[n].changed) {
		nl_page_live(&f->ftl, ppn);
		m->chunk[n].ppn = ppn;
		list_move_tail(&m->chunk[n].lru, &m->clean);
		m->dirty--;
	}
	r = nl_nw_spent(f, nl_plane_of(f->ftl.geo, nl_block_of(f->ftl.geo, ppn)), start);
	return r == -ESHUTDOWN ? r : 0;
}

/* The one that was not used for longest. */
static u32 nl_map_oldest(const struct nl_vmap *m, const struct list_head *list)
{
	return list_first_entry(list, struct nl_chunk, lru) - m->chunk;
}

static bool nl_map_is_empty(const struct nl_nw *f, u32 n)
{
	u32 end = nl_map_end(&f->ftl, &f->map, n);

	return find_next_bit(f->map.there, end, n * f->map.entries) >= end;
}

/* What finds no room in the flash stays. */
static int nl_map_shrink_to(struct nl_nw *f, u32 most, u64 *when)
{
	struct nl_vmap *m = &f->map;
	u64 start = *when, at;
	int r = 0;
	u32 n;

	while (m->max && m->resident > most && !r) {
		n = nl_map_oldest(m, list_empty(&m->clean) ? &m->changed : &m->clean);
		at = start;
		if (nl_map_is_dirty(m, n) && !nl_map_is_empty(f, n))
			r = nl_map_write(f, n, &at);
		else
			nl_map_drop(m, n);
		*when = max(*when, at);
	}
	return r == -ESHUTDOWN || r == -ENOMEM ? r : 0;
}

/*
 * A chunk more that a read may drop, up to half of the cache: reads program nothing, so writes that
 * come between them do it. Without reads that miss chunks are written when their place is needed.
 */
static int nl_map_make_clean(struct nl_nw *f, u64 *when)
{
	struct nl_vmap *m = &f->map;
	int r = 0;

	if (m->dirty > m->max / 2)
		r = nl_map_write(f, nl_map_oldest(m, &m->changed), when);
	if (m->dirty <= m->max / 2)
		m->crowded = false;
	return r == -ESHUTDOWN || r == -ENOMEM ? r : 0;
}

/**
 * nl_map_shrink - have no more in memory than may be
 * @f: the FTL
 * @when: in: not to begin before, out: when it is done, ns
 *
 * Return: 0, even if the flash has no room for what was changed; -ENOMEM, -ESHUTDOWN.
 */
int nl_map_shrink(struct nl_nw *f, u64 *when)
{
	int r = nl_map_shrink_to(f, f->map.max, when);

	return !r && f->map.crowded ? nl_map_make_clean(f, when) : r;
}

/* Room for the chunk is made first: it is never more than may be for a write. */
int nl_map_need_for_write(struct nl_nw *f, u32 lpn, u64 *when)
{
	struct nl_vmap *m = &f->map;
	int r = 0;

	if (m->max && !m->entry[nl_map_of(m, lpn)])
		r = nl_map_shrink_to(f, m->max - 1, when);
	return r ? r : nl_map_need(f, lpn, when);
}

int nl_map_need_for_read(struct nl_ftl *ftl, u32 lpn, u64 *when)
{
	struct nl_nw *f = nl_nw(ftl);
	struct nl_vmap *m = &f->map;

	if (!m->max || !test_bit(lpn, m->there))
		return 0;
	if (m->entry[nl_map_of(m, lpn)])
		return nl_map_need(f, lpn, when);
	while (m->resident >= m->max && !list_empty(&m->clean))
		nl_map_drop(m, nl_map_oldest(m, &m->clean));
	m->crowded |= m->dirty > m->max / 2 && m->resident >= m->max;
	return nl_map_need(f, lpn, when);
}

/* All chunks from @lpn to @end in which pages wait for a trim record. */
int nl_map_need_trimmed(struct nl_ftl *ftl, u32 lpn, u32 end, u64 *when)
{
	struct nl_nw *f = nl_nw(ftl);
	u64 start, at;
	int r;

	if (!f->map.max)
		return 0;
	r = nl_map_shrink(f, when);
	start = *when;
	while (!r) {
		lpn = find_next_bit(ftl->trims.pending, end, lpn);
		if (lpn >= end)
			break;
		at = start;
		r = nl_map_need(f, lpn, &at);
		*when = max(*when, at);
		lpn = nl_map_end(&f->ftl, &f->map, nl_map_of(&f->map, lpn));
	}
	return r;
}

/* At most half of the cache is dirty when the device has been idle: reads may have that. */
int nl_map_idle(struct nl_nw *f, u64 *when)
{
	struct nl_vmap *m = &f->map;
	u32 before = m->resident;
	int r;

	if (!m->max)
		return 0;
	r = nl_map_shrink(f, when);
	if (r || m->resident < before)
		return r ? r : 1;
	if (m->dirty <= m->max / 2)
		return 0;
	r = nl_map_write(f, nl_map_oldest(m, &m->changed), when);
	return r == -ESHUTDOWN || r == -ENOMEM ? r : !r;
}
