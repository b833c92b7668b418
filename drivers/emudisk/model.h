/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timing models of the emulated disks.
 *
 * A model is a discrete-event simulation without a clock of its own: whoever drives it passes the
 * time in, in nanoseconds, never backwards. It knows addresses, sizes and directions; it never
 * sees data. All of it is pure C and builds in userspace (tests/unit/shim). No call sleeps or
 * allocates; the caller serialises.
 */
#ifndef EMUDISK_MODEL_H
#define EMUDISK_MODEL_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/types.h>

enum emu_op { EMU_READ, EMU_WRITE, EMU_FLUSH, EMU_DISCARD, EMU_ZEROES };

enum emu_kind { EMU_KIND_NULL, EMU_KIND_SSD, EMU_KIND_HDD };

enum emu_param {
	/* both */
	EMU_P_CMD, EMU_P_LINK_BW, EMU_P_FLUSH, EMU_P_DISCARD, EMU_P_WCACHE,
	/* ssd */
	EMU_P_CHANNELS, EMU_P_CHUNK, EMU_P_READ_LAT, EMU_P_WRITE_LAT, EMU_P_READ_BW, EMU_P_WRITE_BW,
	EMU_P_WBUF, EMU_P_RW_PENALTY, EMU_P_RW_SIZE, EMU_P_JITTER,
	/* hdd */
	EMU_P_RPM, EMU_P_SEEK_TRACK, EMU_P_SEEK_AVG, EMU_P_SEEK_FULL, EMU_P_SETTLE,
	EMU_P_OUTER_BW, EMU_P_INNER_BW, EMU_P_BUFFER, EMU_P_QD, EMU_P_ELEVATOR, EMU_P_STARVE,
	EMU_NR_PARAMS
};

enum emu_elevator { EMU_FIFO, EMU_CLOOK, EMU_SPTF, EMU_NR_ELEVATORS };

/**
 * struct emu_req - one request under way in a model
 * @node: the model's; free for the caller before submit and after pop
 * @sector: first 512-byte sector
 * @sectors: length in 512-byte sectors (0 for a flush)
 * @op: enum emu_op
 * @fua: a write that may only complete on the medium
 * @arrive: model time of submission, ns
 * @done: model time of completion, ns; valid after emu_model_pop()
 */
struct emu_req {
	struct list_head node;
	u64 sector;
	u32 sectors;
	u8 op;
	bool fua;
	u64 arrive;
	u64 done;
};

struct emu_preset {
	const char *name;
	const char *text;
	enum emu_kind kind;
	u64 param[EMU_NR_PARAMS];
};

#define EMU_MAX_CHANNELS 128
#define EMU_MAX_DIRTY 512
#define EMU_MAX_STREAMS 8
#define EMU_ZONES 16

struct emu_ssd {
	u64 chan_free[EMU_MAX_CHANNELS];	/* binary heap, the earliest first */
	u32 channels;
	u64 cmd_free;
	u64 penalty_free;
	u64 last_write_done;
	u64 stream[EMU_MAX_STREAMS];		/* where sequential write streams go on */
	u32 stream_next;
};

struct emu_dirty {
	u64 sector;
	u64 id;
	u32 sectors;
};

struct emu_hdd {
	u64 rev_ns;
	u64 zone_sectors;
	u64 spt[EMU_ZONES];			/* sectors per revolution */

	struct list_head queue;			/* waiting for the mechanism */
	struct list_head flushes;		/* waiting for the write cache */
	struct emu_req *cur;
	bool busy;
	bool destaging;
	u64 fin;				/* when the mechanism is free again */
	u64 head;				/* sector after the last access */

	u64 buf_start, buf_end, buf_time;	/* read buffer, buf_end as of buf_time */
	bool prefetching;

	struct emu_dirty dirty[EMU_MAX_DIRTY];
	u32 nr_dirty;
	u32 destage_at;				/* index of the entry under way */
	u64 dirty_bytes;
	u64 dirty_id;
};

/**
 * struct emu_model - a device's timing state
 * @kind: which model
 * @sectors: capacity in 512-byte sectors
 * @p: parameters, in ns, bytes, bytes/s or counts (see emu_param_info())
 * @rng: state of the seeded generator
 * @finished: requests whose completion time is known, by time
 * @link_free: when the interface has carried everything given to it
 * @ssd: state of a solid-state disk
 * @hdd: state of a hard disk
 */
struct emu_model {
	enum emu_kind kind;
	u64 sectors;
	u64 p[EMU_NR_PARAMS];
	u64 rng;
	struct list_head finished;
	u64 link_free;
	union {
		struct emu_ssd ssd;
		struct emu_hdd hdd;
	};
};

/* model_presets.c */
extern const struct emu_preset emu_presets[];
extern const unsigned int emu_nr_presets;
const struct emu_preset *emu_preset_find(const char *name);

/* model.c */
enum emu_unit { EMU_COUNT, EMU_TIME, EMU_SIZE, EMU_RATE, EMU_ELEVATOR };

struct emu_param_info {
	const char *name;
	enum emu_unit unit;
	u8 kinds;				/* bit per enum emu_kind */
	bool fixed;				/* not changeable after add */
	u64 min, max;
};

extern const struct emu_param_info emu_params[EMU_NR_PARAMS];
extern const char * const emu_elevator_names[EMU_NR_ELEVATORS];

int emu_parse(enum emu_unit unit, const char *text, u64 *value);
int emu_param_find(enum emu_kind kind, const char *name);
int emu_param_check(enum emu_kind kind, int param, u64 value);

void emu_model_init(struct emu_model *m, const struct emu_preset *preset, u64 sectors, u64 seed);
void emu_model_retune(struct emu_model *m);
void emu_model_submit(struct emu_model *m, struct emu_req *req, u64 now);
struct emu_req *emu_model_pop(struct emu_model *m, u64 now);
u64 emu_model_next(const struct emu_model *m);
void emu_model_drain(struct emu_model *m, struct list_head *out);

u64 emu_random(u64 *state);

/* for the models themselves */
void emu_model_finish(struct emu_model *m, struct emu_req *req, u64 done);
u64 emu_link(struct emu_model *m, u32 sectors, u64 now);

/* ns that @bytes take at @rate bytes/s; exact up to 18 GB, 0 = no limit */
static inline u64 emu_transfer(u64 bytes, u64 rate)
{
	return rate ? bytes * 1000000000ULL / rate : 0;
}

/* model_ssd.c */
void emu_ssd_retune(struct emu_model *m);
void emu_ssd_submit(struct emu_model *m, struct emu_req *req, u64 now);
void emu_ssd_drain(struct emu_model *m);

/* model_hdd.c */
void emu_hdd_init(struct emu_model *m);
void emu_hdd_retune(struct emu_model *m);
void emu_hdd_submit(struct emu_model *m, struct emu_req *req, u64 now);
void emu_hdd_advance(struct emu_model *m, u64 now);
void emu_hdd_drain(struct emu_model *m, struct list_head *out);
u64 emu_hdd_seek(const struct emu_model *m, u64 from, u64 to);
u64 emu_hdd_position(const struct emu_model *m, u64 sector, bool write, u64 now);

#endif /* EMUDISK_MODEL_H */
