// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store on media with a volatile cache, cut at every event.
 *
 * A player does what a committer does: changes the map, commits, checkpoints,
 * changes the superblock, with a model of what it was told is durable.  At every
 * event a crash is tried in many ways; what is found then must be the last state
 * acknowledged or the one under way, whole, and the space maps must be exactly what
 * the map says.  A second player goes on from there, and is cut, too.
 */
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "ktap.h"
#include "media.h"

#define NR		1100u	/* logical extents: three pages */
#define NR_PAGES	3u
#define MEMBERS		2u

static const u32 member_extents[MEMBERS] = { 300, EK_PAGE_BITS + 500 };

struct state {
	u64 map[NR];
	u32 policy;
};

struct allowed {
	const struct state *state[8];
	int nr;
};

struct player {
	struct media *m;
	unsigned int mask;		/* areas it was opened with */
	struct ek_store *store;
	struct ek_space space[MEMBERS];
	struct state now, acked, candidate;
	bool under_way;			/* the candidate may be there */
	bool running;			/* replay is over */
	bool wrote;			/* something was acknowledged since then */
	bool page_dirty[NR_PAGES];
	bool changed[NR];
	const struct player *base;	/* whose crash this one recovers from */
	int depth;
	unsigned int nested;		/* one in so many recoveries is cut itself */
	unsigned int failing;		/* areas that fail: alone they needn't be up to date */
};

static u64 recoveries, events, leveled, retried;

static u64 rnd(u64 n)
{
	return get_random_u64() % n;
}

static u64 area_bytes(void)
{
	/* Room for a journal of about 18 blocks. */
	return ek_store_area_bytes(NR, MEMBERS, member_extents) - (512 - 24) * EK_BLOCK_SIZE;
}

static void policy_text(u32 n, char *buf, size_t len)
{
	snprintf(buf, len, "wardrop 2 alpha %u", n);
}

static int format_from(struct media *m, u64 generation)
{
	struct ek_store_params p = {
		.extent_sectors = 256, .nr_extents = NR, .nr_meta = m->nr,
		.area_bytes = { area_bytes(), area_bytes() + 8192 },
		.nr_members = MEMBERS, .policy = "wardrop 2 alpha 0", .generation = generation,
	};

	memset(p.pool_uuid, 0x42, EK_UUID_SIZE);
	memcpy(p.member_extents, member_extents, sizeof(member_extents));
	return ek_store_format(&media_io, m, &p);
}

static int format(struct media *m)
{
	return format_from(m, 0);
}

/* ---- reading a pool and judging it ---- */

static int found_map(void *ctx, u64 le, u64 entry)
{
	struct player *p = ctx;

	p->now.map[le] = entry;
	p->page_dirty[le / EK_PAGE_ENTRIES] = true;
	if (entry)
		CHECK(!ek_space_store(&p->space[ek_entry_member(entry)], ek_entry_pe(entry), 1,
				      true));
	return 0;
}

static int found_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	struct player *p = ctx;

	CHECK(!ek_space_store(&p->space[member], pe, count, false));
	return 0;
}

static void load(struct player *p)
{
	struct ek_page page;
	unsigned int i, j;
	int r;

	for (i = 0; i < NR_PAGES; i++) {
		r = ek_store_read_page(p->store, i, &page);
		CHECK(!r, "page %u: %d", i, r);
		for (j = 0; j < EK_PAGE_ENTRIES && i * EK_PAGE_ENTRIES + j < NR; j++)
			p->now.map[i * EK_PAGE_ENTRIES + j] = le64_to_cpu(page.entry[j]);
		p->page_dirty[i] = false;
	}
	for (i = 0; i < MEMBERS; i++) {
		r = ek_store_load_space(p->store, i, &p->space[i]);
		CHECK(!r, "space %u: %d", i, r);
	}
}

/* Every extent in the map once, and nothing else, is in the space maps. */
static void check_space(struct player *p)
{
	unsigned long *seen[MEMBERS];
	unsigned int i;

	for (i = 0; i < MEMBERS; i++)
		seen[i] = calloc(BITS_TO_LONGS(member_extents[i]), sizeof(long));
	for (i = 0; i < NR; i++) {
		u64 e = p->now.map[i];

		if (!e)
			continue;
		CHECK(!test_bit(ek_entry_pe(e), seen[ek_entry_member(e)]),
		      "extent %u of member %u doubly used", ek_entry_pe(e), ek_entry_member(e));
		__set_bit(ek_entry_pe(e), seen[ek_entry_member(e)]);
	}
	for (i = 0; i < MEMBERS; i++) {
		CHECK(!memcmp(seen[i], p->space[i].stored,
			      BITS_TO_LONGS(member_extents[i]) * sizeof(long)),
		      "space map of member %u is not what the map says", i);
		free(seen[i]);
	}
}

static void allow(struct allowed *a, const struct state *s)
{
	if (a->nr < (int)ARRAY_SIZE(a->state))
		a->state[a->nr++] = s;
}

/* What a crash of @p may leave behind. */
static void allowed_after(const struct player *p, struct allowed *a)
{
	if (!p->running) {
		allowed_after(p->base, a);
		return;
	}
	allow(a, &p->acked);
	if (p->under_way)
		allow(a, &p->candidate);
	/* Alone on one of two areas: until it wrote, what the other has counts, too. */
	if (!p->wrote && p->mask != (1u << p->m->nr) - 1)
		allowed_after(p->base, a);
}

static void close_player(struct player *p)
{
	unsigned int i;

	ek_store_close(p->store);
	for (i = 0; i < MEMBERS; i++)
		ek_space_destroy(&p->space[i]);
	p->store = NULL;
}

static bool open_player(struct player *p)
{
	const char *reason;
	u64 bytes[2] = { area_bytes(), area_bytes() };
	unsigned int i;
	char text[64];
	int r;

	r = ek_store_open(&media_io, p->m, bytes, p->mask, &p->store, &reason);
	if (!CHECK(!r, "open: %d, %s", r, reason))
		return false;
	for (i = 0; i < MEMBERS; i++)
		CHECK(!ek_space_init(&p->space[i], member_extents[i]));
	load(p);
	if (ek_store_areas(p->store) == 3)
		leveled++;
	r = ek_store_replay(p->store, found_map, found_free, p);
	CHECK(!r, "replay: %d", r);
	if (le32_to_cpu(ek_store_super(p->store)->flags) & EK_SUPER_CLEAN)
		CHECK(!ek_store_journal_used(p->store), "clean, but the journal is not empty");
	for (i = 0; i < MEMBERS; i++)
		ek_space_activate(&p->space[i]);
	for (i = 0; i < 1000; i++) {
		policy_text(i, text, sizeof(text));
		if (!strcmp((char *)ek_store_super(p->store)->policy, text))
			break;
	}
	p->now.policy = i;
	p->acked = p->now;
	recoveries++;
	return !ktap_failing();
}

