/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio against a store, inline and complete but for its end; pure but for the bio. */
#ifndef MEM2M_TRANSFER_H
#define MEM2M_TRANSFER_H

#include <linux/bio.h>

#include "store.h"

bool m2_transfer_lasting(struct bio *bio, void *at);
blk_status_t m2_transfer(const struct m2_store *store, struct bio *bio, u64 *bad);

/* --- the common case: inline, as calls would cost as much as all of it ----------------------- */

static __always_inline bool m2_read_ram(void *buf, void *at, size_t len)
{
	m2_copy(buf, at, len);
	return true;
}

static __always_inline bool m2_write_ram(void *buf, void *at, size_t len)
{
	m2_copy(at, buf, len);
	return true;
}

static __always_inline bool m2_each(struct bio *bio, void *at,
				    bool (*copy)(void *buf, void *at, size_t len))
{
	struct bvec_iter iter;
	struct bio_vec bvec;

	bio_for_each_bvec(bvec, bio, iter) {
		if (unlikely(!copy(bvec_virt(&bvec), at, bvec.bv_len)))
			return false;
		flush_dcache_page(bvec.bv_page);
		at += bvec.bv_len;
	}
	return true;
}

/**
 * m2_transfer_plain - do a read or write for which nothing is in the way
 * @store: the memory
 * @bio: as for m2_transfer(); not ended here
 *
 * Within one unit, and with nothing to be flushed before: without this, finding out what else there
 * might be to do costs more than all the rest but the copy.
 * Context: process context.
 * Return: true: it is done; false: it is for m2_transfer(), whatever was done of it.
 */
static __always_inline bool m2_transfer_plain(const struct m2_store *store, struct bio *bio)
{
	u64 offset = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	size_t len = bio->bi_iter.bi_size, whole = len;
	void *at;

	if (unlikely(!len || offset >= store->bytes || len > store->bytes - offset ||
		     bio->bi_opf & REQ_PREFLUSH))
		return false;
	at = m2_store_addr(store, offset, &whole);
	if (unlikely(whole != len))
		return false;
	if (unlikely(bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE))
		return false;
	if (store->persistent)
		return m2_transfer_lasting(bio, at);
	return bio_op(bio) == REQ_OP_READ ? m2_each(bio, at, m2_read_ram) :
					    m2_each(bio, at, m2_write_ram);
}

#endif
