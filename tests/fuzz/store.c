// SPDX-License-Identifier: GPL-2.0-only
/*
 * A whole metadata area, edited: opened, loaded and replayed as the kernel does, and
 * when that works it must go on working: a transaction, a checkpoint, and the same
 * map after the next start.
 */
#include <evenkeel/entry.h>
#include <evenkeel/space_map.h>

#include "fuzz.h"
#include "edited.h"
#include "store_internal.h"

struct run {
	const char *reason;
	struct media *m;
	unsigned int areas;
	struct ek_store *store;
	u64 nr_extents;
	u64 *map;
	unsigned int members;
	u32 extents[EK_MAX_MEMBERS];
	struct ek_space space[EK_MAX_MEMBERS];
};

static bool in_range(const struct run *r, u64 entry)
{
	unsigned int m = ek_entry_member(entry);

	return !entry || (ek_entry_mapped(entry) && m < r->members &&
			  ek_entry_pe(entry) < r->extents[m]);
}

static int found_map(void *ctx, u64 le, u64 entry)
{
	struct run *r = ctx;

	MUST(le < r->nr_extents && in_range(r, entry));
	r->map[le] = entry;
	if (entry)
		MUST(!ek_space_store(&r->space[ek_entry_member(entry)], ek_entry_pe(entry), 1, true));
	return 0;
}

static int found_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	struct run *r = ctx;

	MUST(member < r->members && count && pe < r->extents[member] &&
	     count <= r->extents[member] - pe);
	MUST(!ek_space_store(&r->space[member], pe, count, false));
	return 0;
}

/* What the superblock says, whoever wrote it, is within the area and bounded. */
static void check_super(struct run *r)
{
	const struct ek_super *sb = ek_store_super(r->store);
	u64 bytes = pool_area_bytes(), pages = le64_to_cpu(sb->nr_pages);
	u64 extent = le32_to_cpu(sb->extent_sectors), map_pages;
	unsigned int i;

	r->nr_extents = le64_to_cpu(sb->nr_extents);
	r->members = le32_to_cpu(sb->nr_members);
	MUST(r->members >= 1 && r->members <= EK_MAX_MEMBERS && r->nr_extents);
	MUST(le32_to_cpu(sb->nr_meta) >= 1 && le32_to_cpu(sb->nr_meta) <= EK_MAX_META);
	MUST(extent >= EK_MIN_EXTENT_SECTORS && extent <= EK_MAX_EXTENT_SECTORS &&
	     !(extent & (extent - 1)));
	map_pages = (r->nr_extents + EK_PAGE_ENTRIES - 1) / EK_PAGE_ENTRIES;
	MUST(pages && pages <= bytes / (2 * EK_BLOCK_SIZE) && map_pages < pages);
	MUST(le64_to_cpu(sb->pages_offset) + pages * 2 * EK_BLOCK_SIZE < bytes);
	MUST(ek_store_journal_used(r->store) <= ek_store_journal_blocks(r->store));
	MUST(ek_store_journal_blocks(r->store) < bytes / EK_BLOCK_SIZE);
	MUST(ek_store_areas(r->store) && !(ek_store_areas(r->store) & ~r->areas));
	MUST(!(ek_store_areas(r->store) & ek_store_stale(r->store)));
	MUST(strnlen((const char *)sb->policy, EK_POLICY_TEXT_SIZE) < EK_POLICY_TEXT_SIZE);
	for (i = 0; i < r->members; i++) {
		u64 last = ek_store_space_index(r->store, i, 0);

		r->extents[i] = le32_to_cpu(sb->member[i].nr_extents);
		MUST(r->extents[i] && r->extents[i] <= EK_MAX_MEMBER_EXTENTS);
		MUST(last < pages && last + 1 >= map_pages + ek_space_pages(r->extents[i]));
	}
}