static bool is_allowed(const struct player *p, const struct allowed *a)
{
	int i;

	for (i = 0; i < a->nr; i++)
		if (!memcmp(&p->now, a->state[i], sizeof(p->now)))
			return true;
	return false;
}

/* ---- playing ---- */

static void change_one(struct player *p)
{
	u32 le = rnd(4) ? rnd(NR) : rnd(80);
	u64 old = p->now.map[le], was = p->acked.map[le], new = old;
	unsigned int member = rnd(MEMBERS);
	u32 pe, kind = rnd(10);

	if (old && kind < 3) {
		new |= 1u << rnd(32);
	} else if (old && kind < 6) {
		new = 0;
	} else {
		pe = ek_space_alloc(&p->space[member],
				    rnd(3) ? EK_SPACE_NONE : rnd(member_extents[member]));
		if (pe == EK_SPACE_NONE)
			new = 0;
		else
			new = ek_entry_make(member, pe, rnd(1ULL << 32));
	}
	/* A place that was never committed is free again at once. */
	if (old && ek_entry_place(old) != ek_entry_place(new) &&
	    ek_entry_place(old) != ek_entry_place(was))
		CHECK(!ek_space_free(&p->space[ek_entry_member(old)], ek_entry_pe(old), 1));
	/* Back to a place given up in the same batch can't happen: it is still used. */
	p->now.map[le] = new;
	p->changed[le] = true;
	p->page_dirty[le / EK_PAGE_ENTRIES] = true;
}

static void change(struct player *p)
{
	unsigned int n = rnd(8) ? 1 + rnd(30) : 250 + rnd(450);

	while (n--)
		change_one(p);
}

/* For each extent of the committed map that the batch gives up. */
static int each_free(struct player *p, int (*fn)(struct player *, unsigned int, u32, u32))
{
	u32 le, first = 0, count = 0;
	unsigned int member = 0;
	int r = 0;

	for (le = 0; le < NR && !r; le++) {
		u64 was = p->acked.map[le];

		if (!p->changed[le] || !was ||
		    ek_entry_place(was) == ek_entry_place(p->now.map[le]))
			continue;
		if (count && ek_entry_member(was) == member && ek_entry_pe(was) == first + count) {
			count++;
			continue;
		}
		if (count)
			r = fn(p, member, first, count);
		member = ek_entry_member(was);
		first = ek_entry_pe(was);
		count = 1;
	}
	if (count && !r)
		r = fn(p, member, first, count);
	return r;
}

static int add_free(struct player *p, unsigned int member, u32 pe, u32 count)
{
	return ek_store_tx_add_free(p->store, member, pe, count);
}

static int stored_free(struct player *p, unsigned int member, u32 pe, u32 count)
{
	return ek_space_store(&p->space[member], pe, count, false);
}

static int used_free(struct player *p, unsigned int member, u32 pe, u32 count)
{
	return ek_space_free(&p->space[member], pe, count);
}

static void apply_stored(struct player *p)
{
	u32 le;

	CHECK(!each_free(p, stored_free));
	for (le = 0; le < NR; le++) {
		u64 e = p->now.map[le];

		if (p->changed[le] && e)
			CHECK(!ek_space_store(&p->space[ek_entry_member(e)], ek_entry_pe(e), 1,
					      true));
	}
}

/* Whatever is being collected or written: committed is what was acknowledged. */
static void check_committed(struct player *p)
{
	struct ek_page page;
	unsigned int i, j;
	int r;

	for (i = 0; i < NR_PAGES; i++) {
		r = ek_store_read_committed(p->store, i, &page);
		CHECK(!r, "committed page %u: %d", i, r);
		for (j = 0; j < EK_PAGE_ENTRIES && i * EK_PAGE_ENTRIES + j < NR; j++)
			CHECK(le64_to_cpu(page.entry[j]) == p->acked.map[i * EK_PAGE_ENTRIES + j],
			      "extent %u is not as committed", i * EK_PAGE_ENTRIES + j);
	}
}

static void begin(struct player *p)
{
	check_committed(p);
	p->candidate = p->now;
	p->under_way = true;
}

static void done(struct player *p)
{
	CHECK(!each_free(p, used_free));
	memset(p->changed, 0, sizeof(p->changed));
	p->acked = p->now;
	p->under_way = false;
	p->wrote = true;
}

static int write_pages(struct player *p)
{
	struct ek_page page;
	unsigned int i, j;
	u32 n;
	int r;

	for (i = 0; i < NR_PAGES; i++) {
		if (!p->page_dirty[i])
			continue;
		memset(&page, 0, sizeof(page));
		for (j = 0; j < EK_PAGE_ENTRIES && i * EK_PAGE_ENTRIES + j < NR; j++)
			page.entry[j] = cpu_to_le64(p->now.map[i * EK_PAGE_ENTRIES + j]);
		r = ek_store_ckpt_page(p->store, i, &page);
		if (r)
			return r;
		/* Once more now and then: the last image counts. */
		if (!rnd(8))
			r = ek_store_ckpt_page(p->store, i, &page);
		if (r)
			return r;
	}
	for (i = 0; i < MEMBERS; i++)
		for (n = ek_space_next_dirty(&p->space[i], 0);
		     n < ek_space_pages(member_extents[i]);
		     n = ek_space_next_dirty(&p->space[i], n + 1)) {
			ek_space_encode(&p->space[i], n, &page);
			r = ek_store_ckpt_page(p->store, ek_store_space_index(p->store, i, n),
					       &page);
			if (r)
				return r;
		}
	return 0;
}

static int checkpoint_once(struct player *p, u32 flags)
{
	int r = ek_store_ckpt_begin(p->store);

	if (r)
		return r;
	r = write_pages(p);
	check_committed(p);
	if (!r)
		r = ek_store_ckpt_commit(p->store, flags);
	if (r)
		ek_store_ckpt_abort(p->store);
	return r;
}

static int checkpoint(struct player *p, u32 flags)
{
	unsigned int i, n, tries = 4;	/* as many as a disk may lose something in a row */
	int r;

	begin(p);
	apply_stored(p);
	for (;;) {
		r = checkpoint_once(p, flags);
		if (!r || ek_store_writable(p->store) || !--tries)
			break;
		retried++;
	}
	if (r)
		return r;
	done(p);
	memset(p->page_dirty, 0, sizeof(p->page_dirty));
	for (i = 0; i < MEMBERS; i++)
		for (n = 0; n < ek_space_pages(member_extents[i]); n++)
			ek_space_clear_dirty(&p->space[i], n);
	CHECK(!ek_store_journal_used(p->store));
	return 0;
}

static int add_records(struct player *p)
{
	u32 le;
	int r = 0;

	for (le = 0; le < NR && !r; le++)
		if (p->changed[le])
			r = ek_store_tx_add_map(p->store, le, p->now.map[le]);
	return r ? r : each_free(p, add_free);
}

/* Will the store write a superblock before the next transaction? */
static bool settles(const struct ek_store *store)
{
	const struct ek_super *sb = ek_store_super(store);

	return le32_to_cpu(sb->flags) & EK_SUPER_CLEAN ||
	       le32_to_cpu(sb->meta_stale) != ek_store_stale(store);
}

