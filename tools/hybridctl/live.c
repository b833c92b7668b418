// SPDX-License-Identifier: GPL-2.0-only
/* One active volume, and how it gets another table. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bdev.h"
#include "commands.h"
#include "dm.h"
#include "live.h"
#include "lock.h"
#include "msg.h"
#include "store_io.h"
#include "units.h"

static char *number_of(dev_t rdev)
{
	return xasprintf("%u:%u", major(rdev), minor(rdev));
}

#define SUPER_TRIES	5	/* the kernel may be writing it */

static int read_super(const struct pool *p, struct ek_super *sb)
{
	const char *reason = NULL;
	struct ek_store *store;
	struct store_io io;
	int err = -EIO, tries;

	for (tries = 0; err && tries < SUPER_TRIES; tries++) {
		if (store_io_open(&io, p))
			return EXIT_FAILED;
		err = ek_store_open_named(&store_io_ops, &io, io.bytes, store_io_uuids(&io),
					  io.areas, &store, &reason);
		if (!err) {
			*sb = *ek_store_super(store);
			ek_store_close(store);
		}
		store_io_close(&io);
	}
	return err ? fail("%s: superblock: %s", p->name, reason ? reason : strerror(-err)) :
		     EXIT_OK;
}

int live_super(const struct live *l, struct ek_super *sb)
{
	struct pool p = { .nr_meta = l->t.nr_meta };
	unsigned int i;
	int err;

	snprintf(p.name, sizeof(p.name), "%s", l->name);
	/* A stale one tells of members that were. */
	for (i = 0; i < p.nr_meta; i++)
		p.meta[i].there = i < l->st.nr_meta && l->st.meta[i] == 'A' &&
				  live_number(l->t.meta[i].dev, &p.meta[i].rdev) &&
				  live_find_meta(&l->t.meta[i], &p.meta[i].area, &p.meta[i].path);
	err = read_super(&p, sb);
	for (i = 0; i < p.nr_meta; i++)
		if (p.meta[i].there)
			free(p.meta[i].path);
	if (!err && memcmp(sb->pool_uuid, l->info.pool_uuid, EK_UUID_SIZE))
		err = fail("%s: the superblock is of another pool", l->name);
	return err;
}

enum live_answer live_answers(const struct table_area *a)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	int nr = -1, err;
	char *path;
	dev_t rdev;

	if (!live_number(a->dev, &rdev))
		return LIVE_DEAD;
	if (bdev_stalled(rdev))
		return LIVE_STALLED;
	path = bdev_path(rdev);
	if (path && !bdev_open(&dev, path, 0)) {
		nr = area_find(&dev, area, &err);
		bdev_close(&dev);
	}
	free(path);
	return nr > 0 ? LIVE_ANSWERS : LIVE_DEAD;
}

static bool is_on(const struct table_area *a, dev_t rdev)
{
	dev_t used;

	return live_number(a->dev, &used) && (used == rdev || bdev_is_above(used, rdev));
}

dev_t live_rdev(const struct live *l)
{
	struct dm_dev dev;

	return dm_lookup(l->name, &dev) > 0 ? makedev(dev.major, dev.minor) : 0;
}

bool live_uses(const struct live *l, dev_t rdev)
{
	bool uses = false;
	unsigned int i;

	for (i = 0; i < l->t.nr_meta; i++)
		uses |= is_on(&l->t.meta[i], rdev);
	for (i = 0; i < l->t.nr_devs; i++)
		uses |= is_on(&l->t.dev[i], rdev);
	return uses;
}

bool live_is_member(const struct live *l, dev_t rdev)
{
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (l->st.dev[i].present &&
		    rdev == makedev(l->st.dev[i].major, l->st.dev[i].minor))
			return true;
	return false;
}

int live_look(struct live *l)
{
	char *params, why[128];
	uint64_t sectors;
	int err;

	status_free(&l->st);
	err = dm_get_status(l->name, &params, &sectors);
	if (err)
		return fail("%s: status: %s", l->name, strerror(-err));
	if (!status_parse(params, &l->st, why, sizeof(why)))
		err = fail("%s: status line of the kernel not understood: %s", l->name, why);
	free(params);
	return err;
}

void live_warn_kept(const char *name)
{
	struct live l = { .name = name };

	if (live_look(&l))
		return;
	if (l.st.mode != MODE_RW)
		warn("%s: can't write its metadata (%s%s): what was set holds until the volume is stopped, and is not kept",
		     name, status_mode_name(l.st.mode), l.st.needs_check ? ", needs_check" : "");
	status_free(&l.st);
}

bool live_standing(const char *name, unsigned int nr_devs, struct standing *s)
{
	char *reply = NULL, *why = NULL;
	bool is = !dm_message(name, "members", &reply, &why) && reply &&
		  standing_parse(reply, s) && s->nr == nr_devs;

	free(reply);
	free(why);
	return is;
}

bool live_is_leaving(const struct live *l, unsigned int i)
{
	struct standing s;

	return l->st.dev[i].state == DEV_DRAINING ||
	       (live_standing(l->name, l->st.nr_devs, &s) && s.dev[i].leaving);
}

