/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a power cut may leave of persistent memory, out of a recording (evenkeel/scm.h).
 *
 * At each point of it, what was stored and is not durable yet may have got there or not: words of
 * 8 bytes of non-temporal stores each by itself; those through the cache line by line, in their
 * order within a line. A flush followed by a fence makes stores before the flush durable, a fence
 * non-temporal ones; but only a fence of the task that flushed, or stored past the cache: another
 * task's may be another CPU's.
 */
#ifndef EVENKEEL_CRASH_H
#define EVENKEEL_CRASH_H

#include <evenkeel/scm.h>

typedef void (*crash_look)(u8 *now, u32 point, void *arg);

/*
 * Call @look with contents after each of the events 0 .. @log->nr_events: all there can be where
 * they are few, otherwise nothing, everything, each single piece, all but it, and @samples random
 * ones. Return: how many.
 */
u64 crash_each(const struct scm_log *log, const u8 *before, unsigned int samples, crash_look look,
	       void *arg);

/*
 * The same with less assumed: before each fence and at the end, any subset of the words stored
 * since that are not durable, whatever line they are in; where there are more than 2^12, nothing,
 * everything, each single one, all but it, and @samples random ones. Only where at least @from
 * events have happened. The content may be changed by @look.
 */
u64 crash_cuts(const struct scm_log *log, const u8 *before, u32 from, unsigned int samples,
	       crash_look look, void *arg);

/*
 * The same where a look is dear: not more than @most contents at each point. All there can be, or
 * nothing, everything, and such as above by lot; of one, by lot.
 */
u64 crash_some(const struct scm_log *log, const u8 *before, u32 from, unsigned int most,
	       crash_look look, void *arg);

/* What is there without a cut: all that was stored, whether it is durable or not. */
void crash_none(const struct scm_log *log, u8 *content);

/* Fences of a recording. */
u32 crash_fences(const struct scm_log *log);

/* Room for so much. */
void crash_log_init(struct scm_log *log, const void *base, size_t len, u32 events, size_t bytes);
void crash_log_free(struct scm_log *log);

#endif
