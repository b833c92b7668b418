// SPDX-License-Identifier: GPL-2.0-only
#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "fuzz.h"
#include "ktap.h"
#include "edited.h"
#include "store_internal.h"

const u32 pool_extents[POOL_MEMBERS] = { 600, EK_PAGE_BITS + 500 };

enum edit_what { EDIT_SUPER, EDIT_TABLE, EDIT_JOURNAL, EDIT_PAGE, EDIT_LABEL, EDIT_WHATS };
enum edit_how { EDIT_SET8, EDIT_SET32, EDIT_SET64, EDIT_XOR, EDIT_ADD, EDIT_COPY, EDIT_HOWS };

#define EDIT_SEAL	0x1	/* its own checksum */
#define EDIT_CHAIN	0x2	/* and of what vouches for it */
#define EDIT_MIRROR	0x4	/* on the second area */

struct edit {
	u8 what;
	u8 index;	/* slot, block or page, modulo how many there are */
	u8 at[2];	/* byte, little-endian */
	u8 how;
	u8 flags;
	u8 value[8];
};

_Static_assert(sizeof(struct edit) == EDIT_SIZE, "edit");

static struct media *sample[POOL_KINDS];

/* media.c's own assertions: the store misuses its I/O. */
bool ktap_check(bool cond, const char *file, int line, const char *text, const char *fmt, ...)
{
	if (!cond) {
		fprintf(stderr, "%s:%d: must hold: %s (%s)\n", file, line, text, fmt);
		abort();
	}
	return cond;
}

bool ktap_failing(void)
{
	return false;
}

u64 pool_area_bytes(void)
{
	/* Room for a journal of about 18 blocks. */
	return ek_store_area_bytes(POOL_NR, POOL_MEMBERS, pool_extents) -
	       (EK_JOURNAL_DEFAULT - 24) * EK_BLOCK_SIZE;
}

/* ---- samples ---- */

static int ignore_map(void *ctx, u64 le, u64 entry)
{
	return 0;
}

static int ignore_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	return 0;
}

static struct ek_store *open_sample(struct media *m)
{
	u64 bytes[2] = { pool_area_bytes(), pool_area_bytes() };
	struct ek_store *store;
	const char *reason;

	MUST(!ek_store_open(&media_io, m, bytes, (1u << m->nr) - 1, &store, &reason));
	MUST(!ek_store_replay(store, ignore_map, ignore_free, NULL));
	return store;
}

/* Where logical extent @le lies on member 1; some on what its second space map page tells of. */
static u32 place(u64 le, u32 shift)
{
	return le % 3 == 2 && le < 400 ? EK_PAGE_BITS + le + shift : le + shift;
}

static void put_space(struct ek_store *store, u32 page, u32 shift)
{
	struct ek_page *media = calloc(1, sizeof(*media));
	u64 le;

	for (le = 0; le < POOL_NR; le++) {
		u32 pe = place(le, shift);

		if (le % 3 && pe / EK_PAGE_BITS == page)
			media->entry[pe % EK_PAGE_BITS / 64] |= cpu_to_le64(1ULL << pe % 64);
	}
	MUST(!ek_store_ckpt_page(store, ek_store_space_index(store, 1, page), media));
	free(media);
}

/* Two of three are mapped, with a validity of @shift. */
static void checkpoint(struct ek_store *store, u32 shift, u32 flags)
{
	struct ek_page *page = calloc(1, sizeof(*page));
	u64 le;

	MUST(!ek_store_ckpt_begin(store));
	for (le = 0; le < POOL_NR; le++) {
		page->entry[le % EK_PAGE_ENTRIES] =
			le % 3 ? cpu_to_le64(ek_entry_make(1, place(le, shift), shift)) : 0;
		if (le % EK_PAGE_ENTRIES < EK_PAGE_ENTRIES - 1 && le < POOL_NR - 1)
			continue;
		MUST(!ek_store_ckpt_page(store, le / EK_PAGE_ENTRIES, page));
		memset(page, 0, sizeof(*page));
	}
	put_space(store, 0, shift);
	put_space(store, 1, shift);
	MUST(!ek_store_ckpt_commit(store, flags));
	free(page);
}

/* Some go to member 0, and what they leave becomes free. */
static void transaction(struct ek_store *store, u32 first, u32 nr, u32 shift)
{
	u32 le;

	for (le = first; le < first + nr; le++) {
		MUST(!ek_store_tx_add_map(store, le, ek_entry_make(0, le, le)));
		if (le % 3)
			MUST(!ek_store_tx_add_free(store, 1, place(le, shift), 1));
	}
	MUST(!ek_store_tx_commit(store));
}

