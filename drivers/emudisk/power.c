// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts. With every device's write_mutex no write is being applied, with every device's lock
 * none is being completed: between the two there is one point in the order of all events at which
 * all devices go off.
 */
#include "emudisk.h"

/* Caller holds emu_mutex, which keeps the order of the rest. */
void emu_lock_all(void)
{
	struct emu_dev *dev;

	list_for_each_entry(dev, &emu_devs, node)
		mutex_lock_nest_lock(&dev->write_mutex, &emu_mutex);
}

void emu_unlock_all(void)
{
	struct emu_dev *dev;

	list_for_each_entry(dev, &emu_devs, node)
		mutex_unlock(&dev->write_mutex);
}

static void emu_off_all(struct emu_dev *only)
{
	struct emu_dev *dev;

	local_irq_disable();
	/* sparse cannot count locks over a loop: it is told that none is kept */
	list_for_each_entry(dev, &emu_devs, node) {
		spin_lock_nest_lock(&dev->lock, &emu_mutex);
		__release(&dev->lock);
	}
	list_for_each_entry(dev, &emu_devs, node) {
		INIT_LIST_HEAD(&dev->taken);
		if (dev->off || (only && dev != only))
			continue;
		dev->off = true;
		emu_engine_take(dev, &dev->taken);
	}
	list_for_each_entry(dev, &emu_devs, node) {
		__acquire(&dev->lock);
		spin_unlock(&dev->lock);
	}
	local_irq_enable();
}

/**
 * emu_cut - take the power from one device or from all at once
 * @only: the device, or NULL for all
 * @survival: what becomes of writes that are not durable
 * @error: text of a failure
 *
 * Context: emu_mutex held; sleeps.
 * Return: 0, -EBUSY while recording, or -ENOMEM.
 */
int emu_cut(struct emu_dev *only, const struct emu_survival *survival, char *error)
{
	struct emu_dev *dev;
	int err = 0;

	if (emu_recording)
		return emu_fail(error, -EBUSY, "recording: stop the recorder before a power cut");
	emu_lock_all();
	emu_off_all(only);
	list_for_each_entry(dev, &emu_devs, node) {
		emu_engine_fail(dev, &dev->taken);
		if (!err && dev->off && dev->cache != EMU_CACHE_NONE)
			err = emu_track_cut(dev, survival);
	}
	emu_unlock_all();
	return err ? emu_fail(error, err, "no memory for what survives: content undefined") : 0;
}

/**
 * emu_power_on - bring a device back after a cut
 * @dev: the device
 *
 * Context: emu_mutex held.
 */
void emu_power_on(struct emu_dev *dev)
{
	spin_lock_irq(&dev->lock);
	dev->off = false;
	spin_unlock_irq(&dev->lock);
}

static const char * const emu_keep_names[] = {
	[EMU_KEEP_NONE] = "none", [EMU_KEEP_ALL] = "all", [EMU_KEEP_RANDOM] = "random",
};

/**
 * emu_survival_word - take one of keep=, seed= and tear=
 * @survival: result
 * @key: before the equals sign
 * @value: behind it
 * @error: text of a failure
 *
 * Return: 0, -ENOENT for another key, -EINVAL for a bad value.
 */
int emu_survival_word(struct emu_survival *survival, const char *key, const char *value,
		      char *error)
{
	int i;

	if (!strcmp(key, "keep")) {
		i = match_string(emu_keep_names, ARRAY_SIZE(emu_keep_names), value);
		if (i < 0)
			return emu_fail(error, -EINVAL, "keep=%s: none, all or random", value);
		survival->keep = i;
		return 0;
	}
	if (!strcmp(key, "seed")) {
		if (kstrtoull(value, 0, &survival->seed))
			return emu_fail(error, -EINVAL, "seed=%s: not a number", value);
		return 0;
	}
	if (!strcmp(key, "tear")) {
		if (kstrtobool(value, &survival->tear))
			return emu_fail(error, -EINVAL, "tear=%s: 0 or 1", value);
		return 0;
	}
	return -ENOENT;
}
