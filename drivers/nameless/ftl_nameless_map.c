// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: a map that is larger than its cache
 *
 * With NL_P_MAP_CACHE the virtual segment's map is in chunks of a flash page's worth of entries;
 * as many as the cache holds are in memory, the others in flash pages of their own (NL_OOB_MAP).
 * In memory are the directory, which says where each chunk lies, and a bit for each of its pages,
 * whether it is mapped: trims, and reads of what was never written, need no more. Both are there
 * for chunks in which something is mapped: a file system's metadata is in few of them.
 *
 * Flash pages of the map are a cache, and nothing else. OOB says what they do, so the scan ignores
 * them, they are dead after a cut or a stop, and a checkpoint says nothing of them. A start has the
 * whole map in memory, and writes out what is too much before it takes requests.
 *
 * One rule holds all the time: the directory has a flash page for a chunk, and that page is live,
 * as long as it says what the map says. The first change of a chunk kills the page. So GC finds it
 * dead early, no flash page of the map is ever out of date, and a chunk is dirty if it is in memory
 * and the directory has no page for it. One that is neither in memory nor in the directory has
 * nothing in it. GC in place puts pages of the map back as any others; what moves one (wear
 * leveling, a block that failed) says so in the directory, as it does of trim records.
 *
 * Who has something in hand that needs chunks loads them, which only reads, and they stay: chunks
 * leave memory only where nothing is under way, by the functions that shrink. These are called
 * before a page is programmed for a user (nl_nw_make_room(), not while a trim record is under way),
 * before the chunks are loaded that a trim record is about, at idle steps, and at a start. A read
 * drops clean chunks only: reads program nothing. Between two of these the cache may be too large:
 *
 *	by 1		all are dirty, and a read wants another one
 *	by 32		one trim record is about so many chunks: a bit for an entry's four bytes
 *	by the pages	of a block, as each that leveling, a block that failed, or the floor moves
 *			may be another chunk's; by more when more blocks fail at once
 *
 * To program a chunk may itself move pages, of this chunk, too: what was programmed is out of date
 * then, and is not made live (nl_chunk.changed).
 *
 * It never wedges: at most one flash page of each chunk is live before one is programmed, as for
 * trim records, so nl_ftl_min_blocks() has V = logical pages + trim records + chunks. A program of
 * a chunk happens only where one of a user's page may, and needs what that needs. When it finds no
 * room the chunk stays in memory: the cache is too large, and nothing is lost.
 *
 * A chunk that can't be read is rebuilt: it is in the OOB of the live pages, each logical page
 * once. If one of these can't be read either, the logical page is lost (NL_LOST): reads of it fail
 * until it is written or trimmed, and so does the next flush, once. Its flash page stays live,
 * whichever it is, and nothing is written that a start would believe: that knows such a page as
 * well as any scan does.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "buf.h"
#include "ftl_nameless.h"

bool nl_map_has(const struct nl_nw *f, u32 lpn)
{
	const struct nl_vmap *m = &f->map;
	const struct nl_chunk *chunk = nl_map_chunk(m, nl_map_of(m, lpn));

	if (!m->max)
		return nl_map_get(f, lpn) != NL_UNMAPPED;
	return chunk && test_bit(nl_map_in(m, lpn), chunk->there);
}

u32 nl_map_get(const struct nl_nw *f, u32 lpn)
{
	const struct nl_chunk *chunk = nl_map_chunk(&f->map, nl_map_of(&f->map, lpn));

	return nl_chunk_is_in_memory(chunk) ? chunk->entry[nl_map_in(&f->map, lpn)] : NL_UNMAPPED;
}

/* It is not as in the flash any more. */
static void nl_map_dirty(struct nl_nw *f, struct nl_chunk *chunk)
{
	u32 ppn = chunk->ppn;

	chunk->changed = true;
	if (ppn == NL_UNMAPPED)
		return;
	chunk->ppn = NL_UNMAPPED;
	list_move_tail(&chunk->lru, &f->map.changed);
	f->map.dirty++;
	nl_nw_dead(f, ppn);
}

