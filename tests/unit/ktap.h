/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test program in KTAP: main() calls ktap_run() for each test and returns
 * ktap_done().  Arguments: [--seed N] [--list] [words that a test's title must hold].
 */
#ifndef EVENKEEL_KTAP_H
#define EVENKEEL_KTAP_H

#include <stdbool.h>
#include <stdio.h>

extern unsigned long long ktap_seed;

#define CHECK(cond, ...)	ktap_check(cond, __FILE__, __LINE__, #cond, "" __VA_ARGS__)

/* Returns @cond; at the first that is false the running test fails. */
bool ktap_check(bool cond, const char *file, int line, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
bool ktap_failing(void);
void ktap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From inside a test: it can't be run here, and why. */
void ktap_skip(const char *why);

/*
 * Of what takes long a run may take its turn: one of EVENKEEL_CRASH_PART parts, but of no more than
 * @most, by EVENKEEL_CRASH_TURN. Whether @which is in it; all is without these.
 */
bool ktap_has_turn(unsigned int which, unsigned int most);

void ktap_init(int argc, char **argv);
void ktap_run(const char *title, void (*test)(void));
int ktap_done(void);

#endif
