// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged and hostile media: whatever bytes are there, opening, replaying and reading
 * give an error or a state that holds together, and never step out of bounds.
 */
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "ktap.h"
#include "media.h"
#include "store_internal.h"

#define NR	1100u
#define MEMBERS	2u
static const u32 member_extents[MEMBERS] = { 300, EK_PAGE_BITS + 500 };

struct seen {
	u64 map[NR];
	bool whole;
};

static u64 rnd(u64 n)
{
	return get_random_u64() % n;
}

static u64 area_bytes(void)
{
	return ek_store_area_bytes(NR, MEMBERS, member_extents) - (512 - 24) * EK_BLOCK_SIZE;
}

static int found_map(void *ctx, u64 le, u64 entry)
{
	struct seen *seen = ctx;

	if (!CHECK(le < NR))
		return -ERANGE;
	if (entry)
		CHECK(ek_entry_member(entry) < MEMBERS &&
		      ek_entry_pe(entry) < member_extents[ek_entry_member(entry)]);
	seen->map[le] = entry;
	return 0;
}

static int found_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	CHECK(member < MEMBERS && pe < member_extents[member] &&
	      count && count <= member_extents[member] - pe);
	return 0;
}

/* 0 and the map, or an error. */
static int read_all(struct media *m, unsigned int areas, struct seen *seen)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	struct ek_space space;
	struct ek_page page;
	const char *reason = NULL;
	unsigned int i, j;
	int r;

	memset(seen, 0, sizeof(*seen));
	r = ek_store_open(&media_io, m, bytes, areas, &store, &reason);
	if (r) {
		CHECK(!store && reason);
		return r;
	}
	/* Only a forged superblock can say so. */
	if (le64_to_cpu(ek_store_super(store)->nr_extents) != NR ||
	    le32_to_cpu(ek_store_super(store)->nr_members) != MEMBERS)
		goto out;
	for (i = 0; i < MEMBERS && !r; i++) {
		if (le32_to_cpu(ek_store_super(store)->member[i].nr_extents) != member_extents[i])
			goto out;
		CHECK(!ek_space_init(&space, member_extents[i]));
		r = ek_store_load_space(store, i, &space);
		ek_space_destroy(&space);
	}
	for (i = 0; i < 3 && !r; i++) {
		r = ek_store_read_page(store, i, &page);
		for (j = 0; !r && j < EK_PAGE_ENTRIES; j++) {
			u64 e = le64_to_cpu(page.entry[j]);

			if (i * EK_PAGE_ENTRIES + j >= NR)
				CHECK(!e);
			else
				r = found_map(seen, i * EK_PAGE_ENTRIES + j, e);
		}
	}
	if (!r)
		r = ek_store_replay(store, found_map, found_free, seen);
	seen->whole = !r;
out:
	ek_store_close(store);
	return r;
}

/* A pool with pages in both slots, a journal of several transactions, two generations. */
static struct media *sample(unsigned int nr, struct seen *truth)
{
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store_params p = {
		.extent_sectors = 256, .nr_extents = NR, .nr_meta = nr,
		.area_bytes = { area_bytes(), area_bytes() }, .nr_members = MEMBERS,
		.member_extents = { 300, EK_PAGE_BITS + 500 }, .policy = "stripe 0",
	};
	struct media *m = media_new(nr, area_bytes());
	struct ek_store *store;
	struct ek_page page;
	const char *reason;
	unsigned int i, j, k;
	struct seen none;

