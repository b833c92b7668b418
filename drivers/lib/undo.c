// SPDX-License-Identifier: GPL-2.0-only
/*
 * The undo log; evenkeel/undo.h has the contract and the order of durability.
 *
 * Pairing: a lane's @retired and its bit in @unsettled are set before its user lets go of the locks
 * for its words, and read by who took those locks since; @durable only ever says what a fence
 * after the flush has proven, and one that is set back by a slower CPU costs a flush and nothing
 * else. The bit is set and cleared under the lane's lock, and cleared only when there is nothing to
 * flush: a lane without it needs no look.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/scm.h>
#include <evenkeel/undo.h>

#define UNDO_CHANGES	128u	/* words of one transaction */

static_assert(EKU_MAX_LANES <= BITS_PER_LONG, "a bit for each lane");

struct ek_undo_change {
	__le64 *word;
	u64 value;
};

/**
 * struct ek_undo_lane - a lane in use
 * @lock: held from begin to commit or abort
 * @media: its part of the region
 * @transaction: the last one's number
 * @retired: the last one that was retired
 * @durable: up to where that is known to be durable
 * @nr_changes: of the transaction under way
 * @nr_records: that they take
 * @words: bit per word of @change, by its address: which of them surely are not there
 * @in_record: words of each of them
 * @change: what to store
 */
struct ek_undo_lane {
	struct mutex lock;	/* held from begin to commit or abort */
	struct eku_lane *media;
	u64 transaction;
	u64 retired;
	u64 durable;
	u32 nr_changes;
	u32 nr_records;
	u64 words;
	u8 in_record[EKU_RECORDS];
	struct ek_undo_change change[UNDO_CHANGES];
};

/**
 * struct ek_undo - an open log
 * @region: memory that offsets are relative to
 * @size: of it
 * @salt: of the log
 * @nr_lanes: of the log
 * @unsettled: bit per lane: it may have retired something that is not durable
 * @lane: all of them
 */
struct ek_undo {
	void *region;
	u64 size;
	u64 salt;
	u32 nr_lanes;
	unsigned long unsettled;
	struct ek_undo_lane lane[];
};

