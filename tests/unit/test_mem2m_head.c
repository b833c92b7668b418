// SPDX-License-Identifier: GPL-2.0-only
/* What others leave over a device that was deleted, and what we leave ourselves. */
#include <evenkeel/label.h>
#include "head.h"
#include "ktap.h"

static u8 head[M2_HEAD_BYTES] __aligned(64);
static u8 *const second = head + M2_LABEL_STRIDE;

static void make(u32 flags)
{
	struct m2_label_info info = {
		.name = "log", .range_bytes = 512 << 20, .data_offset = 2 << 20,
		.data_bytes = 510 << 20, .ctime = 1700000000, .flags = flags,
	};

	memset(info.uuid, 0x17, sizeof(info.uuid));
	memset(head, 0, sizeof(head));
	CHECK(!m2_label_write(head, &info, NULL, NULL));
}

/* There is a whole copy in it; what then? */
static bool ours(void)
{
	struct m2_label_info info;

	CHECK(!m2_label_read(head, &info), "no label");
	return m2_head_is_ours(head, &info);
}

static void put(u32 at, const void *what, size_t len)
{
	memcpy(head + at, what, len);
}

/* The copy at @at is no longer whole, and is in the way of no label. */
static void flip(u8 *copy, u32 bit)
{
	copy[bit / 8] ^= 1 << bit % 8;
}

/* --- others ------------------------------------------------------------------------------------ */

/* An entry from sector 2048 on, and the mark; the code before it is kept or is zeroed. */
static void dos_entry(void)
{
	static const u8 entry[16] = { 0, 0x20, 0x21, 0, 0x83, 0x2a, 0xaa, 0x28, 0, 8, 0, 0, 0, 0xf0, 1, 0 };

	put(446, entry, sizeof(entry));
	put(510, "\x55\xaa", 2);
}

static void dos_kept(void) { dos_entry(); }

static void dos(void)
{
	memset(head, 0, 512);
	dos_entry();
}

/* A signature and a mark, with no partition yet. */
static void dos_empty(void) { put(510, "\x55\xaa", 2); }

static void gpt(void)
{
	dos();
	put(512, "EFI PART\0\0\1\0\x5c\0\0\0", 16);
}

/* The first four sectors are zeroed; the label in the second one, the area behind it. */
static void pv_label(void) { put(512, "LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001", 32); }

static void pv(void)
{
	memset(head, 0, 2048);
	pv_label();
	put(4096 + 4, " LVM2 x[5A%r0N*>\1", 17);
}

/* Of which nothing but the label is seen. */
static void pv_label_kept(void) { pv_label(); }

static void pv_label_alone(void)
{
	memset(head, 0, 512);
	pv_label();
}

/* Version, last page; the signature is at the end of the first page. Boot code has been zeroed. */
static void swap_space(void)
{
	memset(head, 0, 1024);
	put(1024, "\1\0\0\0\xff\x3f\0\0", 8);
	put(4086, "SWAPSPACE2", 10);
}

/* Metadata 1.2: nothing else is written there. */
static void md(void) { put(4096, "\xfc\x4e\x2b\xa9\1\0\0\0", 8); }

/* A file system whose first KiB is nobody's. */
static void ext4(void) { put(1024 + 0x38, "\x53\xef", 2); }

static void beyond_second(void) { head[M2_HEAD_BYTES - 1] = 1; }
static void behind_first(void) { head[512] = 1; }
static void before_second(void) { head[M2_LABEL_STRIDE - 1] = 1; }
static void behind_second(void) { head[M2_LABEL_STRIDE + 512] = 1; }
static void sector(void) { memset(head, 0xe5, 512); }
static void second_sector(void) { memset(second, 0xe5, 512); }
static void text(void) { memset(head, 0, 512); put(0, "backup of tuesday", 17); }

static const struct {
	const char *name;
	void (*leave)(void);
} others[] = {
	{ "a partition table", dos }, { "with what was before it kept", dos_kept },
	{ "an empty one", dos_empty }, { "a GPT", gpt },
	{ "a physical volume", pv }, { "its label, behind a copy", pv_label_kept },
	{ "its label, behind zeroes", pv_label_alone },
	{ "swap space", swap_space }, { "a RAID's superblock", md }, { "a file system", ext4 },
	{ "a sector over the first copy", sector }, { "and over the second", second_sector },
	{ "words", text },
	{ "a byte behind the first copy", behind_first }, { "before the second", before_second },
	{ "behind the second", behind_second }, { "the last byte", beyond_second },
};

