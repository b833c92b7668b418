// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ktap.h"
#include "shim/shim.h"

unsigned long long ktap_seed;

static int nr, passed, failed, skipped;
static bool failing;
static const char *skip;
static const char *filter;
static bool list;

void ktap_init(int argc, char **argv)
{
	const char *env = getenv("SEED");
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap_seed = env ? strtoull(env, NULL, 0) : 1;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			ktap_seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--list"))
			list = true;
		else
			filter = argv[i];
	}
	if (!list)
		printf("KTAP version 1\n# seed %llu\n", ktap_seed);
}

bool ktap_check(bool cond, const char *file, int line, const char *text, const char *fmt, ...)
{
	va_list ap;

	if (cond || failing)
		return cond;
	failing = true;
	printf("# %s:%d: %s", file, line, text);
	if (*fmt) {
		printf(": ");
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
	}
	printf("\n");
	return false;
}

bool ktap_failing(void)
{
	return failing;
}

bool ktap_has_turn(unsigned int which, unsigned int most)
{
	const char *part = getenv("EVENKEEL_CRASH_PART"), *turn = getenv("EVENKEEL_CRASH_TURN");
	unsigned int n = part ? strtoul(part, NULL, 0) : 1;

	n = n < most ? n : most;
	return n < 2 || (which + (turn ? strtoul(turn, NULL, 0) : 0)) % n == 0;
}

void ktap_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void ktap_skip(const char *why)
{
	skip = why;
}

void ktap_run(const char *title, void (*test)(void))
{
	struct timespec a, b;

	if (filter && !strstr(title, filter))
		return;
	if (list) {
		printf("%s\n", title);
		return;
	}
	failing = false;
	skip = NULL;
	shim_seed(ktap_seed);
	clock_gettime(CLOCK_MONOTONIC, &a);
	test();
	clock_gettime(CLOCK_MONOTONIC, &b);
	nr++;
	if (failing) {
		failed++;
		printf("not ok %d %s\n", nr, title);
	} else if (skip) {
		skipped++;
		printf("ok %d %s # SKIP %s\n", nr, title, skip);
	} else {
		passed++;
		printf("ok %d %s\n", nr, title);
	}
	printf("# %.2f s\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
}

int ktap_done(void)
{
	if (list)
		return 0;
	printf("1..%d\n", nr);
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed || !nr;
}
