// SPDX-License-Identifier: GPL-2.0-only
/* Every invariant of the hybrid map, its blocks and what OOB says. */
#include <linux/sched.h>
#include "check.h"
#include "ftl_hybrid.h"

static u32 nl_check_pages(struct nl_checking *c, const struct nl_hybrid *h)
{
	u32 i, live = 0, ppn;

	for (i = 0; i < c->ftl->logical_pages; i++) {
		cond_resched();
		ppn = nl_hybrid_lookup(c->ftl, i);
		if (ppn == NL_UNMAPPED)
			continue;
		live++;
		nl_check_live(c, ppn, NL_OOB_DATA, i);
	}
	if (live != h->mapped)
		nl_finding(c, "%u pages are mapped, %u are counted", live, h->mapped);
	return live;
}

/* The chain of a logical block: its own pages, live, and an end. */
static u32 nl_check_chain(struct nl_checking *c, const struct nl_hybrid *h, u32 lbn)
{
	u32 e, n = 0, slot;

	for (e = h->head[lbn]; e != NL_NONE; e = h->entry[e].next) {
		slot = e / c->ftl->geo->pages;
		if (++n > c->ftl->geo->pages || slot >= h->nr_log ||
		    h->slot[slot].block == NL_NONE || nl_lbn_of(h, h->entry[e].lpn) != lbn) {
			nl_finding(c, "logical block %u: its chain in the log area is broken", lbn);
			break;
		}
	}
	return n;
}

static u32 nl_check_log(struct nl_checking *c, const struct nl_hybrid *h)
{
	u32 i, used = 0, live = 0;

	for (i = 0; i < h->nr_log; i++) {
		if (h->slot[i].block == NL_NONE)
			continue;
		used++;
		live += c->ftl->blocks.bk[h->slot[i].block].live;
		if (c->ftl->blocks.bk[h->slot[i].block].use != NL_USE_LOG ||
		    c->ftl->blocks.bk[h->slot[i].block].prev != i)
			nl_finding(c, "log block %u: is block %u, which is none", i,
				   h->slot[i].block);
	}
	for (i = 0; i < h->nr_open; i++)
		if (h->open[i] != NL_NONE && h->slot[h->open[i]].block == NL_NONE)
			nl_finding(c, "log block %u: is filled and is not there", h->open[i]);
	if (used + h->nr_free_slots != h->nr_log)
		nl_finding(c, "%u of %u slots are in use, %u are said to be free", used, h->nr_log,
			   h->nr_free_slots);
	if (used != c->use[NL_USE_LOG])
		nl_finding(c, "%u log blocks are in slots, %u are there", used,
			   c->use[NL_USE_LOG]);
	return live;
}

static void nl_check_data(struct nl_checking *c, const struct nl_hybrid *h)
{
	u32 lbn, used = (h->seq_block != NL_NONE) + (h->rest_block != NL_NONE), chained = 0;

	for (lbn = 0; lbn < h->nr_lbn; lbn++) {
		chained += nl_check_chain(c, h, lbn);
		if (h->block[lbn] == NL_NONE)
			continue;
		used++;
		if (c->ftl->blocks.bk[h->block[lbn]].use != NL_USE_DATA)
			nl_finding(c, "logical block %u: block %u is no data block", lbn,
				   h->block[lbn]);
	}
	if (used != c->use[NL_USE_DATA])
		nl_finding(c, "%u data blocks are in the map, %u are there", used,
			   c->use[NL_USE_DATA]);
	if (chained != nl_check_log(c, h))
		nl_finding(c, "%u pages of the log area are in chains, not all that live", chained);
}

u32 nl_hybrid_check(struct nl_ftl *ftl, nl_report report, void *ctx)
{
	struct nl_checking c = { .ftl = ftl, .report = report, .ctx = ctx };
	const struct nl_hybrid *h = nl_hybrid(ftl);
	u32 live = nl_check_pages(&c, h);

	live += nl_check_trims(&c);
	nl_check_blocks(&c, live);
	nl_check_data(&c, h);
	if (c.use[NL_USE_META] != h->meta_used)
		nl_finding(&c, "%u blocks have trim records, %u are counted", c.use[NL_USE_META],
			   h->meta_used);
	return c.found;
}