void nl_map_set(struct nl_nw *f, u32 lpn, u32 ppn)
{
	struct nl_chunk *chunk = nl_map_chunk(&f->map, nl_map_of(&f->map, lpn));
	u32 i = nl_map_in(&f->map, lpn);

	chunk->entry[i] = ppn;
	if (!f->map.max)
		return;
	if (ppn == NL_UNMAPPED)
		__clear_bit(i, chunk->there);
	else
		__set_bit(i, chunk->there);
	nl_map_dirty(f, chunk);
}

/* --- into memory ------------------------------------------------------------------------------ */

static gfp_t nl_map_gfp(const struct nl_nw *f)
{
	return f->ftl.flash->nowait ? NL_GFP_NOWAIT : NL_GFP_IO;
}

/* Empty. */
static u32 *nl_map_alloc(const struct nl_nw *f)
{
	u32 i, *entry = kmalloc_array(f->map.entries, sizeof(*entry), nl_map_gfp(f));

	for (i = 0; entry && i < f->map.entries; i++)
		entry[i] = NL_UNMAPPED;
	return entry;
}

static size_t nl_chunk_bytes(const struct nl_vmap *m)
{
	return sizeof(struct nl_chunk) + (m->max ? BITS_TO_LONGS(m->entries) : 0) * sizeof(long);
}

/* The chunk, which is made if there is none. NULL: no memory. */
static struct nl_chunk *nl_map_make_chunk(struct nl_nw *f, u32 n)
{
	struct nl_vmap *m = &f->map;
	struct nl_chunk ***leaf = &m->dir[n / NL_LEAF], **chunk;

	if (!*leaf) {
		*leaf = kcalloc(NL_LEAF, sizeof(**leaf), nl_map_gfp(f));
		if (!*leaf)
			return NULL;
		m->leaves++;
	}
	chunk = &(*leaf)[n % NL_LEAF];
	if (*chunk)
		return *chunk;
	*chunk = kzalloc(nl_chunk_bytes(m), nl_map_gfp(f));
	if (!*chunk)
		return NULL;
	(*chunk)->n = n;
	(*chunk)->ppn = NL_UNMAPPED;
	m->chunks++;
	return *chunk;
}

void nl_map_forget_chunk(struct nl_vmap *m, struct nl_chunk *chunk)
{
	m->dir[chunk->n / NL_LEAF][chunk->n % NL_LEAF] = NULL;
	m->chunks--;
	kfree(chunk);
}

static struct list_head *nl_map_list(struct nl_vmap *m, const struct nl_chunk *chunk)
{
	return nl_chunk_is_dirty(chunk) ? &m->changed : &m->clean;
}

static void nl_map_install(struct nl_vmap *m, struct nl_chunk *chunk, u32 *entry)
{
	chunk->entry = entry;
	m->resident++;
	m->most = max(m->most, m->resident);
	if (!m->max)
		return;
	m->dirty += nl_chunk_is_dirty(chunk);
	list_add_tail(&chunk->lru, nl_map_list(m, chunk));
}

static int nl_map_fetch(struct nl_nw *f, const struct nl_chunk *chunk, u32 *entry, u64 *when)
{
	struct nl_rec rec;
	struct nl_buf *buf;
	const __le32 *from;
	u32 i;
	int r = nl_nw_fetch(f, chunk->ppn, NL_FOR_META, when, &buf, &rec);

	if (r)
		return r;
	if (rec.type != NL_OOB_MAP || rec.lpn != chunk->n || !buf ||
	    nl_data_csum(&f->ftl, buf) != rec.data_csum) {
		nl_buf_put(buf);
		return -EIO;
	}
	from = nl_buf_data(buf);
	for (i = 0; i < f->map.entries; i++)
		entry[i] = le32_to_cpu(from[i]);
	nl_buf_put(buf);
	return 0;
}

/* Pages that are mapped and have no entry, nor will have one before they are written again. */
static u32 nl_map_lose(const struct nl_nw *f, const struct nl_chunk *chunk, u32 *entry)
{
	u32 i, lost = 0;

	for_each_set_bit(i, chunk->there, f->map.entries) {
		if (entry[i] != NL_UNMAPPED)
			continue;
		entry[i] = NL_LOST;
		lost++;
	}
	return lost;
}

