// SPDX-License-Identifier: GPL-2.0-only
/* Making, changing and deleting devices; who uses them. */
#include <linux/ctype.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "buf.h"
#include "dev.h"
#include "zones.h"

#define NL_HYBRID_PAGES		4096	/* a block: merges take time by their square */
#define NL_REWRITE_SECONDS	90	/* that in-place GC of a block may take */

/**
 * nl_fail - put an error into words
 * @dev: its device
 * @err: negative error number
 * @fmt: what the user gets to read
 *
 * Return: @err.
 */
int nl_fail(struct nl_dev *dev, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(dev->error, NL_ERROR_LEN, fmt, args);
	va_end(args);
	return err;
}

/* --- who uses it ------------------------------------------------------------------------------ */

/* One more has it open; false while it is being changed. */
bool nl_dev_use(struct nl_dev *dev)
{
	bool ok;

	spin_lock(&dev->users_lock);
	ok = dev->users >= 0;
	dev->users += ok;
	spin_unlock(&dev->users_lock);
	return ok;
}

void nl_dev_unuse(struct nl_dev *dev)
{
	spin_lock(&dev->users_lock);
	dev->users--;
	spin_unlock(&dev->users_lock);
}

/**
 * nl_dev_claim - from now on nobody can open it
 * @dev: the device
 *
 * Context: lock held.
 * Return: 0, or a negative error number with the device's error set when it is not there or open.
 */
int nl_dev_claim(struct nl_dev *dev)
{
	char user[NL_NAME_MAX + 1];
	int err = 0;

	if (!dev->live)
		return nl_fail(dev, -ENODEV, "%s is not there", dev->name);
	if (nl_raws_user(dev, user, sizeof(user)))
		return nl_fail(dev, -EBUSY, "%s is in use by %s", dev->name, user);
	spin_lock(&dev->users_lock);
	if (dev->users)
		err = -EBUSY;
	else
		dev->users = NL_CHANGING;
	spin_unlock(&dev->users_lock);
	return err ? nl_fail(dev, err, "%s is open", dev->name) : 0;
}

void nl_dev_unclaim(struct nl_dev *dev)
{
	spin_lock(&dev->users_lock);
	dev->users = 0;
	spin_unlock(&dev->users_lock);
}

/* --- parameters ------------------------------------------------------------------------------- */

static int nl_set_param(struct nl_dev *dev, struct nl_config *config, const char *key,
			const char *value)
{
	int i = nl_param_find(key), err;

	if (i < 0)
		return nl_fail(dev, -EINVAL, "%s: no such parameter", key);
	if (dev->live && nl_params[i].fixed)
		return nl_fail(dev, -EINVAL, "%s can be given at create only", key);
	if (dev->on && !nl_host_may_set(i))
		return nl_fail(dev, -EINVAL, "%s is for %s to say", key, nl_raw_name(dev->on));
	err = nl_parse(nl_params[i].unit, value, &config->p[i]);
	if (err)
		return nl_fail(dev, err, "%s=%s: bad value", key, value);
	err = nl_param_check(i, config->p[i]);
	if (err)
		return nl_fail(dev, err, "%s=%s: out of range", key, value);
	return 0;
}

static const struct nl_preset *nl_preset_by_name(char *name)
{
	char *c;

	for (c = name; *c; c++)
		*c = tolower(*c);
	return nl_preset_find(name);
}

static int nl_use_preset(struct nl_dev *dev, char *name)
{
	if (dev->on)
		return nl_fail(dev, -EINVAL, "preset is for %s to say", nl_raw_name(dev->on));
	dev->preset = nl_preset_by_name(name);
	if (!dev->preset)
		return nl_fail(dev, -EINVAL, "no preset %s", name);
	dev->config = dev->preset->config;
	return 0;
}

/* Every @word there is in @args, which is left as it was. */
static int nl_find_word(struct nl_dev *dev, const char *args, const char *word,
			int (*use)(struct nl_dev *dev, char *value))
{
	char *copy = kstrdup(args, GFP_KERNEL), *rest = copy, *key, *value;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	while (!err && nl_word(&rest, &key, &value))
		if (!strcmp(key, word) && value)
			err = use(dev, value);
	kfree(copy);
	return err;
}

