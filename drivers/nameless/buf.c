// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of a flash page; see buf.h, and flash.h for what the flash expects of it.
 *
 * Each CPU keeps some that were given back, for the next writes: getting pages from the kernel
 * and giving them back would take as long as the rest of a write, and most kernels clear them,
 * although a buffer is filled from end to end.
 *
 * They come back in bursts: planes that are filled in turn close their blocks together, and GC
 * empties as many soon after. So NL_STASH_MOST are kept, but never so many that there are more
 * buffers than the flash of all devices has pages: what is kept stands for flash that is erased,
 * and was in memory when that was full. The kernel gets it back when a device goes, and when it
 * asks.
 */
#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include <compat/shrinker.h>

#include "buf.h"

#define NL_STASH_ORDERS	5	/* 4 KiB to 64 KiB with pages of 4 KiB */
#define NL_STASH_MOST	1024	/* of a size, for each CPU: 10 planes with blocks of 64, and some */

/**
 * struct nl_stash - buffers of one size
 * @lock: protects all of it; a leaf
 * @nr: on @pages
 * @pages: who is here has one reference
 */
struct nl_stash {
	spinlock_t lock;	/* see above */
	unsigned int nr;
	struct list_head pages;
};

struct nl_stashes {
	struct nl_stash of[NL_STASH_ORDERS];
};

static DEFINE_PER_CPU(struct nl_stashes, nl_stashes);

/* Of each size: buffers there are, in use or kept, and flash pages that devices have for them. */
static atomic_long_t nl_bufs[NL_STASH_ORDERS];
static atomic_long_t nl_room[NL_STASH_ORDERS];

static struct page *nl_buf_page(struct nl_buf *buf)
{
	return (struct page *)buf;
}

static struct page *nl_stash_get(struct nl_stash *stash)
{
	struct page *page;

	spin_lock(&stash->lock);
	page = list_first_entry_or_null(&stash->pages, struct page, lru);
	if (page) {
		list_del(&page->lru);
		stash->nr--;
	}
	spin_unlock(&stash->lock);
	return page;
}

/* What other CPUs have kept, for want of anything else. */
static struct page *nl_stash_get_any(unsigned int order)
{
	struct page *page = NULL;
	int cpu;

	for_each_possible_cpu(cpu) {
		page = nl_stash_get(&per_cpu_ptr(&nl_stashes, cpu)->of[order]);
		if (page)
			break;
	}
	return page;
}

/* All of @pages, which are @nr and have one reference each, or none of them. */
static bool nl_stash_put(struct list_head *pages, unsigned int nr, unsigned int order)
{
	struct nl_stash *stash = &raw_cpu_ptr(&nl_stashes)->of[order];
	bool room;

	if (atomic_long_read(&nl_bufs[order]) > atomic_long_read(&nl_room[order]))
		return false;
	spin_lock(&stash->lock);
	room = stash->nr + nr <= NL_STASH_MOST;
	if (room) {
		list_splice(pages, &stash->pages);
		stash->nr += nr;
	}
	spin_unlock(&stash->lock);
	return room;
}

/* To the kernel, from who has the only reference. */
static void nl_page_free(struct page *page, unsigned int order)
{
	atomic_long_dec(&nl_bufs[order]);
	__free_pages(page, order);
}

static void nl_pages_free(struct list_head *pages, unsigned int order)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru)
		nl_page_free(page, order);
}

/* How many they were. */
static unsigned int nl_stash_drain(struct nl_stash *stash, unsigned int order)
{
	unsigned int nr;
	LIST_HEAD(pages);

	spin_lock(&stash->lock);
	list_splice_init(&stash->pages, &pages);
	nr = stash->nr;
	stash->nr = 0;
	spin_unlock(&stash->lock);
	nl_pages_free(&pages, order);
	return nr;
}

/* Give what is kept to the kernel. Context: process context. */
void nl_buf_drain(void)
{
	unsigned int order;
	int cpu;

	for_each_possible_cpu(cpu)
		for (order = 0; order < NL_STASH_ORDERS; order++)
			nl_stash_drain(&per_cpu_ptr(&nl_stashes, cpu)->of[order], order);
}

/* Pages of the kernel's that are kept. */
static unsigned long nl_kept(void)
{
	const struct nl_stashes *stashes;
	unsigned long pages = 0;
	unsigned int order;
	int cpu;

	for_each_possible_cpu(cpu) {
		stashes = per_cpu_ptr(&nl_stashes, cpu);
		for (order = 0; order < NL_STASH_ORDERS; order++)
			pages += (unsigned long)READ_ONCE(stashes->of[order].nr) << order;
	}
	return pages;
}

static unsigned long nl_kept_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return nl_kept() ?: SHRINK_EMPTY;
}

/* A stash at a time: what is asked for is seldom less, and the next writes fill it again. */
static unsigned long nl_kept_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct nl_stashes *stashes;
	unsigned long freed = 0;
	unsigned int order, nr;
	int cpu;

	for_each_possible_cpu(cpu) {
		stashes = per_cpu_ptr(&nl_stashes, cpu);
		for (order = 0; order < NL_STASH_ORDERS && freed < sc->nr_to_scan; order++) {
			nr = nl_stash_drain(&stashes->of[order], order);
			freed += (unsigned long)nr << order;
		}
	}
	return freed ?: SHRINK_STOP;
}

