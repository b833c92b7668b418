/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KTAP lines for one test program: ktap_begin(), ktap_ok() per case, return ktap_end().  One that
 * draws does so by ktap_seed().
 */
#ifndef KTAP_H
#define KTAP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned int ktap_nr, ktap_failed;

static inline void ktap_begin(void)
{
	puts("KTAP version 1");
}

/* SEED, which the Makefile draws: told, as that is what repeats a run. */
static inline unsigned long long ktap_seed(void)
{
	const char *text = getenv("SEED");
	unsigned long long seed = text ? strtoull(text, NULL, 0) : 1;

	printf("# seed %llu\n", seed);
	return seed;
}

__attribute__((format(printf, 2, 3)))
static inline bool ktap_ok(bool ok, const char *fmt, ...)
{
	char text[256];
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	__builtin_va_end(ap);
	printf("%sok %u %s\n", ok ? "" : "not ", ++ktap_nr, text);
	ktap_failed += !ok;
	return ok;
}

#define KTAP_NAME	128

/* A name for mkdtemp() or mkstemp(), in @place, or in $TMPDIR, which others may clean up. */
static inline char *ktap_name(char *name, const char *place)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(name, KTAP_NAME, "%s/hybridctl-test-XXXXXX", tmp ? tmp : place);
	return name;
}

static inline int ktap_end(void)
{
	printf("1..%u\n%u passed, %u failed, 0 skipped\n", ktap_nr, ktap_nr - ktap_failed,
	       ktap_failed);
	return ktap_failed || !ktap_nr;
}

#endif
