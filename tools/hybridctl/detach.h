/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device goes without being emptied, and comes back with what is on it, while the volume runs.
 * Both print why not and return an exit status; each can be cut anywhere and be asked for again.
 */
#ifndef HYBRIDCTL_DETACH_H
#define HYBRIDCTL_DETACH_H

#include "live.h"

/* @word: a path, or a member's number; @force: though it has not failed. */
int detach_device(struct live *l, const char *word, bool force);
/* A device of which labels say that it is missed; @force: though its metadata went on alone. */
int attach_device(struct live *l, const char *path, bool force);

#endif
