// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool's shape changes: members join, one in the place of another that left, the map
 * grows.  Cut at every event: what is found is the old shape or the new one, whole, with
 * the map as it was, and goes on from there.
 */
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "ktap.h"
#include "media.h"

#define NR	600u		/* logical extents: two pages */
#define NR_NEW	2000u		/* four */

static const u32 old_extents[2] = { 300, EK_PAGE_BITS + 500 };
static const u32 new_extents[3] = { 300, 700, 2 * EK_PAGE_BITS };

static u64 area_bytes(unsigned int spare_pages)
{
	return ek_store_area_bytes(NR, 2, old_extents) - (512 - 24) * EK_BLOCK_SIZE +
	       spare_pages * 4 * EK_BLOCK_SIZE;
}

static unsigned int spare;	/* pages */
static struct ek_super room;

static int format(struct media *m)
{
	struct ek_store_params p = {
		.pool_uuid = "reshape", .extent_sectors = 128, .nr_extents = NR, .nr_meta = m->nr,
		.area_bytes = { area_bytes(spare), area_bytes(spare) }, .nr_members = 2,
		.member_uuid = { "a", "b" }, .policy = "wardrop 0",
		.member_extents = { old_extents[0], old_extents[1] },
	};

	return ek_store_format(&media_io, m, &p);
}

static struct ek_store *open_store(struct media *m)
{
	u64 bytes[2] = { area_bytes(spare), area_bytes(spare) };
	struct ek_store *store;
	const char *reason;
	int r = ek_store_open(&media_io, m, bytes, (1u << m->nr) - 1, &store, &reason);

	CHECK(!r, "%s", reason);
	return store;
}

static int open_areas(struct media *m, unsigned int areas, struct ek_store **store)
{
	u64 bytes[2] = { area_bytes(spare), area_bytes(spare) };
	const char *reason;

	return ek_store_open(&media_io, m, bytes, areas, store, &reason);
}

static int seen_map(void *ctx, u64 le, u64 entry)
{
	u64 *seen = ctx;

	*seen += le == 5 && ek_entry_member(entry) == 0 && ek_entry_pe(entry) == 9;
	return 0;
}

static int seen_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	return 0;
}

/* A store that has been replayed; the one extent that was written must be in the journal. */
static struct ek_store *running(struct media *m, u64 records)
{
	struct ek_store *store = open_store(m);
	u64 seen = 0;

	if (store) {
		CHECK(!ek_store_replay(store, seen_map, seen_free, &seen));
		CHECK(seen == records, "%llu", (unsigned long long)seen);
	}
	return store;
}

static struct ek_reshape wanted(void)
{
	return (struct ek_reshape){
		.nr_extents = NR_NEW, .nr_members = 3, .joining = 6,
		.member_uuid = { "a", "c", "d" },
		.member_extents = { 0, new_extents[1], new_extents[2] }, .policy = "static 3 1 2 3",
	};
}

static bool is_old(const struct ek_super *sb)
{
	return le32_to_cpu(sb->nr_members) == 2 && le64_to_cpu(sb->nr_extents) == NR &&
	       !memcmp(sb->member[1].uuid, "b", 2) && !strcmp(sb->policy, "wardrop 0") &&
	       le64_to_cpu(sb->incompat) == EK_INCOMPAT_LEAVING &&
	       le32_to_cpu(sb->member[1].nr_extents) == old_extents[1];
}

static bool is_new(const struct ek_super *sb)
{
	return le32_to_cpu(sb->nr_members) == 3 && le64_to_cpu(sb->nr_extents) == NR_NEW &&
	       !strcmp(sb->policy, "static 3 1 2 3") && !sb->incompat &&
	       !memcmp(sb->member[1].uuid, "c", 2) && !memcmp(sb->member[2].uuid, "d", 2) &&
	       le32_to_cpu(sb->member[1].nr_extents) == new_extents[1] &&
	       le32_to_cpu(sb->member[1].state) == EK_MEMBER_ACTIVE &&
	       le32_to_cpu(sb->member[2].nr_extents) == new_extents[2];
}

