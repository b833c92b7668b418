/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Both ends of the raw interface (zhang-2013 5.3.4): page read, page program, block erase, and the
 * marks of bad blocks. Its contract is struct nl_raw_ops in flash.h.
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_RAW_H
#define NAMELESS_RAW_H

#include "flash.h"

/* The device's end. What flash would not do is refused here, and counted in nl_flash.refused. */
int nl_raw_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		struct nl_buf **buf, void *oob);
int nl_raw_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		   struct nl_buf *buf, const void *oob);
int nl_raw_erase(struct nl_flash *flash, u32 block, enum nl_cause cause, u64 now, u64 *when);
int nl_raw_mark_bad(struct nl_flash *flash, u32 block);
bool nl_raw_is_bad(const struct nl_flash *flash, u32 block);
bool nl_raw_peek(const struct nl_flash *flash, u32 ppn, void *oob);

/**
 * nl_port_create - the host's end: flash for an FTL, that is elsewhere
 * @flash: zeroed memory
 * @config: as the device's
 * @ops: the way there
 * @ctx: passed to it
 *
 * Nothing is known of it until nl_flash_power_on(), and only which blocks are bad then: how often
 * one was erased the FTL has to know (nl_flash_recall()).
 * Context: may sleep.
 * Return: as nl_flash_create().
 */
int nl_port_create(struct nl_flash *flash, const struct nl_config *config,
		   const struct nl_raw_ops *ops, void *ctx);
void nl_port_destroy(struct nl_flash *flash);
void nl_port_power_on(struct nl_flash *flash);
const void *nl_port_peek(const struct nl_flash *flash, u32 ppn);
int nl_port_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		 struct nl_buf **buf, void *oob);
int nl_port_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		    struct nl_buf *buf, const void *oob);
int nl_port_erase(struct nl_flash *flash, u32 block, enum nl_cause cause, u64 *when);
int nl_port_mark_bad(struct nl_flash *flash, u32 block);

#endif
