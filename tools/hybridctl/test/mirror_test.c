// SPDX-License-Identifier: GPL-2.0-only
/* What is wiped of a device that metadata moves to, and what the table is then. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../dm.h"
#include "../interrupt.h"
#include "../layout.h"
#include "../left.h"
#include "../leftover.h"
#include "../lock.h"
#include "../member.h"
#include "../mirror.h"
#include "../msg.h"
#include "../volume.h"
#include "ktap.h"

#define BLOCK		(EK_BLOCK_SIZE / SECTOR_SIZE)
#define NEEDED		((uint64_t)LAYOUT_ALIGN / SECTOR_SIZE)	/* sectors of an area, or less */
#define VACANT		1u

/* The device that the metadata moves to, and what became of it. */
static struct {
	uint64_t sectors;
	struct {
		uint64_t start, sectors;
	} wiped[2];
	unsigned int nr_wiped;
	struct ek_label_info label[2];
	unsigned int nr_labels;
	char policy[64];		/* in the table that is loaded */
} now;

/* --- what is asked of the others --- */

int live_look(struct live *l)
{
	return EXIT_OK;
}

int live_super(const struct live *l, struct ek_super *sb)
{
	memset(sb, 0, sizeof(*sb));
	sb->pages_offset = cpu_to_le64(EK_BLOCK_SIZE);
	sb->nr_pages = cpu_to_le64(1);
	return EXIT_OK;
}

int live_message(const struct live *l, const char *verb, unsigned int i)
{
	((struct live *)l)->st.meta[i] = strstr(verb, "resync") ? 'A' : 'S';
	return EXIT_OK;
}

int live_reload(struct live *l, uint64_t sectors)
{
	snprintf(now.policy, sizeof(now.policy), "%s", l->t.policy);
	return EXIT_OK;
}

dev_t live_rdev(const struct live *l)
{
	return 0;
}

bool live_uses(const struct live *l, dev_t rdev)
{
	return false;
}

bool live_is_member(const struct live *l, dev_t rdev)
{
	return false;
}

void live_put(struct live *l, unsigned int i, dev_t rdev, uint64_t start)
{
}

void live_put_meta(struct live *l, unsigned int k, dev_t rdev, uint64_t start)
{
}

void live_put_no_meta(struct live *l, unsigned int k)
{
}

int fresh_open(struct bdev *dev, const char *path, const struct fresh *how)
{
	*dev = (struct bdev){ .fd = -1, .path = (char *)path, .rdev = makedev(8, 9),
			      .sectors = now.sectors };
	return EXIT_OK;
}

int fresh_wipe(struct wipe *w, const char *path, dev_t rdev, uint64_t start, uint64_t sectors,
	       uint64_t head)
{
	now.wiped[now.nr_wiped].start = start;
	now.wiped[now.nr_wiped++].sectors = sectors;
	return 0;
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	return -ENOENT;
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	return 0;
}

void bdev_close(struct bdev *dev)
{
}

const char *bdev_error(int err)
{
	return "";
}

char *bdev_path(dev_t rdev)
{
	return NULL;
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	return 0;
}

bool leftover_is(const struct ek_super *sb, const struct area *a)
{
	return false;
}

int leftover_wipe(const struct bdev *dev, const struct area *a)
{
	return 0;
}

int left_look(struct left *left)
{
	return EXIT_OK;
}

int lock_devices(void)
{
	return EXIT_OK;
}

void unlock_devices(void)
{
}

int dm_clear(const char *name)
{
	return 0;
}

bool volume_sync_at(const char *name, const struct status *st, struct sync_at *at)
{
	return false;
}

struct wipe *wipe_new(void)
{
	return NULL;
}

void wipe_free(struct wipe *w)
{
}

dev_t member_leftover(const struct live *l, const char *path)
{
	return 0;
}

int member_forget(const struct live *l, const char *path)
{
	return EXIT_OK;
}

int member_judge_none(const struct live *l, const char *path)
{
	return EXIT_OK;
}

int member_judge_held(const struct live *l, const struct bdev *dev)
{
	return EXIT_OK;
}

int member_judge_blocks(const struct live *l, const struct bdev *dev)
{
	return EXIT_OK;
}

void member_make_info(const struct live *l, uint64_t start, uint64_t sectors, unsigned int index,
		      struct ek_label_info *info)
{
	*info = (struct ek_label_info){ .area_start = start, .area_sectors = sectors };
}

int member_write_label(const struct bdev *dev, const struct ek_label_info *info)
{
	now.label[now.nr_labels++] = *info;
	return EXIT_OK;
}

void member_take_back(struct live *l, struct wipe *w, const struct bdev *dev,
		      const struct ek_label_info *info)
{
}

/* --- */

/* Area 1 of two moves to a device of @sectors; @join as mirror_move() has it. */
static bool move(uint64_t sectors, int join)
{
	struct live l = {
		.name = "v", .t = { .nr_meta = 2, .nr_devs = 2 },
		.st = { .mode = MODE_RW, .nr_meta = 2, .nr_devs = 2, .meta = { 'A', 'A' } },
	};
	bool ok;

	memset(&now, 0, sizeof(now));
	now.sectors = sectors;
	l.t.meta[0].dev = "8:0";
	l.t.dev[0].dev = "8:0";
	l.t.meta[1].dev = "8:1";
	l.t.dev[VACANT].dev = "-";
	l.t.policy = xstrdup("fill 2 pin 0+8:1,16+8:0");
	ok = !mirror_move(&l, 1, "disk", &(struct fresh){ .force = true }, join);
	free((char *)l.t.policy);
	return ok;
}

/* Firmware's RAID and a backup GPT end with the device, whatever our blocks do. */
static void whole_device(unsigned int more)
{
	uint64_t sectors = NEEDED + 5 * BLOCK + more;
	bool ok;

	ok = move(sectors, -1);
	ktap_ok(ok && now.nr_wiped == 1 && !now.wiped[0].start && now.wiped[0].sectors == sectors,
		"a device with %u sectors more is wiped to its end: %llu of %llu", more,
		(unsigned long long)now.wiped[0].sectors, (unsigned long long)sectors);
	ktap_ok(now.nr_labels == 1 && now.label[0].area_sectors == sectors - more,
		"and its area is whole blocks: %llu", (unsigned long long)now.label[0].area_sectors);
}

/* Who gets the place of one that left gets nothing that was pinned to that. */
static void with_a_member(void)
{
	uint64_t sectors = NEEDED + (8u << 20) / SECTOR_SIZE + 2;

	ktap_ok(move(sectors, VACANT) && now.nr_wiped == 2 && now.nr_labels == 2 &&
		now.wiped[1].start == now.wiped[0].sectors &&
		now.wiped[1].start + now.wiped[1].sectors == sectors,
		"with a member behind it: wiped to the end as well");
	ktap_ok(!strcmp(now.policy, "fill 2 pin 16+8:0"), "which inherits no pins: %s", now.policy);
	ktap_ok(move(sectors, -1) && !strcmp(now.policy, "fill 2 pin 0+8:1,16+8:0"),
		"without one pins stay as they are: %s", now.policy);
}

int main(void)
{
	ktap_begin();
	whole_device(0);
	whole_device(6);
	with_a_member();
	return ktap_end();
}
