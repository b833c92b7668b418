/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-hybrid's own structures.
 *
 * A table is a struct hy_table (from its constructor to its destructor); the pool
 * that its metadata area names is a struct hy_pool, shared by successive tables,
 * so that an inactive table never reads metadata that a live one is changing.
 *
 * Locks, in the order in which they nest:
 *   hy_pools_lock (mutex)	the list of pools and their reference counts
 *   pool->state_sem (rwsem)	what is loaded stays, for status and messages
 *   pool->message_lock (mutex)	messages that change something
 *   pool->load_lock (mutex)	loading map pages, the replayed entries
 *   pool->free_sem (rwsem)	entries changed together with frees
 *   pool->heat_lock (mutex)	the LRU list, samples
 *   hy_caches_lock (mutex)	the list of extent caches; reclaim only tries it
 *   bucket->lock (spin, irq)	first writes of the extents of one hash bucket
 *   mig->lock (spin, irq)	one migration
 *   pool->policy_lock (spin, irq)	policy, snapshot, tokens
 *   pool->free_lock (spin, irq)	freed extents and who waits for them
 *   space->lock, cache->lock (spin, irq)	leaves
 * The committer (pool->commit_work) is the only caller of the store's writing side, but for
 * mirror.c, whose work takes turns with it on the same ordered queue.
 */
#ifndef _HYBRID_H
#define _HYBRID_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <compat/srcu.h>
#include <evenkeel/direct.h>
#include <evenkeel/extent_map.h>
#include <evenkeel/label.h>
#include <evenkeel/rtmon.h>
#include <evenkeel/space_map.h>
#include <evenkeel/store.h>

#include "args.h"
#include "heat.h"
#include "policy.h"
#include "settings.h"

#define DM_MSG_PREFIX "hybrid"

#define HY_LANES	16	/* deferred bios are worked on in this many lanes */
#define HY_BUCKETS	256	/* hash of extents with first writes in flight */
#define HY_IMAGES	512	/* pages that a checkpoint takes at once */
#define HY_MAX_DISCARD	BIT(30)		/* bytes of one discard */
#define HY_RUN		16	/* extents that a bio may go through */
/* Who is to be told of lost writes, each kind once */
#define HY_TELL_FLUSH	0x1	/* FLUSH bios */
#define HY_TELL_FUA	0x2	/* FUA writes */
#define HY_TELL_MESSAGE	0x4	/* "commit" and "checkpoint" */
#define HY_TELL_ALL	(HY_TELL_FLUSH | HY_TELL_FUA | HY_TELL_MESSAGE)

/* A page or less: for want of it users would see an error as of a lost disk, or a false status. */
#define HY_MUST		(GFP_NOIO | __GFP_NOFAIL)

struct hy_pool;
struct hy_mig;
struct hy_cache;
struct hy_slot;

/**
 * struct hy_area - a range of a device
 * @dev: dm's reference, the table's; NULL: lost
 * @direct: the way around the block layer, of a member that has one
 * @start: first sector on the device
 * @sectors: length
 * @uuid: from its label; zero: lost, or not labelled yet
 * @unread: of one in a constructor: it answers nothing, and nobody knows yet what it is
 */
struct hy_area {
	struct dm_dev *dev;
	struct ek_direct direct;
	sector_t start;
	sector_t sectors;
	u8 uuid[EK_UUID_SIZE];
	bool unread;
};

enum hy_label_state { HY_LABELS_NEW, HY_LABELS_OURS };

/**
 * struct hy_ready - what the resume of a table would need memory for
 * @policy: the table's; NULL: it has taken over
 * @set: its settings
 * @cache: what these may want; NULL: none, or the pool has it
 * @want: the shape that the table wants the pool to have
 * @grows: its map is longer than the pool's
 * @super: room for the superblock that would say so
 * @writes: of members that join
 * @mon: likewise
 * @space: likewise
 * @pages: of the longer map
 *
 * Made by the constructor, while memory may be waited for; see ready.c.
 */
struct hy_ready {
	struct hy_policy *policy;
	struct hy_settings set;
	struct hy_cache *cache;
	struct ek_reshape want;
	bool grows;
	struct ek_super super;
	u64 __percpu *writes[EK_MAX_MEMBERS];
	struct ek_rtmon *mon[EK_MAX_MEMBERS];
	struct ek_space space[EK_MAX_MEMBERS];
	struct ek_map_page **pages;
};

/**
 * struct hy_table - one dm table
 * @ti: its target
 * @pool: what it is a table of
 * @extent_sectors: extent size
 * @nr_meta: metadata areas
 * @meta: they
 * @nr_members: members
 * @member: their areas
 * @no_discard_passdown: feature
 * @read_only: feature
 * @policy: name and arguments as given
 * @uuid: the pool's, from the labels; zero: not made yet
 * @labels: is the pool to be made?
 * @ready: what its resumes take memory from
 */
struct hy_table {
	struct dm_target *ti;
	struct hy_pool *pool;
	u32 extent_sectors;
	unsigned int nr_meta;
	struct hy_area meta[EK_MAX_META];
	unsigned int nr_members;
	struct hy_area member[EK_MAX_MEMBERS];
	bool no_discard_passdown;
	bool read_only;
	char policy[EK_POLICY_TEXT_SIZE];
	u8 uuid[EK_UUID_SIZE];
	enum hy_label_state labels;
	struct hy_ready ready;
};

