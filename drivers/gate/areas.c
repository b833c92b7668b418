// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_areas
 *
 * What drivers do with areas of nvmalloc() while these change, and whether what they write there
 * lasts. Loading the module with path=NAME, in a mounted scmfs, does it and says in the kernel's
 * log what was wrong; so does writing to its parameter run, as often as one wants. It is never
 * installed. With bad=1 some of their memory goes bad, and that is all; with shut=1 what is run is
 * what is left once the file system has been shut down. tests/vm/scmfs.sh and tests/failnth are its
 * users.
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
#define BAD_PAGES	8u
#define BAD_AT	(2 * PAGE_SIZE)

static char *path = "";
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "name of an area, in a mounted scmfs, that there isn't");

static unsigned int rounds = 100;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often the area grows and shrinks");

static bool bad;
module_param(bad, bool, 0444);
MODULE_PARM_DESC(bad, "memory of areas goes bad instead, for good: their names stay, too");

static bool shut;
module_param(shut, bool, 0444);
MODULE_PARM_DESC(shut, "what is done is to run when the file system has been shut down");

static const char pattern[3 * SCM_LINE] = { [0] = 1, [SCM_LINE] = 2, [3 * SCM_LINE - 1] = 3 };
static struct nvm_area *area, *other, *through;
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

/* --- sizes that there can't be --- */

static bool keeps(u64 bytes, u64 first)
{
	u64 now, word = 0;
	int cookie;
	void *p = nvm_enter(area, &now, &cookie);

	if (now == bytes)
		word = READ_ONCE(*(u64 *)p);
	nvm_leave(area, cookie);
	return word == first;
}

/* What would be 0, or little, if it was rounded up to pages before it is looked at. */
static int refused_sizes(void)
{
	const u64 sizes[] = { U64_MAX, U64_MAX - 1, U64_MAX - PAGE_SIZE + 2 };
	const u64 word = tag(0);
	unsigned int i;
	int err = nvmalloc_expand(area, STEP) ?: nvm_write(area, 0, &word, sizeof(word));

	for (i = 0; !err && i < ARRAY_SIZE(sizes); i++) {
		if (nvmalloc_shrink(area, sizes[i]) != -EINVAL || !keeps(STEP, word))
			is_wrong("an area that shrank to", sizes[i]);
		if (nvmalloc_expand(other, sizes[i]) != -EINVAL || nvm_mapped_size(other))
			is_wrong("an area that grew to", sizes[i]);
	}
	return err;
}

/* --- what was written lasts, and what that costs --- */

static bool covers(const struct scm_event *event, u64 line)
{
	return event->type == SCM_FENCE ||
	       (event->offset < line + SCM_LINE && event->offset + event->len > line);
}

/* The first one after @i that does that to a line; a fence is that of who flushed, or stored. */
static u32 next_event(const struct scm_log *log, u32 i, enum scm_event_type type, u64 line)
{
	u64 task = log->event[i].task;

	while (++i < log->nr_events)
		if (log->event[i].type == type && covers(log->event + i, line) &&
		    (type != SCM_FENCE || log->event[i].task == task))
			break;
	return i;
}

static bool lasts(const struct scm_log *log, u32 store, u64 line)
{
	u32 i = store;

	if (log->event[store].type == SCM_STORE)
		i = next_event(log, store, SCM_FLUSH, line);
	return i < log->nr_events && next_event(log, i, SCM_FENCE, line) < log->nr_events;
}

