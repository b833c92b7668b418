// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extent cache's core against a model of members, a map and all that may be under way at once.
 * What counts: a copy that can be read from has what the place of its entry has.
 */
#include <stdlib.h>
#include "check.h"
#include <evenkeel/entry.h>
#include "cache_core.h"

#define EXTENTS		5
#define PLACES		24
#define GRANULES	4
#define ALL		((1u << GRANULES) - 1)
#define WRITES		3
#define STEPS		200000

/* A copy and its memory: a version for each granule. */
struct memory {
	struct hy_copy copy;
	u32 data[GRANULES];
	u32 filled;		/* granules read so far */
	u64 joined;		/* when the last reader began to wait for it */
	u32 seen[GRANULES];	/* by the last who began to copy it */
};

struct write {
	bool busy;
	u64 le, place;
	u32 bits;		/* written for the first time, too */
	u32 version;
	u32 done;		/* granules that the member has */
	u32 touched;
	struct memory *taken;	/* takes its data, and has not all of them yet */
	u32 left;		/* granules that it hasn't */
	bool updates;
};

static struct hy_cache_core *cache;
static u32 member[PLACES][GRANULES];
static u64 map[EXTENTS], before[EXTENTS];	/* before: what a migration can be undone to; 0: none */
static struct write writes[WRITES];
static struct memory *filling[6], *held[4];
/* Readers that have looked an entry up and have not come to the cache yet; 0: none. */
static struct { u64 le, entry; } late[4];
/* A migration; writes go to where the extent was and tell it, and none is there when it ends. */
static struct {
	bool busy, asked, from_memory;
	u64 le;
	u32 place;
	struct memory *memory;
	u32 todo, dirty;
	bool still;
	u32 had[GRANULES];	/* in memory, when a round began */
} mig;
static u32 version, from_memory, from_member;
static unsigned int allocated;
/* What each granule's place had last, and until when. */
static struct { u64 until; u32 version; } past[PLACES][GRANULES][4];
static u64 now;

static struct memory *memory_of(struct hy_copy *copy)
{
	return (struct memory *)((char *)copy - offsetof(struct memory, copy));
}

static void drop(struct hy_copy *copy)
{
	if (!copy)
		return;
	allocated--;
	free(memory_of(copy));
}

static struct memory *new_memory(void)
{
	allocated++;
	return calloc(1, sizeof(struct memory));
}

static void put(struct memory *m)
{
	if (hy_cc_put(cache, &m->copy))
		drop(&m->copy);
}

static void reset(u32 max)
{
	if (!cache)
		cache = malloc(sizeof(*cache));
	hy_cc_init(cache);
	cache->max = max;
	cache->ready = true;
}

static u32 place_of(u64 entry)
{
	return ek_entry_pe(entry);
}

static u32 content(u64 entry, u32 g)
{
	return ek_entry_valid(entry) >> g & 1 ? member[place_of(entry)][g] : 0;
}

static void set_member(u32 place, u32 g, u32 v)
{
	memmove(&past[place][g][1], &past[place][g][0], sizeof(past[place][g][0]) * 3);
	past[place][g][0].until = now;
	past[place][g][0].version = member[place][g];
	member[place][g] = v;
}

/* Did the place have it at a time since @since? */
static bool had(u32 place, u32 g, u32 v, u64 since)
{
	unsigned int i;

	if (member[place][g] == v)
		return true;
	for (i = 0; i < 4; i++)
		if (past[place][g][i].until >= since && past[place][g][i].version == v)
			return true;
	return past[place][g][3].until >= since;	/* more than is remembered */
}

static unsigned int writes_to(u64 le)
{
	unsigned int i, n = 0;

	for (i = 0; i < WRITES; i++)
		n += writes[i].busy && writes[i].le == le;
	return n;
}

static bool is_read(u64 le)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(filling); i++)
		if (filling[i] && filling[i]->copy.le == le)
			return true;
	return false;
}

