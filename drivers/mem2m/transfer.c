// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/build_bug.h>
#include <linux/uaccess.h>
#include <evenkeel/scm.h>

#include "transfer.h"

/* Vectors of several pages are copied at once: without highmem all of it has addresses in a row. */
static_assert(!IS_ENABLED(CONFIG_HIGHMEM));

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

static __always_inline bool m2_read_lasting(void *buf, void *at, size_t len)
{
	return !copy_mc_to_kernel(buf, at, len);
}

static __always_inline bool m2_write_lasting(void *buf, void *at, size_t len)
{
	scm_copy_nt(at, buf, len);
	return true;
}

/* Most bios are of one vector: that there is no other is asked before anything is done about it. */
static __always_inline bool m2_each(struct bio *bio, void *at,
				    bool (*copy)(void *buf, void *at, size_t len))
{
	struct bvec_iter iter = bio->bi_iter;

	for (;;) {
		struct bio_vec bvec = mp_bvec_iter_bvec(bio->bi_io_vec, iter);

		if (unlikely(!copy(bvec_virt(&bvec), at, bvec.bv_len)))
			return false;
		flush_dcache_page(bvec.bv_page);
		if (likely(bvec.bv_len == iter.bi_size))
			return true;
		at += bvec.bv_len;
		bvec_iter_advance_single(bio->bi_io_vec, &iter, bvec.bv_len);
	}
}

/**
 * m2_transfer_vectors - a plain read or write of memory that does not last, of several vectors
 * @bio: REQ_OP_READ or REQ_OP_WRITE, without PREFLUSH
 * @at: the memory, all of which is there in one piece
 *
 * Context: process context.
 */
void m2_transfer_vectors(struct bio *bio, void *at)
{
	if (bio_op(bio) == REQ_OP_READ)
		m2_each(bio, at, m2_read_ram);
	else
		m2_each(bio, at, m2_write_ram);
}

/**
 * m2_transfer_lasting - a plain read or write of persistent memory
 * @bio: REQ_OP_READ or REQ_OP_WRITE, without PREFLUSH
 * @at: the memory, all of which is there in one piece
 *
 * Context: process context.
 * Return: false: the memory is bad.
 */
bool m2_transfer_lasting(struct bio *bio, void *at)
{
	if (bio_op(bio) == REQ_OP_READ)
		return m2_each(bio, at, m2_read_lasting);
	m2_each(bio, at, m2_write_lasting);
	scm_fence();
	return true;
}

static blk_status_t m2_read(const struct m2_store *store, struct bio *bio, u64 *offset)
{
	struct bvec_iter iter;
	struct bio_vec bvec;
	size_t left;

	bio_for_each_bvec(bvec, bio, iter) {
		left = m2_store_read(store, *offset, bvec_virt(&bvec), bvec.bv_len);
		*offset += bvec.bv_len - left;
		if (unlikely(left))
			return BLK_STS_IOERR;
		flush_dcache_page(bvec.bv_page);
	}
	return BLK_STS_OK;
}

static void m2_write(const struct m2_store *store, struct bio *bio, u64 offset)
{
	struct bvec_iter iter;
	struct bio_vec bvec;

	bio_for_each_bvec(bvec, bio, iter) {
		m2_store_write(store, offset, bvec_virt(&bvec), bvec.bv_len);
		offset += bvec.bv_len;
	}
}

/**
 * m2_transfer - do what a bio asks for, whatever it is
 * @store: the memory
 * @bio: its sector is the device's; not ended here
 * @bad: of a read that hit bad memory, the offset of what could not be read; changed by reads alone
 *
 * What is written lasts on return where the memory is persistent: a fence drains what its own
 * CPU wrote past the cache and nobody else's, so a FLUSH that comes on another CPU could not do
 * it, and what is read there could be older than what was told as written. What a FLUSH or
 * PREFLUSH is for are lines that file systems wrote back beneath -o dax. Where the memory isn't
 * persistent nothing lasts.
 * Context: process context.
 * Return: the bio's status.
 */
blk_status_t m2_transfer(const struct m2_store *store, struct bio *bio, u64 *bad)
{
	u64 offset = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	u64 len = bio->bi_iter.bi_size;

	if (unlikely(len && (offset >= store->bytes || len > store->bytes - offset)))
		return BLK_STS_IOERR;
	if (bio->bi_opf & REQ_PREFLUSH)
		m2_store_sync(store);
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		*bad = offset;
		return m2_read(store, bio, bad);
	case REQ_OP_WRITE:
		m2_write(store, bio, offset);
		break;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		m2_store_zero(store, offset, len);
		break;
	case REQ_OP_FLUSH:
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	m2_store_sync(store);
	return BLK_STS_OK;
}
