// SPDX-License-Identifier: GPL-2.0-only
#include <evenkeel/label.h>
#include "ktap.h"

static struct ek_label_info sample(void)
{
	struct ek_label_info info = {
		.role = EK_ROLE_MEMBER, .index = 3, .nr_members = 5, .nr_meta = 2,
		.extent_sectors = 256, .area_start = 2048, .area_sectors = 1 << 20,
		.ctime = 1700000000, .name = "pool",
	};

	memset(info.pool_uuid, 0x17, EK_UUID_SIZE);
	memset(info.area_uuid, 0x29, EK_UUID_SIZE);
	return info;
}

/* Field by field: there is padding between them, and that may be anything. */
static bool same(const struct ek_label_info *a, const struct ek_label_info *b)
{
	return !memcmp(a->pool_uuid, b->pool_uuid, EK_UUID_SIZE) &&
	       !memcmp(a->area_uuid, b->area_uuid, EK_UUID_SIZE) && a->role == b->role &&
	       a->index == b->index && a->nr_members == b->nr_members && a->nr_meta == b->nr_meta &&
	       a->extent_sectors == b->extent_sectors && a->area_start == b->area_start &&
	       a->area_sectors == b->area_sectors && a->ctime == b->ctime &&
	       !strncmp(a->name, b->name, EK_NAME_SIZE);
}

static void round_trip(void)
{
	struct ek_label_info a = sample(), b;
	struct ek_label label;

	ek_label_encode(&a, &label);
	CHECK(!ek_label_decode(&label, &b));
	CHECK(same(&a, &b));
}

static void bit_flips(void)
{
	struct ek_label_info a = sample(), b;
	struct ek_label label;
	unsigned int i;

	ek_label_encode(&a, &label);
	for (i = 0; i < sizeof(label) * 8; i++) {
		((u8 *)&label)[i / 8] ^= 1 << i % 8;
		CHECK(ek_label_decode(&label, &b) < 0, "bit %u", i);
		((u8 *)&label)[i / 8] ^= 1 << i % 8;
	}
	CHECK(!ek_label_decode(&label, &b));
}

static void foreign(void)
{
	struct ek_label_info info;
	struct ek_label label = { 0 };
	unsigned int i;

	CHECK(ek_label_decode(&label, &info) == -ENODATA);
	/* An ext4 superblock at 1 KiB, LVM's label in the second sector, XFS at 0. */
	((u8 *)&label)[1024 + 0x38] = 0x53;
	((u8 *)&label)[1024 + 0x39] = 0xef;
	CHECK(ek_label_decode(&label, &info) == -EINVAL);
	memset(&label, 0, sizeof(label));
	memcpy((u8 *)&label + 512, "LABELONE", 8);
	CHECK(ek_label_decode(&label, &info) == -EINVAL);
	memset(&label, 0, sizeof(label));
	memcpy(&label, "XFSB", 4);
	CHECK(ek_label_decode(&label, &info) == -EINVAL);
	for (i = 0; i < sizeof(label) / 8; i++)
		((u64 *)&label)[i] = get_random_u64();
	CHECK(ek_label_decode(&label, &info) == -EINVAL);
}

static int with(void (*change)(struct ek_label *))
{
	struct ek_label_info info = sample();
	struct ek_label label;

	ek_label_encode(&info, &label);
	change(&label);
	label.csum = cpu_to_le32(ek_checksum(&label, sizeof(label), &label.csum));
	return ek_label_decode(&label, &info);
}

static void version(struct ek_label *l) { l->version = cpu_to_le32(2); }
static void incompat(struct ek_label *l) { l->incompat = cpu_to_le64(1ULL << 40); }
static void role(struct ek_label *l) { l->role = cpu_to_le32(3); }
static void member(struct ek_label *l) { l->index = cpu_to_le32(5); }
static void members(struct ek_label *l) { l->nr_members = cpu_to_le32(33); }
static void meta(struct ek_label *l) { l->nr_meta = 0; }
static void extent(struct ek_label *l) { l->extent_sectors = cpu_to_le32(384); }
static void small(struct ek_label *l) { l->extent_sectors = cpu_to_le32(64); }
static void endless(struct ek_label *l) { memset(l->name, 'x', EK_NAME_SIZE); }

static void fields(void)
{
	CHECK(with(version) == -EPROTONOSUPPORT);
	CHECK(with(incompat) == -EPROTONOSUPPORT);
	CHECK(with(role) == -EUCLEAN);
	CHECK(with(member) == -EUCLEAN);
	CHECK(with(members) == -EUCLEAN);
	CHECK(with(meta) == -EUCLEAN);
	CHECK(with(extent) == -EUCLEAN);
	CHECK(with(small) == -EUCLEAN);
	CHECK(with(endless) == -EUCLEAN);
}

static void geometry(void)
{
	u64 sectors;

	/* 1 MiB, ten extents of 128 KiB, the copy. */
	sectors = 2048 + 10 * 256 + 8;
	CHECK(ek_member_extents(sectors, 256) == 10);
	CHECK(ek_member_extents(sectors - 1, 256) == 9);
	CHECK(ek_label_copy_offset(sectors) == (2048 + 2560) * 512);
	CHECK(ek_label_copy_offset(sectors + 7) == (2048 + 2560) * 512);
	CHECK(ek_member_extents(2048, 256) == 0);
	CHECK(ek_member_extents(0, 256) == 0);
	CHECK(ek_member_sector(9, 256) + 256 <= sectors - 8);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("label: what is encoded is decoded", round_trip);
	ktap_run("label: no single bit flip is accepted", bit_flips);
	ktap_run("label: blank and foreign blocks are told apart", foreign);
	ktap_run("label: unknown versions and impossible fields are refused", fields);
	ktap_run("label: extents and the copy fit the area", geometry);
	return ktap_done();
}
