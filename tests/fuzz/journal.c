// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal's blocks, of which only the headers are in the input: generation, then
 * for each block a byte (are checksum and chain made good?) and its header.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <evenkeel/label.h>

#include "fuzz.h"
#include "store_internal.h"

#define HEADER	48u
#define STEP	(1 + HEADER)
#define BLOCKS	12u

#define RAW_CSUM	0x1
#define RAW_CHAIN	0x2
#define RAW_MAGIC	0x4

static u32 sum(struct ek_journal_block *b)
{
	return ek_checksum(b, sizeof(*b), &b->csum);
}

static unsigned int expand(struct ek_journal_block *b, const uint8_t *data, size_t size)
{
	unsigned int i;

	for (i = 0; i < BLOCKS && size >= (i + 1) * STEP; i++, data += STEP) {
		memset(b + i, 0, sizeof(*b));
		memcpy(b + i, data + 1, HEADER);
		if (!(data[0] & RAW_MAGIC))
			b[i].magic = cpu_to_le32(EK_JOURNAL_MAGIC);
		if (!(data[0] & RAW_CHAIN))
			b[i].prev_csum = i ? b[i - 1].csum : 0;
		if (!(data[0] & RAW_CSUM))
			b[i].csum = cpu_to_le32(sum(b + i));
	}
	return i;
}

/* Everything in the prefix is what the format says. */
static void check_prefix(struct ek_journal_block *b, unsigned int nr, u64 generation,
			 const struct ek_journal *j)
{
	u64 i, left = 0, sequence = 0;
	__le32 prev = 0;

	MUST(j->used <= nr && j->transactions <= j->used);
	for (i = 0; i < j->used; i++, left--, prev = b[i - 1].csum) {
		if (!left) {
			left = le32_to_cpu(b[i].parts);
			sequence++;
		}
		MUST(left && le32_to_cpu(b[i].parts) - left == le32_to_cpu(b[i].part));
		MUST(!le32_to_cpu(b[i].part) || (b[i].parts == b[i - 1].parts &&
						 b[i].nonce == b[i - 1].nonce));
		MUST(le32_to_cpu(b[i].magic) == EK_JOURNAL_MAGIC);
		MUST(le64_to_cpu(b[i].generation) == generation);
		MUST(le64_to_cpu(b[i].sequence) == sequence && b[i].prev_csum == prev);
		MUST(le32_to_cpu(b[i].nr_records) <= EK_JOURNAL_RECORDS);
		MUST(le32_to_cpu(b[i].csum) == sum(b + i));
	}
	MUST(!left && sequence == j->transactions && j->last_csum == le32_to_cpu(prev));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ek_journal_block *b;
	struct ek_journal journal;
	unsigned int nr;
	int err;

	if (size < 1 + STEP)
		return 0;
	nr = (size - 1) / STEP < BLOCKS ? (size - 1) / STEP : BLOCKS;
	b = malloc(nr * sizeof(*b));	/* to the byte, for what steps out of it */
	MUST(expand(b, data + 1, size - 1) == nr);
	err = ek_journal_scan(b, nr, data[0], &journal);
	MUST(!err || err == -EUCLEAN);
	check_prefix(b, nr, data[0], &journal);
	free(b);
	return 0;
}

static size_t put(uint8_t *data, unsigned int i, u64 generation, u64 sequence, u32 part, u32 parts)
{
	struct ek_journal_block b = {
		.generation = cpu_to_le64(generation), .sequence = cpu_to_le64(sequence),
		.nonce = cpu_to_le64(sequence * 77), .part = cpu_to_le32(part),
		.parts = cpu_to_le32(parts), .nr_records = cpu_to_le32(parts),
	};

	data[1 + i * STEP] = 0;
	memcpy(data + 2 + i * STEP, &b, HEADER);
	return 1 + (i + 1) * STEP;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	static const unsigned int field[] = { 8, 16, 24, 32, 36, 40 };
	unsigned int rnd = seed, nr = size ? (size - 1) / STEP : 0, i;
	uint8_t *at;
	uint64_t v;

	if (!fuzz_random(&rnd, 6) || max < 1 + STEP)
		return LLVMFuzzerMutate(data, size, max);
	if (!nr || (nr < BLOCKS && 1 + (nr + 1) * STEP <= max && !fuzz_random(&rnd, 5)))
		return put(data, nr, data[0], fuzz_random(&rnd, nr + 2), fuzz_random(&rnd, 3),
			   1 + fuzz_random(&rnd, 4));
	i = fuzz_random(&rnd, nr);
	at = data + 1 + i * STEP;
	if (!fuzz_random(&rnd, 6))
		*at = fuzz_random(&rnd, 8);
	if (i && !fuzz_random(&rnd, 6))
		memcpy(at, at - STEP, STEP);
	v = fuzz_random(&rnd, 3) ? fuzz_random(&rnd, 5) : fuzz_odd(&rnd);
	i = field[fuzz_random(&rnd, 6)];
	memcpy(at + 1 + i, &v, i >= 32 ? 4 : 8);
	return 1 + nr * STEP;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	size_t size = 1;
	unsigned int i;

	data[0] = 3;
	switch (nr) {
	case 0:
		return put(data, 0, 3, 1, 0, 1);
	case 1:
		for (i = 0; i < 3; i++)
			size = put(data, i, 3, i + 1, 0, 1);
		return size;
	case 2:
		put(data, 0, 3, 1, 0, 1);
		for (i = 0; i < 4; i++)
			size = put(data, i + 1, 3, 2, i, 4);
		return put(data, 5, 3, 3, 0, 1);
	case 3:		/* cut by its end */
		put(data, 0, 3, 1, 0, 1);
		return put(data, 1, 3, 2, 0, 2);
	case 4:		/* what an older generation left */
		put(data, 0, 3, 1, 0, 1);
		return put(data, 1, 2, 2, 0, 1);
	case 5:
		put(data, 0, 2, 1, 0, 1);
		return put(data, 1, 4, 1, 0, 1);
	}
	return 0;
}
