// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw devices: flash without an FTL, and the handle by which one user has it. Operations are done
 * as FTLs in the device have them done, with the device's io; a user that has a lock of that kind
 * itself (host.c) takes it first.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <evenkeel/nameless_raw.h>

#include "dev.h"
#include "raw.h"

/**
 * struct nl_raw - who has a raw device
 * @dev: the device
 * @user: what to tell
 * @ctx: passed to it
 * @shape: of the device
 */
struct nl_raw {
	struct nl_dev *dev;
	const struct nl_raw_user *user;
	void *ctx;
	struct nl_raw_shape shape;
};

/* All raw devices, and who has them; held while a user is told of a cut. */
static DEFINE_MUTEX(nl_raws_lock);
static LIST_HEAD(nl_raws);

/**
 * nl_raws_add - the device can be had
 * @dev: with its power on
 *
 * Context: lock held; sleeps.
 */
void nl_raws_add(struct nl_dev *dev)
{
	mutex_lock(&nl_raws_lock);
	list_add(&dev->raws, &nl_raws);
	mutex_unlock(&nl_raws_lock);
}

void nl_raws_del(struct nl_dev *dev)
{
	mutex_lock(&nl_raws_lock);
	list_del_init(&dev->raws);
	mutex_unlock(&nl_raws_lock);
}

/**
 * nl_raws_cut - tell who has the device that its power was cut
 * @dev: the device, with its io not held
 *
 * Context: lock held; sleeps.
 */
void nl_raws_cut(struct nl_dev *dev)
{
	mutex_lock(&nl_raws_lock);
	if (dev->raw)
		dev->raw->user->cut(dev->raw->ctx);
	mutex_unlock(&nl_raws_lock);
}

/* Its user's name into @name; false if it has none. Context: process context; sleeps. */
bool nl_raws_user(struct nl_dev *dev, char *name, size_t size)
{
	bool used;

	mutex_lock(&nl_raws_lock);
	used = dev->raw;
	if (used)
		strscpy(name, dev->raw->user->name, size);
	mutex_unlock(&nl_raws_lock);
	return used;
}

static struct nl_dev *nl_raws_find(const char *name)
{
	struct nl_dev *dev;

	list_for_each_entry(dev, &nl_raws, raws)
		if (!strcmp(dev->name, name))
			return dev;
	return NULL;
}

static void nl_raw_take(struct nl_raw *raw, struct nl_dev *dev)
{
	const struct nl_geometry *geo = &dev->flash.geo;

	raw->dev = dev;
	raw->shape = (struct nl_raw_shape){
		.planes = geo->nr_planes, .blocks = geo->blocks, .pages = geo->pages,
		.page_bytes = geo->page_bytes, .oob_bytes = geo->oob_bytes,
	};
	config_item_get(&dev->item);
	dev->raw = raw;
}

/**
 * nl_raw_get - have a raw device
 * @device: its name
 * @user: what to tell
 * @ctx: passed to it
 *
 * The device can't be deleted, but its directory may be removed: then all operations fail with
 * -ESHUTDOWN.
 * Context: process context; sleeps.
 * Return: the handle; -ENODEV if there is no such raw device; -EBUSY if somebody has it; -ENOMEM.
 */
struct nl_raw *nl_raw_get(const char *device, const struct nl_raw_user *user, void *ctx)
{
	struct nl_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	struct nl_dev *dev;
	int err = 0;

