// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_biogen
 *
 * Submits bios and says how long they took. What is written to its parameter `run`,
 *
 *	WAY DEVICE [rand]read|[rand]write|randmixN BYTES DEPTH COUNT [THREADS]
 *
 * is done at once; reading it gives the nanoseconds that it took. Of a `randmixN` N in a
 * thousand write. WAY is `block` for submit_bio(), `direct` for the call of a driver that
 * has one (evenkeel/direct.h), `nothing` for a bio that is made for the device and goes
 * nowhere, or a kind of copy between such a bio's pages and memory: `words`, `memcpy`,
 * `nt`, `mc`; another module may have one more. There is also a device /dev/biogen-null,
 * which only completes bios.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <compat/blkdev.h>

#include "biogen.h"

static unsigned int area_mib = 16;
module_param(area_mib, uint, 0644);
MODULE_PARM_DESC(area_mib, "MiB of the device that are used (16)");

/* protects gen_ns, gen_runs, gen_added; one job at a time */
static DEFINE_MUTEX(gen_lock);
static u64 gen_ns;
static u64 gen_runs;
static const struct gen_way *gen_added;

static void gen_submit_block(struct gen_job *job, struct bio *bio)
{
	submit_bio(bio);
}

static void gen_submit_direct(struct gen_job *job, struct bio *bio)
{
	job->direct.ops->submit(job->direct.handle, bio);
}

static const struct gen_way gen_ways[] = {
	{ .name = "block", .submit = gen_submit_block },
	{ .name = "direct", .submit = gen_submit_direct },
	{ .name = NULL },
};

static const struct gen_way *gen_find(const struct gen_way *way, const char *name)
{
	for (; way->name; way++)
		if (!strcmp(way->name, name))
			return way;
	return NULL;
}

/**
 * gen_way_add - have one more way
 * @way: the way
 *
 * Context: process context; sleeps.
 * Return: 0, -EBUSY: there is one more already.
 */
int gen_way_add(const struct gen_way *way)
{
	int err = -EBUSY;

	mutex_lock(&gen_lock);
	if (!gen_added) {
		gen_added = way;
		err = 0;
	}
	mutex_unlock(&gen_lock);
	return err;
}
EXPORT_SYMBOL_GPL(gen_way_add);

/**
 * gen_way_remove - have it no more
 *
 * Context: process context; sleeps.
 */
void gen_way_remove(void)
{
	mutex_lock(&gen_lock);
	gen_added = NULL;
	mutex_unlock(&gen_lock);
}
EXPORT_SYMBOL_GPL(gen_way_remove);

static const struct gen_way *gen_find_any(const char *name)
{
	if (gen_added && !strcmp(gen_added->name, name))
		return gen_added;
	return gen_find(gen_ways, name) ?: gen_find(gen_copies, name);
}

static int gen_parse_op(struct gen_job *job, const char *rw)
{
	job->random = !strncmp(rw, "rand", 4);
	if (job->random)
		rw += 4;
	if (job->random && !strncmp(rw, "mix", 3))
		return kstrtouint(rw + 3, 10, &job->writes) ?: job->writes > 1000 ? -EINVAL : 0;
	job->writes = strcmp(rw, "write") ? 0 : 1000;
	return strcmp(rw, "write") && strcmp(rw, "read") ? -EINVAL : 0;
}

static int gen_parse(struct gen_job *job, const char *text)
{
	char way[16], rw[16];

	job->threads = 1;
	if (sscanf(text, "%15s %63s %15s %u %u %u %u", way, job->path, rw, &job->bytes, &job->depth,
		   &job->count, &job->threads) < 6)
		return -EINVAL;
	job->way = gen_find_any(way);
	job->area = (u64)area_mib << 20;
	job->seed = gen_runs++ * GEN_MOST_THREADS;
	if (!job->way || gen_parse_op(job, rw) ||
	    !job->bytes || job->bytes % SECTOR_SIZE || job->bytes > GEN_MOST_BYTES ||
	    !job->depth || job->depth > GEN_MOST_DEPTH || !job->count ||
	    !job->threads || job->threads > GEN_MOST_THREADS ||
	    (job->way->begin && job->threads > 1) || div_u64(job->area, job->threads) < job->bytes)
		return -EINVAL;
	return 0;
}

static int gen_on_device(struct gen_job *job)
{
	int err;

	if (bdev_nr_bytes(job->bdev) < job->area)
		return -ENOSPC;
	if (job->way->submit == gen_submit_direct && !job->direct.ops)
		return -EOPNOTSUPP;
	if (gen_find(gen_copies, job->way->name)) {
		job->memory = vzalloc(job->area);
		if (!job->memory)
			return -ENOMEM;
	}
	err = job->way->begin ? job->way->begin(job) : 0;
	if (err)
		return err;
	err = gen_measure(job, &gen_ns);
	if (job->way->end)
		job->way->end(job);
	return err;
}

static int gen_on_path(struct gen_job *job)
{
	struct compat_bdev opened;
	int err;

	job->bdev = compat_bdev_open(&opened, job->path, job);
	if (IS_ERR(job->bdev))
		return PTR_ERR(job->bdev);
	ek_direct_get(&job->direct, job->bdev);
	err = gen_on_device(job);
	vfree(job->memory);
	ek_direct_put(&job->direct);
	compat_bdev_close(&opened);
	return err;
}

static int gen_set(const char *text, const struct kernel_param *param)
{
	struct gen_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int err;

	if (!job)
		return -ENOMEM;
	mutex_lock(&gen_lock);
	err = gen_parse(job, text);
	if (!err)
		err = gen_on_path(job);
	mutex_unlock(&gen_lock);
	kfree(job);
	return err;
}

static int gen_get(char *text, const struct kernel_param *param)
{
	u64 ns;

	mutex_lock(&gen_lock);
	ns = gen_ns;
	mutex_unlock(&gen_lock);
	return sprintf(text, "%llu\n", ns);
}

static const struct kernel_param_ops gen_ops = { .set = gen_set, .get = gen_get };
module_param_cb(run, &gen_ops, NULL, 0600);
MODULE_PARM_DESC(run, "WAY DEVICE [rand]read|[rand]write|randmixN BYTES DEPTH COUNT [THREADS]; read: nanoseconds");

static int __init gen_init(void)
{
	return gen_null_init();
}

static void __exit gen_exit(void)
{
	gen_null_exit();
}

module_init(gen_init);
module_exit(gen_exit);

MODULE_DESCRIPTION("a generator of bios, for measurements");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
