// SPDX-License-Identifier: GPL-2.0-only
/*
 * A metadata area is replaced by a new one while the pool goes on: cut at every event, with
 * whatever areas are there afterwards, what is found is what was acknowledged.  The old one may
 * come back at any time, and is believed only where nothing else is left.
 */
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "ktap.h"
#include "media.h"
#include "store_internal.h"

#define NR	150000u		/* logical extents: pages for several steps */
#define PAGES	4u

static const u32 extents[2] = { 300, 400 };
static const u64 page_index[PAGES] = { 0, 1, 127, 250 };
static const u8 pool_uuid[EK_UUID_SIZE] = "mirror", new_uuid[2][EK_UUID_SIZE] = { "C", "D" };

/* What a pool has: a value in some pages, and the one that the journal has for an extent. */
struct state {
	u32 page[PAGES];
	u32 tx;
};

static struct state now, next;	/* @next: if what is under way gets there */

static unsigned int journal = 24;	/* blocks */

static u64 area_bytes(void)
{
	return ek_store_area_bytes(NR, 2, extents) - (512 - journal) * EK_BLOCK_SIZE;
}

static struct media *make_of(unsigned int nr_meta)
{
	struct media *m = media_new(2, area_bytes());
	struct ek_store_params p = {
		.extent_sectors = 128, .nr_extents = NR, .nr_meta = nr_meta, .policy = "wardrop 0",
		.area_bytes = { area_bytes(), area_bytes() }, .nr_members = 2,
		.member_uuid = { "a", "b" }, .member_extents = { extents[0], extents[1] },
	};

	memcpy(p.pool_uuid, pool_uuid, EK_UUID_SIZE);
	CHECK(!ek_store_format(&media_io, m, &p));
	memset(&now, 0, sizeof(now));
	memset(&next, 0, sizeof(next));
	return m;
}

static struct media *make(void)
{
	return make_of(2);
}

static int found_map(void *ctx, u64 le, u64 entry)
{
	((struct state *)ctx)->tx = ek_entry_pe(entry);
	return 0;
}

static int found_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	return 0;
}

/* Labels' uuids by what each area is: 'o' as it was made, 'n' the new one. */
static int open_as(struct media *m, const char *labels, unsigned int areas, struct ek_store **store)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	u8 uuid[2][EK_UUID_SIZE];
	const char *reason;
	unsigned int i;

	for (i = 0; i < 2; i++)
		memcpy(uuid[i], labels[i] == 'o' ? pool_uuid : new_uuid[i], EK_UUID_SIZE);
	return ek_store_open_named(&media_io, m, bytes, (const u8 (*)[EK_UUID_SIZE])uuid, areas,
				   store, &reason);
}

static bool look(struct ek_store *store, struct state *s)
{
	struct ek_page page;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	if (ek_store_replay(store, found_map, found_free, s))
		return false;
	for (i = 0; i < PAGES; i++) {
		if (ek_store_read_page(store, page_index[i], &page))
			return false;
		if (page.entry[3])
			s->page[i] = ek_entry_pe(le64_to_cpu(page.entry[3]));
	}
	return true;
}

static bool is(const struct state *a, const struct state *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void commit(struct ek_store *store)
{
	next.tx++;
	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(0, next.tx, 1)));
	CHECK(!ek_store_tx_commit(store));
	now = next;
}

static void checkpoint(struct ek_store *store, unsigned int i)
{
	struct ek_page page = { .entry[3] = cpu_to_le64(ek_entry_make(0, ++next.page[i], 1)) };

	next.tx = 0;
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_page(store, page_index[i], &page));
	CHECK(!ek_store_ckpt_commit(store, 0));
	now = next;
}

static struct ek_store *start(struct media *m, const char *labels, unsigned int areas)
{
	struct ek_store *store;
	struct state s;

	if (!CHECK(!open_as(m, labels, areas, &store)))
		return NULL;
	CHECK(look(store, &s));
	return store;
}

static u64 events, mirrored, alone, old_alone, new_alone;
static unsigned int place;	/* of the area that is replaced */
static struct media *before;	/* as it was when it was left out */

/* It has what was acknowledged, or what is under way; goes on, and that is there the next time. */
static void goes_on(struct media *m, const char *labels)
{
	struct ek_store *store;
	unsigned int areas;
	struct state s, t;
	int r;

	r = open_as(m, labels, 3, &store);
	if (!CHECK(!r, "%s: %d", labels, r))
		return;
	areas = ek_store_areas(store);
	CHECK(areas & 1u << !place, "%s: the area that had everything is not believed", labels);
	CHECK(areas == 3 || labels[place] == 'o' || !(areas & 1u << place));
	if (areas == 3)
		mirrored++;
	else
		alone++;
	CHECK(look(store, &s) && (is(&s, &now) || is(&s, &next)), "%s: tx %u of %u", labels, s.tx,
	      now.tx);
	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(1, 299, 1)));
	CHECK(!ek_store_tx_commit(store));
	ek_store_close(store);
	r = open_as(m, labels, 3, &store);
	if (!CHECK(!r, "%s: afterwards %d", labels, r))
		return;
	s.tx = 299;
	CHECK(look(store, &t) && is(&s, &t), "%s: what came afterwards: %u", labels, t.tx);
	ek_store_close(store);
}