	CHECK(!ek_store_format(&media_io, m, &p));
	CHECK(!ek_store_open(&media_io, m, bytes, (1u << nr) - 1, &store, &reason));
	CHECK(!ek_store_replay(store, found_map, found_free, &none));
	memset(truth, 0, sizeof(*truth));
	for (k = 0; k < 3; k++) {
		CHECK(!ek_store_ckpt_begin(store));
		for (i = 0; i < 3; i++) {
			for (j = 0; j < EK_PAGE_ENTRIES; j++) {
				u64 le = i * EK_PAGE_ENTRIES + j;

				page.entry[j] = 0;
				if (le >= NR)
					continue;
				truth->map[le] = ek_entry_make(1, le + k, 0xff);
				page.entry[j] = cpu_to_le64(truth->map[le]);
			}
			CHECK(!ek_store_ckpt_page(store, i, &page));
		}
		memset(&page, 0, sizeof(page));
		page.entry[1] = cpu_to_le64(k + 1);
		CHECK(!ek_store_ckpt_page(store, ek_store_space_index(store, 1, 0), &page));
		CHECK(!ek_store_ckpt_commit(store, 0));
	}
	for (k = 0; k < 6; k++) {
		for (j = 0; j < (k == 3 ? 600 : 20); j++) {
			u64 le = rnd(NR), e = ek_entry_make(0, rnd(300), 1);

			CHECK(!ek_store_tx_add_map(store, le, e));
			truth->map[le] = e;
		}
		CHECK(!ek_store_tx_add_free(store, 1, 10 * k, 5));
		CHECK(!ek_store_tx_commit(store));
	}
	ek_store_close(store);
	return m;
}

/* One, what is in it, and room for what is found. */
struct fixture {
	struct media *m;
	struct seen truth, seen;
};

static struct fixture *fixture_new(unsigned int nr)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->m = sample(nr, &f->truth);
	return f;
}

static void fixture_free(struct fixture *f)
{
	media_free(f->m);
	free(f);
}

struct spots {
	struct ek_geometry geo;
	unsigned int slot;		/* of the superblock in force */
};

static struct spots find_spots(struct media *m)
{
	const struct ek_super *a = (void *)media_poke(m, 0, EK_SUPER0_OFFSET);
	const struct ek_super *b = (void *)media_poke(m, 0, EK_SUPER1_OFFSET);
	struct spots s;

	s.slot = le64_to_cpu(b->generation) > le64_to_cpu(a->generation);
	ek_super_geometry(s.slot ? b : a, &s.geo);
	return s;
}

/* What is found after a flip is an error or the truth, never something else. */
static void flip_one(const struct media *m, u64 offset, unsigned int bit, const struct seen *truth)
{
	struct media *c = media_crash(m, CRASH_NONE);
	struct seen *seen = malloc(sizeof(*seen));
	int r;

	*media_poke(c, 0, offset) ^= 1u << bit;
	r = read_all(c, (1u << c->nr) - 1, seen);
	if (c->nr == 2)
		CHECK(!r, "the other area is whole: %d", r);
	if (!r)
		CHECK(!memcmp(seen->map, truth->map, sizeof(seen->map)),
		      "wrong state after a flip at %llu", (unsigned long long)offset);
	free(seen);
	media_free(c);
}

static void flips(unsigned int nr, unsigned int each)
{
	struct fixture *f = fixture_new(nr);
	struct media *m = f->m;
	struct spots s = find_spots(m);
	unsigned int i;
	u64 used = 7 * EK_BLOCK_SIZE;

	/* The journal's last block is left out: losing it is what a torn tail looks like. */
	for (i = 0; i < each && !ktap_failing(); i++) {
		flip_one(m, EK_SUPER0_OFFSET + rnd(EK_BLOCK_SIZE), rnd(8), &f->truth);
		flip_one(m, EK_SUPER1_OFFSET + rnd(EK_BLOCK_SIZE), rnd(8), &f->truth);
		flip_one(m, s.geo.table_offset[0] + rnd(s.geo.table_bytes), rnd(8), &f->truth);
		flip_one(m, s.geo.table_offset[1] + rnd(s.geo.table_bytes), rnd(8), &f->truth);
		/* The states of pages that are there: one flip makes some of them absent. */
		flip_one(m, s.geo.table_offset[s.slot], rnd(6), &f->truth);
		flip_one(m, s.geo.journal_offset + rnd(used), rnd(8), &f->truth);
		flip_one(m, s.geo.pages_offset + rnd(s.geo.nr_pages * 8192), rnd(8), &f->truth);
	}
	fixture_free(f);
}