static bool is_free(u32 place)
{
	unsigned int i;

	for (i = 0; i < EXTENTS; i++)
		if ((map[i] && place_of(map[i]) == place) ||
		    (before[i] && place_of(before[i]) == place))
			return false;
	for (i = 0; i < WRITES; i++)
		if (writes[i].busy && place_of(writes[i].place) == place)
			return false;
	for (i = 0; i < ARRAY_SIZE(filling); i++)
		if (filling[i] && place_of(filling[i]->copy.entry) == place)
			return false;
	if (mig.busy && mig.place == place)
		return false;
	for (i = 0; i < ARRAY_SIZE(late); i++)
		if (late[i].entry && place_of(late[i].entry) == place)
			return false;
	return true;
}

static u32 free_place(void)
{
	u32 place = rnd() % PLACES;

	while (!is_free(place))
		place = (place + 1) % PLACES;
	return place;
}

static void begin_fill(u64 le, u64 entry)
{
	struct hy_copy *evicted;
	unsigned int i;
	struct memory *m;

	for (i = 0; i < ARRAY_SIZE(filling) && filling[i]; i++)
		;
	if (i == ARRAY_SIZE(filling) || !hy_cc_may_fill(cache, le, entry, map[le], &evicted))
		return;
	CHECK(!writes_to(le));
	m = evicted ? memory_of(evicted) : new_memory();
	m->filled = 0;
	m->joined = now;
	hy_cc_fill(cache, &m->copy, le, entry);
	filling[i] = m;
}

/* @entry: the map's now, or some time ago */
static void read_with(u64 le, u64 entry)
{
	struct hy_copy *copy, *dropped;
	struct memory *m;
	u32 g;

	copy = hy_cc_read(cache, le, entry, &dropped);
	drop(dropped);
	if (!copy)
		return begin_fill(le, entry);
	m = memory_of(copy);
	CHECK(copy->state == HY_COPY_VALID || copy->state == HY_COPY_FILLING);
	if (copy->state == HY_COPY_FILLING) {
		m->joined = now;
		return put(m);
	}
	CHECK(!writes_to(le));
	/* What was there when he looked, or the same elsewhere since. */
	for (g = 0; g < GRANULES; g++)
		CHECK_EQ(m->data[g], content(entry, g));
	g = rnd() % ARRAY_SIZE(held);
	if (held[g] || rnd() % 16) {
		put(m);
	} else {
		held[g] = m;
		memcpy(m->seen, m->data, sizeof(m->seen));
	}
}

static void read_extent(u64 le)
{
	unsigned int i = rnd() % ARRAY_SIZE(late);

	if (late[i].entry) {
		read_with(late[i].le, late[i].entry);
		late[i].entry = 0;
	} else if (map[le] && rnd() % 8) {
		read_with(le, map[le]);
	} else {
		late[i].le = le;
		late[i].entry = map[le];
	}
}

/* A step of a fill: a granule is read, or its end. */
static void go_on_filling(struct memory **slot)
{
	struct memory *m = *slot;
	u32 g = rnd() % GRANULES;
	u64 entry = m->copy.entry;
	bool ok = rnd() % 16;

	if (m->filled != ALL) {
		m->data[g] = content(entry, g);
		m->filled |= BIT(g);
		return;
	}
	/* Those who waited get what was there since the last of them came. */
	for (g = 0; g < GRANULES; g++)
		CHECK(!(ek_entry_valid(entry) >> g & 1) ||
		      had(place_of(entry), g, m->data[g], m->joined));
	hy_cc_filled(cache, &m->copy, ok);
	put(m);
	*slot = NULL;
}

static void begin_write(struct write *w, u64 le)
{
	u32 touched = rnd() % ALL + 1;
	struct hy_copy *copy, *dropped;

	w->touched = touched;
	w->busy = true;
	w->le = le;
	if (!map[le])
		map[le] = ek_entry_make(0, free_place(), 0);
	w->place = ek_entry_place(map[le]);
	w->bits = touched & ~ek_entry_valid(map[le]);
	w->done = ~touched & ALL;
	w->version = ++version;
	copy = hy_cc_write_begin(cache, le, map[le], rnd() % 8 ? touched : 0, &dropped);
	drop(dropped);
	w->updates = copy;
	w->taken = copy ? memory_of(copy) : NULL;
	w->left = touched;
}

