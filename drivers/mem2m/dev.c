// SPDX-License-Identifier: GPL-2.0-only
/* Making, changing and deleting devices; who uses them. */
#include <linux/module.h>
#include <linux/slab.h>

#include "mem2m.h"

static LIST_HEAD(m2_devs);
static DEFINE_SPINLOCK(m2_devs_lock);

/**
 * m2_fail - put an error into words
 * @dev: its device
 * @err: negative error number
 * @fmt: what the user gets to read
 *
 * Return: @err.
 */
int m2_fail(struct m2_dev *dev, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(dev->error, M2_ERROR_LEN, fmt, args);
	va_end(args);
	return err;
}

/* --- who uses it ------------------------------------------------------------------------------ */

/* Begin to use it, by a handle of direct mode or by an open; false while it is being changed. */
bool m2_dev_use(struct m2_dev *dev, bool handle)
{
	bool ok;

	spin_lock(&m2_devs_lock);
	ok = dev->users >= 0;
	if (ok) {
		dev->users++;
		dev->handles += handle;
	}
	spin_unlock(&m2_devs_lock);
	return ok;
}

/* @dev may be gone on return. */
void m2_dev_unuse(struct m2_dev *dev, bool handle)
{
	spin_lock(&m2_devs_lock);
	dev->users--;
	dev->handles -= handle;
	if (!dev->users && dev->orphan)
		queue_work(m2_orphan_wq, &dev->orphan_work);
	spin_unlock(&m2_devs_lock);
}

/* Find it by name and use it by a handle; -ENODEV: there is none, -EBUSY: it is being changed. */
struct m2_dev *m2_dev_find(const char *name)
{
	struct m2_dev *dev, *found = ERR_PTR(-ENODEV);

	spin_lock(&m2_devs_lock);
	list_for_each_entry(dev, &m2_devs, node) {
		if (strcmp(dev->name, name))
			continue;
		if (dev->users < 0) {
			found = ERR_PTR(-EBUSY);
			continue;
		}
		dev->users++;
		dev->handles++;
		found = dev;
	}
	spin_unlock(&m2_devs_lock);
	return found;
}

bool m2_name_taken(const char *name)
{
	struct m2_dev *dev;
	bool taken = false;

	spin_lock(&m2_devs_lock);
	list_for_each_entry(dev, &m2_devs, node)
		taken |= !strcmp(dev->name, name);
	spin_unlock(&m2_devs_lock);
	return taken;
}

/* From now on nobody can begin to use it; false when somebody does. */
static bool m2_dev_claim(struct m2_dev *dev)
{
	bool ok;

	spin_lock(&m2_devs_lock);
	ok = !dev->users;
	if (ok)
		dev->users = M2_CHANGING;
	spin_unlock(&m2_devs_lock);
	return ok;
}

static void m2_dev_unclaim(struct m2_dev *dev)
{
	spin_lock(&m2_devs_lock);
	dev->users = 0;
	spin_unlock(&m2_devs_lock);
}

static int m2_dev_claim_or_tell(struct m2_dev *dev)
{
	if (!dev->live)
		return m2_fail(dev, -ENODEV, "%s is not there", dev->name);
	if (m2_dev_claim(dev))
		return 0;
	if (dev->handles)
		return m2_fail(dev, -EBUSY, "%s is in use by %d other driver%s", dev->name,
			       dev->handles, dev->handles == 1 ? "" : "s");
	return m2_fail(dev, -EBUSY, "%s is open", dev->name);
}

/* Who asks what it is either waits for a moment or is told that it is being changed. */
static void m2_dev_busy(struct m2_dev *dev, bool busy)
{
	mutex_lock(&dev->info_lock);
	dev->busy = busy;
	mutex_unlock(&dev->info_lock);
}

/* --- deleting --------------------------------------------------------------------------------- */

/* Claimed: the disk goes, and the memory is given back. */
static void m2_dev_destroy(struct m2_dev *dev)
{
	m2_dev_busy(dev, true);
	m2_disk_remove(dev);
	dev->backing->detach(dev);
	m2_bad_exit(dev);
	dev->live = false;
	spin_lock(&m2_devs_lock);
	list_del_init(&dev->node);
	spin_unlock(&m2_devs_lock);
	m2_dev_busy(dev, false);
	config_item_put(&dev->group.cg_item);
}

