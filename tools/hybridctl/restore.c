// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a pool's metadata anew from what dump --map printed: superblock, map and, made from the
 * map, space maps.  Labels are not written: they must be there, and say which pool it is.
 *
 *	the power goes before the new superblock	no pool, or the empty one: restore again
 *	after the checkpoint that follows		what the dump said
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "msg.h"
#include "restore.h"
#include "store_io.h"

struct plan {
	const struct pool *pool;
	struct ek_store_params p;
	uint32_t state[EK_MAX_MEMBERS];
	char policy[EK_POLICY_TEXT_SIZE];
	uint32_t flags;
	bool super, ended;
	u64 *map;
	unsigned long *used[EK_MAX_MEMBERS];
};

#define WORD_BITS	(8 * sizeof(unsigned long))

static int bad(unsigned long line, const char *what)
{
	return fail("line %lu: %s", line, what);
}

static int take_pool(struct plan *plan, const char *text, unsigned long line)
{
	char uuid[40];
	unsigned int sectors, members, metas;
	const char *at = strstr(text, " extent_sectors ");

	if (plan->super || sscanf(text, "pool %39s", uuid) != 1 || !at ||
	    sscanf(at, " extent_sectors %u members %u metadata %u", &sectors, &members,
		   &metas) != 3 ||
	    uuid_parse(uuid, plan->p.pool_uuid) || members > EK_MAX_MEMBERS || metas > EK_MAX_META)
		return bad(line, "not a pool");
	if (memcmp(plan->p.pool_uuid, plan->pool->uuid, EK_UUID_SIZE))
		return bad(line, "the dump is of another pool");
	plan->p.extent_sectors = sectors;
	plan->p.nr_members = members;
	plan->p.nr_meta = metas;
	return EXIT_OK;
}

static int take_super(struct plan *plan, const char *text, unsigned long line)
{
	unsigned long long generation, extents;
	unsigned int flags, stale;

	if (plan->super || !plan->p.nr_members ||
	    sscanf(text, "superblock generation %llu flags %x stale %x extents %llu", &generation,
		   &flags, &stale, &extents) != 4 || !extents || extents > (1ull << 37))
		return bad(line, "not a superblock");
	plan->super = true;
	plan->flags = flags;
	plan->p.nr_extents = extents;
	plan->map = xcalloc(extents, sizeof(*plan->map));
	return EXIT_OK;
}

static int take_member(struct plan *plan, const char *text, unsigned long line)
{
	unsigned int i, extents, state;
	char uuid[40];

	if (sscanf(text, "member %u extents %u state %u uuid %39s", &i, &extents, &state,
		   uuid) != 4 ||
	    i >= plan->p.nr_members || plan->used[i] || !extents ||
	    extents > EK_MAX_MEMBER_EXTENTS || state > EK_MEMBER_REMOVED ||
	    uuid_parse(uuid, plan->p.member_uuid[i]))
		return bad(line, "not a member");
	plan->p.member_extents[i] = extents;
	plan->state[i] = state;
	plan->used[i] = xcalloc(extents / WORD_BITS + 1, sizeof(unsigned long));
	return EXIT_OK;
}

static int take_extent(struct plan *plan, const char *text, unsigned long line)
{
	unsigned int m, pe, valid;
	unsigned long long le;
	unsigned long *word, bit;

	if (sscanf(text, "extent %llu member %u physical %u valid %x", &le, &m, &pe, &valid) != 4 ||
	    !plan->super || le >= plan->p.nr_extents || m >= plan->p.nr_members || !plan->used[m] ||
	    pe >= plan->p.member_extents[m] || plan->state[m] == EK_MEMBER_REMOVED)
		return bad(line, "not an extent that the pool could have");
	word = &plan->used[m][pe / WORD_BITS];
	bit = 1ul << pe % WORD_BITS;
	if (plan->map[le] || *word & bit)
		return bad(line, "an extent or its place is there twice");
	*word |= bit;
	plan->map[le] = ek_entry_make(m, pe, valid);
	return EXIT_OK;
}

static int take_policy(struct plan *plan, const char *text, unsigned long line)
{
	if (strlen(text) >= sizeof(plan->policy) + 7)
		return bad(line, "policy too long");
	strcpy(plan->policy, text + 7);
	plan->p.policy = plan->policy;
	return EXIT_OK;
}

static int take(struct plan *plan, const char *text, unsigned long line)
{
	if (plan->ended)
		return bad(line, "something after the end");
	if (!strncmp(text, "pool ", 5))
		return take_pool(plan, text, line);
	if (!strncmp(text, "label ", 6))
		return EXIT_OK;
	if (!strncmp(text, "superblock ", 11))
		return take_super(plan, text, line);
	if (!strncmp(text, "policy ", 7))
		return take_policy(plan, text, line);
	if (!strncmp(text, "member ", 7))
		return take_member(plan, text, line);
	if (!strncmp(text, "extent ", 7))
		return take_extent(plan, text, line);
	plan->ended = !strcmp(text, "end");
	return plan->ended ? EXIT_OK : bad(line, "not known");
}