static void go_on_writing(struct write *w)
{
	u32 g = rnd() % GRANULES;
	bool ok = rnd() % 16;

	if (w->taken) {
		if (w->left >> g & 1)
			w->taken->data[g] = w->version;
		w->left &= ~BIT(g);
		if (!w->left) {
			put(w->taken);
			w->taken = NULL;
		}
		return;
	}
	if (w->done != ALL && ok) {
		if (!(w->done >> g & 1))
			set_member(place_of(w->place), g, w->version);
		w->done |= BIT(g);
		return;
	}
	ok = w->done == ALL;
	if (ok && ek_entry_place(map[w->le]) == w->place)
		map[w->le] |= w->bits;
	drop(hy_cc_write_end(cache, w->le, w->updates, ok));
	w->busy = false;
	if (mig.busy && mig.le == w->le)
		mig.dirty |= w->touched;
}

static void move(u64 le)
{
	struct hy_copy *copy, *dropped;
	u32 place, g;
	u64 was;

	if (!map[le] || writes_to(le) || mig.busy)
		return;
	place = free_place();
	copy = hy_cc_hold(cache, le, map[le], rnd() % 2, &dropped);
	drop(dropped);
	for (g = 0; copy && g < GRANULES; g++)
		CHECK_EQ(memory_of(copy)->data[g], content(map[le], g));
	if (copy && hy_cc_release(cache, copy))
		drop(copy);
	for (g = 0; g < GRANULES; g++)
		set_member(place, g, member[place_of(map[le])][g]);
	before[le] = rnd() % 2 ? map[le] : 0;
	was = map[le];
	map[le] = ek_entry_make(rnd() % 2, place, ek_entry_valid(was));
	if (rnd() % 2)
		drop(hy_cc_moved(cache, le, was, map[le]));
}

/* One that takes its time: announced, and all writes that don't know of it are done. */
static void begin_move(u64 le)
{
	if (!map[le] || writes_to(le))
		return;
	memset(&mig, 0, sizeof(mig));
	mig.place = free_place();
	mig.busy = true;
	mig.le = le;
	mig.still = rnd() % 2;
}

static void end_move(void)
{
	u64 was = map[mig.le];
	u32 g;

	map[mig.le] = ek_entry_make(rnd() % 2, mig.place, ek_entry_valid(was));
	for (g = 0; g < GRANULES; g++)
		CHECK_EQ(content(map[mig.le], g), content(was, g));
	drop(hy_cc_moved(cache, mig.le, was, map[mig.le]));
	if (mig.memory && hy_cc_release(cache, &mig.memory->copy))
		drop(&mig.memory->copy);
	before[mig.le] = 0;
	mig.busy = false;
}

/* Memory that is to be still does not change while it is written. */
static void begin_round(u32 todo, bool memory)
{
	mig.todo = todo;
	mig.from_memory = memory;
	if (memory)
		memcpy(mig.had, mig.memory->data, sizeof(mig.had));
}

static void go_on_moving(void)
{
	u32 g = rnd() % GRANULES, todo;
	struct hy_copy *copy, *dropped;

	if (!mig.asked) {
		copy = hy_cc_hold(cache, mig.le, map[mig.le], mig.still, &dropped);
		drop(dropped);
		mig.memory = copy ? memory_of(copy) : NULL;
		mig.asked = true;
		if (copy)
			begin_round(ek_entry_valid(map[mig.le]), true);
		else
			mig.dirty |= ek_entry_valid(map[mig.le]);
	} else if (mig.todo) {
		if (mig.from_memory && mig.still)
			CHECK_EQ(mig.memory->data[g], mig.had[g]);
		if (!(mig.todo >> g & 1))
			return;
		mig.from_memory ? from_memory++ : from_member++;
		set_member(mig.place, g, mig.from_memory ? mig.memory->data[g] :
						member[place_of(map[mig.le])][g]);
		mig.todo &= ~BIT(g);
	} else if (mig.dirty) {
		todo = mig.dirty & ek_entry_valid(map[mig.le]);
		mig.dirty = 0;
		begin_round(todo, mig.memory && hy_cc_keeps_up(cache, &mig.memory->copy));
	} else if (!writes_to(mig.le)) {
		end_move();
	}
}

