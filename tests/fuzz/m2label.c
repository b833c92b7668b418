// SPDX-License-Identifier: GPL-2.0-only
/*
 * The head of a range of memory: two labels and what surrounds them. The first byte says which of
 * their magics and checksums are made good; three bytes are a byte of the head and what it becomes;
 * then come the labels, but for what is reserved in them.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <evenkeel/label.h>

#include "fuzz.h"
#include "label.h"

#define MAKE_MAGIC	0x1
#define MAKE_CSUM	0x2
#define SECOND		2	/* shift of the same for the second copy */

#define LABEL	offsetof(struct m2_label, reserved)
#define HEAD	4u

static uint8_t head[M2_HEAD_BYTES], blank[M2_LABEL_STRIDE];

static struct m2_label *copy_of(uint8_t *range, unsigned int i)
{
	return (struct m2_label *)(range + i * M2_LABEL_STRIDE);
}

/* More at the end is not looked at, less is zero. */
static void make(const uint8_t *data, size_t size)
{
	struct m2_label *label;
	unsigned int i;

	memset(head, 0, sizeof(head));
	for (i = 0; i < 2 && size > HEAD + i * LABEL; i++)
		memcpy(copy_of(head, i), data + HEAD + i * LABEL,
		       min(size - HEAD - i * LABEL, LABEL));
	head[data[1] | data[2] << 8] ^= data[3];
	for (i = 0; i < 2; i++) {
		label = copy_of(head, i);
		if (data[0] >> SECOND * i & MAKE_MAGIC)
			label->magic = cpu_to_le64(M2_LABEL_MAGIC);
		if (data[0] >> SECOND * i & MAKE_CSUM)
			label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
	}
}

/* In arithmetic that is wider than the decoder's. */
static void check_info(const struct m2_label_info *info)
{
	unsigned __int128 end = (unsigned __int128)info->data_offset + info->data_bytes;

	MUST(info->newest < 2 && info->generation);
	MUST(*info->name && strnlen(info->name, M2_NAME_SIZE) < M2_NAME_SIZE);
	MUST(info->data_offset >= M2_HEAD_BYTES && info->data_bytes && end <= info->range_bytes);
	MUST(!(info->data_offset % 4096) && !(info->data_bytes % 4096));
}

static void check_same(const struct m2_label_info *a, const struct m2_label_info *b)
{
	MUST(!memcmp(a->uuid, b->uuid, M2_UUID_SIZE) && !strcmp(a->name, b->name));
	MUST(a->range_bytes == b->range_bytes && a->data_offset == b->data_offset);
	MUST(a->data_bytes == b->data_bytes && a->ctime == b->ctime && a->flags == b->flags);
}

/* What each copy says when it is alone: the newer one that may count does, and nothing else. */
static void check_newest(const struct m2_label_info *info)
{
	static uint8_t alone[M2_HEAD_BYTES];
	struct m2_label_info one;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		memcpy(alone, head, sizeof(alone));
		memcpy(copy_of(alone, !i), blank, M2_LABEL_STRIDE);
		if (m2_label_read(alone, &one)) {
			MUST(info->newest != i);
			continue;
		}
		MUST(one.generation <= info->generation);
		if (info->newest == i) {
			MUST(one.generation == info->generation);
			check_same(info, &one);
		}
	}
}

static int settle(void *ctx)
{
	unsigned int *left = ctx;

	return (*left)-- ? 0 : -EIO;
}

/*
 * The label that was accepted is changed, durably in @good copies: whatever fails, what is read
 * afterwards is that label, of the generation that was written if any copy got it.
 */
static void check_write(const struct m2_label_info *info, unsigned int good)
{
	static uint8_t range[M2_HEAD_BYTES];
	struct m2_label_info written = *info, again;
	unsigned int left = good, newest;
	int err;

	memcpy(range, head, sizeof(range));
	err = m2_label_write(range, &written, settle, &left);
	MUST(err == (good ? 0 : -EIO));
	newest = good == 1 ? !info->newest : info->newest;
	MUST(written.newest == newest);
	/* At once it says that, too, in whichever copy. */
	MUST(!m2_label_read(range, &again));
	check_same(info, &again);
	/* What is not known to be durable may be gone, as a whole; the other copy must do. */
	if (good < 2)
		memset(copy_of(range, !written.newest), 0, sizeof(struct m2_label));
	MUST(!m2_label_read(range, &again));
	MUST(again.generation == (good ? written.generation : info->generation));
	check_info(&again);
	check_same(info, &again);
	if (good < 2)
		return;
	MUST(!memcmp(copy_of(range, 0), copy_of(range, 1), sizeof(struct m2_label)));
}

