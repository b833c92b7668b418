/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to a tiny SSD as an input says: what the targets of that kind have in common. The device
 * and the model of its pages are those of tests/unit/nameless/rig.h.
 */
#ifndef FUZZ_STREAM_H
#define FUZZ_STREAM_H

#include "fuzz.h"
#include "ktap.h"
#include "nameless/rig.h"

#define STREAM_PAGES	40u
#define STREAM_BYTES	3u	/* of a request */

/* What all targets have, last of what each of them has. */
enum stream_op { STREAM_WRITE, STREAM_TRIM, STREAM_FLUSH, STREAM_GC, STREAM_CUT, STREAM_CRASH,
	STREAM_FAIL_PROGRAM, STREAM_FAIL_ERASE, STREAM_NR };

/* A device by the first four bytes of an input: @chunks of a map that is swapped, 0: none is. */
struct nl_config stream_config(enum nl_ftl_kind kind, u32 chunks, u32 spare, const uint8_t *in);
/* 0 or what the FTL returned; -ESHUTDOWN: the power is off, or to be. */
int stream_request(struct rig *rig, enum stream_op op, const uint8_t *in);
/* May a request end so? The power may be off, and the device worn. */
void stream_result(int r);
/* Input @nr of @most: @head bytes, requests, of @ops; from @rare on seldom, @often instead. */
size_t stream_corpus(unsigned int nr, unsigned int most, size_t head, uint8_t ops, uint8_t rare,
		     uint8_t often, uint8_t *data);

#endif
