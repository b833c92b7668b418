// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extent map against an array, then with threads: whatever a thread was told is
 * in the map before it asks for a commit, the next take must have seen.
 */
#include <evenkeel/extent_map.h>
#include "ktap.h"

#define NR	(EK_PAGE_ENTRIES * 5 + 17)

static bool on_media[8];

static bool absent(void *ctx, u64 index)
{
	return !on_media[index];
}

struct model {
	u64 now[NR];
	u64 taken[NR];
	bool changed[NR];
	bool loaded[8];
	int fail_after;
	u64 visited[NR];
	int nr_visited;
};

static int take(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	struct model *m = ctx;

	if (m->fail_after && !--m->fail_after)
		return -ENOSPC;
	CHECK(page->index == le / EK_PAGE_ENTRIES);
	CHECK(m->changed[le], "extent %llu was not changed", le);
	m->changed[le] = false;
	m->taken[le] = entry;
	m->visited[m->nr_visited++] = le;
	return 0;
}

/* What ek_map_pages_changed() is to say. */
static unsigned int pages_changed(const struct model *m)
{
	unsigned int n = 0;
	u64 i, last = U64_MAX;

	for (i = 0; i < NR; i++)
		if (m->changed[i] && i / EK_PAGE_ENTRIES != last) {
			last = i / EK_PAGE_ENTRIES;
			n++;
		}
	return n;
}

static void take_all(struct ek_map *map, struct model *m)
{
	u64 i;
	int r;

	CHECK(ek_map_pages_changed(map) == pages_changed(m));
	m->nr_visited = 0;
	m->fail_after = get_random_u64() % 4 ? 0 : 1 + get_random_u64() % 40;
	r = ek_map_take_changed(map, take, m);
	if (r) {
		CHECK(r == -ENOSPC);
		CHECK(ek_map_has_changes(map));
		/* As a committer does when its write fails: what was visited is put back. */
		for (i = 0; i < m->nr_visited; i++) {
			m->changed[m->visited[i]] = true;
			ek_map_mark_changed(map, m->visited[i]);
		}
		m->fail_after = 0;
		m->nr_visited = 0;
		CHECK(!ek_map_take_changed(map, take, m));
	}
	CHECK(!ek_map_has_changes(map));
	CHECK(!ek_map_pages_changed(map));
	for (i = 0; i < NR; i++) {
		CHECK(!m->changed[i], "extent %llu", i);
		CHECK(m->taken[i] == m->now[i], "extent %llu", i);
		CHECK(!ek_map_uncommitted(map, i));
	}
}

static void against_model(void)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ek_page media;
	struct ek_map map;
	unsigned int i, j;
	u64 le, e, new;

	on_media[1] = true;
	on_media[3] = true;
	ek_map_init(&map, NR, absent, NULL);
	for (i = 0; i < EK_PAGE_ENTRIES; i++) {
		m->now[EK_PAGE_ENTRIES + i] = ek_entry_make(i % 7, i, i);
		m->taken[EK_PAGE_ENTRIES + i] = m->now[EK_PAGE_ENTRIES + i];
	}
	CHECK(ek_map_lookup(&map, NR, &e) == -ERANGE);
	CHECK(ek_map_prepare(&map, NR, GFP_KERNEL) == -ERANGE);
	for (i = 0; i < 200000 && !ktap_failing(); i++) {
		le = get_random_u64() % NR;
		j = le / EK_PAGE_ENTRIES;
		switch (get_random_u64() % 6) {
		case 0:
			CHECK(ek_map_lookup(&map, le, &e) ==
			      (!m->loaded[j] && on_media[j] ? -EAGAIN : 0));
			if (m->loaded[j])
				CHECK(e == m->now[le]);
			break;
		case 1:
			if (ek_map_prepare(&map, le, GFP_KERNEL) == -EAGAIN) {
				CHECK(!m->loaded[j] && on_media[j]);
				memset(&media, 0, sizeof(media));
				for (e = 0; e < EK_PAGE_ENTRIES; e++)
					media.entry[e] = m->now[j * EK_PAGE_ENTRIES + e];
				CHECK(!ek_map_insert_page(&map, j, &media, GFP_KERNEL));
			}
			m->loaded[j] = true;
			break;
		case 2:
			/* A page that came twice is kept as it is. */
			if (!m->loaded[j])
				break;
			memset(&media, 0xff, sizeof(media));
			CHECK(!ek_map_insert_page(&map, j, &media, GFP_KERNEL));
			break;
		case 3:
			new = ek_entry_make(get_random_u64() % 32, get_random_u64() % 1000, 0);
			if (get_random_u64() % 8 == 0)
				new = 0;
			if (!m->loaded[j]) {
				CHECK(ek_map_cmpxchg(&map, le, 0, new) != 0);
				break;
			}
			e = get_random_u64() % 3 ? m->now[le] : m->now[le] + 1;
			CHECK(ek_map_cmpxchg(&map, le, e, new) == m->now[le]);
			if (e == m->now[le]) {
				m->now[le] = new;
				m->changed[le] = true;
			}
			break;
		case 4:
			e = get_random_u64() & get_random_u64() & EK_ENTRY_VALID_MASK;
			new = ek_entry_place(m->now[le]) + (get_random_u64() % 3 ? 0 : 1ULL << 32);
			if (!m->loaded[j]) {
				CHECK(!ek_map_set_valid(&map, le, new, e));
				break;
			}
			CHECK(ek_map_set_valid(&map, le, new, e) ==
			      (new == ek_entry_place(m->now[le])));
			if (new == ek_entry_place(m->now[le]) && (m->now[le] | e) != m->now[le]) {
				m->now[le] |= e;
				m->changed[le] = true;
				CHECK(ek_map_uncommitted(&map, le));
			}
			break;
		case 5:
			if (get_random_u64() % 50 == 0)
				take_all(&map, m);
			break;
		}
	}
	take_all(&map, m);
	CHECK(ek_map_memory(&map) * 10 <= atomic64_read(&map.nr_loaded) * EK_PAGE_ENTRIES * 86,
	      "8.6 bytes an entry");
	if (m->loaded[2]) {
		ek_map_page_encode(ek_map_page(&map, 2), &media);
		for (i = 0; i < EK_PAGE_ENTRIES; i++)
			CHECK(media.entry[i] == m->now[2 * EK_PAGE_ENTRIES + i]);
	}
	ek_map_destroy(&map);
	free(m);
	memset(on_media, 0, sizeof(on_media));
}