/* Only what is blank is -ENODATA, and what has no label of ours is foreign. */
static void check_refused(int err)
{
	bool ours = copy_of(head, 0)->magic == cpu_to_le64(M2_LABEL_MAGIC) ||
		    copy_of(head, 1)->magic == cpu_to_le64(M2_LABEL_MAGIC);

	MUST((err == -ENODATA) == !memchr_inv(head, 0, sizeof(head)));
	MUST((err == -EINVAL) == (!ours && err != -ENODATA));
	MUST(err == -ENODATA || err == -EINVAL || err == -EUCLEAN || err == -EPROTONOSUPPORT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m2_label_info info;
	unsigned int good;
	int err;

	if (size < HEAD)
		return 0;
	make(data, size);
	memset(&info, 0, sizeof(info));
	err = m2_label_read(head, &info);
	if (err) {
		check_refused(err);
		return 0;
	}
	check_info(&info);
	check_newest(&info);
	for (good = 0; good <= 2; good++)
		check_write(&info, good);
	return 0;
}

/* A field of one label, with what decoders get wrong or what the other label has. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
#define F(name) { offsetof(struct m2_label, name), sizeof(((struct m2_label *)0)->name) }
	static const struct {
		unsigned int at, size;
	} field[] = {
		F(version), F(incompat), F(generation), F(generation), F(name[0]),
		F(name[M2_NAME_SIZE - 1]), F(range_bytes), F(data_offset), F(data_bytes), F(ctime),
		F(flags),
	};
#undef F
	unsigned int rnd = seed, i = fuzz_random(&rnd, ARRAY_SIZE(field)), at, other;
	uint64_t v, old = 0;

	if (!fuzz_random(&rnd, 4) || max < HEAD + 2 * LABEL)
		return LLVMFuzzerMutate(data, size, max);
	if (size < HEAD + 2 * LABEL)
		memset(data + size, 0, HEAD + 2 * LABEL - size);
	if (!fuzz_random(&rnd, 8))
		data[0] = fuzz_random(&rnd, 4) ? 0xf : fuzz_random(&rnd, 16);
	at = HEAD + field[i].at;
	other = at + LABEL;
	if (fuzz_random(&rnd, 2)) {
		at = other;
		other -= LABEL;
	}
	memcpy(&old, data + at, field[i].size);
	v = fuzz_odd(&rnd);
	if (fuzz_random(&rnd, 2))
		v = old + (fuzz_random(&rnd, 3) - 1) * (fuzz_random(&rnd, 2) ? 1 : 4096);
	memcpy(data + at, fuzz_random(&rnd, 8) ? (uint8_t *)&v : data + other, field[i].size);
	return HEAD + 2 * LABEL;
}

/* Both copies good; the second one newer, not whole, not there; foreign, blank; the longest name. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const uint8_t made[] = { 0xf, 0xf, 0x7, 0x3, 0, 0, 0xf, 0xf };
	struct m2_label label = {
		.version = cpu_to_le32(M2_FORMAT_VERSION), .generation = cpu_to_le64(7),
		.uuid = { 1, 2, 3 }, .name = "log", .range_bytes = cpu_to_le64(16u << 20),
		.data_offset = cpu_to_le64(M2_HEAD_BYTES), .data_bytes = cpu_to_le64(8u << 20),
		.ctime = cpu_to_le64(1700000000), .flags = cpu_to_le32(nr & 1 ? M2_LABEL_FRESH : 0),
	};

	if (nr >= sizeof(made))
		return 0;
	memset(data, 0, HEAD + 2 * LABEL);
	data[0] = made[nr];
	data[2] = 0x7f;
	data[3] = nr == 4;
	if (nr == 4 || nr == 5)
		return HEAD;
	if (nr == 7)
		memset(label.name, 'x', M2_NAME_SIZE - 1);
	memcpy(data + HEAD, &label, LABEL);
	label.generation = cpu_to_le64(nr == 1 ? 8 : 7);
	label.incompat = cpu_to_le64(nr == 6);
	if (nr != 3)
		memcpy(data + HEAD + LABEL, &label, LABEL);
	return HEAD + 2 * LABEL;
}