/* All that is left: if it is believed at all, it has everything. */
static void serves_alone(struct media *m, const char *labels, unsigned int area, u64 *count)
{
	struct ek_store *store;
	struct state s;

	if (open_as(m, labels, 1u << area, &store))
		return;
	CHECK(look(store, &s) && (is(&s, &now) || is(&s, &next)), "%s alone: tx %u of %u", labels,
	      s.tx, now.tx);
	ek_store_close(store);
	++*count;
}

static void cut(struct media *m)
{
	const char *labels = place ? "on" : "no";
	unsigned int how;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		struct media *c;

		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		serves_alone(c, labels, place, &new_alone);
		serves_alone(c, labels, !place, &old_alone);
		goes_on(c, labels);
		media_free(c);
		/* The old one has come back instead. */
		c = media_crash(m, how);
		media_put_area(c, place, before, place);
		goes_on(c, "oo");
		media_free(c);
	}
}

static void between(struct ek_store *store, unsigned int i)
{
	checkpoint(store, i % PAGES);
	commit(store);
	checkpoint(store, (i + 2) % PAGES);
	commit(store);
	commit(store);
}

static struct ek_store *left_out(struct media *m)
{
	struct ek_store *store = start(m, "oo", 3);

	between(store, 0);
	between(store, 1);
	CHECK(!ek_store_leave_out(store, place));
	CHECK(ek_store_stale(store) == 1u << place);
	before = media_crash(m, CRASH_ALL);
	commit(store);
	media_blank_area(m, place);
	return store;
}

static void replace(struct ek_store *store)
{
	struct ek_page *buf = ek_store_sync_buf();
	unsigned int steps;
	int r;

	CHECK(!ek_store_resync_begin(store, place, area_bytes(), new_uuid[place], buf));
	for (steps = 0; (r = ek_store_resync_step(store)) > 0 && !ktap_failing(); steps++)
		between(store, steps);
	CHECK(!r && steps > 4, "%d after %u", r, steps);
	CHECK(ek_store_areas(store) == 3 && !ek_store_stale(store));
	kvfree(buf);
}

static void cut_anywhere(void)
{
	for (place = 0; place < 2 && !ktap_failing(); place++) {
		struct media *m = make();
		struct ek_store *store = left_out(m);

		events = 0;
		mirrored = 0;
		alone = 0;
		old_alone = 0;
		new_alone = 0;
		m->hook = cut;
		replace(store);
		commit(store);
		m->hook = NULL;
		CHECK(events > 50 && mirrored && alone && old_alone && new_alone);
		ktap_note("%llu events, %llu with both, %llu alone, %llu on the new one",
			  (unsigned long long)events, (unsigned long long)mirrored,
			  (unsigned long long)alone, (unsigned long long)new_alone);
		ek_store_close(store);
		media_free(before);
		media_free(m);
	}
}

static struct state was;	/* when it left */

/* Alone it is what it was, what it is to be, or nothing. */
static void taken_in_hook(struct media *m)
{
	struct ek_store *store;
	unsigned int how;
	struct media *c;
	struct state s;

	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		if (!open_as(c, "oo", 1u << place, &store)) {
			CHECK(look(store, &s) && (is(&s, &was) || is(&s, &now) || is(&s, &next)),
			      "alone: tx %u", s.tx);
			if (is(&s, &was))
				old_alone++;
			else
				new_alone++;
			ek_store_close(store);
		}
		goes_on(c, "oo");
		media_free(c);
	}
}

static void taken_in_again(void)
{
	for (place = 0; place < 2 && !ktap_failing(); place++) {
		struct media *m = make();
		struct ek_store *store = start(m, "oo", 3);
		struct ek_page *buf = ek_store_sync_buf();
		unsigned int steps = 0;
		int r;

		between(store, 0);
		between(store, 1);
		CHECK(!ek_store_leave_out(store, place));
		was = now;
		between(store, 2);
		between(store, 3);
		old_alone = 0;
		new_alone = 0;
		m->hook = taken_in_hook;
		CHECK(!ek_store_resync_begin(store, place, area_bytes(), pool_uuid, buf));
		while ((r = ek_store_resync_step(store)) > 0 && !ktap_failing())
			between(store, steps++);
		commit(store);
		m->hook = NULL;
		CHECK(!r && steps > 4 && ek_store_areas(store) == 3);
		CHECK(old_alone && new_alone);
		kvfree(buf);
		ek_store_close(store);
		media_free(m);
	}
}

/* One that is to leave, cut at every event: it is a mirror still, or is out. */
static void leave_hook(struct media *m)
{
	unsigned int how;

	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		struct media *c;

		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		goes_on(c, "oo");
		media_free(c);
	}
}

static void leaves(void)
{
	for (place = 0; place < 2 && !ktap_failing(); place++) {
		struct media *m = make();
		struct ek_store *store = start(m, "oo", 3);

		between(store, 0);
		m->hook = leave_hook;
		mirrored = 0;
		alone = 0;
		CHECK(!ek_store_leave_out(store, place));
		CHECK(!ek_store_leave_out(store, place), "again");
		CHECK(ek_store_leave_out(store, !place) == -EINVAL, "the last one");
		CHECK(ek_store_leave_out(store, 2) == -EINVAL);
		commit(store);
		m->hook = NULL;
		CHECK(mirrored && alone);
		ek_store_close(store);
		media_free(m);
	}
}

