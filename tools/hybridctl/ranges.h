/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges of extents, and the few repeating ones that they are made of: what the kernel's setting
 * pin takes.  Pure.
 */
#ifndef HYBRIDCTL_RANGES_H
#define HYBRIDCTL_RANGES_H

#include <stdint.h>

#define PINS_MAX	20	/* the kernel's HY_PINS and HY_PINS_TEXT */
#define PINS_TEXT	512

struct range {
	uint64_t first, nr;
};

/* Zeroed to begin with. */
struct ranges {
	struct range *range;
	unsigned long nr, max;
};

void ranges_add(struct ranges *r, uint64_t first, uint64_t nr);
/* In order, none touching another. */
void ranges_settle(struct ranges *r);
void ranges_free(struct ranges *r);
uint64_t ranges_sum(const struct ranges *r);
/* How much of these is in @r, which is settled. */
uint64_t ranges_overlap(const struct ranges *r, uint64_t first, uint64_t nr);

/*
 * "FIRST+COUNT[/STRIDE*TIMES]:MEMBER,..." into @text of PINS_TEXT bytes: as much of @r, which is
 * settled, as fits, the most at a time first; nothing else.  What didn't fit stays in @r.
 */
void ranges_to_pins(struct ranges *r, unsigned int member, char *text);

#endif
