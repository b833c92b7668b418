// SPDX-License-Identifier: GPL-2.0-only
/*
 * What somebody has put on a device of a pool since, who took it for free.
 */
#include <stdlib.h>
#include <unistd.h>

#include <evenkeel/label.h>

#include "given.h"

void given_put(const struct image_set *set, u64 at, const void *what, size_t len)
{
	if (pwrite(set->fd[0], what, len, at) != (ssize_t)len)
		abort();
}

/* make-bcache zeroes the first block, and puts its own behind it. */
void given_bcache(const struct image_set *set)
{
	static const u8 none[EK_BLOCK_SIZE];
	static const u8 magic[] = { 0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca,
				    0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81 };
	static const __le64 head[] = { 0, cpu_to_le64(8), cpu_to_le64(1) };

	given_put(set, 0, none, sizeof(none));
	given_put(set, EK_BLOCK_SIZE, head, sizeof(head));
	given_put(set, EK_BLOCK_SIZE + sizeof(head), magic, sizeof(magic));
}

/* The boot code stays, and with it the magic of the label that was there. */
void given_mbr(const struct image_set *set)
{
	static const u8 entry[] = { 0, 0, 2, 0, 131, 0, 2, 0, 0, 8, 0, 0, 0, 32, 0, 0 };

	given_put(set, 446, entry, sizeof(entry));
	given_put(set, 510, "\125\252", 2);
}

/* Of the area at the start nothing is left; of the member behind it the label is gone. */
void given_over_all(const struct image_set *set)
{
	static const u8 none[EK_BLOCK_SIZE];

	given_bcache(set);
	given_put(set, META_BYTES - EK_BLOCK_SIZE, none, sizeof(none));
	given_put(set, META_BYTES, none, sizeof(none));
}

/* What ends with a backup of a GPT's header: an entry, and the header behind it. */
void given_backup(const struct image_set *set)
{
	static const u8 entry[] = { 0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47 };

	given_put(set, (u64)IMAGE_SECTORS * SECTOR - EK_BLOCK_SIZE, entry, sizeof(entry));
	given_put(set, (u64)IMAGE_SECTORS * SECTOR - SECTOR, "EFI PART", 8);
}

/* parted's mklabel: a protective MBR, header and entries, and behind all data these again. */
void given_gpt(const struct image_set *set)
{
	static const u8 all[] = { 0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0, 0 };
	static const u8 none[34 * SECTOR];

	given_put(set, 0, none, sizeof(none));
	given_put(set, 446, all, sizeof(all));
	given_put(set, 510, "\125\252", 2);
	given_put(set, SECTOR, "EFI PART", 8);
	given_put(set, FILE_BYTES - 33 * SECTOR, none, 33 * SECTOR);
	given_put(set, FILE_BYTES - SECTOR, "EFI PART", 8);
}
