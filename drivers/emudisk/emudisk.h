/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: emulated disks
 *
 * Lock order: emu_mutex, emu_dev.write_mutex, emu_dev.lock, emu_log_lock.
 *
 * emu_mutex	the list of devices, configuration, power cuts, the recorder's state
 * write_mutex	a device's content: every change but writes in place to an untracked device.
 *		Readers go without, under RCU: pages are freed after a grace period.
 * lock		the model, the timer, requests under way, statistics, the order of tracked writes;
 *		taken from the timer's hard interrupt
 * emu_log_lock	the recorder's list
 */
#ifndef EMUDISK_H
#define EMUDISK_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "model.h"

#define EMU_PREFIX "emudisk!"
#define EMU_NAME_MAX (DISK_NAME_LEN - sizeof(EMU_PREFIX))
#define EMU_LATE_BUCKETS 16
/* For I/O: a disk does not err because its machine is short of memory, so nor does this one. */
#define EMU_GFP		(GFP_NOIO | __GFP_NOFAIL)
#define EMU_PAGE_SECTORS (PAGE_SIZE >> SECTOR_SHIFT)
#define EMU_ERROR_LEN 160
#define EMU_MAX_DEVS 128		/* a cut of all of them nests as many spinlocks */

enum emu_cache { EMU_CACHE_NONE, EMU_CACHE_THROUGH, EMU_CACHE_VOLATILE };

enum emu_keep { EMU_KEEP_NONE, EMU_KEEP_ALL, EMU_KEEP_RANDOM };

#define EMU_FAIL_READ	BIT(0)
#define EMU_FAIL_WRITE	BIT(1)
#define EMU_FAIL_FLUSH	BIT(2)

/* What survives a power cut of that which need not. */
struct emu_survival {
	enum emu_keep keep;
	u64 seed;
	bool tear;
};

/**
 * struct emu_entry - one tracked write, flush, discard or mark
 * @pend: in emu_dev.pending, in the order of application
 * @log: in the recorder's list
 * @refs: one for each list and one for the request under way
 * @submit: sequence number at submission; for a write with PREFLUSH, when its flush was over
 * @complete: sequence number at completion; 0 while under way or failed
 * @dev: the disk; NULL for a mark
 * @sector: first sector
 * @sectors: length
 * @op: enum emu_op
 * @mark: a mark of the recorder, whose text is @text
 * @fua: durable once complete
 * @preflush: a flush comes before it
 * @text: of a mark
 * @nr_pages: entries of @pages
 * @pages: the content of each page touched once this write was applied; NULL for zeroes
 */
struct emu_entry {
	struct list_head pend;
	struct list_head log;
	struct emu_dev *dev;
	refcount_t refs;
	u64 submit;
	u64 complete;
	u64 sector;
	u32 sectors;
	u8 op;
	bool mark;
	bool fua;
	bool preflush;
	char *text;
	unsigned int nr_pages;
	struct page *pages[];
};

/**
 * struct emu_cmd - a bio under way
 * @req: the model's handle, and the list it is on while held
 * @entry: what is tracked of its data or its flush
 * @flush_entry: what is recorded of the flush before its data
 * @flush_submit: sequence number at which its flush was submitted
 * @bio: it
 * @start: jiffies at its start, for the disk's accounting
 * @status: its result
 * @preflush: its flush is still to be done
 * @accounted: counted in the disk's accounting
 */
struct emu_cmd {
	struct emu_req req;
	struct bio *bio;
	struct emu_entry *entry;
	struct emu_entry *flush_entry;
	u64 flush_submit;
	unsigned long start;
	blk_status_t status;
	bool preflush;
	bool accounted;
};

struct emu_stats {
	u64 ios[5];			/* by enum emu_op */
	u64 sectors[5];
	u64 errors;
	u64 busy_ns;
	u64 busy_since;
	u64 late[EMU_LATE_BUCKETS];	/* [0] under 1 us, [n] under 2^n us */
};

struct emu_dev {
	struct config_item item;
	struct list_head node;
	char name[EMU_NAME_MAX + 1];
	char error[EMU_ERROR_LEN];
	bool live;			/* has a disk */
	bool shut;			/* cannot be opened */

	struct gendisk *disk;
	const struct emu_preset *preset;
	sector_t sectors;
	unsigned int lbs;
	u64 seed;
	enum emu_cache cache;
	u64 cache_size;

	/* content */
	struct mutex write_mutex;
	struct xarray pages;
	struct xarray durable;		/* cache != none: what a cut leaves at least */
	struct xarray base;		/* recorder: what was there at its start */
	atomic_long_t nr_pages;
	bool tracked;
	bool base_armed;
	struct list_head pending;
	u64 pending_bytes;
	u64 flushed_seq;		/* writes completed before it are durable */
	u64 replay_seq;

