// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels that name nobody any more: which those are, that they are wiped and nothing else is,
 * and that the member behind an area that has left is still found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "../leftover.h"
#include "given.h"
#include "ktap.h"
#include "mended.h"

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* What an area has left is wiped from its superblocks on: not if its device is another's. */
static void leftover_given_away(void (*place)(const struct image_set *set), unsigned int nr)
{
	struct area area[AREA_MAX];
	static const u8 nothing[EK_BLOCK_SIZE];
	struct image_set set;
	struct bdev dev;
	u32 sum;
	int err;

	pool_make(&set);
	if (place)
		place(&set);
	else
		given_put(&set, 0, nothing, sizeof(nothing));
	sum = image_sum(&set, 0);
	if (bdev_open(&dev, set.path[0], BDEV_WRITE | BDEV_FILES) ||
	    area_find(&dev, area, &err) != (int)nr || !area[nr - 1].head_err)
		abort();
	err = leftover_wipe(&dev, &area[nr - 1]);
	ktap_ok(place ? err == -EINVAL && image_sum(&set, 0) == sum : !err,
		"leftover: %u with its label zeroed%s: %d", nr,
		place ? ", and something else beside it, is left" : " is wiped", err);
	bdev_close(&dev);
	image_close(&set);
}

/* --- which those are --- */

static bool first_leftover(struct image_set *set, struct bdev *dev, struct area *area)
{
	struct area all[AREA_MAX];
	int err;

	return !bdev_open(dev, set->path[0], BDEV_WRITE | BDEV_FILES) &&
	       area_find(dev, all, &err) == 2 && (*area = all[1], true);
}

static void leftovers(void)
{
	struct ek_super sb;
	struct image_set set;
	struct area area;
	struct bdev dev;
	char byte;

	pool_make(&set);
	if (pread(set.fd[0], &sb, sizeof(sb), SUPER(1)) != sizeof(sb) ||
	    !first_leftover(&set, &dev, &area))
		abort();
	ktap_ok(!leftover_is(&sb, &area), "leftover: a member's label is none");
	sb.member[0].state = cpu_to_le32(EK_MEMBER_FAILED);
	ktap_ok(!leftover_is(&sb, &area), "leftover: nor that of one that failed");
	area.info.index = 1;
	ktap_ok(!leftover_is(&sb, &area), "leftover: nor one with another's index");
	area.info.index = 0;
	sb.member[0].state = cpu_to_le32(EK_MEMBER_REMOVED);
	ktap_ok(leftover_is(&sb, &area), "leftover: of one that left");
	sb.member[0].state = cpu_to_le32(EK_MEMBER_ACTIVE);
	area.info.area_uuid[3] ^= 1;
	ktap_ok(leftover_is(&sb, &area), "leftover: of a place that another has by now");
	area.differ = true;
	ktap_ok(!leftover_is(&sb, &area), "leftover: not if its copy says otherwise");
	area.differ = false;
	area.info.pool_uuid[3] ^= 1;
	ktap_ok(!leftover_is(&sb, &area), "leftover: not of another pool");
	area.head_err = -EINVAL;
	ktap_ok(leftover_wipe(&dev, &area) == -EINVAL &&
		pread(set.fd[0], &byte, 1, META_BYTES) == 1 && byte, "leftover: what is overwritten is left");
	area.head_err = 0;
	area.copy_err = -EINVAL;
	ktap_ok(!leftover_wipe(&dev, &area) &&
		pread(set.fd[0], &byte, 1, (u64)IMAGE_SECTORS * SECTOR - EK_BLOCK_SIZE) == 1 && byte,
		"leftover: nor is an end wiped that is overwritten");
	area.copy_err = 0;
	ktap_ok(!leftover_wipe(&dev, &area) &&
		pread(set.fd[0], &byte, 1, META_BYTES) == 1 && !byte, "leftover: wiped");
	bdev_close(&dev);
	image_close(&set);
}

/* Cut at any write: what is found of it then is found by its label, and can be looked for again. */
static void leftover_cut(void)
{
	unsigned int at, round, bad = 0;
	struct area area[AREA_MAX];
	struct image_set set;
	struct bdev dev;
	int err, nr;

	for (at = 1; at < 6; at++)
		for (round = 0; round < 12; round++) {
			pool_make(&set);
			if (!first_leftover(&set, &dev, area))
				abort();
			cut_begin(at);
			leftover_wipe(&dev, area);
			power_on(kept_of(round));
			for (nr = area_find(&dev, area, &err); nr > 0; nr--)
				bad += !!area[nr - 1].head_err;
			bdev_close(&dev);
			image_close(&set);
		}
	ktap_ok(!bad, "leftover: wiping is cut, and its copy alone is never left: %u", bad);
}

/* --- the area before a member leaves --- */

enum later { AS_IT_IS, GROWN, NO_END, GROWN_NO_LABEL, NR_LATER };

/* What becomes of file 0. */
static void age(struct image_set *set, enum later what)
{
	if (what == GROWN || what == GROWN_NO_LABEL)
		must(!ftruncate(set->fd[0], (off_t)FILE_BYTES + (1 << 20)));
	if (what == NO_END)
		image_spoil(set, 0, FILE_BYTES - EK_BLOCK_SIZE, EK_BLOCK_SIZE);
	if (what == GROWN_NO_LABEL)
		image_spoil(set, 0, META_BYTES + 8, 8);
}