/* What the pool is found as, by which areas: "=" all of it; "-" nothing; "!" refused. */
static void comes_back(struct media *m, const char *labels, unsigned int areas, unsigned int use,
		       const char *title)
{
	struct ek_store *store;
	struct state s;
	int r = open_as(m, labels, areas, &store);

	if (!use) {
		CHECK(r == -EUCLEAN, "%s: %d", title, r);
		return;
	}
	if (!CHECK(!r, "%s: %d", title, r))
		return;
	CHECK(ek_store_areas(store) == use, "%s: areas %u", title, ek_store_areas(store));
	CHECK(look(store, &s) && is(&s, &now), "%s: tx %u of %u", title, s.tx, now.tx);
	ek_store_close(store);
}

/* The one that stays can't be written, from the n-th write on: the one that was to leave is there. */
static void leave_errors(void)
{
	unsigned int at, mirrors = 0, dead = 0;

	for (at = 1; at <= 3; at++) {
		struct media *m = make();
		struct ek_store *store = start(m, "oo", 3);
		int r;

		place = 0;
		between(store, 0);
		m->fail_at[1] = m->writes[1] + at;
		r = ek_store_leave_out(store, 0);
		m->fail_at[1] = 0;
		if (!r) {
			CHECK(ek_store_areas(store) == 2);
		} else if (!ek_store_writable(store)) {
			mirrors++;
			CHECK(ek_store_areas(store) == 3 && !ek_store_stale(store));
			commit(store);
			checkpoint(store, 1);
		} else {
			dead++;
		}
		ek_store_close(store);
		comes_back(m, "oo", 3, !r ? 2 : 3, "one that did not leave");
		media_free(m);
	}
	CHECK(mirrors && dead, "%u, %u", mirrors, dead);
}

/* What can't be read of the area that leaves: all; all but one block; of the other one: a block. */
static enum bad { BAD_NONE, BAD_ALL, BAD_LARGE, BAD_BLOCK, BAD_BOTH, BAD_END } bad;
static u64 bad_block;

static bool unreadable(unsigned int area, u64 offset, size_t len)
{
	switch (bad) {
	case BAD_ALL:
		return area == place;
	case BAD_LARGE:
		return area == place && len > EK_BLOCK_SIZE;
	case BAD_BLOCK:
		return area != place && offset <= bad_block && bad_block < offset + len;
	case BAD_BOTH:
		return area == place || (offset <= bad_block && bad_block < offset + len);
	default:
		return false;
	}
}

/* Where the page lies that counts: the first copy that is written is in slot 0. */
static u64 page_at(struct ek_store *store, unsigned int i, unsigned int slot)
{
	return le64_to_cpu(ek_store_super(store)->pages_offset) +
	       (2 * page_index[i] + slot) * EK_BLOCK_SIZE;
}

static void compare_then_leave(enum bad how)
{
	struct ek_mend mend = { .areas = ~(1u << place), .buf = ek_store_sync_buf() };
	bool dying = how == BAD_ALL || how == BAD_BOTH;
	struct media *m = make();
	struct ek_store *store = start(m, "oo", 3);
	u8 was[EK_BLOCK_SIZE];
	unsigned int steps;
	int r;

	/* A write that was dropped, and a page that is damaged, on the one that stays. */
	checkpoint(store, 0);
	checkpoint(store, 1);
	checkpoint(store, 2);
	checkpoint(store, 2);
	memcpy(was, media_poke(m, !place, page_at(store, 2, 0)), sizeof(was));
	checkpoint(store, 2);
	commit(store);
	if (how != BAD_LARGE && !dying)
		memcpy(media_poke(m, !place, page_at(store, 2, 0)), was, sizeof(was));
	if (!dying)
		*media_poke(m, !place, page_at(store, 1, 0)) ^= 0xff;
	bad = how;
	bad_block = page_at(store, 0, 0);
	m->unreadable = unreadable;
	for (steps = 0; (r = ek_store_mend_step(store, &mend)) > 0; steps++)
		if (steps % 16 == 0)
			commit(store);
	CHECK(!r && mend.mended == (dying ? 0 : how == BAD_NONE ? 2 : how == BAD_LARGE ?
				    1 : 3), "%d: %d, %u mended", how, r, (int)mend.mended);
	/* Once; and once more for what is nowhere else. */
	CHECK(m->read_errors[place] == dying + (how == BAD_LARGE) + (how == BAD_BOTH), "%d: %u", how,
	      m->read_errors[place]);
	CHECK(m->read_errors[!place] <= 2);
	bad = BAD_NONE;
	CHECK(!ek_store_leave_out(store, place));
	commit(store);
	ek_store_close(store);
	comes_back(m, "oo", 3, 1u << !place, "the one that stays");
	comes_back(m, "oo", 1u << !place, 1u << !place, "and alone");
	media_free(m);
	kvfree(mend.buf);
}

static void compares(void)
{
	enum bad how;

	for (place = 0; place < 2; place++)
		for (how = BAD_NONE; how < BAD_END && !ktap_failing(); how++)
			compare_then_leave(how);
}

