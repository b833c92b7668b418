/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: raw flash, for other drivers
 *
 * A device of the kind "raw" maps nothing: it offers page read, page program and block erase
 * (zhang-2013 5.3.4), and the FTL is its user's. One user has it at a time:
 *
 *	struct nl_raw *raw = nl_raw_get("chips", &my_user, me);
 *
 *	when = ktime_get_ns();
 *	err = nl_raw_page_program(raw, page, 0, when, &when, buf, oob);
 *	...and the page is in the flash at the time @when
 *
 * An operation is decided when it is called, and its time is still to pass: who needs it done waits
 * until then, or has the next operation begin then. After a power cut all that was called is there,
 * but for the one at which the power went.
 *
 * Pages of a block are programmed in order, each once between two erases. What flash would not do
 * is refused, and nothing is changed:
 *
 *	-ERANGE		beyond the end
 *	-EINVAL		program: not the page that is next in its block
 *	-EEXIST		program: the page is not erased
 *	-ENXIO		program, erase: the block is bad
 *
 * Beside these: -ESHUTDOWN, the power is off, or the device gone; -ENOMEM, nothing was done.
 */
#ifndef _EVENKEEL_NAMELESS_RAW_H
#define _EVENKEEL_NAMELESS_RAW_H

#include <linux/types.h>

struct nl_raw;
struct nl_buf;

/**
 * struct nl_raw_user - who has it
 * @name: for messages
 * @cut: the power was cut, or the device removed; from process context, with no lock of the device.
 *	It may be that it is back, or that operations failed before this came; of a cut that an
 *	operation ran into nothing is told but its -ESHUTDOWN. What it locks must not be held by who
 *	calls nl_raw_get() or nl_raw_put()
 */
struct nl_raw_user {
	const char *name;
	void (*cut)(void *ctx);
};

/**
 * struct nl_raw_shape - what it is
 * @planes: that work side by side: a block's number divided by @blocks is its plane's
 * @blocks: erase blocks of a plane
 * @pages: of an erase block: a page's number divided by @pages is its block's
 * @page_bytes: data of a page
 * @oob_bytes: beside it
 */
struct nl_raw_shape {
	unsigned int planes, blocks, pages, page_bytes, oob_bytes;
};

struct nl_raw *nl_raw_get(const char *device, const struct nl_raw_user *user, void *ctx);
void nl_raw_put(struct nl_raw *raw);
void nl_raw_get_shape(const struct nl_raw *raw, struct nl_raw_shape *shape);

int nl_raw_page_read(struct nl_raw *raw, u32 page, unsigned int what_for, u64 now, u64 *when,
		     struct nl_buf **buf, void *oob);
int nl_raw_page_program(struct nl_raw *raw, u32 page, unsigned int what_for, u64 now, u64 *when,
			struct nl_buf *buf, const void *oob);
int nl_raw_block_erase(struct nl_raw *raw, u32 block, unsigned int what_for, u64 now, u64 *when);
int nl_raw_block_mark_bad(struct nl_raw *raw, u32 block);
bool nl_raw_block_is_bad(struct nl_raw *raw, u32 block);

/* A page's data: fill it before it is programmed, and not again. NULL stands for zeroes. */
struct nl_buf *nl_raw_buf_alloc(const struct nl_raw *raw);
void *nl_raw_buf_data(struct nl_buf *buf);
void nl_raw_buf_put(struct nl_buf *buf);

#endif
