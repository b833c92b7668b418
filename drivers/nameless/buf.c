// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of a flash page; see buf.h, and flash.h for what the flash expects of it.
 *
 * Each CPU keeps some that were given back, for the next writes: getting pages from the kernel
 * and giving them back would take as long as the rest of a write, and most kernels clear them,
 * although a buffer is filled from end to end. An erase gives back a block's at once, so about
 * two blocks' are kept, and given to the kernel when a device goes.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "buf.h"

#define NL_STASH_ORDERS	5	/* 4 KiB to 64 KiB with pages of 4 KiB */
#define NL_STASH_BYTES	(128 << PAGE_SHIFT)	/* of a size, at most */

/**
 * struct nl_stash - buffers of one size
 * @lock: protects all of it; a leaf
 * @nr: of @page
 * @page: who is here has one reference
 */
struct nl_stash {
	spinlock_t lock;	/* see above */
	unsigned int nr;
	struct page *page[NL_STASH_BYTES >> PAGE_SHIFT];
};

struct nl_stashes {
	struct nl_stash of[NL_STASH_ORDERS];
};

static struct nl_stashes __percpu *nl_stashes;

static struct page *nl_buf_page(struct nl_buf *buf)
{
	return (struct page *)buf;
}

static struct page *nl_stash_get(unsigned int order)
{
	struct page *page = NULL;
	struct nl_stash *stash;

	if (order >= NL_STASH_ORDERS)
		return NULL;
	stash = &raw_cpu_ptr(nl_stashes)->of[order];
	spin_lock(&stash->lock);
	if (stash->nr)
		page = stash->page[--stash->nr];
	spin_unlock(&stash->lock);
	return page;
}

static bool nl_stash_put(struct page *page)
{
	unsigned int order = compound_order(page);
	struct nl_stash *stash;
	bool room;

	if (order >= NL_STASH_ORDERS)
		return false;
	stash = &raw_cpu_ptr(nl_stashes)->of[order];
	spin_lock(&stash->lock);
	room = stash->nr < (NL_STASH_BYTES >> PAGE_SHIFT) >> order;
	if (room)
		stash->page[stash->nr++] = page;
	spin_unlock(&stash->lock);
	return room;
}

static void nl_stash_drain(struct nl_stash *stash)
{
	spin_lock(&stash->lock);
	while (stash->nr)
		put_page(stash->page[--stash->nr]);
	spin_unlock(&stash->lock);
}

/* Give what is kept to the kernel. Context: process context. */
void nl_buf_drain(void)
{
	unsigned int order;
	int cpu;

	for_each_possible_cpu(cpu)
		for (order = 0; order < NL_STASH_ORDERS; order++)
			nl_stash_drain(&per_cpu_ptr(nl_stashes, cpu)->of[order]);
}

int nl_buf_start_up(void)
{
	unsigned int order;
	int cpu;

	nl_stashes = alloc_percpu(struct nl_stashes);
	if (!nl_stashes)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		for (order = 0; order < NL_STASH_ORDERS; order++)
			spin_lock_init(&per_cpu_ptr(nl_stashes, cpu)->of[order].lock);
	return 0;
}

void nl_buf_shut_down(void)
{
	nl_buf_drain();
	free_percpu(nl_stashes);
}

/* @bytes: a power of two of at least PAGE_SIZE. NULL without memory. */
struct nl_buf *nl_buf_alloc(u32 bytes, bool nowait)
{
	gfp_t gfp = nowait ? NL_GFP_NOWAIT : NL_GFP_IO;
	struct page *page = nl_stash_get(get_order(bytes));

	return (struct nl_buf *)(page ?: alloc_pages(gfp | __GFP_COMP, get_order(bytes)));
}

void nl_buf_get(struct nl_buf *buf)
{
	get_page(nl_buf_page(buf));
}

/* Who has the only reference is the only one who could give another. */
void nl_buf_put(struct nl_buf *buf)
{
	if (buf && (page_count(nl_buf_page(buf)) != 1 || !nl_stash_put(nl_buf_page(buf))))
		put_page(nl_buf_page(buf));
}

void *nl_buf_data(struct nl_buf *buf)
{
	return page_address(nl_buf_page(buf));
}
