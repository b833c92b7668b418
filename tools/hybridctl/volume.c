// SPDX-License-Identifier: GPL-2.0-only
/* One look at an active volume. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "commands.h"
#include "dm.h"
#include "live.h"
#include "msg.h"
#include "table.h"
#include "volume.h"
#include "which.h"

static void read_uuid(struct volume *v, unsigned int i, uint64_t start)
{
	const struct status_dev *d = &v->st.dev[i];
	struct area area[AREA_MAX];
	struct bdev dev;
	int nr, err;

	/* Reading it might take for ever. */
	if (bdev_stalled(makedev(d->major, d->minor)) || bdev_open(&dev, v->path[i], 0))
		return;
	nr = area_find(&dev, area, &err);
	while (nr-- > 0)
		if (area[nr].info.area_start == start && area[nr].info.role == EK_ROLE_MEMBER)
			uuid_text(v->uuid[i], area[nr].info.area_uuid);
	bdev_close(&dev);
}

/* The device that it was at the look before: no other label comes to one that is in use. */
static bool is_as(const struct volume *v, const struct volume *before, unsigned int i)
{
	const struct status_dev *now = &v->st.dev[i], *was = &before->st.dev[i];

	return i < before->st.nr_devs && was->present && was->major == now->major &&
	       was->minor == now->minor;
}

/* Also that it could not be read: a member that fails is not asked at every look. */
static bool keep_uuids(struct volume *v, const struct volume *before)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < v->st.nr_devs; i++) {
		if (!v->path[i])
			continue;
		if (is_as(v, before, i))
			memcpy(v->uuid[i], before->uuid[i], UUID_TEXT);
		else
			all = false;
	}
	return all;
}

static void read_uuids(struct volume *v, const struct volume *before)
{
	struct table t;
	uint64_t sectors;
	char *params, why[96];
	unsigned int i;

	if (before && keep_uuids(v, before))
		return;
	if (dm_get_table(v->name, &params, &sectors))
		return;
	if (table_parse(params, &t, why, sizeof(why))) {
		for (i = 0; i < v->st.nr_devs && i < t.nr_devs; i++)
			if (v->path[i] && !(before && is_as(v, before, i)))
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

static bool may_have_lost(const struct volume *v)
{
	unsigned int i;

	for (i = 0; i < v->st.nr_devs; i++)
		if (v->st.dev[i].state == DEV_FAILED && v->st.dev[i].used)
			return true;
	return false;
}

/* Who has failed, and how much is there, is what it was. */
static bool loses_as(const struct volume *v, const struct volume *before)
{
	unsigned int i;

	for (i = 0; i < v->st.nr_devs && i < before->st.nr_devs; i++) {
		const struct status_dev *now = &v->st.dev[i], *was = &before->st.dev[i];

		if (now->state != was->state || now->present != was->present ||
		    (now->state == DEV_FAILED && now->used != was->used))
			return false;
	}
	return v->st.nr_devs == before->st.nr_devs;
}

/* The kernel goes through all of the map for it. */
static void read_lost(struct volume *v, struct volume *before)
{
	if (before && before->lost.asked && !before->lost.partly && loses_as(v, before)) {
		v->lost = before->lost;
		memset(&before->lost, 0, sizeof(before->lost));
	} else {
		extents_ask(&v->lost, v->name, "lost");
	}
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

static int look(struct volume *v, const char *name, unsigned int what, struct volume *before)
{
	char *params, why[128];
	unsigned int i;
	int err;

	memset(v, 0, sizeof(*v));
	v->name = name;
	if (need_volume(name))
		return EXIT_FAILED;
	/* One that has been stopped since, and made anew, has nothing of what was there before. */
	v->seq = which_seq(name);
	if (before && before->seq != v->seq)
		before = NULL;
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
	v->has_standing = live_standing(v->name, v->st.nr_devs, &v->standing);
	read_tier(v);
	read_cache(v);
	v->has_sync = volume_sync_at(name, &v->st, &v->sync);
	if (what & LOOK_LOST && may_have_lost(v))
		read_lost(v, before);
	if (what & LOOK_UUIDS)
		read_uuids(v, before);
	return EXIT_OK;
}

int volume_look(struct volume *v, const char *name, unsigned int what)
{
	return look(v, name, what, NULL);
}

int volume_look_again(struct volume *v, const char *name, unsigned int what)
{
	struct volume before = *v;
	int err = look(v, name, what, &before);

	volume_free(&before);
	return err;
}

void volume_free(struct volume *v)
{
	unsigned int i;

	for (i = 0; i < STATUS_MAX_DEVS; i++)
		free(v->path[i]);
	status_free(&v->st);
	tier_free(&v->tier);
	extents_free(&v->lost);
	memset(v, 0, sizeof(*v));
}
