/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio against a store, inline and complete but for its end; pure but for the bio. */
#ifndef MEM2M_TRANSFER_H
#define MEM2M_TRANSFER_H

#include <linux/bio.h>

#include "store.h"

blk_status_t m2_transfer(const struct m2_store *store, struct bio *bio, u64 *bad);

#endif
