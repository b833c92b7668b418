// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include <evenkeel/scm.h>

#include "label.h"

static void m2_label_encode(const struct m2_label_info *info, struct m2_label *label)
{
	memset(label, 0, sizeof(*label));
	label->magic = cpu_to_le64(M2_LABEL_MAGIC);
	label->version = cpu_to_le32(M2_FORMAT_VERSION);
	label->generation = cpu_to_le64(info->generation);
	memcpy(label->uuid, info->uuid, M2_UUID_SIZE);
	memcpy(label->name, info->name, strnlen(info->name, M2_NAME_SIZE - 1));
	label->range_bytes = cpu_to_le64(info->range_bytes);
	label->data_offset = cpu_to_le64(info->data_offset);
	label->data_bytes = cpu_to_le64(info->data_bytes);
	label->ctime = cpu_to_le64(info->ctime);
	label->flags = cpu_to_le32(info->flags);
	label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
}

static bool m2_label_valid(const struct m2_label_info *info)
{
	return info->name[0] && !info->name[M2_NAME_SIZE - 1] && info->generation &&
	       info->data_offset >= M2_HEAD_BYTES && !(info->data_offset & 4095) &&
	       info->data_bytes && !(info->data_bytes & 4095) &&
	       info->data_offset < info->range_bytes &&
	       info->data_bytes <= info->range_bytes - info->data_offset;
}

/* Codes as of m2_label_read(); what is no label at all is -EINVAL. */
static int m2_label_decode(const struct m2_label *label, struct m2_label_info *info)
{
	if (label->magic != cpu_to_le64(M2_LABEL_MAGIC))
		return -EINVAL;
	if (le32_to_cpu(label->csum) != ek_checksum(label, sizeof(*label), &label->csum))
		return -EUCLEAN;
	if (label->version != cpu_to_le32(M2_FORMAT_VERSION) || label->incompat)
		return -EPROTONOSUPPORT;
	memcpy(info->uuid, label->uuid, M2_UUID_SIZE);
	memcpy(info->name, label->name, M2_NAME_SIZE);
	info->generation = le64_to_cpu(label->generation);
	info->range_bytes = le64_to_cpu(label->range_bytes);
	info->data_offset = le64_to_cpu(label->data_offset);
	info->data_bytes = le64_to_cpu(label->data_bytes);
	info->ctime = le64_to_cpu(label->ctime);
	info->flags = le32_to_cpu(label->flags);
	return m2_label_valid(info) ? 0 : -EUCLEAN;
}

/**
 * m2_label_read - what the head of a range says
 * @head: M2_HEAD_BYTES from the start of the range
 * @info: filled when 0 is returned
 *
 * Return: 0; -ENODATA: all zero; -EINVAL: something else is there (foreign); -EUCLEAN: ours, but
 * neither copy is whole; -EPROTONOSUPPORT: ours, of a version or with incompat bits unknown here.
 */
int m2_label_read(const void *head, struct m2_label_info *info)
{
	struct m2_label_info found;
	int worst = -ENODATA, r;
	bool any = false;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		r = m2_label_decode(head + i * M2_LABEL_STRIDE, &found);
		if (r == -EPROTONOSUPPORT)
			return r;
		if (r == -EUCLEAN)
			worst = r;
		if (r || (any && found.generation <= info->generation))
			continue;
		*info = found;
		info->newest = i;
		any = true;
	}
	if (any)
		return 0;
	if (worst == -ENODATA && memchr_inv(head, 0, M2_HEAD_BYTES))
		return -EINVAL;
	return worst;
}

static void m2_label_copy(void *range, unsigned int copy, const struct m2_label *label)
{
	scm_copy_nt(range + copy * M2_LABEL_STRIDE, label, sizeof(*label));
	scm_fence();
}

/*
 * The first copy could not be made durable.  It is in the memory all the same, and would count for
 * whoever looks next: so it gets what the other one says, as of later.  Should the power go before
 * anything else is flushed it is either of the two, or torn.
 */
static void m2_label_undo(void *range, struct m2_label_info *info)
{
	struct m2_label label = {};
	struct m2_label_info old;

	if (!m2_label_decode(range + info->newest * M2_LABEL_STRIDE, &old)) {
		info->generation = info->generation + 1 ?: 1;
		old.generation = info->generation;
		m2_label_encode(&old, &label);
	}
	m2_label_copy(range, !info->newest, &label);
}

/**
 * m2_label_write - change both copies such that one is whole at any time
 * @range: start of the range
 * @info: what to write, the next generation of which is; @info->newest is the copy that is known to
 *	be durable, and the last to be overwritten, also when this fails
 * @settle: what it takes beyond a fence to make a copy durable, an error otherwise; NULL: nothing
 * @ctx: for @settle
 *
 * Return: 0 when the one that counts is durable, though the other one may not be; or the error of
 * @settle: the range says what it said before.
 */
int m2_label_write(void *range, struct m2_label_info *info, int (*settle)(void *ctx), void *ctx)
{
	struct m2_label label;
	unsigned int i, copy = !info->newest;
	int err;

	/* 0 is no label's. Until both copies are of the first one again, the old one counts. */
	info->generation = info->generation + 1 ?: 1;
	m2_label_encode(info, &label);
	for (i = 0; i < 2; i++, copy = !copy) {
		m2_label_copy(range, copy, &label);
		err = settle ? settle(ctx) : 0;
		if (err)
			break;
		info->newest = copy;
	}
	if (!i)
		m2_label_undo(range, info);
	return i ? 0 : err;
}
