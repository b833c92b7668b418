/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of changing a volume's members, each complete in itself; all print why not and return
 * an exit status.
 */
#ifndef HYBRIDCTL_MEMBER_H
#define HYBRIDCTL_MEMBER_H

#include "fresh.h"
#include "live.h"

/* The place of one that left, or behind the others; -1: there are too many, printed. */
int member_vacant(const struct live *l);
/* A label for an area that is to be member @index. */
void member_make_info(const struct live *l, uint64_t start, uint64_t sectors, unsigned int index,
		      struct ek_label_info *info);
/* It and its copy, durably. */
int member_write_label(const struct bdev *dev, const struct ek_label_info *info);
/* After a join that failed: what was on the device, unless the superblock may name the member. */
void member_take_back(struct live *l, struct wipe *w, const struct bdev *dev,
		      const struct ek_label_info *info);
/* Are the device's logical blocks small enough for what is on the volume? */
int member_judge_blocks(const struct live *l, const struct bdev *dev);
/*
 * A device joins; its index, -1: refused, or interrupted (interrupt.h) when it can be as it was.  A
 * signal that came later is left to the caller.
 */
int member_add(struct live *l, const char *path, const struct fresh *how);
/* What can be done where the others have no room, by the command that asks: a remedy. */
#define MEMBER_ADD_OR_FORCE	"add one, or use --force"
#define MEMBER_TAKE_LARGER	"take a larger one in its place, or add another one first"
/*
 * Can all of the volume be written without that member, and with @joining extents more?  EXIT_OK,
 * after a warning also if there is no @remedy (NULL), as it is forced.
 */
int member_judge_room(const struct live *l, unsigned int but, uint64_t joining,
		      const char *remedy);
/* It is lost, with what was on it. */
bool member_is_lost_with_data(const struct live *l, unsigned int i);
#define EVACUATE_WAIT	 0x1	/* until it is empty */
#define EVACUATE_FORCE	 0x2	/* though not all of the volume could be written then */
#define EVACUATE_GIVE_UP 0x4	/* discard what can't be read, when only that is left; with WAIT */
#define EVACUATE_REPLACE 0x8	/* for a replace, in which --force means something else */
/* Begin to empty a member; @how: EVACUATE_*. */
int member_evacuate(struct live *l, unsigned int i, unsigned int how);
/* An empty member leaves, and its label goes; @remedy as member_judge_room() has it. */
int member_remove(struct live *l, unsigned int i, const char *remedy);
/* The device, if all labels on it are of what left or never quite joined; 0: not so. */
dev_t member_leftover(const struct live *l, const char *path);
#define MEMBER_NONE	(-1)
#define MEMBER_UNKNOWN	(-2)	/* the label or the superblock can't be read, or is not; printed */
/* Which member the superblock means by a label there, be it lost or not; or one of these. */
int member_named(const struct live *l, const char *path);
/*
 * Is it none, or in use?  With the devices' lock.  EXIT_OK, or EXIT_FAILED with how a member that
 * is missed comes back printed, or why nobody knows.
 */
int member_judge_none(const struct live *l, const char *path);
/* Is it none, now that it is held open exclusively?  By that path there may have been another. */
int member_judge_held(const struct live *l, const struct bdev *dev);
/* Joined in the last day, or nothing is on it yet. */
bool member_is_young(const struct live *l, unsigned int i);
/* Wipe them. */
int member_forget(const struct live *l, const char *path);
/* The volume grows to @sectors; 0: to all but the reserve. */
int member_grow(struct live *l, uint64_t sectors);

#endif
