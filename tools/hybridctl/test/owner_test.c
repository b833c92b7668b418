// SPDX-License-Identifier: GPL-2.0-only
/* Signatures of what a labelled device is a part of, and what only looks like one. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <evenkeel/mem2m_format.h>
#include <evenkeel/nameless_device_format.h>
#include <evenkeel/nameless_format.h>
#include <evenkeel/nlstore_format.h>
#include <evenkeel/scmfs_format.h>

#include "../owner.h"
#include "../signature.h"
#include "ktap.h"

#define SIZE	((33u << 20) + (32u << 10))
#define AREA	(SIZE / SECTOR_SIZE)

static char path[KTAP_NAME];

/* 0.90 in the last whole 64 KiB but one, the firmware's in the last KiB. */
#define MD_0_90(size)	(((size) & ~0xffffu) - 0x10000u)
#define ISW(size)	((size) - 1024u)

static void put(uint64_t offset, const void *what, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, what, len, offset) != (ssize_t)len)
		ktap_ok(false, "write");
	close(fd);
}

static void put_md(uint64_t offset)
{
	uint32_t sb[] = { htole32(0xa92b4efc), 0, htole32(90), 0 };

	put(offset, sb, sizeof(sb));
}

static void put_isw(uint64_t offset)
{
	static const char sb[] = "Intel Raid ISM Cfg Sig. 1.0.00";

	put(offset, sb, sizeof(sb));
}

/* @sectors of the file, which is @size bytes, are an area. */
static void expect(const char *what, uint64_t size, uint32_t role, uint64_t start, uint64_t sectors,
		   void (*place)(uint64_t), uint64_t offset, const char *type)
{
	struct area area = { .info = { .role = role, .extent_sectors = EK_MIN_EXTENT_SECTORS,
				       .area_start = start, .area_sectors = sectors } };
	struct bdev dev;
	char *owner;

	if (truncate(path, 0) || truncate(path, size))
		ktap_ok(false, "truncate");
	place(offset);
	if (!ktap_ok(!bdev_open(&dev, path, BDEV_FILES), "%s: open", what))
		return;
	owner = owner_of(&dev, &area, 1);
	ktap_ok(type ? owner && strstr(owner, type) : !owner, "%s: %s", what,
		owner ? owner : "no part of anything");
	free(owner);
	bdev_close(&dev);
}

static void put_swap(uint64_t offset)
{
	static const uint8_t version[] = { 1, 0, 0, 0, 255 };

	put(offset + 1024, version, sizeof(version));
	put(offset + 4086, "SWAPSPACE2", 10);
}

/* One partition. */
static void put_table(uint64_t offset)
{
	static const uint8_t entry[] = { 0, 0, 2, 0, 131, 0, 2, 0, 0, 8, 0, 0, 0, 32, 0, 0 };

	put(offset + 446, entry, sizeof(entry));
	put(offset + 510, "\125\252", 2);
}

/* Of @sectors: the label at the start, or at @start, is as @head_err says, its copy is good. */
static void expect_since_of(const char *what, uint64_t start, uint64_t sectors, int head_err,
			    void (*place)(uint64_t), uint64_t offset, const char *type)
{
	struct area area = { .info = { .role = EK_ROLE_MEMBER, .area_start = start,
				       .extent_sectors = EK_MIN_EXTENT_SECTORS,
				       .area_sectors = sectors }, .head_err = head_err };
	struct bdev dev;
	char *since;

	if (truncate(path, 0) || truncate(path, SIZE))
		ktap_ok(false, "truncate");
	place(offset);
	if (!ktap_ok(!bdev_open(&dev, path, BDEV_FILES), "%s: open", what))
		return;
	since = owner_since(&dev, &area, 1);
	ktap_ok(type ? since && !strcmp(since, type) : !since, "%s: %s", what,
		since ? since : "nothing");
	free(since);
	bdev_close(&dev);
}

static void expect_since(const char *what, uint64_t start, int head_err, void (*place)(uint64_t),
			 uint64_t offset, const char *type)
{
	expect_since_of(what, start, AREA - start, head_err, place, offset, type);
}

static void put_nothing(uint64_t offset)
{
}

/* In the volume's data, and at @offset. */
static void put_both(uint64_t offset)
{
	put_md(MD_0_90(SIZE));
	put_isw(offset);
}

/* LVM's label, with a wrong checksum. */
static void put_lvm(uint64_t offset)
{
	static const uint8_t label[] = "LABELONE\1\0\0\0\0\0\0\0\1\2\3\4\40\0\0\0LVM2 001";

	put(offset, label, sizeof(label) - 1);
}

static uint32_t crc32(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;
	int bit;

	for (; len--; p++)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return ~crc;
}

/* A table without entries; what should be before it, the protective MBR, is not there. */
static void put_gpt(uint64_t offset)
{
	static const uint8_t entries[128 * 128];
	struct {
		char magic[8];
		uint32_t revision, size, crc, reserved;
		uint64_t here, other, first, last;
		uint8_t uuid[16];
		uint64_t entries;
		uint32_t nr, entry, entries_crc;
	} __attribute__((packed)) head = {
		.magic = "EFI PART", .revision = htole32(0x10000), .size = htole32(92),
		.here = htole64(1), .other = htole64(SIZE / SECTOR_SIZE - 1), .first = htole64(34),
		.last = htole64(SIZE / SECTOR_SIZE - 34), .uuid = { 1 }, .entries = htole64(2),
		.nr = htole32(128), .entry = htole32(128),
		.entries_crc = htole32(crc32(entries, sizeof(entries))),
	};

	head.crc = htole32(crc32((uint8_t *)&head, 92));
	put(offset, &head, sizeof(head));
}

