/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume that is active: its table, its status, its pool's label; and other tables for it.
 */
#ifndef HYBRIDCTL_LIVE_H
#define HYBRIDCTL_LIVE_H

#include "area.h"
#include "standing.h"
#include "status.h"
#include "table.h"

struct live {
	const char *name;
	uint64_t sectors;
	struct table t;
	struct status st;
	struct ek_label_info info;	/* of a metadata area */
	bool tried;			/* live_reload() came to where the pool may have changed */
	char *number[TABLE_MAX_DEVS];	/* owns what live_put() was given */
	char *meta_number[EK_MAX_META];	/* and live_put_meta() */
};

/*
 * To change it: with the pool's lock, which ends with the program, or by unlock_pool().
 * EXIT_OK, or EXIT_FAILED with the reason printed.
 */
int live_open(struct live *l, const char *name);
void live_close(struct live *l);
/* Lock and table anew, after unlock_pool(); the pool is still the one it was.  As live_open(). */
int live_open_again(struct live *l);
/* The lock alone; EXIT_OK without it if no label can be read.  As live_open(). */
int live_lock(const char *name);
/* Which pool has the name?  Prints nothing: who goes on without finds the same wrong. */
bool live_pool(const char *name, struct ek_label_info *info);
/* Of a table's: the label of a metadata area, and its path to free(); one of all those. */
bool live_find_meta(const struct table_area *a, struct area *meta, char **path);
bool live_read_label(const struct table *t, struct ek_label_info *info);
/* The device that a table names "MAJOR:MINOR"; false: it names none. */
bool live_number(const char *number, dev_t *rdev);
/*
 * The lock was waited for: has that pool the name still?  EXIT_OK, or EXIT_FAILED with what has
 * become of it printed.
 */
int live_is_still(const char *name, const uint8_t *uuid);
/* What was set in a volume that can't write its metadata is not kept: says so. */
void live_warn_kept(const char *name);
/* The status anew. */
int live_look(struct live *l);

/* How a volume's members stand; false: the kernel can't tell, as its module is an older one. */
bool live_standing(const char *name, unsigned int nr_devs, struct standing *s);

/* Is a member to leave, failed or not?  Of a failed one an older module does not tell. */
bool live_is_leaving(const struct live *l, unsigned int i);

/* Member by path or by index, printed if there is none; -1: none.  Of a path: its label's, too. */
int live_member(const struct live *l, const char *word, bool quiet);
/* The metadata area that lies on the same device as a member; -1: none. */
int live_metadata_on(const struct live *l, unsigned int i);

/*
 * Does a device of the table, a metadata area's or a member's, answer with its label? One that is
 * stalled is not asked: that might take for ever.
 */
enum live_answer { LIVE_DEAD, LIVE_ANSWERS, LIVE_STALLED };
enum live_answer live_answers(const struct table_area *a);

/* The superblock as it is on the media; prints why it can't be had. */
int live_super(const struct live *l, struct ek_super *sb);
/* The volume's own device; 0: it is gone. */
dev_t live_rdev(const struct live *l);
/* Is the device, or one that lies on it, in the volume's table? */
bool live_uses(const struct live *l, dev_t rdev);
/* Is it a member itself? */
bool live_is_member(const struct live *l, dev_t rdev);

/* Change the table, not the volume. */
void live_put(struct live *l, unsigned int i, dev_t rdev, uint64_t start);
void live_put_meta(struct live *l, unsigned int k, dev_t rdev, uint64_t start);
void live_put_none(struct live *l, unsigned int i);
void live_put_no_meta(struct live *l, unsigned int k);
/* Make the volume what the table is; prints why not. */
int live_reload(struct live *l, uint64_t sectors);
/* "evacuate" 1, "metadata leave" 0; prints why not. */
int live_message(const struct live *l, const char *verb, unsigned int i);

#endif
