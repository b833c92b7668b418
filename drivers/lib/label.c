// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/string.h>
#include <evenkeel/label.h>

/**
 * ek_label_encode - make the 4 KiB that go to an area's head and tail
 * @info: what it says
 * @label: filled, with its checksum
 *
 * Context: any.
 */
void ek_label_encode(const struct ek_label_info *info, struct ek_label *label)
{
	memset(label, 0, sizeof(*label));
	label->magic = cpu_to_le64(EK_LABEL_MAGIC);
	label->version = cpu_to_le32(EK_FORMAT_VERSION);
	memcpy(label->pool_uuid, info->pool_uuid, EK_UUID_SIZE);
	memcpy(label->area_uuid, info->area_uuid, EK_UUID_SIZE);
	label->role = cpu_to_le32(info->role);
	label->index = cpu_to_le32(info->index);
	label->nr_members = cpu_to_le32(info->nr_members);
	label->nr_meta = cpu_to_le32(info->nr_meta);
	label->extent_sectors = cpu_to_le32(info->extent_sectors);
	label->area_start = cpu_to_le64(info->area_start);
	label->area_sectors = cpu_to_le64(info->area_sectors);
	label->ctime = cpu_to_le64(info->ctime);
	memcpy(label->name, info->name, strnlen(info->name, EK_NAME_SIZE - 1));
	label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
}
EXPORT_SYMBOL_GPL(ek_label_encode);

static bool ek_label_info_valid(const struct ek_label_info *info)
{
	u32 nr;

	if (info->nr_members < 1 || info->nr_members > EK_MAX_MEMBERS ||
	    info->nr_meta < 1 || info->nr_meta > EK_MAX_META)
		return false;
	if (info->role != EK_ROLE_META && info->role != EK_ROLE_MEMBER)
		return false;
	nr = info->role == EK_ROLE_META ? info->nr_meta : info->nr_members;
	return info->index < nr && info->area_sectors &&
	       info->extent_sectors >= EK_MIN_EXTENT_SECTORS &&
	       info->extent_sectors <= EK_MAX_EXTENT_SECTORS &&
	       is_power_of_2(info->extent_sectors) &&
	       !info->name[EK_NAME_SIZE - 1];
}

/**
 * ek_label_decode - check and unpack
 * @label: 4 KiB as read
 * @info: filled when 0 is returned
 *
 * Context: any.
 * Return: 0; -ENODATA: all zero; -EINVAL: something else is there (foreign);
 * -EUCLEAN: ours, but its checksum or a field is wrong;
 * -EPROTONOSUPPORT: ours, of a version or with incompat bits unknown here.
 */
int ek_label_decode(const struct ek_label *label, struct ek_label_info *info)
{
	if (!memchr_inv(label, 0, sizeof(*label)))
		return -ENODATA;
	if (label->magic != cpu_to_le64(EK_LABEL_MAGIC))
		return -EINVAL;
	if (le32_to_cpu(label->csum) != ek_checksum(label, sizeof(*label), &label->csum))
		return -EUCLEAN;
	if (label->version != cpu_to_le32(EK_FORMAT_VERSION) || label->incompat)
		return -EPROTONOSUPPORT;

	memcpy(info->pool_uuid, label->pool_uuid, EK_UUID_SIZE);
	memcpy(info->area_uuid, label->area_uuid, EK_UUID_SIZE);
	info->role = le32_to_cpu(label->role);
	info->index = le32_to_cpu(label->index);
	info->nr_members = le32_to_cpu(label->nr_members);
	info->nr_meta = le32_to_cpu(label->nr_meta);
	info->extent_sectors = le32_to_cpu(label->extent_sectors);
	info->area_start = le64_to_cpu(label->area_start);
	info->area_sectors = le64_to_cpu(label->area_sectors);
	info->ctime = le64_to_cpu(label->ctime);
	memcpy(info->name, label->name, EK_NAME_SIZE);
	return ek_label_info_valid(info) ? 0 : -EUCLEAN;
}
EXPORT_SYMBOL_GPL(ek_label_decode);

/**
 * ek_label_copy_offset - where the label's copy lies
 * @sectors: size of the area
 *
 * Context: any.
 * Return: bytes from the area's start; 0 when the area has no room for a copy.
 */
u64 ek_label_copy_offset(u64 sectors)
{
	u64 bytes = round_down(sectors << EK_SECTOR_SHIFT, EK_BLOCK_SIZE);

	return bytes < 2 * EK_BLOCK_SIZE ? 0 : bytes - EK_BLOCK_SIZE;
}
EXPORT_SYMBOL_GPL(ek_label_copy_offset);

/**
 * ek_member_extents - physical extents that a member area holds
 * @sectors: size of the area
 * @extent_sectors: size of an extent
 *
 * Not capped: more than EK_MAX_MEMBER_EXTENTS is for the caller to refuse.
 * Context: any.
 * Return: whole extents between the area's head and the label's copy.
 */
u64 ek_member_extents(u64 sectors, u32 extent_sectors)
{
	u64 end = ek_label_copy_offset(sectors);

	if (end <= EK_AREA_HEAD_BYTES)
		return 0;
	return (end - EK_AREA_HEAD_BYTES) / ((u64)extent_sectors << EK_SECTOR_SHIFT);
}
EXPORT_SYMBOL_GPL(ek_member_extents);
