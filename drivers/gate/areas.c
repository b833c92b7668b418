// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_areas
 *
 * What drivers do with areas of nvmalloc(), while these change. Loading the module with path=NAME,
 * in a mounted scmfs, does it and says in the kernel's log what was wrong; it is never installed.
 * tests/vm/scmfs.sh is its user.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <evenkeel/nvmalloc.h>
#include <evenkeel/scm.h>

#define STEP	(16 * PAGE_SIZE)
#define STEPS	24u
#define EVENTS	4096u

static char *path = "";
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "name of an area, in a mounted scmfs, that there isn't");

static unsigned int rounds = 100;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often the area grows and shrinks");

static struct nvm_area *area, *other;
static atomic_long_t looks, wrong;

static void is_wrong(const char *what, u64 at)
{
	if (!atomic_long_fetch_inc(&wrong))
		pr_err("areas: %s at %llu\n", what, at);
}

/* The first word of each page is 0 until it is written, then says which page it is. */
static u64 tag(u64 at)
{
	return at / PAGE_SIZE + 1;
}

/* --- who uses an area that others change --- */

static int look(void *none)
{
	u64 bytes, at, word;
	int cookie;
	void *p;

	while (!kthread_should_stop()) {
		p = nvm_enter(area, &bytes, &cookie);
		for (at = 0; at < bytes; at += PAGE_SIZE) {
			word = READ_ONCE(*(u64 *)(p + at));
			if (word && word != tag(at))
				is_wrong("another page's content", at);
		}
		nvm_leave(area, cookie);
		atomic_long_inc(&looks);
		cond_resched();
	}
	return 0;
}

static int write_tags(u64 from, u64 to)
{
	u64 word, bytes;
	int err = 0, cookie;
	void *p;

	for (; !err && from < to; from += PAGE_SIZE) {
		p = nvm_enter(area, &bytes, &cookie);
		if (bytes < to || memchr_inv(p + from, 0, PAGE_SIZE))
			is_wrong("what is new is not zero", from);
		nvm_leave(area, cookie);
		word = tag(from);
		err = nvm_write(area, from, &word, sizeof(word));
	}
	return err;
}

/* The other one takes the blocks behind, so that this one is in pieces. */
static int grow(void)
{
	u64 from = nvm_mapped_size(area);
	int err = nvmalloc_expand(area, from + STEP);

	if (!err)
		err = write_tags(from, from + STEP);
	return err ?: nvmalloc_expand(other, nvm_mapped_size(other) + PAGE_SIZE);
}

static int resize(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < rounds; i++) {
		if (i % STEPS < STEPS - 1)
			err = grow();
		else
			err = nvmalloc_shrink(area, STEP) ?: nvmalloc_shrink(other, 0);
	}
	return err;
}

static int race(void)
{
	struct task_struct *reader = kthread_run(look, NULL, "areas");
	int err;

	if (IS_ERR(reader))
		return PTR_ERR(reader);
	err = resize();
	while (!err && !atomic_long_read(&looks))
		cond_resched();
	kthread_stop(reader);
	pr_info("areas: %ld looks at an area that changed %u times\n", atomic_long_read(&looks),
		rounds);
	return err;
}

/* --- what a flush costs --- */

static u64 flushed(const struct scm_log *log)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < log->nr_events; i++)
		if (log->event[i].type == SCM_FLUSH)
			bytes += log->event[i].len;
	return bytes;
}

/* Two words, as far from each other as can be: of nothing in between. */
static int flush_ends(struct scm_log *log)
{
	u64 word = 1, bytes = nvm_mapped_size(area);
	int err;

	nvm_flush(area);	/* what was written before */
	err = scm_record_start(log);
	if (err)
		return err;
	err = nvm_write(area, 0, &word, sizeof(word));
	if (!err)
		err = nvm_write(area, bytes - sizeof(word), &word, sizeof(word));
	nvm_flush(area);
	scm_record_stop();
	if (flushed(log) < 2 * SCM_LINE || flushed(log) > 2 * PAGE_SIZE)
		is_wrong("bytes flushed of two words", flushed(log));
	return err;
}

static int flush(void)
{
	struct scm_log log = { .max_events = EVENTS, .max_bytes = SZ_4K };
	int cookie, err = nvmalloc_expand(area, nvm_size(area));
	u64 bytes;

	if (err)
		return err;
	log.base = nvm_enter(area, &bytes, &cookie);
	nvm_leave(area, cookie);
	log.len = bytes;
	log.event = kvcalloc(EVENTS, sizeof(*log.event), GFP_KERNEL);
	log.bytes = kvmalloc(log.max_bytes, GFP_KERNEL);
	err = log.event && log.bytes ? flush_ends(&log) : -ENOMEM;
	kvfree(log.event);
	kvfree(log.bytes);
	return err;
}

/* --- */

static struct nvm_area *make(const char *end)
{
	char *name = kasprintf(GFP_KERNEL, "%s%s", path, end);
	struct nvm_area *made = name ? nvmalloc(name, SZ_4M, 0, false) : ERR_PTR(-ENOMEM);

	kfree(name);
	return made;
}

static int __init areas_init(void)
{
	int err;

	area = make("");
	if (IS_ERR(area))
		return PTR_ERR(area);
	other = make(".other");
	if (IS_ERR(other)) {
		nvfree(area);
		return PTR_ERR(other);
	}
	err = race() ?: flush();
	nvfree(other);
	nvfree(area);
	return err ?: atomic_long_read(&wrong) ? -EUCLEAN : 0;
}

static void __exit areas_exit(void)
{
}

module_init(areas_init);
module_exit(areas_exit);

MODULE_DESCRIPTION("areas of nvmalloc() that change while they are used, for the tests");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
