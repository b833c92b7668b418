// SPDX-License-Identifier: GPL-2.0-only
/* The bounded LRU list of accessed extents; see heat.h. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include "heat.h"

/* Nodes that hy_heat_pick() looks at: this many, and as many for each one wanted. */
#define PICK_BASE	256
#define PICK_EACH	4
#define PICK_HELD	4096	/* that hy_heat_coolest() looks at, with those that are held */
#define LOOKS		4096	/* samples of accesses after which half of them are forgotten */
#define LEAST_HITS	4	/* one in so many is taken for one that hits */
#define LASTING_ONE	16	/* an access in hy_heat_node.lasting, */
#define LASTING_PART	128	/* of which this part is forgotten at a time */
#define CLEARLY		9	/* the square of three standard deviations */

/**
 * hy_heat_init - an empty list
 * @heat: the list
 * @max: extents at most; 0: nothing is ever hot
 */
void hy_heat_init(struct hy_heat *heat, u32 max)
{
	unsigned int i;

	INIT_LIST_HEAD(&heat->lru);
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		INIT_LIST_HEAD(&heat->member[i]);
	xa_init(&heat->by_extent);
	heat->nr = 0;
	heat->accesses = 0;
	heat->samples = 0;
	heat->looks = 0;
	heat->hits = 0;
	heat->cooling = 0;
	heat->too_hot = 0;
	heat->nr_held = 0;
	heat->too_cool = 0;
	heat->beyond = HY_HEAT_ANY;
	heat->held = NULL;
	heat->data = NULL;
	heat->max = max;
}

static struct hy_heat_node *find(struct hy_heat *heat, u64 le)
{
	return xa_load(&heat->by_extent, le);
}

static struct hy_heat_node *coldest(struct hy_heat *heat)
{
	return list_last_entry(&heat->lru, struct hy_heat_node, lru);
}

/* Off the list; the caller has or frees it. */
static void unlink_node(struct hy_heat *heat, struct hy_heat_node *node)
{
	xa_erase(&heat->by_extent, node->le);
	list_del(&node->lru);
	list_del(&node->mine);
	heat->accesses -= node->accesses;
	heat->nr--;
}

static void drop(struct hy_heat *heat, struct hy_heat_node *node)
{
	unlink_node(heat, node);
	kfree(node);
}

/**
 * hy_heat_resize - change the bound; the coldest go
 * @heat: the list
 * @max: the new bound
 *
 * Context: does not sleep.
 */
void hy_heat_resize(struct hy_heat *heat, u32 max)
{
	heat->max = max;
	while (heat->nr > max)
		drop(heat, coldest(heat));
}

/**
 * hy_heat_destroy - free what the list holds
 * @heat: the list
 */
void hy_heat_destroy(struct hy_heat *heat)
{
	hy_heat_resize(heat, 0);
	xa_destroy(&heat->by_extent);
}

/* A node that is on no list: new, or the coldest when there may be or is no new one. */
static struct hy_heat_node *get_node(struct hy_heat *heat, gfp_t gfp)
{
	struct hy_heat_node *node = NULL;

	if (heat->nr < heat->max)
		node = kmalloc(sizeof(*node), gfp);
	if (!node && heat->nr) {
		node = coldest(heat);
		unlink_node(heat, node);
	}
	return node;
}

static struct hy_heat_node *insert(struct hy_heat *heat, u64 le, unsigned int member, gfp_t gfp)
{
	struct hy_heat_node *node;

	/* Before one of them is given up for it. */
	if (xa_reserve(&heat->by_extent, le, gfp))
		return NULL;
	node = get_node(heat, gfp);
	if (!node) {
		xa_release(&heat->by_extent, le);
		return NULL;
	}
	*node = (struct hy_heat_node){ .le = le, .member = member };
	xa_store(&heat->by_extent, le, node, gfp);	/* there is room for it */
	list_add(&node->lru, &heat->lru);
	list_add(&node->mine, &heat->member[member]);
	heat->nr++;
	return node;
}

static void note_member(struct hy_heat *heat, struct hy_heat_node *node, unsigned int member)
{
	node->member = member;
	list_move(&node->mine, &heat->member[member]);
}

/*
 * How often was it on the list already?  A sample counts for as many as it stands for, or CPUs with
 * few accesses would say how often all of them come again.
 */
static void note_look(struct hy_heat *heat, bool hit, u32 n)
{
	if (heat->samples == LOOKS) {
		heat->samples /= 2;
		heat->looks /= 2;
		heat->hits /= 2;
	}
	heat->samples++;
	heat->looks += n;
	heat->hits += hit ? n : 0;
}

