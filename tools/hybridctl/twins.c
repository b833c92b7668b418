// SPDX-License-Identifier: GPL-2.0-only
/* Which of several devices that carry the same label is meant. */
#include <string.h>

#include "msg.h"
#include "twins.h"

bool twins_are(const struct pool_area *a, const struct pool_area *b)
{
	const struct ek_label_info *x = &a->area.info, *y = &b->area.info;

	return a->there && b->there && x->role == y->role && x->index == y->index &&
	       !memcmp(x->area_uuid, y->area_uuid, EK_UUID_SIZE);
}

/* What is beneath another one is seen there. */
static bool is_beneath(const struct pool *p, const struct pool_area *a, dev_t rdev)
{
	const struct pool_area *twin;

	if (a->rdev && bdev_is_above(a->rdev, rdev))
		return true;
	for (twin = p->twin; twin && twin < p->twin + p->nr_twins; twin++)
		if (twin->rdev && twins_are(a, twin) && bdev_is_above(twin->rdev, rdev))
			return true;
	return false;
}

/* An image file lies on nothing, and is no snapshot that anybody knows of. */
static bool is_snapshot(const struct pool_area *a)
{
	return a->rdev && bdev_is_snapshot(a->rdev);
}

/* Topmost is 1, and no snapshot 2; what is beneath others 0. */
static unsigned int rank(const struct pool *p, const struct pool_area *of,
			 const struct pool_area *a)
{
	if (a->rdev && is_beneath(p, of, a->rdev))
		return 0;
	return is_snapshot(a) ? 1 : 2;
}

/*
 * The topmost of a stack (dm, multipath) is meant.  Of a device and its snapshots it is not what it
 * was some time ago.
 */
static void prefer(struct pool *p, struct pool_area *a)
{
	struct pool_area *twin, *best = a, swap;

	for (twin = p->twin; twin && twin < p->twin + p->nr_twins; twin++)
		if (twins_are(a, twin) && rank(p, a, twin) > rank(p, a, best))
			best = twin;
	swap = *a;
	*a = *best;
	*best = swap;
}

void twins_prefer(struct pool *p)
{
	unsigned int i;

	if (!p->nr_twins)
		return;
	for (i = 0; i < p->nr_meta; i++)
		prefer(p, &p->meta[i]);
	for (i = 0; i < p->nr_members; i++)
		prefer(p, &p->member[i]);
	for (i = 0; i < p->nr_other; i++)
		prefer(p, &p->other[i]);
}

static void judge_twin(struct pool *p, const struct pool_area *a, const struct pool_area *twin,
		       bool quiet)
{
	if (twin->rdev && is_beneath(p, a, twin->rdev))
		return;
	if (is_snapshot(twin) && !is_snapshot(a)) {
		if (!quiet)
			warn("%s: passed over, as it is a snapshot and %s carries the same label",
			     twin->path, a->path);
	} else if (!p->conflict) {
		p->conflict = xasprintf("%s and %s carry the same label", a->path, twin->path);
		p->alike = true;
	}
}

static void judge(struct pool *p, const struct pool_area *a, bool quiet)
{
	const struct pool_area *twin;

	for (twin = p->twin; twin && twin < p->twin + p->nr_twins; twin++)
		if (twins_are(a, twin))
			judge_twin(p, a, twin, quiet);
}

void twins_judge(struct pool *p, bool quiet)
{
	unsigned int i;

	for (i = 0; i < p->nr_meta; i++)
		judge(p, &p->meta[i], quiet);
	for (i = 0; i < p->nr_members; i++)
		judge(p, &p->member[i], quiet);
}

bool twins_outrank(const struct pool *p, const struct pool_area *a, dev_t rdev)
{
	return is_beneath(p, a, rdev) || (bdev_is_snapshot(rdev) && !is_snapshot(a));
}