/* All that is new can be used, and holds nothing. */
static void use(struct ek_store *store)
{
	struct ek_page page;
	struct ek_space space;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		CHECK(!ek_space_init(&space, new_extents[i]));
		CHECK(!ek_store_load_space(store, i, &space), "member %u", i);
		ek_space_activate(&space);
		CHECK(ek_space_nr_free(&space) == new_extents[i], "member %u", i);
		ek_space_destroy(&space);
	}
	CHECK(!ek_store_read_page(store, NR_NEW / EK_PAGE_ENTRIES, &page));
	CHECK(!memchr_inv(page.entry, 0, sizeof(page.entry)));
	CHECK(!ek_store_tx_add_map(store, NR_NEW - 1, ek_entry_make(2, new_extents[2] - 1, 1)));
	CHECK(!ek_store_tx_add_map(store, NR, ek_entry_make(1, new_extents[1] - 1, 1)));
	CHECK(ek_store_tx_add_map(store, 0, ek_entry_make(1, new_extents[1], 1)) == -EINVAL);
	CHECK(!ek_store_tx_commit(store));
}

/* A pool of which member 1 left, with an entry in its journal. */
static struct media *one_left(unsigned int areas)
{
	struct media *m = media_new(areas, area_bytes(spare));
	struct ek_store *store;

	CHECK(!format(m));
	store = running(m, 0);
	CHECK(!ek_store_tx_add_map(store, 6, ek_entry_make(1, EK_PAGE_BITS + 400, 1)));
	CHECK(!ek_store_tx_commit(store));
	CHECK(!ek_store_set_member_state(store, 1, EK_MEMBER_REMOVED));
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_commit(store, 0));
	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(0, 9, 1)));
	CHECK(!ek_store_tx_commit(store));
	ek_store_close(store);
	return m;
}

static u64 events, olds, news;
static bool acked;

static void cut_hook(struct media *m)
{
	struct ek_reshape r = wanted();
	struct ek_store *store;
	unsigned int how;
	struct media *c;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		store = running(c, 1);
		if (!store)
			break;
		if (is_old(ek_store_super(store))) {
			olds++;
			CHECK(!acked, "the old shape after the new one was acknowledged");
			CHECK(!ek_store_reshape(store, &r), "again");
		} else {
			news++;
		}
		CHECK(is_new(ek_store_super(store)));
		use(store);
		ek_store_close(store);
		media_free(c);
	}
}

static void cut_anywhere(void)
{
	struct ek_reshape r = wanted();
	unsigned int areas;

	spare = 16;
	for (areas = 1; areas <= 2; areas++) {
		struct media *m = one_left(areas);
		struct ek_store *store = running(m, 1);

		events = 0;
		olds = 0;
		news = 0;
		acked = false;
		m->hook = cut_hook;
		CHECK(!ek_store_reshape_check(store, &r, &room));
		CHECK(!ek_store_reshape(store, &r));
		acked = true;
		cut_hook(m);
		CHECK(events > 3 && olds && news, "%llu events", (unsigned long long)events);
		m->hook = NULL;
		CHECK(is_new(ek_store_super(store)));
		use(store);
		ek_store_close(store);
		media_free(m);
	}
}

/* Each write fails: the old shape goes on if the store can still be written. */
static void errors(void)
{
	struct ek_reshape r = wanted();
	unsigned int at;

	spare = 16;
	for (at = 1; at <= 3 && !ktap_failing(); at++) {
		struct media *m = one_left(1);
		struct ek_store *store = running(m, 1);
		int err;

		m->fail_at[0] = m->writes[0] + at;
		err = ek_store_reshape(store, &r);
		if (err && !ek_store_writable(store)) {
			CHECK(is_old(ek_store_super(store)));
			CHECK(ek_store_tx_add_map(store, NR, ek_entry_make(0, 0, 1)) == -EINVAL);
			CHECK(!ek_store_sync_super(store));
			CHECK(is_old(ek_store_super(store)), "what failed is not tried again");
			CHECK(!ek_store_reshape(store, &r));
		}
		ek_store_close(store);
		m->fail_at[0] = 0;
		store = running(m, 1);
		if (store)
			CHECK(is_old(ek_store_super(store)) || is_new(ek_store_super(store)));
		ek_store_close(store);
		media_free(m);
	}
}

