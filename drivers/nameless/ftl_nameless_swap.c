// SPDX-License-Identifier: GPL-2.0-only
/* Chunks of the map into the flash, and out of memory. DOC: ftl_nameless_map.c */
#include <linux/slab.h>
#include "ftl_nameless.h"

static bool nl_chunk_is_empty(const struct nl_vmap *m, const struct nl_chunk *chunk)
{
	return find_first_bit(chunk->there, m->entries) >= m->entries;
}

static void nl_map_drop(struct nl_vmap *m, struct nl_chunk *chunk)
{
	m->dirty -= nl_chunk_is_dirty(chunk);
	list_del(&chunk->lru);
	kfree(chunk->entry);
	chunk->entry = NULL;
	m->resident--;
	if (chunk->ppn == NL_UNMAPPED)
		nl_map_forget_chunk(m, chunk);
}

static struct nl_buf *nl_map_image(struct nl_nw *f, const struct nl_chunk *chunk)
{
	struct nl_buf *buf = nl_buf_alloc(f->ftl.geo->page_bytes, f->ftl.flash->nowait);
	__le32 *to;
	u32 i;

	if (!buf)
		return NULL;
	to = nl_buf_data(buf);
	memset(to, 0, f->ftl.geo->page_bytes);
	for (i = 0; i < f->map.entries; i++)
		to[i] = cpu_to_le32(chunk->entry[i]);
	return buf;
}

/* A dirty chunk is in the flash, too. It is dirty still if the program moved pages of its own. */
static int nl_map_write(struct nl_nw *f, struct nl_chunk *chunk, u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_MAP, .lpn = chunk->n };
	struct nl_vmap *m = &f->map;
	u64 start = *when;
	struct nl_buf *buf;
	u32 ppn;
	int r;

	r = nl_nw_mend(f, when);	/* many may follow each other without a user's page */
	if (r)
		return r;
	buf = nl_map_image(f, chunk);
	if (!buf)
		return -ENOMEM;
	rec.data_csum = nl_data_csum(&f->ftl, buf);
	rec.seq = ++f->ftl.seq;
	chunk->changed = false;
	r = nl_nw_program(f, NL_NONE, NL_FOR_META, when, buf, &rec, &ppn);
	nl_buf_put(buf);
	if (r)
		return r;
	m->out++;
	if (!chunk->changed) {
		nl_page_live(&f->ftl, ppn);
		chunk->ppn = ppn;
		list_move_tail(&chunk->lru, &m->clean);
		m->dirty--;
	}
	r = nl_nw_spent(f, nl_plane_of(f->ftl.geo, nl_block_of(f->ftl.geo, ppn)), start);
	return r == -ESHUTDOWN ? r : 0;
}

/* The one that was not used for longest. */
static struct nl_chunk *nl_map_oldest(const struct list_head *list)
{
	return list_first_entry(list, struct nl_chunk, lru);
}

/* One more that is not dirty, or not in memory. */
static int nl_map_save(struct nl_nw *f, struct nl_chunk *chunk, u64 *when)
{
	if (!nl_chunk_is_empty(&f->map, chunk))
		return nl_map_write(f, chunk, when);
	nl_map_drop(&f->map, chunk);
	return 0;
}

/* What finds no room in the flash stays. */
static int nl_map_shrink_to(struct nl_nw *f, u32 most, u64 *when)
{
	struct nl_vmap *m = &f->map;
	u64 start = *when, at;
	int r = 0;

	while (m->max && m->resident > most && !r) {
		at = start;
		if (list_empty(&m->clean))
			r = nl_map_save(f, nl_map_oldest(&m->changed), &at);
		else
			nl_map_drop(m, nl_map_oldest(&m->clean));
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
		r = nl_map_save(f, nl_map_oldest(&m->changed), when);
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

	if (m->max && !nl_chunk_is_in_memory(nl_map_chunk(m, nl_map_of(m, lpn))))
		r = nl_map_shrink_to(f, m->max - 1, when);
	return r ? r : nl_map_need(f, lpn, when);
}

int nl_map_need_for_read(struct nl_ftl *ftl, u32 lpn, u64 *when)
{
	struct nl_nw *f = nl_nw(ftl);
	struct nl_vmap *m = &f->map;

	if (!m->max || !nl_map_has(f, lpn))
		return 0;
	if (nl_chunk_is_in_memory(nl_map_chunk(m, nl_map_of(m, lpn))))
		return nl_map_need(f, lpn, when);
	while (m->resident >= m->max && !list_empty(&m->clean))
		nl_map_drop(m, nl_map_oldest(&m->clean));
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
	r = nl_map_save(f, nl_map_oldest(&m->changed), when);
	return r == -ESHUTDOWN || r == -ENOMEM ? r : !r;
}
