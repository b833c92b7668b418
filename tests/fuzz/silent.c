// SPDX-License-Identifier: GPL-2.0-only
/* For targets linked with --wrap=fail and the like: what the tool says is not the fuzzer's. */
#include "msg.h"

int __wrap_fail(const char *fmt, ...);
int __wrap_fail(const char *fmt, ...)
{
	(void)fmt;
	return EXIT_FAILED;
}

void __wrap_warn(const char *fmt, ...);
void __wrap_warn(const char *fmt, ...)
{
	(void)fmt;
}

void __wrap_note(const char *fmt, ...);
void __wrap_note(const char *fmt, ...)
{
	(void)fmt;
}