static void put_word(uint64_t offset, uint64_t magic)
{
	magic = htole64(magic);
	put(offset, &magic, sizeof(magic));
}

static void put_scmfs(uint64_t offset)
{
	put_word(offset, SCMFS_SUPER_MAGIC);
}

static void put_mem2m(uint64_t offset)
{
	put_word(offset, M2_LABEL_MAGIC);
}

static void put_image(uint64_t offset)
{
	put_word(offset, NL_IMAGE_MAGIC);
}

static void put_device(uint64_t offset)
{
	put_word(offset, NL_DEVICE_MAGIC);
}

static void put_store(uint64_t offset)
{
	put_word(offset, NS_MAGIC);
}

/* A device that is to be used for something new. */
static void expect_found(void (*place)(uint64_t), uint64_t offset, const char *type)
{
	char *what = NULL;
	int ret;

	if (truncate(path, 0) || truncate(path, SIZE))
		ktap_ok(false, "truncate");
	place(offset);
	ret = signature_find(path, &what);
	ktap_ok(type ? ret == 1 && !strcmp(what, type) : !ret, "blank: not with %s: %s",
		type ? type : "anything", what ? what : "nothing");
	free(what);
}

int main(void)
{
	const uint64_t more = SIZE + (128u << 10);

	setbuf(stdout, NULL);
	ktap_begin();
	close(mkstemp(ktap_name(path, "/tmp")));
	expect("a member", SIZE, EK_ROLE_MEMBER, 0, AREA, put_nothing, 0, NULL);
	expect("leg of md, 0.90", more, EK_ROLE_MEMBER, 0, AREA, put_md, MD_0_90(more),
	       "linux_raid_member");
	expect("leg of md, with the metadata", more, EK_ROLE_META, 0, AREA, put_md, MD_0_90(more),
	       "linux_raid_member");
	expect("a firmware's", more, EK_ROLE_MEMBER, 0, AREA, put_isw, ISW(more), "isw_raid_member");
	expect("where the label's copy is", SIZE, EK_ROLE_MEMBER, 0, AREA, put_isw, ISW(SIZE),
	       "isw_raid_member");
	/* What a guest writes to the volume must not keep it from being found. */
	expect("in the volume's data", SIZE, EK_ROLE_MEMBER, 0, AREA, put_md, MD_0_90(SIZE), NULL);
	expect("likewise, behind metadata", SIZE, EK_ROLE_MEMBER, 2048, AREA - 2048, put_md,
	       MD_0_90(SIZE), NULL);
	expect("nothing of a volume's is there", SIZE, EK_ROLE_META, 0, AREA, put_md,
	       MD_0_90(SIZE), "linux_raid_member");
	expect_since("since: swap", 0, -EINVAL, put_swap, 0, "swap signature");
	expect_since("since: a partition table", 0, -EUCLEAN, put_table, 0, "dos partition table");
	expect_since("since: a file system of scmfs", 0, -EINVAL, put_scmfs, 0,
		     "scmfs file system");
	expect_since("since: its copy in the last block", 0, -EINVAL, put_scmfs, SIZE - 4096,
		     "scmfs file system");
	/* An area that is longer has data there. */
	expect_since_of("since: one in the volume's data", 0, AREA + 256, -EINVAL, put_scmfs,
			SIZE - 4096, NULL);
	expect_since("since: a raid's, at the end", 0, -EINVAL, put_isw, ISW(SIZE),
		     "isw_raid_member signature");
	expect_since("since: damaged", 0, -EUCLEAN, put_nothing, 0, NULL);
	expect_since("since: zeroed", 0, -ENODATA, put_nothing, 0, NULL);
	expect_since("since: the label is good", 0, 0, put_swap, 0, NULL);
	expect_since("since: of another area", 2048, -EINVAL, put_swap, 0, NULL);
	/* A guest may write that, and the label be damaged for another reason. */
	expect_since("since: in the volume's data", 0, -EINVAL, put_md, MD_0_90(SIZE), NULL);
	expect_since("since: behind the volume's data", 0, -EINVAL, put_both, ISW(SIZE),
		     "isw_raid_member signature");
	expect_found(put_nothing, 0, NULL);
	expect_found(put_swap, 0, "swap signature");
	expect_found(put_table, 0, "dos partition table");
	expect_found(put_lvm, SECTOR_SIZE, "LVM2_member signature");
	expect_found(put_gpt, SECTOR_SIZE, "gpt partition table");
	/* Of the project's own, which libblkid does not know; of two copies one is enough. */
	expect_found(put_scmfs, 0, "scmfs file system");
	expect_found(put_scmfs, SIZE - 4096, "scmfs file system");
	expect_found(put_scmfs, SIZE / 2, NULL);
	expect_found(put_mem2m, 0, "mem2m label");
	expect_found(put_mem2m, M2_LABEL_STRIDE, "mem2m label");
	expect_found(put_image, 0, "nameless image");
	expect_found(put_device, 0, "nameless device");
	expect_found(put_store, 0, "nlstore catalogue");
	expect_found(put_store, 4096, "nlstore catalogue");
	unlink(path);
	ktap_ok(signature_find(path, &(char *){ NULL }) < 0, "blank: not what can't be read");
	return ktap_end();
}
