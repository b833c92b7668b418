// SPDX-License-Identifier: GPL-2.0-only
/*
 * See relabel.h.  Who writes a partition table to the wrong disk takes the label of the area at
 * its start, and the copy of the last area's: where that is a member alone nothing on the disk
 * tells any more whose it is, and hardly anything else is lost.
 *
 * A label in the wrong place would give a member another one's data.  So a device gets those of a
 * device of the dump, of exactly its size, and only if no other one can be meant, neither by a
 * label that is left nor by where the others are.  The pool itself, where it can be asked, has the
 * last word on who is a member.
 *
 *	label, flush, copy, flush	area by area: a cut leaves some of them done; once more does
 *					the rest
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/store.h>

#include "claims.h"
#include "lock.h"
#include "msg.h"
#include "offline.h"
#include "owner.h"
#include "relabel.h"
#include "signature.h"

#define NONE		(-1)
#define SUPER_STRIDE	(64u << 10)

/* A device of the command line. */
struct target {
	struct bdev dev;
	struct area area[AREA_MAX];	/* that are found on it */
	int nr;
	int of;				/* a label of the device of the dump that it is; or NONE */
};

struct work {
	struct dumped_labels d;
	struct target *target;
	int nr;
	bool force;
	struct ek_super *super;		/* the pool's latest; of generation 0: there is none */
};

static int open_target(struct target *t, const char *path)
{
	int head_err, err = bdev_open(&t->dev, path, BDEV_WRITE | BDEV_EXCL | BDEV_FILES);

	if (err == -EBUSY) {
		offline_in_use(path);
		return EXIT_USAGE;
	}
	if (err) {
		fail("%s: %s", path, bdev_error(err));
		return EXIT_USAGE;
	}
	t->of = NONE;
	t->nr = area_find_inside(&t->dev, t->area, &head_err);
	if (t->nr < 0)
		return fail("%s: can't be read: %s", path, strerror(-t->nr));
	if (!t->nr && head_err == -EPROTONOSUPPORT)
		return fail("%s: hybrid label is %s", path, area_label_error(head_err));
	return EXIT_OK;
}

static bool is_same(const struct ek_label_info *a, const struct ek_label_info *b)
{
	return a->role == b->role && a->index == b->index && a->area_start == b->area_start &&
	       a->area_sectors == b->area_sectors &&
	       !memcmp(a->pool_uuid, b->pool_uuid, EK_UUID_SIZE) &&
	       !memcmp(a->area_uuid, b->area_uuid, EK_UUID_SIZE);
}

static int label_of(const struct dumped_labels *d, const struct ek_label_info *info)
{
	unsigned int i;

	for (i = 0; i < d->nr; i++)
		if (is_same(&d->label[i].info, info))
			return i;
	return NONE;
}

static uint64_t whole_blocks(const struct bdev *dev)
{
	return dev->sectors * SECTOR_SIZE / EK_BLOCK_SIZE * (EK_BLOCK_SIZE / SECTOR_SIZE);
}

/* By what is left of its labels. */
static int know(const struct work *w, struct target *t)
{
	char text[AREA_TEXT];
	int i, of;

	for (i = 0; i < t->nr; i++) {
		const struct ek_label_info *info = &t->area[i].info;

		of = label_of(&w->d, info);
		if (of == NONE || (t->of != NONE && !dumped_labels_together(&w->d, of, t->of)))
			return fail("%s: carries the label of %s of %s, which the dump does not have %s",
				    t->dev.path, area_text(text, info->role, info->index),
				    memcmp(info->pool_uuid, w->d.pool.pool_uuid, EK_UUID_SIZE) ?
				    "another pool" : "the pool",
				    of == NONE ? "there" : "beside the other one");
		t->of = of;
	}
	if (t->of != NONE && dumped_labels_end(&w->d, t->of) != whole_blocks(&t->dev))
		return fail("%s: is not of the size that it had in the dump", t->dev.path);
	return EXIT_OK;
}

static bool is_taken(const struct work *w, int of)
{
	int i;

	for (i = 0; i < w->nr; i++)
		if (w->target[i].of != NONE && dumped_labels_together(&w->d, of, w->target[i].of))
			return true;
	return false;
}

/* One label of each device of the dump is looked at. */
static bool is_first(const struct dumped_labels *d, int i)
{
	int k;

	for (k = 0; k < i; k++)
		if (dumped_labels_together(d, i, k))
			return false;
	return true;
}

