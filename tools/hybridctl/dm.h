/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device-mapper, as far as hybrid volumes need it (through libdevmapper).
 */
#ifndef HYBRIDCTL_DM_H
#define HYBRIDCTL_DM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DM_TARGET	"hybrid"
#define DM_UUID_PREFIX	"EVENKEEL-hybrid-"

struct dm_dev {
	char *name;
	unsigned int major, minor;
	unsigned int open_count;
	bool suspended;
	bool live, loaded;	/* has a table; has one that was not resumed (yet) */
};

/* The devices whose live table is one hybrid target; free with dm_free_list(). */
int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr);
/*
 * Those that were to become one, and have no live table: their making goes on just now, or was cut
 * short.  They have the uuid of a volume or none, and no other target is loaded.
 */
int dm_list_unfinished(struct dm_dev **devs, unsigned int *nr);
void dm_free_list(struct dm_dev *devs, unsigned int nr);

/* A file that can be read after an event of any device since dm_watch_on(); or -errno. */
int dm_watch(void);
int dm_watch_on(int fd);

/* Can device-mapper be talked to at all?  0 or -errno. */
int dm_reachable(void);
/* 1: there, 0: not, -errno.  @dev may be NULL; its name is not set. */
int dm_lookup(const char *name, struct dm_dev *dev);
/* Is the device one of dm_list_unfinished()'s?  @uuid: has it this one; NULL: whichever. */
bool dm_is_unfinished(const char *name, const char *uuid);

/* The uuid of the pool that hybridctl has made @name for; NULL: it has not; free(). */
char *dm_pool_uuid(const char *name);

/* False: it is multipath's, and all its paths have failed; its requests may be queued for ever. */
bool dm_has_path(dev_t rdev);
/* Is its table a snapshot's? */
bool dm_is_snapshot(dev_t rdev);

/*
 * Live status or table of @name: 0 with @params to free() and @sectors, -ENXIO
 * when there is no such device, -EMEDIUMTYPE when it is no hybrid target.
 */
int dm_get_status(const char *name, char **params, uint64_t *sectors);
int dm_get_table(const char *name, char **params, uint64_t *sectors);

/*
 * These leave nothing behind when they fail, and set @why to the reason, to be free()d: the
 * kernel's own words where the log has them.  @uuid may be NULL. dm_create(), dm_try() and
 * dm_reload() don't wait for udev if they succeed: the kernel has done what was asked, and a lock
 * may be given up before dm_settle().
 */
int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *params,
	      char **why);
/* Let the constructor judge a table without making it live. */
int dm_try(const char *name, uint64_t sectors, const char *params, char **why);
/* Drop a table that was loaded and never resumed: it holds its devices. */
int dm_clear(const char *name);
/*
 * Let a live device have another table: it is suspended, without freezing what is mounted on it,
 * and resumed.  If the new table can't be resumed, the one before is.
 */
int dm_reload(const char *name, uint64_t sectors, const char *params, bool *tried, char **why);
int dm_remove(const char *name, char **why);
/* Wait until the names of what was made are there, and of what was removed are gone. */
void dm_settle(void);
int dm_set_uuid(const char *name, const char *uuid, char **why);
/* @reply: text the target answered or NULL; may be NULL itself. */
int dm_message(const char *name, const char *message, char **reply, char **why);

#endif
