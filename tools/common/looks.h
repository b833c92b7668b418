/* SPDX-License-Identifier: GPL-2.0-only */
/* What others hold for a moment (udev, who makes partitions) is looked at so often: two seconds. */
#ifndef COMMON_LOOKS_H
#define COMMON_LOOKS_H

#include <errno.h>
#include <sys/file.h>
#include <time.h>

#define LOOKS	40

static inline void nap_between_looks(void)
{
	const struct timespec nap = { 0, 50 * 1000000L };

	nanosleep(&nap, NULL);
}

/* flock(), before it is said that somebody else has it: EWOULDBLOCK then. */
static inline int flock_patiently(int fd, int operation)
{
	unsigned int looks = 0;

	while (flock(fd, operation | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (looks++ == LOOKS) {
			errno = EWOULDBLOCK;
			return -1;
		}
		nap_between_looks();
	}
	return 0;
}

#endif