static void no_memory(void)
{
	struct ek_map map;
	int n, r = -ENOMEM;
	u64 e;

	for (n = 1; n < 20 && r; n++) {
		ek_map_init(&map, NR, absent, NULL);
		shim_fail_alloc = n;
		r = ek_map_prepare(&map, 5, GFP_NOWAIT);
		CHECK(r == 0 || r == -ENOMEM);
		CHECK(!ek_map_lookup(&map, 5, &e) && !e);
		shim_fail_alloc = 0;
		CHECK(!ek_map_prepare(&map, 5, GFP_NOWAIT));
		ek_map_destroy(&map);
	}
	CHECK(n > 3, "nothing was made to fail");
	CHECK(!r);
}

/* Threads. */
#define HOT		24	/* extents, on two pages, that all threads fight for */
#define THREADS		4
#define ROUNDS		60000

static struct ek_map shared;
static u64 seen[HOT];
static pthread_mutex_t commit_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic64_t lost;

static u64 hot_le(unsigned int i)
{
	return i % 2 * EK_PAGE_ENTRIES + i / 2;
}

static int take_hot(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	WRITE_ONCE(seen[le % EK_PAGE_ENTRIES * 2 + le / EK_PAGE_ENTRIES], entry);
	return 0;
}

/* A FLUSH: when nothing is left to take, all that returned before has been taken. */
static void commit(void)
{
	pthread_mutex_lock(&commit_lock);
	if (ek_map_has_changes(&shared))
		ek_map_take_changed(&shared, take_hot, NULL);
	pthread_mutex_unlock(&commit_lock);
}

