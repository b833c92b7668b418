/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user reads: one line per error, "hybridctl: COMMAND: what is wrong".
 */
#ifndef HYBRIDCTL_MSG_H
#define HYBRIDCTL_MSG_H

#include "../common/command.h"

/* The command named in messages; NULL before it is known. */
extern const char *msg_command;

/* To stderr; returns EXIT_FAILED, so that `return fail(...)` reads well. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* To stderr with a hint at the help; returns EXIT_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* To stderr, work goes on. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line of progress to stdout. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What it ends with that is out of memory: EXIT_FAILED, unless that says something else. */
extern int no_memory_status;
/* Says so, and ends the program. */
__attribute__((noreturn)) void no_memory(void);
/* Never return NULL: out of memory ends the program. */
void *xcalloc(unsigned long nr, unsigned long size);
void *xrealloc(void *old, unsigned long size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
