// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power. What is not in the flash is gone with it: the FTL with its maps and its write buffer, and
 * the bios that wait for their time, which end with an error. They may have been done or not, as
 * with any device whose power goes before it answers.
 */
#include <linux/ktime.h>
#include <linux/sched/mm.h>

#include "dev.h"

/**
 * nl_power_off - cut the power now
 * @dev: the device
 *
 * Context: process context, io held.
 */
void nl_power_off(struct nl_dev *dev)
{
	if (dev->off)
		return;
	dev->off = true;
	dev->cuts++;
	nl_flash_power_off(&dev->flash);
	nl_due_close(&dev->due);
	if (dev->ftl)
		nl_ftl_destroy(dev->ftl);
	dev->ftl = NULL;
}

/**
 * nl_power_look - has the power gone in an operation of the flash?
 * @dev: the device
 *
 * Context: process context, io held.
 */
void nl_power_look(struct nl_dev *dev)
{
	if (unlikely(dev->flash.off))
		nl_power_off(dev);
	else if (unlikely(dev->client))
		nl_client_look(dev);
}

static const char *nl_why_not_open(int err)
{
	switch (err) {
	case -EMEDIUMTYPE:
		return "another FTL, one of another size, or another version wrote this flash";
	case -ENOSPC:
		return "too little flash for this size and its reserve";
	case -ENOMEM:
		return "no memory for the FTL's tables";
	case -ESHUTDOWN:
		return "the power went in recovery";
	case -EINVAL:
		return "an FTL can't be so";
	case -EIO:
	case -EUCLEAN:
		return "what the flash says of itself is damaged";
	default:
		return "the FTL can't use this flash";
	}
}

/**
 * nl_power_on - let the FTL find out what the flash holds, and take bios
 * @dev: the device, whose power is off
 *
 * Context: lock and io held; sleeps.
 * Return: 0 or a negative error number with the device's error set and the power off.
 */
int nl_power_on(struct nl_dev *dev)
{
	struct nl_io io = { .now = ktime_get_ns(), .done = ktime_get_ns() };
	unsigned int noio;
	int err = 0;

	dev->warned = false;
	if (dev->on && nl_raw_power(dev->on, true))
		return nl_fail(dev, -ENODEV, "%s is gone", nl_raw_name(dev->on));
	nl_flash_power_on(&dev->flash);
	noio = memalloc_noio_save();	/* reclaim could write to this device, and wait for io */
	if (!nl_is_raw(dev))
		err = nl_ftl_open(&dev->ftl, &dev->flash, &dev->config, dev->logical_pages, &io);
	memalloc_noio_restore(noio);
	if (err) {
		dev->ftl = NULL;
		nl_flash_power_off(&dev->flash);
		return nl_fail(dev, err, "%s", nl_why_not_open(err));
	}
	dev->ready = io.done;
	dev->off = false;
	nl_due_open(&dev->due);
	if (dev->ftl)
		nl_client_start(dev);
	return 0;
}

static const char * const nl_tear_names[] = {
	[NL_TEAR_NOT] = "not", [NL_TEAR_ERROR] = "error", [NL_TEAR_BLANK] = "blank",
};

struct nl_cut {
	u64 after;
	bool armed;
	bool stay_off;
	enum nl_tear tear;
};

static int nl_cut_word(struct nl_dev *dev, struct nl_cut *cut, const char *key, const char *value)
{
	int tear;

	if (!value && !strcmp(key, "off")) {
		cut->stay_off = true;
		return 0;
	}
	if (value && !strcmp(key, "after")) {
		cut->armed = true;
		if (!nl_parse(NL_COUNT, value, &cut->after))
			return 0;
		return nl_fail(dev, -EINVAL, "after=%s: not a number", value);
	}
	if (value && !strcmp(key, "tear")) {
		tear = match_string(nl_tear_names, ARRAY_SIZE(nl_tear_names), value);
		if (tear < 0)
			return nl_fail(dev, -EINVAL, "tear=%s: not, error or blank", value);
		cut->tear = tear;
		return 0;
	}
	return nl_fail(dev, -EINVAL, "%s: unknown word", key);
}

static int nl_cut_parse(struct nl_dev *dev, struct nl_cut *cut, char *args)
{
	char *key, *value;
	int err = 0;

	memset(cut, 0, sizeof(*cut));
	while (!err && nl_word(&args, &key, &value))
		err = nl_cut_word(dev, cut, key, value);
	if (!err && cut->tear && !cut->armed)
		err = nl_fail(dev, -EINVAL, "tear goes with after");
	return err;
}

/* GC may have been waiting when it went. */
static int nl_power_back(struct nl_dev *dev)
{
	int err = nl_power_on(dev);

	if (!err && dev->ftl)
		nl_idle_seen(dev, ktime_get_ns(), true);
	return err;
}

/* The power of the raw device goes with that of the host, and the other way round. */
static void nl_power_cut(struct nl_dev *dev)
{
	if (dev->on)
		nl_raw_power(dev->on, false);
	nl_power_off(dev);
}

static void nl_power_arm(struct nl_dev *dev, const struct nl_cut *cut)
{
	if (dev->on)
		nl_raw_arm(dev->on, cut->after, cut->tear);
	else
		nl_flash_cut(&dev->flash, cut->after, cut->tear);
}

/**
 * nl_dev_cut - cut the power
 * @dev: the device
 * @args: nothing: it is back at once; "off": it stays off; "after=N": at a flash operation to come,
 *	the next one if that is 0, and "tear=" with it: how that operation is left
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_cut(struct nl_dev *dev, char *args)
{
	struct nl_cut cut;
	int err;

	if (!dev->live)
		return nl_fail(dev, -ENODEV, "%s is not there", dev->name);
	err = nl_cut_parse(dev, &cut, args);
	if (err)
		return err;
	mutex_lock(&dev->io);
	if (dev->off) {
		err = nl_fail(dev, -EIO, "the power of %s is off", dev->name);
	} else if (cut.armed) {
		nl_power_arm(dev, &cut);
	} else {
		nl_power_cut(dev);
		if (!cut.stay_off)
			err = nl_power_back(dev);
	}
	mutex_unlock(&dev->io);
	if (nl_is_raw(dev) && !cut.armed)
		nl_raws_cut(dev);
	return err;
}

/**
 * nl_dev_power - switch the power
 * @dev: the device
 * @args: on or off
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_power(struct nl_dev *dev, char *args)
{
	bool on = !strcmp(args, "on");
	int err = 0;

	if (!on && strcmp(args, "off"))
		return nl_fail(dev, -EINVAL, "%s: on or off", args);
	if (!dev->live)
		return nl_fail(dev, -ENODEV, "%s is not there", dev->name);
	mutex_lock(&dev->io);
	if (!on)
		nl_power_cut(dev);
	else if (dev->off)
		err = nl_power_back(dev);
	mutex_unlock(&dev->io);
	if (nl_is_raw(dev) && !on)
		nl_raws_cut(dev);
	return err;
}