/* hy_member.flushed at the start: what was written before may not be durable. */
#define HY_NEVER_FLUSHED	U64_MAX

/**
 * struct hy_probe - small reads that show how fast a member is with nothing to do
 * @pool: the member's
 * @due: the next one not before, ns
 * @start_ns: when the one under way began
 * @busy: there is one; probe_lock
 * @hurry: the next one is to follow it at once
 * @tries: begun since the end of the last period
 * @last: what the last of @nr took, in turn
 * @nr: how many were of use
 * @ns: what they took, summed
 * @seen_nr: of @nr at the end of the last period
 * @seen_ns: of @ns then
 */
struct hy_probe {
	struct hy_pool *pool;
	u64 due;
	u64 start_ns;
	bool busy;
	bool hurry;
	u32 tries;
	u64 last[HY_FIRST_PROBES];
	atomic64_t nr;
	atomic64_t ns;
	u64 seen_nr;
	u64 seen_ns;
};

/*
 * struct hy_passes - what came of going through the map for what is on a member that leaves
 * Numbers of extents; of the last time that came to the end, and of the present one.
 */
struct hy_passes {
	u64 nr;			/* times */
	u64 tried, unknown;	/* was to be moved; the map can't be read */
	u64 trying, unread;
};

/* The search for extents of a member that are not in use. */
struct hy_cold {
	u64 cursor;	/* logical extent */
	u64 looks;	/* since one was found */
	u64 since;	/* ns: when that was, or the search began */
	u64 last;	/* when it went on */
};

/**
 * struct hy_member - a member of a pool
 * @bdev: its device, of the bound table; NULL: lost
 * @direct: the way around the block layer, the bound table's; NULL: there is none
 * @data: sector of physical extent 0
 * @area_start: first sector of its area
 * @area_sectors: its length
 * @nr_extents: physical extents
 * @space: which are in use
 * @mon: response times
 * @pool: whose member it is
 * @returning: frees that nobody uses any more, free_lock
 * @discard_work: tells the device of them, and gives them back
 * @submit_lock: @to_submit
 * @to_submit: bios that workers send to it; see submit.c
 * @submit_work: submits them
 * @nr_quarantined: extents here that are freed and not free yet
 * @last_free: of what is freed and not committed the last run here, which the next may go on
 * @writes: per CPU: writes that completed
 * @flushed: of them durable; the committer's own
 * @committing: of @writes those of before the commit under way; the committer's own
 * @committed: the same of the last one that ended well
 * @copies: of @writes those of migrations
 * @flushed_copies: of them as of the last flush, roughly; the committer's own
 * @flushed_at: jiffies: when a flush of users had to be one of this member; see settle.c
 * @flush_bio: the committer's
 * @flush_lock: who flushes it: the committer, or a migration (settle.c)
 * @settle_lock: @settling
 * @settling: migrations that wait for a flush: struct hy_settle
 * @settle_work: flushes for them
 * @lost: of @writes those that a flush which failed may have lost, and somebody is to be told
 * @losses: how often it may have, with what was copied there; changed before anybody takes
 *	free_sem, or flushes again, for what it is about
 * @dropped: how often its disk may have dropped what was in its cache: a flush failed, or power did
 * @dropped_perhaps: likewise, as a write failed behind which a flush may have: disk.c
 * @failed_flushes: in a row; the committer's own
 * @write_failed: a write has since the last flush began, or the member was reinstated
 * @state: enum ek_member_state
 * @leaving: it is to be emptied, whatever @state says of its health; so it is saved
 * @drain_at: the next logical extent to be looked at while it is draining
 * @drained: said to be empty
 * @drain_next: ns: not to be looked through again before
 * @passes: through the map since it was to leave, the balancer's
 * @errors: I/O errors
 * @failed_requests: of users, that ended with an error
 * @seen_failed: of them at the end of the last period
 * @failed_ended: errors that @mon has counted among the requests that ended, also of reads that
 *	the member was not to try hard for: those say nothing
 * @seen_failed_ended: of them at the end of the last period
 * @allocations: extents placed here
 * @sample: the last period
 * @usual_ns: its averages at the end of the last period, by direction; 0: not known
 * @share: of the requests that came in during a period, in ppm: hy_measure_shares()
 * @nr_giving: extents under way from it
 * @nr_given: of them, copied: they wait for a flush
 * @nr_settling: extents copied to it that wait for its flush
 * @cold: the search for what is not in use there: mover.c
 * @shed_idle: when something left it last while nobody was there, ns
 * @copy_debt: ns that copies took and that are not paid for yet: mover.c
 * @more_inflight: what the monitor has in flight beyond bios: extents of runs but the first
 * @seen_occupancy: of users' requests, at the mover's last tick
 * @probe: idle probes
 */