	if (!raw)
		return ERR_PTR(-ENOMEM);
	raw->user = user;
	raw->ctx = ctx;
	mutex_lock(&nl_raws_lock);
	dev = nl_raws_find(device);
	if (!dev)
		err = -ENODEV;
	else if (dev->raw || !nl_dev_use(dev))
		err = -EBUSY;
	else
		nl_raw_take(raw, dev);
	mutex_unlock(&nl_raws_lock);
	if (!err)
		return raw;
	kfree(raw);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(nl_raw_get);

/**
 * nl_raw_put - have it no more
 * @raw: without operations under way; its user is told of nothing after this
 *
 * Context: process context, not from the user's cut(); sleeps.
 */
void nl_raw_put(struct nl_raw *raw)
{
	struct nl_dev *dev = raw->dev;

	mutex_lock(&nl_raws_lock);
	dev->raw = NULL;
	nl_dev_unuse(dev);
	mutex_unlock(&nl_raws_lock);
	config_item_put(&dev->item);
	kfree(raw);
}
EXPORT_SYMBOL_GPL(nl_raw_put);

/**
 * nl_raw_get_shape - what it is
 * @raw: the handle
 * @shape: result
 *
 * Context: any.
 */
void nl_raw_get_shape(const struct nl_raw *raw, struct nl_raw_shape *shape)
{
	*shape = raw->shape;
}
EXPORT_SYMBOL_GPL(nl_raw_get_shape);

/* --- operations ------------------------------------------------------------------------------- */

/* The device's io, if its power is on. A host FTL has one of its own, taken before. */
static int nl_raw_enter(struct nl_raw *raw, unsigned int *noio)
{
	mutex_lock_nested(&raw->dev->io, SINGLE_DEPTH_NESTING);
	if (raw->dev->off) {
		mutex_unlock(&raw->dev->io);
		return -ESHUTDOWN;
	}
	*noio = memalloc_noio_save();
	return 0;
}

static int nl_raw_leave(struct nl_raw *raw, unsigned int noio, int err)
{
	memalloc_noio_restore(noio);
	nl_power_look(raw->dev);
	mutex_unlock(&raw->dev->io);
	return err;
}

static enum nl_cause nl_raw_cause(unsigned int what_for)
{
	return what_for < NL_NR_CAUSES ? what_for : NL_FOR_HOST;
}

/**
 * nl_raw_page_read - read a page
 * @raw: the handle
 * @page: its number
 * @what_for: enum nl_cause, as the device's counters have it; 0
 * @now: what time it is, ns of CLOCK_MONOTONIC
 * @when: in: not to begin before; out: when it is done
 * @buf: NULL, or result: its data with a reference, NULL for zeroes
 * @oob: NULL, or room for its OOB
 *
 * Context: process context; sleeps.
 * Return: 0; -ENODATA if it is, or looks, erased; -EBADMSG if it can't be corrected; or as above.
 */
int nl_raw_page_read(struct nl_raw *raw, u32 page, unsigned int what_for, u64 now, u64 *when,
		     struct nl_buf **buf, void *oob)
{
	unsigned int noio;
	int err = nl_raw_enter(raw, &noio);

	if (err)
		return err;
	return nl_raw_leave(raw, noio, nl_raw_read(&raw->dev->flash, page, nl_raw_cause(what_for),
						   now, when, buf, oob));
}
EXPORT_SYMBOL_GPL(nl_raw_page_read);

/**
 * nl_raw_page_program - program a page, the next one of its block
 * @raw: the handle
 * @page: its number
 * @what_for: as nl_raw_page_read()
 * @now: as there
 * @when: as there
 * @buf: its data, NULL for zeroes; the flash takes its own reference
 * @oob: its OOB
 *
 * Context: process context; sleeps.
 * Return: 0; -EIO if the flash says that it failed: the page is spent, and the block should be
 * marked when what else is in it has been moved; or as above.
 */
int nl_raw_page_program(struct nl_raw *raw, u32 page, unsigned int what_for, u64 now, u64 *when,
			struct nl_buf *buf, const void *oob)
{
	unsigned int noio;
	int err = nl_raw_enter(raw, &noio);