/* The transaction or superblock written last gets to area 0 only. */
static struct media *cut_second(struct media *m, void (*last)(struct ek_store *store))
{
	struct media *before = media_crash(m, CRASH_NONE);
	struct ek_store *store = open_sample(m);
	u32 block;

	last(store);
	ek_store_close(store);
	for (block = EK_AREA_HEAD_BYTES / EK_BLOCK_SIZE; block < m->nr_blocks; block++)
		memcpy(media_poke(m, 1, (u64)block * EK_BLOCK_SIZE),
		       media_poke(before, 1, (u64)block * EK_BLOCK_SIZE), EK_BLOCK_SIZE);
	media_free(before);
	return m;
}

static void last_transaction(struct ek_store *store)
{
	transaction(store, 560, 20, 2);
}

static void last_super(struct ek_store *store)
{
	MUST(!ek_store_update_super(store, EK_SUPER_NEEDS_CHECK, 0));
}

static void put_label(struct media *m, unsigned int area)
{
	u64 sectors = pool_area_bytes() >> EK_SECTOR_SHIFT;
	struct ek_label_info info = {
		.role = EK_ROLE_META, .index = area, .nr_members = POOL_MEMBERS,
		.nr_meta = m->nr, .extent_sectors = 128, .area_sectors = sectors,
		.name = "pool",
	};
	struct ek_label label;

	memset(info.pool_uuid, 0x42, EK_UUID_SIZE);
	memset(info.area_uuid, 0x42, EK_UUID_SIZE);
	ek_label_encode(&info, &label);
	memcpy(media_poke(m, area, 0), &label, sizeof(label));
	memcpy(media_poke(m, area, ek_label_copy_offset(sectors)), &label, sizeof(label));
}

static struct media *make_sample(enum pool_kind kind)
{
	struct ek_store_params p = {
		.extent_sectors = 128, .nr_extents = POOL_NR,
		.nr_meta = kind < POOL_TWO ? 1 : 2,
		.area_bytes = { pool_area_bytes(), pool_area_bytes() },
		.nr_members = POOL_MEMBERS,
		.member_extents = { pool_extents[0], pool_extents[1] }, .policy = "stripe 0",
	};
	struct media *m = media_new(p.nr_meta, pool_area_bytes());
	struct ek_store *store;
	u32 i;

	shim_seed(kind + 1);
	for (i = 0; i < p.nr_meta; i++)
		put_label(m, i);
	memset(p.pool_uuid, 0x42, EK_UUID_SIZE);
	for (i = 0; i < POOL_MEMBERS; i++)
		memset(p.member_uuid[i], 0x50 + i, EK_UUID_SIZE);
	MUST(!ek_store_format(&media_io, m, &p));
	if (kind == POOL_FRESH)
		return m;
	store = open_sample(m);
	for (i = 0; i < 3; i++)
		checkpoint(store, i, i == 2 && kind == POOL_CLEAN ? EK_SUPER_CLEAN : 0);
	if (kind != POOL_CLEAN) {
		transaction(store, 0, 20, 2);
		transaction(store, 20, 500, 2);	/* of several blocks */
		transaction(store, 520, 40, 2);
	}
	ek_store_close(store);
	if (kind == POOL_LAGGING)
		return cut_second(m, last_transaction);
	return kind == POOL_BEHIND ? cut_second(m, last_super) : m;
}

u64 pool_entry(enum pool_kind kind, u64 le)
{
	u64 moved = kind == POOL_CLEAN ? 0 : kind == POOL_LAGGING ? 580 : 560;

	if (kind == POOL_FRESH)
		return 0;
	if (le < moved)
		return ek_entry_make(0, le, le);
	return le % 3 ? ek_entry_make(1, place(le, 2), 2) : 0;
}

/* ---- edits ---- */

static struct ek_super *super_of(struct media *m, unsigned int area, unsigned int slot)
{
	return (void *)media_poke(m, area, slot ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET);
}

/* Geometry never differs between the samples; edits of it don't move what edits mean. */
static const struct ek_geometry *geometry(void)
{
	static struct ek_geometry geo;

	if (!geo.nr_pages)
		ek_super_geometry(super_of(sample[POOL_FRESH], 0, 0), &geo);
	return &geo;
}