static void *writer(void *arg)
{
	u64 rng = ktap_seed * 1000 + (u64)(uintptr_t)arg, e, bits, place;
	unsigned int i, n;

	for (i = 0; i < ROUNDS; i++) {
		rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
		n = (rng >> 33) % HOT;
		if (ek_map_lookup(&shared, hot_le(n), &e))
			break;
		if ((rng >> 50) % 3 == 0) {
			/* Move: the place changes, validity begins anew. */
			place = ek_entry_make(1, (ek_entry_mapped(e) ? ek_entry_pe(e) : 0) + 1, 0);
			if (ek_map_cmpxchg(&shared, hot_le(n), e, place) != e)
				continue;
			commit();
			if (ek_entry_pe(READ_ONCE(seen[n])) < ek_entry_pe(place))
				atomic64_inc(&lost);
		} else {
			bits = 1u << (rng >> 40) % 32;
			place = ek_entry_place(e);
			if (!place || !ek_map_set_valid(&shared, hot_le(n), place, bits))
				continue;
			commit();
			e = READ_ONCE(seen[n]);
			if (ek_entry_place(e) == place ? !(e & bits) :
			    !ek_entry_mapped(e) || ek_entry_pe(e) < ek_entry_pe(place))
				atomic64_inc(&lost);
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];
	unsigned long i;
	u64 e;

	ek_map_init(&shared, NR, absent, NULL);
	memset(seen, 0, sizeof(seen));
	CHECK(!ek_map_prepare(&shared, 0, GFP_KERNEL));
	CHECK(!ek_map_prepare(&shared, EK_PAGE_ENTRIES, GFP_KERNEL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, writer, (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(!atomic64_read(&lost), "%lld changes lost", (long long)atomic64_read(&lost));
	commit();
	for (i = 0; i < HOT; i++) {
		ek_map_lookup(&shared, hot_le(i), &e);
		CHECK(seen[i] == e, "extent %lu", i);
	}
	CHECK(!ek_map_has_changes(&shared));
	ek_map_destroy(&shared);
}

static void *inserter(void *arg)
{
	u64 le;

	for (le = 0; le < NR; le += 3)
		if (ek_map_prepare(&shared, le, GFP_KERNEL) ||
		    ek_map_cmpxchg(&shared, le, 0, ek_entry_make(0, le, 1)) == 0)
			continue;
	return NULL;
}

static void racing_inserts(void)
{
	pthread_t t[THREADS];
	unsigned long i, n;
	u64 e;

	for (n = 0; n < 200 && !ktap_failing(); n++) {
		ek_map_init(&shared, NR, absent, NULL);
		for (i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&t[i], NULL, inserter, (void *)i));
		for (i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		for (i = 0; i < NR; i += 3)
			CHECK(!ek_map_lookup(&shared, i, &e) && e == ek_entry_make(0, i, 1));
		CHECK(atomic64_read(&shared.nr_loaded) == 6);
		ek_map_destroy(&shared);
	}
}

static int visits;

/* The entry changes once more while the committer has it in hand. */
static int change_in_hand(void *ctx, struct ek_map_page *page, u64 le, u64 entry)
{
	struct ek_map *map = ctx;

	visits++;
	CHECK(entry == ek_entry_make(0, 5, visits == 1 ? 1 : 3), "visit %d", visits);
	if (visits == 1)
		CHECK(ek_map_set_valid(map, le, ek_entry_place(entry), 2));
	return 0;
}

static void changed_in_hand(void)
{
	struct ek_map map;
	u64 e = ek_entry_make(0, 5, 1);

	memset(on_media, 0, sizeof(on_media));
	ek_map_init(&map, NR, absent, NULL);
	CHECK(!ek_map_prepare(&map, 7, GFP_KERNEL));
	CHECK(ek_map_cmpxchg(&map, 7, 0, e) == 0);
	visits = 0;
	CHECK(!ek_map_take_changed(&map, change_in_hand, &map));
	CHECK(ek_map_uncommitted(&map, 7) && ek_map_has_changes(&map));
	CHECK(!ek_map_take_changed(&map, change_in_hand, &map));
	CHECK(visits == 2, "a change that came after the read is lost");
	CHECK(!ek_map_has_changes(&map));
	ek_map_destroy(&map);
}

#define GRANULE	4u	/* sectors, of a volume that is small enough to try all there is */
#define EXTENT	(8 * GRANULE)

/* Sector by sector: all of a granule's that the volume has are discarded. */
static bool is_covered(u32 granule, u32 from, u32 to, u32 end)
{
	u32 s, n = 0;

	for (s = granule * GRANULE; s < (granule + 1) * GRANULE && s < end; s++, n++)
		if (s < from || s >= to)
			return false;
	return n;
}

static void discard_bits(void)
{
	u32 from, to, end, g, bits;

	for (end = 1; end <= EXTENT; end++)
		for (from = 0; from < end; from++)
			for (to = from + 1; to <= end; to++) {
				bits = ek_discard_covers(from, to, end, 2);
				CHECK(!(bits >> 8));
				for (g = 0; g < 8; g++)
					CHECK(!(bits >> g & 1) == !is_covered(g, from, to, end),
					      "[%u, %u) of %u: granule %u", from, to, end, g);
			}
	CHECK(ek_discard_covers(0, 8192, 8192, 8) == U32_MAX);
	CHECK(ek_discard_covers(0, 8191, 8192, 8) == U32_MAX >> 1);
	CHECK(ek_discard_covers(7936, 8192, 8192, 8) == 1u << 31);
}

static void discarded_entries(void)
{
	u64 e = ek_entry_make(3, 7, 0x3f);

	CHECK(ek_entry_discard(e, 0x3f, true) == 0);
	CHECK(ek_entry_discard(e, U32_MAX, true) == 0);
	/* Nothing valid is left, but a write to the rest may be under way. */
	CHECK(ek_entry_discard(e, 0x3f, false) == ek_entry_make(3, 7, 0));
	/* Behind the end of the volume is what a longer table wrote. */
	CHECK(ek_entry_discard(e, 0x1f, true) == ek_entry_make(3, 7, 0x20));
	CHECK(ek_entry_discard(ek_entry_make(3, 7, 0), 0, true) == 0);
	CHECK(ek_entry_discard(e, 0, false) == e);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("entry: a discard covers what is wholly within it, and the volume's end", discard_bits);
	ktap_run("entry: an extent goes when all that the volume has of it is discarded", discarded_entries);
	ktap_run("map: agrees with an array under random changes and takes", against_model);
	ktap_run("map: allocation failures leave it whole", no_memory);
	ktap_run("map: a change after the committer's read is in the next take", changed_in_hand);
	ktap_run("map: threads: every change that returned is in the next take", threads);
	ktap_run("map: threads: racing inserts of a page keep one", racing_inserts);
	return ktap_done();
}
