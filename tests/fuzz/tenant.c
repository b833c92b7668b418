// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose content a range of memory has. Of an input the first four bytes say how large the range is,
 * where in it the heads are and what is not looked at, what can't be read, and what is made good;
 * then come the two labels that a memory device may have there, without what is reserved in them,
 * and a super block of scmfs over the first. What is past the range must not be read.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <sanitizer/asan_interface.h>
#include <evenkeel/label.h>
#include <evenkeel/scmfs_format.h>
#include <evenkeel/tenant.h>

#include "fuzz.h"
#include "label.h"

#define MAKE_MAGIC	0x1	/* of the first label; twice as far left: of the second */
#define MAKE_CSUM	0x4
#define MAKE_SUPER	0x10	/* over the first label */
#define MAKE_SUPER_CSUM	0x20
#define BAD		0x40	/* a byte can't be read */
#define BUT		0x80	/* one of the places is not looked at */

#define STEPS	3u
#define LABEL	offsetof(struct m2_label, reserved)
#define SUPER	offsetof(struct scmfs_super, nr_blocks)
#define HEAD	4u

static uint8_t memory[STEPS * SCM_TENANT_STEP] __attribute__((aligned(4096)));

struct range {
	u64 bytes, but;
};

static struct m2_label *label_at(const uint8_t *head, unsigned int i)
{
	return (struct m2_label *)(head + i * M2_LABEL_STRIDE);
}

static void make_head(uint8_t *head, uint8_t made, const uint8_t *data, size_t size)
{
	struct scmfs_super *super = (struct scmfs_super *)head;
	struct m2_label *label;
	unsigned int i;

	for (i = 0; i < 2 && size > i * LABEL; i++)
		memcpy(label_at(head, i), data + i * LABEL, min(size - i * LABEL, LABEL));
	if (size > 2 * LABEL)
		memcpy(super, data + 2 * LABEL, min(size - 2 * LABEL, SUPER));
	for (i = 0; i < 2; i++) {
		label = label_at(head, i);
		if (made >> i & MAKE_MAGIC)
			label->magic = cpu_to_le64(M2_LABEL_MAGIC);
		if (made >> i & MAKE_CSUM)
			label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
	}
	if (made & MAKE_SUPER)
		super->magic = cpu_to_le64(SCMFS_SUPER_MAGIC);
	if (made & MAKE_SUPER_CSUM)
		super->csum = cpu_to_le32(ek_checksum(super, sizeof(*super), &super->csum));
}

/* The same head at each place that the second byte names; the range need not have them all. */
static struct range make(const uint8_t *data, size_t size)
{
	uint8_t made = data[3];
	/* None to all of the places, perhaps with one more head, perhaps without its last byte. */
	struct range r = { (data[0] % (STEPS + 1)) * SCM_TENANT_STEP, U64_MAX };
	unsigned int i;

	if (data[0] & 0x80)
		r.bytes += SCM_TENANT_HEAD;
	if (r.bytes && data[0] & 0x40)
		r.bytes--;
	if (r.bytes > sizeof(memory))
		r.bytes = sizeof(memory);
	for (i = 0; i < STEPS; i++)
		if (data[1] >> i & 1)
			make_head(memory + i * SCM_TENANT_STEP, made, data + HEAD, size - HEAD);
	shim_bad_memory = NULL;
	if (made & BAD)
		shim_bad_memory = memory + data[2] % STEPS * SCM_TENANT_STEP +
				  (data[2] & 0x80 ? M2_LABEL_STRIDE : 0) + 8 * (data[2] & 0x7f);
	if (made & BUT)
		r.but = data[1] / 8 % STEPS * SCM_TENANT_STEP;
	ASAN_POISON_MEMORY_REGION(memory + r.bytes, sizeof(memory) - r.bytes);
	return r;
}

static void unmake(void)
{
	unsigned int i;

	ASAN_UNPOISON_MEMORY_REGION(memory, sizeof(memory));
	shim_bad_memory = NULL;
	for (i = 0; i < STEPS; i++)
		memset(memory + i * SCM_TENANT_STEP, 0, SCM_TENANT_HEAD);
}

static bool is_whole(const struct m2_label *label)
{
	return label->magic == cpu_to_le64(M2_LABEL_MAGIC) &&
	       label->csum == cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
}

/* What memory devices make of label @i, were it the only one. */
static int read_alone(const uint8_t *head, unsigned int i, struct m2_label_info *info)
{
	static uint8_t alone[M2_HEAD_BYTES];

	memset(alone, 0, sizeof(alone));
	memcpy(label_at(alone, i), label_at(head, i), sizeof(struct m2_label));
	return m2_label_read(alone, info);
}

/* The labels that can be read; another one isn't there for who survives that. */
static const uint8_t *readable(const uint8_t *head)
{
	static uint8_t seen[M2_HEAD_BYTES];
	unsigned int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < 2; i++)
		if (copy_mc_to_kernel(label_at(seen, i), label_at(head, i),
				      sizeof(struct m2_label)))
			memset(label_at(seen, i), 0, sizeof(struct m2_label));
	return seen;
}