static u64 edit_offset(const struct edit *e, unsigned int *at)
{
	const struct ek_geometry *geo = geometry();
	unsigned int byte = e->at[0] | e->at[1] << 8;
	u64 page;

	*at = byte % EK_BLOCK_SIZE;
	switch (e->what % EDIT_WHATS) {
	case EDIT_SUPER:
		return e->index & 1 ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET;
	case EDIT_TABLE:
		*at = byte % ((geo->nr_pages + 3) / 4);	/* the rest is padding */
		return geo->table_offset[e->index & 1];
	case EDIT_JOURNAL:
		return geo->journal_offset + e->index % geo->journal_blocks * EK_BLOCK_SIZE;
	case EDIT_LABEL:
		return e->index & 1 ? ek_label_copy_offset(pool_area_bytes() >> EK_SECTOR_SHIFT) : 0;
	default:
		/* Pages that are in use lie at both ends. */
		page = (e->index >> 1) % geo->nr_pages;
		if (e->index & 0x40)
			page = geo->nr_pages - 1 - page % 4;
		return ek_page_offset(geo, page, e->index & 1);
	}
}

static void change(u8 *p, const struct edit *e, unsigned int room, const u8 *other)
{
	unsigned int len = e->how % EDIT_HOWS == EDIT_SET8 ? 1 :
			   e->how % EDIT_HOWS == EDIT_SET32 ? 4 : 8;
	u64 v, w = 0;

	memcpy(&v, e->value, sizeof(v));
	if (len > room)
		len = room;
	memcpy(&w, p, len);
	switch (e->how % EDIT_HOWS) {
	case EDIT_XOR:
		v ^= w;
		break;
	case EDIT_ADD:
		v += w;
		break;
	case EDIT_COPY:
		memcpy(p, other, room);
		return;
	}
	memcpy(p, &v, len);
}

static void seal_super(struct ek_super *sb)
{
	sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
}

/* The chain of checksums from block @i on. */
static void seal_chain(struct media *m, unsigned int area, u64 i)
{
	const struct ek_geometry *geo = geometry();
	struct ek_journal_block *block;
	__le32 prev = 0;

	for (; i < geo->journal_blocks; i++, prev = block->csum) {
		block = (void *)media_poke(m, area, geo->journal_offset + i * EK_BLOCK_SIZE);
		if (block->magic != cpu_to_le32(EK_JOURNAL_MAGIC))
			break;
		if (prev)
			block->prev_csum = prev;
		block->csum = cpu_to_le32(ek_checksum(block, sizeof(*block), &block->csum));
	}
}

static void seal(struct media *m, unsigned int area, const struct edit *e, u8 *start)
{
	const struct ek_geometry *geo = geometry();
	struct ek_journal_block *block = (void *)start;
	struct ek_label *label = (void *)start;
	struct ek_page *page = (void *)start;
	struct ek_super *sb;

	switch (e->what % EDIT_WHATS) {
	case EDIT_SUPER:
		seal_super((struct ek_super *)start);
		break;
	case EDIT_TABLE:
		sb = super_of(m, area, e->index & 1);
		sb->table_csum = cpu_to_le32(ek_table_checksum(start, geo->table_bytes));
		seal_super(sb);
		break;
	case EDIT_JOURNAL:
		if (e->flags & EDIT_CHAIN)
			seal_chain(m, area, e->index % geo->journal_blocks);
		else
			block->csum = cpu_to_le32(ek_checksum(block, sizeof(*block),
							      &block->csum));
		break;
	case EDIT_LABEL:
		label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
		break;
	default:
		page->csum = cpu_to_le32(ek_checksum(page, sizeof(*page), &page->csum));
	}
}

static void edit(struct media *m, const struct edit *e)
{
	unsigned int area = e->flags & EDIT_MIRROR ? m->nr - 1 : 0, at, ignored;
	u64 offset = edit_offset(e, &at);
	struct edit neighbour = *e;
	u8 other[EK_BLOCK_SIZE];
	u8 *start;

	neighbour.index ^= e->value[0] ? e->value[0] : 1;
	/* What media_poke() returned goes with its next call for the same block. */
	memcpy(other, media_poke(m, area, edit_offset(&neighbour, &ignored)), sizeof(other));
	start = media_poke(m, area, offset);
	change(start + at, e, EK_BLOCK_SIZE - at, other + at);
	if (e->flags & EDIT_SEAL)
		seal(m, area, e, start);
}