static void refused(void)
{
	struct ek_reshape r = wanted();
	struct ek_store *store;
	struct media *m;

	spare = 16;
	m = one_left(1);
	store = running(m, 1);
	r.joining = 7;
	r.member_extents[0] = old_extents[0];
	CHECK(ek_store_reshape_check(store, &r, &room) == -EINVAL, "one that is there");
	r = wanted();
	r.joining = 2;
	CHECK(ek_store_reshape_check(store, &r, &room) == -EINVAL, "a gap");
	r = wanted();
	r.nr_members = 1;
	CHECK(ek_store_reshape_check(store, &r, &room) == -EINVAL, "fewer members");
	r = wanted();
	r.nr_extents = NR - 1;
	CHECK(ek_store_reshape_check(store, &r, &room) == -EINVAL, "smaller");
	r = wanted();
	r.member_extents[1] = 0;
	CHECK(ek_store_reshape_check(store, &r, &room) == -EINVAL, "empty");
	r = wanted();
	r.nr_extents = 1000 * EK_PAGE_ENTRIES;
	CHECK(ek_store_reshape_check(store, &r, &room) == -ENOSPC, "a larger map than there is room for");
	CHECK(ek_store_reshape(store, &r) == -ENOSPC);
	r = wanted();
	r.member_extents[2] = 1000 * EK_PAGE_BITS;
	CHECK(ek_store_reshape_check(store, &r, &room) == -ENOSPC, "a larger member");
	CHECK(is_old(ek_store_super(store)));
	r = wanted();
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(ek_store_reshape(store, &r) == -EBUSY, "amid a checkpoint");
	ek_store_ckpt_abort(store);
	CHECK(is_old(ek_store_super(store)));
	ek_store_close(store);
	media_free(m);
}

/* What is to be told of members with the next superblock is in that of the shape. */
static void states_too(void)
{
	struct ek_reshape r = wanted();
	struct ek_store *store;
	struct media *m;

	spare = 16;
	m = one_left(1);
	store = running(m, 1);
	CHECK(!ek_store_set_member_state(store, 0, EK_MEMBER_DRAINING));
	CHECK(!ek_store_reshape(store, &r));
	ek_store_close(store);
	store = running(m, 1);
	CHECK(le32_to_cpu(ek_store_super(store)->member[0].state) == EK_MEMBER_DRAINING);
	CHECK(le32_to_cpu(ek_store_super(store)->member[1].state) == EK_MEMBER_ACTIVE);
	ek_store_close(store);
	media_free(m);
}

/* --- a mirror is taken in again --- */

static unsigned int with_mirror, alone;

/* Both areas, and each alone if the other one is lost: what is found has the entry. */
static void resync_hook(struct media *m)
{
	unsigned int how;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		struct ek_store *store;
		struct media *c;

		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		store = running(c, 1);
		if (!store)
			break;
		if (ek_store_areas(store) == 3)
			with_mirror++;
		else
			alone++;
		CHECK(ek_store_areas(store) & 1, "the area that had everything is not believed");
		if (ek_store_areas(store) == 1)
			CHECK(!ek_store_resync(store, 1), "again");
		CHECK(ek_store_areas(store) == 3 && !ek_store_stale(store));
		ek_store_close(store);
		media_free(c);
	}
}

static struct media *mirror_behind(void)
{
	struct media *m = media_new(2, area_bytes(spare));
	struct ek_page page = { .entry[7] = cpu_to_le64(ek_entry_make(0, 1, 1)) };
	struct ek_store *store;

	CHECK(!format(m));
	store = running(m, 0);
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_page(store, 0, &page));
	CHECK(!ek_store_ckpt_commit(store, 0));
	m->fail_at[1] = m->writes[1] + 1;
	m->fail_on[1] = true;
	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(0, 9, 1)));
	CHECK(!ek_store_tx_commit(store));
	CHECK(ek_store_stale(store) == 2);
	m->fail_at[1] = 0;
	m->fail_on[1] = false;
	ek_store_close(store);
	return m;
}

