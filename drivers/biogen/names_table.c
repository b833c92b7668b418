// SPDX-License-Identifier: GPL-2.0-only
/* Pointers to blocks without names, in blocks of the virtual segment. */
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "names_table.h"

/**
 * gen_table_drop - forget it
 * @table: maybe made
 *
 * Context: process context.
 */
void gen_table_drop(struct gen_table *table)
{
	vfree(table->pointer);
	kvfree(table->dirty);
	kvfree(table->moved);
	kvfree(table->bio);
	kvfree(table->vec);
	memset(table, 0, sizeof(*table));
}

/**
 * gen_table_make - make one without names
 * @table: result; dropped if it was made
 * @device: that it is of
 * @nr: names that there may be
 *
 * Context: process context; sleeps.
 * Return: 0, -ENOMEM.
 */
int gen_table_make(struct gen_table *table, const char *device, u32 nr)
{
	gen_table_drop(table);
	table->nr_blocks = DIV_ROUND_UP(nr, GEN_POINTERS);
	table->nr = nr;
	table->pointer = vzalloc(table->nr_blocks * PAGE_SIZE);
	table->dirty = kvcalloc(BITS_TO_LONGS(table->nr_blocks), sizeof(long), GFP_KERNEL);
	table->moved = kvcalloc(BITS_TO_LONGS(table->nr_blocks), sizeof(long), GFP_KERNEL);
	table->bio = kvcalloc(table->nr_blocks, sizeof(*table->bio), GFP_KERNEL);
	table->vec = kvcalloc(table->nr_blocks, sizeof(*table->vec), GFP_KERNEL);
	if (!table->pointer || !table->dirty || !table->moved || !table->bio || !table->vec) {
		gen_table_drop(table);
		return -ENOMEM;
	}
	strscpy(table->device, device, sizeof(table->device));
	return 0;
}

/**
 * gen_table_set - a block is elsewhere
 * @table: the table
 * @place: of the block in its file
 * @ppn: where
 *
 * Context: any.
 */
void gen_table_set(struct gen_table *table, u32 place, u32 ppn)
{
	table->pointer[place] = ppn + 1;
	__set_bit(place / GEN_POINTERS, table->dirty);
}

/**
 * gen_table_move - a block is elsewhere because it migrated
 * @table: the table
 * @place: of the block in its file
 * @ppn: where
 *
 * Context: any.
 */
void gen_table_move(struct gen_table *table, u32 place, u32 ppn)
{
	gen_table_set(table, place, ppn);
	__set_bit(place / GEN_POINTERS, table->moved);
}

struct gen_wait {
	atomic_t left;
	atomic_t failed;
	struct completion done;
};

static void gen_wait_put(struct gen_wait *wait)
{
	if (atomic_dec_and_test(&wait->left))
		complete(&wait->done);
}

static void gen_table_end(struct bio *bio)
{
	struct gen_wait *wait = bio->bi_private;

	if (bio->bi_status)
		atomic_inc(&wait->failed);
	gen_wait_put(wait);
}

static void gen_table_submit(struct gen_table *table, struct block_device *bdev, u32 n,
			     blk_opf_t op, struct gen_wait *wait)
{
	struct bio *bio = &table->bio[n];

	bio_init(bio, bdev, &table->vec[n], 1, op);
	bio->bi_iter.bi_sector = (sector_t)n * (PAGE_SIZE / SECTOR_SIZE);
	bio->bi_private = wait;
	bio->bi_end_io = gen_table_end;
	__bio_add_page(bio, vmalloc_to_page(table->pointer + n * GEN_POINTERS), PAGE_SIZE, 0);
	atomic_inc(&wait->left);
	submit_bio(bio);
}

/* Read or write @which of them, side by side. They are clean then, and none of @which is left. */
static int gen_table_io(struct gen_table *table, unsigned long *which, struct block_device *bdev,
			blk_opf_t op)
{
	struct gen_wait wait = { .left = ATOMIC_INIT(1) };
	u32 n;

	init_completion(&wait.done);
	for_each_set_bit(n, which, table->nr_blocks)
		gen_table_submit(table, bdev, n, op, &wait);
	gen_wait_put(&wait);
	wait_for_completion(&wait.done);
	for_each_set_bit(n, which, table->nr_blocks)
		bio_uninit(&table->bio[n]);
	bitmap_andnot(table->dirty, table->dirty, which, table->nr_blocks);
	bitmap_zero(which, table->nr_blocks);
	return atomic_read(&wait.failed) ? -EIO : 0;
}

/**
 * gen_table_write - write what changed
 * @table: the table; nobody changes it meanwhile
 * @which: its @dirty or @moved
 * @bdev: the device's virtual segment
 * @written: gets as many blocks more
 *
 * Context: process context; sleeps.
 * Return: 0, -EIO.
 */
int gen_table_write(struct gen_table *table, unsigned long *which, struct block_device *bdev,
		    u32 *written)
{
	*written += bitmap_weight(which, table->nr_blocks);
	return gen_table_io(table, which, bdev, REQ_OP_WRITE);
}

/**
 * gen_table_read - have it as it was written; what never was has no names
 * @table: the table
 * @bdev: the device's virtual segment
 *
 * Context: process context; sleeps.
 * Return: 0, -EIO.
 */
int gen_table_read(struct gen_table *table, struct block_device *bdev)
{
	bitmap_fill(table->dirty, table->nr_blocks);
	return gen_table_io(table, table->dirty, bdev, REQ_OP_READ);
}