static void m2_orphan_work(struct work_struct *work)
{
	struct m2_dev *dev = container_of(work, struct m2_dev, orphan_work);

	mutex_lock(&dev->lock);
	if (m2_dev_claim(dev)) {
		/* Somebody may have opened and closed it meanwhile; from now on nobody does. */
		cancel_work(&dev->orphan_work);
		config_item_get(&dev->group.cg_item);
		m2_dev_destroy(dev);
		mutex_unlock(&dev->lock);
		config_item_put(&dev->group.cg_item);
		return;
	}
	mutex_unlock(&dev->lock);
}

/**
 * m2_dev_forget - its directory was removed
 * @dev: the device, which goes as well, or once its last user does
 *
 * Context: process context; sleeps.
 */
void m2_dev_forget(struct m2_dev *dev)
{
	bool used;

	if (!dev->live)
		return;
	spin_lock(&m2_devs_lock);
	dev->orphan = true;
	used = dev->users;
	if (!used)
		queue_work(m2_orphan_wq, &dev->orphan_work);
	spin_unlock(&m2_devs_lock);
	if (used)
		pr_warn("mem2m: %s is in use: it goes with its last user\n", dev->name);
	else
		flush_work(&dev->orphan_work);
}

/**
 * m2_dev_release - delete the disk of a device that nobody uses
 * @dev: the device
 * @args: nothing but a 1
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int m2_dev_release(struct m2_dev *dev, char *args)
{
	int err;

	if (strcmp(args, "1"))
		return m2_fail(dev, -EINVAL, "%s: 1", args);
	err = m2_dev_claim_or_tell(dev);
	if (!err)
		m2_dev_destroy(dev);
	return err;
}

/* --- creating --------------------------------------------------------------------------------- */

static const struct m2_backing *m2_choose(const struct m2_settings *s)
{
	if (s->has_phys)
		return &m2_phys;
	return s->dax ? &m2_pmem : &m2_ram;
}

/* The memory, and the disk on it. */
static int m2_dev_make(struct m2_dev *dev, const struct m2_settings *s)
{
	int err = m2_bad_init(dev);

	if (err)
		return m2_fail(dev, err, "out of memory");
	memset(&dev->label, 0, sizeof(dev->label));
	err = dev->backing->attach(dev, s);
	if (err)
		goto no_memory;
	dev->users = 0;
	err = m2_disk_add(dev);
	if (err)
		goto no_disk;
	return 0;

no_disk:
	dev->backing->detach(dev);
no_memory:
	m2_bad_exit(dev);
	return err;
}

/**
 * m2_dev_create - get the memory of a new device and make its disk
 * @dev: fresh from m2_dev_alloc(), or deleted
 * @args: SIZE [unit=SIZE|phys=ADDRESS|dax=DEVICE] [force]
 *
 * Context: lock held; sleeps; ends early on a signal.
 * Return: 0 or a negative error number with the device's error set and nothing made.
 */
int m2_dev_create(struct m2_dev *dev, char *args)
{
	struct m2_settings s;
	int err;

	if (dev->live)
		return m2_fail(dev, -EBUSY, "%s exists", dev->name);
	err = m2_words_create(&s, args, dev->error);
	if (err)
		return err;
	dev->found = false;
	dev->huge = 0;
	dev->done = 0;
	dev->total = s.bytes;
	dev->backing = m2_choose(&s);
	m2_dev_busy(dev, true);
	err = m2_dev_make(dev, &s);
	if (!err) {
		dev->live = true;
		config_item_get(&dev->group.cg_item);
		spin_lock(&m2_devs_lock);
		list_add_tail(&dev->node, &m2_devs);
		spin_unlock(&m2_devs_lock);
	}
	m2_dev_busy(dev, false);
	return err;
}

/* As set_capacity_and_notify() does; but who is told, as udev is, opens it, and is to get it. */
static void m2_dev_tell_size(struct m2_dev *dev)
{
	static char *env[] = { "RESIZE=1", NULL };

	kobject_uevent_env(&disk_to_dev(dev->disk)->kobj, KOBJ_CHANGE, env);
}