/* Each line that was stored to; they are told apart by how. */
static void all_last(const struct scm_log *log, enum scm_event_type how, unsigned int stores)
{
	const struct scm_event *event;
	u64 line;
	u32 i;

	if (log->full)
		is_wrong("too many events", log->nr_events);
	for (i = 0; i < log->nr_events; i++) {
		event = log->event + i;
		if (event->type != SCM_STORE && event->type != SCM_STORE_NT)
			continue;
		if (event->type != how)
			is_wrong("a store of the other kind", event->offset);
		stores--;
		line = round_down(event->offset, SCM_LINE);
		for (; line < event->offset + event->len; line += SCM_LINE)
			if (!lasts(log, i, line))
				is_wrong("a line that may be lost", line);
	}
	if (stores)
		is_wrong("stores that are missing", stores);
}

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
static int write_ends(struct nvm_area *of)
{
	u64 word = 1, bytes = nvm_mapped_size(of);
	int err = nvm_write(of, 0, &word, sizeof(word));

	if (!err)
		err = nvm_write(of, bytes - sizeof(word), &word, sizeof(word));
	return err ?: nvm_flush(of);
}

/* Of words and lines not all; nobody flushes. */
static int write_some(struct nvm_area *of)
{
	return nvm_write(of, SCM_LINE - 3, pattern, sizeof(pattern));
}

static int record(struct scm_log *log, struct nvm_area *of, int (*what)(struct nvm_area *of))
{
	int cookie, err;
	u64 bytes;

	err = nvm_flush(of);	/* what was written before */
	if (err)
		return err;
	log->base = nvm_enter(of, &bytes, &cookie);
	nvm_leave(of, cookie);
	log->len = bytes;
	err = scm_record_start(log);
	if (err)
		return err;
	err = what(of);
	scm_record_stop();
	return err;
}

static int written(struct scm_log *log)
{
	int err = nvmalloc_expand(area, nvm_size(area));

	if (!err)
		err = record(log, area, write_ends);
	if (err)
		return err;
	all_last(log, SCM_STORE, 2);
	if (flushed(log) < 2 * SCM_LINE || flushed(log) > 2 * PAGE_SIZE)
		is_wrong("bytes flushed of two words", flushed(log));
	return 0;
}

static int written_through(struct scm_log *log)
{
	int err = nvmalloc_expand(through, PAGE_SIZE);

	if (!err)
		err = record(log, through, write_some);
	if (err)
		return err;
	all_last(log, SCM_STORE_NT, 1);
	if (memcmp(log->base + SCM_LINE - 3, pattern, sizeof(pattern)))
		is_wrong("not what was written", SCM_LINE - 3);
	return 0;
}

static int with_log(int (*what)(struct scm_log *log))
{
	struct scm_log log = { .max_events = EVENTS, .max_bytes = SZ_4K };
	int err;

	log.event = kvcalloc(EVENTS, sizeof(*log.event), GFP_KERNEL);
	log.bytes = kvmalloc(log.max_bytes, GFP_KERNEL);
	err = log.event && log.bytes ? what(&log) : -ENOMEM;
	kvfree(log.event);
	kvfree(log.bytes);
	return err;
}

static int durability(struct scm_log *log)
{
	return written(log) ?: written_through(log);
}

static struct nvm_area *make(const char *end, bool write_through)
{
	char *name = kasprintf(GFP_KERNEL, "%s%s", path, end);
	struct nvm_area *made = name ? nvmalloc(name, SZ_4M, 0, write_through) : ERR_PTR(-ENOMEM);

	kfree(name);
	return made;
}

/* --- memory that goes bad --- */

/* As the kernel does when it has had a machine check. */
static int go_bad(struct nvm_area *of, bool pieces)
{
	int err = -EOPNOTSUPP, cookie;
	u64 bytes;
	void *p = nvm_enter(of, &bytes, &cookie) + BAD_AT;

	if (is_vmalloc_addr(p) != pieces)
		is_wrong("pieces, or none", bytes);
#ifdef CONFIG_MEMORY_FAILURE
	/* it returns whether it could end whoever has it mapped */
	memory_failure(page_to_pfn(pieces ? vmalloc_to_page(p) : virt_to_page(p)), 0);
	err = 0;
#endif
	nvm_leave(of, cookie);
	return err;
}

