/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flash: packages, dies, planes, erase blocks, pages with OOB. It knows no FTL.
 *
 * What real flash would not do is refused, counted as a violation and remembered
 * (nl_flash.violations): an FTL that gets one has a bug. The rules: pages of a block are
 * programmed in order, each once between two erases; a block is erased as a whole; nothing is
 * programmed into or erased in a bad block. Each block counts its erases, and beyond its
 * endurance an erase fails and the block is bad.
 *
 * Data is in reference-counted buffers that never change once they are programmed. So a write
 * fills a buffer without any lock and the program only links it; a read takes a reference and
 * copies later, again without a lock; a copy of a page shares the buffer. Where the buffers come
 * from is the environment's business (nl_buf_*). OOB is memory of the block's, there from its
 * first program until its erase.
 *
 * The power can be cut (nl_flash_cut()): at the operation chosen, programs, erases and marks
 * counted; that one is not done, or half done (torn), and every call afterwards fails with
 * -ESHUTDOWN until nl_flash_power_on(). A torn program leaves a page that was not erased any
 * more: its reading fails or looks erased, to program it is a failure (no violation: nobody can
 * know). Page and OOB are one: both are there or neither. A torn erase leaves pages of either
 * kind; the block must be erased again.
 *
 * The caller serialises all calls on one struct nl_flash. nl_flash_program() may sleep for
 * memory, unless nl_flash.nowait is set; the caller has memalloc_noio where it matters. Nothing
 * else here but create, destroy, save and load sleeps or allocates.
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_FLASH_H
#define NAMELESS_FLASH_H

#include "geometry.h"
#include "timing.h"

/*
 * A page's data. Supplied by the environment: drivers/nameless/buf.c, tests/unit/nameless/buf.c.
 * One is page_bytes of the geometry, its content undefined at first; NULL stands for zeros
 * everywhere.
 */
struct nl_buf;
struct nl_buf *nl_buf_alloc(u32 bytes, bool nowait);	/* NULL: no memory. Sleeps if it may. */
struct nl_buf *nl_buf_alloc_user(u32 bytes, bool nowait);	/* for what users write */
void nl_buf_get(struct nl_buf *buf);		/* any context, no lock */
void nl_buf_put(struct nl_buf *buf);		/* process context, no lock; NULL is fine */
/* As nl_buf_put(), of an erased page; with @drops it may be done later, by who has these. */
struct nl_drops;
void nl_buf_drop(struct nl_drops *drops, struct nl_buf *buf);
void *nl_buf_data(struct nl_buf *buf);		/* linear; not written once programmed */

enum nl_block_state { NL_BLOCK_GOOD, NL_BLOCK_BAD };

/* How the operation under the cut is left. */
enum nl_tear {
	NL_TEAR_NOT,		/* not done at all */
	NL_TEAR_ERROR,		/* torn: reads fail, -EBADMSG */
	NL_TEAR_BLANK,		/* torn: reads look erased, -ENODATA */
	NL_NR_TEARS
};

#define NL_NO_PAGE	(~0u)
#define NL_NO_CUT	(~0ULL)

/**
 * struct nl_block - an erase block
 * @erases: so far
 * @next: page that is to be programmed next; beyond it all are erased
 * @state: enum nl_block_state
 * @oob: pages * oob_bytes while something is programmed, NULL otherwise
 */
struct nl_block {
	u32 erases;
	u32 next;
	u8 state;
	u8 *oob;
};

/* What an observer is told: an operation that was done. */
struct nl_event {
	enum nl_op op;
	enum nl_cause cause;
	u32 plane;
	u32 block;
	u32 page;		/* NL_NO_PAGE for an erase */
	u64 ready;		/* ns: when it was asked for */
	u64 done;		/* ns: when it is done */
};

/**
 * struct nl_raw_ops - what flash that is elsewhere offers (zhang-2013 5.3.4), and no more
 * @read: as nl_flash_read()
 * @program: as nl_flash_program()
 * @erase: as nl_flash_erase()
 * @mark_bad: as nl_flash_mark_bad()
 * @is_bad: as nl_flash_is_bad(), asked once
 * @peek: as nl_flash_peek(), into @oob: false if there is nothing
 *
 * @now is what time it is: nothing is booked before it any more. What flash would not do is refused
 * without a change: -ERANGE beyond the end, -ENXIO in a bad block, -EEXIST for a page that is not
 * erased, -EINVAL out of order.
 */
