// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl identify: what a device is to which volume, for people and for udev. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "commands.h"
#include "msg.h"
#include "owner.h"
#include "quote.h"
#include "signature.h"
#include "sought.h"

static const char *name_of(const struct ek_label_info *info, char name[EK_NAME_SIZE])
{
	memcpy(name, info->name, EK_NAME_SIZE);
	name[EK_NAME_SIZE - 1] = 0;
	return name_clean(name);
}

/* Anybody can write a label: what it says must not end the line and begin a property of its own. */
static void print_property(const char *key, const char *value)
{
	printf("%s=", key);
	for (; *value; value++)
		putchar(strchr(NAME_CHARACTERS, *value) ? *value : '_');
	putchar('\n');
}

/*
 * Has it been looked for before, or is it none that starts a volume?  A snapshot that is made of a
 * member doesn't start what was stopped for that.
 */
static bool starts_none(const struct bdev *dev, const struct ek_label_info *info, const char *was)
{
	char uuid[UUID_TEXT];

	if (!strcmp(was, uuid_text(uuid, info->pool_uuid)) && !is_sought(info->pool_uuid))
		return true;
	return dev->rdev && bdev_is_snapshot(dev->rdev);
}

static void print_udev(const struct bdev *dev, const struct ek_label_info *info, const char *was)
{
	char name[EK_NAME_SIZE], uuid[UUID_TEXT];

	print_property("EVENKEEL_UUID", uuid_text(uuid, info->pool_uuid));
	print_property("EVENKEEL_NAME", name_of(info, name));
	if (starts_none(dev, info, was))
		print_property("EVENKEEL_KNOWN", "1");
	/* As for members of md and LVM: what libblkid may have seen in their data is not there. */
	puts("ID_FS_USAGE=raid\nID_FS_TYPE=evenkeel_member");
}

/* @since: what has taken the place of the label at the device's start; NULL: nothing. */
static void print_label(const struct area *a, const char *since)
{
	if (a->head_err && since && !a->info.area_start)
		printf(", label overwritten: %s %s is there now", signature_article(since), since);
	else if (a->head_err)
		fputs(", label damaged", stdout);
	else if (a->copy_err)
		fputs(", label's copy damaged", stdout);
	putchar('\n');
}

static void print_area(const struct bdev *dev, const struct area *a, const char *since)
{
	char name[EK_NAME_SIZE], uuid[UUID_TEXT], text[AREA_TEXT];
	bool meta = a->info.role == EK_ROLE_META;

	printf("%s: %s of %u, volume %s, uuid %s, sectors %llu to %llu", dev->path,
	       area_text(text, a->info.role, a->info.index),
	       meta ? a->info.nr_meta : a->info.nr_members, name_of(&a->info, name),
	       uuid_text(uuid, a->info.pool_uuid), (unsigned long long)a->info.area_start,
	       (unsigned long long)(a->info.area_start + a->info.area_sectors - 1));
	print_label(a, since);
}

static bool is_owned(const struct bdev *dev, const struct area *area, int nr)
{
	char *owner = owner_of(dev, area, nr);
	bool is = owner;

	free(owner);
	return is;
}

/* It can't be looked at just now, which says nothing of what it is. */
static int stays_known(const char *was)
{
	print_property("EVENKEEL_UUID", was);
	puts("EVENKEEL_KNOWN=1\nID_FS_USAGE=raid\nID_FS_TYPE=evenkeel_member");
	return EXIT_OK;
}

static void print_areas(const struct bdev *dev, const struct area *area, int nr)
{
	char *since = owner_since(dev, area, nr);
	int i;

	for (i = 0; i < nr; i++)
		print_area(dev, &area[i], since);
	free(since);
}

/*
 * Somebody has given the device to something else since: what libblkid says of it is to stand.  A
 * label that is only damaged keeps it ours: it can be mended.
 */
static bool is_taken(const struct bdev *dev, const struct area *area, int nr)
{
	char *since = owner_since(dev, area, nr);
	bool is = since;

	free(since);
	return is;
}

static int identify(const struct bdev *dev, bool udev, const char *was)
{
	bool stalled = udev && dev->rdev && bdev_stalled(dev->rdev);
	struct area area[AREA_MAX];
	int head_err, nr = stalled ? -EBUSY : area_find(dev, area, &head_err);

	if (nr < 0 && udev && *was)
		return stays_known(was);
	if (nr < 0)
		return fail("%s: %s", dev->path, strerror(-nr));
	/* Nearly all devices are none of ours; what is another device's is seen on top of that. */
	if (udev && (!nr || is_owned(dev, area, nr) || is_taken(dev, area, nr)))
		return EXIT_FAILED;
	if (!nr)
		return fail("%s: no label of a hybrid volume", dev->path);
	if (udev)
		print_udev(dev, &area[0].info, was);
	else
		print_areas(dev, area, nr);
	return EXIT_OK;
}

int cmd_identify(int argc, char **argv)
{
	static const struct option options[] = {
		{ "udev", no_argument, NULL, 'u' },
		{ "was", required_argument, NULL, 'w' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	const char *was = "";
	struct bdev dev;
	bool udev = false;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt == 'u')
			udev = true;
		else if (opt == 'w')
			was = optarg;
		else
			return bad_option(argv);
	}
	if (argc - optind != 1)
		return usage_error("one device is needed");
	err = bdev_open(&dev, argv[optind], BDEV_FILES);
	if (err)
		return fail("%s: %s", argv[optind], strerror(-err));
	err = identify(&dev, udev, was);
	bdev_close(&dev);
	return err;
}