static int write_pages(struct nvm_area *of, u64 from)
{
	int err = 0;
	u64 word;

	for (; !err && from < BAD_PAGES * PAGE_SIZE; from += PAGE_SIZE) {
		word = tag(from);
		err = nvm_write(of, from, &word, sizeof(word));
	}
	return err;
}

/* What was stored before is to be flushed, and nothing more is stored there. */
static int write_around(struct nvm_area *of, bool pieces)
{
	int err = write_pages(of, 0) ?: go_bad(of, pieces);

	if (err)
		return err;
	if (write_pages(of, BAD_AT) != -EIO)
		is_wrong("stored to bad memory", BAD_AT);
	if (nvm_write(of, BAD_AT - 1, pattern, 2) != -EIO)
		is_wrong("stored to bad memory, from before it", BAD_AT - 1);
	if (nvm_write(of, BAD_AT + PAGE_SIZE - 1, pattern, 2) != -EIO)
		is_wrong("stored to bad memory, beyond it", BAD_AT + PAGE_SIZE);
	err = write_pages(of, BAD_AT + PAGE_SIZE);
	if (nvm_flush(of) != -EIO)
		is_wrong("a flush that does not tell what is lost", BAD_AT);
	return err ?: nvm_flush(of);
}

static int write_around_whole(struct nvm_area *of)
{
	return write_around(of, false);
}

static int write_around_pieces(struct nvm_area *of)
{
	return write_around(of, true);
}

/* One store to each page, two behind the bad one; all flushed but that. */
static void all_around(const struct scm_log *log)
{
	unsigned int stores = 0, flushes = 0;
	const struct scm_event *event;
	u32 i;

	for (i = 0; i < log->nr_events; i++) {
		event = log->event + i;
		stores += event->type == SCM_STORE;
		if (event->type != SCM_FLUSH)
			continue;
		flushes += event->len / PAGE_SIZE;
		if (event->offset < BAD_AT + PAGE_SIZE && event->offset + event->len > BAD_AT)
			is_wrong("bad memory that is flushed", event->offset);
	}
	if (stores != 2 * BAD_PAGES - BAD_AT / PAGE_SIZE - 1)
		is_wrong("stores around bad memory", stores);
	if (flushes < BAD_PAGES - 1)
		is_wrong("pages flushed around bad memory", flushes);
}

/* It gets no larger, can be made less, and isn't found again. */
static void stays_bad(const char *end)
{
	char *name = kasprintf(GFP_KERNEL, "%s%s", path, end);
	struct nvm_area *again;

	if (nvmalloc_expand(area, (BAD_PAGES + 1) * PAGE_SIZE) != -EIO)
		is_wrong("grown with bad memory", nvm_mapped_size(area));
	if (nvm_mapped_size(area) != BAD_PAGES * PAGE_SIZE)
		is_wrong("size with bad memory", nvm_mapped_size(area));
	if (nvmalloc_shrink(area, BAD_AT + PAGE_SIZE))
		is_wrong("not made less, with bad memory", nvm_mapped_size(area));
	nvclose(area);
	again = name ? nvmopen(name, false) : ERR_PTR(-ENOMEM);
	if (PTR_ERR_OR_ZERO(again) != -EIO)
		is_wrong("open with bad memory", -PTR_ERR_OR_ZERO(again));
	if (!IS_ERR(again))
		nvclose(again);
	kfree(name);
}

/* What was recorded, unless that failed; the area is closed. */
static int around(const struct scm_log *log, int err, const char *end)
{
	if (err) {
		nvclose(area);
		return err;
	}
	all_around(log);
	stays_bad(end);
	return 0;
}

static int bad_whole(struct scm_log *log)
{
	int err;

	area = make(".whole", false);
	if (IS_ERR(area))
		return PTR_ERR(area);
	err = nvmalloc_expand(area, BAD_PAGES * PAGE_SIZE);
	if (!err)
		err = record(log, area, write_around_whole);
	return around(log, err, ".whole");
}

