// SPDX-License-Identifier: GPL-2.0-only
/*
 * In which order a range becomes a device and grows: whenever the power goes, or the device beneath
 * can't make something durable, whoever looks next finds what was there before, a device that is to
 * be begun anew, or one in which nothing is but zeroes and what was written to it.
 *
 *	cut, or failed, before		is found
 *	a copy of the label is durable	what was there; over that by force: its label, torn at worst
 *	all before the data is zero	a label that says FRESH: create begins anew
 *	all data is zero		the same
 *	the label without FRESH is	the same, or the device
 *
 *	what grows is zero		the device as it was: nobody looks behind its end
 *	its label is durable		the same, or the larger one
 */
#include <linux/errno.h>

#include "order.h"

static int zero_and_settle(const struct m2_means *by, u64 from, u64 to)
{
	return by->zero(by->ctx, from, to) ?: by->settle(by->ctx);
}

/**
 * m2_order_head - write the label of a new device, and leave nothing else before its data
 * @by: what the range is written by
 * @label: the label, which says FRESH
 *
 * Who was there before must not be found again, by whatever looks: other users of a pmem device
 * know themselves by what is some way behind its start, devices and file systems of ours may have
 * begun anywhere.  Struct pages don't overwrite all of it: those of the pages that hold struct
 * pages are never written, and those of a section that is filled in part are elsewhere.
 *
 * Return: 0 or a negative error number of what failed.
 */
int m2_order_head(const struct m2_means *by, const struct m2_label_info *label)
{
	u64 len = sizeof(struct m2_label);
	int err;

	err = by->write(by->ctx);
	if (!err)
		err = by->zero(by->ctx, len, M2_LABEL_STRIDE);
	if (!err)
		err = zero_and_settle(by, M2_LABEL_STRIDE + len, label->data_offset);
	return err;
}

/**
 * m2_order_data - make the data of a device that was not finished, and say that it is
 * @by: what the range is written by
 * @label: what is found there; no longer FRESH when 0 is returned
 *
 * Return: 0, also where nothing was left to do, or a negative error number of what failed.
 */
int m2_order_data(const struct m2_means *by, struct m2_label_info *label)
{
	int err;

	if (!(label->flags & M2_LABEL_FRESH))
		return 0;
	err = zero_and_settle(by, label->data_offset, label->data_offset + label->data_bytes);
	if (err)
		return err;
	label->flags &= ~M2_LABEL_FRESH;
	err = by->write(by->ctx);
	if (err)
		label->flags |= M2_LABEL_FRESH;
	return err;
}

/**
 * m2_order_resize - let a device have another size
 * @by: what the range is written by
 * @label: what is there; its size has changed when 0 is returned
 * @bytes: how much data is to be shown, of what the range has room for
 *
 * Return: 0 or a negative error number of what failed.
 */
int m2_order_resize(const struct m2_means *by, struct m2_label_info *label, u64 bytes)
{
	u64 old = label->data_bytes, begin = label->data_offset;
	int err = 0;

	if (bytes > old)
		err = zero_and_settle(by, begin + old, begin + bytes);
	if (err)
		return err;
	label->data_bytes = bytes;
	err = by->write(by->ctx);
	if (err)
		label->data_bytes = old;
	return err;
}
