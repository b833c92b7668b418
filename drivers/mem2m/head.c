// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device that was deleted leaves its labels, and who uses the memory for something else
 * overwrites one of them at best: a partition table, swap space and a physical volume begin at the
 * start of the range, a RAID's superblock is between the copies. One whole copy is no proof then.
 *
 * What a device leaves in its head is both copies and zeroes.  A copy differs from that when
 *
 *	its write was cut	each word is of the label before or of the new one: both have the
 *				magic and nothing in what is reserved
 *	the first one was	each word is zero or of the new one, which says FRESH: it is not
 *				taken off before both copies are durable
 *	the memory has an error	the magic or the uuid is still there
 *	it is in bad memory	it was read as nothing but the magic
 */
#include <linux/stddef.h>
#include <linux/string.h>
#include <evenkeel/label.h>

#include "head.h"

#define M2_COPY_BYTES	sizeof(struct m2_label)

static bool m2_zero_between(const u8 *head, size_t from, size_t to)
{
	return !memchr_inv(head + from, 0, to - from);
}

/* From some byte on, is each as in the whole copy or zero? */
static bool m2_copy_cut(const u8 *copy, const u8 *whole, size_t from)
{
	size_t i;

	for (i = from; i < M2_COPY_BYTES; i++)
		if (copy[i] && copy[i] != whole[i])
			return false;
	return true;
}

static bool m2_copy_whole(const struct m2_label *copy)
{
	return copy->magic == cpu_to_le64(M2_LABEL_MAGIC) &&
	       le32_to_cpu(copy->csum) == ek_checksum(copy, sizeof(*copy), &copy->csum);
}

/* Who writes something else there writes all of the sector. */
static bool m2_copy_recognized(const struct m2_label *copy, const struct m2_label *whole)
{
	return copy->magic == cpu_to_le64(M2_LABEL_MAGIC) ||
	       !memcmp(copy->uuid, whole->uuid, M2_UUID_SIZE);
}

static bool m2_copy_is_ours(const struct m2_label *copy, const struct m2_label *whole, u32 flags)
{
	const u8 *at = (const u8 *)copy, *label = (const u8 *)whole;

	if (m2_copy_whole(copy))
		return true;
	if (m2_copy_recognized(copy, whole))
		return m2_copy_cut(at, label, offsetof(struct m2_label, reserved));
	return flags & M2_LABEL_FRESH && m2_copy_cut(at, label, 0);
}

/**
 * m2_head_is_ours - is all of a head as a device leaves it?
 * @head: M2_HEAD_BYTES from the start of the range; zero where it can't be read, but for a copy of
 *	the label, which has the magic then
 * @info: what m2_label_read() found in it
 *
 * Return: false: somebody has put something else there since.
 */
bool m2_head_is_ours(const void *head, const struct m2_label_info *info)
{
	const struct m2_label *whole = head + info->newest * M2_LABEL_STRIDE;
	const struct m2_label *copy = head + !info->newest * M2_LABEL_STRIDE;

	return m2_zero_between(head, M2_COPY_BYTES, M2_LABEL_STRIDE) &&
	       m2_zero_between(head, M2_LABEL_STRIDE + M2_COPY_BYTES, M2_HEAD_BYTES) &&
	       m2_copy_is_ours(copy, whole, info->flags);
}