/* The way back; what was written since is lost. */
static void undo_move(u64 le)
{
	if (mig.busy && mig.le == le)
		return;
	if (map[le] && before[le] && !writes_to(le))
		map[le] = before[le];
	before[le] = 0;
}

static void discard(u64 le)
{
	if (rnd() % 2)
		map[le] &= ~(u64)(rnd() & ALL);
	else if (!mig.busy || mig.le != le)
		map[le] = 0;
	if (!map[le] && rnd() % 2 && !writes_to(le) && !is_read(le)) {
		/* the same place again, with what was there */
		map[le] = ek_entry_make(0, free_place(), 0);
	}
	before[le] = 0;
}

static void step(void)
{
	unsigned int f = rnd() % ARRAY_SIZE(filling), h = rnd() % ARRAY_SIZE(held);
	unsigned int i = rnd() % WRITES;
	u64 le = rnd() % EXTENTS;

	now++;
	switch (rnd() % 16) {
	case 0 ... 4:
		read_extent(le);
		break;
	case 5 ... 8:
		if (filling[f])
			go_on_filling(&filling[f]);
		break;
	case 9 ... 11:
		if (writes[i].busy)
			go_on_writing(&writes[i]);
		else if (!(rnd() % 64))
			begin_write(&writes[i], le);
		break;
	case 12:
		if (held[h]) {
			CHECK(!memcmp(held[h]->seen, held[h]->data, sizeof(held[h]->seen)));
			put(held[h]);
		}
		held[h] = NULL;
		break;
	case 13:
		if (mig.busy)
			go_on_moving();
		else if (!(rnd() % 8))
			begin_move(le);
		else if (!(rnd() % 32))
			move(le);
		else if (!(rnd() % 32))
			undo_move(le);
		break;
	case 14:
		if (!(rnd() % 64))
			discard(le);
		break;
	default:
		if (cache->nr && !(rnd() % 64))
			drop(hy_cc_take_any(cache));
		break;
	}
	CHECK_EQ(cache->alive, allocated);
	CHECK(allocated <= cache->max && cache->nr <= cache->alive);
}

static void settle(void)
{
	unsigned int i;

	for (i = 0; i < WRITES; i++)
		while (writes[i].busy)
			go_on_writing(&writes[i]);
	while (mig.busy)
		go_on_moving();
	for (i = 0; i < ARRAY_SIZE(filling); i++)
		while (filling[i])
			go_on_filling(&filling[i]);
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		if (held[i])
			put(held[i]);
		held[i] = NULL;
	}
	memset(late, 0, sizeof(late));
	while (cache->nr)
		drop(hy_cc_take_any(cache));
	CHECK_EQ(cache->alive, 0);
	CHECK_EQ(allocated, 0);
	for (i = 0; i < HY_CACHE_BUCKETS; i++)
		CHECK_EQ(cache->writes[i], 0);
}

static void a_copy_has_what_its_place_has(void)
{
	unsigned int n;

	reset(EXTENTS + 2);
	for (n = 0; n < STEPS && !check_failed; n++)
		step();
	printf("  # %llu hits, %llu misses, %llu fills, %llu updates, %llu drops\n",
	       (unsigned long long)cache->hits, (unsigned long long)cache->misses,
	       (unsigned long long)cache->fills, (unsigned long long)cache->updates,
	       (unsigned long long)cache->kills);
	printf("  # %u granules moved from memory, %u from members\n", from_memory, from_member);
	CHECK(cache->hits > STEPS / 10 && cache->updates > 30);
	CHECK(from_memory > 30 && from_member > 30);
	settle();
}