static void make_samples(void)
{
	unsigned int kind;

	for (kind = 0; kind < POOL_KINDS && !sample[kind]; kind++)
		sample[kind] = make_sample(kind);
}

struct media *pool_make(const uint8_t *data, size_t size, struct pool_input *in)
{
	struct media *m;
	size_t i;

	make_samples();
	in->kind = size ? (data[0] & 7) % POOL_KINDS : POOL_FRESH;
	m = media_crash(sample[in->kind], CRASH_NONE);
	in->areas = (1u << m->nr) - 1;
	if (size && m->nr == 2)
		in->areas &= ~(data[0] >> 3 & 3);
	for (i = 1; i + EDIT_SIZE <= size && i < EDITS_MAX * EDIT_SIZE; i += EDIT_SIZE)
		edit(m, (const struct edit *)(data + i));
	/* What the mutation makes of nonces is the input's affair alone. */
	shim_seed(size);
	return m;
}

bool pool_untouched(size_t size)
{
	return size < 1 + EDIT_SIZE;
}

/* ---- damage ---- */

void pool_damage(uint8_t *data, size_t size)
{
	size_t i;

	for (i = 1; i + EDIT_SIZE <= size; i += EDIT_SIZE)
		((struct edit *)(data + i))->flags &= ~EDIT_SEAL;
}

size_t pool_damage_page(uint8_t *data, size_t size, unsigned int page, bool mirror)
{
	struct edit e = { .what = EDIT_PAGE, .at = { 64 }, .how = EDIT_XOR, .value = { 1 } };
	unsigned int slot;

	e.flags = mirror ? EDIT_MIRROR : 0;
	for (slot = 0; slot < 2; slot++, size += EDIT_SIZE) {
		e.index = page << 1 | slot;
		memcpy(data + size, &e, sizeof(e));
	}
	return size;
}

size_t pool_older_page(uint8_t *data, size_t size, unsigned int page, unsigned int slot,
		       bool mirror)
{
	struct edit e = { .what = EDIT_PAGE, .index = page << 1 | slot, .how = EDIT_COPY,
			  .flags = mirror ? EDIT_MIRROR : 0, .value = { 1 } };

	memcpy(data + size, &e, sizeof(e));
	return size + sizeof(e);
}

/* ---- mutation ---- */

static const struct {
	unsigned int at, size;
} super_field[] = {
#define F(name) { offsetof(struct ek_super, name), sizeof(((struct ek_super *)0)->name) }
	F(version), F(incompat), F(generation), F(flags), F(extent_sectors), F(nr_members),
	F(nr_meta), F(meta_stale), F(table_csum), F(nr_extents), F(nr_pages), F(super_offset[1]),
	F(table_offset[0]), F(table_offset[1]), F(table_bytes), F(journal_offset),
	F(journal_blocks), F(pages_offset), F(journal_generation), F(member[0].nr_extents),
	F(member[0].state), F(member[0].bitmap_page), F(member[0].bitmap_pages),
	F(member[1].nr_extents), F(member[1].bitmap_page), F(member[1].bitmap_pages),
	F(member[2].nr_extents), F(member[31].bitmap_page), F(pool_uuid[0]),
#undef F
}, journal_field[] = {
#define F(name) { offsetof(struct ek_journal_block, name), \
		  sizeof(((struct ek_journal_block *)0)->name) }
	F(magic), F(generation), F(sequence), F(nonce), F(part), F(parts), F(nr_records),
	F(prev_csum), F(record[0].key), F(record[0].value), F(record[1].key),
	F(record[1].value), F(record[251].key),
#undef F
}, page_field[] = {
#define F(name) { offsetof(struct ek_page, name), sizeof(((struct ek_page *)0)->name) }
	F(magic), F(index), F(generation), F(entry[0]), F(entry[1]), F(entry[507]), F(entry[83]),
	F(entry[600 / 64]), F(entry[500 / 64]),
#undef F
}, label_field[] = {
#define F(name) { offsetof(struct ek_label, name), sizeof(((struct ek_label *)0)->name) }
	F(version), F(incompat), F(pool_uuid[0]), F(role), F(index), F(nr_members), F(nr_meta),
	F(extent_sectors), F(area_start), F(area_sectors), F(name[EK_NAME_SIZE - 1]),
#undef F
};