struct nl_raw_ops {
	int (*read)(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		    struct nl_buf **buf, void *oob);
	int (*program)(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		       struct nl_buf *buf, const void *oob);
	int (*erase)(void *raw, u32 block, enum nl_cause cause, u64 now, u64 *when);
	int (*mark_bad)(void *raw, u32 block);
	bool (*is_bad)(void *raw, u32 block);
	bool (*peek)(void *raw, u32 ppn, void *oob);
};

/**
 * struct nl_flash - the flash of one device
 * @geo: its shape
 * @timing: its clockwork
 * @endurance: erases that a block stands, 0: any number
 * @block: all erase blocks
 * @raw: the flash is elsewhere, and this is the way there; @block has what passed this way. NULL:
 *	it is here
 * @raw_ctx: passed to it
 * @peeked: one OOB, of nl_flash_peek() there
 * @battery: memory that lasts as the flash does, for FTLs that need it; NULL: none
 * @data: buffer of each physical page; NULL: not programmed, or with zeros; a mark: torn or
 *	failed
 * @stored: pages that hold a buffer of their own or share one
 * @nowait: who calls must not wait for memory
 * @drops: where buffers of erased blocks go, NULL: back at once
 * @ops: programs, erases and marks since creation: what a cut counts
 * @cut_at: value of @ops at which the power goes, NL_NO_CUT: not at all
 * @cut_tear: how that operation is left
 * @off: the power is gone
 * @violations: times that a rule was broken
 * @violation: the first one, in words
 * @refused: of a raw device: what it was asked for and flash would not do (raw.h)
 * @fail_program: programs until one fails (a block goes bad), 0: none; for tests, as all three
 * @fail_erase: likewise, erases
 * @fail_read: likewise, reads: the page can't be corrected from then on
 * @count: operations done, by kind and cause
 * @observe: told of each operation done, may be NULL; must not call back
 * @observer: passed to it
 */
struct nl_flash {
	struct nl_geometry geo;
	struct nl_timing timing;
	u32 endurance;
	struct nl_block *block;
	const struct nl_raw_ops *raw;
	void *raw_ctx;
	void *peeked;
	struct nl_battery *battery;
	struct nl_buf **data;
	u64 stored;
	bool nowait;
	struct nl_drops *drops;
	u64 ops;
	u64 cut_at;
	enum nl_tear cut_tear;
	bool off;
	u64 violations;
	const char *violation;
	u64 refused;
	u64 fail_program;
	u64 fail_erase;
	u64 fail_read;
	u64 count[NL_NR_OPS][NL_NR_CAUSES];
	void (*observe)(void *observer, const struct nl_event *event);
	void *observer;
};

/**
 * nl_flash_create - make erased flash
 * @flash: zeroed memory
 * @config: with NL_P_BLOCKS; NL_P_FACTORY_BAD blocks, chosen by NL_P_SEED, are bad
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, and what nl_geometry_init() returns. On failure nothing is held.
 */
int nl_flash_create(struct nl_flash *flash, const struct nl_config *config);
void nl_flash_destroy(struct nl_flash *flash);

/**
 * nl_flash_read - read a page and its OOB
 * @flash: the flash
 * @ppn: physical page
 * @cause: what for
 * @when: in: not to begin before, out: when it is done, ns; unchanged on -ESHUTDOWN
 * @buf: NULL, or where to put the buffer, with a reference that the caller puts; NULL for zeros
 * @oob: NULL, or oob_bytes of room
 *
 * Return: 0; -ENODATA if it is, or looks, erased; -EBADMSG if it can't be corrected; -ESHUTDOWN.
 */
int nl_flash_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		  struct nl_buf **buf, void *oob);

/**
 * nl_flash_peek - OOB without an operation
 * @flash: the flash
 * @ppn: physical page
 *
 * For checks, never for an FTL's decisions: a device can't know what it has not read.
 * Return: oob_bytes, NULL if nothing readable is programmed there.
 */