static void never_more_than_it_may(void)
{
	unsigned int n;

	reset(2);
	for (n = 0; n < STEPS / 4 && !check_failed; n++)
		step();
	CHECK(cache->hits);
	settle();
}

/* Read once each, in order; the first few over and over. */
static bool fill_one(u64 le)
{
	u64 entry = ek_entry_make(0, le, 1);
	struct hy_copy *copy, *other;

	copy = hy_cc_read(cache, le, entry, &other);
	drop(other);
	if (copy) {
		put(memory_of(copy));
		return true;
	}
	if (hy_cc_may_fill(cache, le, entry, entry, &other)) {
		copy = other ?: &new_memory()->copy;
		hy_cc_fill(cache, copy, le, entry);
		hy_cc_filled(cache, copy, true);
		put(memory_of(copy));
	}
	return false;
}

static void what_is_used_stays(void)
{
	unsigned int i, hits = 0;

	reset(16);
	for (i = 0; i < 4000; i++) {
		fill_one(1000 + i);
		hits += fill_one(i % 4);
	}
	CHECK_MSG(hits > 3900, "(%u of 4000)", hits);
	settle();
}

/*
 * What is read here and there, and does not come again, is not worth whole extents: after those that
 * there was credit for one extent of 64.  Extents of which more is read are found by these.
 */
static void fills_are_to_be_earned(void)
{
	unsigned int i, hits = 0;

	reset(16);
	for (i = 0; i < 20000; i++)
		CHECK(!fill_one(1000 + i));
	printf("  # %llu of 20000 filled\n", (unsigned long long)cache->fills);
	CHECK(cache->fills < HY_CACHE_CREDIT / HY_CACHE_COST + 2 * 20000 / HY_CACHE_TRY &&
	      cache->fills > HY_CACHE_CREDIT / HY_CACHE_COST + 20000 / HY_CACHE_TRY / 2);
	for (i = 0; i < 1000 * 32; i++)
		hits += fill_one(50000 + i / 32);
	CHECK_MSG(hits > 750 * 31, "(%u of 32000)", hits);
	settle();
}

/* An extent in memory, of which nobody holds anything. */
static void have(u64 le, u64 entry)
{
	struct hy_copy *copy, *other;

	reset(4);
	CHECK(hy_cc_may_fill(cache, le, entry, entry, &other) && !other);
	copy = &new_memory()->copy;
	hy_cc_fill(cache, copy, le, entry);
	hy_cc_filled(cache, copy, true);
	put(memory_of(copy));
	CHECK_EQ(cache->nr, 1);
}

/* Does a write there, of these granules, find a copy to take it over, or nothing left? */
static bool takes(u64 le, u64 entry, u32 touched)
{
	struct hy_copy *copy, *other;

	copy = hy_cc_write_begin(cache, le, entry, touched, &other);
	drop(other);
	if (copy)
		put(memory_of(copy));
	CHECK_EQ(cache->nr, copy ? 1 : 0);
	drop(hy_cc_write_end(cache, le, copy, true));
	return copy;
}

static void writes_that_a_copy_does_not_take(void)
{
	u64 entry = ek_entry_make(0, 9, ALL & ~1);
	struct hy_copy *copy, *other;

	have(3, entry);
	CHECK(takes(3, entry, 2));
	CHECK(takes(3, entry, 4));
	CHECK(!takes(3, entry, 0));
	/* moved, and what moved it may be undone: the copy would have what was lost */
	have(3, entry);
	CHECK(!takes(3, ek_entry_make(1, 9, ALL & ~1), 2));
	/* discarded in part since, and the rest of the granule becomes zeroes */
	have(3, entry);
	CHECK(!takes(3, entry & ~2ULL, 2));
	/* granules of which the copy has nothing but zeroes, and the member what it had */
	have(3, entry);
	CHECK(!takes(3, entry, 3));
	/* one is under way, whose data may come later */
	have(3, entry);
	copy = hy_cc_write_begin(cache, 3, entry, 2, &other);
	CHECK(copy && !other);
	put(memory_of(copy));
	CHECK(!hy_cc_read(cache, 3, entry, &other) && !other);
	CHECK(!takes(3, entry, 2));
	drop(hy_cc_write_end(cache, 3, true, true));
	CHECK_EQ(allocated, 0);
	/* one that fails may have written anything */
	have(3, entry);
	copy = hy_cc_write_begin(cache, 3, entry, 2, &other);
	put(memory_of(copy));
	drop(hy_cc_write_end(cache, 3, true, false));
	CHECK_EQ(cache->nr, 0);
	/* somebody looks at it */
	have(3, entry);
	copy = hy_cc_read(cache, 3, entry, &other);
	CHECK(copy && !takes(3, entry, 2));
	put(memory_of(copy));
	CHECK_EQ(allocated, 0);
}

