// SPDX-License-Identifier: GPL-2.0-only
/* See claims.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "claims.h"
#include "dm.h"
#include "live.h"
#include "loop.h"
#include "msg.h"
#include "owner.h"
#include "which.h"

/* By device-mapper's uuid where hybridctl made it: its labels may be on what does not answer. */
static bool is_pool(const struct dm_dev *dev, const void *uuid)
{
	char text[UUID_TEXT], *its = dm_pool_uuid(dev->name);
	struct ek_label_info info;
	bool is;

	if (its)
		is = !strcmp(its, uuid_text(text, uuid));
	else
		is = live_pool(dev->name, &info) && !memcmp(info.pool_uuid, uuid, EK_UUID_SIZE);
	free(its);
	return is;
}

/* @name: what the pool is active as, NULL: it is not; free().  0 or -errno. */
static int find_active(const uint8_t *uuid, char **name)
{
	/* Image files of one's own, or no device-mapper in this kernel: no volume is active. */
	if (dm_reachable()) {
		*name = NULL;
		return 0;
	}
	return which_is(is_pool, uuid, name);
}

static char *loop_of(const struct pool_area *a)
{
	struct loop_part part = { .fs = a->fs, .ino = a->ino, .to = UINT64_MAX };

	return a->rdev ? loop_users_beside(a->rdev) : loop_users(&part, 0);
}

/* Of a device that is held who opens it for itself is told. */
static char *owner_on(const struct pool_area *a)
{
	struct area area[AREA_MAX];
	char *owner = NULL;
	struct bdev dev;
	int nr, err;

	if (pool_area_open(&dev, a, 0))
		return NULL;
	nr = area_find(&dev, area, &err);
	if (nr > 0)
		owner = owner_of(&dev, area, nr);
	bdev_close(&dev);
	return owner;
}

#define AREAS	(EK_MAX_META + EK_MAX_MEMBERS)

/* One area of each device; their number. */
static unsigned int devices_of(const struct pool *p, const struct pool_area *on[AREAS])
{
	unsigned int i, k, nr = 0;

	for (i = 0; i < AREAS; i++) {
		const struct pool_area *a = i < EK_MAX_META ? &p->meta[i] :
							      &p->member[i - EK_MAX_META];

		if (!a->there)
			continue;
		for (k = 0; k < nr && strcmp(on[k]->path, a->path); k++)
			;
		if (k == nr)
			on[nr++] = a;
	}
	return nr;
}

static int judge_active(const struct pool *p)
{
	char *name;
	int err = find_active(p->uuid, &name);

	if (err)
		fail("%s: can't list volumes: %s", p->name, strerror(-err));
	else if (name)
		fail("%s: in use: the pool is active as %s (hybridctl stop %s)", p->name, name,
		     name);
	err = err || name ? EXIT_USAGE : EXIT_OK;
	free(name);
	return err;
}

static int judge_loop(const struct pool_area *a)
{
	char *user = loop_of(a);
	int err = user ? EXIT_USAGE : EXIT_OK;

	if (user)
		fail("%s: in use: the same file is behind %s", a->path, user);
	free(user);
	return err;
}

static int judge_owner(const struct pool_area *a)
{
	char *owner = owner_on(a);
	int err = EXIT_OK;

	if (owner)
		err = fail("%s: %s: name what is made of that (--force writes to it all the same)",
			   a->path, owner);
	free(owner);
	return err;
}

int claims_judge(const struct pool *p, bool force)
{
	const struct pool_area *on[AREAS];
	unsigned int i, nr = devices_of(p, on);
	int err = judge_active(p);

	for (i = 0; !err && i < nr; i++)
		err = judge_loop(on[i]);
	for (i = 0; !err && i < nr && !force; i++)
		err = judge_owner(on[i]);
	return err;
}

static void warn_of(const struct pool_area *a)
{
	char *owner = owner_on(a), *user = loop_of(a);

	if (owner)
		warn("%s: %s: what is made of that may tell something else", a->path, owner);
	if (user)
		warn("%s: in use: the same file is behind %s: it may be written to meanwhile",
		     a->path, user);
	free(owner);
	free(user);
}

static void warn_active(const struct pool *p)
{
	char *name;

	if (!find_active(p->uuid, &name) && name)
		warn("%s: the pool is active as %s: it may be written to meanwhile, and what is in memory is not on its devices",
		     p->name, name);
	free(name);
}

void claims_warn(const struct pools *pools)
{
	const struct pool_area *on[AREAS];
	unsigned int i, k, nr;

	for (i = 0; i < pools->nr; i++) {
		warn_active(&pools->pool[i]);
		nr = devices_of(&pools->pool[i], on);
		for (k = 0; k < nr; k++)
			warn_of(on[k]);
	}
}
