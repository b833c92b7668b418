/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: an undo log for memory that persists
 *
 * Transactions of hsiao-2008 3.1.3: transaction_start() is ek_undo_begin(), duplicate() is
 * ek_undo_set(), transaction_stop() is ek_undo_commit(). A transaction changes aligned words of 8
 * bytes, all or none whenever power goes, and lasts when ek_undo_commit() returns. It knows no
 * file system.
 *
 * ek_undo_set() only notes the old word on the media and the new one in RAM, so that all that can
 * fail comes before anything changed; ek_undo_commit() does the rest with two fences:
 *
 *	records with the old words
 *	fence 1		from here on a cut is undone by them
 *	the new words, and a hash of them as commit mark
 *	fence 2		all words are there and match the mark: done
 *	"retired"	not fenced: by the next fence 1 of anybody
 *
 * A third fence is not needed because the mark vouches for the words: after a cut between the
 * fences either all words got there and match it, or the transaction is undone. The match fails
 * as soon as somebody changes one of the words again, so "retired" must be durable before that.
 * It is: every transaction flushes, before its own fence 1, the heads of lanes that retired
 * something since they were last known to be durable.
 *
 * Who locks what: two transactions that are not finished must not name the same word; the caller
 * has a lock for each word from ek_undo_set() to the end of ek_undo_commit() or ek_undo_abort().
 * Lanes are locked here, as the innermost sleeping lock: between begin and commit a task may take
 * spinlocks, but no lock that is held by others while they call ek_undo_begin().
 *
 * A store to such a word by any other way than a transaction, for instance when its memory is
 * freed and used for something else, comes after ek_undo_settle(), or ek_undo_fence() where there
 * is something to fence anyway.
 *
 * Memory that nothing refers to yet needs no log: store and flush it before ek_undo_commit(),
 * whose first fence makes it durable before the words that refer to it change.
 *
 * Pure: also builds in userspace.
 */
#ifndef _EVENKEEL_UNDO_H
#define _EVENKEEL_UNDO_H

#include <linux/types.h>
#include <evenkeel/undo_format.h>

struct ek_undo;			/* an open log; drivers/lib/undo.c */
struct ek_undo_lane;

/**
 * struct ek_undo_tx - a transaction, on its task's stack
 * @log: whose
 * @lane: taken until the end
 */
struct ek_undo_tx {
	struct ek_undo *log;
	struct ek_undo_lane *lane;
};

/**
 * struct ek_undo_stats - what a replay found
 * @committed: transactions that had been done but not retired
 * @undone: transactions taken back
 * @words: given their old value again
 */
struct ek_undo_stats {
	u32 committed;
	u32 undone;
	u32 words;
};

u64 ek_undo_hash(u64 seed, const void *words, unsigned int nr);

void ek_undo_format(void *log, u32 nr_lanes);
int ek_undo_replay(void *region, u64 size, u64 at, u32 nr_lanes, u64 salt, bool dry,
		   struct ek_undo_stats *stats);
int ek_undo_open(void *region, u64 size, u64 at, u32 nr_lanes, u64 salt, struct ek_undo **log);
void ek_undo_close(struct ek_undo *log);

void ek_undo_begin(struct ek_undo *log, struct ek_undo_tx *tx);
int ek_undo_set(struct ek_undo_tx *tx, __le64 *word, u64 value);
u64 ek_undo_get(const struct ek_undo_tx *tx, const __le64 *word);
void ek_undo_commit(struct ek_undo_tx *tx);
void ek_undo_abort(struct ek_undo_tx *tx);
void ek_undo_settle(struct ek_undo *log);
void ek_undo_fence(struct ek_undo *log);

/**
 * ek_undo_bytes - room that a log takes on the media
 * @nr_lanes: 1 to EKU_MAX_LANES; as many tasks can be in a transaction at once
 *
 * Return: bytes.
 */
static inline u64 ek_undo_bytes(u32 nr_lanes)
{
	return (u64)nr_lanes * EKU_LANE_BYTES;
}

u64 ek_undo_memory(const struct ek_undo *log);

#endif
