/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual segment's map: in chunks, whole in memory or, with NL_P_MAP_CACHE, as many chunks as
 * that holds and the others in the flash (zhang-2013 4.2.1). ftl_nameless_map.c says how.
 */
#ifndef NAMELESS_FTL_NAMELESS_MAP_H
#define NAMELESS_FTL_NAMELESS_MAP_H

#include <linux/list.h>
#include "ftl_internal.h"

#define NL_PIECE	1024u	/* entries of a chunk of a map that is whole in memory */
#define NL_LOST		(NL_UNMAPPED - 1)	/* of an entry: mapped, and nobody knows where */

struct nl_nw;

#define NL_LEAF		512u	/* chunks that a piece of the directory has */

/**
 * struct nl_chunk - entries of consecutive logical pages, of which one is mapped, or was
 * @n: which
 * @entry: NULL: not in memory
 * @lru: in one of the lists of those in memory; with a cache only, as all that follows
 * @ppn: flash page that says the same as the map does; NL_UNMAPPED: none
 * @changed: since a program of it began
 * @there: bit per entry: it is mapped. What asks for no more needs no entries
 */
struct nl_chunk {
	u32 n;
	u32 ppn;
	u32 *entry;
	struct list_head lru;
	bool changed;
	unsigned long there[];
};

/**
 * struct nl_vmap - the virtual segment's map
 * @nr: chunks that there may be
 * @entries: of a chunk
 * @dir: the directory: NL_LEAF chunks each, NULL where there is none
 * @leaves: pieces of it that there are
 * @chunks: that there are
 * @max: chunks that may be in memory; 0: all, and all that follows is not used
 * @clean: chunks in memory that the flash has, too, the one that was not used for longest first
 * @changed: those that it has not, likewise
 * @crowded: a read found no clean one to drop since half of the cache may be dirty
 * @resident: chunks in memory
 * @dirty: of them not as in the flash
 * @most: were in memory at once
 * @hits: times that a chunk was wanted and in memory
 * @misses: and was not
 * @in: chunks read from the flash
 * @out: and written to it
 * @rebuilt: chunks that could not be read, out of OOB
 * @lost: pages that OOB did not have either. What they were in stays live
 * @untold: no flush has failed for the last of these
 */
struct nl_vmap {
	u32 nr;
	u32 entries;
	struct nl_chunk ***dir;
	u32 leaves;
	u32 chunks;
	u32 max;
	struct list_head clean, changed;
	bool crowded;
	u32 resident, dirty, most;
	u64 hits, misses, in, out, rebuilt, lost;
	bool untold;
};

/* fit.c: entries of a chunk and chunks of a map that is swapped. */
u32 nl_map_entries(const struct nl_geometry *geo, const struct nl_config *config);
u32 nl_map_chunks(const struct nl_geometry *geo, const struct nl_config *config,
		  u32 logical_pages);

/* 0, -ENOMEM, -EINVAL for a cache that holds no chunk. */
int nl_map_init(struct nl_nw *f);
void nl_map_destroy(struct nl_nw *f);
/* Bytes of it as they are in memory. */
u64 nl_map_memory(const struct nl_nw *f);
void nl_map_stat(const struct nl_nw *f, struct nl_ftl_stat *stat);

/* Is a page mapped?  Needs no chunk. */
bool nl_map_has(const struct nl_nw *f, u32 lpn);
/* Have a page's chunk in memory. It stays there until one of the functions that shrink. */
int nl_map_need(struct nl_nw *f, u32 lpn, u64 *when);
/* Where a page is, whose chunk is in memory. */
u32 nl_map_get(const struct nl_nw *f, u32 lpn);
/* It is somewhere else, or with NL_UNMAPPED nowhere. */
void nl_map_set(struct nl_nw *f, u32 lpn, u32 ppn);

/* These shrink: what is in memory is so no more, and what was changed goes into the flash. */
int nl_map_shrink(struct nl_nw *f, u64 *when);
int nl_map_need_for_write(struct nl_nw *f, u32 lpn, u64 *when);
int nl_map_need_trimmed(struct nl_ftl *ftl, u32 lpn, u32 end, u64 *when);
/* 1 if there was something to do. */
int nl_map_idle(struct nl_nw *f, u64 *when);
/* This one only drops what need not be written. */
int nl_map_need_for_read(struct nl_ftl *ftl, u32 lpn, u64 *when);

/* A map that is whole in memory is not to pay for the others with divisions. */
static inline u32 nl_map_of(const struct nl_vmap *m, u32 lpn)
{
	return m->max ? lpn / m->entries : lpn / NL_PIECE;
}

static inline u32 nl_map_in(const struct nl_vmap *m, u32 lpn)
{
	return m->max ? lpn % m->entries : lpn % NL_PIECE;
}

/* Logical page behind the last one of a chunk. */
static inline u32 nl_map_end(const struct nl_ftl *ftl, const struct nl_vmap *m, u32 n)
{
	return min_t(u64, (u64)(n + 1) * m->entries, ftl->logical_pages);
}

/* NULL: nothing in it is mapped. */
static inline struct nl_chunk *nl_map_chunk(const struct nl_vmap *m, u32 n)
{
	struct nl_chunk **leaf = m->dir[n / NL_LEAF];

	return leaf ? leaf[n % NL_LEAF] : NULL;
}

static inline bool nl_chunk_is_in_memory(const struct nl_chunk *chunk)
{
	return chunk && chunk->entry;
}

/* With a cache only: all are without. */
static inline bool nl_chunk_is_dirty(const struct nl_chunk *chunk)
{
	return nl_chunk_is_in_memory(chunk) && chunk->ppn == NL_UNMAPPED;
}

/* Is this flash page the chunk's? */
static inline bool nl_map_is_at(const struct nl_vmap *m, u32 n, u32 ppn)
{
	const struct nl_chunk *chunk = m->max ? nl_map_chunk(m, n) : NULL;

	return chunk && chunk->ppn == ppn;
}

/* It was moved. */
static inline void nl_map_moved(struct nl_vmap *m, u32 n, u32 ppn)
{
	nl_map_chunk(m, n)->ppn = ppn;
}

/* Nothing is mapped in it. It is not in memory: give it back. */
void nl_map_forget_chunk(struct nl_vmap *m, struct nl_chunk *chunk);

/* All of it, for a checkpoint; nothing is swapped for that. */
int nl_map_export(struct nl_ftl *ftl, __le32 *to, u64 *when);
/* For checks, without an operation: where a page is, and where a chunk's flash page says it is. */
u32 nl_map_peek(const struct nl_nw *f, u32 lpn);
u32 nl_map_peek_flash(const struct nl_nw *f, u32 lpn);

#endif