struct hy_member {
	struct block_device *bdev;
	const struct ek_direct *direct;
	sector_t data;
	sector_t area_start;
	sector_t area_sectors;
	u32 nr_extents;
	struct ek_space space;
	struct ek_rtmon *mon;
	struct hy_pool *pool;
	struct hy_free *last_free;	/* of pool->frees, behind which the next one may lie */
	struct list_head returning;	/* frees that nobody uses any more */
	struct work_struct discard_work;
	spinlock_t submit_lock;		/* the list below */
	struct bio_list to_submit;
	struct work_struct submit_work;
	atomic_t nr_quarantined;
	u64 __percpu *writes;
	u64 flushed;
	u64 committing;
	u64 committed;
	atomic64_t copies;
	u64 flushed_copies;
	unsigned long flushed_at;
	struct bio flush_bio;
	struct mutex flush_lock;	/* one flush at a time */
	spinlock_t settle_lock;		/* the list below */
	struct list_head settling;
	struct work_struct settle_work;
	u64 lost;
	atomic_t losses;
	atomic_t dropped;
	atomic_t dropped_perhaps;
	unsigned int failed_flushes;
	bool write_failed;
	u32 state;
	bool leaving;
	u64 drain_at;
	bool drained;
	u64 drain_next;
	struct hy_passes passes;
	atomic64_t errors;
	atomic64_t failed_requests;
	u64 seen_failed;
	atomic64_t failed_ended;
	u64 seen_failed_ended;
	atomic64_t allocations;
	struct ek_rt_sample sample;
	u64 usual_ns[EK_DIRS];
	u32 share;
	atomic_t nr_giving;
	atomic_t nr_given;
	atomic_t nr_settling;
	struct hy_cold cold;
	u64 shed_idle;
	atomic64_t copy_debt;
	atomic_t more_inflight;
	u64 seen_occupancy;
	struct hy_probe probe;
};

/* Stages of a migration that are traced. */
enum { HY_TRACE_START, HY_TRACE_SWITCH, HY_TRACE_GIVE_UP };

enum hy_mode { HY_RW, HY_RO, HY_FAIL };

/* Somebody who waits until all bios begun before are done. */
struct hy_drain {
	struct rcu_head rcu;
	struct work_struct work;
	struct hy_pool *pool;
	void (*fn)(struct hy_drain *drain);	/* called then, in process context */
};

/**
 * struct hy_io - what a bio carries through the target
 * @pool: the pool
 * @mig: the migration that tracks it, for writes
 * @start_ns: when it was sent
 * @le: logical extent
 * @place: where it went
 * @bits: granules it writes for the first time
 * @touched: granules it touches
 * @waited: of a discard: hy_free_crowded() has held it, and it has come no further since
 * @bytes: its length
 * @member: member it went to
 * @flags: HY_IO_*
 * @epoch: of SRCU, while HY_IO_PINNED
 * @more: extents beyond @le, on the fast path only
 * @hash: in its bucket while @bits are being written
 * @waiters: bios that want one of @bits
 */
struct hy_io {
	struct hy_pool *pool;
	struct hy_mig *mig;
	u64 start_ns;
	u64 le;
	u64 place;
	u32 bits;
	union {
		u32 touched;
		u32 waited;
	};
	u32 bytes;
	u8 member;
	u8 flags;
	u8 epoch;
	u8 more;
	struct hlist_node hash;
	struct bio_list waiters;
};

#define HY_IO_SENT	0x01	/* on its way to @member, in its monitor */
#define HY_IO_WRITE	0x02
#define HY_IO_FIRST	0x04	/* in a bucket */
#define HY_IO_COMMIT	0x08	/* FUA: a commit must follow */
#define HY_IO_PINNED	0x10	/* an SRCU reader: see epoch.c */
#define HY_IO_COUNTED	0x20	/* a write that the extent cache knows of */
#define HY_IO_UPDATES	0x40	/* and whose data it has taken over */
#define HY_IO_TELL	0x80	/* with COMMIT: to be told of a loss, however late that is */

/*
 * struct hy_bucket - first writes in flight for the extents of a hash value
 */
struct hy_bucket {
	spinlock_t lock;	/* ios, their waiters */
	struct hlist_head ios;
};

struct hy_lane {
	spinlock_t lock;	/* bios */
	struct bio_list bios;
	struct work_struct work;
	struct hy_pool *pool;
};

/*
 * Accesses of one CPU since the last tick; slot: sector << 8 | HY_ACCESS_* | member.  A volume is
 * smaller than 2^56 sectors: see the map entry.
 */
#define HY_ACCESS_WRITE		0x20
#define HY_ACCESS_LARGE		0x40	/* hy_access.large */
#define HY_ACCESS_AHEAD		0x80	/* hy_access.ahead */
#define HY_ACCESS_MEMBER	0x1f

struct hy_ring {
	u32 head;
	u32 tail;		/* the ticker's */
	u32 first;		/* requests in which new extents are written, all of each */
	u64 slot[HY_RING];
};

/* An entry that the journal holds and the page on the media does not. */
struct hy_replayed {
	u64 le;
	u64 entry;
};

/*
 * struct hy_gather - the range that a policy has moved; see gather.c
 * The balancer's own but for @active, and changed under policy_lock.
 */
struct hy_gather {
	bool active;
	struct hy_range range;
	u64 at;			/* the next extent */
	u64 start;		/* ns */
	u64 full_since;		/* ns; 0: the last extent found room */
	struct hy_moved moved;
};

enum hy_mirror_op { HY_MIRROR_NONE, HY_MIRROR_LEAVE, HY_MIRROR_VACATE, HY_MIRROR_RESYNC };

/*
 * struct hy_mirror - a metadata area that leaves or comes; see mirror.c
 * Set under message_lock while @op is none, then the work's own.
 */
