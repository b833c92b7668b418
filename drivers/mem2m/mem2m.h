/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: memory devices
 *
 * Lock order: m2_dev.lock, m2_dev.info_lock, m2_devs_lock.
 *
 * m2_dev.bad_lock is taken by whoever the kernel tells of bad memory, under its lock for DAX
 * devices; who is told by this driver takes his own within it.
 *
 * m2_dev.lock	configuration: creating, resizing, deleting. Not held by I/O or an open.
 * m2_dev.info_lock	whether it is being changed, and if not what `info` says of it: for moments
 * m2_devs_lock	the list of devices, and who uses them. One for all, so that it is still there when
 *		the last user of a device has let go of it
 *
 * What keeps a device as it is while it is used: m2_dev.users counts whoever has it open and every
 * handle of direct mode. Who wants to change the device takes it from 0 to M2_CHANGING, at which
 * nobody can begin to use it; so I/O reads the store without a lock.
 */
#ifndef MEM2M_H
#define MEM2M_H

#include <linux/atomic.h>
#include <linux/badblocks.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/dax.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <evenkeel/range.h>

#include <compat/blkdev.h>

#include "label.h"
#include "store.h"
#include "words.h"

#define M2_PREFIX	"mem2m!"
#define M2_NAME_LEN	(DISK_NAME_LEN - sizeof(M2_PREFIX))	/* without the NUL */
#define M2_CHANGING	(-1)
static_assert(M2_UNIT_ALIGN == SCM_RANGE_ALIGN);

struct m2_dev;

/**
 * struct m2_backing - where a device's memory comes from
 * @name: for users
 * @attach: get it and fill m2_dev.store; on failure nothing is left and the device's error says why
 * @detach: give it back; contents that can survive do
 * @resize: to another size, with the content kept as far as it fits; all or nothing
 * @learn: tell m2_bad() what is known to be bad; NULL: nothing is
 * @direct_access: for DAX, as dax_operations has it, with the range checked; NULL: no DAX
 * @enter: before I/O: false when the memory has gone away; NULL: it can't
 * @leave: after I/O
 */
struct m2_backing {
	const char *name;
	int (*attach)(struct m2_dev *dev, const struct m2_settings *s);
	void (*detach)(struct m2_dev *dev);
	int (*resize)(struct m2_dev *dev, u64 bytes);
	void (*learn)(struct m2_dev *dev);
	long (*direct_access)(struct m2_dev *dev, u64 offset, long nr_pages,
			      enum dax_access_mode mode, void **kaddr, pfn_t *pfn);
	bool (*enter)(struct m2_dev *dev, int *cookie);
	void (*leave)(struct m2_dev *dev, int cookie);
};

/**
 * struct m2_dev - a device
 * @group: its directory in configfs
 * @node: in the list of devices
 * @preset: in the list of those that the module's parameter asked for
 * @name: of the directory and the disk
 * @error: why the last command failed
 * @lock: see DOC
 * @info_lock: see DOC
 * @busy: what `info` says is being changed
 * @live: there is a disk
 * @orphan: its directory is gone: it goes with its last user
 * @users: see DOC
 * @handles: those of @users that are of direct mode
 * @orphan_work: deletes it then
 * @store: its memory
 * @backing: where that comes from
 * @disk: the block device
 * @dax: for file systems that map the memory; NULL: none. Changed under @bad_lock
 * @bb: ranges known to be bad, as far as there is room; EIO
 * @bad_map: memory that survives: each page of the range that is known to be bad
 * @bad_pages: how many it has
 * @nr_bad: those that are
 * @bad_lock: for @bad_listed, and held while what the kernel has found is noted and passed on
 * @bad_listed: what is noted goes to @bb as well
 * @done: bytes got or zeroed so far, for those who wait
 * @total: of so many
 * @huge: bytes of it in huge pages
 * @label: what is in the memory, where it survives
 * @label_bad: byte of the memory at which a copy of that is in bad memory; U64_MAX: none is
 * @mem: the memory with its label, where it survives
 * @found: the content is what was there before
 * @opened: pmem: the block device beneath, for this device alone
 * @bdev: pmem: it
 * @path: pmem: what it was called
 * @on_pmem: pmem: in the list of those devices
 * @gone: pmem: its driver takes the memory away
 * @flush_lock: protects @flush_list
 * @flush_list: pmem: bios that the device beneath has to flush for
 * @flush_work: does them
 */