/* By its size alone, among those devices of the dump that no other one has turned out to be. */
static int guess(const struct work *w, const struct target *t, int *of)
{
	char one[AREA_TEXT], other[AREA_TEXT];
	const struct ek_label_info *a, *b;
	int i;

	*of = NONE;
	for (i = 0; i < (int)w->d.nr; i++) {
		if (!is_first(&w->d, i) || is_taken(w, i) ||
		    dumped_labels_end(&w->d, i) != whole_blocks(&t->dev))
			continue;
		if (*of != NONE) {
			a = &w->d.label[*of].info;
			b = &w->d.label[i].info;
			return fail("%s: may be that of %s or of %s: name the devices that have labels as well, or leave the lines of what it is not out of the dump",
				    t->dev.path, area_text(one, a->role, a->index),
				    area_text(other, b->role, b->index));
		}
		*of = i;
	}
	return *of != NONE ? EXIT_OK :
	       fail("%s: no device of the dump is of its size (%llu sectors) and without its labels",
		    t->dev.path, (unsigned long long)t->dev.sectors);
}

/* None of them is known before all are: two that fit the same place are both refused. */
static int assign(struct work *w)
{
	int *of = xcalloc(w->nr + 1, sizeof(*of)), i, k, err = EXIT_OK;

	for (i = 0; i < w->nr && !err; i++)
		err = know(w, &w->target[i]);
	for (i = 0; i < w->nr && !err; i++) {
		of[i] = w->target[i].of;
		if (of[i] == NONE)
			err = guess(w, &w->target[i], &of[i]);
		for (k = 0; k < i && !err; k++)
			if (dumped_labels_together(&w->d, of[i], of[k]))
				err = fail("%s and %s: both may be the same device of the dump",
					   w->target[k].dev.path, w->target[i].dev.path);
	}
	for (i = 0; i < w->nr && !err; i++)
		w->target[i].of = of[i];
	free(of);
	return err;
}

/* --- what is to be written --- */

static const struct area *found(const struct target *t, const struct ek_label_info *info)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (is_same(&t->area[i].info, info))
			return &t->area[i];
	return NULL;
}

/* The label of @t that comes at or after @i and is not whole there; NULL: none. */
static const struct ek_label_info *next(const struct work *w, const struct target *t,
					unsigned int *i)
{
	const struct ek_label_info *info;
	const struct area *a;

	for (; *i < w->d.nr; (*i)++) {
		if (!dumped_labels_together(&w->d, *i, t->of))
			continue;
		info = &w->d.label[*i].info;
		a = found(t, info);
		if (!a || a->head_err || a->copy_err)
			return info;
	}
	return NULL;
}

static bool lacks(const struct work *w, const struct target *t)
{
	unsigned int i = 0;

	return next(w, t, &i);
}

/* All the areas that the dump has there, as if they were found. */
static int areas_of(const struct work *w, const struct target *t, struct area *area)
{
	unsigned int i;
	int nr = 0;

	for (i = 0; i < w->d.nr && nr < AREA_MAX; i++)
		if (dumped_labels_together(&w->d, i, t->of)) {
			memset(&area[nr], 0, sizeof(*area));
			area[nr++].info = w->d.label[i].info;
		}
	return nr;
}

/* --- the pool's word --- */

/* The latest superblock of a metadata area, if it is later than *@best. */
static bool peek(const struct work *w, const struct target *t, const struct ek_label_info *info,
		 struct ek_super *best)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	uint64_t at = info->area_start * SECTOR_SIZE + EK_AREA_HEAD_BYTES;
	bool is = false;
	int i;

	for (i = 0; i < 2; i++) {
		if (at + i * SUPER_STRIDE + sizeof(*sb) > t->dev.sectors * SECTOR_SIZE ||
		    bdev_read(&t->dev, at + i * SUPER_STRIDE, sb, sizeof(*sb)) ||
		    le64_to_cpu(sb->magic) != EK_SUPER_MAGIC ||
		    le32_to_cpu(sb->csum) != ek_checksum(sb, sizeof(*sb), &sb->csum) ||
		    memcmp(sb->pool_uuid, w->d.pool.pool_uuid, EK_UUID_SIZE))
			continue;
		is = true;
		if (le64_to_cpu(sb->generation) > le64_to_cpu(best->generation))
			memcpy(best, sb, sizeof(*sb));
	}
	free(sb);
	return is;
}

/* Where the dump has metadata there must be some: this is no disk that only has its size. */
static int ask_pool(struct work *w, const struct target *t)
{
	const struct ek_label_info *info;
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; i < w->d.nr; i++) {
		info = &w->d.label[i].info;
		if (info->role != EK_ROLE_META || !dumped_labels_together(&w->d, i, t->of))
			continue;
		if (!peek(w, t, info, w->super) && !found(t, info) && !w->force)
			err = fail("%s: no superblock of the pool is where metadata area %u was (--force writes its label all the same)",
				   t->dev.path, info->index);
	}
	return err;
}

