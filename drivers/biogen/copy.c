// SPDX-License-Identifier: GPL-2.0-only
/* What a device of memory can't do without: making a bio, and copying its bytes. */
#include <linux/libnvdimm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "biogen.h"

static void gen_copy_words(void *dst, const void *src, size_t len)
{
	size_t words = len / 8;

	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (words) : : "memory");
}

static void gen_copy_memcpy(void *dst, const void *src, size_t len)
{
	/* The function, whatever the compiler would make of a call that it sees. */
	void *(*function)(void *to, const void *from, size_t n) = memcpy;

	OPTIMIZER_HIDE_VAR(function);
	function(dst, src, len);
}

/* The bare instruction, past scm.c: what it takes is measured, and nothing of it has to last. */
static void gen_copy_nt(void *dst, const void *src, size_t len)
{
	memcpy_flushcache(dst, src, len);
}

static void gen_copy_mc(void *dst, const void *src, size_t len)
{
	if (copy_mc_to_kernel(dst, src, len))
		pr_err_once("biogen: bad memory\n");
}

static __always_inline void gen_copy(struct gen_job *job, struct bio *bio,
				     void (*copy)(void *dst, const void *src, size_t len))
{
	void *memory = job->memory + ((u64)bio->bi_iter.bi_sector << SECTOR_SHIFT);
	struct bvec_iter iter;
	struct bio_vec bvec;

	bio_for_each_bvec(bvec, bio, iter) {
		if (op_is_write(bio_op(bio)))
			copy(memory, bvec_virt(&bvec), bvec.bv_len);
		else
			copy(bvec_virt(&bvec), memory, bvec.bv_len);
		memory += bvec.bv_len;
	}
	gen_done(bio);
}

static void gen_submit_words(struct gen_job *job, struct bio *bio)
{
	gen_copy(job, bio, gen_copy_words);
}

static void gen_submit_memcpy(struct gen_job *job, struct bio *bio)
{
	gen_copy(job, bio, gen_copy_memcpy);
}

static void gen_submit_nt(struct gen_job *job, struct bio *bio)
{
	gen_copy(job, bio, gen_copy_nt);
}

static void gen_submit_mc(struct gen_job *job, struct bio *bio)
{
	gen_copy(job, bio, gen_copy_mc);
}

static void gen_submit_nothing(struct gen_job *job, struct bio *bio)
{
	gen_done(bio);
}

const struct gen_way gen_copies[] = {
	{ .name = "nothing", .submit = gen_submit_nothing },
	{ .name = "words", .submit = gen_submit_words },
	{ .name = "memcpy", .submit = gen_submit_memcpy },
	{ .name = "nt", .submit = gen_submit_nt },
	{ .name = "mc", .submit = gen_submit_mc },
	{ .name = NULL },
};