static int nl_use_raw(struct nl_dev *dev, char *name)
{
	if (dev->on)
		return nl_fail(dev, -EINVAL, "on=%s: there is one already", name);
	return nl_host_enter(dev, name);
}

/* What the parameters begin with, wherever it stands. */
static int nl_find_base(struct nl_dev *dev, const char *args)
{
	int err;

	dev->preset = &nl_presets[0];
	dev->config = dev->preset->config;
	err = nl_find_word(dev, args, "on", nl_use_raw);
	return err ?: nl_find_word(dev, args, "preset", nl_use_preset);
}

static int nl_parse_params(struct nl_dev *dev, struct nl_config *config, char *args)
{
	char *key, *value;
	int err = 0;

	while (!err && nl_word(&args, &key, &value)) {
		if (!value)
			err = nl_fail(dev, -EINVAL, "%s: not key=value", key);
		else if (dev->live || (strcmp(key, "preset") && strcmp(key, "on")))
			err = nl_set_param(dev, config, key, value);
	}
	return err;
}

/* --- creating --------------------------------------------------------------------------------- */

/* Zones are of the block layer's making as much as of ours. */
static int nl_fit_zones(struct nl_dev *dev, u64 bytes)
{
	u64 page_bytes = dev->config.p[NL_P_PAGE_SIZE], zone_bytes;
	struct nl_zone_shape shape;

	if (!IS_ENABLED(CONFIG_BLK_DEV_ZONED))
		return nl_fail(dev, -EOPNOTSUPP, "this kernel has no zoned block devices");
	if (page_bytes != PAGE_SIZE)
		return nl_fail(dev, -EINVAL, "page_size %llu: zones are written in blocks of %lu",
			       page_bytes, PAGE_SIZE);
	if (dev->config.p[NL_P_MAX_ACTIVE] &&
	    dev->config.p[NL_P_MAX_OPEN] > dev->config.p[NL_P_MAX_ACTIVE])
		return nl_fail(dev, -EINVAL, "max_open=%llu: more than max_active=%llu",
			       dev->config.p[NL_P_MAX_OPEN], dev->config.p[NL_P_MAX_ACTIVE]);
	if (nl_zone_shape(&shape, &dev->config) ||
	    (u64)shape.size * page_bytes >> SECTOR_SHIFT > UINT_MAX / 2)
		return nl_fail(dev, -EFBIG, "zones are larger than the block layer takes");
	zone_bytes = (u64)shape.size * page_bytes;
	if (bytes % zone_bytes)
		return nl_fail(dev, -EINVAL, "size %llu: not a multiple of the zone size of %llu",
			       bytes, zone_bytes);
	return 0;
}

/* A block of the physical segment waits for one that is collected: NL_AHEAD in client.c. */
static int nl_fit_block(struct nl_dev *dev, const struct nl_config *config)
{
	if (config->p[NL_P_FTL] != NL_FTL_NAMELESS ||
	    config->p[NL_P_PAGES] * nl_timing_copy(config) <= NL_REWRITE_SECONDS * NSEC_PER_SEC)
		return 0;
	return nl_fail(dev, -EINVAL, "pages=%llu: to rewrite a block would take more than %u s",
		       config->p[NL_P_PAGES], NL_REWRITE_SECONDS);
}