static void what_is_written_is_picked_to_move(void)
{
	u64 entry = ek_entry_make(1, 9, ALL), to = ek_entry_make(0, 2, ALL), le = 0;
	struct hy_copy *copy, *other;

	have(3, entry);
	CHECK(!hy_cc_pick(cache, 1, &le));
	CHECK(takes(3, entry, 2));
	CHECK(!hy_cc_pick(cache, 0, &le));
	CHECK(hy_cc_pick(cache, 1, &le) && le == 3);
	CHECK(!hy_cc_pick(cache, 1, &le));
	CHECK(!hy_cc_hold(cache, 4, entry, false, &other) && !other);
	settle();
	/* not while its data are not the member's */
	have(3, entry);
	copy = hy_cc_write_begin(cache, 3, entry, 2, &other);
	put(memory_of(copy));
	CHECK(!hy_cc_pick(cache, 1, &le));
	CHECK(!hy_cc_write_end(cache, 3, true, true));
	/* moved, it goes along */
	CHECK(!hy_cc_moved(cache, 3, to, entry));
	CHECK_EQ(copy->entry, entry);
	CHECK(!hy_cc_moved(cache, 3, entry, to));
	CHECK_EQ(hy_cc_read(cache, 3, to, &other) == copy, 1);
	put(memory_of(copy));
	settle();
}

static void what_is_behind_many_others_is_picked_in_time(void)
{
	u64 last = 3 * HY_CACHE_LOOK, le = 0, i;
	struct hy_copy *copy, *other;
	unsigned int tries = 0;

	reset(last + 1);
	for (i = 0; i <= last; i++)
		fill_one(i);
	copy = hy_cc_write_begin(cache, last, ek_entry_make(0, last, 1), 1, &other);
	CHECK(copy && !other);
	put(memory_of(copy));
	CHECK(!hy_cc_write_end(cache, last, true, true));
	while (!hy_cc_pick(cache, 0, &le) && tries++ < 4)
		;
	CHECK_EQ(le, last);
	settle();
}

/* A reader that found @entry and comes to the cache only now: does it fill a copy? */
static struct memory *announce(u64 le, u64 entry, u64 mapped)
{
	struct hy_copy *copy, *other;

	copy = hy_cc_read(cache, le, entry, &other);
	drop(other);
	CHECK(!copy);
	if (copy || !hy_cc_may_fill(cache, le, entry, mapped, &other))
		return NULL;
	copy = other ?: &new_memory()->copy;
	hy_cc_fill(cache, copy, le, entry);
	return memory_of(copy);
}

static void filled(struct memory *m)
{
	if (!m)
		return;
	hy_cc_filled(cache, &m->copy, true);
	put(m);
}

static void release(struct hy_copy *copy)
{
	if (copy && hy_cc_release(cache, copy))
		drop(copy);
}

/* Neither a reader nor a migration finds anything, and nothing is left. */
static void none(u64 le, u64 entry)
{
	struct hy_copy *copy, *other;

	copy = hy_cc_read(cache, le, entry, &other);
	drop(other);
	CHECK(!copy);
	if (copy)
		put(memory_of(copy));
	copy = hy_cc_hold(cache, le, entry, false, &other);
	drop(other);
	CHECK(!copy);
	release(copy);
}

