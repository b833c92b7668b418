// SPDX-License-Identifier: GPL-2.0-only
/* See left.h. */
#include <string.h>
#include <sys/sysmacros.h>

#include "left.h"
#include "msg.h"

/* What is kept on a volume is its user's. */
static bool is_on_volume(const struct left *left, dev_t rdev)
{
	unsigned int i;
	dev_t volume;

	for (i = 0; i < left->nr_volumes; i++) {
		volume = makedev(left->volume[i].major, left->volume[i].minor);
		if (rdev == volume || bdev_is_above(rdev, volume))
			return true;
	}
	return false;
}

static void look_at(void *ctx, dev_t rdev)
{
	struct left *left = ctx;
	const char *stalled;

	if (is_on_volume(left, rdev))
		return;
	if (bdev_has_holders(rdev) && !(left->members_too && live_is_member(left->l, rdev)))
		return;
	/* Reading it might take for ever, with the devices' lock held. */
	stalled = bdev_stalled(rdev);
	if (stalled) {
		warn("%s: %u:%u is not looked at, %s", left->l->name, major(rdev), minor(rdev),
		     stalled);
		return;
	}
	left->look(left, rdev);
}

int left_look(struct left *left)
{
	int err = live_super(left->l, &left->sb);

	if (err)
		return EXIT_FAILED;
	err = dm_list_hybrid(&left->volume, &left->nr_volumes);
	if (err)
		return fail("can't list volumes: %s", strerror(-err));
	bdev_for_each(look_at, left);
	dm_free_list(left->volume, left->nr_volumes);
	return EXIT_OK;
}
