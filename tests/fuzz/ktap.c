// SPDX-License-Identifier: GPL-2.0-only
/* What unit tests' models ask of ktap.h: here the first thing that doesn't hold is the end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ktap.h"

unsigned long long ktap_seed;

bool ktap_check(bool cond, const char *file, int line, const char *text, const char *fmt, ...)
{
	va_list args;

	if (cond)
		return true;
	fprintf(stderr, "%s:%d: must hold: %s ", file, line, text);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
}

void ktap_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

bool ktap_failing(void)
{
	return false;
}
