// SPDX-License-Identifier: GPL-2.0-only
/* For targets linked with --wrap=fail and --wrap=warn: the tool's errors are not the fuzzer's. */
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
