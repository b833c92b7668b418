// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block device with DAX (pmem): its memory is used without its driver in between. That driver
 * stays in charge of what only it can do: struct pages, known bad ranges, the flush behind the
 * last fence.
 *
 * It may be unbound, and unmaps the memory then.  Before, its kill_dax() tells us, waits until we
 * are done with that, and then for all who are within dax_read_lock().  We tell the file system on
 * the device first, as it has pages of its files mapped, and can still write what it has to.  Short
 * plain reads and writes, to which that lock and its barriers would be most of what they cost
 * besides the copy, are under RCU instead, see that the memory is not gone yet, and are waited for
 * here.
 */
#include <linux/dax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pfn_t.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "mem2m.h"

static LIST_HEAD(m2_pmem_devs);
static DEFINE_MUTEX(m2_pmem_lock);	/* it; dax_read_lock() within */

/* Of what lies in the part of the device that is taken. */
static int m2_pmem_part_failed(struct m2_dev *dev, u64 offset, u64 len, int flags)
{
	u64 begin = dev->mem.dax_offset, end = min(offset + len, begin + dev->mem.bytes);

	offset = max(offset, begin);
	return offset < end ? m2_failed(dev, offset - begin, end - offset, flags) : -EOPNOTSUPP;
}

/* Part of it is bad. */
static int m2_pmem_failed(struct dax_device *dax, u64 offset, u64 len, int flags)
{
	struct m2_dev *dev;
	int err = -EOPNOTSUPP;

	mutex_lock(&m2_pmem_lock);
	list_for_each_entry(dev, &m2_pmem_devs, on_pmem)
		if (dev->mem.dax == dax)
			err = m2_pmem_part_failed(dev, offset, len, flags);
	mutex_unlock(&m2_pmem_lock);
	return err;
}

/* All of it goes away, or part of it is bad. */
static int m2_pmem_notify(struct dax_device *dax, u64 offset, u64 len, int flags)
{
	struct m2_dev *dev;
	bool found = false;

	if (len != U64_MAX)
		return m2_pmem_failed(dax, offset, len, flags);
	mutex_lock(&m2_pmem_lock);
	list_for_each_entry(dev, &m2_pmem_devs, on_pmem)
		if (dev->mem.dax == dax) {
			m2_goes_away(dev, flags);
			WRITE_ONCE(dev->gone, true);
			found = true;
		}
	/*
	 * Pairs with rcu_read_lock_sched() in m2_transfer_entering(). With a device on the list the
	 * module stays while this waits, without one there is nothing to wait for.
	 */
	if (found)
		synchronize_rcu();
	mutex_unlock(&m2_pmem_lock);
	return 0;
}

static const struct dax_holder_operations m2_pmem_holder = {
	.notify_failure = m2_pmem_notify,
};

/* It may have been on its way out already, and told nobody. */
static void m2_pmem_look(struct m2_dev *dev)
{
	int cookie = dax_read_lock();

	if (!dax_alive(dev->mem.dax))
		WRITE_ONCE(dev->gone, true);
	dax_read_unlock(cookie);
}

/* Nobody who is told that it goes away finds it half taken. */
static int m2_pmem_take(struct m2_dev *dev, u64 bytes)
{
	int err;

	memset(&dev->mem, 0, sizeof(dev->mem));
	dev->mem.dax_ops = &m2_pmem_holder;
	dev->gone = false;
	mutex_lock(&m2_pmem_lock);
	err = scm_range_get_dax(&dev->mem, dev->bdev, bytes, dev);
	if (!err) {
		list_add(&dev->on_pmem, &m2_pmem_devs);
		m2_pmem_look(dev);
	}
	mutex_unlock(&m2_pmem_lock);
	return err ? m2_mem_fail(dev, err) : 0;
}

static void m2_pmem_put(struct m2_dev *dev)
{
	mutex_lock(&m2_pmem_lock);
	list_del(&dev->on_pmem);
	scm_range_put_dax(&dev->mem);
	mutex_unlock(&m2_pmem_lock);
}

static bool m2_pmem_enter(struct m2_dev *dev, int *cookie)
{
	*cookie = dax_read_lock();
	if (likely(dax_alive(dev->mem.dax)))
		return true;
	dax_read_unlock(*cookie);
	/*
	 * Who asked for the holder before this had become it has told nobody: from now on short
	 * bios know it, too.  They can't ask themselves, as they don't take that lock.
	 */
	WRITE_ONCE(dev->gone, true);
	return false;
}

static void m2_pmem_leave(struct m2_dev *dev, int cookie)
{
	dax_read_unlock(cookie);
}

static void m2_pmem_drop_cached(struct m2_dev *dev)
{
	invalidate_bdev(bdev_whole(dev->bdev));
	invalidate_bdev(dev->bdev);
}

static void m2_pmem_close(struct m2_dev *dev)
{
	/* Who reads the device beneath finds what was written here since. */
	m2_pmem_drop_cached(dev);
	compat_bdev_close(&dev->opened);
	kfree(dev->path);
	dev->path = NULL;
	dev->bdev = NULL;
}

/*
 * Who writes to the device beneath without taking it leaves that in the page cache: it is to be
 * seen in the memory now, and never written again.
 */
