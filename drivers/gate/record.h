/* SPDX-License-Identifier: GPL-2.0-only */
/* What evenkeel_record tells: this, and behind it the bytes that were stored. */
#ifndef EVENKEEL_GATE_RECORD_H
#define EVENKEEL_GATE_RECORD_H

#include <linux/types.h>

#define RECORD_NODE	"/dev/evenkeel-record"

/**
 * struct record_event - something done to the recorded memory
 * @type: enum scm_event_type
 * @len: bytes; 0 for a fence. After a store so many of them follow
 * @offset: of the first byte, from where the recorded memory begins
 * @task: who did it, a number that two who run at once don't share
 */
struct record_event {
	__u32 type;
	__u32 len;
	__u64 offset;
	__u64 task;
};

#endif