/* A transaction that the media of one area have no more: damaged, or as if it had been dropped. */
static void lose_block(struct media *m, unsigned int area, struct ek_store *store, u64 i)
{
	u64 at = le64_to_cpu(ek_store_super(store)->journal_offset) + i * EK_BLOCK_SIZE;

	if (i + 1 < ek_store_journal_used(store))
		*media_poke(m, area, at + 100) ^= 0xff;
	else
		memset(media_poke(m, area, at), 0, EK_BLOCK_SIZE);
	bad_block = at;
}

static struct ek_store *with_transactions(struct media *m, unsigned int nr)
{
	struct ek_store *store = start(m, "oo", 3);

	between(store, 0);
	while (ek_store_journal_used(store) < nr)
		commit(store);
	return store;
}

/* What the journal of the one that stays has lost is on the other one, which leaves. */
static void journal_then_leave(u64 block, enum bad how, bool for_good)
{
	struct media *m = make();
	struct ek_store *store = with_transactions(m, 40);

	lose_block(m, !place, store, block);
	bad = how;
	m->unreadable = unreadable;
	/* Beside the other one a transaction that was dropped is one that was cut. */
	if (block == 39)
		m->hook = leave_hook;
	CHECK(!(for_good ? ek_store_vacate(store, place) : ek_store_leave_out(store, place)));
	m->hook = NULL;
	bad = BAD_NONE;
	comes_back(m, "oo", 1u << !place, 1u << !place, "alone, at once");
	commit(store);
	ek_store_close(store);
	comes_back(m, "oo", 3, 1u << !place, "the one that stays");
	comes_back(m, "oo", 1u << !place, 1u << !place, "and alone");
	media_free(m);
}

/* Of the one that stays nothing is known when its journal can't be mended: the other one is there. */
static void journal_errors(void)
{
	struct media *m = make();
	struct ek_store *store = with_transactions(m, 40);
	u64 writes = m->writes[!place];
	unsigned int at;

	lose_block(m, !place, store, 7);
	for (at = 1; at <= 2 && !ktap_failing(); at++) {
		m->fail_at[!place] = m->writes[!place] + at;
		CHECK(ek_store_leave_out(store, place) == -EIO, "%u", at);
		CHECK(!ek_store_writable(store) && ek_store_areas(store) == 3);
	}
	CHECK(m->writes[!place] == writes + 3);
	m->fail_at[!place] = 0;
	writes = m->writes[!place];
	CHECK(!ek_store_leave_out(store, place));
	/* A table, its flush, a superblock. */
	CHECK(m->writes[!place] == writes + 3, "what is as it should be is not written");
	ek_store_close(store);
	comes_back(m, "oo", 1u << !place, 1u << !place, "the one that stays");
	media_free(m);
}

static void journal_compares(void)
{
	static const u64 block[] = { 0, 20, 31, 32, 39 };
	unsigned int i;

	journal = 64;
	for (place = 0; place < 2; place++) {
		for (i = 0; i < ARRAY_SIZE(block) && !ktap_failing(); i++) {
			journal_then_leave(block[i], BAD_NONE, i % 2);
			journal_then_leave(block[i], BAD_NONE, !(i % 2));
		}
		if (!ktap_failing())
			journal_then_leave(5, BAD_BLOCK, false);
		if (!ktap_failing())
			journal_errors();
	}
	journal = 24;
}

/* What the media of the only one have lost of the journal the new one has all the same. */
static void journal_is_no_copy(void)
{
	for (place = 0; place < 2 && !ktap_failing(); place++) {
		const char *labels = place ? "on" : "no";
		struct ek_page *buf = ek_store_sync_buf();
		struct media *m = make();
		struct ek_store *store = left_out(m);
		int r;

		commit(store);
		commit(store);
		lose_block(m, !place, store, 1);
		CHECK(!ek_store_resync_begin(store, place, area_bytes(), new_uuid[place], buf));
		while ((r = ek_store_resync_step(store)) > 0)
			;
		CHECK(!r && ek_store_areas(store) == 3, "%d", r);
		comes_back(m, labels, 1u << place, 1u << place, "the new one alone");
		comes_back(m, labels, 3, 1u << place, "both");
		ek_store_close(store);
		media_free(before);
		media_free(m);
		kvfree(buf);
	}
}

/* @generations: how far the old one gets by itself. */
static struct media *went_on(unsigned int generations)
{
	struct media *m = media_crash(before, CRASH_ALL);
	struct ek_store *store = start(m, "oo", 1u << place);

	CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(1, 77, 1)));
	CHECK(!ek_store_tx_commit(store));
	while (generations--)
		CHECK(!ek_store_sync_super(store));
	ek_store_close(store);
	return m;
}

/* Its superblocks are sound, but of no use. */
static void damage_tables(struct media *m, unsigned int area)
{
	const u64 tables = EK_AREA_HEAD_BYTES + (128 << 10);

	*media_poke(m, area, tables) ^= 0xff;
	*media_poke(m, area, tables + EK_BLOCK_SIZE) ^= 0xff;
}

