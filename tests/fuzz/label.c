// SPDX-License-Identifier: GPL-2.0-only
/* One label: the first byte says whether magic and checksum are made good. */
#include <linux/errno.h>
#include <linux/string.h>
#include <evenkeel/label.h>

#include "fuzz.h"

#define MAKE_MAGIC	0x1
#define MAKE_CSUM	0x2

static void check_info(const struct ek_label_info *info)
{
	MUST(info->role == EK_ROLE_META || info->role == EK_ROLE_MEMBER);
	MUST(info->nr_members >= 1 && info->nr_members <= EK_MAX_MEMBERS);
	MUST(info->nr_meta >= 1 && info->nr_meta <= EK_MAX_META);
	MUST(info->index < (info->role == EK_ROLE_META ? info->nr_meta : info->nr_members));
	MUST(info->extent_sectors >= EK_MIN_EXTENT_SECTORS &&
	     info->extent_sectors <= EK_MAX_EXTENT_SECTORS);
	MUST(strnlen(info->name, EK_NAME_SIZE) < EK_NAME_SIZE);
	MUST(ek_label_copy_offset(info->area_sectors) % EK_BLOCK_SIZE == 0);
	ek_member_extents(info->area_sectors, info->extent_sectors);
}

/* What was understood says the same again. */
static void check_again(const struct ek_label_info *info)
{
	struct ek_label_info again;
	struct ek_label label;

	ek_label_encode(info, &label);
	memset(&again, 0, sizeof(again));
	MUST(!ek_label_decode(&label, &again));
	MUST(!memcmp(info, &again, offsetof(struct ek_label_info, name)));
	MUST(!strcmp(info->name, again.name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ek_label_info info;
	struct ek_label label;
	int err;

	if (!size)
		return 0;
	memset(&info, 0, sizeof(info));
	memset(&label, 0, sizeof(label));
	memcpy(&label, data + 1, size - 1 < sizeof(label) ? size - 1 : sizeof(label));
	if (data[0] & MAKE_MAGIC)
		label.magic = cpu_to_le64(EK_LABEL_MAGIC);
	if (data[0] & MAKE_CSUM)
		label.csum = cpu_to_le32(ek_checksum(&label, sizeof(label), &label.csum));
	err = ek_label_decode(&label, &info);
	MUST(!err || err == -ENODATA || err == -EINVAL || err == -EUCLEAN ||
	     err == -EPROTONOSUPPORT);
	if (err)
		return 0;
	check_info(&info);
	check_again(&info);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	static const unsigned int field[] = { 12, 16, 56, 60, 64, 68, 72, 76, 80, 88, 96, 231 };
	unsigned int rnd = seed, at;
	uint64_t v;

	if (!fuzz_random(&rnd, 4) || size < 2)
		return LLVMFuzzerMutate(data, size, max);
	data[0] = fuzz_random(&rnd, 8) ? MAKE_MAGIC | MAKE_CSUM : fuzz_random(&rnd, 256);
	at = 1 + field[fuzz_random(&rnd, sizeof(field) / sizeof(*field))];
	if (max < at + 8)
		return size;
	if (size < at + 8) {
		memset(data + size, 0, at + 8 - size);
		size = at + 8;
	}
	v = fuzz_odd(&rnd);
	memcpy(data + at, &v, fuzz_random(&rnd, 3) ? 4 : 8);
	return size;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	struct ek_label_info info = {
		.role = nr & 1 ? EK_ROLE_META : EK_ROLE_MEMBER, .nr_members = nr ? 32 : 1,
		.nr_meta = nr ? 2 : 1, .index = nr ? 1 : 0, .extent_sectors = 128u << nr,
		.area_sectors = 65536, .name = "disk",
	};
	struct ek_label label;

	if (nr > 4)
		return 0;
	ek_label_encode(&info, &label);
	data[0] = nr == 4 ? 0 : MAKE_MAGIC | MAKE_CSUM;
	memcpy(data + 1, &label, 240);	/* zeroes follow */
	return 241;
}
