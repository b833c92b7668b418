/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of changing a volume's members, each complete in itself; all print why not and return
 * an exit status.
 */
#ifndef HYBRIDCTL_MEMBER_H
#define HYBRIDCTL_MEMBER_H

#include "fresh.h"
#include "live.h"

/* A device joins; its index, -1: refused. */
int member_add(struct live *l, const char *path, const struct fresh *how);
/* Begin to empty a member, and wait until it is empty. */
int member_evacuate(struct live *l, unsigned int i, bool wait);
/* An empty member leaves, and its label goes. */
int member_remove(struct live *l, unsigned int i);
/* Wipe the label of one that left, or never quite joined, when that was cut short. */
bool member_is_leftover(const struct live *l, const char *path);
/* Joined in the last day, or nothing is on it yet. */
bool member_is_young(const struct live *l, unsigned int i);
int member_forget(const struct live *l, const char *path);
/* The volume grows to @sectors; 0: to all but the reserve. */
int member_grow(struct live *l, uint64_t sectors);

#endif