static struct compat_shrinker nl_shrinker;

static int nl_kept_show(char *page, const struct kernel_param *param)
{
	return sysfs_emit(page, "%lu\n", nl_kept() << (PAGE_SHIFT - 10));
}

static const struct kernel_param_ops nl_kept_ops = { .get = nl_kept_show };

module_param_cb(kept_kib, &nl_kept_ops, NULL, 0444);
MODULE_PARM_DESC(kept_kib, "KiB of memory kept for the next writes");

/* Devices have @pages more flash pages of @bytes, or fewer. Context: any. */
void nl_buf_room(u32 bytes, long pages)
{
	atomic_long_add(pages, &nl_room[get_order(bytes)]);
}

int nl_buf_start_up(void)
{
	unsigned int order;
	int cpu;

	for_each_possible_cpu(cpu) {
		for (order = 0; order < NL_STASH_ORDERS; order++) {
			struct nl_stash *stash = &per_cpu_ptr(&nl_stashes, cpu)->of[order];

			spin_lock_init(&stash->lock);
			INIT_LIST_HEAD(&stash->pages);
		}
	}
	return compat_shrinker_add(&nl_shrinker, NULL, "nameless-kept", nl_kept_count,
				   nl_kept_scan);
}

void nl_buf_shut_down(void)
{
	compat_shrinker_remove(&nl_shrinker);
	nl_buf_drain();
}

/* Buffers between two looks at what is there: looking takes as long as one. */
#define NL_LOOK_MASK	255

/*
 * Is so little left that the flash gets no more? An allocation by itself would fail only when
 * nothing is left to anybody, and others would have been killed by then, who have none of it to
 * give back. As long as that is so, each that asks looks.
 */
static bool nl_is_short(void)
{
	static atomic_t asked;
	static bool is_short;

	if (READ_ONCE(is_short) || !(atomic_inc_return(&asked) & NL_LOOK_MASK))
		WRITE_ONCE(is_short, si_mem_available() < (long)nl_reserve());
	return READ_ONCE(is_short);
}

/* @user: it is for what a user writes, which leaves a part of the RAM alone. */
static struct nl_buf *nl_take(u32 bytes, bool nowait, bool user)
{
	gfp_t gfp = nowait ? NL_GFP_NOWAIT : NL_GFP_IO;
	unsigned int order = get_order(bytes);
	struct page *page = nl_stash_get(&raw_cpu_ptr(&nl_stashes)->of[order]);

	if (!page) {
		page = user && nl_is_short() ? NULL : alloc_pages(gfp | __GFP_COMP, order);
		if (page)
			atomic_long_inc(&nl_bufs[order]);
		else
			page = nl_stash_get_any(order);
	}
	return (struct nl_buf *)page;
}

/*
 * @bytes: a power of two, PAGE_SIZE to 16 times that. NULL without memory. For the FTL's own pages,
 * which may come out of what is left alone: they are few, and without them nothing is made durable,
 * nor collected.
 */
struct nl_buf *nl_buf_alloc(u32 bytes, bool nowait)
{
	return nl_take(bytes, nowait, false);
}

/* As nl_buf_alloc(), for what a user writes. */
struct nl_buf *nl_buf_alloc_user(u32 bytes, bool nowait)
{
	return nl_take(bytes, nowait, true);
}

void nl_buf_get(struct nl_buf *buf)
{
	get_page(nl_buf_page(buf));
}

/* The last reference is gone: true, and the caller has the page. */
static bool nl_buf_last(struct nl_buf *buf)
{
	struct page *page = nl_buf_page(buf);

	if (!buf || !put_page_testzero(page))
		return false;
	set_page_count(page, 1);	/* nobody else has it any more */
	return true;
}

void nl_buf_put(struct nl_buf *buf)
{
	struct page *page = nl_buf_page(buf);
	unsigned int order;
	LIST_HEAD(pages);

	if (!nl_buf_last(buf))
		return;
	order = compound_order(page);
	list_add(&page->lru, &pages);
	if (!nl_stash_put(&pages, 1, order))
		nl_page_free(page, order);
}

void nl_buf_drop(struct nl_drops *drops, struct nl_buf *buf)
{
	if (!drops || drops->nr >= NL_DROPS_MOST) {
		nl_buf_put(buf);
	} else if (nl_buf_last(buf)) {
		list_add(&nl_buf_page(buf)->lru, &drops->pages);
		drops->nr++;
	}
}

/**
 * nl_drops_put - give back what was dropped
 * @drops: of one device, whose buffers have one size; empty then
 *
 * Context: process context.
 */
void nl_drops_put(struct nl_drops *drops)
{
	struct page *page;
	unsigned int order;

	if (!drops->nr)
		return;
	page = list_first_entry(&drops->pages, struct page, lru);
	order = compound_order(page);
	if (!nl_stash_put(&drops->pages, drops->nr, order))
		nl_pages_free(&drops->pages, order);
	INIT_LIST_HEAD(&drops->pages);
	drops->nr = 0;
}

void *nl_buf_data(struct nl_buf *buf)
{
	return page_address(nl_buf_page(buf));
}