/* The lock is had: nothing of what is read changes by another of these commands. */
static int look_at_all(struct live *l)
{
	const char *name = l->name;
	char *params, why[96];
	int err;

	err = dm_get_table(name, &params, &l->sectors);
	if (err)
		return fail("%s: table: %s", name, strerror(-err));
	if (!table_parse(params, &l->t, why, sizeof(why)))
		err = fail("%s: table of the kernel not understood: %s", name, why);
	free(params);
	if (!err)
		err = live_look(l);
	return err ? EXIT_FAILED : EXIT_OK;
}

int live_open(struct live *l, const char *name)
{
	struct ek_label_info info;

	memset(l, 0, sizeof(*l));
	l->name = name;
	if (need_volume(name))
		return EXIT_FAILED;
	if (!live_pool(name, &info))
		return fail("%s: no label of its metadata can be read", name);
	if (lock_pool(info.pool_uuid, name) || live_is_still(name, info.pool_uuid) ||
	    look_at_all(l))
		return EXIT_FAILED;
	if (!live_read_label(&l->t, &l->info))
		return fail("%s: no label of its metadata can be read", name);
	if (memcmp(l->info.pool_uuid, info.pool_uuid, EK_UUID_SIZE))
		return fail("%s: has become another pool", name);
	return EXIT_OK;
}

int live_open_again(struct live *l)
{
	uint8_t uuid[EK_UUID_SIZE];
	const char *name = l->name;
	int err;

	memcpy(uuid, l->info.pool_uuid, EK_UUID_SIZE);
	live_close(l);
	err = live_open(l, name);
	if (!err && memcmp(l->info.pool_uuid, uuid, EK_UUID_SIZE))
		err = fail("%s: has become another pool", name);
	return err;
}

void live_close(struct live *l)
{
	unsigned int i;

	for (i = 0; i < TABLE_MAX_DEVS; i++)
		free(l->number[i]);
	for (i = 0; i < EK_MAX_META; i++)
		free(l->meta_number[i]);
	table_free(&l->t);
	status_free(&l->st);
	memset(l, 0, sizeof(*l));
}

static int by_index(const struct live *l, const char *word)
{
	uint64_t i;

	return parse_u64(word, &i) && i < l->t.nr_devs ? (int)i : -1;
}

static int by_path(const struct live *l, const char *path)
{
	unsigned int i;
	struct stat st;
	char *number;
	int found = -1;

	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return -1;
	number = number_of(st.st_rdev);
	for (i = 0; i < l->t.nr_devs; i++)
		if (!strcmp(l->t.dev[i].dev, number))
			found = i;
	free(number);
	return found;
}

int live_member(const struct live *l, const char *word, bool quiet)
{
	int i = isdigit((unsigned char)*word) ? by_index(l, word) : by_path(l, word);

	if (i < 0 && !quiet)
		fail("%s: no member of %s (a path, or the number that status shows)", word,
		     l->name);
	return i;
}

int live_metadata_on(const struct live *l, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < l->t.nr_meta; k++)
		if (strcmp(l->t.dev[i].dev, "-") && !strcmp(l->t.meta[k].dev, l->t.dev[i].dev))
			return k;
	return -1;
}

void live_put(struct live *l, unsigned int i, dev_t rdev, uint64_t start)
{
	free(l->number[i]);
	l->number[i] = number_of(rdev);
	l->t.dev[i] = (struct table_area){ l->number[i], start };
	if (i >= l->t.nr_devs)
		l->t.nr_devs = i + 1;
}

void live_put_meta(struct live *l, unsigned int k, dev_t rdev, uint64_t start)
{
	free(l->meta_number[k]);
	l->meta_number[k] = number_of(rdev);
	l->t.meta[k] = (struct table_area){ l->meta_number[k], start };
	if (k >= l->t.nr_meta)
		l->t.nr_meta = k + 1;
}

void live_put_no_meta(struct live *l, unsigned int k)
{
	l->t.meta[k] = (struct table_area){ "-", 0 };
}

void live_put_none(struct live *l, unsigned int i)
{
	l->t.dev[i] = (struct table_area){ "-", 0 };
}

int live_reload(struct live *l, uint64_t sectors)
{
	char *params = table_build(&l->t), *why = NULL;
	int err = dm_reload(l->name, sectors, params, &l->tried, &why);

	if (err) {
		err = fail("%s: %s", l->name, why);
	} else {
		l->sectors = sectors;
		/* The table has its devices: for udev nobody else need wait. */
		unlock_devices();
		dm_settle();
	}
	free(why);
	free(params);
	return err;
}

int live_message(const struct live *l, const char *verb, unsigned int i)
{
	char *text = xasprintf("%s %u", verb, i), *why = NULL;
	int err = dm_message(l->name, text, NULL, &why);

	if (err)
		err = fail("%s: %s", l->name, why);
	free(why);
	free(text);
	return err;
}
