/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BIOGEN_NAMES_TABLE_H
#define BIOGEN_NAMES_TABLE_H

#include <linux/blk_types.h>
#include <linux/types.h>

#define GEN_NO_NAME	(~0u)
#define GEN_POINTERS	(PAGE_SIZE / sizeof(u32))	/* in a block of them */

/**
 * struct gen_table - what a file system's indirect blocks are: where the blocks of a file are
 * @device: that it is of
 * @pointer: address of each block and one, as what was never written reads as 0; 0: it has none
 * @nr: of these
 * @nr_blocks: that they take
 * @dirty: of these, those which are to be written
 * @moved: of these, those which are to be written because blocks migrated
 * @bio: as many as there may be under way, one for each block
 * @vec: theirs
 *
 * Block n is page n of the device's virtual segment.
 */
struct gen_table {
	char device[64];
	u32 *pointer;
	u32 nr;
	u32 nr_blocks;
	unsigned long *dirty;
	unsigned long *moved;
	struct bio *bio;
	struct bio_vec *vec;
};

/* GEN_NO_NAME if there is none. */
static inline u32 gen_table_get(const struct gen_table *table, u32 place)
{
	return table->pointer[place] - 1;
}

int gen_table_make(struct gen_table *table, const char *device, u32 nr);
void gen_table_drop(struct gen_table *table);
void gen_table_set(struct gen_table *table, u32 place, u32 ppn);
void gen_table_move(struct gen_table *table, u32 place, u32 ppn);
int gen_table_write(struct gen_table *table, unsigned long *which, struct block_device *bdev,
		    u32 *written);
int gen_table_read(struct gen_table *table, struct block_device *bdev);

#endif
