/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_MARKS_H
#define NAMELESS_MARKS_H

/*
 * A bitmap of which few bits are set, of a device's many pages: what is set is found, and cleared,
 * in a time by how much that is, and not by how large the device is.
 */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "buf.h"

#define NL_MARKS_CHUNK 4096U

/**
 * struct nl_marks - the bitmap
 * @bit: it
 * @some: bit per NL_MARKS_CHUNK of @bit: one of these is set, or was
 * @bits: that there are
 * @nr: of them set
 */
struct nl_marks {
	unsigned long *bit;
	unsigned long *some;
	u32 bits;
	u32 nr;
};

static inline void nl_marks_free(struct nl_marks *m)
{
	kvfree(m->bit);
	kvfree(m->some);
}

static inline u32 nl_marks_chunks(const struct nl_marks *m)
{
	return DIV_ROUND_UP(m->bits, NL_MARKS_CHUNK);
}

/* None is set. -ENOMEM: nl_marks_free() is due all the same. */
static inline int nl_marks_init(struct nl_marks *m, u32 bits)
{
	m->bits = bits;
	m->nr = 0;
	m->bit = kvcalloc(BITS_TO_LONGS(bits), sizeof(long), NL_GFP_IO);
	m->some = kvcalloc(BITS_TO_LONGS(nl_marks_chunks(m)), sizeof(long), NL_GFP_IO);
	return m->bit && m->some ? 0 : -ENOMEM;
}

static inline bool nl_marks_has(const struct nl_marks *m, u32 i)
{
	return test_bit(i, m->bit);
}

static inline void nl_marks_set(struct nl_marks *m, u32 i)
{
	if (nl_marks_has(m, i))
		return;
	__set_bit(i, m->bit);
	__set_bit(i / NL_MARKS_CHUNK, m->some);
	m->nr++;
}

static inline void nl_marks_unset(struct nl_marks *m, u32 i)
{
	__clear_bit(i, m->bit);
	m->nr--;
}

/* The first that is set from @i on; @m->bits: there is none. */
static inline u32 nl_marks_next(const struct nl_marks *m, u32 i)
{
	u32 chunks = nl_marks_chunks(m), chunk = i / NL_MARKS_CHUNK, end;

	while ((chunk = find_next_bit(m->some, chunks, chunk)) < chunks) {
		end = min(m->bits, (chunk + 1) * NL_MARKS_CHUNK);
		i = find_next_bit(m->bit, end, max(i, chunk * NL_MARKS_CHUNK));
		if (i < end)
			return i;
		chunk++;
	}
	return m->bits;
}

static inline void nl_marks_clear(struct nl_marks *m)
{
	u32 chunks = nl_marks_chunks(m), chunk, from;

	for_each_set_bit(chunk, m->some, chunks) {
		from = chunk * NL_MARKS_CHUNK;
		bitmap_clear(m->bit, from, min(NL_MARKS_CHUNK, m->bits - from));
	}
	bitmap_zero(m->some, chunks);
	m->nr = 0;
}

#endif
