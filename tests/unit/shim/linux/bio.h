/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of a bio as a transfer looks at, vectors in one array, all of it to be done; and lists of them. */
#ifndef EVENKEEL_SHIM_BIO_H
#define EVENKEEL_SHIM_BIO_H

#include "../shim.h"

#define SECTOR_SHIFT	9
#define SECTOR_SIZE	512
#define REQ_FUA		(1u << 17)
#define REQ_PREFLUSH	(1u << 18)

enum { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD, REQ_OP_SECURE_ERASE,
       REQ_OP_WRITE_ZEROES = 9 };
enum { BLK_STS_OK, BLK_STS_NOTSUPP, BLK_STS_IOERR = 10 };

typedef u8 blk_status_t;
typedef u64 sector_t;

struct bio_vec {
	void *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};

struct bio {
	struct bio *bi_next;
	unsigned int bi_opf;
	blk_status_t bi_status;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
	unsigned int bi_vcnt;
};

#define bio_op(b)		((b)->bi_opf & 0xff)
#define bvec_virt(v)		((char *)(v)->bv_page + (v)->bv_offset)
#define flush_dcache_page(p)	((void)(p))
#define bio_for_each_bvec(v, b, i)						\
	for ((i) = (b)->bi_iter; (i).bi_size &&					\
	     ((v) = mp_bvec_iter_bvec((b)->bi_io_vec, (i)), true);		\
	     bvec_iter_advance_single((b)->bi_io_vec, &(i), (v).bv_len))

struct bio_list {
	struct bio *head;
	struct bio *tail;
};

#define bio_list_for_each(b, l)	for ((b) = (l)->head; (b); (b) = (b)->bi_next)

static inline void bio_list_add(struct bio_list *list, struct bio *bio)
{
	bio->bi_next = NULL;
	if (list->tail)
		list->tail->bi_next = bio;
	else
		list->head = bio;
	list->tail = bio;
}

static inline struct bio *bio_list_pop(struct bio_list *list)
{
	struct bio *bio = list->head;

	if (!bio)
		return NULL;
	list->head = bio->bi_next;
	if (!list->head)
		list->tail = NULL;
	bio->bi_next = NULL;
	return bio;
}

static inline blk_status_t errno_to_blk_status(int err)
{
	return err ? BLK_STS_IOERR : BLK_STS_OK;
}

void bio_endio(struct bio *bio);	/* the test's */

/* The rest of the vector at the iterator. */
static inline struct bio_vec mp_bvec_iter_bvec(const struct bio_vec *vec, struct bvec_iter iter)
{
	unsigned int left = vec[iter.bi_idx].bv_len - iter.bi_bvec_done;

	return (struct bio_vec){
		.bv_page = vec[iter.bi_idx].bv_page,
		.bv_len = left < iter.bi_size ? left : iter.bi_size,
		.bv_offset = vec[iter.bi_idx].bv_offset + iter.bi_bvec_done,
	};
}

/* Within one vector, or to its end. */
static inline void bvec_iter_advance_single(const struct bio_vec *vec, struct bvec_iter *iter,
					    unsigned int bytes)
{
	iter->bi_size -= bytes;
	iter->bi_bvec_done += bytes;
	if (iter->bi_bvec_done == vec[iter->bi_idx].bv_len) {
		iter->bi_bvec_done = 0;
		iter->bi_idx++;
	}
}

#endif