/* Most edits hit a field, whole, with a value that is odd or near to what was there. */
static void random_edit(struct edit *e, unsigned int *rnd)
{
	static const u8 what[] = { EDIT_SUPER, EDIT_SUPER, EDIT_TABLE, EDIT_JOURNAL, EDIT_JOURNAL,
				   EDIT_JOURNAL, EDIT_PAGE, EDIT_PAGE, EDIT_LABEL };
	unsigned int at = fuzz_random(rnd, EK_BLOCK_SIZE), size = 1u << fuzz_random(rnd, 4), i;
	u64 v = fuzz_odd(rnd);

#define PICK(table) (i = fuzz_random(rnd, ARRAY_SIZE(table)), at = table[i].at, size = table[i].size)
	e->what = what[fuzz_random(rnd, ARRAY_SIZE(what))];
	e->index = fuzz_random(rnd, 256);
	if (fuzz_random(rnd, 4)) {
		if (e->what == EDIT_SUPER)
			PICK(super_field);
		else if (e->what == EDIT_JOURNAL)
			PICK(journal_field);
		else if (e->what == EDIT_PAGE)
			PICK(page_field);
		else if (e->what == EDIT_LABEL)
			PICK(label_field);
		if (e->what == EDIT_JOURNAL)
			e->index = fuzz_random(rnd, 8);
		if (e->what == EDIT_PAGE)
			e->index = fuzz_random(rnd, 8) | (fuzz_random(rnd, 2) ? 0x40 : 0);
	}
#undef PICK
	e->at[0] = at;
	e->at[1] = at >> 8;
	e->how = size == 1 ? EDIT_SET8 : size == 4 ? EDIT_SET32 : EDIT_SET64;
	if (!fuzz_random(rnd, 3)) {
		e->how = EDIT_XOR + fuzz_random(rnd, 3);
		if (e->how == EDIT_XOR)
			v = 1ULL << fuzz_random(rnd, 64);
		else if (e->how == EDIT_ADD)
			v = (u64)fuzz_random(rnd, 9) - 4;
		else
			v = fuzz_random(rnd, 4);
		if (e->how == EDIT_COPY && fuzz_random(rnd, 2))
			e->at[0] = e->at[1] = 0;
	}
	e->flags = fuzz_random(rnd, 10) ? EDIT_SEAL : 0;
	e->flags |= fuzz_random(rnd, 2) ? EDIT_CHAIN : 0;
	e->flags |= fuzz_random(rnd, 3) ? 0 : EDIT_MIRROR;
	memcpy(e->value, &v, sizeof(v));
}

size_t pool_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int rnd = seed, nr, i;

	if (max < 1 + EDIT_SIZE)
		return LLVMFuzzerMutate(data, size, max);
	if (!size || !fuzz_random(&rnd, 8))
		data[0] = fuzz_random(&rnd, 4) ? fuzz_random(&rnd, POOL_KINDS) : fuzz_random(&rnd, 32);
	nr = size ? (size - 1) / EDIT_SIZE : 0;
	if (nr && !fuzz_random(&rnd, 4)) {
		i = fuzz_random(&rnd, nr);
		LLVMFuzzerMutate(data + 1 + i * EDIT_SIZE, EDIT_SIZE, EDIT_SIZE);
		return 1 + nr * EDIT_SIZE;
	}
	if (nr && !fuzz_random(&rnd, 5)) {
		i = fuzz_random(&rnd, nr);
		memmove(data + 1 + i * EDIT_SIZE, data + 1 + (i + 1) * EDIT_SIZE,
			(nr - i - 1) * EDIT_SIZE);
		return 1 + (nr - 1) * EDIT_SIZE;
	}
	i = nr;
	if (nr && (nr == EDITS_MAX || 1 + (nr + 1) * EDIT_SIZE > max || !fuzz_random(&rnd, 3)))
		i = fuzz_random(&rnd, nr);
	random_edit((struct edit *)(data + 1 + i * EDIT_SIZE), &rnd);
	return 1 + (i == nr ? nr + 1 : nr) * EDIT_SIZE;
}

size_t pool_corpus(unsigned int nr, uint8_t *data)
{
	unsigned int seed = nr, size = 1;

	if (nr >= POOL_KINDS * (1 + 4))
		return 0;
	data[0] = nr % POOL_KINDS;
	if (nr < POOL_KINDS)
		return 1;
	for (; size < 1 + 2 * EDIT_SIZE; size += EDIT_SIZE)
		random_edit((struct edit *)(data + size), &seed);
	return size;
}