/*
 * Out of the OOB of all that is live, in all planes at once. What can't be read is lost; the others
 * are not, nor is this looked for again.
 */
static int nl_map_rebuild(struct nl_nw *f, u32 n, u32 *entry, u64 *when)
{
	const struct nl_vmap *m = &f->map;
	u64 start = *when, at;
	struct nl_rec rec;
	u32 ppn;
	int r;

	for (ppn = 0; ppn < m->entries; ppn++)
		entry[ppn] = NL_UNMAPPED;
	for_each_set_bit(ppn, f->ftl.blocks.live, f->ftl.geo->nr_pages) {
		at = start;
		r = nl_nw_fetch(f, ppn, NL_FOR_META, &at, NULL, &rec);
		if (r && r != -EIO)
			return r;
		*when = max(*when, at);
		if (!r && rec.type == NL_OOB_DATA && nl_map_of(m, rec.lpn) == n)
			entry[rec.lpn % m->entries] = ppn;
	}
	return 0;
}

static int nl_map_load(struct nl_nw *f, struct nl_chunk *chunk, u64 *when)
{
	struct nl_vmap *m = &f->map;
	u32 *entry = nl_map_alloc(f), lost;
	bool rebuilt;
	int r;

	if (!entry)
		return -ENOMEM;
	r = nl_map_fetch(f, chunk, entry, when);
	rebuilt = r == -EIO;
	if (rebuilt)
		r = nl_map_rebuild(f, chunk->n, entry, when);
	if (r) {
		kfree(entry);
		return r;
	}
	nl_map_install(m, chunk, entry);
	m->in++;
	if (!rebuilt)
		return 0;
	lost = nl_map_lose(f, chunk, entry);
	m->rebuilt++;
	m->lost += lost;
	m->untold |= lost;
	nl_map_dirty(f, chunk);
	return 0;
}

/**
 * nl_map_need - have a chunk in memory
 * @f: the FTL
 * @lpn: a logical page of it
 * @when: in: not to begin before, out: when it is there, ns
 *
 * Return: 0; -ENOMEM; -ESHUTDOWN.
 */
