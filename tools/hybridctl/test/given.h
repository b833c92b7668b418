/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What somebody has put on a device of a pool since, who took it for free: on the first one of a
 * set.
 */
#ifndef TEST_GIVEN_H
#define TEST_GIVEN_H

#include "mended.h"

void given_put(const struct image_set *set, u64 at, const void *what, size_t len);

/* make-bcache */
void given_bcache(const struct image_set *set);
/* A partition table in the first sector, and its signature. */
void given_mbr(const struct image_set *set);
/* bcache, and only a member's copy is left of all the labels. */
void given_over_all(const struct image_set *set);
/* A backup of a GPT's header, at the end. */
void given_backup(const struct image_set *set);
/* parted's mklabel gpt */
void given_gpt(const struct image_set *set);

#endif
