// SPDX-License-Identifier: GPL-2.0-only
/*
 * One superblock.  The first byte: slot, size of the area, and whether magic and
 * checksum are made good.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <evenkeel/label.h>

#include "fuzz.h"
#include "edited.h"
#include "store_internal.h"

#define SLOT_1		0x1
#define RAW		0x2
#define SMALLER		0x4
#define HUGE		0x8

struct range {
	unsigned __int128 start, end;
};

/* In any order, computed wider than the decoder does. */
static void check_layout(const struct ek_super *sb, u64 bytes)
{
	unsigned __int128 pages = (unsigned __int128)le64_to_cpu(sb->nr_pages) * 2 * EK_BLOCK_SIZE;
	struct range r[5] = {
		{ 0, EK_TABLES_OFFSET },
		{ le64_to_cpu(sb->table_offset[0]), le64_to_cpu(sb->table_bytes) },
		{ le64_to_cpu(sb->table_offset[1]), le64_to_cpu(sb->table_bytes) },
		{ le64_to_cpu(sb->journal_offset),
		  (unsigned __int128)le64_to_cpu(sb->journal_blocks) * EK_BLOCK_SIZE },
		{ le64_to_cpu(sb->pages_offset), pages },
	};
	unsigned int i, j;

	for (i = 0; i < 5; i++) {
		r[i].end += r[i].start;
		MUST(!(r[i].start % EK_BLOCK_SIZE) && r[i].start < r[i].end);
		MUST(r[i].end <= bytes / EK_BLOCK_SIZE * EK_BLOCK_SIZE - EK_BLOCK_SIZE);
		for (j = 0; j < i; j++)
			MUST(r[i].start >= r[j].end || r[j].start >= r[i].end, "%u %u", i, j);
	}
	MUST(le64_to_cpu(sb->nr_pages) <= 4 * le64_to_cpu(sb->table_bytes));
}

/* The map's pages and each member's lie apart, inside what there is. */
static void check_pages(const struct ek_super *sb)
{
	u64 map = DIV_ROUND_UP(le64_to_cpu(sb->nr_extents), EK_PAGE_ENTRIES);
	struct range r[1 + EK_MAX_MEMBERS] = { { 0, map } };
	unsigned int i, j, nr = le32_to_cpu(sb->nr_members);

	MUST(nr >= 1 && nr <= EK_MAX_MEMBERS);
	for (i = 1; i <= nr; i++) {
		u32 extents = le32_to_cpu(sb->member[i - 1].nr_extents);
		u64 last = le64_to_cpu(sb->member[i - 1].bitmap_page);

		MUST(extents && extents <= EK_MAX_MEMBER_EXTENTS);
		MUST(last < le64_to_cpu(sb->nr_pages) && last + 1 >= ek_space_pages(extents));
		r[i].start = last + 1 - ek_space_pages(extents);
		r[i].end = last + 1;
		for (j = 0; j < i; j++)
			MUST(r[i].start >= r[j].end || r[j].start >= r[i].end, "%u %u", i, j);
	}
	MUST(map <= le64_to_cpu(sb->nr_pages));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *reason = NULL;
	struct ek_super sb;
	u64 bytes;
	int err;

	if (!size)
		return 0;
	memset(&sb, 0, sizeof(sb));
	memcpy(&sb, data + 1, size - 1 < sizeof(sb) ? size - 1 : sizeof(sb));
	bytes = data[0] & HUGE ? 1ULL << 50 : pool_area_bytes() - (data[0] & SMALLER ? 1000 : 0);
	if (!(data[0] & RAW)) {
		sb.magic = cpu_to_le64(EK_SUPER_MAGIC);
		sb.csum = cpu_to_le32(ek_checksum(&sb, sizeof(sb), &sb.csum));
	}
	err = ek_super_check(&sb, data[0] & SLOT_1, bytes, &reason);
	MUST(!err || err == -ENODATA || err == -EUCLEAN || err == -EPROTONOSUPPORT);
	MUST(!err || (reason && *reason));
	if (err)
		return 0;
	check_layout(&sb, bytes);
	check_pages(&sb);
	MUST(((le64_to_cpu(sb.generation) - 1) & 1) == (data[0] & SLOT_1));
	MUST(le64_to_cpu(sb.journal_generation) <= le64_to_cpu(sb.generation));
	MUST(strnlen((char *)sb.policy, EK_POLICY_TEXT_SIZE) < EK_POLICY_TEXT_SIZE);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	const unsigned int first = offsetof(struct ek_super, generation);
	const unsigned int words = (offsetof(struct ek_super, member[3]) - first) / 4;
	unsigned int rnd = seed, at;
	uint64_t v, old;

	if (!fuzz_random(&rnd, 4) || size < 2)
		return LLVMFuzzerMutate(data, size, max);
	if (!fuzz_random(&rnd, 8))
		data[0] = fuzz_random(&rnd, 16);
	at = 1 + first + 4 * fuzz_random(&rnd, words);
	if (max < at + 8)
		return size;
	if (size < at + 8) {
		memset(data + size, 0, at + 8 - size);
		size = at + 8;
	}
	memcpy(&old, data + at, sizeof(old));
	v = fuzz_random(&rnd, 2) ? fuzz_odd(&rnd) : old + (fuzz_random(&rnd, 9) - 4) *
						   (fuzz_random(&rnd, 2) ? 1 : EK_BLOCK_SIZE);
	memcpy(data + at, &v, fuzz_random(&rnd, 2) ? 4 : 8);
	return size;
}

/* The superblocks of the sample pools. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	uint8_t kind = nr / 2;
	struct pool_input in;
	struct media *m;

	if (kind >= POOL_KINDS)
		return 0;
	m = pool_make(&kind, 1, &in);
	data[0] = nr & 1 ? SLOT_1 : nr % 3 ? 0 : HUGE;
	memcpy(data + 1, media_poke(m, 0, nr & 1 ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET), 400);
	media_free(m);
	return 401;
}
