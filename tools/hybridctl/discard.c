// SPDX-License-Identifier: GPL-2.0-only
/* See discard.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "discard.h"
#include "interrupt.h"
#include "msg.h"
#include "progress.h"

#define STEP	(1ull << 30)	/* bytes: often enough to say how far it is */
#define SECONDS	5u		/* between lines, where there is no terminal */

/* A device may pass over what is less than its unit. */
static uint64_t step_of(const struct bdev *dev)
{
	uint64_t unit = bdev_discard_unit(dev->rdev);

	return unit && unit < STEP ? STEP / unit * unit : unit ? unit : STEP;
}

static int discard(const struct bdev *dev, struct progress *p, bool *begun)
{
	uint64_t total = dev->sectors * SECTOR_SIZE, step = step_of(dev), at = 0, n;
	int err = 0;

	for (; at < total && !err; at += n) {
		n = total - at < step ? total - at : step;
		if (at)
			progress_tell(p, at, total, false);
		err = interrupted ? -EINTR : bdev_discard(dev, at, n);
		*begun |= err != -EOPNOTSUPP && err != -EINTR;
	}
	if (p->told)
		progress_tell(p, err ? at - n : total, total, true);
	return err;
}

int discard_device(const struct bdev *dev, bool *begun)
{
	bool part = false;
	struct progress p;
	int err;

	note("Discarding %s", dev->path);
	progress_init(&p, dev->path, SECONDS, isatty(STDOUT_FILENO), progress_now());
	err = discard(dev, &p, &part);
	*begun |= part;
	if (err == -EOPNOTSUPP)
		note("%s does not know discards", dev->path);
	else if (err == -EINTR)
		return fail("%s: interrupted%s", dev->path, part ? ", and discarded in part" : "");
	else if (err)
		return fail("%s: discard: %s", dev->path, strerror(-err));
	return EXIT_OK;
}