struct hy_mirror {
	struct work_struct work;
	enum hy_mirror_op op;
	unsigned int area;
	bool begun;		/* @answer was given */
	struct ek_mend mend;	/* its buffer is a resync's, too */
	int error;		/* the answer */
	struct completion answer;
};

/* Writes of a metadata area in flight; see meta_io.c. */
struct hy_meta_io {
	atomic_t pending;
	int error;
	unsigned int flags;	/* EK_IO_* of what is in flight */
	unsigned int dropped;	/* flushes that failed */
	struct completion done;
};

/*
 * Which place an area is, whatever table names it; dev 0: none. One that is not open is where it
 * was: the number may be another device's by now.
 */
struct hy_key {
	dev_t dev;
	sector_t start;
	bool open;	/* of a metadata area */
};

/* A pool. */
struct hy_pool {
	/* registry; hy_pools_lock */
	struct list_head list;
	unsigned int refs;
	struct mapped_device *md;	/* the one whose tables may use it */
	struct hy_key key[EK_MAX_META];		/* hy_keys_lock */
	struct list_head claimed;		/* likewise */
	struct hy_key claim[EK_MAX_MEMBERS];	/* likewise: members, while it is loaded */
	struct hy_key in_use[EK_MAX_META];	/* metadata areas, as last seen */

	/* geometry; constant once loaded */
	u32 extent_sectors;
	u32 extent_shift;	/* of a sector number */
	u32 granule_shift;	/* likewise */
	u64 nr_extents;		/* logical */
	unsigned int nr_members;
	struct hy_member member[EK_MAX_MEMBERS];
	unsigned int nr_meta;
	struct hy_area meta[EK_MAX_META];	/* of the bound table */
	u8 uuid[EK_UUID_SIZE];
	unsigned int block_size;	/* bytes: no member's logical blocks are larger */

	/* state */
	struct rw_semaphore state_sem;	/* held by status and messages: all stays loaded */
	struct hy_table *bound;	/* changes only while suspended */
	bool loaded;
	bool outdated;		/* never loaded, and a later table says otherwise */
	bool map_ready;
	bool store_ro;		/* opened for reading only */
	bool read_only;		/* the bound table is: nothing is written until another one comes */
	bool running;		/* between resume and presuspend */
	bool timed;		/* and postsuspend: a file system may write much before it */
	bool at_rest;		/* between postsuspend and resume: nothing is written */
	enum hy_mode mode;
	bool needs_check;
	bool no_discard_passdown;
	bool caching;		/* the extent cache is on: writes are to be counted */
	struct hy_cache *cache;	/* NULL until it is turned on; stays until the pool goes */
	struct work_struct event_work;

	/* map and metadata */
	struct ek_map map;
	struct ek_store *store;
	struct dm_io_client *io_client;
	struct hy_meta_io meta_io[EK_MAX_META];
	struct hy_mirror mirror;
	struct mutex load_lock;		/* loading of pages, replayed, refused */
	struct xarray refused;		/* pages of the map: see check_used() */
	struct hy_replayed *replayed;	/* sorted by extent */
	size_t nr_replayed;
	size_t max_replayed;
	atomic64_t mapped;

	/* bios in flight */
	struct srcu_struct srcu;
	bool srcu_ready;

	/* slow paths of bios */
	struct workqueue_struct *wq;
	struct workqueue_struct *discard_wq;	/* what waits there for a device, a member each */
	struct workqueue_struct *settle_wq;	/* likewise */
	struct workqueue_struct *submit_wq;	/* likewise */
	struct hy_lane lane[HY_LANES];
	struct hy_bucket bucket[HY_BUCKETS];
	struct bio_set bs;

	/* commits */
	struct workqueue_struct *commit_wq;
	struct work_struct commit_work;
	struct delayed_work commit_timer;
	spinlock_t commit_lock;		/* requests and their completion */
	struct bio_list flush_bios;
	bool want_policy;		/* nobody waits: the last try failed */
	bool policy_may_differ;		/* from what the superblock has */
	struct list_head commit_waits;	/* struct hy_commit_wait */
	bool unflushed;			/* the committer's: a flush failed, others may not */
	unsigned int to_tell;		/* the committer's: HY_TELL_*; see hy_commit_lost() */
	bool lost_now;			/* likewise: since to_tell was looked at */
	unsigned long tell_until;	/* likewise: jiffies */
	unsigned long tell_fua_until;
	unsigned long tell_left;	/* of these at the suspension */
	unsigned long tell_fua_left;
	bool commit_failed;		/* the last one of the committer's; hy_commit_tells_fua() */
	unsigned long reverting;	/* the committer's: members; see free.c */
	unsigned long doubted;		/* the committer's: members; see take_back.c */
	unsigned long distrusted;	/* members: see hy_members_flush() */
	unsigned int nr_taken_back;	/* the committer's: extents */
	struct ek_page *committed;	/* likewise: a page of the map, as on the media */
	u64 committed_index;		/* which one; U64_MAX: none */
	unsigned int removing;		/* the committer's: members; see checkpoint.c */
	bool needs_check_noted;
	char *text;		/* the committer's: see hy_policy_note() */
	bool committing;	/* see hy_commit_needed() */
	bool asked;		/* the committer's: somebody waits for the commit under way */
	unsigned long user_flushed;	/* jiffies; see settle.c */
	u64 *taken;		/* extents in it */
	unsigned long taken_on;	/* members that they are on, or have moved from */
	unsigned long moved_to;	/* the committer's: members that what it takes has moved to */
	size_t nr_taken;
	size_t max_taken;
	size_t nr_committed;	/* by the last commit, for its trace */
	struct list_head dirty_pages;	/* the committer's */
	struct list_head writing_pages;	/* in the checkpoint under way */
	unsigned int nr_dirty;
	unsigned int failed_commits;	/* in a row */
	unsigned long failing_since;	/* jiffies, of the first of them */
	struct ek_page *images;
	u64 *image_index;
	bool closing;		/* the next checkpoint leaves the pool clean */

