// SPDX-License-Identifier: GPL-2.0-only
/*
 * GC when nobody wants anything: a step, and another one when the planes are done with it, as long
 * as the FTL finds one that is worth it. Then nothing runs until a request that is no read. A
 * request that comes meanwhile waits for one step's operations at most, as in any SSD.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>

#include "dev.h"

static void nl_idle_look_after(struct nl_dev *dev, u64 ns)
{
	queue_delayed_work(system_unbound_wq, &dev->idle_work, nsecs_to_jiffies(ns) + 1);
}

/**
 * nl_idle_seen - a request
 * @dev: the device, with its power on
 * @now: ns
 * @changes: it may leave something for GC to do: is no read
 *
 * Context: io held.
 */
void nl_idle_seen(struct nl_dev *dev, u64 now, bool changes)
{
	u64 wait = dev->config.p[NL_P_GC_IDLE];

	dev->seen = now;
	if (changes)
		dev->warned = false;
	if (changes && wait && !delayed_work_pending(&dev->idle_work))
		nl_idle_look_after(dev, wait);
}

/**
 * nl_idle_set - the time to wait may be another one
 * @dev: the device, with its power on
 * @now: ns
 *
 * Who waits already waits as long as is asked for now.
 * Context: io held.
 */
void nl_idle_set(struct nl_dev *dev, u64 now)
{
	u64 wait = dev->config.p[NL_P_GC_IDLE];

	dev->seen = now;
	if (wait)
		mod_delayed_work(system_unbound_wq, &dev->idle_work, nsecs_to_jiffies(wait) + 1);
}

/* ns until the next look, 0 if none is needed. */
static u64 nl_idle_step(struct nl_dev *dev)
{
	struct nl_io io = { .now = ktime_get_ns() };
	u64 wait = dev->config.p[NL_P_GC_IDLE], from;
	unsigned int noio;
	int done;

	if (dev->off || !wait)
		return 0;
	from = max(dev->seen + wait, nl_timing_idle_at(&dev->flash.timing));
	if (from > io.now)
		return from - io.now;
	noio = memalloc_noio_save();
	done = nl_ftl_gc(dev->ftl, &io);
	memalloc_noio_restore(noio);
	nl_power_look(dev);
	if (done <= 0)
		return 0;
	dev->idle_steps++;
	from = nl_timing_idle_at(&dev->flash.timing);
	return max(from, io.now + 1) - io.now;
}

static void nl_idle_work(struct work_struct *work)
{
	struct nl_dev *dev = container_of(to_delayed_work(work), struct nl_dev, idle_work);
	u64 wait;

	mutex_lock(&dev->io);
	wait = nl_idle_step(dev);
	if (wait)
		nl_idle_look_after(dev, wait);
	mutex_unlock(&dev->io);
}

void nl_idle_init(struct nl_dev *dev)
{
	INIT_DELAYED_WORK(&dev->idle_work, nl_idle_work);
}

/* For users to see. Context: io held. */
const char *nl_idle_state(struct nl_dev *dev)
{
	if (!dev->config.p[NL_P_GC_IDLE])
		return "off";
	return work_busy(&dev->idle_work.work) ? "waiting" : "asleep";
}