static int read_dump(struct plan *plan, FILE *dump)
{
	unsigned long line = 0;
	unsigned int i;
	size_t size = 0;
	char *text = NULL;
	int err = EXIT_OK;

	while (!err && getline(&text, &size, dump) >= 0) {
		text[strcspn(text, "\n")] = 0;
		err = take(plan, text, ++line);
	}
	free(text);
	if (!err && !plan->ended)
		err = fail("the dump has no end: was it made with --map?");
	for (i = 0; !err && i < plan->p.nr_members; i++)
		if (!plan->used[i])
			err = fail("the dump has no member %u", i);
	return err;
}

/* Are the devices the ones that the dump is of? */
static int judge(struct plan *plan)
{
	const struct pool *pool = plan->pool;
	unsigned int i;

	if (!plan->super || !plan->p.policy)
		return fail("the dump has no superblock or policy");
	if (plan->p.nr_meta != pool->nr_meta || plan->p.extent_sectors != pool->extent_sectors)
		return fail("%s: labels and dump do not agree", pool->name);
	for (i = 0; i < pool->nr_meta; i++) {
		if (!pool->meta[i].there)
			return fail("%s: metadata area %u is not on the devices", pool->name, i);
		plan->p.area_bytes[i] = pool->meta[i].area.info.area_sectors * SECTOR_SIZE;
	}
	for (i = 0; i < plan->p.nr_members && i < pool->nr_members; i++)
		if (pool->member[i].there && plan->state[i] != EK_MEMBER_REMOVED &&
		    memcmp(pool->member[i].area.info.area_uuid, plan->p.member_uuid[i],
			   EK_UUID_SIZE))
			return fail("%s: is not the dump's member %u", pool->member[i].path, i);
	return EXIT_OK;
}

static int no_map(void *ctx, u64 le, u64 entry)
{
	(void)ctx;
	(void)le;
	(void)entry;
	return -EUCLEAN;
}

static int no_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	(void)ctx;
	(void)member;
	(void)pe;
	(void)count;
	return -EUCLEAN;
}

static int write_map(const struct plan *plan, struct ek_store *store, struct ek_page *page)
{
	u64 le, n = plan->p.nr_extents;
	int err = 0;

	for (le = 0; !err && le < n; le++) {
		page->entry[le % EK_PAGE_ENTRIES] = cpu_to_le64(plan->map[le]);
		if ((le + 1) % EK_PAGE_ENTRIES && le + 1 < n)
			continue;
		err = ek_store_ckpt_page(store, le / EK_PAGE_ENTRIES, page);
		memset(page, 0, sizeof(*page));
	}
	return err;
}

static int write_space(const struct plan *plan, struct ek_store *store, unsigned int m,
		       struct ek_page *page)
{
	u32 pe, nr = plan->p.member_extents[m];
	int err = 0;

	memset(page, 0, sizeof(*page));
	for (pe = 0; !err && pe < nr; pe++) {
		u32 n = pe % EK_PAGE_BITS;

		if (plan->used[m][pe / WORD_BITS] >> pe % WORD_BITS & 1)
			page->entry[n / 64] |= cpu_to_le64(1ull << n % 64);
		if (n + 1 < EK_PAGE_BITS && pe + 1 < nr)
			continue;
		err = ek_store_ckpt_page(store,
					 ek_store_space_index(store, m, pe / EK_PAGE_BITS), page);
		memset(page, 0, sizeof(*page));
	}
	return err;
}

static int fill(const struct plan *plan, struct ek_store *store)
{
	struct ek_page *page = bdev_buffer(sizeof(*page));
	unsigned int m;
	int err;

	err = ek_store_replay(store, no_map, no_free, NULL);
	if (!err)
		err = ek_store_ckpt_begin(store);
	if (!err)
		err = write_map(plan, store, page);
	for (m = 0; !err && m < plan->p.nr_members; m++) {
		err = write_space(plan, store, m, page);
		if (!err)
			err = ek_store_set_member_state(store, m, plan->state[m]);
	}
	if (!err)
		err = ek_store_ckpt_commit(store, plan->flags);
	free(page);
	return err;
}

static int write_all(const struct plan *plan)
{
	const char *reason = NULL;
	struct ek_store *store;
	struct store_io io;
	int err;

	if (store_io_open_rw(&io, plan->pool))
		return EXIT_FAILED;
	err = ek_store_format(&store_io_rw, &io, &plan->p);
	if (!err)
		err = ek_store_open(&store_io_rw, &io, io.bytes, io.areas, &store, &reason);
	if (!err) {
		err = fill(plan, store);
		ek_store_close(store);
	}
	store_io_close(&io);
	return err ? fail("%s: can't be written: %s", plan->pool->name, strerror(-err)) : EXIT_OK;
}

int restore_pool(const struct pool *pool, FILE *dump)
{
	struct plan plan = { .pool = pool };
	unsigned int i;
	int err;

	err = read_dump(&plan, dump);
	if (!err)
		err = judge(&plan);
	if (!err)
		err = write_all(&plan);
	free(plan.map);
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		free(plan.used[i]);
	return err;
}