static int m2_pmem_store_cached(struct m2_dev *dev)
{
	/* A partition has a cache of its own. */
	int err = sync_blockdev(bdev_whole(dev->bdev)) ?: sync_blockdev(dev->bdev);

	if (err)
		return m2_fail(dev, err, "what was written to %s can't be stored", dev->path);
	m2_pmem_drop_cached(dev);
	return 0;
}

static int m2_pmem_open(struct m2_dev *dev, const char *path)
{
	int err;

	dev->path = kstrdup(path, GFP_KERNEL);
	if (!dev->path)
		return m2_fail(dev, -ENOMEM, "out of memory");
	dev->bdev = compat_bdev_open(&dev->opened, path, dev);
	if (IS_ERR(dev->bdev)) {
		err = PTR_ERR(dev->bdev);
		dev->bdev = NULL;
		kfree(dev->path);
		dev->path = NULL;
		if (err == -EBUSY)
			return m2_fail(dev, err, "%s: in use", path);
		return m2_fail(dev, err, "%s can't be opened: error %d", path, -err);
	}
	err = m2_pmem_store_cached(dev);
	if (err)
		m2_pmem_close(dev);
	return err;
}

static int m2_pmem_find(struct m2_dev *dev, u64 bytes)
{
	u64 most = bdev_nr_bytes(dev->bdev);

	if (bytes % M2_UNIT_ALIGN || bytes < 2 * M2_UNIT_ALIGN)
		return m2_fail(dev, -EINVAL, "the size has to be a multiple of 2M, 4M at least");
	if (bytes > most)
		return m2_fail(dev, -ENOSPC, "%s has %llu bytes", dev->path, most);
	/* What is mapped stays where it is. A table of device-mapper's may be changed beneath. */
	if (strncmp(dev->bdev->bd_disk->disk_name, "pmem", 4))
		return m2_fail(dev, -EOPNOTSUPP, "%s is not a pmem device", dev->path);
	return m2_bad_map(dev, bytes) ?: m2_pmem_take(dev, bytes);
}

/* A new device is zeroed, all of it. What is there keeps all but the bad of it. Entered. */
static int m2_pmem_check_bad(struct m2_dev *dev)
{
	u64 to = dev->mem.bytes, bytes, bad;

	if (dev->found)
		return 0;
	bad = scm_range_next_bad(&dev->mem, 0, to, &bytes);
	if (bad == to)
		return 0;
	return m2_fail(dev, -EIO, "%s: bad memory at byte %llu; blkdiscard -z there may mend it",
		       dev->path, bad);
}

static int m2_pmem_prepare(struct m2_dev *dev, bool force)
{
	int cookie, err;

	if (!m2_pmem_enter(dev, &cookie))
		return m2_fail(dev, -ENXIO, "%s has gone", dev->path);
	err = m2_range_judge(dev, dev->mem.addr, force);
	if (!err)
		err = m2_pmem_check_bad(dev);
	m2_pmem_leave(dev, cookie);
	if (!err)
		err = m2_range_label(dev, dev->mem.addr, M2_UNIT_ALIGN);
	return err ?: m2_range_attach(dev);
}

static int m2_pmem_attach(struct m2_dev *dev, const struct m2_settings *s)
{
	int err = m2_pmem_open(dev, s->dax);

	if (err)
		return err;
	err = m2_pmem_find(dev, s->bytes);
	if (err)
		goto no_dax;
	err = m2_pmem_prepare(dev, s->force);
	if (err)
		goto no_store;
	return 0;

no_store:
	m2_pmem_put(dev);
no_dax:
	m2_pmem_close(dev);
	return err;
}

static void m2_pmem_detach(struct m2_dev *dev)
{
	flush_work(&dev->flush_work);
	m2_range_detach(dev);
	m2_pmem_put(dev);
	m2_pmem_close(dev);
}

/* What its driver knows to be bad, as long as there is one: the list goes with it. */
static void m2_pmem_learn(struct m2_dev *dev)
{
	u64 begin = dev->label.data_offset, end = dev->mem.bytes, at = begin, bytes;
	int cookie;

	if (!m2_pmem_enter(dev, &cookie))
		return;
	while ((at = scm_range_next_bad(&dev->mem, at, end, &bytes)) < end) {
		m2_bad(dev, at - begin, bytes);
		at += bytes;
	}
	m2_pmem_leave(dev, cookie);
}

static long m2_pmem_direct_access(struct m2_dev *dev, u64 offset, long nr_pages,
				  enum dax_access_mode mode, void **kaddr, pfn_t *pfn)
{
	u64 at = dev->mem.dax_offset + dev->label.data_offset + offset;
	long n = dax_direct_access(dev->mem.dax, PHYS_PFN(at), nr_pages, mode, kaddr, pfn);

	return min_t(long, n, PHYS_PFN(dev->store.bytes - offset));
}

const struct m2_backing m2_pmem = {
	.name = "pmem",
	.attach = m2_pmem_attach,
	.detach = m2_pmem_detach,
	.resize = m2_range_resize,
	.learn = m2_pmem_learn,
	.direct_access = m2_pmem_direct_access,
	.enter = m2_pmem_enter,
	.leave = m2_pmem_leave,
};
