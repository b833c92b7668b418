/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The detector of sequential access (wu-2011 section II.C): small requests one behind the other are
 * as good as a large one.
 *
 * It sees a sample of what several programs do at once.  A stream is confirmed after
 * HY_STREAM_STEPS steps forward, each no longer than an extent, and an extent's length: of random
 * accesses to a few hundred neighbouring extents hardly any look like that.
 */
#ifndef _HYBRID_POLICY_STREAM_H
#define _HYBRID_POLICY_STREAM_H

#include <linux/types.h>

#define HY_STREAMS	8	/* followed at once */
#define HY_STREAM_STEPS	6

/**
 * struct hy_stream - accesses that may be one behind the other
 * @first: where they began, sectors
 * @last: where the last of them did
 * @seen: when that was, by hy_streams.clock
 * @steps: forward until now
 */
struct hy_stream {
	u64 first;
	u64 last;
	u32 seen;
	u32 steps;
};

/**
 * struct hy_streams - the detector; all zero at first
 * @clock: accesses seen
 * @stream: those followed
 */
struct hy_streams {
	u32 clock;
	struct hy_stream stream[HY_STREAMS];
};

bool hy_streams_access(struct hy_streams *s, u64 sector, u32 extent_sectors);

#endif
