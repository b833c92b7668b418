// SPDX-License-Identifier: GPL-2.0-only
/*
 * No hibernation beside a volume.
 *
 *	the image of memory is taken	with the map, and where the journal ends
 *	the image is written		what is copied or committed from here on is not in it
 *	the next start			activates the volume before the image is looked for: it may
 *					move extents, too, and its commits are later ones
 *	the image is back		its map says where extents were: another's data by now
 *
 * A file system that is mounted has the same trouble and leaves its disk alone meanwhile; here
 * extents move by themselves, and the swap space may be on the volume.  So it is refused while a
 * volume is active, as every program that asks for hibernation is told, and none is activated
 * once it has begun.  Suspend to RAM loses nothing, and is not concerned.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include "hybrid.h"

static int pm_event(struct notifier_block *nb, unsigned long action, void *unused)
{
	char who[16];

	switch (action) {
	case PM_HIBERNATION_PREPARE:
		if (hy_pools_stop_claims(who, sizeof(who)))
			break;
		DMERR("%s is active: no hibernation, its data would not outlast it", who);
		return notifier_from_errno(-EBUSY);
	case PM_POST_HIBERNATION:
		hy_pools_allow_claims();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block pm_notifier = { .notifier_call = pm_event };

int hy_hibernate_init(void)
{
	return register_pm_notifier(&pm_notifier);
}

void hy_hibernate_exit(void)
{
	unregister_pm_notifier(&pm_notifier);
}