static int commit(struct player *p)
{
	bool settle = settles(p->store);
	int r = add_records(p);

	if (r == -ENOSPC) {
		ek_store_tx_abort(p->store);
		return checkpoint(p, 0);
	}
	if (r)
		return r;
	begin(p);
	r = ek_store_tx_commit(p->store);
	if (r) {
		CHECK(settle || ek_store_writable(p->store) == -EIO,
		      "the fate of a journal write is unknown, yet the store goes on");
		return r;
	}
	apply_stored(p);
	done(p);
	return 0;
}

static int set_policy(struct player *p, u32 policy)
{
	char text[64];

	policy_text(policy, text, sizeof(text));
	p->now.policy = policy;
	return ek_store_set_policy(p->store, text);
}

/* Changes of the map that no commit took yet are not part of this. */
static int change_policy(struct player *p)
{
	u32 old = p->now.policy;

	CHECK(!set_policy(p, (old + 1) % 1000));
	p->candidate = p->acked;
	p->candidate.policy = p->now.policy;
	p->under_way = true;
	if (ek_store_sync_super(p->store)) {
		if (!ek_store_writable(p->store)) {
			p->under_way = false;
			CHECK(!set_policy(p, old));
		}
		return -EIO;
	}
	p->acked.policy = p->now.policy;
	p->under_way = false;
	p->wrote = true;
	return 0;
}

static int step(struct player *p)
{
	u32 kind = rnd(20);

	if (kind == 0)
		return change_policy(p);
	change(p);
	if (kind == 1)
		return checkpoint(p, EK_SUPER_CLEAN);
	if (kind < 5)
		return checkpoint(p, 0);
	return commit(p);
}

/* ---- crashing ---- */

static void crash_hook(struct media *m);

/* Recover from one crash of @base, go on, and be sure of what was acknowledged then. */
static void recover(const struct player *base, unsigned int how, unsigned int mask)
{
	struct player *p = calloc(1, sizeof(*p));
	struct allowed a = { .nr = 0 }, b = { .nr = 0 };
	unsigned int full = (1u << base->m->nr) - 1, i, steps, stale;
	struct media *m;

	p->m = media_crash(base->m, how);
	p->mask = mask;
	p->base = base;
	p->depth = base->depth + 1;
	if (p->depth == 1 && base->nested && !rnd(base->nested)) {
		p->m->hook = crash_hook;
		p->m->ctx = p;
	}
	allowed_after(base, &a);
	if (!open_player(p))
		goto out;
	CHECK(is_allowed(p, &a), "crash %u, areas %u: not a state that may be found", how, mask);
	check_space(p);
	check_committed(p);
	p->running = true;

	steps = p->m->hook ? 3 : rnd(3);
	for (i = 0; i < steps && !ktap_failing(); i++)
		CHECK(!step(p));
	p->m->hook = NULL;
	if (mask != full && p->wrote)
		CHECK(ek_store_stale(p->store) == (full & ~mask));
	if (ktap_failing())
		goto out;
	stale = ek_store_stale(p->store);

	/* Off and on again: all that was acknowledged, whatever areas are there. */
	close_player(p);
	m = p->m;
	p->m = media_crash(m, rnd(2) ? CRASH_NONE : CRASH_WARM);
	media_free(m);
	/* One area alone that was only read: which of the two is found next is open. */
	if (!p->wrote && mask != full)
		goto freed;
	if (full == 3 && !stale)
		p->mask = 1 + rnd(3);
	else if (rnd(2))
		p->mask = full;
	p->candidate = p->acked;
	allow(&b, &p->candidate);
	if (open_player(p)) {
		CHECK(is_allowed(p, &b), "crash %u, areas %u, then off and on", how, mask);
		check_space(p);
		if (mask != full && p->wrote)
			CHECK(ek_store_stale(p->store) == (full & ~mask), "stale is forgotten");
	}
out:
	close_player(p);
freed:
	media_free(p->m);
	free(p);
}

static void crash_one(struct player *p, unsigned int how)
{
	unsigned int full = (1u << p->m->nr) - 1;

	if (ktap_failing())
		return;
	recover(p, how, p->mask);
	if (full == 3 && p->mask == 3)
		recover(p, how, p->failing ? 3 & ~p->failing : 1 + rnd(2));
	else if (full == 3)
		recover(p, how, 3);
	if (ktap_failing())
		ktap_note("depth %d, event %llu, crash %u", p->depth, (unsigned long long)events,
			  how);
}

static void crash_hook(struct media *m)
{
	struct player *p = m->ctx;
	unsigned int i;

	events++;
	crash_one(p, CRASH_NONE);
	if (!m->nr_pending)
		return;
	crash_one(p, CRASH_ALL);
	crash_one(p, CRASH_WARM);
	if (m->nr == 2) {
		crash_one(p, CRASH_FIRST);
		crash_one(p, CRASH_SECOND);
	}
	if (p->depth) {
		crash_one(p, CRASH_RANDOM);
		crash_one(p, CRASH_TORN + 1 + rnd(7));
		return;
	}
	for (i = 0; i < 3; i++)
		crash_one(p, CRASH_RANDOM);
	for (i = 1; i < 8; i++)
		crash_one(p, CRASH_TORN + i);
}

static void play_and_crash(unsigned int nr, unsigned int steps, unsigned int nested)
{
	struct player *p = calloc(1, sizeof(*p));
	unsigned int i;

	recoveries = 0;
	events = 0;
	p->m = media_new(nr, area_bytes() + 8192);
	p->mask = (1u << nr) - 1;
	p->nested = nested;
	CHECK(!format(p->m));
	if (open_player(p)) {
		p->running = true;
		p->m->hook = crash_hook;
		p->m->ctx = p;
		for (i = 0; i < steps && !ktap_failing(); i++)
			CHECK(!step(p));
		p->m->hook = NULL;
	}
	ktap_note("%llu events, %llu recoveries", (unsigned long long)events,
		  (unsigned long long)recoveries);
	CHECK(events > steps, "nothing was cut");
	close_player(p);
	media_free(p->m);
	free(p);
}

static void crash_single(void)
{
	play_and_crash(1, 60, 0);
}

static void crash_mirrored(void)
{
	play_and_crash(2, 30, 0);
}

static void crash_nested(void)
{
	play_and_crash(1, 25, 20);
}

static void crash_nested_mirrored(void)
{
	play_and_crash(2, 16, 60);
}

/* ---- format ---- */

static void format_hook(struct media *m)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	unsigned int how, full = (1u << m->nr) - 1;
	struct ek_store *store;
	const char *reason;
	struct media *c;
	int r;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++) {
		if (how == CRASH_TORN)
			continue;
		c = media_crash(m, how);
		r = ek_store_open(&media_io, c, bytes, full, &store, &reason);
		CHECK(r == 0 || r == -ENODATA, "crash %u: %d, %s", how, r, reason);
		if (!r) {
			CHECK(ek_store_generation(store) == 1 && !ek_store_journal_used(store) &&
			      ek_store_areas(store) == full && ek_store_page_absent(store, 0));
			ek_store_close(store);
		} else {
			/* And then it can be formatted. */
			CHECK(!format(c));
			CHECK(!ek_store_open(&media_io, c, bytes, full, &store, &reason));
			ek_store_close(store);
		}
		media_free(c);
	}
}