static void old_one(void)
{
	for (place = 0; place < 2 && !ktap_failing(); place++) {
		unsigned int mine = 1u << place, other = 1u << !place;
		const char *labels = place ? "on" : "no";
		struct media *m = make(), *c, *far;
		struct ek_store *store = left_out(m);

		replace(store);
		between(store, 3);
		ek_store_close(store);
		comes_back(m, labels, 3, 3, "the two that count");
		comes_back(m, labels, mine, mine, "the new one alone");
		comes_back(m, labels, other, other, "the other one alone");
		comes_back(m, "oo", 3, other, "an old label over the new one's superblock");
		comes_back(m, "oo", mine, 0, "that one alone");
		c = media_crash(m, CRASH_ALL);
		media_put_area(c, place, before, place);
		comes_back(c, "oo", 3, other, "the old one beside the other");
		comes_back(c, labels, 3, other, "its superblock below the new label");
		far = went_on(0);
		media_put_area(c, place, far, place);
		comes_back(c, "oo", 3, 0, "it went on alone");
		media_free(far);
		far = went_on(200);
		media_put_area(c, place, far, place);
		comes_back(c, "oo", 3, 0, "and for longer than the other");
		damage_tables(c, !place);
		comes_back(c, "oo", 3, 0, "which is damaged");
		media_free(far);
		/* It has not heard of it: nothing but the names tells. */
		media_put_area(c, place, before, place);
		comes_back(c, "oo", 3, 0, "the old one beside the other, damaged");
		media_free(c);
		media_free(before);
		media_free(m);
	}
}

/*
 * Somebody else's flush of its disk fails and drops what was copied, or what says that it is a
 * mirror: given up, or written again.
 */
static void copy_is_dropped(unsigned int at)
{
	unsigned int mine = 1u << place, other = 1u << !place;
	const char *labels = place ? "on" : "no";
	struct ek_page *buf = ek_store_sync_buf();
	struct media *m = make();
	struct ek_store *store = left_out(m);
	unsigned int steps;
	int r;

	CHECK(!ek_store_resync_begin(store, place, area_bytes(), new_uuid[place], buf));
	m->drop_at[place] = m->flushes[place] + at;
	m->drops[place] = 1;
	for (steps = 0; (r = ek_store_resync_step(store)) > 0; steps++)
		between(store, steps);
	CHECK(m->flushes[place] >= m->drop_at[place], "nothing was dropped");
	CHECK(r == (at <= 2 ? -EIO : 0), "before flush %u: %d", at, r);
	CHECK(ek_store_areas(store) == (r ? other : 3));
	commit(store);
	ek_store_close(store);
	comes_back(m, r ? "oo" : labels, 3, r ? other : 3, "both");
	comes_back(m, labels, r ? other : mine, r ? other : mine, "the one that counts");
	media_free(before);
	media_free(m);
	kvfree(buf);
}

static void copies_are_dropped(void)
{
	unsigned int at;

	for (place = 0; place < 2; place++)
		for (at = 1; at <= 4 && !ktap_failing(); at++)
			copy_is_dropped(at);
}

/* The same of pages that the one that stays is to have before the other one leaves. */
static void mended_is_dropped(void)
{
	struct ek_mend mend = { .buf = ek_store_sync_buf() };
	struct ek_store *store;
	struct media *m;
	unsigned int tries;
	int r;

	for (place = 0; place < 2 && !ktap_failing(); place++) {
		m = make();
		store = start(m, "oo", 3);
		checkpoint(store, 0);
		*media_poke(m, !place, page_at(store, 0, 0)) ^= 0xff;
		m->drops[!place] = 1;
		for (tries = 0; tries < 2; tries++) {
			mend = (struct ek_mend){ .areas = ~(1u << place), .buf = mend.buf };
			m->drop_at[!place] = tries ? 0 : m->flushes[!place] + 1;
			while ((r = ek_store_mend_step(store, &mend)) > 0)
				;
			CHECK(r == (tries ? 0 : -EIO) && mend.mended == 1, "%u: %d", tries, r);
		}
		CHECK(!ek_store_leave_out(store, place));
		commit(store);
		ek_store_close(store);
		comes_back(m, "oo", 1u << !place, 1u << !place, "alone");
		media_free(m);
	}
	kvfree(mend.buf);
}

/*
 * One that left while another is made in its stead is what there is when the one that stays is lost;
 * one that left for good says so itself: alone, or beside the other, it is not believed.
 */