	/*
	 * Held for reading while an entry is changed and its old place is queued as
	 * freed, for writing while both are taken: a commit has both or neither.
	 */
	struct rw_semaphore free_sem;

	/* freed extents */
	spinlock_t free_lock;
	struct list_head frees;		/* not yet committed */
	atomic64_t nr_quarantined;	/* extents freed, not yet free */
	atomic_t nr_frees;		/* runs of such */
	struct bio_list nospace;	/* bios that wait for them */
	struct bio_list crowded;	/* discards that wait, as these are so many */

	/* policy */
	spinlock_t policy_lock;
	struct hy_policy *policy;
	struct hy_snapshot snap;
	struct hy_decision decision;
	struct hy_decision tokens;
	struct hy_settings set;
	struct hy_gather gather;

	/* migration */
	struct xarray migs;
	atomic_t nr_migrating;
	atomic_t nr_settling;		/* of them */
	wait_queue_head_t mig_wait;
	struct dm_kcopyd_client *kc;
	struct mutex heat_lock;		/* heat */
	struct mutex message_lock;	/* set and policy messages, one at a time */
	struct hy_heat heat;
	struct hy_ring __percpu *rings;
	struct delayed_work tick;
	u64 period_start;	/* ns */
	u64 next_copy;		/* ns: rate limit */
	u64 last_user;		/* ns: the last tick that found a request of a user's */
	u64 last_tick;		/* ns: the mover's */
	u32 first_seen;		/* of hy_ring.first, in the last period */
	u64 pin_at;		/* likewise; U64_MAX: all are where they are held, or were tried */
	bool pin_rescan;
	bool pin_waits;	/* some were passed over, to be tried again */
	u32 moved_ppm;		/* less than a token: policy_lock */
	spinlock_t probe_lock;	/* nr_probing, probe.busy of members */
	unsigned int nr_probing;

	/* counters */
	atomic64_t mig_started;
	atomic64_t mig_completed;
	atomic64_t mig_failed;
	atomic64_t mig_bytes;
	atomic64_t not_migrated[HY_REASONS];
	atomic64_t nospace_errors;
	atomic64_t flushes;
	atomic64_t commits;
	atomic64_t checkpoints;
	atomic64_t errors;
};

/* pool_policy.c */
int hy_pool_set(struct hy_pool *pool, const char *key, const char *value, const char **reason);
int hy_pool_set_policy(struct hy_pool *pool, const char *name, unsigned int argc, char **argv,
		       const char **reason);
int hy_policy_text(struct hy_pool *pool, char *buf, size_t len, char *room);
int hy_policy_note(struct hy_pool *pool);
bool hy_policy_is_noted(struct hy_pool *pool);
void hy_policy_show_any(struct hy_pool *pool, char *buf, size_t len);

/* area.c */
int hy_areas_check(struct hy_table *t, char **error);
int hy_labels_write(struct hy_pool *pool, struct hy_table *t, const char *name, bool forming,
		    u8 (*member_uuid)[EK_UUID_SIZE]);
int hy_labels_settle(struct hy_table *t);
int hy_area_is_labelled(struct hy_area *a);
int hy_labels_check(struct hy_table *t, u8 *pool_uuid, enum hy_label_state *state,
		    char **error);
int hy_labels_adopt(struct hy_pool *pool, struct hy_table *t, char **error);

/* meta_io.c */
int hy_preflush(struct dm_dev *dev, blk_opf_t *opf);
extern const struct ek_store_io hy_meta_io;
extern const struct ek_store_io hy_meta_io_ro;

/* disk.c */
bool hy_disk_may_be_same(const struct block_device *a, const struct block_device *b);
bool hy_disk_fua_flushes(struct block_device *bdev);
void hy_disk_lost(struct hy_pool *pool, const struct block_device *bdev);
void hy_disk_dropped(struct hy_member *m, bool known);
void hy_disk_losses(struct hy_pool *pool, unsigned int area, struct ek_losses *losses);

/* pool.c */
struct hy_pool *hy_pool_get(struct hy_table *t, char **error);
void hy_pool_put(struct hy_pool *pool);
void hy_pool_note_keys(struct hy_pool *pool, struct hy_table *t, unsigned int vacant);
const char *hy_pool_claim(struct hy_pool *pool, struct hy_table *t);
bool hy_pools_stop_claims(char *who, size_t len);
void hy_pools_allow_claims(void);
void hy_pool_unclaim(struct hy_pool *pool);
bool hy_pool_matches(struct hy_pool *pool, struct hy_table *t, char **error);
void hy_pool_set_mode(struct hy_pool *pool, enum hy_mode mode, const char *why);
void hy_pool_needs_check(struct hy_pool *pool, const char *why);

/* May data and metadata be written?  Any context. */
static inline bool hy_pool_writable(struct hy_pool *pool)
{
	return READ_ONCE(pool->mode) == HY_RW;
}