static bool is_named(const struct work *w, const struct ek_label_info *info)
{
	const struct ek_super *sb = w->super;
	unsigned int i = info->index;

	if (info->role == EK_ROLE_META)
		return !sb->generation || (i < le32_to_cpu(sb->nr_meta) &&
					   ek_super_names(sb, i, info->area_uuid));
	if (sb->generation)
		return i < le32_to_cpu(sb->nr_members) && i < EK_MAX_MEMBERS &&
		       le32_to_cpu(sb->member[i].state) != EK_MEMBER_REMOVED &&
		       !memcmp(sb->member[i].uuid, info->area_uuid, EK_UUID_SIZE);
	return w->d.members >> i & 1 && !memcmp(w->d.member[i], info->area_uuid, EK_UUID_SIZE);
}

static int judge_named(const struct work *w, const struct target *t)
{
	const struct ek_label_info *info;
	char text[AREA_TEXT];
	unsigned int i;

	for (i = 0; (info = next(w, t, &i)); i++)
		if (!is_named(w, info))
			return fail("%s: %s names no such %s as the label is of", t->dev.path,
				    w->super->generation ? "the pool's superblock" : "the dump",
				    area_text(text, info->role, info->index));
	return EXIT_OK;
}

/* --- whose it may be by now --- */

static int judge_place(const struct target *t, const struct ek_label_info *info)
{
	const uint64_t start = info->area_start * SECTOR_SIZE;
	const uint64_t at[] = { start, start + ek_label_copy_offset(info->area_sectors) };
	struct ek_label_info there;
	char text[AREA_TEXT];
	unsigned int i;
	int err;

	for (i = 0; i < 2; i++) {
		err = area_label_read(&t->dev, at[i], &there);
		if (err == -EPROTONOSUPPORT || err == -EIO || (!err && !is_same(&there, info)))
			return fail("%s: %s of %s: what is there is %s", t->dev.path,
				    i ? "the label's copy" : "label",
				    area_text(text, info->role, info->index),
				    err ? area_label_error(err) : "another label");
	}
	return EXIT_OK;
}

static int judge_places(const struct work *w, const struct target *t)
{
	const struct ek_label_info *info;
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; !err && (info = next(w, t, &i)); i++)
		err = judge_place(t, info);
	return err;
}

/* Its label is there, and only one of two that were written one after the other is not. */
static bool is_ours(const struct target *t)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (!t->area[i].info.area_start && !t->area[i].head_err)
			return true;
	return false;
}

static int judge_foreign(const struct work *w, const struct target *t)
{
	struct area area[AREA_MAX];
	int nr = areas_of(w, t, area), err;
	char *owner = owner_of(&t->dev, area, nr), *what = NULL;

	if (!owner && !is_ours(t))
		what = owner_but_table(&t->dev, area, nr);
	if (owner)
		err = fail("%s: %s: name what is made of that (--force writes to it all the same)",
			   t->dev.path, owner);
	else
		err = what ? fail("%s: something else is on the device: %s %s (--force writes the labels all the same)",
				  t->dev.path, signature_article(what), what) : EXIT_OK;
	free(owner);
	free(what);
	return err;
}

#define LOOK	(1u << 20)	/* of its data */

/* A new disk of the same size has nothing of what was on the old one. */
static int judge_blank(const struct target *t)
{
	const uint64_t at = EK_AREA_HEAD_BYTES, bytes = t->dev.sectors * SECTOR_SIZE;
	size_t len = bytes > at + LOOK ? LOOK : 0;
	uint8_t *data = bdev_buffer(LOOK);
	bool blank;

	blank = len && !bdev_read(&t->dev, at, data, len) && !*data &&
			!memcmp(data, data + 1, len - 1);
	free(data);
	return blank ? fail("%s: is known by its size alone, and all zero where a member has data: is it another one? (--force writes the labels all the same)",
			    t->dev.path) : EXIT_OK;
}

/* Others may be at work on the pool, or on what the devices lie on. */
static int judge_claims(const struct work *w)
{
	struct pool *p = xcalloc(1, sizeof(*p));
	struct pool_area *a;
	int i, err;

	memcpy(p->uuid, w->d.pool.pool_uuid, EK_UUID_SIZE);
	memcpy(p->name, w->d.pool.name, EK_NAME_SIZE);
	for (i = 0; i < w->nr; i++) {
		a = i < EK_MAX_MEMBERS ? &p->member[i] : &p->meta[i - EK_MAX_MEMBERS];
		a->there = true;
		a->path = w->target[i].dev.path;
		a->rdev = w->target[i].dev.rdev;
		a->fs = w->target[i].dev.fs;
		a->ino = w->target[i].dev.ino;
	}
	err = claims_judge(p, true);	/* whose parts they are: judge_foreign() */
	free(p);
	return err;
}

