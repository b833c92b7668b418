// SPDX-License-Identifier: GPL-2.0-only
/* The threads that submit bios, and the clock. */
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "biogen.h"

/**
 * struct gen_thread - one that submits
 * @job: what
 * @task: itself
 * @bio: as many as the job's depth
 * @vec: of all of them, one a page
 * @page: that bios are of; the same for each of them
 * @nr_pages: of a bio
 * @first: sector
 * @places: that bios may begin at
 * @place: of the next one that follows another
 * @random: state of what is random
 * @left: bios that are under way, and one while more are submitted
 * @idle: none is left
 * @failed: how many did
 * @ns: that it took
 * @begin: all threads are there
 * @end: it has
 */
struct gen_thread {
	struct gen_job *job;
	struct task_struct *task;
	struct bio *bio;
	struct bio_vec *vec;
	struct page **page;
	unsigned int nr_pages;
	sector_t first;
	u32 places;
	u32 place;
	u64 random;
	atomic_t left;
	struct completion idle;
	atomic_t failed;
	u64 ns;
	struct completion *begin;
	struct completion end;
};

static void gen_put(struct gen_thread *t)
{
	if (atomic_dec_and_test(&t->left))
		complete(&t->idle);
}

/**
 * gen_done - a bio's way is over
 * @bio: the bio, with its status
 *
 * Context: any.
 */
void gen_done(struct bio *bio)
{
	struct gen_thread *t = bio->bi_private;

	if (unlikely(bio->bi_status))
		atomic_inc(&t->failed);
	gen_put(t);
}
EXPORT_SYMBOL_GPL(gen_done);

static u32 gen_random(struct gen_thread *t)
{
	t->random = t->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return t->random >> 32;
}

static blk_opf_t gen_op(struct gen_thread *t)
{
	unsigned int writes = t->job->writes;

	if (writes % 1000 == 0)
		return writes ? REQ_OP_WRITE : REQ_OP_READ;
	return ((u64)gen_random(t) * 1000 >> 32) < writes ? REQ_OP_WRITE : REQ_OP_READ;
}

static void gen_make(struct gen_thread *t, struct bio *bio, struct bio_vec *vec, sector_t sector)
{
	unsigned int i, left = t->job->bytes;

	bio_init(bio, t->job->bdev, vec, t->nr_pages, gen_op(t));
	bio->bi_iter.bi_sector = sector;
	bio->bi_private = t;
	bio->bi_end_io = gen_done;
	for (i = 0; i < t->nr_pages; i++, left -= PAGE_SIZE)
		__bio_add_page(bio, t->page[i], min_t(unsigned int, left, PAGE_SIZE), 0);
}

/* Where the thread's next bio goes. The same places when the machine is the same. */
static sector_t gen_next(struct gen_thread *t)
{
	struct gen_job *job = t->job;
	u32 place = t->place;

	if (job->random)
		place = (u64)gen_random(t) * t->places >> 32;
	else if (++t->place == t->places)
		t->place = 0;
	return t->first + (sector_t)place * (job->bytes >> SECTOR_SHIFT);
}

static void gen_loop(struct gen_thread *t)
{
	struct gen_job *job = t->job;
	unsigned int done, i, n;
	struct blk_plug plug;

	for (done = 0; done < job->count; done += n) {
		n = min(job->depth, job->count - done);
		atomic_set(&t->left, n + 1);
		if (n > 1)
			blk_start_plug(&plug);
		for (i = 0; i < n; i++) {
			gen_make(t, t->bio + i, t->vec + i * t->nr_pages, gen_next(t));
			job->way->submit(job, t->bio + i);
		}
		if (n > 1)
			blk_finish_plug(&plug);
		if (!atomic_dec_and_test(&t->left)) {
			wait_for_completion(&t->idle);
			reinit_completion(&t->idle);
		}
		/* Anew each time, as others make them, so it is part of what is measured. */
		for (i = 0; i < n; i++)
			bio_uninit(t->bio + i);
		if (job->way->round && job->way->round(job, n))
			atomic_inc(&t->failed);
	}
}

static int gen_thread(void *arg)
{
	struct gen_thread *t = arg;
	u64 begin;

	wait_for_completion(t->begin);
	begin = ktime_get_ns();
	gen_loop(t);
	t->ns = ktime_get_ns() - begin;
	complete(&t->end);
	return 0;
}

/* One that was never woken never begins; one that runs has to be at its end. */
static void gen_thread_free(struct gen_thread *t)
{
	unsigned int i;

	if (t->task) {
		kthread_stop(t->task);
		put_task_struct(t->task);
	}
	for (i = 0; t->page && i < t->nr_pages; i++)
		if (t->page[i])
			__free_page(t->page[i]);
	kfree(t->page);
	kvfree(t->vec);
	kfree(t->bio);
}

static int gen_thread_init(struct gen_thread *t, struct gen_job *job, unsigned int nr)
{
	unsigned int i;

	t->job = job;
	t->nr_pages = DIV_ROUND_UP(job->bytes, PAGE_SIZE);
	t->first = (job->area >> SECTOR_SHIFT) / job->threads * nr;
	t->places = div_u64(div_u64(job->area, job->threads), job->bytes);
	t->random = job->seed + nr;
	init_completion(&t->idle);
	init_completion(&t->end);
	t->bio = kcalloc(job->depth, sizeof(*t->bio), GFP_KERNEL);
	t->vec = kvcalloc(job->depth * t->nr_pages, sizeof(*t->vec), GFP_KERNEL);
	t->page = kcalloc(t->nr_pages, sizeof(*t->page), GFP_KERNEL);
	if (!t->bio || !t->vec || !t->page)
		return -ENOMEM;
	for (i = 0; i < t->nr_pages; i++) {
		t->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!t->page[i])
			return -ENOMEM;
	}
	t->task = kthread_create(gen_thread, t, "biogen/%u", nr);
	if (IS_ERR(t->task)) {
		int err = PTR_ERR(t->task);

		t->task = NULL;
		return err;
	}
	get_task_struct(t->task);
	kthread_bind(t->task, nr);
	return 0;
}

static int gen_threads_run(struct gen_thread *threads, unsigned int nr)
{
	DECLARE_COMPLETION_ONSTACK(begin);
	int err = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		threads[i].begin = &begin;
		wake_up_process(threads[i].task);
	}
	complete_all(&begin);
	for (i = 0; i < nr; i++) {
		wait_for_completion(&threads[i].end);
		if (atomic_read(&threads[i].failed))
			err = -EIO;
	}
	return err;
}

/**
 * gen_measure - do it
 * @job: complete, its device open
 * @ns: the longest that a thread took
 *
 * Context: process context; sleeps.
 * Return: 0, -ENOMEM, -EIO when a bio failed, -EINVAL: there are not that many CPUs.
 */
int gen_measure(struct gen_job *job, u64 *ns)
{
	struct gen_thread *threads;
	unsigned int i;
	int err = 0;

	if (job->threads > num_online_cpus())
		return -EINVAL;
	threads = kcalloc(job->threads, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	for (i = 0; i < job->threads && !err; i++)
		err = gen_thread_init(threads + i, job, i);
	if (!err)
		err = gen_threads_run(threads, job->threads);
	for (i = 0, *ns = 0; i < job->threads; i++) {
		*ns = max(*ns, threads[i].ns);
		gen_thread_free(threads + i);
	}
	kfree(threads);
	return err;
}
