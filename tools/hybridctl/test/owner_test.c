// SPDX-License-Identifier: GPL-2.0-only
/* Signatures of what a labelled device is a part of, and what only looks like one. */
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../owner.h"
#include "ktap.h"

#define SIZE	((33u << 20) + (32u << 10))
#define AREA	(SIZE / SECTOR_SIZE)

static char path[] = "/tmp/owner-test-XXXXXX";

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

static void put_nothing(uint64_t offset)
{
}

int main(void)
{
	const uint64_t more = SIZE + (128u << 10);

	setbuf(stdout, NULL);
	ktap_begin();
	close(mkstemp(path));
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
	unlink(path);
	return ktap_end();
}
