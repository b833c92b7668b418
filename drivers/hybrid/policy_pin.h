/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pins: logical extents that are held on a member, whatever the policy is.  Pure; the caller
 * serialises.
 *
 * In text, which is a setting's value and so in the table line and in the superblock:
 * "FIRST+COUNT:MEMBER", in extents, or "FIRST+COUNT/STRIDE*TIMES:MEMBER" for a range that comes
 * again every STRIDE extents, TIMES in all, as file systems have it; several with commas between.
 * Of two that hold an extent the first in order counts.
 */
#ifndef _HYBRID_POLICY_PIN_H
#define _HYBRID_POLICY_PIN_H

#include <linux/bits.h>
#include <linux/types.h>

#define HY_PINS		20	/* ranges at most */
#define HY_PINS_TEXT	512	/* and characters, NUL included: others share the room */
#define HY_PIN_EXTENTS	BIT_ULL(47)	/* of any volume */

/**
 * struct hy_pin - a range
 * @first: its first extent
 * @nr: extents
 * @stride: from one repetition to the next; 0 if there is but one
 * @times: how many there are
 * @member: where they are held
 */
struct hy_pin {
	u64 first : 48;
	u64 member : 16;
	u32 nr;
	u32 stride;
	u32 times;
};

/**
 * struct hy_pins - all of them
 * @nr: how many
 * @pin: they
 */
struct hy_pins {
	u32 nr;
	struct hy_pin pin[HY_PINS];
};

int hy_pins_set(struct hy_pins *pins, const char *text, unsigned int members, const char **reason);
int hy_pins_add(struct hy_pins *pins, u64 first, u32 nr, unsigned int member,
		const char **reason);
int hy_pins_remove(struct hy_pins *pins, u64 first, u64 nr, const char **reason);
/* As snprintf(). */
int hy_pins_emit(const struct hy_pins *pins, char *buf, size_t len);
/* Where the extent is held; -1: nowhere. */
int hy_pins_find(const struct hy_pins *pins, u64 le);
/* The first held extent from @le on; U64_MAX: none. */
u64 hy_pins_next(const struct hy_pins *pins, u64 le);
/* The end of the last one; 0: there are none. */
u64 hy_pins_end(const struct hy_pins *pins);

#endif
