/* SPDX-License-Identifier: GPL-2.0-only */
/* Bios that flush, over a device that has to flush as well (flush.c). Pure: others do both. */
#ifndef MEM2M_FLUSH_H
#define MEM2M_FLUSH_H

#include <linux/bio.h>
#include <linux/blkdev.h>

/**
 * struct m2_beneath - what is beneath a device that flushes
 * @flush: all that was stored there and fenced is durable; 0 or a negative error number
 * @transfer: does what a bio is about but for flushing; returns its status
 * @ctx: for these
 *
 * Both may sleep.
 */
struct m2_beneath {
	int (*flush)(void *ctx);
	blk_status_t (*transfer)(void *ctx, struct bio *bio);
	void *ctx;
};

void m2_flush_joined(const struct m2_beneath *beneath, struct bio_list *bios);

#endif