static void told(void)
{
	struct ek_page *buf = ek_store_sync_buf();

	for (place = 0; place < 2 && !ktap_failing(); place++) {
		unsigned int mine = 1u << place, other = 1u << !place;
		const char *labels = place ? "on" : "no";
		struct media *m = make(), *c;
		struct ek_store *store = left_out(m), *old;
		struct state s, then = now;
		int r;

		then.tx--;
		between(store, 1);
		c = media_crash(m, CRASH_ALL);
		media_put_area(c, place, before, place);
		comes_back(c, "oo", 3, other, "beside the one that stays it is out");
		r = open_as(c, "oo", mine, &old);
		if (CHECK(!r, "it alone, as that is lost: %d", r)) {
			CHECK(look(old, &s) && is(&s, &then), "with what there was then");
			ek_store_close(old);
		}
		media_free(c);
		CHECK(!ek_store_resync_begin(store, place, area_bytes(), new_uuid[place], buf));
		while ((r = ek_store_resync_step(store)) > 0)
			;
		CHECK(!r && ek_store_areas(store) == 3);
		CHECK(!ek_store_vacate(store, place));
		c = media_crash(m, CRASH_NONE);
		comes_back(c, labels, mine, 0, "it alone, at once");
		comes_back(c, labels, 3, other, "both, at once");
		media_free(c);
		between(store, 2);
		comes_back(m, labels, mine, 0, "it alone, later");
		comes_back(m, labels, other, other, "the other one alone");
		CHECK(!ek_store_resync_begin(store, place, area_bytes(), new_uuid[place], buf));
		while ((r = ek_store_resync_step(store)) > 0)
			;
		comes_back(m, labels, mine, mine, "it alone, a mirror again");
		/* Of one that left for good as it failed nobody said so to it. */
		m->fail_at[place] = m->writes[place] + 1;
		CHECK(!r && !ek_store_vacate(store, place));
		m->fail_at[place] = 0;
		comes_back(m, labels, mine, mine, "one that could not be told");
		CHECK(!ek_store_vacate(store, place));
		comes_back(m, labels, mine, 0, "and then was");
		ek_store_close(store);
		media_free(before);
		media_free(m);
	}
	kvfree(buf);
}

/* The only area moves: a place for another is made, that becomes a mirror; then it leaves. */
static void moves_hook(struct media *m)
{
	unsigned int how;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		struct ek_store *store;
		struct state s, t;
		struct media *c;
		int r;

		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		serves_alone(c, "on", 0, &old_alone);
		serves_alone(c, "on", 1, &new_alone);
		r = open_as(c, "on", 3, &store);
		if (CHECK(!r, "%d", r)) {
			mirrored += ek_store_areas(store) == 3;
			alone += ek_store_areas(store) != 3;
			CHECK(look(store, &s) && (is(&s, &now) || is(&s, &next)));
			CHECK(!ek_store_tx_add_map(store, 5, ek_entry_make(1, 299, 1)));
			CHECK(!ek_store_tx_commit(store));
			ek_store_close(store);
			r = open_as(c, "on", 3, &store);
			s.tx = 299;
			if (CHECK(!r, "afterwards %d", r)) {
				CHECK(look(store, &t) && is(&s, &t), "tx %u", t.tx);
				ek_store_close(store);
			}
		}
		media_free(c);
	}
}

static const struct ek_reshape two_places = { .nr_extents = NR, .nr_members = 2, .nr_meta = 2 };

static void only_one_moves(void)
{
	struct ek_reshape fewer = { .nr_extents = NR, .nr_members = 2, .nr_meta = 1 };
	struct ek_page *buf = ek_store_sync_buf();
	struct media *m = make_of(1), *first;
	struct ek_store *store = start(m, "on", 1);
	unsigned int steps;
	int r;

	events = 0;
	mirrored = 0;
	alone = 0;
	old_alone = 0;
	new_alone = 0;
	between(store, 0);
	CHECK(ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf) == -EINVAL,
	      "no place");
	first = media_crash(m, CRASH_ALL);
	m->hook = moves_hook;
	CHECK(!ek_store_reshape(store, &two_places));
	CHECK(ek_super_vacant(ek_store_super(store)) == 2 && ek_store_stale(store) == 2);
	CHECK(ek_store_reshape(store, &fewer) == -EINVAL, "a place can't go");
	CHECK(ek_store_vacate(store, 0) == -EINVAL, "the last one");
	commit(store);
	CHECK(!ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf));
	CHECK(ek_store_vacate(store, 1) == -EBUSY, "while it is made");
	for (steps = 0; (r = ek_store_resync_step(store)) > 0 && !ktap_failing(); steps++)
		if (steps % 2)
			commit(store);
	CHECK(!r && ek_store_areas(store) == 3 && !ek_super_vacant(ek_store_super(store)));
	commit(store);
	CHECK(!ek_store_vacate(store, 0));
	CHECK(!ek_store_vacate(store, 0), "again");
	m->hook = NULL;
	CHECK(ek_super_vacant(ek_store_super(store)) == 1 && ek_store_areas(store) == 2);
	comes_back(m, "on", 1, 0, "the old one alone");
	commit(store);
	checkpoint(store, 2);
	CHECK(events > 30 && mirrored && alone && old_alone && new_alone);
	comes_back(m, "on", 3, 2, "the old one beside the new one");
	media_put_area(m, 0, first, 0);
	comes_back(m, "on", 3, 2, "as it was before there was another");
	/* The place can be filled again. */
	media_blank_area(m, 0);
	CHECK(!ek_store_resync_begin(store, 0, area_bytes(), new_uuid[0], buf));
	while ((r = ek_store_resync_step(store)) > 0)
		;
	CHECK(!r && ek_store_areas(store) == 3);
	comes_back(m, "nn", 3, 3, "two mirrors");
	ek_store_close(store);
	media_free(first);
	media_free(m);
	kvfree(buf);
}

