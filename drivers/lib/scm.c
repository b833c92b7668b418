// SPDX-License-Identifier: GPL-2.0-only
/* Stores, flushes and fences for memory that must persist; scm.h has the contract. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <evenkeel/scm.h>

#include "scm_arch.h"
#include "scm_record.h"

#define SCM_ZEROES	4096u

static const u8 scm_zeroes[SCM_ZEROES] __aligned(SCM_LINE);

/* Those who record are under RCU, so that a stop can wait for them; the lock keeps their order. */
static struct scm_log *scm_log;
static DEFINE_SPINLOCK(scm_log_lock);

static void scm_log_add(struct scm_log *log, enum scm_event_type type, u64 offset, const void *src,
			size_t len)
{
	struct scm_event *event = log->event + log->nr_events;

	if (log->nr_events == log->max_events || (src && len > log->max_bytes - log->nr_bytes)) {
		WRITE_ONCE(log->full, true);
		return;
	}
	event->type = type;
	event->offset = offset;
	event->len = len;
	event->data = log->nr_bytes;
	event->task = (unsigned long)current / SCM_LINE;
	if (src) {
		memcpy(log->bytes + log->nr_bytes, src, len);
		log->nr_bytes += len;
	}
	/* pairs with smp_load_acquire() of who reads the log meanwhile */
	smp_store_release(&log->nr_events, log->nr_events + 1);
}

/* Of what lies partly in the region, that part. */
void scm_record(enum scm_event_type type, const void *dst, const void *src, size_t len)
{
	unsigned long flags;
	struct scm_log *log;
	const u8 *from, *to;

	rcu_read_lock();
	/* pairs with cmpxchg() in scm_record_start(): its members were set before */
	log = smp_load_acquire(&scm_log);
	if (!log)
		goto unlock;
	if (type == SCM_FENCE)
		dst = log->base;	/* it is of no place */
	from = max_t(const u8 *, dst, log->base);
	to = min_t(const u8 *, (const u8 *)dst + len, (const u8 *)log->base + log->len);
	if (type != SCM_FENCE && from >= to)
		goto unlock;
	spin_lock_irqsave(&scm_log_lock, flags);
	scm_log_add(log, type, from - (const u8 *)log->base,
		    src ? (const u8 *)src + (from - (const u8 *)dst) : NULL, to - from);
	spin_unlock_irqrestore(&scm_log_lock, flags);
unlock:
	rcu_read_unlock();
}

bool scm_recording(void)
{
	return unlikely(READ_ONCE(scm_log));
}

/**
 * scm_store - change bytes through the cache
 * @dst: persistent memory
 * @src: the new bytes
 * @len: how many
 *
 * They last once scm_flush() of them and then scm_fence() were called.
 * Context: any.
 */
void scm_store(void *dst, const void *src, size_t len)
{
	if (scm_recording())
		scm_record(SCM_STORE, dst, src, len);
	memcpy(dst, src, len);
}
EXPORT_SYMBOL_GPL(scm_store);

/**
 * scm_store64 - change a word at once
 * @dst: persistent memory, aligned to 8 bytes
 * @value: the new word
 *
 * No reader and no power cut sees half of it. It lasts once scm_flush() of it and then scm_fence()
 * were called.
 * Context: any.
 */
void scm_store64(u64 *dst, u64 value)
{
	if (scm_recording())
		scm_record(SCM_STORE, dst, &value, sizeof(value));
	WRITE_ONCE(*dst, value);
}
EXPORT_SYMBOL_GPL(scm_store64);

/**
 * scm_copy_nt - copy past the cache
 * @dst: persistent memory
 * @src: what to copy; not in the same lines
 * @len: bytes
 *
 * It lasts once scm_fence() was called; there is nothing to flush.
 * Context: any.
 */
void scm_copy_nt(void *dst, const void *src, size_t len)
{
	if (scm_recording())
		scm_record(SCM_STORE_NT, dst, src, len);
	scm_arch_copy_nt(dst, src, len);
}
EXPORT_SYMBOL_GPL(scm_copy_nt);

/**
 * scm_copy_line_nt - copy a line past the cache
 * @dst: persistent memory, aligned to SCM_LINE
 * @src: what to copy, aligned to 8 bytes
 *
 * It lasts once scm_fence() was called.
 * Context: any.
 */
void scm_copy_line_nt(void *dst, const void *src)
{
	if (scm_recording())
		scm_record(SCM_STORE_NT, dst, src, SCM_LINE);
	scm_arch_copy_line_nt(dst, src);
}
EXPORT_SYMBOL_GPL(scm_copy_line_nt);

/**
 * scm_zero_nt - zero past the cache
 * @dst: persistent memory
 * @len: bytes
 *
 * It lasts once scm_fence() was called.
 * Context: any.
 */
void scm_zero_nt(void *dst, size_t len)
{
	while (len) {
		size_t n = min_t(size_t, len, SCM_ZEROES);

		scm_copy_nt(dst, scm_zeroes, n);
		dst += n;
		len -= n;
	}
}
EXPORT_SYMBOL_GPL(scm_zero_nt);

/**
 * scm_flush - begin to write lines back
 * @addr: first byte
 * @len: bytes
 *
 * It is over at the next scm_fence(), one of which serves any number of flushes.
 * Context: any.
 */
void scm_flush(const void *addr, size_t len)
{
	if (!len)
		return;
	if (scm_recording())
		scm_record(SCM_FLUSH, addr, NULL, len);
	scm_arch_flush(addr, len);
}
EXPORT_SYMBOL_GPL(scm_flush);

/**
 * scm_fence - wait for flushes and non-temporal stores
 *
 * Of this CPU: what they were about persists.
 * Context: any.
 */
void scm_fence(void)
{
	scm_arch_fence();
	if (scm_recording())
		scm_record(SCM_FENCE, NULL, NULL, 0);
}
EXPORT_SYMBOL_GPL(scm_fence);

/**
 * scm_record_start - record what is done to a region, for tests
 * @log: filled as struct scm_log says; stays the caller's
 *
 * Context: process context. Nobody may be at work on the region.
 * Return: 0, or -EBUSY when something is being recorded.
 */
int scm_record_start(struct scm_log *log)
{
	log->nr_events = 0;
	log->nr_bytes = 0;
	log->full = false;
	return cmpxchg(&scm_log, NULL, log) ? -EBUSY : 0;
}
EXPORT_SYMBOL_GPL(scm_record_start);

/**
 * scm_record_stop - end it
 *
 * Context: process context; sleeps. Afterwards the log does not change.
 */
void scm_record_stop(void)
{
	WRITE_ONCE(scm_log, NULL);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(scm_record_stop);
