// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints: pages that changed are written to their unused slots, the journal
 * is empty from then on.
 *
 * A page is written as it is now, changes not yet committed included, so the
 * members are flushed between taking its image and writing it, and the space map
 * is told of every place that the image points to.  A change that comes after the
 * image was taken stays marked and goes into the next commit.
 *
 * What changes an entry and frees its old place (a discard, a migration's switch)
 * waits while images are taken, so that both are in the checkpoint or neither.
 */
#include "hybrid.h"

/**
 * hy_page_dirty - a page differs from the media
 * @pool: the pool
 * @page: one of its map
 *
 * Context: the committer.
 */
void hy_page_dirty(struct hy_pool *pool, struct ek_map_page *page)
{
	if (!test_and_set_bit(EK_MAP_PAGE_DIRTY, &page->flags)) {
		list_add_tail(&page->dirty_node, &pool->dirty_pages);
		pool->nr_dirty++;
	}
}

static int note_dirty(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	hy_page_dirty(ctx, page);
	return 0;
}

static int forget(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	return 0;
}

/* The space map on the media must hold all that this image points to. */
static void store_image(struct hy_pool *pool, const struct ek_page *image)
{
	unsigned int i;

	for (i = 0; i < EK_PAGE_ENTRIES; i++) {
		u64 entry = le64_to_cpu(image->entry[i]);

		if (ek_entry_mapped(entry))
			ek_space_store(&pool->member[ek_entry_member(entry)].space,
				       ek_entry_pe(entry), 1, true);
	}
}

/* An image is of entries not yet committed, too: without what may not have become durable. */
static int take_back(struct hy_pool *pool, struct ek_map_page *page, struct ek_page *image)
{
	unsigned int i;
	u64 entry;
	int r = 0;

	for (i = 0; pool->doubted && !r && i < EK_PAGE_ENTRIES; i++) {
		entry = le64_to_cpu(image->entry[i]);
		r = hy_take_back(pool, page->index * EK_PAGE_ENTRIES + i, &entry);
		image->entry[i] = cpu_to_le64(entry);
	}
	return r;
}

/* Take images of the next dirty pages, as many as there is room for. */
static int take_images(struct hy_pool *pool, unsigned int *nr)
{
	unsigned int n = 0;
	int r = 0;

	while (!r && n < HY_IMAGES && !list_empty(&pool->dirty_pages)) {
		struct ek_map_page *page = list_first_entry(&pool->dirty_pages,
							    struct ek_map_page, dirty_node);

		list_move_tail(&page->dirty_node, &pool->writing_pages);
		clear_bit(EK_MAP_PAGE_DIRTY, &page->flags);
		pool->nr_dirty--;
		/* Marks first, image then: a change in between is marked again. */
		ek_map_take_page(&pool->map, page, forget, NULL);
		ek_map_page_encode(page, &pool->images[n]);
		r = take_back(pool, page, &pool->images[n]);
		store_image(pool, &pool->images[n]);
		pool->image_index[n++] = page->index;
	}
	*nr = n;
	return r;
}

static int write_images(struct hy_pool *pool, unsigned int n)
{
	unsigned int i;
	int r = hy_members_flush(pool, HY_ALL_MEMBERS);

	for (i = 0; !r && i < n; i++)
		r = ek_store_ckpt_page(pool->store, pool->image_index[i], &pool->images[i]);
	return r;
}

/*
 * Until all images are taken no entry may change together with a free: its image
 * and the list of frees would disagree.  The committer sees to it that there is
 * room for all of them at once, but for the odd commit that changed very many.
 */
static int write_map(struct hy_pool *pool, struct list_head *frees)
{
	unsigned int n;
	bool last;
	int r;

	down_write(&pool->free_sem);
	hy_free_take(pool, frees);
	r = hy_take_back_moved(pool, frees);
	if (r) {
		up_write(&pool->free_sem);
		return r;
	}
	ek_map_take_changed(&pool->map, note_dirty, pool);
	do {
		r = take_images(pool, &n);
		last = list_empty(&pool->dirty_pages);
		if (last)
			up_write(&pool->free_sem);
		if (!r)
			r = write_images(pool, n);
	} while (!r && !last);
	if (!last)
		up_write(&pool->free_sem);
	return r;
}

static int write_space(struct hy_pool *pool, unsigned int member)
{
	struct ek_space *space = &pool->member[member].space;
	u32 pages = ek_space_pages(space->nr), p;
	int r = 0;

	for (p = ek_space_next_dirty(space, 0); !r && p < pages;
	     p = ek_space_next_dirty(space, p + 1)) {
		ek_space_encode(space, p, &pool->images[0]);
		r = ek_store_ckpt_page(pool->store, ek_store_space_index(pool->store, member, p),
				       &pool->images[0]);
	}
	return r;
}

static void space_is_clean(struct ek_space *space)
{
	u32 pages = ek_space_pages(space->nr), p;

	for (p = ek_space_next_dirty(space, 0); p < pages; p = ek_space_next_dirty(space, p + 1))
		ek_space_clear_dirty(space, p);
}

/*
 * It failed: all of the pages must be written again, and which of their entries
 * were changed is no longer known.
 */
static void mark_again(struct hy_pool *pool)
{
	struct ek_map_page *page, *tmp;
	unsigned int i;

	list_for_each_entry_safe(page, tmp, &pool->writing_pages, dirty_node) {
		list_del_init(&page->dirty_node);
		hy_page_dirty(pool, page);
	}
	list_for_each_entry(page, &pool->dirty_pages, dirty_node)
		for (i = 0; i < EK_PAGE_ENTRIES; i++) {
			u64 le = page->index * EK_PAGE_ENTRIES + i;

			if (le < pool->map.nr_extents)
				ek_map_mark_changed(&pool->map, le);
		}
}

/*
 * Members that leave are removed by the very superblock that empties the journal: not by an
 * earlier one, as the journal might name places of theirs that another is given by then.
 */
static void note_removed(struct hy_pool *pool, u32 state)
{
	unsigned long removing = pool->removing;
	unsigned int i;

	for_each_set_bit(i, &removing, EK_MAX_MEMBERS)
		ek_store_set_member_state(pool->store, i, state);
}

static int write_all(struct hy_pool *pool, struct list_head *frees, u32 flags)
{
	struct hy_free *f;
	unsigned int i;
	int r;

	r = write_map(pool, frees);
	list_for_each_entry(f, frees, list)
		ek_space_store(&pool->member[f->member].space, f->pe, f->count, false);
	for (i = 0; !r && i < pool->nr_members; i++)
		r = write_space(pool, i);
	if (!r) {
		note_removed(pool, EK_MEMBER_REMOVED);
		r = ek_store_ckpt_commit(pool->store, flags);
	}
	if (!r)
		return 0;
	note_removed(pool, EK_MEMBER_DRAINING);
	ek_store_ckpt_abort(pool->store);
	if (ek_store_writable(pool->store))
		hy_pool_needs_check(pool, "a checkpoint failed");
	return r;
}

static void take_removed(struct hy_pool *pool)
{
	unsigned long removing = pool->removing;
	unsigned int i;

	for_each_set_bit(i, &removing, EK_MAX_MEMBERS) {
		WRITE_ONCE(pool->member[i].leaving, false);
		hy_member_becomes(pool, &pool->member[i], EK_MEMBER_REMOVED);
	}
	pool->removing = 0;
}

static void forget_replayed(struct hy_pool *pool)
{
	mutex_lock(&pool->load_lock);
	kvfree(pool->replayed);
	pool->replayed = NULL;
	pool->nr_replayed = 0;
	mutex_unlock(&pool->load_lock);
}

/**
 * hy_checkpoint - write all that changed, empty the journal
 * @pool: the pool
 * @frees: what is freed by then is added; not consumed
 * @flags: EK_SUPER_* for the superblock
 *
 * Context: the committer; sleeps.
 * Return: 0, or an error after which everything is still to be done.
 */
int hy_checkpoint(struct hy_pool *pool, struct list_head *frees, u32 flags)
{
	struct ek_map_page *page, *tmp;
	unsigned int i;
	int r;

	r = hy_pool_load_replayed(pool);
	if (r)
		return r;
	hy_policy_note(pool);
	r = ek_store_ckpt_begin(pool->store);
	if (!r)
		r = write_all(pool, frees, flags);
	if (r) {
		mark_again(pool);
		return r;
	}
	take_removed(pool);
	for (i = 0; i < pool->nr_members; i++)
		space_is_clean(&pool->member[i].space);
	list_for_each_entry_safe(page, tmp, &pool->writing_pages, dirty_node)
		list_del_init(&page->dirty_node);
	forget_replayed(pool);
	return 0;
}
