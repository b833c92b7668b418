// SPDX-License-Identifier: GPL-2.0-only
/* One look at a volume after the other: what is carried over, and what is read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../commands.h"
#include "../dm.h"
#include "../live.h"
#include "../volume.h"
#include "ktap.h"

/* --- the machine: members 254:MINOR, whose uuid is that number --- */

static unsigned int minor_of[2] = { 3, 4 }, labels_read, unreadable, seq = 7;

int need_volume(const char *name)
{
	return EXIT_OK;
}

int dm_get_status(const char *name, char **params, uint64_t *sectors)
{
	const char *dev = " active 7/100 1000000 1000000 1000 2000 3000 4000 5 7";

	*sectors = 1 << 20;
	return asprintf(params, "rw - 256 10/8000 3/512 1 A 2 254:%u%s 254:%u%s 12 - 9 8 1 1048576"
			" 2 0 11 22 33 44 wardrop 0", minor_of[0], dev, minor_of[1], dev) < 0;
}

int dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	*sectors = 1 << 20;
	return asprintf(params, "1 254:1 0 256 2 254:%u 8 254:%u 8 0 wardrop 0", minor_of[0],
			minor_of[1]) < 0;
}

int dm_message(const char *name, const char *text, char **reply, char **why)
{
	return -1;
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	return 1;
}

uint64_t bdev_seq(dev_t rdev)
{
	return seq;
}

/* Nobody asks for these. */
int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	abort();
}

void dm_free_list(struct dm_dev *devs, unsigned int nr)
{
	abort();
}

char *bdev_path(dev_t rdev)
{
	char *path;

	return asprintf(&path, "%u", minor(rdev)) < 0 ? NULL : path;
}

const char *bdev_stalled(dev_t rdev)
{
	return NULL;
}

char *bdev_volatile(dev_t rdev)
{
	return NULL;
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	memset(dev, 0, sizeof(*dev));
	dev->rdev = atoi(path);
	labels_read++;
	return dev->rdev == unreadable ? -1 : 0;
}

void bdev_close(struct bdev *dev)
{
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	memset(area, 0, sizeof(*area));
	area->info.role = EK_ROLE_MEMBER;
	area->info.area_start = 8;
	area->info.area_uuid[0] = dev->rdev;
	return 1;
}

char *uuid_text(char *buf, const uint8_t *uuid)
{
	sprintf(buf, "%u", uuid[0]);
	return buf;
}

bool live_standing(const char *name, unsigned int nr_devs, struct standing *s)
{
	return false;
}

void extents_ask(struct extents *e, const char *name, const char *question)
{
}

void extents_free(struct extents *e)
{
}

/* --- */

static void look(struct volume *v, const char *what, const char *first, const char *second,
		 unsigned int labels)
{
	labels_read = 0;
	ktap_ok(!volume_look_again(v, "v", LOOK_UUIDS) && !strcmp(v->uuid[0], first) &&
		!strcmp(v->uuid[1], second) && labels_read == labels,
		"look: %s: %u labels are read", what, labels);
}

int main(void)
{
	struct volume v = { .name = "v" };

	ktap_begin();
	look(&v, "at first", "3", "4", 2);
	look(&v, "again", "3", "4", 0);
	minor_of[1] = 5;
	look(&v, "one was replaced", "3", "5", 1);
	unreadable = 6;
	minor_of[0] = 6;
	look(&v, "one can't be read", "", "5", 1);
	look(&v, "nor is it tried again", "", "5", 0);
	seq = 8;
	unreadable = 0;
	look(&v, "stopped, and made anew of the same devices", "6", "5", 2);
	ktap_ok(!volume_look_again(&v, "v", 0) && !*v.uuid[1], "look: not asked for");
	volume_free(&v);
	return ktap_end();
}
