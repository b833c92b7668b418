/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: memory that must persist
 *
 * The one way to it: nothing else in the project flushes a cache or fences. A store reaches the
 * memory for certain once its lines were flushed, or it was non-temporal, and a fence came after:
 *
 *	scm_store(...); scm_flush(...); ... ; scm_fence();	small things
 *	scm_copy_nt(...); ... ; scm_fence();			bulk
 *
 * One fence serves all flushes and non-temporal stores before it, of the same CPU. Until then any
 * of them, and any part of one that is larger than an aligned word of 8 bytes, may have got there
 * or not.
 *
 * Tests record what is done to a region (scm_record_start()), and build from that every content
 * that a power cut could have left.
 */
#ifndef _EVENKEEL_SCM_H
#define _EVENKEEL_SCM_H

#include <linux/types.h>

#define SCM_LINE	64u	/* bytes that a flush writes back at least */

/* For large variables on the stack that are filled before they are read. */
#if __has_attribute(uninitialized)
#define EK_UNINITIALIZED	__attribute__((uninitialized))
#else
#define EK_UNINITIALIZED
#endif

void scm_store(void *dst, const void *src, size_t len);
void scm_store64(u64 *dst, u64 value);
void scm_copy_nt(void *dst, const void *src, size_t len);
void scm_copy_line_nt(void *dst, const void *src);
void scm_zero_nt(void *dst, size_t len);
void scm_flush(const void *addr, size_t len);
void scm_fence(void);

enum scm_event_type {
	SCM_STORE,
	SCM_STORE_NT,
	SCM_FLUSH,
	SCM_FENCE,
};

/**
 * struct scm_event - something done to a recorded region
 * @type: what
 * @len: bytes; 0 for a fence
 * @offset: of the first byte, from the region's start
 * @data: where what was stored begins in scm_log.bytes
 * @task: who did it, a number that two who run at once don't share
 */
struct scm_event {
	enum scm_event_type type;
	u32 len;
	u64 offset;
	u64 data;
	u64 task;
};

/**
 * struct scm_log - a recording; the caller fills the first six members
 * @base: the region
 * @len: its size in bytes
 * @event: room for events
 * @max_events: how many
 * @bytes: room for what is stored
 * @max_bytes: how much
 * @nr_events: recorded so far; those may be read meanwhile, after smp_load_acquire() of this
 * @nr_bytes: recorded so far
 * @full: something did not fit and is missing; the recording is worth nothing
 */
struct scm_log {
	const void *base;
	size_t len;
	struct scm_event *event;
	u32 max_events;
	u8 *bytes;
	size_t max_bytes;
	u32 nr_events;
	size_t nr_bytes;
	bool full;
};

int scm_record_start(struct scm_log *log);
void scm_record_stop(void);

#endif
