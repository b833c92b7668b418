/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: emulated SSDs
 *
 * Lock order: nl_dev.lock, nl_raws_lock, nl_dev.zones, nl_dev.io, nl_due.lock. Of two devices, one
 * of them on the other: io of the upper one, io of the raw one. Nobody has both locks.
 *
 * lock		configuration: create, set, cut, power, save, load, release
 * zones	writes to a zone, and what changes all of it, one by one; a few, by number
 * io		FTL and flash, which are called with it alone. Nothing allocated under it may wait
 *		for I/O: it could be this device's.
 * due.lock	what waits for its time; taken from the timer's hard interrupt
 * users_lock	who has it open
 */
#ifndef NAMELESS_DEV_H
#define NAMELESS_DEV_H

#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <evenkeel/nameless_raw.h>

#include "due.h"
#include "ftl.h"
#include "words.h"

struct nl_client;
struct nl_client_io;
struct nl_client_ops;

#define NL_PREFIX "nameless!"
#define NL_NAME_MAX (DISK_NAME_LEN - sizeof(NL_PREFIX))
#define NL_ERROR_LEN 200
#define NL_ZONE_LOCKS	16
#define NL_CHANGING	(-1)	/* nl_dev.users: nobody may open it */

/**
 * struct nl_dev - an emulated SSD
 * @item: its directory
 * @lock: see above
 * @name: of the directory
 * @error: why the last write to one of its files failed
 * @live: has a disk
 * @users_lock: see above
 * @users: how many have it open, or NL_CHANGING
 * @disk: the block device
 * @config: its parameters
 * @preset: where they are from; NULL: an image
 * @logical_pages: visible capacity
 * @page_bytes: of a flash page
 * @page_shift: its logarithm
 * @zones: see above
 * @io: see above
 * @flash: what survives power cuts
 * @ftl: NULL while power is off
 * @off: power is off
 * @made: when the device was, ns
 * @ready: when the FTL has recovered, ns
 * @warned: somebody was told that to save it, or to delete it, loses what could not be written;
 *	nothing was changed since
 * @cuts: how often the power went
 * @due: bios under way
 * @findings: what the last check found
 * @idle_work: GC when nobody wants anything
 * @seen: when the last bio came, ns
 * @idle_steps: steps of that which did something
 * @client: of the physical segment (io)
 * @names: its character device
 * @names_node: the name of that; NULL: there is none
 * @raws: of a raw device: in the list of these (nl_raws_lock)
 * @raw: and who has it (nl_raws_lock)
 * @on: the raw device that has this one's flash; NULL: it has its own
 * @host_user: told of what happens to that
 */
struct nl_dev {
	struct config_item item;
	struct mutex lock;		/* see above */
	char name[NL_NAME_MAX + 1];
	char error[NL_ERROR_LEN];
	bool live;
	spinlock_t users_lock;		/* see above */
	int users;
	struct gendisk *disk;
	struct nl_config config;
	const struct nl_preset *preset;
	u32 logical_pages;
	u32 page_bytes;
	u32 page_shift;
	struct mutex zones[NL_ZONE_LOCKS];	/* see above */
	struct mutex io;		/* see above */
	struct nl_flash flash;
	struct nl_ftl *ftl;
	bool off;
	bool warned;
	u64 made;
	u64 ready;
	u64 cuts;
	struct nl_due due;
	char *findings;
	struct delayed_work idle_work;
	u64 seen;
	u64 idle_steps;
	struct nl_client *client;
	struct miscdevice names;
	char *names_node;
	struct list_head raws;
	struct nl_raw *raw;
	struct nl_raw *on;
	struct nl_raw_user host_user;
};

/**
 * struct nl_cost - what a bio took
 * @model: ns in the FTL and the flash, and waiting for them
 * @store: ns for memory and copying outside of them
 * @end: ns to have it end, or wait for its time
 * @flash: ns that the flash takes
 */
struct nl_cost {
	u64 model;
	u64 store;
	u64 end;
	u64 flash;
};

