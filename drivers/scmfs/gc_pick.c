// SPDX-License-Identifier: GPL-2.0-only
/* What garbage collection decides: from numbers alone, so that it can be tested so. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "engine_gc.h"

bool scmfs_gc_pressed(const struct scmfs_gc_params *p, u64 free, u64 all, bool was)
{
	return free * 100 < all * (was ? max(p->low, p->high) : p->low);
}

bool scmfs_gc_scattered(const struct scmfs_gc_params *p, u64 free, u64 whole_units)
{
	return whole_units * SCMFS_UNIT_BLOCKS * 100 < free * p->whole;
}

bool scmfs_gc_is_cold(const struct scmfs_gc_params *p, s64 mtime, s64 now)
{
	return mtime <= now && (u64)now - (u64)mtime >= (u64)p->cold;
}

void scmfs_gc_consider(struct scmfs_gc_victims *v, u64 unit, u32 used)
{
	u32 at;

	if (!used)
		return;
	if (v->nr == SCMFS_GC_VICTIMS) {
		if (used >= v->used[v->nr - 1])
			return;
		v->nr--;
	}
	for (at = v->nr++; at && v->used[at - 1] > used; at--) {
		v->unit[at] = v->unit[at - 1];
		v->used[at] = v->used[at - 1];
	}
	v->unit[at] = unit;
	v->used[at] = used;
}

/* What is free in the victims themselves is no room for what they have. */
void scmfs_gc_limit(struct scmfs_gc_victims *v, u64 room)
{
	u64 cost = 0, lost = 0;
	u32 i;

	for (i = 0; i < v->nr; i++) {
		cost += v->used[i];
		lost += SCMFS_UNIT_BLOCKS - v->used[i];
		if (cost + lost > room)
			break;
	}
	v->nr = i;
}

bool scmfs_gc_worth_whole(const struct scmfs_gc_part *part, u32 nr)
{
	u64 written = 0, all = 0, next = nr ? part[0].block : 0;
	bool whole = !(next % SCMFS_UNIT_BLOCKS);
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!part[i].block)
			return false;
		all += part[i].count;
		written += part[i].unwritten ? 0 : part[i].count;
		whole &= part[i].block == next;
		next = part[i].block + part[i].count;
	}
	return all == SCMFS_UNIT_BLOCKS && written >= SCMFS_UNIT_BLOCKS / 2 && !whole;
}