struct m2_dev {
	struct config_group group;
	struct list_head node;
	struct list_head preset;
	char name[M2_NAME_LEN + 1];
	char error[M2_ERROR_LEN];
	struct mutex lock;	/* see DOC */
	struct mutex info_lock;	/* see DOC */
	bool busy;
	bool live;
	bool orphan;
	int users;
	int handles;
	struct work_struct orphan_work;

	struct m2_store store;
	const struct m2_backing *backing;
	struct gendisk *disk;
	struct dax_device *dax;
	struct badblocks bb;
	unsigned long *bad_map;
	u64 bad_pages;
	atomic64_t nr_bad;
	struct mutex bad_lock;	/* for bad_listed */
	bool bad_listed;
	u64 done, total;
	u64 huge;

	struct m2_label_info label;
	u64 label_bad;
	struct scm_range mem;
	bool found;

	struct compat_bdev opened;
	struct block_device *bdev;
	char *path;
	struct list_head on_pmem;
	bool gone;
	spinlock_t flush_lock;	/* protects flush_list */
	struct bio_list flush_list;
	struct work_struct flush_work;
};

/**
 * struct mem2m - a handle
 * @dev: the device, which is used as long as there is the handle
 * @start: first sector of it that the handle is for
 * @sectors: how many
 * @opened: the block device, as long as nobody else is to have it
 * @alone: whether that is so
 */
struct mem2m {
	struct m2_dev *dev;
	sector_t start;
	sector_t sectors;
	struct compat_bdev opened;
	bool alone;
};

extern const struct m2_backing m2_ram, m2_phys, m2_pmem;
extern const struct block_device_operations m2_fops;
extern struct workqueue_struct *m2_wq, *m2_orphan_wq;

/* dev.c */
struct m2_dev *m2_dev_alloc(const char *name);
void m2_dev_free(struct m2_dev *dev);
int m2_dev_create(struct m2_dev *dev, char *args);
int m2_dev_resize(struct m2_dev *dev, char *args);
int m2_dev_release(struct m2_dev *dev, char *args);
void m2_dev_forget(struct m2_dev *dev);
bool m2_name_taken(const char *name);
struct m2_dev *m2_dev_find(const char *name);
bool m2_dev_use(struct m2_dev *dev, bool handle);
void m2_dev_unuse(struct m2_dev *dev, bool handle);
ssize_t m2_dev_show(struct m2_dev *dev, char *page);
__printf(3, 4) int m2_fail(struct m2_dev *dev, int err, const char *fmt, ...);

/* What the memory's own error says. */
static inline int m2_mem_fail(struct m2_dev *dev, int err)
{
	return m2_fail(dev, err, "%s", dev->mem.error);
}

/* Is the content there when the power was off? Ordinary RAM has no range. */
static inline bool m2_outlasts_power(const struct m2_dev *dev)
{
	return dev->store.persistent && dev->mem.lasts;
}

/* disk.c */
int m2_disk_add(struct m2_dev *dev);
void m2_disk_remove(struct m2_dev *dev);

/* io.c */
void m2_submit_bio(struct bio *bio);
void m2_direct_submit(void *mem, struct bio *bio);
void m2_flush_work(struct work_struct *work);

/* bad.c */
int m2_bad_init(struct m2_dev *dev);
int m2_bad_map(struct m2_dev *dev, u64 bytes);
void m2_bad_begin(struct m2_dev *dev);
void m2_bad_exit(struct m2_dev *dev);
void m2_bad(struct m2_dev *dev, u64 offset, u64 bytes);
u64 m2_range_good(const struct m2_dev *dev, u64 at, u64 len);
u64 m2_good(struct m2_dev *dev, u64 offset, u64 len);
int m2_failed(struct m2_dev *dev, u64 offset, u64 bytes, int flags);
void m2_goes_away(struct m2_dev *dev, int flags);

/* Is anything of it known to be bad? */
static inline bool m2_is_bad(struct m2_dev *dev, u64 offset, u64 len)
{
	return m2_good(dev, offset, len) < len;
}

/* range.c: what reserved memory and pmem have in common */
int m2_range_judge(struct m2_dev *dev, const void *range, bool force);
int m2_range_label(struct m2_dev *dev, void *range, u64 data_offset);
int m2_range_attach(struct m2_dev *dev);
int m2_range_resize(struct m2_dev *dev, u64 bytes);
void m2_range_detach(struct m2_dev *dev);

/* dax.c */
int m2_dax_add(struct m2_dev *dev);
void m2_dax_remove(struct m2_dev *dev);

/* direct.c, target.c, config.c */
int m2_direct_init(void);
void m2_direct_exit(void);
int m2_target_init(void);
void m2_target_exit(void);
int m2_config_init(void);
void m2_config_exit(void);

#endif