static void format_cut(void)
{
	struct media *m = media_new(2, area_bytes() + 8192);

	events = 0;
	m->hook = format_hook;
	CHECK(!format(m));
	CHECK(events > 5);
	media_free(m);
}

/* One that has just been made. */
static struct player *running_player(unsigned int nr)
{
	struct player *p = calloc(1, sizeof(*p));

	p->m = media_new(nr, area_bytes() + 8192);
	p->mask = (1u << nr) - 1;
	CHECK(!format(p->m));
	CHECK(open_player(p));
	p->running = true;
	return p;
}

/* A pool made where another one was: nothing of the old one counts. */
static void format_again(void)
{
	struct player *p = running_player(1);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		change(p);
		CHECK(!commit(p));
	}
	close_player(p);
	CHECK(!format(p->m));
	memset(&p->now, 0, sizeof(p->now));
	CHECK(open_player(p));
	for (i = 0; i < NR; i++)
		CHECK(!p->now.map[i]);
	CHECK(!ek_store_journal_used(p->store));
	close_player(p);
	media_free(p->m);
	free(p);
}

/* A pool that is to go, and the one that comes in its place. */
static struct going {
	const struct player *old;
	u64 newest;	/* generation of the old one */
	u64 next;	/* of the new one; 0: none comes */
	u64 found[3];	/* crashes after which there was: nothing, the old one, the new one */
} going;

/* A superblock that can't be read until it is overwritten; an area that is none: there is none. */
static struct {
	unsigned int area;
	u64 offset;
	int error;		/* with which the pool is refused before it is forgotten */
} unread = { .area = EK_MAX_META };

static int unread_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	int r = media_io.read(ctx, area, offset, buf, len);

	return r || area != unread.area || offset != unread.offset ||
	       !((struct ek_super *)buf)->magic ? r : -EIO;
}

static struct ek_store_io unread_io(void)
{
	struct ek_store_io io = media_io;

	io.read = unread_read;
	return io;
}

/* The generation that there is, 0: none, or an error. */
static int found_unread(struct media *m, u64 *generation)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store_io io = unread_io();
	struct ek_store *store;
	const char *reason;
	int r = ek_store_open(&io, m, bytes, (1u << m->nr) - 1, &store, &reason);

	*generation = 0;
	if (!r) {
		*generation = ek_store_generation(store);
		ek_store_close(store);
	}
	return r;
}

/*
 * While it can't be read its area is refused.  What is left may be the older of two areas, which
 * only the unread one says (@going.next): what counts is that forgetting makes it no worse.
 */
static void unread_crash(struct media *m, unsigned int how)
{
	struct media *c = media_crash(m, how);
	u64 generation;
	int r = found_unread(c, &generation);

	CHECK(r ? r == -ENODATA || r == -EIO || r == unread.error :
		  generation == going.newest || generation == going.next,
	      "crash %u at event %llu, area %u offset %llu unread: %d, generation %llu, not %llu",
	      how, (unsigned long long)events, unread.area, (unsigned long long)unread.offset, r,
	      (unsigned long long)generation, (unsigned long long)going.newest);
	media_free(c);
}

static void going_crash(struct media *m, unsigned int how)
{
	u64 bytes[2] = { area_bytes(), area_bytes() }, generation;
	struct player *p = calloc(1, sizeof(*p));
	const char *reason;
	int r;

	p->m = media_crash(m, how);
	p->mask = (1u << m->nr) - 1;
	r = ek_store_open(&media_io, p->m, bytes, p->mask, &p->store, &reason);
	CHECK(r == 0 || r == -ENODATA, "crash %u at event %llu: %d, %s", how,
	      (unsigned long long)events, r, reason);
	if (r) {
		going.found[0]++;
		goto out;
	}
	generation = ek_store_generation(p->store);
	ek_store_close(p->store);
	CHECK(generation == going.newest || generation == going.next,
	      "crash %u at event %llu: generation %llu, not %llu", how,
	      (unsigned long long)events, (unsigned long long)generation,
	      (unsigned long long)going.newest);
	going.found[generation == going.newest ? 1 : 2]++;
	CHECK(open_player(p));
	if (generation == going.newest)
		CHECK(!memcmp(&p->now, &going.old->acked, sizeof(p->now)),
		      "crash %u at event %llu: half of the old pool", how,
		      (unsigned long long)events);
	else
		CHECK(!ek_store_journal_used(p->store) && ek_store_page_absent(p->store, 0));
	close_player(p);
out:
	media_free(p->m);
	free(p);
}

/* What is there is the old pool with all that it had, no pool, or the new one. */
static void going_hook(struct media *m)
{
	unsigned int how, again;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++)
		for (again = how == CRASH_RANDOM ? 8 : 1; again; again--)
			going_crash(m, how);
}

/* One that has lived, its last @checkpoints on the areas in @last alone. */
static struct player *lived_player(unsigned int nr, unsigned int last, unsigned int checkpoints)
{
	struct player *p = calloc(1, sizeof(*p));
	unsigned int i;

	p->m = media_new(nr, area_bytes() + 8192);
	p->mask = (1u << nr) - 1;
	CHECK(!format(p->m));
	CHECK(open_player(p));
	p->running = true;
	for (i = 0; i < 3; i++) {
		change(p);
		CHECK(!checkpoint(p, 0));
	}
	close_player(p);
	p->mask = last;
	CHECK(open_player(p));
	for (i = 0; i < checkpoints; i++) {
		change(p);
		CHECK(!checkpoint(p, 0));
	}
	for (i = 0; i < 3; i++) {
		change_one(p);
		CHECK(!commit(p));
	}
	going = (struct going){ .old = p, .newest = ek_store_generation(p->store) };
	close_player(p);
	events = 0;
	p->m->hook = going_hook;
	return p;
}

/* Both parities of the old one's generation, one area and two, one of which may be stale. */
static void each_going(void (*go)(struct media *m))
{
	static const struct { unsigned int nr, last; } areas[] = {
		{ 1, 1 }, { 2, 3 }, { 2, 1 }, { 2, 2 },
	};
	unsigned int i, checkpoints;
	struct player *p;
	u64 parity = 0;

	for (i = 0; i < ARRAY_SIZE(areas); i++) {
		for (checkpoints = 1; checkpoints <= 2; checkpoints++) {
			p = lived_player(areas[i].nr, areas[i].last, checkpoints);
			parity |= 1 << going.newest % 2;
			go(p->m);
			CHECK(events > 5 && going.found[0] && going.found[1]);
			CHECK(!going.next == !going.found[2]);
			media_free(p->m);
			free(p);
		}
		CHECK(parity == 3);
	}
}

