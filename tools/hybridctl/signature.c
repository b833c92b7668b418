// SPDX-License-Identifier: GPL-2.0-only
/* What someone else keeps on a device. */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kin.h"
#include "msg.h"
#include "signature.h"

static void begin(blkid_probe pr)
{
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_MAGIC |
					  BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
}

static uint64_t offset_of(blkid_probe pr)
{
	const char *text;

	/* One that does not say where it is counts as one at the start. */
	if (blkid_probe_lookup_value(pr, "SBMAGIC_OFFSET", &text, NULL) &&
	    blkid_probe_lookup_value(pr, "PTMAGIC_OFFSET", &text, NULL))
		return 0;
	return strtoull(text, NULL, 10);
}

static char *name_of(blkid_probe pr)
{
	const char *type;

	if (!blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
		return xasprintf("%s signature", type);
	if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		return xasprintf("%s partition table", type);
	return xstrdup("signature that is not known by name");
}

static int probe(blkid_probe pr, bool (*skip)(const void *ctx, uint64_t offset), const void *ctx,
		 char **what)
{
	int ret;

	begin(pr);
	do
		ret = blkid_do_probe(pr);
	while (!ret && skip && skip(ctx, offset_of(pr)));
	if (ret)
		return ret < 0 ? -EIO : 0;
	*what = name_of(pr);
	return 1;
}

int signature_find_but(const char *path, bool (*skip)(const void *ctx, uint64_t offset),
		       const void *ctx, char **what)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	blkid_probe pr;
	int ret = -ENOMEM;

	if (fd < 0)
		return -errno;
	pr = blkid_new_probe();
	if (pr)
		ret = blkid_probe_set_device(pr, fd, 0, 0) ? -EIO : probe(pr, skip, ctx, what);
	blkid_free_probe(pr);
	if (!ret)
		ret = kin_find(fd, skip, ctx, what);
	close(fd);
	return ret;
}

int signature_partitions(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), nr = -ENOMEM;
	blkid_partlist list;
	blkid_probe pr;

	if (fd < 0)
		return -errno;
	pr = blkid_new_probe();
	if (pr) {
		nr = -EIO;
		if (!blkid_probe_set_device(pr, fd, 0, 0)) {
			blkid_probe_enable_partitions(pr, 1);
			blkid_probe_set_partitions_flags(pr, BLKID_PARTS_FORCE_GPT);
			list = blkid_probe_get_partitions(pr);
			nr = list ? blkid_partlist_numof_partitions(list) : 0;
		}
	}
	blkid_free_probe(pr);
	close(fd);
	return nr;
}

int signature_find(const char *path, char **what)
{
	return signature_find_but(path, NULL, NULL, what);
}

const char *signature_article(const char *what)
{
	return strchr("aeioux", *what) || !strncmp(what, "scmfs", 5) ? "an" : "a";
}

char *signature_ended_by(const char *what)
{
	const char *places = kin_places(what);

	return places ? xasprintf("zeroes on the device %s end it", places) :
			xstrdup("wipefs wipes it");
}