/* Do new extents go there, if need be?  Any context. */
static inline bool hy_member_takes(struct hy_member *m)
{
	return m->bdev && READ_ONCE(m->state) <= EK_MEMBER_DEGRADED;
}

/* activate.c */
int hy_pool_activate(struct hy_pool *pool, struct hy_table *t);
void hy_pool_unbind(struct hy_pool *pool);
void hy_pool_deactivate(struct hy_pool *pool);
int hy_pool_load_page(struct hy_pool *pool, u64 index);
int hy_pool_lookup(struct hy_pool *pool, u64 le, u64 *entry);
int hy_pool_lookup_step(struct hy_pool *pool, u64 le, u64 *entry, bool *loaded);
int hy_pool_load_replayed(struct hy_pool *pool);

/* io.c */
void hy_map_deferred(struct hy_pool *pool, struct bio *bio);
int hy_map(struct dm_target *ti, struct bio *bio);
int hy_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error);
void hy_io_send(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry);
void hy_io_sent(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry, u32 bytes);
void hy_io_read_itself(struct hy_pool *pool, struct bio *bio, u64 entry);
u32 hy_bio_bits(struct hy_pool *pool, struct bio *bio);

static inline struct hy_io *hy_io(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct hy_io));
}

/* first_write.c */
int hy_first_write(struct hy_pool *pool, struct bio *bio, struct hy_io *io, bool worker);
void hy_first_write_done(struct hy_pool *pool, struct hy_io *io, bool failed);

/* cache.c, cache_size.c */

/* Is the extent cache on?  Who is pinned when he asks is waited for before it begins to read. */
static __always_inline bool hy_caching(struct hy_pool *pool)
{
	return smp_load_acquire(&pool->caching);	/* pairs with hy_cache_resize() */
}

bool hy_cache_read(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry,
		   bool worker);
void hy_cache_write_begin(struct hy_pool *pool, struct bio *bio, struct hy_io *io, u64 entry);
void hy_cache_write_end(struct hy_pool *pool, struct hy_io *io, bool ok);
struct hy_slot *hy_cache_hold(struct hy_pool *pool, u64 le, u64 entry, struct block_device *to);
bool hy_cache_keeps_up(struct hy_slot *slot);
void hy_cache_release(struct hy_slot *slot);
void hy_cache_write_out(struct hy_slot *slot, struct block_device *bdev, sector_t sector, u32 first,
			u32 last, void (*written)(void *context, int error), void *context);
bool hy_cache_pick(struct hy_pool *pool, unsigned int member, u64 *le);
void hy_cache_moved(struct hy_pool *pool, u64 le, u64 from, u64 to);
void hy_cache_forget(struct hy_pool *pool, u64 le);
void hy_cache_forget_all(struct hy_pool *pool);
struct hy_cache *hy_cache_make(struct hy_pool *pool);
void hy_cache_unmake(struct hy_cache *cache);
void hy_cache_resize(struct hy_pool *pool, u32 extents, struct hy_cache **spare);
void hy_cache_stop(struct hy_pool *pool);
void hy_cache_destroy(struct hy_pool *pool);
void hy_cache_show(struct hy_pool *pool, char *result, unsigned int maxlen);
int hy_cache_init(void);
void hy_cache_exit(void);

/* defer.c */
void hy_defer_bio(struct hy_pool *pool, struct bio *bio);
void hy_defer_bios(struct hy_pool *pool, struct bio_list *bios);
void hy_lanes_init(struct hy_pool *pool);

/* submit.c */
void hy_submit_bio(struct hy_member *m, struct bio *bio);
void hy_submit_init_member(struct hy_member *m);

/* discard.c */
int hy_map_discard(struct hy_pool *pool, struct bio *bio, bool worker);

/* epoch.c */
void hy_drain_bios(struct hy_pool *pool, struct hy_drain *drain);
void hy_drain_wait(struct hy_pool *pool);

static inline void hy_io_pin(struct hy_pool *pool, struct hy_io *io)
{
	io->epoch = srcu_down_read(&pool->srcu);
	__release(&pool->srcu);	/* for sparse: it is the bio that holds it, not the function */
	io->flags |= HY_IO_PINNED;
}

static inline void hy_epoch_leave(struct hy_pool *pool, u8 epoch)
{
	__acquire(&pool->srcu);
	srcu_up_read(&pool->srcu, epoch);
}

static inline void hy_io_unpin(struct hy_io *io)
{
	io->flags &= ~HY_IO_PINNED;
	hy_epoch_leave(io->pool, io->epoch);
}

/* free.c */
struct hy_free {
	struct list_head list;
	unsigned int member;
	u32 pe;
	u32 count;
	/* What a migration left; the entry of @le as it was, and where it points now. */
	bool moved;
	u64 le;
	u64 old;
	u64 now;
};