	/* requests */
	spinlock_t lock;
	struct hrtimer timer;
	u64 armed;			/* deadline of the timer, U64_MAX when off */
	struct emu_model *model;
	u64 clock_real, clock_model;	/* where the model's clock was when dilate changed */
	u64 dilate;			/* thousandths */
	unsigned int inflight;
	wait_queue_head_t idle;
	bool off;
	bool stall;
	struct list_head held;		/* arrived while stalled */
	struct list_head held_done;	/* completed while stalled */
	struct list_head taken;		/* cut off, to be failed */
	unsigned int fail;
	u64 fail_start, fail_len, fail_after, fail_drop;
	struct emu_stats stats;
};

extern struct mutex emu_mutex;
extern struct list_head emu_devs;
extern atomic64_t emu_seq;
extern unsigned int emu_nr_devs;
extern bool emu_recording;

static inline struct emu_dev *to_emu_dev(struct config_item *item)
{
	return container_of(item, struct emu_dev, item);
}

static inline bool emu_op_has_data(u8 op)
{
	return op == EMU_READ || op == EMU_WRITE;
}

/* disk.c */
int emu_dev_create(struct emu_dev *dev, char *args);
int emu_dev_set(struct emu_dev *dev, char *args);
void emu_dev_destroy(struct emu_dev *dev);
bool emu_dev_shut(struct emu_dev *dev);
void emu_dev_unshut(struct emu_dev *dev);
struct emu_dev *emu_dev_alloc(const char *name);
void emu_dev_free(struct emu_dev *dev);
int emu_word(char **args, char **key, char **value, char *error);
ssize_t emu_dev_show(struct emu_dev *dev, char *page);
ssize_t emu_dev_show_params(struct emu_dev *dev, char *page);
__printf(3, 4) int emu_fail(char *error, int err, const char *fmt, ...);

/* engine.c */
void emu_engine_init(struct emu_dev *dev);
void emu_submit_bio(struct bio *bio);
void emu_engine_unstall(struct emu_dev *dev);
void emu_engine_dilate(struct emu_dev *dev, u64 dilate);
void emu_engine_take(struct emu_dev *dev, struct list_head *out);
void emu_engine_fail(struct emu_dev *dev, struct list_head *cmds);
void emu_engine_stop(struct emu_dev *dev);
int emu_engine_start_up(void);
void emu_engine_shut_down(void);

/* store.c */
void emu_copy(void *dst, const void *src, size_t len);
struct page *emu_page_alloc(struct emu_dev *dev, gfp_t gfp, bool zero);
struct page *emu_page_get(struct page *page);
void emu_page_put(struct emu_dev *dev, struct page *page);
int emu_pages_put(struct emu_dev *dev, struct xarray *xa, pgoff_t index, struct page *page);
void emu_pages_destroy(struct emu_dev *dev, struct xarray *xa);
void emu_store_read(struct emu_dev *dev, struct bio *bio);
int emu_store_write(struct emu_dev *dev, struct bio *bio);
int emu_store_erase(struct emu_dev *dev, struct xarray *xa, u64 sector, u32 sectors);
int emu_store_merge(struct emu_dev *dev, struct xarray *xa, pgoff_t index, struct page *page,
		    unsigned int offset, unsigned int len);

/* track.c */
struct emu_entry *emu_entry_alloc(struct emu_dev *dev, u8 op, u64 sector, u32 sectors);
void emu_entry_put(struct emu_entry *entry);
int emu_track_write(struct emu_dev *dev, struct bio *bio, struct emu_entry *entry);
int emu_track_apply(struct emu_dev *dev, struct xarray *xa, struct emu_entry *entry,
		    const struct emu_survival *tear, u64 *rng);
void emu_track_queue(struct emu_dev *dev, struct emu_entry *entry);
void emu_track_fold(struct emu_dev *dev);
int emu_track_cut(struct emu_dev *dev, const struct emu_survival *survival);
void emu_track_forget(struct emu_dev *dev);
int emu_track_settle(struct emu_dev *dev);
bool emu_survives(const struct emu_survival *survival, u64 *rng);

/* power.c */
int emu_cut(struct emu_dev *only, const struct emu_survival *survival, char *error);
void emu_power_on(struct emu_dev *dev);
int emu_survival_word(struct emu_survival *survival, const char *key, const char *value,
		      char *error);
void emu_lock_all(void);
void emu_unlock_all(void);

/* record.c */
void emu_record_add(struct emu_entry *entry);
void emu_record_new_dev(struct emu_dev *dev);
void emu_record_drop_dev(struct emu_dev *dev);
bool emu_record_has(struct emu_dev *dev);
int emu_record_command(char *command, char *error);
ssize_t emu_record_status(char *page);
int emu_record_init(void);
void emu_record_exit(void);

/* config.c */
int emu_config_init(void);
void emu_config_exit(void);

#endif /* EMUDISK_H */
