// SPDX-License-Identifier: GPL-2.0-only
/* A block device that only completes bios: what none through the block layer can be below. */
#include <linux/module.h>
#include <linux/sizes.h>
#include <compat/blkdev.h>

#include "biogen.h"

#define NULL_SECTORS	SZ_2M	/* a GiB */

static struct gendisk *gen_null;

static void gen_null_submit(struct bio *bio)
{
	bio_endio(bio);
}

static const struct block_device_operations gen_null_fops = {
	.owner = THIS_MODULE,
	.submit_bio = gen_null_submit,
};

int gen_null_init(void)
{
	struct queue_limits lim = { .logical_block_size = SECTOR_SIZE, .max_hw_sectors = UINT_MAX };
	struct gendisk *disk = compat_alloc_disk(&lim, COMPAT_DISK_SYNCHRONOUS);
	int err;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	strscpy(disk->disk_name, "biogen-null", DISK_NAME_LEN);
	disk->fops = &gen_null_fops;
	set_capacity(disk, NULL_SECTORS);
	err = add_disk(disk);
	if (err)
		put_disk(disk);
	else
		gen_null = disk;
	return err;
}

void gen_null_exit(void)
{
	del_gendisk(gen_null);
	put_disk(gen_null);
}
