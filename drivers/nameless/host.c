// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device whose FTL is on the host (zhang-2013 5.3.4): all as with other devices, but that its
 * flash is a raw device's, reached by evenkeel/nameless_raw.h. A cut of either takes the power of
 * both: the machine's, and with it the host's memory.
 */
#include <linux/ktime.h>
#include <linux/sched/mm.h>

#include "dev.h"
#include "raw.h"

static int nl_host_read(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
			struct nl_buf **buf, void *oob)
{
	return nl_raw_page_read(raw, ppn, cause, now, when, buf, oob);
}

static int nl_host_program(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
			   struct nl_buf *buf, const void *oob)
{
	return nl_raw_page_program(raw, ppn, cause, now, when, buf, oob);
}

static int nl_host_erase(void *raw, u32 block, enum nl_cause cause, u64 now, u64 *when)
{
	return nl_raw_block_erase(raw, block, cause, now, when);
}

static int nl_host_mark_bad(void *raw, u32 block)
{
	return nl_raw_block_mark_bad(raw, block);
}

static bool nl_host_is_bad(void *raw, u32 block)
{
	return nl_raw_block_is_bad(raw, block);
}

static bool nl_host_peek(void *raw, u32 ppn, void *oob)
{
	return nl_raw_page_peek(raw, ppn, oob);
}

static const struct nl_raw_ops nl_host_ops = {
	.read = nl_host_read,
	.program = nl_host_program,
	.erase = nl_host_erase,
	.mark_bad = nl_host_mark_bad,
	.is_bad = nl_host_is_bad,
	.peek = nl_host_peek,
};

/* The raw device's power went, or it is gone. Context: no lock of either device. */
static void nl_host_cut(void *ctx)
{
	struct nl_dev *dev = ctx;

	mutex_lock(&dev->io);
	nl_power_off(dev);
	mutex_unlock(&dev->io);
}

/**
 * nl_host_enter - have the raw device below, and be as it is
 * @dev: without a device below; its config and preset are set
 * @name: of the raw device
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_host_enter(struct nl_dev *dev, const char *name)
{
	struct nl_raw *raw;

	dev->host_user.name = dev->name;
	dev->host_user.cut = nl_host_cut;
	raw = nl_raw_get(name, &dev->host_user, dev);
	if (raw == ERR_PTR(-ENODEV))
		return nl_fail(dev, -ENODEV, "on=%s: no raw device of this name", name);
	if (raw == ERR_PTR(-EBUSY))
		return nl_fail(dev, -EBUSY, "on=%s: is in use", name);
	if (IS_ERR(raw))
		return PTR_ERR(raw);
	dev->on = raw;
	nl_raw_config(raw, &dev->config, &dev->preset);
	dev->config.p[NL_P_FTL] = NL_FTL_SPLIT;
	return 0;
}

/* Context: lock held, the device without an FTL; sleeps. */
void nl_host_leave(struct nl_dev *dev)
{
	if (dev->on)
		nl_raw_put(dev->on);
	dev->on = NULL;
}

/* May a device over a raw one have this parameter for itself? */
bool nl_host_may_set(enum nl_param param)
{
	switch (param) {
	case NL_P_FTL:
	case NL_P_RESERVE:
	case NL_P_GC:
	case NL_P_WEAR:
	case NL_P_BUFFER:
	case NL_P_GC_IDLE:
	case NL_P_QUEUE:
		return true;
	default:
		return false;
	}
}

int nl_host_make_flash(struct nl_dev *dev)
{
	return nl_port_create(&dev->flash, &dev->config, &nl_host_ops, dev->on);
}

/*
 * What can't be written is given up when that was said once, to who may want to copy it; but for
 * want of memory, which may be had later.
 */
static int nl_host_stop_failed(struct nl_dev *dev, int err)
{
	bool told = dev->warned;

	if (err == -EROFS && !nl_ftl_behind(dev->ftl) && !nl_ftl_buffered(dev->ftl))
		return 0;		/* there is nothing to be written */
	nl_power_look(dev);
	if (err == -ENOMEM)
		return nl_fail(dev, err, "no memory to write what was not flushed");
	dev->warned = true;
	if (told)
		return 0;
	return nl_fail(dev, err,
		       "what was not flushed can't be written (error %d); delete again without",
		       -err);
}

/**
 * nl_host_stop - have all in the flash, and the power off: the content stays, in the raw device
 * @dev: with a device below
 *
 * What fails changes nothing.
 * Context: lock held; sleeps.
 * Return: 0, also when the power is off; or a negative error number with the device's error set,
 * after which it may be asked again.
 */
int nl_host_stop(struct nl_dev *dev)
{
	struct nl_io io = { .now = ktime_get_ns() };
	unsigned int noio;
	int err = 0;

	mutex_lock(&dev->io);
	noio = memalloc_noio_save();
	if (dev->ftl)
		err = nl_ftl_stop(dev->ftl, &io);
	memalloc_noio_restore(noio);
	if (err)
		err = nl_host_stop_failed(dev, err);
	if (!err)
		nl_power_off(dev);
	mutex_unlock(&dev->io);
	return err;
}