/**
 * hy_heat_touch - an extent was accessed
 * @heat: the list
 * @le: the logical extent
 * @member: where it is
 * @write: or read
 * @n: how often
 * @gfp: how to allocate; without memory the coldest node makes room, or the access
 *	is forgotten
 *
 * Context: sleeps if @gfp may.
 */
void hy_heat_touch(struct hy_heat *heat, u64 le, unsigned int member, bool write, u32 n,
		   gfp_t gfp)
{
	struct hy_heat_node *node = find(heat, le);

	note_look(heat, node, n);
	if (node) {
		list_move(&node->lru, &heat->lru);
		note_member(heat, node, member);
	} else {
		node = insert(heat, le, member, gfp);
	}
	if (!node)
		return;
	node->lasting += min(n, (U32_MAX - node->lasting) / LASTING_ONE) * LASTING_ONE;
	n = min(n, U32_MAX - node->accesses);
	node->accesses += n;
	node->writes += write ? n : 0;
	heat->accesses += n;
}

/**
 * hy_heat_is_hot - is it on the list
 * @heat: the list
 * @le: the logical extent
 *
 * Return: if so.
 */
bool hy_heat_is_hot(struct hy_heat *heat, u64 le)
{
	return find(heat, le);
}

/**
 * hy_heat_moved - an extent has migrated, or begins to
 * @heat: the list; an extent that is not on it is none of its business
 * @le: the logical extent
 * @member: where it is now
 * @now: the caller's clock
 *
 * While it is on its way, this keeps it from being picked again.
 */
void hy_heat_moved(struct hy_heat *heat, u64 le, unsigned int member, u64 now)
{
	struct hy_heat_node *node = find(heat, le);

	if (!node)
		return;
	note_member(heat, node, member);
	node->moved_at = now ? now : 1;
}

/**
 * hy_heat_forget - an extent is gone (discarded)
 * @heat: the list
 * @le: the logical extent
 */
void hy_heat_forget(struct hy_heat *heat, u64 le)
{
	struct hy_heat_node *node = find(heat, le);

	if (node)
		drop(heat, node);
}

/**
 * hy_heat_age - halve every count, but of what lasts forget a 128th
 * @heat: the list; all of it is walked
 */
void hy_heat_age(struct hy_heat *heat)
{
	struct hy_heat_node *node;

	heat->accesses = 0;
	list_for_each_entry(node, &heat->lru, lru) {
		node->accesses /= 2;
		node->writes /= 2;
		node->lasting -= DIV_ROUND_UP((u64)node->lasting, LASTING_PART);
		heat->accesses += node->accesses;
	}
}

/*
 * Of the accesses to what is on the list, half of one added for each: what was seen once may not be
 * seen again.  And of all accesses the list has so many as hit it: where there are far more extents
 * than it holds, most come anew, and the next access goes to none of them.  A quarter at least: if
 * nearly nothing comes again it is of little use to move much.
 */
static u32 share_of(const struct hy_heat *heat, const struct hy_heat_node *node)
{
	u64 listed = div64_u64((2 * (u64)node->accesses + 1) * 1000000,
			       2 * heat->accesses + heat->nr);
	u64 hits = max(heat->hits, heat->looks / LEAST_HITS);

	/* LOOKS samples of U32_MAX accesses times a million are less than 2^64. */
	return max_t(u64, div64_u64(listed * (hits + 1), heat->looks + 1), 1);
}

/**
 * hy_heat_share - how much of the load an extent is
 * @heat: the list
 * @le: the logical extent
 *
 * Return: its part of all accesses, as far as known, ppm, at least 1; 0: it is not on the list.
 */
u32 hy_heat_share(struct hy_heat *heat, u64 le)
{
	struct hy_heat_node *node = find(heat, le);

	return node ? share_of(heat, node) : 0;
}

/**
 * hy_heat_get - what is known of an extent
 * @heat: the list
 * @le: the logical extent
 * @copy: filled; its lists are of no use
 *
 * Return: is it on the list?
 */
bool hy_heat_get(struct hy_heat *heat, u64 le, struct hy_heat_node *copy)
{
	struct hy_heat_node *node = find(heat, le);

	if (node)
		*copy = *node;
	return node;
}

/**
 * hy_heat_counts - what is counted of the extents on the list
 * @heat: the list
 * @cursor: the first extent to be told; moved on, U64_MAX: that was all
 * @count: filled, in the order of extents; those with no accesses left are left out
 * @max: how many at most
 *
 * Return: how many.
 */
