/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device-mapper by its ioctls.  All return 0, or -1 with errno.
 */
#ifndef TEST_DM_H
#define TEST_DM_H

#include <stddef.h>
#include <stdint.h>

#define DM_LINE_ROOM	8192
#define DMT_UNKNOWN	125	/* what dmt leaves to dmsetup */

/* Make @name without a table; @node, of @len bytes, gets the path of its device. */
int dm_new(const char *name, char *node, size_t len);
/* The path of the device of @name. */
int dm_node(const char *name, char *node, size_t len);
/* Make @name of one target's line; @node, of @len bytes, gets the path of its device. Nothing is left on an error. */
int dm_make(const char *name, const char *table, char *node, size_t len);
/* Remove @name, trying for two seconds while somebody has it open if @retry. */
int dm_unmake(const char *name, int retry);
int dm_load(const char *name, const char *table);
int dm_clear(const char *name);
int dm_message(const char *name, const char *text);
/* @answer: what the target says to it, if anything */
int dm_ask(const char *name, const char *text, char *answer, size_t len);
int dm_resume(const char *name);
/* How many events it has raised, or -1. */
long dm_events(const char *name);
/* @flags: DM_NOFLUSH_FLAG, DM_SKIP_LOCKFS_FLAG */
int dm_suspend(const char *name, uint32_t flags);
/* One target's "START LENGTH TYPE WORDS", as dmsetup prints it; @flags: DM_STATUS_TABLE_FLAG for the table. */
int dm_line(const char *name, uint32_t flags, char *text, size_t len);

/*
 * One field of the status line of a hybrid target, -1 if it has none such:
 * mode needs_check mapped logical journal meta (the letters) devs
 * dev.N.(dev state used total share target read_ns ... inflight allocations)
 * tokens direction started completed failed bytes queued reason.NAME
 * flushes commits checkpoints errors policy.  hybrid_status.py is the strict reader.
 */
int hybrid_field(const char *line, const char *key, char *value, size_t len);

#endif