static void foreign(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		make(0);
		CHECK(ours());
		others[i].leave();
		CHECK(!ours(), "%s", others[i].name);
		make(M2_LABEL_FRESH);
		CHECK(ours());
		others[i].leave();
		CHECK(!ours(), "%s, over one that was not finished", others[i].name);
	}
}

/* Who zeroes the first sector wants nothing to be found there. */
static void gone(void)
{
	make(0);
	memset(head, 0, 512);
	CHECK(!ours(), "the first copy");
	make(0);
	memset(second, 0, 512);
	CHECK(!ours(), "the second one");
}

/* --- ourselves --------------------------------------------------------------------------------- */

/* @copy as a write of @new over @old leaves it that was cut: any of its words is there. */
static void cut(u8 *copy, const u8 *old, const u8 *new)
{
	unsigned int i;

	for (i = 0; i < sizeof(struct m2_label); i += 8)
		memcpy(copy + i, (get_random_u32() & 1 ? new : old) + i, 8);
}

/* Over another label: its device's of before, or another device's that this one was forced over. */
static void cut_over_label(void)
{
	u8 old[512], new[512];
	unsigned int round, i;
	u8 *copy;

	for (round = 0; round < 2000 && !ktap_failing(); round++) {
		make(0);
		memcpy(new, head, 512);
		if (round & 1)
			memset(head + offsetof(struct m2_label, uuid), 0x55, M2_UUID_SIZE);
		for (i = 8; i < offsetof(struct m2_label, reserved); i++)
			head[i] ^= get_random_u32() & 1;
		memcpy(old, head, 512);
		memcpy(head, new, 512);
		copy = round & 2 ? head : second;
		cut(copy, old, new);
		CHECK(ours(), "round %u", round);
	}
}

/* Over nothing, in which case it says that it isn't finished. */
static void cut_over_zeroes(void)
{
	static const u8 zeroes[512];
	unsigned int round;
	u8 new[512];

	for (round = 0; round < 2000 && !ktap_failing(); round++) {
		make(M2_LABEL_FRESH);
		memcpy(new, head, 512);
		cut(round & 1 ? head : second, zeroes, new);
		CHECK(ours(), "round %u", round);
	}
	make(M2_LABEL_FRESH);
	memset(head, 0, 512);
	CHECK(ours(), "nothing of it");
}

/* A bit of what is used, also of the magic, by which nobody else would begin. */
static void flipped(void)
{
	unsigned int bit;

	make(0);
	for (bit = 0; bit < offsetof(struct m2_label, reserved) * 8; bit++) {
		flip(head, bit);
		CHECK(ours(), "bit %u of the first copy", bit);
		flip(head, bit);
		flip(second, bit);
		CHECK(ours(), "bit %u of the second", bit);
		flip(second, bit);
	}
}

/* As the driver reads what can't be. */
static void unreadable(void)
{
	static const __le64 magic = cpu_to_le64(M2_LABEL_MAGIC);

	make(0);
	memset(head, 0, 512);
	put(0, &magic, sizeof(magic));
	CHECK(ours(), "the first copy");
	make(0);
	memset(second, 0, 512);
	put(M2_LABEL_STRIDE, &magic, sizeof(magic));
	CHECK(ours(), "the second one");
	put(4096, "\xfc\x4e\x2b\xa9", 4);
	CHECK(!ours(), "beside which there is something else");
}

/* A whole one counts as it is, of whatever generation and device. */
static void whole(void)
{
	u8 other[512];

	make(0);
	memcpy(other, head, 512);
	make(M2_LABEL_FRESH);
	((struct m2_label *)other)->uuid[3] ^= 1;
	((struct m2_label *)other)->generation = cpu_to_le64(1 << 20);
	other[500] = 1;		/* a later version's, that this one can do without */
	((struct m2_label *)other)->csum =
		cpu_to_le32(ek_checksum(other, 512, &((struct m2_label *)other)->csum));
	put(0, other, 512);
	CHECK(ours());
	second[500] ^= 1;
	CHECK(ours(), "the other one is cut");
	second[501] ^= 1;
	CHECK(!ours(), "which has what neither of them has");
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	shim_seed(ktap_seed);
	ktap_run("mem2m head: what others put over a label is seen", foreign);
	ktap_run("mem2m head: a copy that was zeroed was not zeroed by us", gone);
	ktap_run("mem2m head: a label the write of which was cut is ours", cut_over_label);
	ktap_run("mem2m head: so is the first one of all", cut_over_zeroes);
	ktap_run("mem2m head: and one with a bit flipped", flipped);
	ktap_run("mem2m head: and one in bad memory", unreadable);
	ktap_run("mem2m head: and another that is whole", whole);
	return ktap_done();
}