static void resync_cut(void)
{
	struct ek_store *store;
	struct media *m;

	spare = 16;
	m = mirror_behind();
	store = running(m, 1);
	CHECK(ek_store_areas(store) == 1);
	CHECK(ek_store_resync(store, 0) == -EINVAL && ek_store_resync(store, 2) == -EINVAL);
	events = 0;
	with_mirror = 0;
	alone = 0;
	m->hook = resync_hook;
	CHECK(!ek_store_resync(store, 1));
	m->hook = NULL;
	CHECK(events > 10 && with_mirror && alone);
	CHECK(!ek_store_tx_add_map(store, 9, ek_entry_make(0, 20, 1)));
	CHECK(!ek_store_tx_commit(store));
	ek_store_close(store);
	media_free(m);
}

/* What was made equal serves alone, too. */
static void resync_alone(void)
{
	u64 bytes[2] = { area_bytes(16), area_bytes(16) };
	struct ek_store *store;
	const char *reason;
	struct ek_page page;
	struct media *m;
	u64 seen = 0;

	spare = 16;
	m = mirror_behind();
	store = running(m, 1);
	CHECK(!ek_store_resync(store, 1));
	ek_store_close(store);
	CHECK(!ek_store_open(&media_io, m, bytes, 2, &store, &reason), "%s", reason);
	CHECK(!ek_store_replay(store, seen_map, seen_free, &seen) && seen == 1);
	CHECK(!ek_store_read_page(store, 0, &page));
	CHECK(le64_to_cpu(page.entry[7]) == ek_entry_make(0, 1, 1));
	ek_store_close(store);
	media_free(m);
}

/*
 * What an area that went on alone has more of goes if somebody has wiped its superblocks, and is then
 * no sign that the other one has lost it.
 */
static void resync_fork(void)
{
	static const u64 super_offset[2] = { EK_AREA_HEAD_BYTES, EK_AREA_HEAD_BYTES + (64 << 10) };
	static const u8 blank[EK_BLOCK_SIZE] __aligned(EK_BLOCK_SIZE);
	struct ek_store *store;
	struct media *m;
	unsigned int i;
	u64 seen = 0;

	spare = 16;
	m = media_new(2, area_bytes(spare));
	CHECK(!format(m));
	CHECK(!open_areas(m, 2, &store) && !ek_store_replay(store, seen_map, seen_free, &seen));
	for (i = 0; i < 5; i++) {
		CHECK(!ek_store_tx_add_map(store, 11 + i, ek_entry_make(0, 20 + i, 1)));
		CHECK(!ek_store_tx_commit(store));
	}
	ek_store_close(store);
	CHECK(!open_areas(m, 1, &store) && !ek_store_replay(store, seen_map, seen_free, &seen));
	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(0, 9, 1)));
	CHECK(!ek_store_tx_commit(store));
	CHECK(ek_store_resync(store, 1) == -EEXIST);
	for (i = 0; i < 2; i++)
		CHECK(!media_io.write(m, 1, super_offset[i], blank, sizeof(blank), 0));
	CHECK(!ek_store_resync(store, 1));
	ek_store_close(store);
	store = running(m, 1);
	CHECK(store && ek_store_areas(store) == 3);
	ek_store_close(store);
	CHECK(!open_areas(m, 2, &store) && !ek_store_replay(store, seen_map, seen_free, &seen));
	CHECK(seen == 1, "%llu", (unsigned long long)seen);
	ek_store_close(store);
	media_free(m);
}

static void resync_errors(void)
{
	unsigned int at, failed = 0;

	spare = 16;
	for (at = 1; at < 60 && !ktap_failing(); at++) {
		struct media *m = mirror_behind();
		struct ek_store *store = running(m, 1);
		int r;

		m->fail_at[1] = m->writes[1] + at;
		r = ek_store_resync(store, 1);
		failed += !!r;
		CHECK(!r == (ek_store_areas(store) == 3), "write %u: %d", at, r);
		CHECK(!ek_store_writable(store));
		ek_store_close(store);
		store = running(m, 1);
		if (store)
			CHECK(ek_store_areas(store) & 1);
		ek_store_close(store);
		media_free(m);
	}
	CHECK(failed > 5 && failed < 58, "%u", failed);
}