static void go_format(struct media *m)
{
	going.next = 1;
	CHECK(!format(m));
}

/* As one that is restored, which has the higher generation; of both parities, too. */
static void go_format_later(struct media *m)
{
	going.next = going.newest + 2 + m->nr % 2;
	CHECK(!format_from(m, going.next));
}

static void go_forget(struct media *m)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	const char *reason;

	CHECK(!ek_store_forget(&media_io, m, m->nr));
	CHECK(ek_store_open(&media_io, m, bytes, (1u << m->nr) - 1, &store, &reason) == -ENODATA);
}

/* A format over another pool, cut anywhere. */
static void format_over_cut(void)
{
	each_going(go_format);
	each_going(go_format_later);
}

static void forget_cut(void)
{
	each_going(go_forget);
}

static void unread_hook(struct media *m)
{
	unsigned int how, again;

	events++;
	for (how = CRASH_NONE; how <= CRASH_TORN + 7 && !ktap_failing(); how++)
		for (again = how == CRASH_RANDOM ? 8 : 1; again; again--)
			unread_crash(m, how);
}

/* Each superblock in turn can't be read, and the power is cut anywhere. */
static void forget_unread(void)
{
	static const struct { unsigned int nr, last; } areas[] = {
		{ 1, 1 }, { 2, 3 }, { 2, 1 }, { 2, 2 },
	};
	struct ek_store_io io = unread_io();
	unsigned int i, slot, checkpoints;
	struct player *p;
	u64 generation;

	for (i = 0; i < ARRAY_SIZE(areas); i++)
		for (slot = 0; slot < 2 * areas[i].nr; slot++)
			for (checkpoints = 1; checkpoints <= 2; checkpoints++) {
				p = lived_player(areas[i].nr, areas[i].last, checkpoints);
				unread.area = slot / 2;
				unread.offset = EK_AREA_HEAD_BYTES + slot % 2 * (64u << 10);
				unread.error = found_unread(p->m, &going.next);
				p->m->hook = unread_hook;
				CHECK(!ek_store_forget(&io, p->m, p->m->nr));
				CHECK(events > 5 && found_unread(p->m, &generation) == -ENODATA);
				unread.area = EK_MAX_META;
				media_free(p->m);
				free(p);
			}
}

/* What a checkpoint wrote before it was given up counts neither now nor with the next one. */
static void abort_forgets(void)
{
	struct player *p = running_player(1);
	struct ek_page page;
	u64 was;

	change(p);
	CHECK(!checkpoint(p, 0));
	memset(&page, 0, sizeof(page));
	was = p->now.map[0];
	page.entry[0] = cpu_to_le64(ek_entry_make(0, 1, 0x5a));
	CHECK(!ek_store_ckpt_begin(p->store));
	CHECK(!ek_store_ckpt_page(p->store, 0, &page));
	ek_store_ckpt_abort(p->store);
	CHECK(!ek_store_ckpt_begin(p->store));
	CHECK(!ek_store_ckpt_commit(p->store, 0));
	close_player(p);
	CHECK(open_player(p));
	CHECK(p->now.map[0] == was, "a page of the checkpoint given up is in force");
	check_space(p);
	close_player(p);
	media_free(p->m);
	free(p);
}

static void area_sizes(void)
{
	struct ek_store_params p = {
		.extent_sectors = 256, .nr_meta = 1, .nr_members = 1, .policy = "fill 0",
	};
	struct ek_store *store;
	const char *reason;
	struct media *m;
	unsigned int i;

	for (i = 0; i < 200 && !ktap_failing(); i++) {
		p.nr_extents = 1 + rnd(rnd(2) ? 1000 : 300000);
		p.member_extents[0] = 1 + rnd(rnd(2) ? 1000 : 300000);
		p.area_bytes[0] = ek_store_area_bytes(p.nr_extents, 1, p.member_extents);
		CHECK(p.area_bytes[0] % EK_BLOCK_SIZE == 0);
		p.area_bytes[0] += rnd(3) ? rnd(100000) : rnd(8 << 20);
		m = media_new(1, p.area_bytes[0]);
		CHECK(!ek_store_format(&media_io, m, &p));
		CHECK(!ek_store_open(&media_io, m, p.area_bytes, 1, &store, &reason), "%s", reason);
		if (store)
			CHECK(ek_store_journal_blocks(store) >= 300);
		ek_store_close(store);
		media_free(m);
	}
	p.nr_extents = 100000;
	p.member_extents[0] = 100000;
	p.area_bytes[0] = 4 << 20;
	m = media_new(1, p.area_bytes[0]);
	CHECK(!ek_store_format(&media_io, m, &p), "100,000 extents in 4 MiB");
	p.area_bytes[0] = 2 << 20;
	CHECK(ek_store_format(&media_io, m, &p) == -ENOSPC);
	p.area_bytes[0] = 1000;
	CHECK(ek_store_format(&media_io, m, &p) == -ENOSPC);
	media_free(m);
}

/* An extent of 64 KiB has 16 granules: what an entry says of more is neither taken nor believed. */
static void few_granules(void)
{
	u64 bytes = area_bytes(), good = ek_entry_make(0, 1, 0xffff), bad = ek_entry_make(0, 1, 0x10000);
	struct ek_store_params params = {
		.extent_sectors = EK_MIN_EXTENT_SECTORS, .nr_extents = NR, .nr_meta = 1, .nr_members = 1,
		.member_extents = { 300 }, .area_bytes = { bytes }, .policy = "fill 0",
	};
	struct media *m = media_new(1, bytes);
	struct ek_page page = { .entry[0] = cpu_to_le64(good) };
	struct player *p = calloc(1, sizeof(*p));
	struct ek_store *store;
	const char *reason;

	CHECK(ek_granules(EK_MIN_EXTENT_SECTORS) == 16 && ek_granules(256) == 32 && ek_granules(2048) == 32);
	CHECK(!ek_store_format(&media_io, m, &params));
	CHECK(!ek_store_open(&media_io, m, &bytes, 1, &store, &reason), "%s", reason);
	CHECK(!ek_store_replay(store, found_map, found_free, p));
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_page(store, 0, &page));
	CHECK(!ek_store_ckpt_commit(store, 0));
	CHECK(!ek_store_read_page(store, 0, &page) && page.entry[0] == cpu_to_le64(good));
	CHECK(!ek_store_tx_add_map(store, 0, good));
	CHECK(ek_store_tx_add_map(store, 0, bad) == -EINVAL);
	ek_store_tx_abort(store);
	page.entry[0] = cpu_to_le64(bad);
	CHECK(!ek_store_ckpt_begin(store));
	CHECK(!ek_store_ckpt_page(store, 0, &page));
	CHECK(!ek_store_ckpt_commit(store, 0));
	CHECK(ek_store_read_page(store, 0, &page) == -EUCLEAN);
	ek_store_close(store);
	media_free(m);
	free(p);
}

/* ---- errors ---- */