static void a_reader_that_is_late_brings_nothing_back(void)
{
	u64 first = ek_entry_make(0, 9, ALL), next = ek_entry_make(1, 5, ALL);
	struct memory *m;

	/* moved away, written there, moved back: it was read from where that write never was */
	reset(4);
	CHECK(!hy_cc_moved(cache, 3, first, next));
	CHECK(!takes(3, next, 1));
	m = announce(3, first, next);
	filled(m);
	drop(hy_cc_moved(cache, 3, next, first));
	none(3, first);
	CHECK_EQ(allocated, 0);
	/* the map has changed already, and who changed it says so only when all that is over */
	reset(4);
	CHECK(!takes(3, next, 1));
	filled(announce(3, first, next));
	drop(hy_cc_moved(cache, 3, first, next));
	none(3, next);
	CHECK_EQ(allocated, 0);
}

static void what_has_moved_leaves_nothing_behind(void)
{
	u64 first = ek_entry_make(0, 9, ALL), next = ek_entry_make(1, 5, ALL);
	u64 third = ek_entry_make(0, 2, ALL);
	struct hy_copy *other;
	struct memory *m;

	/* it is being read as it moves, and may not be known any more when it moves back */
	reset(4);
	m = announce(3, first, first);
	CHECK(m);
	CHECK(!hy_cc_moved(cache, 3, first, next));
	CHECK_EQ(cache->nr, 0);
	filled(m);
	none(3, first);
	/* it is of another place than the one it leaves */
	have(3, first);
	drop(hy_cc_moved(cache, 3, next, third));
	CHECK_EQ(cache->nr, 0);
	/* one of the place where it is now stays */
	have(3, next);
	CHECK(!hy_cc_moved(cache, 3, first, next));
	CHECK_EQ(cache->nr, 1);
	/* a migration finds one of another place, or that there is none to move */
	CHECK(!hy_cc_hold(cache, 3, third, false, &other) && other);
	drop(other);
	have(3, first);
	CHECK(!hy_cc_hold(cache, 3, 0, false, &other) && other);
	drop(other);
	CHECK_EQ(cache->nr, 0);
	CHECK_EQ(allocated, 0);
}

static void what_moves_takes_writes(void)
{
	u64 entry = ek_entry_make(1, 9, ALL), to = ek_entry_make(0, 2, ALL);
	struct hy_copy *copy, *held, *other;

	/* held, and kept up with one write after the other */
	have(3, entry);
	held = hy_cc_hold(cache, 3, entry, false, &other);
	CHECK(held && takes(3, entry, 2) && takes(3, entry, 4));
	CHECK(hy_cc_keeps_up(cache, held));
	/* there is one under way when it is held, or when it moves on */
	copy = hy_cc_write_begin(cache, 3, entry, 2, &other);
	CHECK(copy == held && hy_cc_keeps_up(cache, held));
	put(memory_of(copy));
	release(held);
	held = hy_cc_hold(cache, 3, entry, false, &other);
	CHECK(held == copy && hy_cc_keeps_up(cache, held));
	CHECK(!hy_cc_write_end(cache, 3, true, true));
	/* others look at it, too: they are in no doubt what they get */
	copy = hy_cc_read(cache, 3, entry, &other);
	CHECK(copy == held && !takes(3, entry, 2));
	CHECK(!hy_cc_keeps_up(cache, held));
	put(memory_of(copy));
	CHECK_EQ(allocated, 1);
	release(held);
	CHECK_EQ(allocated, 0);
	/* a write that fails, and a cache that is turned off */
	have(3, entry);
	held = hy_cc_hold(cache, 3, entry, false, &other);
	put(memory_of(hy_cc_write_begin(cache, 3, entry, 2, &other)));
	CHECK(!hy_cc_write_end(cache, 3, true, false));
	CHECK(!hy_cc_keeps_up(cache, held));
	release(held);
	have(3, entry);
	held = hy_cc_hold(cache, 3, entry, false, &other);
	cache->ready = false;
	CHECK(!hy_cc_keeps_up(cache, held));
	cache->ready = true;
	/* when it has moved it is like any other */
	CHECK(!hy_cc_moved(cache, 3, entry, to));
	release(held);
	copy = hy_cc_read(cache, 3, to, &other);
	CHECK(copy == held && !takes(3, to, 2));
	put(memory_of(copy));
	CHECK_EQ(allocated, 0);
}

