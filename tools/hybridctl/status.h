/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's status line of a hybrid target, parsed strictly: a line that says
 * more, less or other than its grammar is refused.  Pure.
 */
#ifndef HYBRIDCTL_STATUS_H
#define HYBRIDCTL_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_MAX_META		2
#define STATUS_MAX_DEVS		32
#define STATUS_MAX_REASONS	64

enum status_mode { MODE_RW, MODE_RO, MODE_FAIL };
enum status_dev_state { DEV_ACTIVE, DEV_DEGRADED, DEV_FAILED, DEV_DRAINING, DEV_REMOVED };

/* Times in ns, shares in millionths, the rest counts. */
struct status_dev {
	bool present;		/* false: "-", lost */
	unsigned int major, minor;
	enum status_dev_state state;
	uint64_t used, total;
	uint64_t share_ppm, target_ppm;
	uint64_t read_ns, write_ns, read_p99_ns, write_p99_ns;
	uint64_t inflight, allocations;
};

struct status_reason {
	const char *name;
	uint64_t count;
};

struct status {
	enum status_mode mode;
	bool needs_check;
	uint64_t extent_sectors;
	uint64_t mapped, logical;
	uint64_t journal_used, journal_total;
	unsigned int nr_meta;
	/* 'A', 'S' (stale), 'F', 'L' (leaving), 'R' (resync) or '-' (vacant) */
	char meta[STATUS_MAX_META];
	unsigned int nr_devs;
	struct status_dev dev[STATUS_MAX_DEVS];
	uint64_t tokens;
	int from, to;			/* migration's direction; -1: none */
	uint64_t started, completed, failed, bytes, queued;
	unsigned int nr_reasons;
	struct status_reason reason[STATUS_MAX_REASONS];
	uint64_t flushes, commits, checkpoints, errors;
	const char *policy;
	const char *policy_args;	/* "" or "key value key value" */
	char *text;			/* owns the strings above */
};

/*
 * Parse @line.  On failure @why (of @why_size bytes) says what is wrong where and
 * there is nothing to free; on success end with status_free().
 */
bool status_parse(const char *line, struct status *st, char *why, unsigned long why_size);
void status_free(struct status *st);

/* The number behind @key among the policy's arguments, which tell what differs from @otherwise. */
uint64_t status_setting(const struct status *st, const char *key, uint64_t otherwise);

const char *status_mode_name(enum status_mode mode);
extern const char * const status_dev_states[];	/* their words, NULL behind them */
const char *status_dev_state_name(enum status_dev_state state);
const char *status_meta_name(char state);

#endif