static int nl_fit(struct nl_dev *dev, u64 bytes)
{
	u64 page_bytes = dev->config.p[NL_P_PAGE_SIZE], pages = bytes / page_bytes;
	int err;

	if (page_bytes < PAGE_SIZE || !is_power_of_2(page_bytes))
		return nl_fail(dev, -EINVAL, "page_size %llu: not a power of two from %lu up",
			       page_bytes, PAGE_SIZE);
	if (!bytes || bytes % page_bytes)
		return nl_fail(dev, -EINVAL, "size %llu: not a multiple of the flash page of %llu",
			       bytes, page_bytes);
	if (dev->config.p[NL_P_FTL] == NL_FTL_HYBRID &&
	    dev->config.p[NL_P_PAGES] > NL_HYBRID_PAGES)
		return nl_fail(dev, -EINVAL, "pages=%llu: the hybrid FTL merges blocks of up to %u",
			       dev->config.p[NL_P_PAGES], NL_HYBRID_PAGES);
	err = nl_fit_block(dev, &dev->config);
	if (!err && dev->config.p[NL_P_FTL] == NL_FTL_ZONED)
		err = nl_fit_zones(dev, bytes);
	if (err)
		return err;
	if (dev->config.p[NL_P_FTL] == NL_FTL_NAMELESS && dev->config.p[NL_P_MAP_CACHE] &&
	    dev->config.p[NL_P_MAP_CACHE] < page_bytes)
		return nl_fail(dev, -EINVAL, "map_cache=%llu: holds no flash page of %llu",
			       dev->config.p[NL_P_MAP_CACHE], page_bytes);
	err = nl_config_fit(&dev->config, pages);
	if (err == -EFBIG)
		return nl_fail(dev, err, "size %llu: more flash pages than can be numbered",
			       bytes);
	if (err == -ENOSPC)
		return nl_fail(dev, err, "blocks=%llu: too little flash for this size",
			       dev->config.p[NL_P_BLOCKS]);
	if (err)
		return nl_fail(dev, err, "a parameter is out of range");
	dev->logical_pages = pages;
	dev->page_bytes = page_bytes;
	dev->page_shift = ilog2(page_bytes);
	return 0;
}

/**
 * nl_dev_parse - what a device is to be
 * @dev: whose config, preset and size are set
 * @args: SIZE [preset=NAME] [key=value]...
 *
 * Context: lock held.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_parse(struct nl_dev *dev, char *args)
{
	char *size = strsep(&args, " ");
	u64 bytes;
	int err;

	if (nl_parse(NL_SIZE, size, &bytes))
		return nl_fail(dev, -EINVAL, "%s: not a size", size);
	err = nl_find_base(dev, args ?: "");
	if (!err)
		err = nl_parse_params(dev, &dev->config, args);
	if (!err && dev->on && dev->config.p[NL_P_FTL] != NL_FTL_SPLIT)
		err = nl_fail(dev, -EINVAL, "ftl=%s: is none for a host",
			      nl_ftl_names[dev->config.p[NL_P_FTL]]);
	if (!err)
		err = nl_fit(dev, bytes);
	if (err)
		nl_host_leave(dev);
	return err;
}

static void nl_dev_cut_off(struct nl_dev *dev)
{
	mutex_lock(&dev->io);
	nl_power_off(dev);
	mutex_unlock(&dev->io);
	dev->cuts = 0;
}

/**
 * nl_dev_start - power on for the first time, and make the disk
 * @dev: with its flash
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set and nothing changed.
 */
int nl_dev_start(struct nl_dev *dev)
{
	int err;

	mutex_lock(&dev->io);
	err = nl_power_on(dev);
	mutex_unlock(&dev->io);
	if (err)
		return err;
	nl_timing_reset(&dev->flash.timing);	/* or the first bios wait for recovery's */
	dev->made = ktime_get_ns();
	dev->ready = dev->made;		/* it was plugged in before there was anybody to wait */
	nl_due_forget(&dev->due);
	nl_due_limit(&dev->due, dev->config.p[NL_P_QUEUE]);
	dev->users = 0;
	if (nl_is_raw(dev)) {
		WRITE_ONCE(dev->live, true);
		nl_raws_add(dev);
		return 0;
	}
	err = nl_names_add(dev);
	if (err) {
		nl_dev_cut_off(dev);
		return nl_fail(dev, err, "no character device for its names");
	}
	err = nl_disk_add(dev);
	if (err) {
		nl_names_remove(dev);
		nl_dev_cut_off(dev);
		return nl_fail(dev, err, "the block layer refuses the disk");
	}
	WRITE_ONCE(dev->live, true);
	return 0;
}

