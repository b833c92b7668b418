// SPDX-License-Identifier: GPL-2.0-only
/* One look at an active volume. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "commands.h"
#include "dm.h"
#include "msg.h"
#include "table.h"
#include "volume.h"

static void read_uuid(struct volume *v, unsigned int i, uint64_t start)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	int nr, err;

	if (bdev_open(&dev, v->path[i], 0))
		return;
	nr = area_find(&dev, area, &err);
	while (nr-- > 0)
		if (area[nr].info.area_start == start && area[nr].info.role == EK_ROLE_MEMBER)
			uuid_text(v->uuid[i], area[nr].info.area_uuid);
	bdev_close(&dev);
}

static void read_uuids(struct volume *v)
{
	struct table t;
	uint64_t sectors;
	char *params, why[96];
	unsigned int i;

	if (dm_get_table(v->name, &params, &sectors))
		return;
	if (table_parse(params, &t, why, sizeof(why))) {
		for (i = 0; i < v->st.nr_devs && i < t.nr_devs; i++)
			if (v->path[i])
				read_uuid(v, i, t.dev[i].start);
		table_free(&t);
	}
	free(params);
}

static void look_at_member(struct volume *v, unsigned int i)
{
	const struct status_dev *d = &v->st.dev[i];
	dev_t rdev = makedev(d->major, d->minor);
	char *below;

	if (!d->present)
		return;
	v->path[i] = bdev_path(rdev);
	below = bdev_volatile(rdev);
	v->forgets[i] = below;
	free(below);
}

/* The policy may be another by now: then there is nothing to tell. */
static void read_tier(struct volume *v)
{
	char *reply = NULL, *why = NULL;

	if (strcmp(v->st.policy, "concentrate"))
		return;
	if (dm_message(v->name, "concentrations", &reply, &why))
		free(why);
	else if (reply)
		v->has_tier = tier_parse(reply, &v->tier);
	free(reply);
}

/* Likewise, it may be off by now. */
static void read_cache(struct volume *v)
{
	char *reply = NULL, *why = NULL;

	if (!status_setting(&v->st, "cache_extents", 0))
		return;
	if (dm_message(v->name, "cache", &reply, &why))
		free(why);
	else if (reply)
		v->has_cache = cached_parse(reply, &v->cache);
	free(reply);
}

static void add_lost(struct volume *v, const struct lost *one)
{
	struct lost *last = v->nr_lost ? &v->lost[v->nr_lost - 1] : NULL;

	/* The kernel answers in parts. */
	if (last && last->dev == one->dev && last->first + last->nr == one->first) {
		last->nr += one->nr;
		return;
	}
	v->lost = xrealloc(v->lost, (v->nr_lost + 1) * sizeof(*v->lost));
	v->lost[v->nr_lost++] = *one;
}

/* One answer, every line of which has to be understood; the extent to go on at, 0: no more. */
static unsigned long long take_lost(struct volume *v, char *reply)
{
	unsigned long long first, nr, more = 0;
	char *line, *save;
	bool ended = false;
	unsigned int dev;

	for (line = strtok_r(reply, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%llu %llu %u", &first, &nr, &dev) == 3)
			add_lost(v, &(struct lost){ first, nr, dev });
		else if (!strcmp(line, "end") || sscanf(line, "more %llu", &more) == 1)
			ended = true;
		else
			v->lost_partly = true;
	}
	v->lost_partly |= !ended;
	return more;
}

static void read_lost(struct volume *v)
{
	char *message, *reply, *why;
	unsigned long long at = 0, next;
	int err;

	do {
		message = xasprintf("lost %llu", at);
		reply = NULL;
		why = NULL;
		err = dm_message(v->name, message, &reply, &why);
		next = err ? 0 : reply ? take_lost(v, reply) : 0;
		if (err)
			fail("%s: what is lost can't be found out: %s", v->name, why);
		/* It has to get on, or there would be no end. */
		if (err || (next && next <= at))
			v->lost_partly = true;
		at = next > at ? next : 0;
		free(message);
		free(reply);
		free(why);
	} while (at);
}

static bool may_have_lost(const struct volume *v)
{
	unsigned int i;

	for (i = 0; i < v->st.nr_devs; i++)
		if (v->st.dev[i].state == DEV_FAILED && v->st.dev[i].used)
			return true;
	return false;
}

bool volume_sync_at(const char *name, const struct status *st, struct sync_at *at)
{
	unsigned long long done = 0, total = 0;
	char *reply = NULL, *why = NULL;
	bool is = false;
	unsigned int i;

	for (i = 0; i < st->nr_meta; i++)
		is |= st->meta[i] == 'R' || st->meta[i] == 'L';
	at->refused = is && dm_message(name, "metadata", &reply, &why);
	/* It may be over by now. */
	is = is && !at->refused && reply &&
	     sscanf(reply, "%u %llu %llu", &at->area, &done, &total) == 3 &&
	     at->area < st->nr_meta && total && done <= total;
	if (is) {
		at->done = done;
		at->total = total;
	}
	free(reply);
	free(why);
	return is;
}

int volume_look(struct volume *v, const char *name, bool uuids)
{
	char *params, why[128];
	unsigned int i;
	int err;

	memset(v, 0, sizeof(*v));
	v->name = name;
	if (need_volume(name))
		return EXIT_FAILED;
	err = dm_get_status(name, &params, &v->sectors);
	if (err)
		return fail("%s: status: %s", name, strerror(-err));
	if (!status_parse(params, &v->st, why, sizeof(why))) {
		fail("%s: status line of the kernel not understood: %s: %s", name, why, params);
		free(params);
		return EXIT_FAILED;
	}
	free(params);
	for (i = 0; i < v->st.nr_devs; i++)
		look_at_member(v, i);
	read_tier(v);
	read_cache(v);
	v->has_sync = volume_sync_at(name, &v->st, &v->sync);
	if (may_have_lost(v))
		read_lost(v);
	if (uuids)
		read_uuids(v);
	return EXIT_OK;
}

void volume_free(struct volume *v)
{
	unsigned int i;

	for (i = 0; i < STATUS_MAX_DEVS; i++)
		free(v->path[i]);
	status_free(&v->st);
	tier_free(&v->tier);
	free(v->lost);
	memset(v, 0, sizeof(*v));
}
