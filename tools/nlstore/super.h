/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which catalogue counts: superblocks, and the halves of the virtual segment, without a word about
 * what is in a catalogue. Functions that return int return 0 or a negative error number.
 */
#ifndef NLSTORE_SUPER_H
#define NLSTORE_SUPER_H

#include "store.h"

#define SUPER_FIRST	2u		/* block behind the superblocks */
#define SUPER_SERIALS	(1ULL << 63)	/* no store comes that far */

/* Blocks that so many bytes take. */
uint64_t super_blocks(const struct ns_store *store, uint64_t bytes);
/* Blocks of one half: so long a catalogue may be. */
uint64_t super_half(const struct ns_store *store);
/* The superblock that counts. -ENODATA, -EPROTONOSUPPORT, -EUCLEAN */
int super_find(struct ns_store *store, struct ns_super *super);
/* Steps 2 to 5: the next generation counts. The store is broken while that is open. */
int super_put(struct ns_store *store, const void *data, size_t bytes);
void super_trim(struct ns_store *store);
int super_flush(struct ns_store *store);
int super_is_vacant(struct ns_store *store, bool *vacant);
int super_erase(struct ns_store *store);

#endif