/* dev.c */
struct nl_dev *nl_dev_alloc(const char *name);
void nl_dev_free(struct nl_dev *dev);
void nl_dev_wait_all(void);
int nl_dev_parse(struct nl_dev *dev, char *args);
int nl_dev_make_flash(struct nl_dev *dev);
void nl_dev_drop_flash(struct nl_dev *dev);
int nl_dev_start(struct nl_dev *dev);
int nl_dev_claim(struct nl_dev *dev);
void nl_dev_unclaim(struct nl_dev *dev);
int nl_dev_create(struct nl_dev *dev, char *args);
int nl_dev_set(struct nl_dev *dev, char *args);
int nl_dev_release(struct nl_dev *dev, char *args);
void nl_dev_destroy(struct nl_dev *dev);
bool nl_dev_use(struct nl_dev *dev);
void nl_dev_unuse(struct nl_dev *dev);
__printf(3, 4) int nl_fail(struct nl_dev *dev, int err, const char *fmt, ...);

/* power.c */
int nl_power_on(struct nl_dev *dev);
void nl_power_off(struct nl_dev *dev);
void nl_power_look(struct nl_dev *dev);
int nl_dev_cut(struct nl_dev *dev, char *args);
int nl_dev_power(struct nl_dev *dev, char *args);

/* client.c, names_dev.c */
struct nl_client *nl_client_attach(struct nl_dev *dev, const struct nl_client_ops *ops, void *ctx);
int nl_client_do(struct nl_client *client, struct nl_client_io *io);
bool nl_client_over(void);
bool nl_client_busy(const struct nl_client *client);
void nl_client_look(struct nl_dev *dev);
void nl_client_start(struct nl_dev *dev);
void nl_client_gone(struct nl_dev *dev);
int nl_names_add(struct nl_dev *dev);
void nl_names_remove(struct nl_dev *dev);

/* raw_dev.c */
void nl_raws_add(struct nl_dev *dev);
void nl_raws_del(struct nl_dev *dev);
void nl_raws_cut(struct nl_dev *dev);
bool nl_raws_user(struct nl_dev *dev, char *name, size_t size);
const char *nl_raw_name(const struct nl_raw *raw);
void nl_raw_config(const struct nl_raw *raw, struct nl_config *config,
		   const struct nl_preset **preset);
int nl_raw_power(struct nl_raw *raw, bool on);
void nl_raw_arm(struct nl_raw *raw, u64 after, enum nl_tear tear);
bool nl_raw_page_peek(struct nl_raw *raw, u32 page, void *oob);

/* host.c */
int nl_host_enter(struct nl_dev *dev, const char *name);
void nl_host_leave(struct nl_dev *dev);
bool nl_host_may_set(enum nl_param param);
int nl_host_make_flash(struct nl_dev *dev);
int nl_host_stop(struct nl_dev *dev);

/* idle.c */
void nl_idle_init(struct nl_dev *dev);
void nl_idle_seen(struct nl_dev *dev, u64 now, bool changes);
void nl_idle_set(struct nl_dev *dev, u64 now);
const char *nl_idle_state(struct nl_dev *dev);

/* disk.c, io.c */
int nl_disk_add(struct nl_dev *dev);
void nl_disk_remove(struct nl_dev *dev);
void nl_submit_bio(struct bio *bio);

static inline bool nl_is_zoned(const struct nl_dev *dev)
{
	return dev->config.p[NL_P_FTL] == NL_FTL_ZONED;
}

static inline bool nl_is_raw(const struct nl_dev *dev)
{
	return dev->config.p[NL_P_FTL] == NL_FTL_RAW;
}

/* zones_io.c */
int nl_report_zones(struct gendisk *disk, sector_t sector, unsigned int count, report_zones_cb cb,
		    void *ctx);

/* trace.c */
void nl_trace(void *observer, const struct nl_event *event);
void nl_trace_merges_begin(struct nl_dev *dev, u64 merges[NL_NR_MERGES]);
void nl_trace_merges_end(struct nl_dev *dev, const u64 merges[NL_NR_MERGES]);

/* show.c */
ssize_t nl_dev_show(struct nl_dev *dev, char *page);
ssize_t nl_dev_show_params(struct nl_dev *dev, char *page);
ssize_t nl_dev_show_stat(struct nl_dev *dev, char *page);
ssize_t nl_dev_show_erases(struct nl_dev *dev, char *page);
ssize_t nl_dev_show_findings(struct nl_dev *dev, char *page);
int nl_dev_check(struct nl_dev *dev, char *args);

/* file.c */
int nl_dev_save(struct nl_dev *dev, char *args);
int nl_dev_load(struct nl_dev *dev, char *args);

/* config.c */
struct nl_dev *nl_config_find(const char *name);
int nl_config_start_up(void);
void nl_config_shut_down(void);

#endif /* NAMELESS_DEV_H */