const void *nl_flash_peek(const struct nl_flash *flash, u32 ppn);

/**
 * nl_flash_record - OOB as it was programmed, also of a page that can't be read any more
 * @flash: the flash, which is here
 * @ppn: physical page
 *
 * For what knows more than a device: an image, which has it, too.
 * Return: oob_bytes, zeroes if the program was cut; NULL if nothing is programmed there.
 */
const void *nl_flash_record(const struct nl_flash *flash, u32 ppn);

/**
 * nl_flash_program - write a page and its OOB
 * @flash: the flash
 * @ppn: physical page, the next one of its block
 * @cause: what for
 * @when: in: not to begin before, out: when it is done, ns
 * @buf: data, NULL for zeros; the flash takes its own reference
 * @oob: oob_bytes
 *
 * Return: 0; -EIO if the flash says that it failed (the page is spent, the block should be
 * retired; what was programmed in it before can still be read); -EINVAL for a violation; -ENOMEM,
 * nothing was done; -ESHUTDOWN.
 */
int nl_flash_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, const void *oob);

/**
 * nl_flash_erase - erase a block
 * @flash: the flash
 * @block: which
 * @cause: what for
 * @when: in: not to begin before, out: when it is done, ns
 *
 * Return: 0; -EIO if it failed: the block is bad from now on, nothing in it can be read; -EINVAL
 * for a violation; -ESHUTDOWN.
 */
int nl_flash_erase(struct nl_flash *flash, u32 block, enum nl_cause cause, u64 *when);

/* Mark a block as bad for good, as after a failed program. 0 or -ESHUTDOWN. Takes no time. */
int nl_flash_mark_bad(struct nl_flash *flash, u32 block);

/* The mark: survives everything. */
static inline bool nl_flash_is_bad(const struct nl_flash *flash, u32 block)
{
	return flash->block[block].state == NL_BLOCK_BAD;
}

/* Erases so far, as 3.1.2 keeps them with each block. */
static inline u32 nl_flash_erases(const struct nl_flash *flash, u32 block)
{
	return flash->block[block].erases;
}

/* What a start found that they are, for flash that does not count by itself; others do. */
static inline void nl_flash_recall(struct nl_flash *flash, u32 block, u32 erases)
{
	if (flash->raw)
		flash->block[block].erases = max(flash->block[block].erases, erases);
}

/* Cut the power at the operation after @after more (0: the next one); @tear: how that is left. */
void nl_flash_cut(struct nl_flash *flash, u64 after, enum nl_tear tear);
/* Operations before the one that it is due at, NL_NO_CUT: it is not. */
static inline u64 nl_flash_cut_left(const struct nl_flash *flash)
{
	return flash->cut_at == NL_NO_CUT ? NL_NO_CUT : flash->cut_at - flash->ops;
}

/* Now: whatever is asked next fails. */
void nl_flash_power_off(struct nl_flash *flash);
/* No cut is due any more; nothing is booked in the clockwork. */
void nl_flash_power_on(struct nl_flash *flash);

/* Bytes beyond data and OOB: proportional to the flash, not to what is in it. */
u64 nl_flash_memory(const struct nl_flash *flash);

/*
 * The image: struct nl_image_header and what follows it (evenkeel/nameless_format.h).
 *
 * What is given as put and get moves exactly as many bytes as it is told, in order, and returns 0
 * or a negative errno that is passed on; it may sleep. Load wants flash that was created with
 * the same geometry and nothing done to it.
 * Return: 0; -EINVAL if it is no image or damaged, -EOPNOTSUPP if it is a newer one, -ERANGE if
 * its geometry is another; -ENOMEM. After a load that failed the flash can only be destroyed.
 */
typedef int (*nl_image_put)(void *ctx, const void *data, size_t len);
typedef int (*nl_image_get)(void *ctx, void *data, size_t len);
int nl_flash_save(struct nl_flash *flash, nl_image_put put, void *ctx);
int nl_flash_load(struct nl_flash *flash, nl_image_get get, void *ctx);

#endif
