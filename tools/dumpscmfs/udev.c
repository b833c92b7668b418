// SPDX-License-Identifier: GPL-2.0-only
#include <blkid/blkid.h>
#include <stdio.h>

#include "engine.h"
#include "image.h"
#include "udev.h"

/* It may be anything: in the first form what isn't plain is replaced, the second can be undone. */
static void show_label(const struct scmfs_super *super)
{
	char label[SCMFS_LABEL_SIZE + 1] = "", text[4 * SCMFS_LABEL_SIZE + 1];

	memcpy(label, super->label, SCMFS_LABEL_SIZE);
	if (!*label)
		return;
	if (!blkid_safe_string(label, text, sizeof(text)))
		printf("ID_FS_LABEL=%s\n", text);
	if (!blkid_encode_string(label, text, sizeof(text)))
		printf("ID_FS_LABEL_ENC=%s\n", text);
}

int show_udev(const char *path)
{
	struct image im = { .status = 1 };
	struct scmfs_super super;
	const char *reason;
	char uuid[37];
	bool damaged;
	int err;

	if (!image_open(&im, path, IMAGE_READ))
		return 1;
	err = scmfs_probe(im.base, im.size, &super, &damaged, &reason);
	image_close(&im);
	if (err && !damaged)	/* the copy is not: who checks it at boot can have it back */
		return 1;
	print_uuid(super.uuid, uuid);
	printf("ID_FS_USAGE=filesystem\nID_FS_TYPE=scmfs\nID_FS_VERSION=%u\n",
	       le32_to_cpu(super.version));
	printf("ID_FS_UUID=%s\nID_FS_UUID_ENC=%s\n", uuid, uuid);
	show_label(&super);
	return 0;
}