unsigned int hy_heat_counts(struct hy_heat *heat, u64 *cursor, struct hy_count *count,
			    unsigned int max)
{
	struct hy_heat_node *node;
	unsigned long le;
	unsigned int n = 0;

	xa_for_each_start(&heat->by_extent, le, node, *cursor) {
		if (n == max) {
			*cursor = le;
			return n;
		}
		if (!node->accesses)
			continue;
		count[n++] = (struct hy_count){ .le = le, .writes = node->writes,
						.reads = node->accesses - node->writes };
	}
	*cursor = U64_MAX;
	return n;
}

static bool cooling(const struct hy_heat_node *node, u64 now, u64 cooldown)
{
	if (!node->moved_at)
		return false;
	return now < node->moved_at || now - node->moved_at < cooldown;
}

/*
 * Is it hotter than what would have to make room for it, and not by chance?  Numbers of accesses
 * vary as their roots do, and as many times as one that is known stands for others.  Where nothing
 * is hotter than the rest extents would change places for ever else.
 */
static bool is_hotter(const struct hy_heat *heat, u64 in, u64 out)
{
	u64 each = div64_u64(heat->looks, max(heat->samples, 1U));
	u64 difference = in > out ? in - out : 0;

	/* Squares, in 1/256: no more than 2^32 each. */
	difference = min_t(u64, difference, U32_MAX);
	return difference * difference >
	       CLEARLY * LASTING_ONE * (in + out) * clamp_t(u64, each, 1, BIT(20));
}

static bool is_beyond(const struct hy_heat *heat, const struct hy_heat_node *node)
{
	return heat->beyond == HY_HEAT_ANY || is_hotter(heat, node->lasting, heat->beyond);
}

/**
 * hy_heat_is_beyond - may an extent go where something hot has to leave for it?
 * @heat: the list; ->beyond: how hot that is
 * @le: the logical extent
 *
 * Return: if so; what is not on the list may only where nothing has to leave.
 */
bool hy_heat_is_beyond(struct hy_heat *heat, u64 le)
{
	struct hy_heat_node *node = find(heat, le);

	return node ? is_beyond(heat, node) : heat->beyond == HY_HEAT_ANY;
}

/**
 * hy_heat_pick - the best extents to move off a member
 * @heat: the list
 * @member: where they are now
 * @now: the caller's clock
 * @cooldown: an extent that moved less than this ago stays
 * @most: ppm; what has a larger part of the accesses stays
 * @le: filled, the order of the member's list
 * @max: how many at most
 *
 * What comes to a member that is full has something else leave it: where @heat->beyond says how hot
 * that is, only what is clearly hotter goes.
 *
 * Looks at no more than 256 + 4 * @max nodes but those that are held: they may be the hottest for
 * ever, and others are to be found behind them.
 *
 * Return: how many.
 */
unsigned int hy_heat_pick(struct hy_heat *heat, unsigned int member, u64 now, u64 cooldown,
			  u32 most, u64 *le, unsigned int max)
{
	u64 budget = PICK_BASE + (u64)PICK_EACH * max;
	struct hy_heat_node *node;
	unsigned int n = 0;

	heat->cooling = 0;
	heat->too_hot = 0;
	heat->nr_held = 0;
	heat->too_cool = 0;
	list_for_each_entry(node, &heat->member[member], mine) {
		if (n == max)
			break;
		if (heat->held && heat->held(heat->data, node->le)) {
			heat->nr_held++;
			continue;
		}
		if (!budget--)
			break;
		if (cooling(node, now, cooldown))
			heat->cooling++;
		else if (share_of(heat, node) > most)
			heat->too_hot++;
		else if (!is_beyond(heat, node))
			heat->too_cool++;
		else
			le[n++] = node->le;
	}
	return n;
}

/**
 * hy_heat_coolest - what of a member may make room for something hotter
 * @heat: the list
 * @member: where it is
 * @now: the caller's clock
 * @cooldown: an extent that moved less than this ago stays
 * @le: set to the extent
 * @lasting: set to how hot it is, for @heat->beyond
 *
 * Of the 256 that were accessed, or came, the longest ago the one with the fewest accesses, but
 * for those that @heat->held says of: they may be there for ever.
 *
 * Return: is there one?
 */
bool hy_heat_coolest(struct hy_heat *heat, unsigned int member, u64 now, u64 cooldown, u64 *le,
		     u32 *lasting)
{
	unsigned int budget = PICK_BASE, most = PICK_HELD;
	struct hy_heat_node *node;
	bool found = false;

	list_for_each_entry_reverse(node, &heat->member[member], mine) {
		if (!budget || !most--)
			break;
		if (heat->held && heat->held(heat->data, node->le))
			continue;
		budget--;
		if (cooling(node, now, cooldown) || (found && node->lasting >= *lasting))
			continue;
		*le = node->le;
		*lasting = node->lasting;
		found = true;
	}
	return found;
}