struct hy_free *hy_free_alloc(gfp_t gfp);
void hy_free_drop(struct hy_free *f);
void hy_free_queue(struct hy_pool *pool, struct hy_free *f, u64 place);
void hy_free_queue_moved(struct hy_pool *pool, struct hy_free *f, u64 le, u64 old, u64 now);
bool hy_free_pending(struct hy_pool *pool);
void hy_free_take(struct hy_pool *pool, struct list_head *batch);
void hy_free_untake(struct hy_pool *pool, struct list_head *batch);
void hy_free_committed(struct hy_pool *pool, struct list_head *batch);
struct hy_free *hy_free_moved_last(struct list_head *frees, struct hy_free *f);
void hy_free_revert(struct hy_pool *pool);
void hy_free_wake(struct hy_pool *pool);
void hy_free_fail_waiting(struct hy_pool *pool);
bool hy_free_crowded(struct hy_pool *pool, struct bio *bio);
void hy_free_resume(struct hy_pool *pool);
void hy_free_went_on(struct hy_pool *pool);
void hy_free_init_member(struct hy_pool *pool, struct hy_member *m);
bool hy_free_wait_for_space(struct hy_pool *pool, struct bio *bio);
int hy_free_init(void);
void hy_free_exit(void);

/* take_back.c */
int hy_take_back(struct hy_pool *pool, u64 le, u64 *entry);
int hy_take_back_moved(struct hy_pool *pool, struct list_head *frees);
int hy_take_back_all(struct hy_pool *pool);
void hy_take_back_end(struct hy_pool *pool);

/* member.c */

/*
 * A write to it has succeeded: before validity bits are set or the bio is ended.  One that failed
 * is nobody's to rely on, and would have a dead member flushed again and again.  Any context.
 */
static inline void hy_member_wrote(struct hy_member *m)
{
	this_cpu_inc(*m->writes);
}

#define HY_ALL_MEMBERS	ULONG_MAX

int hy_members_flush(struct hy_pool *pool, unsigned long members);
void hy_member_forget_writes(struct hy_member *m);
void hy_member_leaves(struct hy_pool *pool, struct hy_member *m);
void hy_members_lost_late(struct hy_pool *pool, unsigned long members);
void hy_members_commit(struct hy_pool *pool);
void hy_members_committed(struct hy_pool *pool);
bool hy_members_wrote(struct hy_pool *pool, unsigned long members);
void hy_member_distrust(struct hy_pool *pool, struct hy_member *m);
void hy_members_rest(struct hy_pool *pool);
void hy_member_becomes(struct hy_pool *pool, struct hy_member *m, u32 state);
void hy_member_stays(struct hy_pool *pool, struct hy_member *m);
void hy_member_error(struct hy_pool *pool, struct hy_member *m, blk_status_t status);
void hy_member_failed(struct hy_pool *pool, struct hy_member *m, blk_opf_t opf,
		      unsigned int requests, blk_status_t status);
void hy_member_judge(struct hy_pool *pool, struct hy_member *m, u64 requests);
void hy_member_reinstate_begin(struct hy_pool *pool, struct hy_member *m);
int hy_member_reinstate_end(struct hy_pool *pool, struct hy_member *m);
void hy_member_settle_failed(struct hy_pool *pool, struct hy_member *m, blk_status_t status);

/* settle.c */

/* struct hy_settle - who waits for a flush of what was copied */
struct hy_settle {
	struct list_head list;
	void (*done)(struct hy_settle *s, int error);
};

void hy_settle_init(struct hy_pool *pool);
void hy_settle_note_flush(struct hy_pool *pool);
void hy_settle_not(struct hy_member *m);
void hy_settle_note_writes(struct hy_member *m, u64 writes, bool asked);
bool hy_settle_wanted(const struct hy_pool *pool, const struct hy_member *m);
void hy_settle(struct hy_member *m, struct hy_settle *s);
void hy_settle_init_member(struct hy_member *m, unsigned int i);

/* commit.c */
void hy_commit_init(struct hy_pool *pool);
void hy_commit_bio(struct hy_pool *pool, struct bio *bio);
void hy_commit_note_policy(struct hy_pool *pool);
void hy_commit_kick(struct hy_pool *pool);
void hy_commit_soon(struct hy_pool *pool);
void hy_commit_retime(struct hy_pool *pool);
void hy_commit_end(struct hy_pool *pool);
int hy_commit_policy(struct hy_pool *pool);
int hy_commit_super(struct hy_pool *pool, const struct ek_reshape *reshape);
int hy_commit_removal(struct hy_pool *pool, unsigned int member);
int hy_commit_reinstate(struct hy_pool *pool, struct hy_member *m);
int hy_commit_wait(struct hy_pool *pool, bool checkpoint);
int hy_commit_message(struct hy_pool *pool, bool checkpoint);
bool hy_commit_needed(struct hy_pool *pool, u64 le);
void hy_commit_lost(struct hy_pool *pool);
bool hy_commit_tell_stop(struct hy_pool *pool);
void hy_commit_tell_on(struct hy_pool *pool);
bool hy_commit_fails(const struct hy_pool *pool);
void hy_commit_begins(struct hy_pool *pool);
void hy_commit_is_over(struct hy_pool *pool);
bool hy_commit_tells_fua(const struct hy_pool *pool);

/* checkpoint.c */
int hy_checkpoint(struct hy_pool *pool, struct list_head *frees, u32 flags);
void hy_page_dirty(struct hy_pool *pool, struct ek_map_page *page);

/* migrate.c */
struct hy_mig *hy_mig_enter(struct hy_pool *pool, u64 le, struct bio *bio, bool *deferred);
void hy_mig_write_done(struct hy_mig *mig, u32 touched);
int hy_mig_start(struct hy_pool *pool, u64 le, unsigned int from, unsigned int to,
		 enum hy_reason *why);

