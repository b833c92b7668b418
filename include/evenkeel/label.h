/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Labels of areas (hybrid_format.h).  Pure: encode, decode, judge; no I/O.
 */
#ifndef _EVENKEEL_LABEL_H
#define _EVENKEEL_LABEL_H

#include <linux/types.h>
#include <evenkeel/hybrid_format.h>

/* A label in host form; sizes in sectors. */
struct ek_label_info {
	u8 pool_uuid[EK_UUID_SIZE];
	u8 area_uuid[EK_UUID_SIZE];
	u32 role;
	u32 index;
	u32 nr_members;
	u32 nr_meta;
	u32 extent_sectors;
	u64 area_start;
	u64 area_sectors;
	u64 ctime;
	char name[EK_NAME_SIZE];
};

void ek_label_encode(const struct ek_label_info *info, struct ek_label *label);

/*
 * Check and unpack.
 * Return: 0; -ENODATA: all zero; -EINVAL: something else is there (foreign);
 * -EUCLEAN: ours, but its checksum or a field is wrong;
 * -EPROTONOSUPPORT: ours, of a version or with incompat bits unknown here.
 */
int ek_label_decode(const struct ek_label *label, struct ek_label_info *info);

/* Physical extents that a member area of @sectors holds. */
u64 ek_member_extents(u64 sectors, u32 extent_sectors);

/* Sector of physical extent @pe, relative to the area's start. */
static inline u64 ek_member_sector(u32 pe, u32 extent_sectors)
{
	return (EK_AREA_HEAD_BYTES >> EK_SECTOR_SHIFT) + (u64)pe * extent_sectors;
}

/* Byte offset of the label's copy in an area of @sectors. */
u64 ek_label_copy_offset(u64 sectors);

/* CRC-32C as hybrid_format.h states it; @csum: the field inside @buf taken as zero. */
u32 ek_checksum(const void *buf, size_t len, const __le32 *csum);

#endif