/* No table may be larger than the kernel can allocate. */
static int nl_countable(struct nl_dev *dev, const struct nl_geometry *geo)
{
	u64 lists = (u64)geo->nr_planes * (geo->pages + 1);

	if (geo->nr_pages > INT_MAX / sizeof(*dev->flash.data))
		return nl_fail(dev, -EFBIG, "%u flash pages: more than a table can have",
			       geo->nr_pages);
	if (geo->nr_blocks > INT_MAX / NL_BLOCK_BYTES)
		return nl_fail(dev, -EFBIG, "%u erase blocks: more than a table can have",
			       geo->nr_blocks);
	if (lists > INT_MAX / NL_LIST_BYTES)
		return nl_fail(dev, -EFBIG,
			       "%u planes with blocks of %u pages: more than a table can have",
			       geo->nr_planes, geo->pages);
	return 0;
}

/* Bytes that there are, with those that are kept for what is gone. */
static u64 nl_available(void)
{
	nl_buf_drain();
	return (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
}

/* Ask before taking: what can't be had is refused at once, and nobody loses memory for it. */
static int nl_enough(struct nl_dev *dev)
{
	u64 there = nl_available();
	u64 reserve = (u64)nl_reserve() << PAGE_SHIFT, bytes;
	struct nl_geometry geo;
	int err;

	if (nl_geometry_init(&geo, &dev->config))
		return nl_fail(dev, -EINVAL, "no flash can have this shape");
	err = nl_countable(dev, &geo);
	if (err)
		return err;
	bytes = nl_config_bytes(&geo, &dev->config);
	if (bytes <= there && there - bytes >= reserve)
		return 0;
	return nl_fail(dev, -ENOMEM, "tables take %llu MiB, %llu MiB of RAM are there to be had",
		       (bytes >> 20) + 1, (there - min(there, reserve)) >> 20);
}

/**
 * nl_dev_make_flash - get the memory of a device
 * @dev: with its config
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_make_flash(struct nl_dev *dev)
{
	int err = nl_enough(dev);

	if (err)
		return err;
	memset(&dev->flash, 0, sizeof(dev->flash));
	err = dev->on ? nl_host_make_flash(dev) : nl_flash_create(&dev->flash, &dev->config);
	if (err == -ENOMEM)
		return nl_fail(dev, err, "no memory for the flash's tables");
	if (err)
		return nl_fail(dev, err, "no flash can have this shape");
	if (dev->on)
		return 0;
	dev->flash.observe = nl_trace;
	dev->flash.observer = dev;
	nl_buf_room(dev->page_bytes, dev->flash.geo.nr_pages);
	return 0;
}

/**
 * nl_dev_drop_flash - give back the memory of a device, and what was kept for it
 * @dev: the device, without a disk
 *
 * Context: lock held; sleeps.
 */
void nl_dev_drop_flash(struct nl_dev *dev)
{
	if (!dev->on)
		nl_buf_room(dev->page_bytes, -(long)dev->flash.geo.nr_pages);
	nl_flash_destroy(&dev->flash);
	nl_buf_drain();
	nl_host_leave(dev);
}

/**
 * nl_dev_create - make the flash and the disk of a new device
 * @dev: fresh from nl_dev_alloc(), or deleted
 * @args: SIZE [preset=NAME] [key=value]...
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set and nothing made.
 */
int nl_dev_create(struct nl_dev *dev, char *args)
{
	int err;

	if (dev->live)
		return nl_fail(dev, -EBUSY, "%s exists", dev->name);
	err = nl_dev_parse(dev, args);
	if (err)
		return err;
	err = nl_dev_make_flash(dev);
	if (err) {
		nl_host_leave(dev);
		return err;
	}
	err = nl_dev_start(dev);
	if (err)
		nl_dev_drop_flash(dev);
	return err;
}

/**
 * nl_dev_set - change parameters of a live device, all of them or none
 * @dev: the device
 * @args: key=value words
 *
 * Context: lock held.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_set(struct nl_dev *dev, char *args)
{
	struct nl_config config = dev->config;
	int err;

	if (!dev->live)
		return nl_fail(dev, -ENODEV, "%s is not there", dev->name);
	err = nl_parse_params(dev, &config, args) ?: nl_fit_block(dev, &config);
	if (err)
		return err;
	mutex_lock(&dev->io);
	dev->config = config;
	nl_timing_retune(&dev->flash.timing, &dev->config);
	if (dev->ftl) {
		nl_ftl_retune(dev->ftl, &dev->config);
		nl_idle_set(dev, ktime_get_ns());
	}
	mutex_unlock(&dev->io);
	nl_due_limit(&dev->due, dev->config.p[NL_P_QUEUE]);
	return 0;
}

/* --- deleting --------------------------------------------------------------------------------- */

/**
 * nl_dev_destroy - remove the disk with its content, whoever has it open
 * @dev: the device
 *
 * A host's content stays, but for what its flash doesn't take now; nl_host_stop() before this says.
 * Context: lock held; sleeps.
 */
void nl_dev_destroy(struct nl_dev *dev)
{
	if (!dev->live)
		return;
	dev->warned = false;	/* who removes its directory was told nothing */
	if (dev->on && nl_host_stop(dev))
		pr_warn("nameless: %s: what was not flushed is lost\n", dev->name);
	WRITE_ONCE(dev->live, false);
	nl_dev_cut_off(dev);
	if (nl_is_raw(dev)) {
		nl_raws_del(dev);
		nl_raws_cut(dev);
	}
	nl_names_remove(dev);
	nl_client_gone(dev);
	if (dev->disk)
		nl_disk_remove(dev);
	nl_due_drain(&dev->due);
	cancel_delayed_work_sync(&dev->idle_work);
	nl_dev_drop_flash(dev);
	kfree(dev->findings);
	dev->findings = NULL;
	atomic64_set(&dev->due.errors, 0);
	dev->idle_steps = 0;
}

/**
 * nl_dev_release - delete the disk of a device that nobody has open
 * @dev: the device
 * @args: nothing but a 1
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_release(struct nl_dev *dev, char *args)
{
	int err;

	if (strcmp(args, "1"))
		return nl_fail(dev, -EINVAL, "%s: 1", args);
	err = nl_dev_claim(dev);
	if (err)
		return err;
	err = dev->on ? nl_host_stop(dev) : 0;
	if (err)
		nl_dev_unclaim(dev);
	else
		nl_dev_destroy(dev);
	return err;
}

/* Devices that are not freed: who had the disk of one open may give it back without the module. */
static atomic_t nl_devices = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(nl_devices_gone);

struct nl_dev *nl_dev_alloc(const char *name)
{
	struct nl_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	unsigned int i;

	if (!dev)
		return NULL;
	strscpy(dev->name, name, sizeof(dev->name));
	mutex_init(&dev->lock);
	for (i = 0; i < NL_ZONE_LOCKS; i++)
		mutex_init(&dev->zones[i]);
	mutex_init(&dev->io);
	spin_lock_init(&dev->users_lock);
	dev->off = true;
	INIT_LIST_HEAD(&dev->raws);
	nl_due_init(&dev->due);
	nl_idle_init(dev);
	atomic_inc(&nl_devices);
	return dev;
}

void nl_dev_free(struct nl_dev *dev)
{
	unsigned int i;

	for (i = 0; i < NL_ZONE_LOCKS; i++)
		mutex_destroy(&dev->zones[i]);
	mutex_destroy(&dev->io);
	mutex_destroy(&dev->lock);
	kfree(dev);
	rcu_read_lock();
	if (atomic_dec_and_test(&nl_devices))
		wake_up_all(&nl_devices_gone);
	rcu_read_unlock();
}

/**
 * nl_dev_wait_all - wait until every device has been freed
 *
 * Context: module exit, when none can be made any more; sleeps.
 */
void nl_dev_wait_all(void)
{
	wait_event(nl_devices_gone, !atomic_read(&nl_devices));
	synchronize_rcu();	/* who woke this is out of the module's data */
}
