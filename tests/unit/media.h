/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulated metadata areas with a volatile write cache.
 *
 * A write is in flight until it is waited for, then in the cache until a flush of
 * that area begins, then durable; FUA: durable when waited for; PREFLUSH: a flush
 * first.  A crash keeps any set of 512-byte sectors of what is not durable.
 *
 * Somebody else's flush that fails drops what is in the cache.  The next one ends well.
 */
#ifndef EVENKEEL_MEDIA_H
#define EVENKEEL_MEDIA_H

#include <evenkeel/store.h>

struct media_block {
	int ref;
	u8 data[EK_BLOCK_SIZE] __attribute__((aligned(8)));
};

struct media_write {
	unsigned int area;
	u32 block;
	struct media_block *data;
	bool completed;
	bool fua;
};

/* What becomes of a write that is made to fail. */
enum media_fate {
	FATE_LOST,		/* nothing of it reached the media */
	FATE_WRITTEN,		/* all of it did, durably */
	FATE_TORN,		/* the first half did */
};

/* What it does to the cache, and what is said of it. */
enum media_drop {
	DROP_KNOWN,		/* all of it is gone */
	DROP_UNCLEAR,		/* likewise; it may have been something else that failed */
	DROP_NOTHING,		/* it was something else */
};

struct media {
	unsigned int nr;
	u32 nr_blocks;
	struct media_block **durable[EK_MAX_META];
	struct media_write *pending;
	unsigned int nr_pending, max_pending;
	bool error[EK_MAX_META];	/* to be returned by wait */
	u64 read_errors[EK_MAX_META];	/* reads that failed */
	bool (*unreadable)(unsigned int area, u64 offset, size_t len);
	u64 writes[EK_MAX_META];	/* begun; flushes count, too */
	u64 fail_at[EK_MAX_META];	/* the write that fails, 0: none */
	bool fail_on[EK_MAX_META];	/* and all after it */
	enum media_fate fate;
	u64 flushes[EK_MAX_META];	/* by themselves, before or behind a write */
	u64 drop_at[EK_MAX_META];	/* somebody else's before this one fails, 0: none */
	u64 drops[EK_MAX_META];		/* and before so many in all */
	enum media_drop drop;
	struct ek_losses lost[EK_MAX_META];
	bool obeys;			/* who sends them: until it is asked not to */
	unsigned int quiesced;
	void (*hook)(struct media *m);	/* after every event that changes what a crash finds */
	void *ctx;
};

extern const struct ek_store_io media_io, media_io_readonly;

struct media *media_new(unsigned int nr, u64 bytes);
void media_free(struct media *m);

enum media_crash {
	CRASH_NONE,		/* nothing that is not durable is kept */
	CRASH_ALL,		/* everything is */
	CRASH_FIRST,		/* everything on area 0, nothing on area 1 */
	CRASH_SECOND,
	CRASH_RANDOM,		/* any sectors */
	CRASH_WARM,		/* the cache survives, as in a reset without power cut */
	CRASH_TORN,		/* + n: all, but of the last block only n sectors, 1 to 7 */
};

/* The media as a crash leaves them; no hook, no failures. */
struct media *media_crash(const struct media *m, unsigned int how);

/* Area @to becomes as area @from of another is durably; both have no writes pending. */
void media_put_area(struct media *m, unsigned int to, const struct media *other, unsigned int from);
/* All zeroes, durably; likewise. */
void media_blank_area(struct media *m, unsigned int area);

/* Direct access to what is durable, for damage. */
u8 *media_poke(struct media *m, unsigned int area, u64 offset);

#endif