static void what_moves_can_stay_as_it_is(void)
{
	u64 entry = ek_entry_make(1, 9, ALL);
	struct hy_copy *copy, *other;

	have(3, entry);
	copy = hy_cc_hold(cache, 3, entry, true, &other);
	CHECK(copy && !takes(3, entry, 2));
	CHECK(!hy_cc_keeps_up(cache, copy));
	CHECK_EQ(allocated, 1);
	release(copy);
	CHECK_EQ(allocated, 0);
	/* one that changes already */
	have(3, entry);
	copy = hy_cc_write_begin(cache, 3, entry, 2, &other);
	CHECK(!hy_cc_hold(cache, 3, entry, true, &other) && !other);
	put(memory_of(copy));
	CHECK(!hy_cc_write_end(cache, 3, true, true));
	/* one that has nothing yet */
	settle();
	reset(4);
	copy = &new_memory()->copy;
	hy_cc_fill(cache, copy, 3, entry);
	CHECK(!hy_cc_hold(cache, 3, entry, false, &other) && !other);
	hy_cc_filled(cache, copy, true);
	put(memory_of(copy));
	settle();
}

static void what_cannot_be_read_is_not_tried_again(void)
{
	u64 entry = ek_entry_make(0, 7, 1);
	struct hy_copy *copy, *other;

	reset(4);
	CHECK(hy_cc_may_fill(cache, 7, entry, entry, &other) && !other);
	copy = &new_memory()->copy;
	hy_cc_fill(cache, copy, 7, entry);
	hy_cc_filled(cache, copy, false);
	put(memory_of(copy));
	CHECK_EQ(allocated, 0);
	CHECK(!hy_cc_may_fill(cache, 7, entry, entry, &other));
	CHECK(hy_cc_may_fill(cache, 8, entry, entry, &other));
	CHECK(!hy_cc_write_begin(cache, 7, entry, 1, &other) && !other);
	CHECK(!hy_cc_may_fill(cache, 7, entry, entry, &other));	/* while it is under way */
	CHECK(!hy_cc_write_end(cache, 7, false, true));
	CHECK(hy_cc_may_fill(cache, 7, entry, entry, &other));
}

static void not_before_all_writes_are_counted(void)
{
	u64 entry = ek_entry_make(0, 1, ALL);
	struct hy_copy *copy, *other;

	have(1, entry);
	cache->ready = false;
	CHECK(!hy_cc_may_fill(cache, 2, entry, entry, &other));
	CHECK(!hy_cc_read(cache, 1, entry, &other) && !other);
	CHECK(!hy_cc_hold(cache, 1, entry, false, &other) && !other);
	cache->ready = true;
	copy = hy_cc_read(cache, 1, entry, &other);
	CHECK(copy);
	put(memory_of(copy));
	settle();
	reset(4);
	cache->ready = true;
	cache->max = 0;
	CHECK(!hy_cc_may_fill(cache, 1, entry, entry, &other));
}

int main(void)
{
	static const struct test tests[] = {
		TEST(a_copy_has_what_its_place_has),
		TEST(never_more_than_it_may),
		TEST(what_is_used_stays),
		TEST(fills_are_to_be_earned),
		TEST(writes_that_a_copy_does_not_take),
		TEST(what_is_written_is_picked_to_move),
		TEST(what_is_behind_many_others_is_picked_in_time),
		TEST(a_reader_that_is_late_brings_nothing_back),
		TEST(what_has_moved_leaves_nothing_behind),
		TEST(what_moves_takes_writes),
		TEST(what_moves_can_stay_as_it_is),
		TEST(what_cannot_be_read_is_not_tried_again),
		TEST(not_before_all_writes_are_counted),
	};
	int r = run_tests(tests, ARRAY_SIZE(tests));

	free(cache);
	return r;
}