/**
 * m2_dev_resize - change the size of a device that nobody uses
 * @dev: the device
 * @args: SIZE
 *
 * What fits of the content stays; what is new is zero.
 * Context: lock held; sleeps; ends early on a signal.
 * Return: 0 or a negative error number with the device's error set and nothing changed.
 */
int m2_dev_resize(struct m2_dev *dev, char *args)
{
	bool resized;
	u64 bytes;
	int err;

	err = m2_words_bytes(args, &bytes, dev->error);
	if (!err)
		err = m2_dev_claim_or_tell(dev);
	if (err)
		return err;
	resized = bytes != dev->store.bytes;
	if (resized) {
		m2_dev_busy(dev, true);
		err = dev->backing->resize(dev, bytes);
		if (!err)
			set_capacity(dev->disk, bytes >> SECTOR_SHIFT);
		m2_dev_busy(dev, false);
	}
	m2_dev_unclaim(dev);
	if (resized && !err)
		m2_dev_tell_size(dev);
	return err;
}

struct m2_dev *m2_dev_alloc(const char *name)
{
	struct m2_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	strscpy(dev->name, name, sizeof(dev->name));
	mutex_init(&dev->lock);
	mutex_init(&dev->info_lock);
	mutex_init(&dev->bad_lock);
	INIT_LIST_HEAD(&dev->node);
	INIT_WORK(&dev->orphan_work, m2_orphan_work);
	INIT_WORK(&dev->flush_work, m2_flush_work);
	spin_lock_init(&dev->flush_lock);
	bio_list_init(&dev->flush_list);
	return dev;
}

void m2_dev_free(struct m2_dev *dev)
{
	mutex_destroy(&dev->bad_lock);
	mutex_destroy(&dev->info_lock);
	mutex_destroy(&dev->lock);
	kfree(dev);
}

/* --- showing ---------------------------------------------------------------------------------- */

/* Of one on pmem. */
static bool m2_has_gone(struct m2_dev *dev)
{
	int cookie;

	if (READ_ONCE(dev->gone) || !dev->backing->enter(dev, &cookie))
		return true;
	dev->backing->leave(dev, cookie);
	return false;
}

static ssize_t m2_show_survivor(struct m2_dev *dev, char *page, ssize_t at)
{
	at += sysfs_emit_at(page, at, "uuid %pUb\ngeneration %llu\nfound %d\nrange %llu\n",
			    dev->label.uuid, dev->label.generation, dev->found, dev->mem.bytes);
	at += sysfs_emit_at(page, at, "bad %llu\n", (u64)PFN_PHYS(atomic64_read(&dev->nr_bad)));
	if (dev->path)
		return at + sysfs_emit_at(page, at, "gone %d\nbeneath %s\n", m2_has_gone(dev),
					  dev->path);
	return at + sysfs_emit_at(page, at, "phys 0x%llx\n", dev->mem.phys);
}

/**
 * m2_dev_show - state as lines of key and value
 * @dev: the device
 * @page: PAGE_SIZE bytes
 *
 * One that is being created or resized says how far it is.
 * Return: length.
 */
ssize_t m2_dev_show(struct m2_dev *dev, char *page)
{
	ssize_t at = 0;

	mutex_lock(&dev->info_lock);
	if (dev->busy) {
		at = sysfs_emit(page, "state busy\ndone %llu\ntotal %llu\n",
				READ_ONCE(dev->done), READ_ONCE(dev->total));
		goto unlock;
	}
	if (!dev->live) {
		at = sysfs_emit(page, "state empty\n");
		goto unlock;
	}
	at += sysfs_emit_at(page, at, "state live\nbacking %s\nsize %llu\nunit %llu\nunits %u\n",
			    dev->backing->name, dev->store.bytes, dev->store.unit_bytes,
			    dev->store.nr_units);
	at += sysfs_emit_at(page, at,
			    "huge %llu\nsurvives %d\npower %d\ndax %d\nopen %d\ndrivers %d\n",
			    dev->huge, dev->store.persistent, m2_outlasts_power(dev),
			    dev->dax ? 1 : 0, max(dev->users - dev->handles, 0), dev->handles);
	if (dev->store.persistent)
		at = m2_show_survivor(dev, page, at);
unlock:
	mutex_unlock(&dev->info_lock);
	return at;
}