/* It, or what it is made of, or what is made of it. */
static bool is_target(const struct work *w, dev_t rdev)
{
	dev_t its;
	int i;

	for (i = 0; i < w->nr; i++) {
		its = w->target[i].dev.rdev;
		if (its && (its == rdev || bdev_is_above(its, rdev) || bdev_is_above(rdev, its)))
			return true;
	}
	return false;
}

static int judge_other(const struct work *w, const struct pool_area *a)
{
	const struct ek_label_info *info;
	char text[AREA_TEXT];
	unsigned int k;
	int i;

	if (!a->there || is_target(w, a->rdev))
		return EXIT_OK;
	for (i = 0; i < w->nr; i++)
		for (k = 0; (info = next(w, &w->target[i], &k)); k++)
			if (is_same(info, &a->area.info))
				return fail("%s: is not where %s was: %s carries its label",
					    w->target[i].dev.path,
					    area_text(text, info->role, info->index), a->path);
	return EXIT_OK;
}

static int judge_others_of(const struct work *w, const struct pool *p)
{
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; i < EK_MAX_META && !err; i++)
		err = judge_other(w, &p->meta[i]);
	for (i = 0; i < EK_MAX_MEMBERS && !err; i++)
		err = judge_other(w, &p->member[i]);
	return err;
}

/* Who names one device alone may have the wrong one of two that are as large. */
static int judge_elsewhere(const struct work *w)
{
	struct pools pools;
	bool devices = false;
	unsigned int k;
	int i, err;

	for (i = 0; i < w->nr; i++)
		devices |= !!w->target[i].dev.rdev;
	if (!devices)
		return EXIT_OK;
	pools_quietly(true);
	err = pools_scan_owned(&pools, UINT64_MAX);
	pools_quietly(false);
	if (err)
		return fail("can't look for the pool's other devices: %s", strerror(-err));
	for (k = 0; k < pools.nr && !err; k++)
		if (!memcmp(pools.pool[k].uuid, w->d.pool.pool_uuid, EK_UUID_SIZE))
			err = judge_others_of(w, &pools.pool[k]);
	pools_free(&pools);
	return err;
}

static int judge(struct work *w)
{
	int i, err = judge_claims(w);

	if (!err)
		err = judge_elsewhere(w);
	for (i = 0; i < w->nr && !err; i++)
		err = ask_pool(w, &w->target[i]);
	for (i = 0; i < w->nr && !err; i++) {
		if (!lacks(w, &w->target[i]))
			continue;
		err = judge_named(w, &w->target[i]);
		if (!err)
			err = judge_places(w, &w->target[i]);
		if (!err && !w->force)
			err = judge_foreign(w, &w->target[i]);
		if (!err && !w->force && !w->target[i].nr)
			err = judge_blank(&w->target[i]);
	}
	return err;
}

/* --- and it is done --- */

static int write_target(const struct work *w, const struct target *t, unsigned int *written)
{
	const struct ek_label_info *info;
	char text[AREA_TEXT];
	unsigned int i;
	int err;

	for (i = 0; (info = next(w, t, &i)); i++) {
		area_text(text, info->role, info->index);
		err = area_label_write(&t->dev, info);
		if (err)
			return fail("%s: label of %s: %s", t->dev.path, text, strerror(-err));
		note("%s: label of %s written anew", t->dev.path, text);
		(*written)++;
	}
	/* Or the event of its closing is the first to show the pool, and starts it unchecked. */
	if (lacks(w, t) && t->dev.rdev)
		bdev_announce(t->dev.rdev);
	return EXIT_OK;
}

static int write_all(const struct work *w)
{
	unsigned int written = 0;
	int i, err = EXIT_OK;

	for (i = 0; i < w->nr && !err; i++)
		err = write_target(w, &w->target[i], &written);
	if (!err && !written)
		note("%s: all labels are there", w->d.pool.name);
	return err;
}

static int open_and_write(struct work *w, char * const *paths, int nr)
{
	int err = EXIT_OK;

	w->target = xcalloc(nr, sizeof(*w->target));
	w->super = bdev_buffer(sizeof(*w->super));
	for (; w->nr < nr && !err; w->nr++)
		err = open_target(&w->target[w->nr], paths[w->nr]);
	if (!err)
		err = assign(w);
	if (!err)
		err = judge(w);
	if (!err)
		err = write_all(w);
	while (w->nr)
		bdev_close(&w->target[--w->nr].dev);
	free(w->target);
	free(w->super);
	return err;
}

int relabel(FILE *dump, char * const *paths, int nr, bool force)
{
	struct work w = { .force = force };
	int err = dumped_labels_read(&w.d, dump);

	if (err)
		return err;
	err = lock_pool(w.d.pool.pool_uuid, w.d.pool.name);
	if (!err)
		err = open_and_write(&w, paths, nr);
	dumped_labels_free(&w.d);
	return err;
}
