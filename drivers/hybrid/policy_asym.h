/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an extent is best by how much of it is read and how much written: wu-2011 section II.B.
 *
 * Of the extents that were accessed lately a table holds counts of reads and writes, one byte each.
 * With r and w the members' response times, extent j at member i costs
 *
 *	C_ji = (R_j r_i + W_j w_i) / (R_j + W_j)
 *
 * an access, and is a candidate where C_ji > (1 + delta) C_jk.  Documentation/design/policies.rst
 * has what is put around that.  Used by the policies asymmetry and unified.
 */
#ifndef _HYBRID_POLICY_ASYM_H
#define _HYBRID_POLICY_ASYM_H

#include <linux/types.h>
#include "policy.h"
#include "policy_stream.h"

#define HY_USE_SETS	8192u	/* of the table, by a hash of the extent */
#define HY_USE_WAYS	8u	/* extents of a set, the last accessed first */
#define HY_USE_STEP	8u	/* sets looked at before the lock is let go of */
#define HY_USE_QUEUE	1024u	/* candidates that wait, the latest first */

enum { HY_ASYM_DELTA, HY_ASYM_ACCESSES, HY_ASYM_RATE, HY_ASYM_AGE_MS, HY_ASYM_SIZES,
	HY_ASYM_PARAMS };

/**
 * struct hy_use - how an extent is used
 * @le: logical extent
 * @epoch: that its counts are of
 * @member: where it is
 * @moved: when it was moved last, in 2^20 ns; 0: never
 * @reads: aged
 * @writes: aged
 * @large: in requests larger than an extent or one behind the other, of them; aged
 * @flags: HY_USE_*
 */
struct hy_use {
	u64 le : 48;
	u64 epoch : 8;
	u64 member : 8;
	u32 moved;
	u8 reads;
	u8 writes;
	u8 large;
	u8 flags;
};

#define HY_USE_VALID	0x01
#define HY_USE_QUEUED	0x02	/* among the candidates */
#define HY_USE_AHEAD	0x04	/* announced only: its member is not known yet */
#define HY_USE_PINNED	0x08	/* when it was accessed last: no candidate */

/**
 * struct hy_asym - what is known and wanted
 * @param: HY_ASYM_*
 * @relative: response times are scaled so that what all extents together do costs the same on all
 *	members: whatever balances their load is somebody else's
 * @closed: a bit for each member that nothing is to go to now
 * @measured: response times by member and direction, ns; 0: not known
 * @pair: the same when both directions were measured last
 * @ns: as @measured, as they are used, at most HY_ASYM_MAX_NS
 * @mix: reads and writes of the pool, aged
 * @now: of the last snapshot, ns
 * @bucket: tokens, each 10^9, at most what comes in a fifth of a second
 * @filled: until when they have come, ns
 * @epoch: counts are halved with each
 * @epoch_ns: since the last one began
 * @nr: members
 * @extent_sectors: an extent's size
 * @quiet: nearly nothing was going on in the last period
 * @scan: the next set that is looked at for idle candidates
 * @streams: the detector of sequential access
 * @queue: candidates, a ring
 * @tail: where the next comes
 * @waiting: how many there are
 * @set: the table
 */
struct hy_asym {
	u32 param[HY_ASYM_PARAMS];
	bool relative;
	u32 closed;
	u64 measured[EK_MAX_MEMBERS][2];
	u64 pair[EK_MAX_MEMBERS][2];
	u64 ns[EK_MAX_MEMBERS][2];
	u64 mix[2];
	u64 now;
	u64 bucket;
	u64 filled;
	u8 epoch;
	u64 epoch_ns;
	unsigned int nr;
	u32 extent_sectors;
	bool quiet;
	u32 scan;
	struct hy_streams streams;
	u64 queue[HY_USE_QUEUE];
	u32 tail;
	u32 waiting;
	struct hy_use set[HY_USE_SETS][HY_USE_WAYS];
};

#define HY_ASYM_MAX_NS	BIT_ULL(37)

#define HY_ASYM_KEYS	"delta accesses rate age_ms sizes"

void hy_asym_init(struct hy_asym *a, bool relative);
int hy_asym_set(struct hy_asym *a, const char *key, const char *value, const char **reason);
struct hy_text;
void hy_asym_emit(const struct hy_asym *a, struct hy_text *text);
/* A period has ended.  @probe: gets a bit for each member whose idle response time is wanted. */
void hy_asym_period(struct hy_asym *a, const struct hy_snapshot *snap, u32 *probe);
bool hy_asym_go_on(struct hy_asym *a, u32 *stays);
void hy_asym_accessed(struct hy_asym *a, const struct hy_access *access, u32 *stays);
bool hy_asym_next(struct hy_asym *a, const struct hy_snapshot *snap, struct hy_range *range,
		  u32 *stays);
void hy_asym_moved(struct hy_asym *a, const struct hy_range *range, const struct hy_moved *moved);
void hy_asym_explain(const struct hy_asym *a, const struct hy_snapshot *snap, u64 le,
		     unsigned int member, struct hy_verdict *verdict, struct hy_text *text);
unsigned int hy_asym_counts(const struct hy_asym *a, u64 *cursor, struct hy_count *count,
			    unsigned int max);

#endif