static void flips_single(void)
{
	flips(1, 800);
}

static void flips_mirrored(void)
{
	flips(2, 400);
}

/* Random bytes with a checksum that fits: only the checks of fields stand in between. */
static void forged_super(void)
{
	struct fixture *f = fixture_new(1);
	struct media *m = f->m;
	struct spots s = find_spots(m);
	unsigned int i, n, refused = 0;

	for (i = 0; i < 6000 && !ktap_failing(); i++) {
		struct media *c = media_crash(m, CRASH_NONE);
		struct ek_super *sb = (void *)media_poke(c, 0, s.slot ? EK_SUPER1_OFFSET :
								 EK_SUPER0_OFFSET);
		static const u64 odd[] = { 0, 1, ~0ULL, 1ULL << 63, 1ULL << 32, 4095, 4097,
					   1ULL << 52, 0x7fffffffffffffffULL };
		/* From version to the members: fields of 4 bytes. */
		u32 *word = (u32 *)sb, words = 4 * 1024 / 4;

		for (n = 1 + rnd(3); n--;) {
			u32 at = 3 + rnd(rnd(4) ? 120 : words - 3);
			u64 v = rnd(2) ? odd[rnd(ARRAY_SIZE(odd))] : get_random_u64();

			if (rnd(3) == 0)
				word[at] ^= 1u << rnd(32);
			else if (at % 2 || rnd(2))
				word[at] = v;
			else
				((u64 *)sb)[at / 2] = v;
		}
		sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
		refused += !!read_all(c, 1, &f->seen);
		media_free(c);
	}
	CHECK(refused > 2000, "%u", refused);
	fixture_free(f);
}

/* The generation with which it is opened, 0 when it is not. */
static u64 opened_generation(struct media *m)
{
	u64 bytes = area_bytes(), generation = 0;
	struct ek_store *store;
	const char *reason;

	if (!ek_store_open(&media_io, m, &bytes, 1, &store, &reason)) {
		generation = ek_store_generation(store);
		ek_store_close(store);
	}
	return generation;
}

/* A superblock whose generation leaves no room for what a pool does is none. */
static void forged_generation(void)
{
	static const u64 last[] = { 1ULL << 62, (1ULL << 62) + 2, (1ULL << 63) - 1, 1ULL << 63, ~0ULL };
	struct fixture *f = fixture_new(1);
	struct spots s = find_spots(f->m);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		struct media *c = media_crash(f->m, CRASH_NONE);
		struct ek_super *sb = (void *)media_poke(c, 0, s.slot ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET);
		u64 forged = last[i] ^ ((last[i] ^ le64_to_cpu(sb->generation)) & 1);

		sb->generation = cpu_to_le64(forged);
		sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
		CHECK((opened_generation(c) == forged) == (forged <= EK_GENERATION_LATEST), "generation %llx",
		      (unsigned long long)forged);
		media_free(c);
	}
	fixture_free(f);
}

static void forged_journal(void)
{
	struct fixture *f = fixture_new(1);
	struct media *m = f->m;
	struct spots s = find_spots(m);
	unsigned int i, n, refused = 0;

	for (i = 0; i < 6000 && !ktap_failing(); i++) {
		struct media *c = media_crash(m, CRASH_NONE);
		u32 at = rnd(9);
		struct ek_journal_block *b =
			(void *)media_poke(c, 0, s.geo.journal_offset + at * EK_BLOCK_SIZE);

		for (n = 1 + rnd(2); n--;) {
			if (rnd(2))
				((u64 *)b)[1 + rnd(7)] = rnd(2) ? get_random_u64() : rnd(20);
			else
				((u64 *)b->record)[rnd(60)] ^= 1ULL << rnd(64);
		}
		b->csum = cpu_to_le32(ek_checksum(b, sizeof(*b), &b->csum));
		refused += !!read_all(c, 1, &f->seen);
		media_free(c);
	}
	CHECK(refused > 500, "%u", refused);
	fixture_free(f);
}