int nl_map_need(struct nl_nw *f, u32 lpn, u64 *when)
{
	struct nl_vmap *m = &f->map;
	struct nl_chunk *chunk = nl_map_chunk(m, nl_map_of(m, lpn));
	u32 *entry;

	if (nl_chunk_is_in_memory(chunk)) {
		m->hits++;
		if (m->max)
			list_move_tail(&chunk->lru, nl_map_list(m, chunk));
		return 0;
	}
	m->misses++;
	if (chunk && chunk->ppn != NL_UNMAPPED)
		return nl_map_load(f, chunk, when);
	entry = nl_map_alloc(f);
	chunk = entry ? nl_map_make_chunk(f, nl_map_of(m, lpn)) : NULL;
	if (!chunk) {
		kfree(entry);
		return -ENOMEM;
	}
	nl_map_install(m, chunk, entry);
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

int nl_map_export(struct nl_ftl *ftl, __le32 *to, u64 *when)
{
	struct nl_nw *f = nl_nw(ftl);
	const struct nl_vmap *m = &f->map;
	u32 n, lpn, first, *copy = nl_map_alloc(f), *entry;
	const struct nl_chunk *chunk;
	int r = copy ? 0 : -ENOMEM;

	for (n = 0; n < m->nr && !r; n++) {
		first = n * m->entries;
		chunk = nl_map_chunk(m, n);
		entry = chunk ? chunk->entry : NULL;
		if (!entry && chunk && chunk->ppn != NL_UNMAPPED) {
			entry = copy;
			r = nl_map_fetch(f, chunk, copy, when);
			if (r == -EIO)
				r = nl_map_rebuild(f, n, copy, when);
			if (!r && nl_map_lose(f, chunk, copy))
				r = -EIO;
		}
		for (lpn = first; lpn < nl_map_end(&f->ftl, &f->map, n); lpn++)
			to[lpn] = cpu_to_le32(entry ? entry[lpn - first] : NL_UNMAPPED);
	}
	kfree(copy);
	return r;
}

u32 nl_map_peek_flash(const struct nl_nw *f, u32 lpn)
{
	const struct nl_chunk *chunk = nl_map_chunk(&f->map, nl_map_of(&f->map, lpn));
	u32 ppn = chunk ? chunk->ppn : NL_UNMAPPED;
	const struct nl_held *held;
	struct nl_buf *buf;

	if (ppn == NL_UNMAPPED)
		return NL_UNMAPPED;
	held = nl_nw_held(f, ppn);
	if (!held && !nl_flash_peek(f->ftl.flash, ppn))
		return NL_UNMAPPED;
	buf = held ? held->buf : f->ftl.flash->data[ppn];
	return buf ? le32_to_cpu(((__le32 *)nl_buf_data(buf))[lpn % f->map.entries]) : NL_UNMAPPED;
}

u32 nl_map_peek(const struct nl_nw *f, u32 lpn)
{
	if (f->map.max &&
	    !nl_chunk_is_in_memory(nl_map_chunk(&f->map, nl_map_of(&f->map, lpn))))
		return nl_map_peek_flash(f, lpn);
	return nl_map_get(f, lpn);
}

static u32 nl_map_leaves(const struct nl_vmap *m)
{
	return DIV_ROUND_UP(m->nr, NL_LEAF);
}

u64 nl_map_memory(const struct nl_nw *f)
{
	const struct nl_vmap *m = &f->map;

	return (u64)m->resident * m->entries * sizeof(u32) + m->chunks * nl_chunk_bytes(m) +
	       (u64)m->leaves * NL_LEAF * sizeof(**m->dir) + nl_map_leaves(m) * sizeof(*m->dir);
}

void nl_map_stat(const struct nl_nw *f, struct nl_ftl_stat *stat)
{
	const struct nl_vmap *m = &f->map;

	stat->map_bytes[NL_MAP_PAGE] = nl_map_memory(f);
	stat->map_chunks = m->nr;
	stat->map_max = m->max;
	stat->map_resident = m->resident;
	stat->map_dirty = m->dirty;
	stat->map_most = m->most;
	stat->map_hits = m->hits;
	stat->map_misses = m->misses;
	stat->map_in = m->in;
	stat->map_out = m->out;
	stat->map_rebuilt = m->rebuilt;
	stat->map_lost = m->lost;
}

/* As many chunks as the cache holds, or all; and the directory, which is empty. */
int nl_map_init(struct nl_nw *f)
{
	const struct nl_config *config = &f->ftl.config;
	u64 bytes = config->p[NL_P_MAP_CACHE];
	struct nl_vmap *m = &f->map;

	INIT_LIST_HEAD(&m->clean);
	INIT_LIST_HEAD(&m->changed);
	m->entries = bytes ? nl_map_entries(f->ftl.geo, config) : NL_PIECE;
	m->nr = DIV_ROUND_UP(f->ftl.logical_pages, m->entries);
	if (bytes && bytes < m->entries * sizeof(u32))
		return -EINVAL;
	m->max = bytes ? min_t(u64, div_u64(bytes, m->entries * sizeof(u32)), m->nr) : 0;
	m->dir = kvcalloc(nl_map_leaves(m), sizeof(*m->dir), NL_GFP_IO);
	return m->dir ? 0 : -ENOMEM;
}

void nl_map_destroy(struct nl_nw *f)
{
	struct nl_vmap *m = &f->map;
	struct nl_chunk *chunk;
	u32 n;

	for (n = 0; m->dir && n < m->nr; n++) {
		chunk = nl_map_chunk(m, n);
		if (chunk)
			kfree(chunk->entry);
		kfree(chunk);
	}
	for (n = 0; m->dir && n < nl_map_leaves(m); n++)
		kfree(m->dir[n]);
	kvfree(m->dir);
}
