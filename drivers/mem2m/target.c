// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dm target `mem2m` (section 3.3 of the paper's .map mode): START LENGTH mem2m NAME OFFSET. A
 * bio is done within map, not handed on to a work queue, which is where the paper's lost what it
 * had gained.
 */
#include <linux/dax.h>
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/mem2m.h>

#include "mem2m.h"

#define DM_MSG_PREFIX "mem2m"

/**
 * struct m2_target - a target
 * @mem: its device
 * @disk: the same as a block device, which it keeps open for dm to stack limits and DAX on
 * @start: first sector
 * @name: the device's
 */
struct m2_target {
	struct mem2m *mem;
	struct dm_dev *disk;
	u64 start;
	char name[M2_NAME_SIZE];
};

static int m2_target_open(struct dm_target *ti, struct m2_target *t)
{
	struct m2_dev *dev = m2_dev_find(t->name);
	char devt[16];
	int err;

	if (IS_ERR(dev)) {
		ti->error = dev == ERR_PTR(-EBUSY) ? "the memory device is being changed" :
						     "no such memory device";
		return PTR_ERR(dev);
	}
	snprintf(devt, sizeof(devt), "%u:%u", MAJOR(disk_devt(dev->disk)),
		 MINOR(disk_devt(dev->disk)));
	err = dm_get_device(ti, devt, dm_table_get_mode(ti->table), &t->disk);
	m2_dev_unuse(dev, true);
	if (err) {
		ti->error = "the memory device can't be opened";
		return err;
	}
	t->mem = mem2m_get_by_bdev(t->disk->bdev);
	if (IS_ERR(t->mem)) {
		ti->error = "the memory device has gone";
		dm_put_device(ti, t->disk);
		return PTR_ERR(t->mem);
	}
	return 0;
}

static void m2_target_close(struct dm_target *ti, struct m2_target *t)
{
	mem2m_put(t->mem);
	dm_put_device(ti, t->disk);
}

static int m2_target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct m2_target *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int err;

	if (!t) {
		ti->error = "out of memory";
		return -ENOMEM;
	}
	err = m2_words_target(t->name, &t->start, argc, argv, &ti->error);
	if (!err)
		err = m2_target_open(ti, t);
	if (err)
		goto no_device;
	if (t->start > mem2m_sectors(t->mem) || ti->len > mem2m_sectors(t->mem) - t->start) {
		ti->error = "the memory device is too small";
		err = -EINVAL;
		goto refused;
	}
	if (t->disk->dax_dev && (t->start % PAGE_SECTORS || ti->begin % PAGE_SECTORS)) {
		ti->error = "with DAX, OFFSET and start have to be multiples of a page";
		err = -EINVAL;
		goto refused;
	}
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->private = t;
	return 0;

refused:
	m2_target_close(ti, t);
no_device:
	kfree(t);
	return err;
}

static void m2_target_dtr(struct dm_target *ti)
{
	struct m2_target *t = ti->private;

	m2_target_close(ti, t);
	kfree(t);
}

static int m2_target_map(struct dm_target *ti, struct bio *bio)
{
	struct m2_target *t = ti->private;

	bio->bi_iter.bi_sector = t->start + dm_target_offset(ti, bio->bi_iter.bi_sector);
	mem2m_submit_bio(t->mem, bio);
	return DM_MAPIO_SUBMITTED;
}

static void m2_target_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			     char *result, unsigned int maxlen)
{
	struct m2_target *t = ti->private;
	size_t sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		result[0] = 0;
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %llu", t->name, t->start);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,start=%llu;", t->name, t->start);
		break;
	}
}

static int m2_target_iterate(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct m2_target *t = ti->private;

	return fn(ti, t->disk, t->start, ti->len, data);
}

#if IS_ENABLED(CONFIG_FS_DAX)
static pgoff_t m2_target_pgoff(struct dm_target *ti, pgoff_t pgoff)
{
	struct m2_target *t = ti->private;

	return (t->start + dm_target_offset(ti, pgoff << PAGE_SECTORS_SHIFT)) >> PAGE_SECTORS_SHIFT;
}

static long m2_target_direct_access(struct dm_target *ti, pgoff_t pgoff, long nr_pages,
				    enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	struct m2_target *t = ti->private;

	return dax_direct_access(t->disk->dax_dev, m2_target_pgoff(ti, pgoff), nr_pages, mode,
				 kaddr, pfn);
}

static int m2_target_zero_pages(struct dm_target *ti, pgoff_t pgoff, size_t nr_pages)
{
	struct m2_target *t = ti->private;

	return dax_zero_page_range(t->disk->dax_dev, m2_target_pgoff(ti, pgoff), nr_pages);
}
#else
#define m2_target_direct_access NULL
#define m2_target_zero_pages NULL
#endif

static struct target_type m2_target = {
	.name = "mem2m",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = m2_target_ctr,
	.dtr = m2_target_dtr,
	.map = m2_target_map,
	.status = m2_target_status,
	.iterate_devices = m2_target_iterate,
	.direct_access = m2_target_direct_access,
	.dax_zero_page_range = m2_target_zero_pages,
};

int m2_target_init(void)
{
	return dm_register_target(&m2_target);
}

void m2_target_exit(void)
{
	dm_unregister_target(&m2_target);
}

MODULE_ALIAS("dm-mem2m");