enum broken { FIRST = 1, SECOND = 2, BOTH = 3 };

/*
 * One run in which the @at-th write of the areas @which fails.  True when it got that
 * far.
 */
static bool run_with_error(unsigned int nr, unsigned int which, u64 at, bool for_good,
			   enum media_fate fate)
{
	struct player *p = calloc(1, sizeof(*p));
	unsigned int area, i, full = (1u << nr) - 1, stale = 0;
	bool reached = false;
	struct media *m;
	int r = 0;

	p->m = media_new(nr, area_bytes() + 8192);
	p->mask = full;
	CHECK(!format(p->m));
	if (!open_player(p))
		goto out;
	p->running = true;
	for (area = 0; area < nr; area++)
		if (which & 1u << area) {
			p->m->fail_at[area] = p->m->writes[area] + at;
			p->m->fail_on[area] = for_good;
		}
	p->m->fate = fate;
	/* Goes on after a checkpoint that failed before its superblock. */
	for (i = 0; i < 12 && !ek_store_writable(p->store) && !ktap_failing(); i++)
		r = step(p);
	for (area = 0; area < nr; area++)
		if (which & 1u << area && p->m->writes[area] >= p->m->fail_at[area])
			reached = true;
	if (which != full)
		CHECK(!r, "one of two areas failed, yet the store did: %d", r);
	stale = ek_store_stale(p->store);
	CHECK(!(stale & ~which), "an area that did not fail is stale");
	if (r) {
		CHECK(reached);
		/* Refused for good, or nothing that counts was touched. */
		if (ek_store_writable(p->store)) {
			CHECK(ek_store_writable(p->store) == -EIO);
			CHECK(ek_store_ckpt_begin(p->store) == -EIO);
			CHECK(ek_store_tx_commit(p->store) == -EIO);
			CHECK(ek_store_sync_super(p->store) == -EIO);
			CHECK(ek_store_tx_add_map(p->store, 0, 0) == -EIO);
		}
	}
	close_player(p);

	/* Off and on; the media work again. */
	m = p->m;
	p->m = media_crash(m, CRASH_NONE);
	media_free(m);
	{
		struct player *q = calloc(1, sizeof(*q));
		struct allowed a = { .nr = 0 };

		q->m = p->m;
		q->mask = full;
		allowed_after(p, &a);
		if (open_player(q)) {
			CHECK(is_allowed(q, &a), "write %llu of areas %u failed%s, fate %d",
			      (unsigned long long)at, which, for_good ? " for good" : "", fate);
			check_space(q);
			q->running = true;
			if (stale && which != full && p->wrote && !p->under_way)
				CHECK((ek_store_stale(q->store) & stale) == stale,
				      "stale is forgotten");
			CHECK(!step(q) && !step(q));
		}
		close_player(q);
		free(q);
	}
out:
	media_free(p->m);
	free(p);
	return reached;
}

static void errors(unsigned int nr, unsigned int which)
{
	unsigned int kind, runs = 0;
	u64 at;

	retried = 0;
	for (kind = 0; kind < 6; kind++)
		for (at = 1; !ktap_failing(); at++, runs++) {
			shim_seed(ktap_seed + at / 16);
			if (!run_with_error(nr, which, at, kind % 2, kind / 2))
				break;
		}
	ktap_note("%u runs, %llu checkpoints tried again", runs, (unsigned long long)retried);
	CHECK(runs > 100);
}

static void errors_single(void)
{
	errors(1, FIRST);
	CHECK(retried);
}

static void errors_first(void)
{
	errors(2, FIRST);
}

static void errors_second(void)
{
	errors(2, SECOND);
}

static void errors_both(void)
{
	errors(2, BOTH);
}

/* What was acknowledged is never on one area only without the other being named. */
static void check_named(struct player *p)
{
	struct media *c = media_crash(p->m, CRASH_NONE);
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	const char *reason;

	if (CHECK(!ek_store_open(&media_io, c, bytes, 3, &store, &reason), "%s", reason))
		CHECK(ek_store_stale(store) == ek_store_stale(p->store));
	ek_store_close(store);
	media_free(c);
}

/* An area fails for good, and power is lost at any event before or after. */
static void crash_after_error(void)
{
	struct player *p;
	unsigned int i, run;

	recoveries = 0;
	events = 0;
	for (run = 0; run < 16 && !ktap_failing(); run++) {
		p = calloc(1, sizeof(*p));
		p->m = media_new(2, area_bytes() + 8192);
		p->mask = 3;
		p->failing = 1 + run % 2;
		CHECK(!format(p->m));
		if (open_player(p)) {
			p->running = true;
			p->m->hook = crash_hook;
			p->m->ctx = p;
			p->m->fate = run % 3;
			i = p->failing >> 1;
			p->m->fail_at[i] = p->m->writes[i] + 1 + run;
			p->m->fail_on[i] = run % 4;
			for (i = 0; i < 5 + run / 2 && !ktap_failing(); i++) {
				CHECK(!step(p));
				check_named(p);
			}
			p->m->hook = NULL;
			if (!ktap_failing())
				CHECK(ek_store_stale(p->store) == p->failing);
		}
		close_player(p);
		media_free(p->m);
		free(p);
	}
	ktap_note("%llu events, %llu recoveries", (unsigned long long)events,
		  (unsigned long long)recoveries);
}

/* One area fails, later the other one. */
static void errors_in_turn(void)
{
	unsigned int run, refused = 0;

	for (run = 0; run < 400 && !ktap_failing(); run++) {
		struct player *p = calloc(1, sizeof(*p)), *q = calloc(1, sizeof(*q));
		struct allowed a = { .nr = 0 };
		struct media *m = media_new(2, area_bytes() + 8192);
		unsigned int i, first = rnd(2);
		int r = 0;

		p->m = m;
		p->mask = 3;
		CHECK(!format(m));
		if (open_player(p)) {
			p->running = true;
			m->fate = rnd(3);
			for (i = 0; i < 2; i++)
				m->fail_on[i] = true;
			m->fail_at[first] = m->writes[first] + 1 + rnd(15);
			m->fail_at[!first] = m->fail_at[first] + rnd(10);
			for (i = 0; i < 20 && !r; i++)
				r = step(p);
			CHECK(r, "no area is left, yet all went well");
			refused += ek_store_writable(p->store) == -EIO;
		}
		close_player(p);
		q->m = media_crash(m, CRASH_NONE);
		q->mask = 3;
		allowed_after(p, &a);
		if (open_player(q)) {
			CHECK(is_allowed(q, &a), "run %u", run);
			check_space(q);
		}
		close_player(q);
		media_free(q->m);
		media_free(m);
		free(p);
		free(q);
	}
	CHECK(refused > 100);
}

/* ---- two areas ---- */

static int open_both(struct media *m, unsigned int areas)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	const char *reason;
	int r = ek_store_open(&media_io, m, bytes, areas, &store, &reason);

	ek_store_close(store);
	return r;
}

