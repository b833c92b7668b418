/* SPDX-License-Identifier: GPL-2.0-only */
/* In which order a range becomes a device and grows (order.c). Pure: what is done, others do. */
#ifndef MEM2M_ORDER_H
#define MEM2M_ORDER_H

#include "label.h"

/**
 * struct m2_means - what a range is written by
 * @write: the label as it is now, both copies; 0 once the one that counts is durable
 * @zero: a part of the range, in bytes from its start; durable once it is settled
 * @settle: makes what was zeroed durable
 * @ctx: for these
 *
 * Each returns 0 or a negative error number, and may sleep.
 */
struct m2_means {
	int (*write)(void *ctx);
	int (*zero)(void *ctx, u64 from, u64 to);
	int (*settle)(void *ctx);
	void *ctx;
};

int m2_order_head(const struct m2_means *by, const struct m2_label_info *label);
int m2_order_data(const struct m2_means *by, struct m2_label_info *label);
int m2_order_resize(const struct m2_means *by, struct m2_label_info *label, u64 bytes);

#endif
