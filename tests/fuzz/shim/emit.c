// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>

#include <linux/sysfs.h>

#define PAGE_SIZE 4096

int sysfs_emit_at(char *page, int at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(page + at, PAGE_SIZE - at, fmt, ap);
	va_end(ap);
	return n < (int)PAGE_SIZE - at ? n : (int)PAGE_SIZE - at - 1;
}