static __always_inline u64 hash_word(u64 h, __le64 word)
{
	h = (h ^ le64_to_cpu(word)) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

/**
 * ek_undo_hash - what marks and records are checked by
 * @seed: to begin with
 * @words: little-endian, aligned to 8 bytes
 * @nr: how many
 *
 * Context: any.
 * Return: 64 bits in host order.
 */
u64 ek_undo_hash(u64 seed, const void *words, unsigned int nr)
{
	const __le64 *word = words;
	u64 h = seed;

	while (nr--)
		h = hash_word(h, *word++);
	return h;
}
EXPORT_SYMBOL_GPL(ek_undo_hash);

/* As ek_undo_hash() of all but the first word. */
static u64 record_check(u64 salt, const struct eku_record *r)
{
	const __le64 *word = &r->check;
	u32 i;

#pragma GCC unroll 8
	for (i = 1; i < sizeof(*r) / sizeof(*word); i++)
		salt = hash_word(salt, word[i]);
	return salt;
}

/**
 * ek_undo_format - begin an empty log
 * @log: where, aligned to 64 bytes
 * @nr_lanes: of how many lanes
 *
 * It lasts after the caller's next scm_fence(). Records go before the heads: a head that says that
 * nothing is retired would bring those of the same salt to life again, were power to go between.
 * Context: any.
 */
void ek_undo_format(void *log, u32 nr_lanes)
{
	struct eku_head head = { .retired = cpu_to_le64(EKU_FIRST - 1) };
	struct eku_lane *lane = log;
	u32 i;

	for (i = 0; i < nr_lanes; i++)
		scm_zero_nt(lane[i].record, sizeof(lane->record));
	scm_fence();
	for (i = 0; i < nr_lanes; i++) {
		scm_copy_line_nt(&lane[i].head, &head);
		scm_zero_nt(lane[i].spare, sizeof(lane->spare));
	}
}
EXPORT_SYMBOL_GPL(ek_undo_format);

/* What replaying one lane needs. */
struct undo_replay {
	void *region;
	u64 size;
	u64 at;
	u64 log_bytes;
	u64 salt;
	bool dry;
	struct ek_undo_stats *stats;
};

static bool record_whole(const struct undo_replay *p, const struct eku_record *r)
{
	return le64_to_cpu(r->check) == record_check(p->salt, r);
}

/* The words that a record names; NULL when there can't be such. */
static __le64 *record_words(const struct undo_replay *p, const struct eku_record *r, u32 *nr)
{
	u64 where = le64_to_cpu(r->where);
	u64 offset = where & ((1ULL << EKU_WHERE_BITS) - 1);

	*nr = where >> EKU_WHERE_BITS;
	if (!*nr || *nr > EKU_RECORD_WORDS || offset % 8 || offset > p->size ||
	    p->size - offset < *nr * 8)
		return NULL;
	if (offset < p->at + p->log_bytes && offset + *nr * 8 > p->at)
		return NULL;
	return (void *)((u8 *)p->region + offset);
}

/* Records of the transaction that its half begins with; *@mark is the hash of what is there now. */
static int count_records(const struct undo_replay *p, const struct eku_record *r, u64 id, u64 *mark)
{
	__le64 *words;
	u32 i, nr;

	*mark = ek_undo_hash(p->salt, &r->transaction, 1);
	for (i = 0; i < EKU_RECORDS; i++) {
		if (le64_to_cpu(r[i].transaction) != id || !record_whole(p, &r[i]))
			break;
		words = record_words(p, &r[i], &nr);
		if (!words)
			return -EUCLEAN;
		*mark = ek_undo_hash(*mark, words, nr);
	}
	return i;
}

static void give_back(const struct undo_replay *p, const struct eku_record *r, u32 count)
{
	u32 i, j, nr;

	for (i = 0; i < count; i++) {
		__le64 *words = record_words(p, &r[i], &nr);

		for (j = 0; j < nr; j++) {
			if (words[j] == r[i].old[j])
				continue;
			p->stats->words++;
			if (!p->dry)
				scm_store64((u64 *)&words[j], (__force u64)r[i].old[j]);
		}
		if (!p->dry)
			scm_flush(words, nr * 8);
	}
}

static int replay_half(const struct undo_replay *p, const struct eku_lane *lane, unsigned int half)
{
	u64 retired = le64_to_cpu(lane->head.retired), mark;
	const struct eku_record *r = lane->record[half];
	u64 id = le64_to_cpu(r->transaction);
	int count;

	if (id <= retired || (id & 1) != half || !record_whole(p, r))
		return 0;
	if (id - retired > EKU_AHEAD)
		return -EUCLEAN;
	count = count_records(p, r, id, &mark);
	if (count < 0)
		return count;
	if (mark == le64_to_cpu(lane->head.commit)) {
		p->stats->committed++;
		return 0;
	}
	p->stats->undone++;
	give_back(p, r, count);
	return 0;
}

/*
 * The highest number in a lane, torn transactions' too: another one of the same number would take
 * what is left of their records for its own.
 */
static u64 highest(const struct undo_replay *p, const struct eku_lane *lane)
{
	u64 max = max_t(u64, le64_to_cpu(lane->head.retired), EKU_FIRST - 1);
	u32 half, i;

	for (half = 0; half < 2; half++)
		for (i = 0; i < EKU_RECORDS; i++) {
			const struct eku_record *r = &lane->record[half][i];

			if (le64_to_cpu(r->transaction) > max && record_whole(p, r))
				max = le64_to_cpu(r->transaction);
		}
	return max;
}

static void set_retired(struct eku_lane *lane, u64 transaction)
{
	scm_store64((u64 *)&lane->head.retired, (__force u64)cpu_to_le64(transaction));
	scm_flush(&lane->head, sizeof(lane->head));
}

static void retire_all(const struct undo_replay *p, struct eku_lane *lane, u32 nr_lanes)
{
	u32 i;

	scm_fence();
	for (i = 0; i < nr_lanes; i++) {
		u64 max = highest(p, &lane[i]);

		if (max == le64_to_cpu(lane[i].head.retired))
			continue;
		set_retired(&lane[i], max);
	}
	scm_fence();
}

static int replay_lanes(const struct undo_replay *p, const struct eku_lane *lane, u32 nr_lanes)
{
	unsigned int half;
	int r = 0;
	u32 i;

	memset(p->stats, 0, sizeof(*p->stats));
	for (i = 0; i < nr_lanes && !r; i++)
		for (half = 0; half < 2 && !r; half++)
			r = replay_half(p, &lane[i], half);
	return r;
}

/**
 * ek_undo_replay - take back what was not done when power went
 * @region: memory that offsets are relative to
 * @size: of it, in bytes
 * @at: region offset of the log
 * @nr_lanes: of the log
 * @salt: of the log
 * @dry: only look
 * @stats: filled
 *
 * Looks at nothing but the media. May be cut and begun again: nothing is retired before all that
 * had to be given back is durable.
 * Context: nobody else uses the region.
 * Return: 0; -EUCLEAN: a whole record names words that are not in the region, or is too far ahead
 * of what its lane has retired, whose head was lost then. Nothing was stored: to say so it is gone
 * through twice.
 */
int ek_undo_replay(void *region, u64 size, u64 at, u32 nr_lanes, u64 salt, bool dry,
		   struct ek_undo_stats *stats)
{
	struct undo_replay p = { region, size, at, ek_undo_bytes(nr_lanes), salt, true, stats };
	struct eku_lane *lane = (void *)((u8 *)region + at);
	int r = replay_lanes(&p, lane, nr_lanes);

	if (r || dry)
		return r;
	p.dry = false;
	r = replay_lanes(&p, lane, nr_lanes);
	if (!r)
		retire_all(&p, lane, nr_lanes);
	return r;
}
EXPORT_SYMBOL_GPL(ek_undo_replay);

/**
 * ek_undo_open - make ready for transactions
 * @region: memory that offsets are relative to
 * @size: of it, in bytes
 * @at: region offset of the log, which was formatted or replayed
 * @nr_lanes: of the log
 * @salt: of the log, the same each time
 * @log: set
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM.
 */
int ek_undo_open(void *region, u64 size, u64 at, u32 nr_lanes, u64 salt, struct ek_undo **log)
{
	struct eku_lane *media = (void *)((u8 *)region + at);
	struct ek_undo *l;
	u32 i;

	l = kvzalloc(sizeof(*l) + nr_lanes * sizeof(l->lane[0]), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	l->region = region;
	l->size = size;
	l->salt = salt;
	l->nr_lanes = nr_lanes;
	for (i = 0; i < nr_lanes; i++) {
		struct ek_undo_lane *lane = &l->lane[i];

		mutex_init(&lane->lock);
		lane->media = &media[i];
		lane->transaction = le64_to_cpu(media[i].head.retired);
		lane->retired = lane->transaction;
		lane->durable = lane->transaction;
	}
	*log = l;
	return 0;
}
EXPORT_SYMBOL_GPL(ek_undo_open);

/**
 * ek_undo_close - end it; no transaction is under way
 * @log: may be NULL
 *
 * Context: may sleep.
 */
void ek_undo_close(struct ek_undo *log)
{
	u32 i;

	for (i = 0; log && i < log->nr_lanes; i++)
		mutex_destroy(&log->lane[i].lock);
	kvfree(log);
}
EXPORT_SYMBOL_GPL(ek_undo_close);

/**
 * ek_undo_memory - what transactions take
 * @log: open
 *
 * Context: any.
 * Return: bytes of RAM (hsiao-2008 table 4.3 has 24 to 122 KB).
 */
u64 ek_undo_memory(const struct ek_undo *log)
{
	return sizeof(*log) + log->nr_lanes * sizeof(log->lane[0]);
}
EXPORT_SYMBOL_GPL(ek_undo_memory);

static u32 lane_of_task(const struct ek_undo *log)
{
	u64 task = (unsigned long)current / SCM_LINE;

	return ek_undo_hash(0, &task, 1) % log->nr_lanes;
}

/**
 * ek_undo_begin - begin a transaction: transaction_start() of hsiao-2008 3.1.3
 * @log: open
 * @tx: filled
 *
 * The task's own lane, or another one that is free, or else its own when that becomes free.
 * Context: sleeps. The task is in no other transaction.
 */
void ek_undo_begin(struct ek_undo *log, struct ek_undo_tx *tx)
{
	u32 i, first = lane_of_task(log);

	tx->log = log;
	for (i = 0; i < log->nr_lanes; i++) {
		tx->lane = &log->lane[(first + i) % log->nr_lanes];
		if (mutex_trylock(&tx->lane->lock))
			return;
	}
	tx->lane = &log->lane[first];
	mutex_lock(&tx->lane->lock);
}
EXPORT_SYMBOL_GPL(ek_undo_begin);

static u64 word_bit(const __le64 *word)
{
	return 1ULL << ((unsigned long)word / sizeof(*word) % 64);
}

static struct ek_undo_change *find_change(const struct ek_undo_tx *tx, const __le64 *word)
{
	struct ek_undo_lane *lane = tx->lane;
	u32 i;

	if (!(lane->words & word_bit(word)))
		return NULL;
	for (i = 0; i < lane->nr_changes; i++)
		if (lane->change[i].word == word)
			return &lane->change[i];
	return NULL;
}

static bool fits_last_record(const struct ek_undo_lane *lane, const __le64 *word)
{
	return lane->nr_changes && lane->in_record[lane->nr_records - 1] < EKU_RECORD_WORDS &&
		lane->change[lane->nr_changes - 1].word + 1 == word;
}

/**
 * ek_undo_set - a word is to change: duplicate() of hsiao-2008 3.1.3
 * @tx: begun
 * @word: in the region, aligned to 8 bytes, not in the log; the caller has a lock for it
 * @value: what it will be, in host order
 *
 * Nothing is stored yet. Setting it again replaces @value. Words next to each other, set one
 * after the other from the first, share a record.
 * Context: any that ek_undo_begin() was called in.
 * Return: 0; -ENOSPC: the transaction is too large (it can be aborted, or committed as far as it
 * came).
 */
int ek_undo_set(struct ek_undo_tx *tx, __le64 *word, u64 value)
{
	struct ek_undo_change *change = find_change(tx, word);
	struct ek_undo_lane *lane = tx->lane;

	if (change) {
		change->value = value;
		return 0;
	}
	if (lane->nr_changes == UNDO_CHANGES)
		return -ENOSPC;
	if (fits_last_record(lane, word)) {
		lane->in_record[lane->nr_records - 1]++;
	} else {
		if (lane->nr_records == EKU_RECORDS)
			return -ENOSPC;
		lane->in_record[lane->nr_records++] = 1;
	}
	lane->words |= word_bit(word);
	lane->change[lane->nr_changes++] = (struct ek_undo_change){ word, value };
	return 0;
}
EXPORT_SYMBOL_GPL(ek_undo_set);

/**
 * ek_undo_get - a word as this transaction will leave it
 * @tx: begun
 * @word: in the region
 *
 * Context: as ek_undo_set().
 * Return: its value in host order.
 */
u64 ek_undo_get(const struct ek_undo_tx *tx, const __le64 *word)
{
	const struct ek_undo_change *change = find_change(tx, word);

	return change ? change->value : le64_to_cpu(READ_ONCE(*word));
}
EXPORT_SYMBOL_GPL(ek_undo_get);

/* What @nr words next to each other are now. */
static void write_record(const struct ek_undo *log, const struct ek_undo_lane *lane,
			 const __le64 *word, u32 nr, struct eku_record *to)
{
	struct eku_record r EK_UNINITIALIZED;
	u64 offset = (u8 *)word - (u8 *)log->region;
	u32 i;

	r.transaction = cpu_to_le64(lane->transaction);
	r.where = cpu_to_le64((u64)nr << EKU_WHERE_BITS | offset);
#pragma GCC unroll 8
	for (i = 0; i < EKU_RECORD_WORDS; i++)
		r.old[i] = i < nr ? word[i] : 0;
	r.check = cpu_to_le64(record_check(log->salt, &r));
	scm_copy_line_nt(to, &r);
}

static void write_records(const struct ek_undo *log, const struct ek_undo_lane *lane)
{
	struct eku_record *to = lane->media->record[lane->transaction & 1];
	const struct ek_undo_change *change = lane->change;
	u32 i;

	for (i = 0; i < lane->nr_records; change += lane->in_record[i++])
		write_record(log, lane, change->word, lane->in_record[i], to++);
}

/* Nothing of this lane is to be flushed, until its next transaction: it needs no look. */
static void set_aside(struct ek_undo *log, struct ek_undo_lane *lane)
{
	if (!mutex_trylock(&lane->lock))
		return;
	if (lane->retired == READ_ONCE(lane->durable))
		clear_bit(lane - log->lane, &log->unsettled);
	mutex_unlock(&lane->lock);
}

/*
 * Fence 1; @own is the lane that the caller has, if any. Timeline that the flushes are for: CPU 1
 * commits A, stores "retired", lets go of the locks; CPU 2 commits B, which changes a word of A;
 * power goes. Without "retired" on the media A's mark would not match any more, and A be taken
 * back.
 */
static void fence_records(struct ek_undo *log, const struct ek_undo_lane *own)
{
	unsigned long some = READ_ONCE(log->unsettled), left;
	u64 seen[EKU_MAX_LANES] EK_UNINITIALIZED;
	struct ek_undo_lane *lane;

	for (left = some; left; left &= left - 1) {
		lane = &log->lane[__ffs(left)];
		seen[lane - log->lane] = READ_ONCE(lane->retired);
		if (seen[lane - log->lane] != READ_ONCE(lane->durable))
			scm_flush(&lane->media->head, sizeof(struct eku_head));
		else if (lane != own)
			set_aside(log, lane);
	}
	scm_fence();
	for (left = some; left; left &= left - 1) {
		lane = &log->lane[__ffs(left)];
		if (seen[lane - log->lane] != READ_ONCE(lane->durable))
			WRITE_ONCE(lane->durable, seen[lane - log->lane]);
	}
}

/**
 * ek_undo_settle - what was committed no longer depends on its words
 * @log: open
 *
 * Before words that a transaction has named are stored to in any other way than by a transaction:
 * one fence, none if nothing was committed since the last.
 * Context: any that ek_undo_begin() was called in, or none.
 */
void ek_undo_settle(struct ek_undo *log)
{
	unsigned long left;

	for (left = READ_ONCE(log->unsettled); left; left &= left - 1) {
		const struct ek_undo_lane *lane = &log->lane[__ffs(left)];

		if (READ_ONCE(lane->retired) != READ_ONCE(lane->durable)) {
			fence_records(log, NULL);
			return;
		}
	}
}
EXPORT_SYMBOL_GPL(ek_undo_settle);

/**
 * ek_undo_fence - scm_fence() and ek_undo_settle() with the same fence
 * @log: open
 *
 * Before a single word is stored to that tells of what was stored before: that needs no record.
 * Context: as ek_undo_settle().
 */
void ek_undo_fence(struct ek_undo *log)
{
	fence_records(log, NULL);
}
EXPORT_SYMBOL_GPL(ek_undo_fence);

static void store_words(const struct ek_undo *log, struct ek_undo_lane *lane)
{
	const struct ek_undo_change *change = lane->change;
	u64 mark = hash_word(log->salt, cpu_to_le64(lane->transaction));
	u32 i, j, nr;

	for (i = 0; i < lane->nr_records; i++, change += nr) {
		nr = lane->in_record[i];
		for (j = 0; j < nr; j++) {
			__le64 value = cpu_to_le64(change[j].value);

			mark = hash_word(mark, value);
			scm_store64((u64 *)change[j].word, (__force u64)value);
		}
		scm_flush(change->word, nr * sizeof(*change->word));
	}
	scm_store64((u64 *)&lane->media->head.commit, (__force u64)cpu_to_le64(mark));
	scm_flush(&lane->media->head, sizeof(struct eku_head));
}

/* Not fenced: the next fence 1 of anybody makes it durable. */
static void retire(struct ek_undo *log, struct ek_undo_lane *lane)
{
	set_retired(lane->media, lane->transaction);
	WRITE_ONCE(lane->retired, lane->transaction);
	if (!test_bit(lane - log->lane, &log->unsettled))
		set_bit(lane - log->lane, &log->unsettled);
}

static void end(struct ek_undo_tx *tx)
{
	struct ek_undo_lane *lane = tx->lane;

	lane->nr_changes = 0;
	lane->nr_records = 0;
	lane->words = 0;
	tx->lane = NULL;
	mutex_unlock(&lane->lock);
}

/**
 * ek_undo_commit - change all words: transaction_stop() of hsiao-2008 3.1.3
 * @tx: begun; ended by this
 *
 * Two fences; none when no word was set.
 * Context: sleeps not, but for what ek_undo_begin() holds.
 */
void ek_undo_commit(struct ek_undo_tx *tx)
{
	struct ek_undo_lane *lane = tx->lane;
	struct ek_undo *log = tx->log;

	if (lane->nr_changes) {
		lane->transaction++;
		write_records(log, lane);
		fence_records(log, lane);
		store_words(log, lane);
		scm_fence();
		retire(log, lane);
	}
	end(tx);
}
EXPORT_SYMBOL_GPL(ek_undo_commit);

/**
 * ek_undo_abort - end a transaction; nothing changes
 * @tx: begun
 *
 * Context: as ek_undo_commit().
 */
void ek_undo_abort(struct ek_undo_tx *tx)
{
	end(tx);
}
EXPORT_SYMBOL_GPL(ek_undo_abort);