/* Every write fails once: the place is there or it is not, the old one left or it did not. */
static void move_errors(void)
{
	unsigned int at, made = 0, failed = 0, dead = 0;

	for (at = 1; at < 5 && !ktap_failing(); at++) {
		struct media *m = make_of(1);
		struct ek_store *store = start(m, "on", 1);
		int r;

		between(store, 0);
		m->fail_at[0] = m->writes[0] + at;
		r = ek_store_reshape(store, &two_places);
		m->fail_at[0] = 0;
		made += !r;
		if (r && ek_store_writable(store)) {
			dead++;
		} else {
			failed += !!r;
			CHECK(ek_store_stale(store) == (r ? 0 : 2));
			CHECK(le32_to_cpu(ek_store_super(store)->nr_meta) == (r ? 1 : 2));
			commit(store);
			checkpoint(store, 1);
		}
		ek_store_close(store);
		comes_back(m, "on", 1, 1, "afterwards");
		media_free(m);
	}
	CHECK(made && failed && dead, "%u, %u, %u", made, failed, dead);
}

/* Both are replaced, one after the other: each old one finds one that it does not know. */
static void both(void)
{
	struct media *m = make(), *first, *c, *far;
	struct ek_store *store;

	place = 0;
	store = left_out(m);
	first = before;
	replace(store);
	between(store, 3);
	place = 1;
	CHECK(!ek_store_leave_out(store, 1));
	before = media_crash(m, CRASH_ALL);
	media_blank_area(m, 1);
	replace(store);
	between(store, 3);
	ek_store_close(store);
	comes_back(m, "nn", 3, 3, "the new ones");
	comes_back(m, "no", 3, 1, "a label of before");
	c = media_crash(m, CRASH_ALL);
	media_put_area(c, 0, first, 0);
	comes_back(c, "on", 3, 2, "the first one beside one that it does not know");
	place = 0;
	media_free(before);
	before = first;
	far = went_on(0);
	media_put_area(c, 0, far, 0);
	comes_back(c, "on", 3, 0, "which went on alone");
	media_free(far);
	far = went_on(200);
	media_put_area(c, 0, far, 0);
	comes_back(c, "on", 3, 0, "and for longer");
	media_free(far);
	media_free(c);
	media_free(first);
	media_free(m);
}

/* Every write to the new one fails: it is given up, and the pool goes on. */
static void errors(void)
{
	struct ek_page *buf = ek_store_sync_buf();
	unsigned int at, failed = 0, done = 0;

	place = 1;
	for (at = 1; at < 40 && !ktap_failing(); at++) {
		struct media *m = make();
		struct ek_store *store = left_out(m);
		unsigned int steps = 0;
		int r;

		m->fail_at[1] = m->writes[1] + at;
		CHECK(!ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf));
		CHECK(ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf) == -EBUSY);
		CHECK(ek_store_resyncing(store) == 2);
		while ((r = ek_store_resync_step(store)) > 0)
			between(store, steps++);
		CHECK(!ek_store_resyncing(store));
		m->fail_at[1] = 0;
		failed += !!r;
		done += !r;
		CHECK(!ek_store_writable(store));
		CHECK(!r == (ek_store_areas(store) == 3), "%u: %d", at, r);
		commit(store);
		ek_store_close(store);
		comes_back(m, "on", 3, r ? 1 : 3, "afterwards");
		media_free(before);
		media_free(m);
	}
	CHECK(failed > 10 && done, "%u, %u", failed, done);
	kvfree(buf);
}

/* Has the copying begun?  From there on nothing is written to the old one but its last superblock. */
static bool is_copying(struct ek_store *store)
{
	u64 done, total;

	return ek_store_resync_at(store, &done, &total) && done * 2 >= total;
}

/*
 * The old one can't be written any more when all has been copied. Nobody is told that the new one
 * is a mirror, and neither is believed against the other.
 */
static void authority_errors(void)
{
	struct ek_page *buf = ek_store_sync_buf();
	unsigned int at, failed = 0, done = 0, dead = 0;

	place = 1;
	for (at = 1; at < 8 && !ktap_failing(); at++) {
		struct media *m = make();
		struct ek_store *store = left_out(m);
		unsigned int steps = 0;
		int r;

		CHECK(!ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf));
		while (steps++ < 1000 && ek_store_resync_step(store) > 0 && !is_copying(store))
			;
		m->fail_at[0] = m->writes[0] + at;
		m->fail_on[0] = true;
		while ((r = ek_store_resync_step(store)) > 0)
			;
		m->fail_at[0] = 0;
		m->fail_on[0] = false;
		failed += !!r;
		done += !r;
		dead += !!ek_store_writable(store);
		CHECK(!r == (ek_store_areas(store) == 3), "%u: %d", at, r);
		if (!ek_store_writable(store))
			commit(store);
		ek_store_close(store);
		comes_back(m, "on", 3, r ? 1 : 3, "afterwards");
		comes_back(m, "on", 1, 1, "alone");
		media_free(before);
		media_free(m);
	}
	CHECK(failed && done && dead, "%u, %u, %u", failed, done, dead);
	kvfree(buf);
}

