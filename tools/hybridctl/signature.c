// SPDX-License-Identifier: GPL-2.0-only
/* What someone else keeps on a device. */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "msg.h"
#include "signature.h"

static int probe(blkid_probe pr, char **what)
{
	const char *type;
	int ret;

	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_MAGIC |
					  BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	ret = blkid_do_probe(pr);
	if (ret)
		return ret < 0 ? -EIO : 0;
	if (!blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
		*what = xasprintf("%s signature", type);
	else if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		*what = xasprintf("%s partition table", type);
	else
		*what = xstrdup("signature that is not known by name");
	return 1;
}

int signature_find(const char *path, char **what)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	blkid_probe pr;
	int ret = -ENOMEM;

	if (fd < 0)
		return -errno;
	pr = blkid_new_probe();
	if (pr)
		ret = blkid_probe_set_device(pr, fd, 0, 0) ? -EIO : probe(pr, what);
	blkid_free_probe(pr);
	close(fd);
	return ret;
}