/*
 * Who looks for content must find all that its owner would take up again. The two may disagree
 * where a label is whole and yet none that there could be: such counts here, and not there.
 */
static void check_device(const uint8_t *head, int r, const struct scm_tenant *tenant, bool fs)
{
	char name[sizeof(tenant->name)];
	struct m2_label_info info, one;
	unsigned int i;

	if (m2_label_read(head, &info))
		return;
	for (i = 0; i < 2; i++)
		if (is_whole(label_at(head, i)) && read_alone(head, i, &one))
			return;
	if (info.flags & M2_LABEL_FRESH) {
		MUST(r == (fs ? 0 : -ENOENT));
		return;
	}
	snprintf(name, sizeof(name), "mem2m %s", info.name);
	MUST(!r && !strcmp(tenant->name, name) && tenant->bytes == info.range_bytes);
}

static void check_at(const uint8_t *head, int r, const struct scm_tenant *tenant)
{
	const struct scmfs_super *super = (const struct scmfs_super *)head;
	bool fs = super->magic == cpu_to_le64(SCMFS_SUPER_MAGIC);

	MUST(!r || r == -ENOENT || (r == -EIO && shim_bad_memory));
	if (r == -EIO)
		return;
	MUST(!fs || !r);
	if (!r)
		MUST(*tenant->name && strnlen(tenant->name, SCM_TENANT_NAME) < SCM_TENANT_NAME);
	if (!r && !strncmp(tenant->name, "an scmfs", 8)) {
		MUST(fs);
		MUST(!tenant->bytes || tenant->bytes == le64_to_cpu(super->region_bytes));
	}
	check_device(readable(head), r, tenant, fs);
}

/* The first place that isn't empty, by the order of the places alone. */
static void check_find(const struct range *range)
{
	struct scm_tenant tenant = { .offset = ~0ULL }, first;
	int r = scm_tenant_find(memory, range->bytes, range->but, &tenant), at = -ENOENT;
	u64 step;

	for (step = 0; at == -ENOENT && step + SCM_TENANT_HEAD <= range->bytes;
	     step += SCM_TENANT_STEP) {
		if (step == range->but)
			continue;
		memset(&first, 0, sizeof(first));
		at = scm_tenant_at(memory + step, &first);
		check_at(memory + step, at, &first);
		if (at != -ENOENT)
			MUST(tenant.offset == step);
	}
	MUST(r == at, "%d %d", r, at);
	if (!r)
		MUST(!strcmp(tenant.name, first.name) && tenant.bytes == first.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range range;

	if (size < HEAD)
		return 0;
	range = make(data, size);
	check_find(&range);
	unmake();
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	static const unsigned int field[] = {
		offsetof(struct m2_label, version), offsetof(struct m2_label, incompat),
		offsetof(struct m2_label, generation), offsetof(struct m2_label, name),
		offsetof(struct m2_label, name[M2_NAME_SIZE - 8]),
		offsetof(struct m2_label, range_bytes), offsetof(struct m2_label, data_bytes),
		offsetof(struct m2_label, flags),
	};
	unsigned int rnd = seed, at;
	uint64_t v;

	if (!fuzz_random(&rnd, 4) || size < HEAD + 2 * LABEL)
		return LLVMFuzzerMutate(data, size, max);
	data[fuzz_random(&rnd, HEAD)] = fuzz_random(&rnd, 256);
	if (fuzz_random(&rnd, 2))
		data[3] |= 0xf;
	at = HEAD + fuzz_random(&rnd, 2) * LABEL + field[fuzz_random(&rnd, ARRAY_SIZE(field))];
	v = fuzz_odd(&rnd);
	memcpy(data + at, &v, fuzz_random(&rnd, 2) ? 4 : 8);
	return size;
}

/* A device, a new one, a file system, and the same with a byte that can't be read. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const uint8_t made[] = { 0xf, 0xf, 0x3f, 0x1f, 0x4f, 0x8f, 0 };
	struct m2_label label = {
		.version = cpu_to_le32(M2_FORMAT_VERSION), .generation = cpu_to_le64(7),
		.name = "log", .range_bytes = cpu_to_le64(16u << 20),
		.data_offset = cpu_to_le64(M2_HEAD_BYTES), .data_bytes = cpu_to_le64(8u << 20),
		.flags = cpu_to_le32(nr == 1 ? M2_LABEL_FRESH : 0),
	};
	struct scmfs_super super = { .region_bytes = cpu_to_le64(77 << 12) };

	if (nr >= sizeof(made))
		return 0;
	data[0] = STEPS + 0x40 * (nr % 4);
	data[1] = nr == 5 ? 0x2 | 0x8 : 1 + nr;
	data[2] = 1;
	data[3] = made[nr];
	memcpy(data + HEAD, &label, LABEL);
	memcpy(data + HEAD + LABEL, &label, LABEL);
	memcpy(data + HEAD + 2 * LABEL, &super, SUPER);
	return made[nr] & MAKE_SUPER ? HEAD + 2 * LABEL + SUPER : HEAD + 2 * LABEL;
}