/* Each area went on alone: there is no way to merge them. */
static void split_brain(void)
{
	struct player *p = calloc(1, sizeof(*p));
	unsigned int area;

	p->m = media_new(2, area_bytes());
	CHECK(!format(p->m));
	for (area = 0; area < 2; area++) {
		p->mask = 1u << area;
		if (!open_player(p))
			break;
		p->running = true;
		change(p);
		CHECK(!commit(p));
		CHECK(ek_store_stale(p->store) == (3 & ~p->mask));
		close_player(p);
		CHECK(open_both(p->m, 3) == (area ? -EUCLEAN : 0));
	}
	CHECK(open_both(p->m, 1) == 0 && open_both(p->m, 2) == 0);
	media_free(p->m);
	free(p);
}

/* A page that one area lost is read from the other. */
static void page_fallback(void)
{
	struct player *p = calloc(1, sizeof(*p)), *q = calloc(1, sizeof(*q));
	u64 offset;
	u32 n;

	p->m = media_new(2, area_bytes());
	p->mask = 3;
	CHECK(!format(p->m));
	CHECK(open_player(p));
	p->running = true;
	for (n = 0; n < 30; n++)
		change(p);
	CHECK(!checkpoint(p, 0));
	offset = le64_to_cpu(ek_store_super(p->store)->pages_offset);
	n = le64_to_cpu(ek_store_super(p->store)->nr_pages);
	close_player(p);
	/* All pages of the first area, both slots. */
	for (n *= 2; n--;)
		*media_poke(p->m, 0, offset + (u64)n * EK_BLOCK_SIZE + 777) ^= 4;
	q->m = p->m;
	q->mask = 3;
	if (open_player(q)) {
		CHECK(!memcmp(&q->now, &p->acked, sizeof(q->now)));
		check_space(q);
	}
	close_player(q);
	media_free(p->m);
	free(p);
	free(q);
}

static void read_only(void)
{
	struct player *p = calloc(1, sizeof(*p));
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	const char *reason;

	p->m = media_new(2, area_bytes());
	p->mask = 3;
	CHECK(!format(p->m));
	CHECK(open_player(p));
	change(p);
	CHECK(!commit(p));
	close_player(p);
	CHECK(!ek_store_open(&media_io_readonly, p->m, bytes, 3, &store, &reason));
	CHECK(ek_store_writable(store) == -EROFS);
	for (unsigned int i = 0; i < MEMBERS; i++)
		ek_space_init(&p->space[i], member_extents[i]);
	memset(&p->now.map, 0, sizeof(p->now.map));
	CHECK(!ek_store_replay(store, found_map, found_free, p));
	CHECK(!memcmp(p->now.map, p->acked.map, sizeof(p->now.map)));
	CHECK(ek_store_tx_add_map(store, 0, 0) == -EROFS);
	CHECK(ek_store_ckpt_begin(store) == -EROFS);
	CHECK(ek_store_sync_super(store) == -EROFS);
	ek_store_close(store);
	close_player(p);
	media_free(p->m);
	free(p);
}

static void misuse(void)
{
	struct player *p = calloc(1, sizeof(*p));
	struct ek_page page = { .entry[0] = 1 };

	p->m = media_new(1, area_bytes());
	p->mask = 1;
	CHECK(!format(p->m));
	CHECK(open_player(p));
	CHECK(ek_store_replay(p->store, found_map, found_free, p) == -EINVAL, "twice");
	CHECK(ek_store_tx_add_map(p->store, NR, 0) == -EINVAL);
	CHECK(ek_store_tx_add_map(p->store, 0, ek_entry_make(2, 0, 1)) == -EINVAL);
	CHECK(ek_store_tx_add_map(p->store, 0, ek_entry_make(0, 300, 1)) == -EINVAL);
	CHECK(ek_store_tx_add_map(p->store, 0, 7) == -EINVAL, "valid, not mapped");
	CHECK(ek_store_tx_add_free(p->store, 0, 299, 2) == -EINVAL);
	CHECK(ek_store_tx_add_free(p->store, 2, 0, 1) == -EINVAL);
	CHECK(ek_store_tx_add_free(p->store, 0, 0, 0) == -EINVAL);
	CHECK(ek_store_ckpt_page(p->store, 0, &page) == -EINVAL, "no checkpoint");
	CHECK(ek_store_ckpt_commit(p->store, 0) == -EINVAL);
	CHECK(!ek_store_ckpt_begin(p->store));
	CHECK(ek_store_ckpt_begin(p->store) == -EBUSY);
	CHECK(ek_store_tx_add_map(p->store, 0, 0) == -EBUSY);
	CHECK(ek_store_tx_commit(p->store) == -EBUSY);
	CHECK(ek_store_ckpt_page(p->store, 1 << 20, &page) == -EINVAL);
	ek_store_ckpt_abort(p->store);
	CHECK(ek_store_page_absent(p->store, 0));
	CHECK(ek_store_set_member_state(p->store, 2, 0) == -EINVAL);
	CHECK(ek_store_set_member_state(p->store, 0, EK_MEMBER_REMOVED + 1) == -EINVAL);
	CHECK(!ek_store_set_member_state(p->store, 1, EK_MEMBER_DEGRADED));
	CHECK(!ek_store_update_super(p->store, EK_SUPER_NEEDS_CHECK, 0));
	change(p);
	CHECK(!checkpoint(p, 0));
	close_player(p);
	CHECK(open_player(p));
	CHECK(le32_to_cpu(ek_store_super(p->store)->flags) == EK_SUPER_NEEDS_CHECK,
	      "needs_check outlives a checkpoint");
	CHECK(le32_to_cpu(ek_store_super(p->store)->member[1].state) == EK_MEMBER_DEGRADED);
	CHECK(!ek_store_update_super(p->store, 0, EK_SUPER_NEEDS_CHECK));
	CHECK(!ek_store_super(p->store)->flags);
	close_player(p);
	media_free(p->m);
	free(p);
}

/* ---- somebody else's flushes that fail ---- */

/* From now on such a flush comes before each of the next ones of an area, @nr in all. */
static void drop_next(struct player *p, unsigned int area, u64 at, u64 nr)
{
	p->m->drop_at[area] = p->m->flushes[area] + at;
	p->m->drops[area] = nr;
}

/* Off, and on again: what was acknowledged is there. */
static void end_player(struct player *p)
{
	struct allowed a = { .nr = 0 };
	struct media *m = p->m;

	close_player(p);
	p->m = media_crash(m, CRASH_NONE);
	media_free(m);
	allowed_after(p, &a);
	if (open_player(p)) {
		CHECK(is_allowed(p, &a), "what was lost is believed");
		check_space(p);
		check_committed(p);
	}
	close_player(p);
	media_free(p->m);
	free(p);
}

#define FOR_GOOD	(U64_MAX / 2)

/*
 * One run in which such a flush comes before the @at-th of the areas @which, and before the next
 * ones, @nr_drops in all.  With @crash the power goes at every event, too.  True when it got that far.
 */