static int load(struct run *r)
{
	struct ek_page *page = malloc(sizeof(*page));
	u64 index, i;
	int err = 0;

	for (i = 0; i < r->members; i++)
		MUST(!ek_space_init(&r->space[i], r->extents[i]));
	for (i = 0; i < r->members && !err; i++)
		err = ek_store_load_space(r->store, i, &r->space[i]);
	for (index = 0; index < ek_map_pages(&r->store->geo) && !err; index++) {
		err = ek_store_read_page(r->store, index, page);
		for (i = 0; i < EK_PAGE_ENTRIES && !err; i++) {
			u64 le = index * EK_PAGE_ENTRIES + i, e = le64_to_cpu(page->entry[i]);

			MUST(le < r->nr_extents ? in_range(r, e) : !e);
			if (le < r->nr_extents)
				r->map[le] = e;
		}
	}
	if (!err)
		err = ek_store_replay(r->store, found_map, found_free, r);
	free(page);
	return err;
}

/* 0: all of it is in memory.  Otherwise an error of those that are documented. */
static int start(struct run *r)
{
	u64 bytes[2] = { pool_area_bytes(), pool_area_bytes() };
	int err;

	r->reason = NULL;
	err = ek_store_open(&media_io, r->m, bytes, r->areas, &r->store, &r->reason);
	MUST(!err == !!r->store);
	if (err) {
		MUST(r->reason && *r->reason);
		MUST(err == -ENODATA || err == -EUCLEAN || err == -EPROTONOSUPPORT ||
		     (err == -EIO && !r->areas), "%d", err);
		return err;
	}
	check_super(r);
	r->map = calloc(r->nr_extents, sizeof(*r->map));
	err = load(r);
	MUST(!err || err == -EUCLEAN, "%d", err);
	return err;
}

static void stop(struct run *r)
{
	unsigned int i;

	for (i = 0; r->store && i < r->members; i++)
		ek_space_destroy(&r->space[i]);
	ek_store_close(r->store);
	free(r->map);
	r->store = NULL;
	r->map = NULL;
}

/* Every extent once, used exactly what is mapped; true of every pool nobody edited. */
static void check_consistent(struct run *r)
{
	u64 mapped = 0, used = 0, le;
	unsigned int i;
	u32 pe;

	for (le = 0; le < r->nr_extents; le++) {
		u64 e = r->map[le], other;

		if (!e)
			continue;
		mapped++;
		MUST(test_bit(ek_entry_pe(e), r->space[ek_entry_member(e)].stored));
		for (other = 0; other < le; other++)
			MUST(!r->map[other] || ek_entry_place(r->map[other]) != ek_entry_place(e));
	}
	for (i = 0; i < r->members; i++)
		for (pe = 0; pe < r->extents[i]; pe++)
			used += test_bit(pe, r->space[i].stored);
	MUST(used == mapped);
}

static void activate(struct run *r)
{
	unsigned int i;
	u32 pe, used;

	for (i = 0; i < r->members; i++) {
		u32 tail = r->extents[i] % BITS_PER_LONG;

		MUST(!tail || !(r->space[i].stored[r->extents[i] / BITS_PER_LONG] >> tail));
		ek_space_activate(&r->space[i]);
		for (pe = 0, used = 0; pe < r->extents[i]; pe++)
			used += test_bit(pe, r->space[i].used);
		MUST(used + ek_space_nr_free(&r->space[i]) == r->extents[i]);
	}
}

/* Move one extent, if there is room for it; true if its transaction is durable. */
static bool commit(struct run *r, u64 le)
{
	u64 old = r->map[le];
	unsigned int i;
	u32 pe = EK_SPACE_NONE;
	int err;

	for (i = 0; i < r->members && pe == EK_SPACE_NONE; i++)
		pe = ek_space_alloc(&r->space[i], EK_SPACE_NONE);
	if (pe == EK_SPACE_NONE)
		return false;
	i--;
	MUST(pe < r->extents[i] && !test_bit(pe, r->space[i].stored));
	err = ek_store_tx_add_map(r->store, le, ek_entry_make(i, pe, 5));
	if (!err && old)
		err = ek_store_tx_add_free(r->store, ek_entry_member(old), ek_entry_pe(old), 1);
	MUST(!err || err == -ENOSPC, "%d", err);
	if (!err)
		MUST(!ek_store_tx_commit(r->store));
	else
		ek_store_tx_abort(r->store);
	MUST(!ek_space_store(&r->space[i], pe, 1, true));
	if (old)
		MUST(!ek_space_store(&r->space[ek_entry_member(old)], ek_entry_pe(old), 1, false));
	r->map[le] = ek_entry_make(i, pe, 5);
	return !err;
}