/* The other one has the block behind the first half. */
static int bad_pieces(struct scm_log *log)
{
	int err;

	area = make(".pieces", false);
	if (IS_ERR(area))
		return PTR_ERR(area);
	other = make(".other", false);
	err = PTR_ERR_OR_ZERO(other);
	if (!err)
		err = nvmalloc_expand(area, BAD_PAGES / 2 * PAGE_SIZE) ?:
			nvmalloc_expand(other, PAGE_SIZE) ?:
			nvmalloc_expand(area, BAD_PAGES * PAGE_SIZE);
	if (!err)
		err = record(log, area, write_around_pieces);
	err = around(log, err, ".pieces");
	if (!IS_ERR(other))
		nvfree(other);
	return err;
}

static int bad_memory(struct scm_log *log)
{
	int err = bad_whole(log) ?: bad_pieces(log);

	if (!err && atomic_long_read(&wrong))
		err = -EUCLEAN;
	return err;
}

/* --- a file system that is shut down --- */

static int open_for_shutdown(void)
{
	int err;

	area = make(".shut", false);
	if (IS_ERR(area))
		return PTR_ERR(area);
	err = nvmalloc_expand(area, STEP);
	if (err)
		nvfree(area);
	return err;
}

static bool is_zero(u64 at, u64 len)
{
	u64 bytes;
	int cookie;
	void *p = nvm_enter(area, &bytes, &cookie);
	bool zero = !memchr_inv(p + at, 0, len);

	nvm_leave(area, cookie);
	return zero;
}

static int after_shutdown(void)
{
	if (!area)
		return -EBADF;
	if (nvm_write(area, 0, pattern, sizeof(pattern)) != -EIO || !is_zero(0, sizeof(pattern)))
		is_wrong("stored, though it was shut down", 0);
	if (nvm_flush(area) != -EIO)
		is_wrong("flushed, though it was shut down", 0);
	if (nvmalloc_expand(area, 2 * STEP) != -EIO || nvm_mapped_size(area) != STEP)
		is_wrong("grown, though it was shut down", STEP);
	if (nvclose(area) != -EIO)
		is_wrong("closed as if it lasted", 0);
	area = NULL;
	return atomic_long_read(&wrong) ? -EUCLEAN : 0;
}

/* --- */

/* Empty files stay under the areas' names. */
static int go_through(void)
{
	int err;

	area = make("", false);
	if (IS_ERR(area))
		return PTR_ERR(area);
	other = make(".other", false);
	err = PTR_ERR(other);
	if (IS_ERR(other))
		goto free_area;
	through = make(".through", true);
	err = PTR_ERR(through);
	if (IS_ERR(through))
		goto free_other;
	err = refused_sizes() ?: nvmalloc_shrink(area, 0) ?: race() ?:
		with_log(durability);
	if (!err && atomic_long_read(&wrong))
		err = -EUCLEAN;
	nvfree(through);
free_other:
	nvfree(other);
free_area:
	nvfree(area);
	return err;
}

static bool ready;	/* before that there are no other parameters yet */

/* As an allocation of who writes here may fail, what is wrong is told of each time anew. */
static int run_set(const char *text, const struct kernel_param *param)
{
	atomic_long_set(&wrong, 0);
	atomic_long_set(&looks, 0);
	if (!ready)
		return -EBUSY;
	return shut ? after_shutdown() : go_through();
}

/* One at a time: parameters are locked meanwhile. */
static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "written to, the module does it again");

static int __init areas_init(void)
{
	int err = bad ? with_log(bad_memory) : shut ? open_for_shutdown() : go_through();

	ready = !err && !bad;
	return err;
}

static void __exit areas_exit(void)
{
	if (shut && area)
		nvclose(area);
}

module_init(areas_init);
module_exit(areas_exit);

MODULE_DESCRIPTION("areas of nvmalloc() that change while they are used, for the tests");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
