/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * An undo log in memory that persists; evenkeel/undo.h says how it is used.
 *
 *	| lane 0 | lane 1 | ... |		EKU_LANE_BYTES each
 *	lane: | head, 64 | spare, 64 | 63 records of even transactions | 63 of odd ones |
 *
 * A record holds what up to five words next to each other were before a transaction; a
 * transaction's records begin with the first of its half. Its number says which half: the one
 * before it stays as it was until this one's records are durable.
 *
 * A transaction counts as done when its number is at most the head's `retired`, or when the hash
 * of what the words that it names hold *now* is the head's `commit`. Otherwise the words get
 * their old values back. Nothing is stored to those words before all records are durable, so a
 * transaction of which only some records are whole changed nothing, and giving back what they say
 * changes nothing either.
 *
 * A lane's numbers begin with EKU_FIRST, and no record has one that is more than two above
 * `retired`: N is begun when N-1 is done, and N-1's records are durable together with N-2's end. So
 * a head that has been lost, which is zeroes, is not taken for one that has retired nothing.
 *
 * All integers are little-endian. Hashes are ek_undo_hash(); a record's begins with the log's
 * salt, so that what another log left in the same memory means nothing.
 *
 * A log has no magic, version or UUID of its own: it is a part of a region whose superblock carries
 * these and the incompat mask, and says where the log begins, how many lanes it has, and the salt.
 */
#ifndef _UAPI_EVENKEEL_UNDO_FORMAT_H
#define _UAPI_EVENKEEL_UNDO_FORMAT_H

#include <linux/types.h>

#define EKU_LANE_BYTES		8192u
#define EKU_RECORDS		63u	/* of one transaction */
#define EKU_RECORD_WORDS	5u
#define EKU_MAX_LANES		64u
#define EKU_FIRST		3u	/* number: above EKU_AHEAD, as a lost head is zeroes */
#define EKU_AHEAD		2u	/* of `retired` */
#define EKU_WHERE_BITS		56	/* of eku_record.where: the offset */

struct eku_head {
	__le64	retired;		/* transactions up to this one are done */
	__le64	commit;			/* see above */
	__u8	reserved[48];
};

struct eku_record {
	__le64	check;			/* hash of salt and the other seven words */
	__le64	transaction;
	__le64	where;			/* words << EKU_WHERE_BITS | region offset */
	__le64	old[EKU_RECORD_WORDS];
};

struct eku_lane {
	struct eku_head head;
	__u8	spare[64];
	struct eku_record record[2][EKU_RECORDS];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct eku_head) == 64, "head");
_Static_assert(sizeof(struct eku_record) == 64, "record");
_Static_assert(sizeof(struct eku_lane) == EKU_LANE_BYTES, "lane");
#endif

#endif