/* Each was used while the other one was not there: neither is overwritten by the other. */
static void went_on_alone(void)
{
	struct ek_page *buf = ek_store_sync_buf();
	struct media *m = make(), *other;
	struct ek_store *store = start(m, "oo", 3);
	struct state theirs, s;
	int r;

	commit(store);
	ek_store_close(store);
	other = media_crash(m, CRASH_ALL);
	store = start(other, "oo", 2);
	commit(store);
	checkpoint(store, 1);
	commit(store);
	ek_store_close(store);
	CHECK(!open_as(other, "oo", 2, &store) && look(store, &theirs) && theirs.tx);
	ek_store_close(store);
	store = start(m, "oo", 1);
	commit(store);
	checkpoint(store, 2);
	media_put_area(m, 1, other, 1);
	CHECK(ek_store_resync_begin(store, 1, area_bytes(), pool_uuid, buf) == -EEXIST);
	CHECK(ek_store_resync_begin(store, 1, area_bytes(), new_uuid[1], buf) == -EEXIST);
	CHECK(!ek_store_resyncing(store) && ek_store_areas(store) == 1);
	commit(store);
	ek_store_close(store);
	CHECK(!open_as(m, "oo", 2, &store));
	CHECK(look(store, &s) && is(&s, &theirs), "what it has is there");
	ek_store_close(store);
	/* Whoever wants it gone wipes it. */
	store = start(m, "oo", 1);
	media_blank_area(m, 1);
	CHECK(!ek_store_resync_begin(store, 1, area_bytes(), pool_uuid, buf));
	while ((r = ek_store_resync_step(store)) > 0)
		;
	CHECK(!r && ek_store_areas(store) == 3, "%d", r);
	ek_store_close(store);
	media_free(other);
	media_free(m);
	kvfree(buf);
}

/* One has the next superblock, and has lost its last transaction since: the other one still has that. */
static struct ek_store *writer;
static u64 torn;

static void torn_hook(struct media *m)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	unsigned int how, area;

	for (how = CRASH_FIRST; how <= CRASH_SECOND && !ktap_failing(); how++) {
		struct media *c = media_crash(m, how);
		struct ek_super super[2];
		struct ek_geometry geo;

		for (area = 0; area < 2; area++)
			CHECK(!ek_store_peek(&media_io, c, bytes, 1u << area, &super[area], NULL));
		area = le64_to_cpu(super[1].generation) > le64_to_cpu(super[0].generation);
		if (super[0].generation != super[1].generation &&
		    super[0].journal_generation == super[1].journal_generation) {
			torn++;
			ek_super_geometry(&super[area], &geo);
			media_poke(c, area, geo.journal_offset + (ek_store_journal_used(writer) - 1) *
				   EK_BLOCK_SIZE)[100] ^= 1;
			comes_back(c, "oo", 3, 3, "a newer superblock, a shorter journal");
			comes_back(c, "oo", 1, 1, "the first, levelled");
			comes_back(c, "oo", 2, 2, "the second, levelled");
		}
		media_free(c);
	}
}

static void shorter(void)
{
	struct media *m = make();

	writer = start(m, "oo", 3);
	checkpoint(writer, 0);
	commit(writer);
	commit(writer);
	torn = 0;
	m->hook = torn_hook;
	CHECK(!ek_store_sync_super(writer));
	CHECK(!ek_store_sync_super(writer));
	m->hook = NULL;
	CHECK(torn);
	ek_store_close(writer);
	media_free(m);
}

static void refused(void)
{
	struct ek_page *buf = ek_store_sync_buf();
	struct media *m = make();
	struct ek_store *store;

	place = 1;
	store = left_out(m);
	CHECK(ek_store_resync_step(store) == -EINVAL, "none begun");
	CHECK(ek_store_resync_begin(store, 0, area_bytes(), NULL, buf) == -EINVAL, "a mirror");
	CHECK(ek_store_resync_begin(store, 2, area_bytes(), NULL, buf) == -EINVAL, "no area");
	CHECK(ek_store_resync_begin(store, 1, ek_super_area_bytes(ek_store_super(store)) - 1,
				    NULL, buf) == -ENOSPC, "too small");
	CHECK(!ek_store_resync_begin(store, 1, ek_super_area_bytes(ek_store_super(store)), NULL,
				     buf));
	ek_store_resync_stop(store);
	CHECK(ek_store_stale(store) == 2 && !ek_store_resyncing(store));
	commit(store);
	ek_store_close(store);
	media_free(before);
	media_free(m);
	kvfree(buf);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("mirror: an area leaves, cut at every event", leaves);
	ktap_run("mirror: one can't leave", leave_errors);
	ktap_run("mirror: pages are compared before one leaves", compares);
	ktap_run("mirror: so is the journal", journal_compares);
	ktap_run("mirror: a new one's journal is the one in memory", journal_is_no_copy);
	ktap_run("mirror: one takes its place, cut at every event", cut_anywhere);
	ktap_run("mirror: one is taken in again, cut at every event", taken_in_again);
	ktap_run("mirror: every write to the new one fails", errors);
	ktap_run("mirror: what was copied is dropped by somebody else's flush", copies_are_dropped);
	ktap_run("mirror: so is what was mended", mended_is_dropped);
	ktap_run("mirror: the old one fails when all is copied", authority_errors);
	ktap_run("mirror: the old one comes back", old_one);
	ktap_run("mirror: one that left for good knows it", told);
	ktap_run("mirror: the only one moves, cut at every event", only_one_moves);
	ktap_run("mirror: every write of that fails", move_errors);
	ktap_run("mirror: both are replaced", both);
	ktap_run("mirror: each went on without the other", went_on_alone);
	ktap_run("mirror: the newer one has lost the last transaction", shorter);
	ktap_run("mirror: what is refused", refused);
	return ktap_done();
}