/* evacuate.c */
bool hy_evacuate_tick(struct hy_pool *pool, u64 now);
int hy_evacuate(struct hy_pool *pool, unsigned int i, const char **reason);
int hy_stay(struct hy_pool *pool, unsigned int i, const char **reason);
int hy_remove_member(struct hy_pool *pool, unsigned int i, const char **reason);

/* standing.c */
void hy_members_show(struct hy_pool *pool, char *result, unsigned int maxlen);
const char *hy_member_state(struct hy_member *m);
int hy_reinstate(struct hy_pool *pool, unsigned int i, const char **reason);

/* lost.c */
int hy_lost_show(struct hy_pool *pool, u64 from, char *result, unsigned int maxlen);
int hy_holds_show(struct hy_pool *pool, unsigned int member, u64 from, char *result,
		  unsigned int maxlen);

/* ready.c */
int hy_ready_policy(struct hy_table *t, char **error);
int hy_ready_all(struct hy_table *t);
int hy_ready_shape(struct hy_ready *ready);
void hy_ready_drop_shape(struct hy_ready *ready);
void hy_ready_drop(struct hy_table *t);

/* reshape.c */
bool hy_reshape_allowed(struct hy_pool *pool, struct hy_table *t, char **error);
int hy_reshape(struct hy_pool *pool, struct hy_table *t);
unsigned int hy_areas_gone(struct hy_pool *pool, struct hy_table *t);
bool hy_pool_loads_anew(struct hy_pool *pool, struct hy_table *t);

/* mirror.c */
int hy_mirror(struct hy_pool *pool, enum hy_mirror_op op, unsigned int area);
void hy_mirror_stop(struct hy_pool *pool);
bool hy_mirror_at(struct hy_pool *pool, unsigned int *area, u64 *done, u64 *total);
int hy_mirror_leave_now(struct hy_pool *pool, unsigned int areas);
void hy_mirror_init(struct hy_pool *pool);

/* hibernate.c */
int hy_hibernate_init(void);
void hy_hibernate_exit(void);

/* mover.c */
#define HY_WAITING_MS	10	/* between two ticks while copies wait for their turn */

bool hy_mover_tick(struct hy_pool *pool, u64 now);
bool hy_mover_free(struct hy_pool *pool, unsigned int from);
bool hy_mover_rate_allows(struct hy_pool *pool, u64 now);
void hy_mover_rate_charge(struct hy_pool *pool, u64 now);
bool hy_mover_in_debt(struct hy_pool *pool, unsigned int i);
bool hy_mover_bars(struct hy_pool *pool, unsigned int to, enum hy_reason *why);
bool hy_mover_has_place(struct hy_pool *pool, u64 le, unsigned int member, u64 now);
void hy_not_migrated(struct hy_pool *pool, enum hy_reason why);
const char *hy_reason_name(enum hy_reason why);

/* explain.c */
void hy_explain(struct hy_pool *pool, u64 le, char *result, unsigned int maxlen);

/* counts.c */
int hy_counts_show(struct hy_pool *pool, u64 cursor, char *result, unsigned int maxlen);

/* gather.c */
bool hy_moves_ranges_only(struct hy_pool *pool);
bool hy_gather_tick(struct hy_pool *pool, u64 now);
void hy_gather_drop(struct hy_pool *pool);

/* probe.c */
void hy_probe_init(struct hy_pool *pool);
void hy_probe_tick(struct hy_pool *pool, u64 now);
void hy_probe_sample(struct hy_member *m, struct hy_dev_snap *d);
bool hy_probes_are_known(struct hy_pool *pool);
void hy_probe_stop(struct hy_pool *pool);

/* pin.c */
int hy_pinned_to(struct hy_pool *pool, u64 le);
void hy_pin_rescan(struct hy_pool *pool);
bool hy_pin_tick(struct hy_pool *pool, u64 now);
int hy_pin(struct hy_pool *pool, u64 first, u64 nr, int member, const char **reason);

/* balance.c */
void hy_balance_init(struct hy_pool *pool);
void hy_balance_start(struct hy_pool *pool);
void hy_balance_stop(struct hy_pool *pool);
void hy_balance_kick(struct hy_pool *pool);
int hy_place(struct hy_pool *pool, u64 le, u32 *pe);
int hy_place_moved(struct hy_pool *pool, u64 le);
void hy_snap_space(struct hy_pool *pool);

/*
 * Remember that an extent was accessed: per CPU, overwriting what the balancer did
 * not come to read.  A sample: two bios that meet on a CPU may lose one of them, and where a
 * ticker comes between head and slot it sees an access of long ago once more.  The head alone
 * never goes back, or there would be four billion accesses behind it.
 * @bits: HY_ACCESS_* and the member.
 * Context: process; the I/O path.
 */
static inline void hy_note_access(struct hy_pool *pool, sector_t sector, unsigned int bits)
{
	u32 at = this_cpu_inc_return(pool->rings->head) - 1;

	this_cpu_write(pool->rings->slot[at & (HY_RING - 1)], (u64)sector << 8 | bits);
}

/* status.c */
void hy_status(struct dm_target *ti, status_type_t type, unsigned int flags,
	       char *result, unsigned int maxlen);
int hy_message(struct dm_target *ti, unsigned int argc, char **argv,
	       char *result, unsigned int maxlen);

#endif