	if (err)
		return err;
	return nl_raw_leave(raw, noio, nl_raw_program(&raw->dev->flash, page,
						      nl_raw_cause(what_for), now, when, buf,
						      oob));
}
EXPORT_SYMBOL_GPL(nl_raw_page_program);

/**
 * nl_raw_block_erase - erase a block
 * @raw: the handle
 * @block: its number
 * @what_for: as nl_raw_page_read()
 * @now: as there
 * @when: as there
 *
 * Context: process context; sleeps.
 * Return: 0; -EIO if it failed: the block is bad from now on; or as above.
 */
int nl_raw_block_erase(struct nl_raw *raw, u32 block, unsigned int what_for, u64 now, u64 *when)
{
	unsigned int noio;
	int err = nl_raw_enter(raw, &noio);

	if (err)
		return err;
	return nl_raw_leave(raw, noio, nl_raw_erase(&raw->dev->flash, block,
						    nl_raw_cause(what_for), now, when));
}
EXPORT_SYMBOL_GPL(nl_raw_block_erase);

/**
 * nl_raw_block_mark_bad - mark a block as bad for good
 * @raw: the handle
 * @block: its number
 *
 * Context: process context; sleeps.
 * Return: 0, or as above.
 */
int nl_raw_block_mark_bad(struct nl_raw *raw, u32 block)
{
	unsigned int noio;
	int err = nl_raw_enter(raw, &noio);

	if (err)
		return err;
	return nl_raw_leave(raw, noio, nl_raw_mark_bad(&raw->dev->flash, block));
}
EXPORT_SYMBOL_GPL(nl_raw_block_mark_bad);

/**
 * nl_raw_block_is_bad - has a block the mark?
 * @raw: the handle
 * @block: its number
 *
 * Context: process context; sleeps.
 * Return: so it is, or the power is off.
 */
bool nl_raw_block_is_bad(struct nl_raw *raw, u32 block)
{
	unsigned int noio;

	if (nl_raw_enter(raw, &noio))
		return true;
	return nl_raw_leave(raw, noio, nl_raw_is_bad(&raw->dev->flash, block));
}
EXPORT_SYMBOL_GPL(nl_raw_block_is_bad);

/* OOB without an operation, for checks. Context: process context; sleeps. */
bool nl_raw_page_peek(struct nl_raw *raw, u32 page, void *oob)
{
	unsigned int noio;

	if (nl_raw_enter(raw, &noio))
		return false;
	return nl_raw_leave(raw, noio, nl_raw_peek(&raw->dev->flash, page, oob));
}

/**
 * nl_raw_buf_alloc - memory for the data of a page
 * @raw: the handle
 *
 * Context: process context; sleeps.
 * Return: it, with a reference; NULL: there is none.
 */
struct nl_buf *nl_raw_buf_alloc(const struct nl_raw *raw)
{
	return nl_buf_alloc_user(raw->shape.page_bytes, false);
}
EXPORT_SYMBOL_GPL(nl_raw_buf_alloc);

/**
 * nl_raw_buf_data - the data of a page
 * @buf: of nl_raw_buf_alloc(), to be filled, or read, to be left alone
 *
 * Context: any.
 * Return: page_bytes of the device's shape.
 */
void *nl_raw_buf_data(struct nl_buf *buf)
{
	return nl_buf_data(buf);
}
EXPORT_SYMBOL_GPL(nl_raw_buf_data);

/**
 * nl_raw_buf_put - give back a reference
 * @buf: the data; NULL is fine
 *
 * Context: process context.
 */
void nl_raw_buf_put(struct nl_buf *buf)
{
	nl_buf_put(buf);
}
EXPORT_SYMBOL_GPL(nl_raw_buf_put);

/* --- for the host of this module -------------------------------------------------------------- */

const char *nl_raw_name(const struct nl_raw *raw)
{
	return raw->dev->name;
}

/* What a device above it is made of; its times may be set meanwhile. Context: no io; sleeps. */
void nl_raw_config(const struct nl_raw *raw, struct nl_config *config,
		   const struct nl_preset **preset)
{
	mutex_lock(&raw->dev->io);
	*config = raw->dev->config;
	*preset = raw->dev->preset;
	mutex_unlock(&raw->dev->io);
}

/*
 * The power of both goes and comes together. Context: the host's io held; sleeps.
 * Return: 0; -ENODEV: the device is gone.
 */
int nl_raw_power(struct nl_raw *raw, bool on)
{
	struct nl_dev *dev = raw->dev;
	int err = 0;

	mutex_lock_nested(&dev->io, SINGLE_DEPTH_NESTING);
	if (!on)
		nl_power_off(dev);
	else if (!READ_ONCE(dev->live))
		err = -ENODEV;
	else if (dev->off)
		err = nl_power_on(dev);
	mutex_unlock(&dev->io);
	return err;
}

/* Have the power go at an operation to come. Context: the host's io held; sleeps. */
void nl_raw_arm(struct nl_raw *raw, u64 after, enum nl_tear tear)
{
	mutex_lock_nested(&raw->dev->io, SINGLE_DEPTH_NESTING);
	if (!raw->dev->off)
		nl_flash_cut(&raw->dev->flash, after, tear);
	mutex_unlock(&raw->dev->io);
}
