/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functional test of emudisk and emuctl: what its parts share.  Everything that
 * returns a bool says why not, in what wrong() collects for the report.
 */
#ifndef TEST_EMUDISK_H
#define TEST_EMUDISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIGFS	"/sys/kernel/config/emudisk"
#define KIB		1024ull
#define MIXED		(-1)	/* of filled() */

struct test {
	const char *title;
	bool (*run)(const struct test *t);
	bool reset;			/* first: no device, no log */
	unsigned int number;		/* what run() makes of these is its own */
	const char *cache, *keep;
};

/* Each group ends with a test without a title. */
extern const struct test content_tests[];
extern const struct test cut_tests[];
extern const struct test record_tests[];
extern const struct test fault_tests[];

extern uint64_t seed;
extern char work[];			/* a directory of this run */

/* main.c: to be shown if the test fails; returns false */
__attribute__((format(printf, 1, 2))) bool wrong(const char *fmt, ...);
bool no_devices(void);
bool unload(const struct test *t);

/* run.c: programs, with their words in one line; said is what the last one printed */
extern char *said;
__attribute__((format(printf, 1, 2))) bool program(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) bool emuctl(const char *fmt, ...);
/* has to fail, and to say why */
__attribute__((format(printf, 1, 2))) bool refused(const char *fmt, ...);
/* the same, with the status of wrong usage */
__attribute__((format(printf, 1, 2))) bool misused(const char *fmt, ...);
/* the same as refused(), of what emuctl would try again for seconds */
__attribute__((format(printf, 1, 2))) bool refused_at_once(const char *fmt, ...);
/* of `emuctl list NAME --json`; -1 if there is none such */
long long shown(const char *name, const char *key);
/* waits until one request is in the device */
bool one_in_flight(const char *name);

/* io.c: offsets and lengths in KiB; a device is opened for each, so that it is closed between */
char *device(const char *name);
int disk_open(const char *name, int flags);
void *buffer(size_t len);
uint64_t mix(uint64_t x);
bool put(const char *name, int byte, uint64_t at, uint64_t kib);
bool put_fua(const char *name, int byte, uint64_t at, uint64_t kib);
bool holds(const char *name, int byte, uint64_t at, uint64_t kib);
/* the byte that all of it holds, or MIXED, or -errno - 1 */
int filled(const char *name, uint64_t at, uint64_t kib);
bool flush(const char *name);
bool discard(const char *name, uint64_t at, uint64_t kib);
bool discard_all(const char *name);
/* the request gets EIO */
bool unreadable(const char *name, uint64_t at, uint64_t kib);
bool unwritable(const char *name, uint64_t at, uint64_t kib);
bool unflushable(const char *name);

/* A write beside the test. */
struct writer;
struct writer *put_beside(const char *name, int byte, uint64_t at, uint64_t kib);
bool is_over(struct writer *w);
/* waits; 0 or the errno that it got */
int outcome(struct writer *w);

/* load.c: many requests at a time */
struct load {
	const char *name;
	unsigned int lbs, number;
};

/* 4 MiB in requests of all sizes up to 64 KiB, read back and compared; on all of them at once */
bool queued_load(const struct load *load, unsigned int nr);
/* reads and writes that may fail, two threads a device; each has 4 MiB to do, of which churn_more() allows a part */
bool churn_begin(const struct load *load, unsigned int nr);
void churn_more(unsigned int percent);
bool churn_end(void);

#endif