static void checkpoint(struct run *r)
{
	struct ek_page *page = malloc(sizeof(*page));
	u64 generation = ek_store_generation(r->store), index, i;
	u32 p;

	MUST(!ek_store_ckpt_begin(r->store));
	for (index = 0; index < ek_map_pages(&r->store->geo); index++) {
		memset(page, 0, sizeof(*page));
		for (i = 0; i < EK_PAGE_ENTRIES && index * EK_PAGE_ENTRIES + i < r->nr_extents; i++)
			page->entry[i] = cpu_to_le64(r->map[index * EK_PAGE_ENTRIES + i]);
		MUST(!ek_store_ckpt_page(r->store, index, page));
	}
	for (i = 0; i < r->members; i++)
		for (p = 0; p < ek_space_pages(r->extents[i]); p++) {
			ek_space_encode(&r->space[i], p, page);
			MUST(!ek_store_ckpt_page(r->store, ek_store_space_index(r->store, i, p), page));
		}
	MUST(!ek_store_ckpt_commit(r->store, EK_SUPER_CLEAN));
	MUST(ek_store_generation(r->store) > generation && !ek_store_journal_used(r->store));
	free(page);
}

static void must_start(struct run *r)
{
	int err = start(r);

	MUST(!err, "%d: %s", err, r->store ? "while loading" : r->reason);
}

static void must_be(const struct run *r, const struct run *before)
{
	unsigned int i;

	MUST(r->nr_extents == before->nr_extents && r->members == before->members);
	MUST(!memcmp(r->map, before->map, r->nr_extents * sizeof(*r->map)));
	for (i = 0; i < r->members; i++)
		MUST(!memcmp(r->space[i].stored, before->space[i].stored,
			     BITS_TO_LONGS(r->extents[i]) * sizeof(long)));
}

/* What a commit and a checkpoint may take: each may have to say that it left an area out. */
#define GENERATIONS_NEEDED	8

/* A store that has used up its generations stays as it is: the last one opens. */
static void grow_too_old(struct run *r)
{
	struct run again = { .m = r->m, .areas = r->areas };
	int i, err = 0;

	for (i = 0; i <= GENERATIONS_NEEDED && !err; i++)
		err = ek_store_update_super(r->store, 0, 0);
	MUST(err == -EIO, "%d", err);
	must_start(&again);
	MUST(ek_store_generation(again.store) == EK_GENERATION_MAX);
	must_be(&again, r);
	stop(&again);
}

/* What was found is found again, after a transaction and after a checkpoint. */
static void go_on(struct run *r, size_t size)
{
	struct run again = { .m = r->m, .areas = r->areas };

	if (ek_store_generation(r->store) > EK_GENERATION_MAX - GENERATIONS_NEEDED) {
		grow_too_old(r);
		return;
	}
	activate(r);
	if (commit(r, size % r->nr_extents)) {
		must_start(&again);
		must_be(&again, r);
		stop(&again);
	}
	checkpoint(r);
	must_start(&again);
	must_be(&again, r);
	stop(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool_input in;
	struct run r = { };
	int err;

	r.m = pool_make(data, size, &in);
	r.areas = in.areas;
	err = start(&r);
	if (pool_untouched(size) && r.areas && !(in.kind == POOL_LAGGING || in.kind == POOL_BEHIND))
		MUST(!err, "a valid pool: %d", err);
	if (!err) {
		if (pool_untouched(size))
			check_consistent(&r);
		go_on(&r, size);
	}
	stop(&r);
	media_free(r.m);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	return pool_mutate(data, size, max, seed);
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	return pool_corpus(nr, data);
}
