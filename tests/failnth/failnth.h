/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failing allocations: each operation is run again and again, with the first, the
 * second, the third ... allocation of the calling task failing, until none does.
 *
 * A module's operations are a table of struct op; see the end of failnth.c.
 */
#ifndef FAILNTH_H
#define FAILNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op {
	const char *name;
	/* The state that the operation starts in; nothing fails yet. */
	void (*before)(const struct op *op);
	/* What is tried while an allocation fails: 0, or -1 with errno. */
	int (*run)(const struct op *op);
	/* Or in another process, in which allocation @nth fails: how many were left to go then. */
	unsigned int (*remote)(const struct op *op, unsigned int nth, int *error);
	/* What has to hold then; @error is 0 or the errno of run(). */
	void (*after)(const struct op *op, int error);
	const char *arg;
	const char *const *argv;
	unsigned int shape;		/* of the pool: enum pool_shape */
	unsigned int thin;		/* so many times fewer: dear, or goes much the way of another */
	bool allocates_nothing;		/* in the calling task */
	const struct device *device;	/* device.h */
};

/* Each group of operations has one array, ended by one without a name. */
extern const struct op pool_ops[];
extern const struct op message_ops[];
extern const struct op module_ops[];
extern const struct op command_ops[];
extern const struct op memory_ops[];
extern const struct op nameless_ops[];
extern const struct op names_ops[];
extern const struct op scmfs_ops[];
extern const struct op scmfs_asked_ops[];

/* Each command of the tools has a row, or a reason why not. */
void commands_all(void);
/* Each message of the hybrid target has a row. */
void messages_all(void);

/* Set up and take down what a group needs. */
void pool_begin(void);
void pool_end(void);
void memory_end(void);
void nameless_begin(void);
void nameless_end(void);
void names_begin(void);
void names_end(void);
void scmfs_begin(void);
void scmfs_asked_end(void);
void scmfs_end(void);

/* Background work under random failures; milliseconds, percent. */
void background(unsigned int ms, unsigned int percent);

/* Loop over one operation's allocations and report. */
void fail_each(const struct op *op);

/* A check failed: noted, with where in the loop it was. */
__attribute__((format(printf, 1, 2))) void wrong(const char *fmt, ...);
/* The test itself can't go on. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void result(const char *fmt, ...);
void put(const char *path, const char *text);
/* Close it; @r, with errno as it was. */
int close_as(int fd, int r);
/* 0, or -1 with errno. */
int say(const char *attr, const char *text);
extern uint64_t seed;

#endif
