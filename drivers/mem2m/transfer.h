/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio against a store, inline and complete but for its end; pure but for the bio. */
#ifndef MEM2M_TRANSFER_H
#define MEM2M_TRANSFER_H

#include <linux/bio.h>

#include "store.h"

void m2_transfer_vectors(struct bio *bio, void *at);
bool m2_transfer_lasting(struct bio *bio, void *at);
blk_status_t m2_transfer(const struct m2_store *store, struct bio *bio, u64 *bad);

/* --- the common case: inline, as calls would cost as much as all of it ----------------------- */

/* A bio of one vector, as most are: without a loop, and the registers that a loop needs. */
static __always_inline bool m2_transfer_ram(struct bio *bio, void *at, size_t len)
{
	struct bio_vec *vec = bio->bi_io_vec + bio->bi_iter.bi_idx;
	unsigned int done = bio->bi_iter.bi_bvec_done;

	if (unlikely(vec->bv_len - done < len)) {
		m2_transfer_vectors(bio, at);
		return true;
	}
	if (bio_op(bio) == REQ_OP_WRITE) {
		m2_copy(at, bvec_virt(vec) + done, len);
		return true;
	}
	m2_copy(bvec_virt(vec) + done, at, len);
	flush_dcache_page(vec->bv_page);
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
	return m2_transfer_ram(bio, at, len);
}

#endif