/* --- which area is the newer when one can't be used --- */

static void damage(struct media *m, unsigned int area, u64 from, u64 to)
{
	for (; from < to; from += 512)
		*media_poke(m, area, from) ^= 1;
}

static unsigned int bad_area;
static u64 bad_offset;

static bool bad_block(unsigned int area, u64 offset, size_t len)
{
	return area == bad_area && offset <= bad_offset && bad_offset < offset + len;
}

/* The areas in use, or -EIO: one that is not may be the newer one. */
static int areas_with_bad(struct media *m, unsigned int area, u64 offset)
{
	struct ek_store *store;
	int r;

	bad_area = area;
	bad_offset = offset;
	m->unreadable = bad_block;
	r = open_areas(m, 3, &store);
	m->unreadable = NULL;
	if (!r) {
		r = ek_store_unread(store) ? -EIO : (int)ek_store_areas(store);
		CHECK(!(ek_store_untold(store) & ek_store_areas(store)));
		CHECK(ek_store_unread(store) == ek_store_untold(store));
		ek_store_close(store);
	}
	return r;
}

/*
 * Area 1 was left out, and doesn't know. Of area 0 one superblock of the two can't be read: neither
 * the one that says so, nor the one before it, which nobody can tell from one behind it.
 */
static void unread_stays_in(void)
{
	struct ek_store *store;
	struct media *m;
	struct ek_super sb;
	unsigned int slot;

	spare = 16;
	m = mirror_behind();
	store = running(m, 1);
	sb = *ek_store_super(store);
	ek_store_close(store);
	for (slot = 0; slot < 2; slot++) {
		u64 offset = le64_to_cpu(sb.super_offset[slot]);

		CHECK(areas_with_bad(m, 0, offset) < 0, "a stale area goes on");
		/* The other way round: area 0 says that it is stale. */
		CHECK(areas_with_bad(m, 1, offset) == 1);
	}
	media_free(m);
}

/* Two mirrors: one whose last superblock can't be read has none behind it. */
static void unread_is_older(void)
{
	struct media *m = media_new(2, area_bytes(16));
	struct ek_store *store;
	u64 newest, older;

	CHECK(!format(m));
	store = running(m, 0);
	CHECK(!ek_store_ckpt_begin(store) && !ek_store_ckpt_commit(store, 0));
	newest = (le64_to_cpu(ek_store_super(store)->generation) - 1) & 1;
	older = le64_to_cpu(ek_store_super(store)->super_offset[!newest]);
	newest = le64_to_cpu(ek_store_super(store)->super_offset[newest]);
	ek_store_close(store);
	CHECK(areas_with_bad(m, 0, newest) == 2);
	CHECK(areas_with_bad(m, 1, newest) == 1);
	CHECK(areas_with_bad(m, 0, older) == -EIO, "what can't be read may be behind it");
	CHECK(areas_with_bad(m, 1, older) == -EIO, "what can't be read may be behind it");
	media_free(m);
}

/* Area 1 was left out, and doesn't know: it is not to be taken for all that there is. */
static void stale_stays_out(void)
{
	struct ek_store *store;
	struct media *m;
	struct ek_super sb;
	u64 tables, journal;

	spare = 16;
	m = mirror_behind();
	store = running(m, 1);
	sb = *ek_store_super(store);
	tables = le64_to_cpu(sb.table_offset[0]);
	journal = le64_to_cpu(sb.journal_offset);
	ek_store_close(store);
	damage(m, 0, tables, journal);
	CHECK(open_areas(m, 3, &store) == -EUCLEAN, "a stale area in place of a damaged one");
	CHECK(open_areas(m, 1, &store) == -EUCLEAN);
	CHECK(!open_areas(m, 2, &store) && ek_store_untold(store) == 1, "asked for alone");
	ek_store_close(store);
	/* Without the superblocks nobody can know, and whoever overwrites is to be told. */
	damage(m, 0, le64_to_cpu(sb.super_offset[0]), tables);
	CHECK(!open_areas(m, 3, &store) && ek_store_areas(store) == 2);
	CHECK(ek_store_untold(store) == 1);
	ek_store_close(store);
	media_free(m);
	/* The other way round: what is damaged is known to be stale. */
	m = mirror_behind();
	damage(m, 1, tables, journal);
	CHECK(!open_areas(m, 3, &store) && ek_store_areas(store) == 1 && !ek_store_untold(store));
	ek_store_close(store);
	media_free(m);
}

