// SPDX-License-Identifier: GPL-2.0-only
/* What is to become part of a pool is judged before it is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../area.h"
#include "../fresh.h"
#include "../loop.h"
#include "../msg.h"
#include "../quote.h"
#include "../signature.h"
#include "../udev_db.h"
#include "ktap.h"

static const char *stalled;
static unsigned int nr_open, nr_opened, nr_read;
static const char *looped;	/* by whom the same file is used */

int __wrap_stat(const char *path, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFBLK;
	st->st_rdev = makedev(8, 0);
	return 0;
}

const char *bdev_stalled(dev_t rdev)
{
	return stalled;
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	memset(dev, 0, sizeof(*dev));
	dev->path = xstrdup(path);
	dev->rdev = rdev;
	dev->sectors = 65536;
	nr_open++;
	nr_opened++;
	return 0;
}

void bdev_close(struct bdev *dev)
{
	free(dev->path);
	memset(dev, 0, sizeof(*dev));
	nr_open--;
}

const char *bdev_error(int err)
{
	return strerror(-err);
}

char *bdev_users(dev_t rdev)
{
	return NULL;
}

char *bdev_volatile(dev_t rdev)
{
	return NULL;
}

bool bdev_lies_on(dev_t upper, dev_t lower)
{
	return false;
}

char *loop_users_beside(dev_t rdev)
{
	return looped ? xstrdup(looped) : NULL;
}

bool udev_db_is(dev_t rdev, const char *key, const char *value)
{
	return false;
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	nr_read++;
	*head_err = -ENODATA;
	return 0;
}

const char *area_label_error(int err)
{
	return "";
}

char *uuid_text(char *buf, const uint8_t *uuid)
{
	return strcpy(buf, "");
}

int signature_find(const char *path, char **what)
{
	nr_read++;
	return 0;
}

const char *signature_article(const char *what)
{
	return "a";
}

char *name_clean(char *name)
{
	return name;
}

/* What is on the device, in the order in which it is found. */
#define NR_SIGNATURES	8
static uint64_t signature[NR_SIGNATURES];
static unsigned int nr_signatures;
static bool signature_stays;
static int signature_err;

int signature_find_but(const char *path, bool (*skip)(const void *ctx, uint64_t offset),
		       const void *ctx, char **what)
{
	unsigned int i;

	for (i = 0; i < nr_signatures; i++)
		if (signature[i] && !skip(ctx, signature[i])) {
			*what = xstrdup("something");
			return 1;
		}
	return signature_err;
}

static uint64_t wiped_from, wiped_to;	/* the last range of more than a block; bytes */
static unsigned int nr_wiped;
static int wipe_err;

static void wipe_signature(uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < nr_signatures && !signature_stays; i++)
		if (signature[i] >= offset && signature[i] < offset + EK_BLOCK_SIZE)
			signature[i] = 0;
}

int wipe_range(struct wipe *w, const char *path, dev_t rdev, uint64_t offset, uint64_t len)
{
	nr_wiped++;
	if (len == EK_BLOCK_SIZE) {
		wipe_signature(offset);
		return offset % EK_BLOCK_SIZE ? -EINVAL : wipe_err;
	}
	wiped_from = offset;
	wiped_to = offset + len;
	return 0;
}

/* Whoever holds the devices' lock is not to wait for one of them. */
static void judged(const char *title, bool force, const char *why, int ret)
{
	struct fresh how = { .force = force };
	struct bdev dev;
	int got;

	stalled = why;
	nr_open = 0;
	nr_opened = 0;
	nr_read = 0;
	got = fresh_open(&dev, "disk", &how);
	ktap_ok(got == ret, "%s: %s", title, ret ? "refused" : "taken");
	ktap_ok(ret ? !nr_opened && !nr_read : nr_open && nr_read, "%s: %s", title,
		ret ? "not read" : "read");
	if (!got)
		bdev_close(&dev);
}