static void forged_pages(void)
{
	struct fixture *f = fixture_new(1);
	struct media *m = f->m;
	struct spots s = find_spots(m);
	unsigned int i, refused = 0;
	static const int kinds = 3;
	int r;

	for (i = 0; i < 3000 && !ktap_failing(); i++) {
		struct media *c = media_crash(m, CRASH_NONE);
		u64 index = rnd(3) ? rnd(3) : s.geo.nr_pages - 1 - rnd(3);
		unsigned int slot;

		for (slot = 0; slot < 2; slot++) {
			struct ek_page *p = (void *)media_poke(c, 0, ek_page_offset(&s.geo, index,
										    slot));

			switch (i % kinds) {
			case 0:
				p->index = cpu_to_le64(index ^ 1ULL << rnd(40));
				break;
			case 1:
				p->generation = cpu_to_le64(1000);
				break;
			default:
				p->entry[rnd(EK_PAGE_ENTRIES)] ^= cpu_to_le64(1ULL << rnd(64));
			}
			p->csum = cpu_to_le32(ek_checksum(p, sizeof(*p), &p->csum));
		}
		r = read_all(c, 1, &f->seen);
		refused += !!r;
		if (i % kinds < 2 && index < 3)
			CHECK(r, "a page of another %s is taken", i % kinds ? "generation" : "place");
		media_free(c);
	}
	CHECK(refused > 1000, "%u", refused);
	fixture_free(f);
}

/* A table of random states with a checksum that fits. */
static void forged_table(void)
{
	struct fixture *f = fixture_new(1);
	struct media *m = f->m;
	struct spots s = find_spots(m);
	unsigned int i;

	for (i = 0; i < 1000 && !ktap_failing(); i++) {
		struct media *c = media_crash(m, CRASH_NONE);
		struct ek_super *sb = (void *)media_poke(c, 0, s.slot ? EK_SUPER1_OFFSET :
								 EK_SUPER0_OFFSET);
		u8 *table = media_poke(c, 0, s.geo.table_offset[s.slot]);

		table[rnd(s.geo.nr_pages / 4)] = get_random_u64();
		sb->table_csum = cpu_to_le32(ek_table_checksum(table, s.geo.table_bytes));
		sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
		read_all(c, 1, &f->seen);
		media_free(c);
	}
	fixture_free(f);
}

/* Three transactions of 1, 3 and 1 blocks. */
static void make_journal(struct ek_journal_block *b)
{
	static const u32 parts[] = { 1, 3, 1 };
	u32 tx, part, prev = 0;

	memset(b, 0, 5 * sizeof(*b));
	for (tx = 0; tx < 3; tx++)
		for (part = 0; part < parts[tx]; part++, b++) {
			b->magic = cpu_to_le32(EK_JOURNAL_MAGIC);
			b->generation = cpu_to_le64(7);
			b->sequence = cpu_to_le64(tx + 1);
			b->nonce = cpu_to_le64(100 + tx);
			b->part = cpu_to_le32(part);
			b->parts = cpu_to_le32(parts[tx]);
			b->nr_records = cpu_to_le32(1);
			b->prev_csum = cpu_to_le32(prev);
			prev = ek_checksum(b, sizeof(*b), &b->csum);
			b->csum = cpu_to_le32(prev);
		}
}

/* The second transaction's block @part is forged, checksums of what follows kept right. */
static u64 prefix_with(unsigned int part, void (*forge)(struct ek_journal_block *))
{
	struct ek_journal_block *b = calloc(5, sizeof(*b));
	struct ek_journal journal;
	unsigned int i;

	make_journal(b);
	forge(b + 1 + part);
	for (i = 1 + part; i < 5; i++) {
		if (i > 1 + part)
			b[i].prev_csum = b[i - 1].csum;
		b[i].csum = cpu_to_le32(ek_checksum(&b[i], sizeof(b[i]), &b[i].csum));
	}
	/* Without the third one, which would prove damage. */
	memset(b + 4, 0, sizeof(*b));
	CHECK(!ek_journal_scan(b, 5, 7, &journal));
	free(b);
	return journal.used;
}

