/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The extent map's 64-bit entry: member, physical extent, a validity bit per
 * granule.  Pure: also builds in userspace.
 */
#ifndef _EVENKEEL_ENTRY_H
#define _EVENKEEL_ENTRY_H

#include <linux/types.h>
#include <evenkeel/hybrid_format.h>

/**
 * ek_entry_make - put an entry together
 * @member: index of the member, 0 to 31
 * @pe: physical extent on it, below EK_MAX_MEMBER_EXTENTS
 * @valid: a bit per granule that has been written
 *
 * Context: any.
 * Return: the entry, never 0.
 */
static inline u64 ek_entry_make(unsigned int member, u32 pe, u32 valid)
{
	return (u64)member << EK_ENTRY_MEMBER_SHIFT |
	       (u64)(pe + 1) << EK_ENTRY_PHYS_SHIFT | valid;
}

static inline bool ek_entry_mapped(u64 e)
{
	return e >> EK_ENTRY_PHYS_SHIFT;
}

static inline unsigned int ek_entry_member(u64 e)
{
	return e >> EK_ENTRY_MEMBER_SHIFT;
}

/* Only meaningful for a mapped entry. */
static inline u32 ek_entry_pe(u64 e)
{
	return ((e >> EK_ENTRY_PHYS_SHIFT) & EK_MAX_MEMBER_EXTENTS) - 1;
}

static inline u32 ek_entry_valid(u64 e)
{
	return e & EK_ENTRY_VALID_MASK;
}

/**
 * ek_granules - granules that an extent is divided into
 * @extent_sectors: its length, in sectors: a power of two, EK_MIN_EXTENT_SECTORS at least
 *
 * A granule is a block at least, so that a small extent has fewer than an entry has bits.
 * Context: any.
 * Return: their number, 1 to EK_GRANULES; so many of an entry's validity bits, the lowest ones, are
 * in use.
 */
static inline u32 ek_granules(u32 extent_sectors)
{
	return min_t(u32, extent_sectors / (EK_BLOCK_SIZE >> 9), EK_GRANULES);
}

/* Where an entry points, without its validity. */
static inline u64 ek_entry_place(u64 e)
{
	return e & ~EK_ENTRY_VALID_MASK;
}

/**
 * ek_discard_covers - granules of an extent that a discard covers
 * @from: its first sector within the extent
 * @to: the first one behind it, @end at most
 * @end: sectors of the extent that the volume has: fewer than its length in a volume's last one
 * @granule_shift: of a number of sectors
 *
 * The granule that the volume ends in counts as covered to its end.  What is behind the volume is
 * zeroes, as a first write fills its granule; but for what a longer table wrote there.
 * Context: any.
 * Return: a bit for each.
 */
static inline u32 ek_discard_covers(u32 from, u32 to, u32 end, u32 granule_shift)
{
	u32 granule = 1u << granule_shift;
	u32 first = (from + granule - 1) >> granule_shift;
	u32 last = (to + (to == end ? granule - 1 : 0)) >> granule_shift;

	return first < last ? (u32)((2ull << (last - 1)) - (1ull << first)) : 0;
}

/**
 * ek_entry_discard - what a discard leaves of an entry
 * @e: the entry, mapped
 * @bits: granules that it covers
 * @whole: it covers all that the volume has of the extent
 *
 * Behind the end of a volume that was longer once other granules may be valid; then it stays.  One
 * that is covered in part stays, too, whatever is valid: a first write to the rest may be under
 * way, and would lose its place.
 * Context: any.
 * Return: the entry as it is to be; 0: unmapped.
 */
static inline u64 ek_entry_discard(u64 e, u32 bits, bool whole)
{
	e &= ~(u64)bits;
	return whole && !ek_entry_valid(e) ? 0 : e;
}

#endif
