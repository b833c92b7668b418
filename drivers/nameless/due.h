/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: completions at absolute deadlines
 *
 * What the flash has been told to do is done in memory at once; its bio ends at the time that the
 * timing model says. One high-resolution timer a device, at the earliest of these times; none when
 * nothing is under way.
 *
 * As many bios are under way as the device's queue has places: without a limit all that is dirty in
 * a machine would be booked before a read that comes then. Who finds no place waits for one before
 * anything is done for his bio, and holds nothing meanwhile.
 */
#ifndef NAMELESS_DUE_H
#define NAMELESS_DUE_H

#include <linux/atomic.h>
#include <linux/blk_types.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#define NL_LATE_BUCKETS 16

/**
 * struct nl_req - a bio under way
 * @node: in nl_due.pending
 * @list: when taken out of there
 * @bio: it; NULL: another request
 * @of: where the bio has its place
 * @end: of that, called from the timer's hard interrupt
 * @ctx: passed to it
 * @due: when it ends, ns of CLOCK_MONOTONIC
 * @start: jiffies at its start, for the disk's accounting
 * @cuts: nl_due.cuts when it came
 * @accounted: counted there
 */
struct nl_req {
	union {
		struct rb_node node;
		struct list_head list;
	};
	struct bio *bio;
	struct nl_due *of;
	void (*end)(void *ctx, blk_status_t status);
	void *ctx;
	u64 due;
	unsigned long start;
	unsigned int cuts;
	bool accounted;
};

/**
 * struct nl_due - bios and when they end
 * @lock: taken from the timer's hard interrupt
 * @pending: by time
 * @timer: at the first of them
 * @armed: when that is; U64_MAX: off
 * @inflight: bios in @pending, and those that are being ended
 * @cuts: how often it was closed
 * @closed: power is off: nothing is taken in
 * @idle: woken when none is left
 * @depth: places; 0: any number
 * @taken: of them, from before a bio is looked at until it ends
 * @room: who waits for one
 * @errors: bios that failed
 * @late: how many ended how late: [0] under 1 us, [n] under 2^n us, the last: all others
 * @late_max: ns
 */
struct nl_due {
	spinlock_t lock;	/* see above */
	struct rb_root_cached pending;
	struct hrtimer timer;
	u64 armed;
	unsigned int inflight;
	unsigned int cuts;
	bool closed;
	wait_queue_head_t idle;
	unsigned int depth;
	atomic_t taken;
	wait_queue_head_t room;
	atomic64_t errors;
	u64 late[NL_LATE_BUCKETS];
	u64 late_max;
};

void nl_due_init(struct nl_due *due);
bool nl_due_enter(struct nl_due *due, bool nowait);
void nl_due_leave(struct nl_due *due);
void nl_due_forget(struct nl_due *due);
void nl_due_limit(struct nl_due *due, unsigned int depth);
struct nl_req *nl_req_alloc(struct nl_due *due, struct bio *bio, unsigned int cuts);
struct nl_req *nl_req_alloc_other(struct nl_due *due, void (*end)(void *ctx, blk_status_t status),
				  void *ctx);
void nl_req_end(struct nl_req *req, blk_status_t status);
void nl_due_at(struct nl_due *due, struct nl_req *req);
void nl_due_close(struct nl_due *due);
void nl_due_open(struct nl_due *due);
void nl_due_drain(struct nl_due *due);
int nl_due_start_up(void);
void nl_due_shut_down(void);

#endif /* NAMELESS_DUE_H */