static void as_it_is(struct ek_journal_block *b) { }
static void other_nonce(struct ek_journal_block *b) { b->nonce ^= 1; }
static void other_chain(struct ek_journal_block *b) { b->prev_csum ^= 1; }
static void other_generation(struct ek_journal_block *b) { b->generation = 6; }
static void other_sequence(struct ek_journal_block *b) { b->sequence = 1; }
static void other_part(struct ek_journal_block *b) { b->part ^= 1; }
static void other_parts(struct ek_journal_block *b) { b->parts = 4; }
static void other_magic(struct ek_journal_block *b) { b->magic ^= 1; }
static void too_many(struct ek_journal_block *b) { b->nr_records = EK_JOURNAL_RECORDS + 1; }

static void whole_transactions(void)
{
	static void (*const forge[])(struct ek_journal_block *) = {
		other_chain, other_generation, other_sequence, other_part, other_parts,
		other_magic, too_many,
	};
	struct ek_journal_block *b = calloc(5, sizeof(*b));
	struct ek_journal journal;
	unsigned int i, part;

	for (part = 0; part < 3; part++) {
		CHECK(prefix_with(part, as_it_is) == 4);
		CHECK(prefix_with(part, other_nonce) == 1, "part %u", part);
		for (i = 0; i < ARRAY_SIZE(forge); i++)
			CHECK(prefix_with(part, forge[i]) == 1, "forgery %u, part %u", i, part);
	}
	make_journal(b);
	CHECK(!ek_journal_scan(b, 5, 7, &journal) && journal.used == 5 &&
	      journal.transactions == 3);
	CHECK(!ek_journal_scan(b, 3, 7, &journal) && journal.used == 1, "cut by the end");
	CHECK(!ek_journal_scan(b, 5, 8, &journal) && !journal.used, "an older generation's");
	CHECK(ek_journal_scan(b, 5, 6, &journal) == -EUCLEAN, "a later generation's");
	b[2].csum ^= 1;
	CHECK(ek_journal_scan(b, 5, 7, &journal) == -EUCLEAN, "one beyond the missing one");
	memset(b, 0, 4 * sizeof(*b));
	CHECK(ek_journal_scan(b, 5, 6, &journal) == -EUCLEAN, "the last of a later generation");
	CHECK(!ek_journal_scan(b, 5, 8, &journal) && !journal.used, "the last of an older one");
	free(b);
}

/* No memory at any point of opening and reading. */
static void no_memory(void)
{
	struct fixture *f = fixture_new(2);
	struct media *m = f->m;
	u64 bytes[2] = { area_bytes(), area_bytes() };
	struct ek_store *store;
	const char *reason;
	int n, r = -ENOMEM;

	for (n = 1; n < 100 && r; n++) {
		shim_fail_alloc = n;
		r = ek_store_open(&media_io, m, bytes, 3, &store, &reason);
		shim_fail_alloc = 0;
		CHECK(r == 0 || r == -ENOMEM, "allocation %d: %d", n, r);
		CHECK(!!store == !r);
		ek_store_close(store);
	}
	CHECK(!r && n > 10);
	CHECK(!read_all(m, 3, &f->seen));
	CHECK(!memcmp(f->seen.map, f->truth.map, sizeof(f->seen.map)));
	fixture_free(f);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("decode: a bit flip gives an error or the truth", flips_single);
	ktap_run("decode: a bit flip on one of two areas gives the truth", flips_mirrored);
	ktap_run("decode: superblocks with any fields", forged_super);
	ktap_run("decode: a superblock with a generation that no pool comes to", forged_generation);
	ktap_run("decode: journal blocks with any fields", forged_journal);
	ktap_run("decode: pages of another place, a later generation, with any entry",
		 forged_pages);
	ktap_run("decode: page tables with any states", forged_table);
	ktap_run("decode: a transaction counts whole or not at all", whole_transactions);
	ktap_run("decode: allocation failures while opening", no_memory);
	return ktap_done();
}
