/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of a bio as a transfer looks at: vectors in one array, all of it to be done. */
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
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
};

struct bio {
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
	unsigned int bi_vcnt;
};

#define bio_op(b)		((b)->bi_opf & 0xff)
#define bvec_virt(v)		((v)->bv_page)
#define flush_dcache_page(p)	((void)(p))
#define bio_for_each_bvec(v, b, i)						\
	for ((i).bi_idx = 0; (i).bi_idx < (b)->bi_vcnt &&			\
	     ((v) = (b)->bi_io_vec[(i).bi_idx], true); (i).bi_idx++)

#endif