/* It is open, as nobody has it; but somebody has what is behind it. */
static void judged_beside(const char *title, bool force)
{
	struct fresh how = { .force = force, .volatile_ok = force };
	struct bdev dev;
	int got;

	stalled = NULL;
	nr_open = 0;
	looped = "/dev/loop1, mounted on /mnt";
	got = fresh_open(&dev, "disk", &how);
	looped = NULL;
	ktap_ok(got == EXIT_FAILED && !nr_open, "%s: refused", title);
}

/* Some RAID's metadata are in the very last sectors. */
static void wiped(uint64_t start, uint64_t sectors)
{
	uint64_t end = (start + sectors) * SECTOR_SIZE;

	ktap_ok(!fresh_wipe(NULL, "disk", makedev(8, 0), start, sectors, 1 << 20) &&
		wiped_to == end, "wiped: to the end of sector %llu",
		(unsigned long long)(start + sectors));
	ktap_ok(wiped_from % 4096 == 0 &&
		(wiped_from <= start * SECTOR_SIZE || wiped_from <= end - (1 << 20)),
		"wiped: a MiB before that, in whole blocks");
}

#define MIB		((uint64_t)1 << 20)
#define AREA_FROM	(8 * MIB)
#define AREA_TO		(24 * MIB)

static int wipe_area(unsigned int *nr)
{
	int err;

	nr_wiped = 0;
	err = fresh_wipe(NULL, "disk", makedev(8, 0), AREA_FROM / SECTOR_SIZE,
			 (AREA_TO - AREA_FROM) / SECTOR_SIZE, MIB);
	*nr = nr_wiped - 2;	/* but for its start and its end */
	return err;
}

/* Whatever is known by its signature, wherever that is in the area. */
static void wiped_between(void)
{
	static const uint64_t there[] = {
		AREA_FROM + MIB, AREA_FROM + 2 * MIB + 60, AREA_TO - 3087 * SECTOR_SIZE,
		AREA_TO - MIB - 2,
	};
	static const uint64_t elsewhere[] = { 4096, AREA_FROM - 512, AREA_TO, AREA_TO + MIB };
	bool gone = true, others = true;
	unsigned int i, nr;
	int err;

	memcpy(signature, elsewhere, sizeof(elsewhere));
	memcpy(signature + 4, there, sizeof(there));
	nr_signatures = 8;
	err = wipe_area(&nr);
	for (i = 0; i < 4; i++) {
		others &= signature[i] == elsewhere[i];
		gone &= !signature[4 + i];
	}
	ktap_ok(gone, "in between: none is left");
	ktap_ok(others, "in between: what is beside the area is left alone");
	ktap_ok(!err && nr == 4, "in between: each is wiped once");

	memcpy(signature + 4, there, sizeof(there));
	wipe_err = -EINTR;
	ktap_ok(wipe_area(&nr) == -EINTR && nr == 1, "in between: interrupted");
	wipe_err = 0;
	memcpy(signature + 4, there, sizeof(there));
	signature_stays = true;
	ktap_ok(!wipe_area(&nr) && nr == 4, "in between: one that stays is wiped once, and hides none");
	signature_stays = false;
	nr_signatures = 0;
	signature_err = -EIO;
	ktap_ok(!wipe_area(&nr) && !nr, "in between: what can't be read is nobody's");
	signature_err = -ENOMEM;
	ktap_ok(wipe_area(&nr) == -ENOMEM, "in between: it has to be looked for");
	signature_err = 0;
}

int main(void)
{
	ktap_begin();
	judged("a disk", false, NULL, EXIT_OK);
	judged("suspended", false, "it is suspended", EXIT_FAILED);
	judged("suspended, by force", true, "it is suspended", EXIT_FAILED);
	judged_beside("a file that is used by another loop device", false);
	judged_beside("likewise, by force", true);
	wiped(0, 65536);
	wiped(0, 65537);
	wiped(2048, 65543);
	wiped(0, 2047);
	wiped_between();
	return ktap_end();
}