/* As area_find() has them. */
static int find(struct image_set *set, struct bdev *dev, struct area *area, int *head_err)
{
	must(!bdev_open(dev, set->path[0], BDEV_WRITE | BDEV_FILES));
	return area_find(dev, area, head_err);
}

static bool is_member_there(const struct area *area, int nr)
{
	return nr && area[nr - 1].info.role == EK_ROLE_MEMBER &&
	       area[nr - 1].info.area_start == IMAGE_META;
}

static bool is_blank(const struct image_set *set, u64 offset)
{
	static const u8 nothing[EK_BLOCK_SIZE];
	u8 block[EK_BLOCK_SIZE];

	must(pread(set->fd[0], block, sizeof(block), offset) == sizeof(block));
	return !memcmp(block, nothing, sizeof(block));
}

static void let_leave(struct image_set *set, int nr)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	int err;

	must(find(set, &dev, area, &err) == nr);
	must(!leftover_wipe(&dev, &area[0]));
	bdev_close(&dev);
}

static void member_alone(enum later what)
{
	struct area area[AREA_MAX];
	struct image_set set;
	struct found f;
	struct bdev dev;
	int nr, err;
	bool clean, ok;

	pool_make(&set);
	image_leave(&set, 0);
	let_leave(&set, 2);
	age(&set, what);
	nr = find(&set, &dev, area, &err);
	ok = nr == 1 && !err && is_member_there(area, nr);
	ok &= !area[0].differ && !area[0].head_err == (what != GROWN_NO_LABEL) &&
	      !area[0].copy_err == (what != NO_END);
	bdev_close(&dev);
	silence();
	ok &= pool_look(&set, 0, 2, &f, &clean) && f.right == 6 && !f.wrong;
	speak();
	ktap_ok(ok, "leftover: the member behind an area that has left is found (%d)", what);
	let_leave(&set, 1);
	nr = find(&set, &dev, area, &err);
	bdev_close(&dev);
	ktap_ok(!nr && err == -ENODATA && is_blank(&set, 0) && is_blank(&set, META_BYTES),
		"leftover: and nothing, when that has left as well (%d)", what);
	image_close(&set);
}

/* Where there is no member at all any more, what led to it is damage, and not to be built upon. */
static void leads_nowhere(void)
{
	struct area area[AREA_MAX];
	struct image_set set;
	struct bdev dev;
	int nr, err;

	pool_make(&set);
	let_leave(&set, 2);
	image_spoil(&set, 0, META_BYTES + 8, 8);
	image_spoil(&set, 0, FILE_BYTES - EK_BLOCK_SIZE, EK_BLOCK_SIZE);
	nr = find(&set, &dev, area, &err);
	bdev_close(&dev);
	ktap_ok(!nr && err == -EUCLEAN, "leftover: what leads to no label is damaged: %d", err);
	image_close(&set);
}

/* Of a pool that is another by now nobody would find the data. */
static void make_anothers(struct ek_label *label)
{
	label->pool_uuid[0] ^= 1;
}

static void leads_to_another(void)
{
	struct area area[AREA_MAX];
	struct image_set set;
	struct bdev dev;
	int nr, err;

	pool_make(&set);
	let_leave(&set, 2);
	image_relabel(&set, 0, META_BYTES, make_anothers);
	age(&set, GROWN);
	nr = find(&set, &dev, area, &err);
	bdev_close(&dev);
	ktap_ok(!nr && err == -EUCLEAN, "leftover: nor is it believed for another's: %d", err);
	image_close(&set);
}

/* Cut at any write of the one's leaving, or of the other's: the member is found until it leaves. */
static void member_alone_cut(bool second)
{
	unsigned int at, round, bad = 0;
	struct area area[AREA_MAX];
	struct image_set set;
	struct bdev dev;
	int err, nr;

	for (at = 1; at < 12; at++)
		for (round = 0; round < NR_KEPT; round++) {
			pool_make(&set);
			if (second)
				let_leave(&set, 2);
			age(&set, GROWN);
			nr = find(&set, &dev, area, &err);
			must(nr == 2 - second);
			cut_begin(at);
			leftover_wipe(&dev, &area[0]);
			power_on(kept_of(round));
			nr = area_find(&dev, area, &err);
			bad += second ? !nr && err != -ENODATA :
			       !is_member_there(area, nr) || area[nr - 1].head_err;
			bdev_close(&dev);
			image_close(&set);
		}
	ktap_ok(!bad, "leftover: cut while %s leaves: %u", second ? "the member" : "the area", bad);
}

static void before_a_member(void)
{
	unsigned int i;

	for (i = 0; i < NR_LATER; i++)
		member_alone(i);
	leads_nowhere();
	leads_to_another();
	member_alone_cut(false);
	member_alone_cut(true);
}

int main(void)
{
	if (!mkdtemp(ktap_name(pool_dir, POOL_PLACE)))
		return 1;
	ktap_begin();
	rnd_begin();
	leftovers();
	leftover_cut();
	leftover_given_away(given_bcache, 2);
	leftover_given_away(given_mbr, 2);
	leftover_given_away(given_over_all, 1);
	leftover_given_away(NULL, 2);
	before_a_member();
	rmdir(pool_dir);
	return ktap_end();
}