static bool run_with_drops(unsigned int nr, unsigned int which, u64 at, u64 nr_drops,
			   enum media_drop how, bool crash)
{
	struct player *p = running_player(nr);
	bool reached = false;
	unsigned int area, i;

	for (area = 0; area < nr; area++)
		if (which & 1u << area)
			drop_next(p, area, at, nr_drops);
	p->m->drop = how;
	p->m->hook = crash ? crash_hook : NULL;
	p->m->ctx = p;
	for (i = 0; i < 12 && !ktap_failing(); i++)
		CHECK(!step(p), "a step failed as something of it was dropped");
	p->m->hook = NULL;
	for (area = 0; area < nr; area++)
		reached |= p->m->drop_at[area] && p->m->flushes[area] >= p->m->drop_at[area];
	CHECK(!ek_store_stale(p->store), "an area that can be written was left out");
	end_player(p);
	if (ktap_failing())
		ktap_note("dropped before flush %llu and so on, %llu times", (unsigned long long)at,
			  (unsigned long long)nr_drops);
	return reached;
}

static void drops(unsigned int nr, unsigned int which)
{
	unsigned int kind, runs = 0;
	u64 at;

	retried = 0;
	recoveries = 0;
	for (kind = 0; kind < 4; kind++)
		for (at = 1; !ktap_failing(); at++, runs++) {
			shim_seed(ktap_seed + at / 16);
			if (!run_with_drops(nr, which, at, 1 + kind / 2,
					    kind % 2 ? DROP_UNCLEAR : DROP_KNOWN,
					    !((at + kind) % (8 * nr * nr))))
				break;
		}
	ktap_note("%u runs, %llu checkpoints tried again, %llu recoveries", runs,
		  (unsigned long long)retried, (unsigned long long)recoveries);
	CHECK(runs > 40 && retried && recoveries > runs);
}

static void drops_single(void)
{
	drops(1, FIRST);
}

static void drops_mirrored(void)
{
	drops(2, FIRST);
	drops(2, BOTH);
}

/* Another disk's errors, time and again: nothing of the area is lost, and it goes on. */
static void drops_of_others(void)
{
	CHECK(run_with_drops(1, FIRST, 1, FOR_GOOD, DROP_NOTHING, false));
	CHECK(run_with_drops(2, BOTH, 1, FOR_GOOD, DROP_NOTHING, false));
}

/* A disk that loses all it is told to keep is one that can't be written. */
static void drops_for_good(void)
{
	struct player *p = running_player(1);
	unsigned int i;
	int r = 0;

	drop_next(p, 0, 5, FOR_GOOD);
	for (i = 0; i < 30 && !r; i++)
		r = step(p);
	CHECK(r, "it is told to be durable");
	end_player(p);
}

/* Of two areas the one that loses each time is left out by the checkpoint itself. */
static void drops_of_one(void)
{
	struct player *p = running_player(2);

	change(p);
	drop_next(p, 0, 1, FOR_GOOD);
	CHECK(!checkpoint(p, 0));
	CHECK(ek_store_stale(p->store) == FIRST);
	end_player(p);
}

/* What one checkpoint has lost does not make the next one believe sooner. */
static void drops_in_turn(void)
{
	struct player *p = running_player(1);

	change(p);
	drop_next(p, 0, 1, 4);
	CHECK(checkpoint(p, 0) == -EIO && !ek_store_writable(p->store));
	p->m->drop = DROP_UNCLEAR;
	drop_next(p, 0, 1, 1);
	CHECK(!checkpoint(p, 0));
	end_player(p);
}

/* Nor does a try that failed otherwise, of which nobody knows what it has lost. */
static void drops_then_fails(void)
{
	struct player *p = running_player(1);
	unsigned int i;

	change(p);
	begin(p);
	apply_stored(p);
	p->m->drop = DROP_UNCLEAR;
	drop_next(p, 0, 1, 3);
	for (i = 0; i < 3; i++)
		CHECK(checkpoint_once(p, 0) == -EAGAIN);
	p->m->fail_at[0] = p->m->writes[0] + 1;
	CHECK(checkpoint_once(p, 0) == -EIO && !ek_store_writable(p->store));
	drop_next(p, 0, 1, 1);
	CHECK(!checkpoint(p, 0));
	end_player(p);
}

/* Who is asked to wait does not make a sound area fail, however many they are. */
static void drops_until_asked(void)
{
	struct player *p = running_player(1);
	unsigned int i;

	p->m->obeys = true;
	for (i = 0; i < 40 && !ktap_failing(); i++) {
		drop_next(p, 0, 1 + rnd(3), FOR_GOOD);
		CHECK(!step(p));
	}
	CHECK(p->m->quiesced >= 20 && p->m->quiesced <= 80);
	end_player(p);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("store: areas of any size; too small is refused", area_sizes);
	ktap_run("store: a format cut anywhere leaves nothing or an empty pool", format_cut);
	ktap_run("store: a new pool takes nothing over from an old one", format_again);
	ktap_run("store: a format over an old pool, cut anywhere", format_over_cut);
	ktap_run("store: a pool that is forgotten is there as it was last or not at all", forget_cut);
	ktap_run("store: forgotten with a superblock unread, no older one comes up", forget_unread);
	ktap_run("store: a checkpoint that was given up is forgotten", abort_forgets);
	ktap_run("store: misuse is refused; flags and states are kept", misuse);
	ktap_run("store: read-only: replays, levels and writes nothing", read_only);
	ktap_run("store: crash at every event", crash_single);
	ktap_run("store: crash at every event, recovery cut, too", crash_nested);
	ktap_run("store: crash at every event, two areas, one of them lost", crash_mirrored);
	ktap_run("store: crash at every event, two areas, recovery cut, too",
		 crash_nested_mirrored);
	ktap_run("store: every write fails once or from then on", errors_single);
	ktap_run("store: every write of area 0 fails, area 1 goes on", errors_first);
	ktap_run("store: every write of area 1 fails, area 0 goes on", errors_second);
	ktap_run("store: granules that a small extent does not have", few_granules);
	ktap_run("store: every write of both areas fails", errors_both);
	ktap_run("store: an area fails, power is lost at every event around it",
		 crash_after_error);
	ktap_run("store: one area fails, then the other one", errors_in_turn);
	ktap_run("store: what somebody else's flush drops is written again", drops_single);
	ktap_run("store: the same on one of two areas, and on both", drops_mirrored);
	ktap_run("store: what others' errors do not drop is believed in the end", drops_of_others);
	ktap_run("store: a disk that drops everything is not believed", drops_for_good);
	ktap_run("store: one of two that does is left out", drops_of_one);
	ktap_run("store: each checkpoint is judged by itself", drops_in_turn);
	ktap_run("store: also after a try that failed otherwise", drops_then_fails);
	ktap_run("store: somebody else's flushes end when they are asked to", drops_until_asked);
	ktap_run("store: areas that went on without each other are refused", split_brain);
	ktap_run("store: pages damaged on one area are read from the other", page_fallback);
	return ktap_done();
}