static void put_page(struct ek_store *store, unsigned int pe)
{
	struct ek_page page = { .entry[7] = cpu_to_le64(ek_entry_make(0, pe, 1)) };

	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_page(store, 0, &page));
	CHECK(!ek_store_ckpt_commit(store, 0));
}

/* The page that says @pe says something else, and is whole. */
static void forge(u8 *block, unsigned int pe)
{
	struct ek_page *page = (struct ek_page *)block;

	if (ek_entry_pe(le64_to_cpu(page->entry[7])) != pe)
		return;
	page->entry[7] = cpu_to_le64(ek_entry_make(0, pe + 1, 1));
	page->csum = cpu_to_le32(ek_checksum(page, sizeof(*page), &page->csum));
}

/* A disk dropped a page's write: what lies there is older, and whole. */
static void dropped_write(void)
{
	struct media *m = media_new(2, area_bytes(16)), *c;
	struct ek_store *again;
	struct ek_page was[2], page;
	struct ek_store *store;
	unsigned int slot;
	u64 at, mended;

	spare = 16;
	CHECK(!format(m));
	store = running(m, 0);
	at = le64_to_cpu(ek_store_super(store)->pages_offset);
	put_page(store, 1);
	put_page(store, 2);
	memcpy(&was[0], media_poke(m, 0, at), sizeof(was[0]));
	memcpy(&was[1], media_poke(m, 0, at + EK_BLOCK_SIZE), sizeof(was[1]));
	put_page(store, 3);
	put_page(store, 4);
	for (slot = 0; slot < 2; slot++)
		memcpy(media_poke(m, 0, at + slot * EK_BLOCK_SIZE), &was[slot], sizeof(was[slot]));
	CHECK(!ek_store_mend_pages(store, &mended) && mended == 1, "%llu",
	      (unsigned long long)mended);
	CHECK(!ek_store_read_page(store, 0, &page));
	CHECK(ek_entry_pe(le64_to_cpu(page.entry[7])) == 4, "the older one won");
	CHECK(!ek_store_mend_pages(store, &mended) && !mended);
	c = media_crash(m, CRASH_NONE);
	again = running(c, 0);
	CHECK(!ek_store_mend_pages(again, &mended) && !mended, "it was not durable");
	ek_store_close(again);
	media_free(c);
	forge(media_poke(m, 0, at), 4);
	forge(media_poke(m, 0, at + EK_BLOCK_SIZE), 4);
	CHECK(ek_store_mend_pages(store, &mended) == -EUCLEAN && !mended, "two of one generation");
	ek_store_close(store);
	media_free(m);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("reshape: cut at every event, the old shape or the new one", cut_anywhere);
	ktap_run("reshape: every write fails", errors);
	ktap_run("reshape: what is refused", refused);
	ktap_run("reshape: what members are told", states_too);
	ktap_run("resync: cut at every event", resync_cut);
	ktap_run("resync: what was made equal serves alone", resync_alone);
	ktap_run("resync: over an area that went on alone", resync_fork);
	ktap_run("resync: every write to the area fails", resync_errors);
	ktap_run("areas: a stale one is no substitute for a damaged one", stale_stays_out);
	ktap_run("areas: nor for one of which a superblock can't be read", unread_stays_in);
	ktap_run("areas: one that has a later superblock is", unread_is_older);
	ktap_run("areas: a dropped write is found and mended", dropped_write);
	return ktap_done();
}
