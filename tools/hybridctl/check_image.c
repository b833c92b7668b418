// SPDX-License-Identifier: GPL-2.0-only
/* Loads map and space maps, replays the journal, and compares them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"
#include "msg.h"

#define WORD_BITS	(8 * sizeof(unsigned long))

static bool test(const unsigned long *map, u32 bit)
{
	return map[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

static void mark(unsigned long *map, u32 bit)
{
	map[bit / WORD_BITS] |= 1ul << bit % WORD_BITS;
}

static void load_page(struct image *im, struct ek_store *store, u64 index, struct ek_page *media)
{
	uint64_t le = index * EK_PAGE_ENTRIES;
	unsigned int i;
	int err;

	if (ek_store_page_absent(store, index))
		return;
	im->check->pages++;
	err = ek_store_read_page(store, index, media);
	if (err) {
		findings_add(&im->check->errors, "page %llu (extents %llu to %llu): %s",
			     (unsigned long long)index, (unsigned long long)le,
			     (unsigned long long)le + EK_PAGE_ENTRIES - 1,
			     err == -EUCLEAN ? "damaged" : strerror(-err));
		return;
	}
	im->page[index] = xcalloc(EK_PAGE_ENTRIES, sizeof(u64));
	for (i = 0; i < EK_PAGE_ENTRIES; i++)
		im->page[index][i] = le64_to_cpu(media->entry[i]);
}

static void load_map(struct image *im, struct ek_store *store)
{
	struct ek_page *media = bdev_buffer(sizeof(*media));
	u64 index;

	for (index = 0; index < im->nr_pages; index++)
		load_page(im, store, index, media);
	free(media);
}

static void load_space(struct image *im, struct ek_store *store, unsigned int m)
{
	int err;

	im->extents[m] = le32_to_cpu(im->sb->member[m].nr_extents);
	im->seen[m] = xcalloc(im->extents[m] / WORD_BITS + 1, sizeof(unsigned long));
	im->check->total += im->extents[m];
	err = ek_space_init(&im->space[m], im->extents[m]);
	if (err) {
		findings_add(&im->check->errors, "space map of member %u: %s", m, strerror(-err));
		return;
	}
	err = ek_store_load_space(store, m, &im->space[m]);
	im->loaded[m] = !err;
	if (err) {
		findings_add(&im->check->errors, "space map of member %u: %s", m,
			     err == -EUCLEAN ? "damaged" : strerror(-err));
		ek_space_destroy(&im->space[m]);
	}
}

static int replay_map(void *ctx, u64 le, u64 entry)
{
	struct image *im = ctx;
	u64 index = le / EK_PAGE_ENTRIES;
	unsigned int m = ek_entry_member(entry);

	im->check->journal_records++;
	if (le >= im->nr_extents)
		return -EUCLEAN;
	if (!im->page[index])
		im->page[index] = xcalloc(EK_PAGE_ENTRIES, sizeof(u64));
	im->page[index][le % EK_PAGE_ENTRIES] = entry;
	if (!ek_entry_mapped(entry) || m >= im->nr_members || !im->loaded[m])
		return 0;
	return ek_space_store(&im->space[m], ek_entry_pe(entry), 1, true) ? -EUCLEAN : 0;
}

static int replay_free(void *ctx, unsigned int m, u32 pe, u32 count)
{
	struct image *im = ctx;

	im->check->journal_records++;
	if (m >= im->nr_members)
		return -EUCLEAN;
	if (!im->loaded[m])
		return 0;
	return ek_space_store(&im->space[m], pe, count, false) ? -EUCLEAN : 0;
}

bool image_load(struct image *im, struct check *c, struct ek_store *store)
{
	uint64_t before = c->errors.nr;
	unsigned int m;
	int err;

	memset(im, 0, sizeof(*im));
	im->check = c;
	im->sb = ek_store_super(store);
	im->nr_extents = le64_to_cpu(im->sb->nr_extents);
	im->nr_pages = (im->nr_extents + EK_PAGE_ENTRIES - 1) / EK_PAGE_ENTRIES;
	im->nr_members = le32_to_cpu(im->sb->nr_members);
	im->page = xcalloc(im->nr_pages, sizeof(*im->page));
	c->logical = im->nr_extents;
	load_map(im, store);
	for (m = 0; m < im->nr_members; m++)
		load_space(im, store, m);
	err = ek_store_replay(store, replay_map, replay_free, im);
	if (err)
		findings_add(&c->errors, "journal: %s",
			     err == -EUCLEAN ? "damaged" : strerror(-err));
	return c->errors.nr == before;
}

static void check_entry(struct image *im, uint64_t le, u64 entry)
{
	struct findings *errors = &im->check->errors;
	unsigned int m = ek_entry_member(entry);
	unsigned long long l = le;
	u32 pe;

	if (!entry)
		return;
	if (le >= im->nr_extents) {
		findings_add(errors, "extent %llu: mapped, but past the volume's end", l);
		return;
	}
	if (!ek_entry_mapped(entry)) {
		findings_add(errors, "extent %llu: not mapped, but has validity bits", l);
		return;
	}
	pe = ek_entry_pe(entry);
	im->check->mapped++;
	if (m >= im->nr_members || pe >= im->extents[m]) {
		findings_add(errors, "extent %llu: on member %u extent %u, which is not there",
			     l, m, pe);
		return;
	}
	if (test(im->seen[m], pe))
		findings_add(errors, "extent %llu: on member %u extent %u, which another has, too",
			     l, m, pe);
	mark(im->seen[m], pe);
	if (im->loaded[m] && !test(im->space[m].stored, pe))
		findings_add(errors, "extent %llu: on member %u extent %u, which is marked free",
			     l, m, pe);
}

static void check_leaks(struct image *im, unsigned int m)
{
	uint64_t leaked = 0;
	u32 pe;

	if (!im->loaded[m])
		return;
	for (pe = 0; pe < im->extents[m]; pe++) {
		if (!test(im->space[m].stored, pe))
			continue;
		im->check->used++;
		leaked += !test(im->seen[m], pe);
	}
	if (leaked)
		findings_add(&im->check->warnings,
			     "member %u: %llu extents marked used that nothing maps", m,
			     (unsigned long long)leaked);
	im->check->leaked += leaked;
}

void image_check(struct image *im)
{
	uint64_t index;
	unsigned int i, m;

	for (index = 0; index < im->nr_pages; index++)
		for (i = 0; im->page[index] && i < EK_PAGE_ENTRIES; i++)
			check_entry(im, index * EK_PAGE_ENTRIES + i, im->page[index][i]);
	for (m = 0; m < im->nr_members; m++)
		check_leaks(im, m);
}

void image_free(struct image *im)
{
	uint64_t index;
	unsigned int m;

	for (index = 0; index < im->nr_pages; index++)
		free(im->page[index]);
	free(im->page);
	for (m = 0; m < im->nr_members; m++) {
		free(im->seen[m]);
		if (im->loaded[m])
			ek_space_destroy(&im->space[m]);
	}
}
