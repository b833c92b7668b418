// SPDX-License-Identifier: GPL-2.0-only
/* See kin.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <evenkeel/mem2m_format.h>
#include <evenkeel/nameless_device_format.h>
#include <evenkeel/nameless_format.h>
#include <evenkeel/nlstore_format.h>
#include <evenkeel/scmfs_format.h>

#include "kin.h"
#include "msg.h"

#define BLOCK	4096u		/* of each of them */
#define LAST	UINT64_MAX	/* in the last whole block */

static const struct kin {
	const char *name;
	uint64_t magic, offset;
	const char *places;	/* of all that go by that name */
} all[] = {
	{ "scmfs file system", SCMFS_SUPER_MAGIC, 0, "in its first and its last 4 KiB" },
	{ "scmfs file system", SCMFS_SUPER_MAGIC, LAST, "in its first and its last 4 KiB" },
	{ "mem2m label", M2_LABEL_MAGIC, 0, "in its first 4 KiB, and in 4 KiB from byte 32768" },
	{ "mem2m label", M2_LABEL_MAGIC, M2_LABEL_STRIDE,
	  "in its first 4 KiB, and in 4 KiB from byte 32768" },
	{ "nameless device", NL_DEVICE_MAGIC, 0, "in its first 4 KiB" },
	{ "nameless image", NL_IMAGE_MAGIC, 0, "in its first 4 KiB" },
	{ "nlstore catalogue", NS_MAGIC, 0, "in its first 8 KiB" },
	{ "nlstore catalogue", NS_MAGIC, BLOCK, "in its first 8 KiB" },
};

_Static_assert(M2_LABEL_STRIDE == 32768, "what is told of it");

/* Whether a checksum is right does not count: what is damaged may be mended. */
static int is_at(int fd, uint64_t offset, uint64_t magic)
{
	uint64_t word = 0;
	ssize_t n;

	do
		n = pread(fd, &word, sizeof(word), offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(word) && le64toh(word) == magic;
}

int kin_find(int fd, bool (*skip)(const void *ctx, uint64_t offset), const void *ctx, char **what)
{
	off_t end = lseek(fd, 0, SEEK_END);
	uint64_t size = end, offset;
	const struct kin *k;
	int is;

	if (end < 0)
		return -errno;
	for (k = all; k < all + sizeof(all) / sizeof(*all); k++) {
		if (size < BLOCK && k->offset)
			continue;
		offset = k->offset == LAST ? size / BLOCK * BLOCK - BLOCK : k->offset;
		is = is_at(fd, offset, k->magic);
		if (is < 0)
			return is;
		if (!is || (skip && skip(ctx, offset)))
			continue;
		*what = xstrdup(k->name);
		return 1;
	}
	return 0;
}

const char *kin_places(const char *what)
{
	const struct kin *k;

	for (k = all; k < all + sizeof(all) / sizeof(*all); k++)
		if (!strcmp(what, k->name))
			return k->places;
	return NULL;
}
