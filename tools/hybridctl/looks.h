/* SPDX-License-Identifier: GPL-2.0-only */
/* What others hold for a moment (udev, who makes partitions) is looked at so often: two seconds. */
#ifndef HYBRIDCTL_LOOKS_H
#define HYBRIDCTL_LOOKS_H

#include <time.h>

#define LOOKS	40

static inline void nap_between_looks(void)
{
	const struct timespec nap = { 0, 50 * 1000000L };

	nanosleep(&nap, NULL);
}

#endif
