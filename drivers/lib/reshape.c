// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: changing a pool's shape
 *
 * Members join and the map grows within the area that was laid out when the pool was
 * made: map pages upward, space maps in whatever gap there is below the last page.  A pool with
 * one metadata area gets a place for another, vacant, which resync.c fills.
 * All of it is one superblock, so that the power may go at any moment:
 *
 *	before the superblock is durable	the old shape; the pages that would have
 *						been the new member's or the map's are
 *						absent in its table, as in the new one's
 *	after it				the new shape, its new parts all zero, and a
 *						policy whose text goes with that
 *
 * Nothing in the journal can name a member that joins: the place of a removed one was
 * given up by a checkpoint, which emptied the journal, after its last extent was free.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/string.h>
#include "store_internal.h"

/* Lowest page index of a member's space map. */
static u64 ek_bitmap_low(const struct ek_super_member *m)
{
	return le64_to_cpu(m->bitmap_page) + 1 - le32_to_cpu(m->bitmap_pages);
}

/* The highest gap for @pages below @top that no member but @but has; sets @last. */
static bool ek_find_gap(const struct ek_super *sb, u32 nr, u32 but, u64 pages, u64 *last)
{
	u64 top = le64_to_cpu(sb->nr_pages);
	u32 i;

again:
	if (top < pages)
		return false;
	for (i = 0; i < nr; i++) {
		const struct ek_super_member *m = &sb->member[i];

		if (i == but || !m->nr_extents)
			continue;
		if (top > ek_bitmap_low(m) && top - pages <= le64_to_cpu(m->bitmap_page)) {
			top = ek_bitmap_low(m);
			goto again;
		}
	}
	*last = top - 1;
	return true;
}

static int ek_join(struct ek_super *sb, u32 i, const struct ek_reshape *r)
{
	u64 last, pages = ek_space_pages(r->member_extents[i]);
	struct ek_super_member *m = &sb->member[i];

	if (!r->member_extents[i] || r->member_extents[i] > EK_MAX_MEMBER_EXTENTS)
		return -EINVAL;
	if (!ek_find_gap(sb, r->nr_members, i, pages, &last))
		return -ENOSPC;
	memset(m, 0, sizeof(*m));
	memcpy(m->uuid, r->member_uuid[i], EK_UUID_SIZE);
	m->nr_extents = cpu_to_le32(r->member_extents[i]);
	m->state = cpu_to_le32(EK_MEMBER_ACTIVE);
	m->bitmap_page = cpu_to_le64(last);
	m->bitmap_pages = cpu_to_le32(pages);
	return 0;
}

/* May member @i join, and must it? */
static int ek_may_join(const struct ek_super *sb, u32 i, const struct ek_reshape *r)
{
	bool joins = r->joining >> i & 1;
	u32 nr = le32_to_cpu(sb->nr_members);

	if (i >= nr)
		return joins ? 0 : -EINVAL;
	if (joins && le32_to_cpu(sb->member[i].state) != EK_MEMBER_REMOVED)
		return -EINVAL;
	return 0;
}

static int ek_add_places(struct ek_super *sb, u32 nr_meta)
{
	u32 i, nr = le32_to_cpu(sb->nr_meta);

	if (!nr_meta)
		return 0;
	if (nr_meta < nr || nr_meta > EK_MAX_META)
		return -EINVAL;
	for (i = nr; i < nr_meta; i++)
		memset(sb->meta_uuid[i], 0xff, EK_UUID_SIZE);
	sb->nr_meta = cpu_to_le32(nr_meta);
	return 0;
}

/* @sb becomes what is wanted; @old: as it was, may be @sb. */
static int ek_reshape_plan(const struct ek_super *old, const struct ek_reshape *r,
			   struct ek_super *sb)
{
	u32 i;
	int err;

	if (sb != old)
		memcpy(sb, old, sizeof(*sb));
	if (r->policy && strlen(r->policy) >= EK_POLICY_TEXT_SIZE)
		return -EINVAL;
	if (r->nr_members < le32_to_cpu(old->nr_members) || r->nr_members > EK_MAX_MEMBERS ||
	    r->nr_extents < le64_to_cpu(old->nr_extents))
		return -EINVAL;
	if (r->nr_extents > (u64)EK_PAGES_MAX * EK_PAGE_ENTRIES)
		return -ENOSPC;
	err = ek_add_places(sb, r->nr_meta);
	if (err)
		return err;
	for (i = 0; i < r->nr_members; i++) {
		err = ek_may_join(old, i, r);
		if (!err && r->joining >> i & 1)
			err = ek_join(sb, i, r);
		if (err)
			return err;
	}
	if (r->policy) {
		memset(sb->policy, 0, sizeof(sb->policy));
		memcpy(sb->policy, r->policy, strlen(r->policy));
	}
	sb->nr_members = cpu_to_le32(r->nr_members);
	sb->nr_extents = cpu_to_le64(r->nr_extents);
	/* All that is left to go wrong is that the map reaches the space maps. */
	return ek_super_shape_valid(sb) ? 0 : -ENOSPC;
}

/**
 * ek_store_reshape_check - could it be done?
 * @store: opened
 * @r: what is wanted
 * @room: for the superblock that it would be; left with anything
 *
 * Context: any, takes no memory; may run beside the committer, not beside ek_store_reshape().
 * Return: 0; -ENOSPC: the metadata area is too small; -EINVAL.
 */
int ek_store_reshape_check(const struct ek_store *store, const struct ek_reshape *r,
			   struct ek_super *room)
{
	return ek_reshape_plan(store->super, r, room);
}
EXPORT_SYMBOL_GPL(ek_store_reshape_check);

/**
 * ek_store_reshape - let members join, let the map grow
 * @store: replayed
 * @r: what is wanted
 *
 * Context: the committer; sleeps.
 * Return: as the check; an error as ek_store_update_super(): the old shape is in force in
 * memory, and if the store is writable no longer, nobody knows which one on the media.
 */
int ek_store_reshape(struct ek_store *store, const struct ek_reshape *r)
{
	unsigned int added = 0;
	int err = ek_store_writable(store);

	if (!err && store->ckpt)
		err = -EBUSY;
	if (!err)
		err = ek_reshape_plan(store->pending, r, store->pending);	/* keeps states */
	if (!err) {
		added = ek_super_vacant(store->pending) & ~store->stale;
		store->stale |= added;
		err = ek_store_sync_super(store);
	}
	if (err) {
		memcpy(store->pending, store->super, sizeof(*store->pending));
		store->stale &= ~added;
	}
	return err;
}
EXPORT_SYMBOL_GPL(ek_store_reshape);
