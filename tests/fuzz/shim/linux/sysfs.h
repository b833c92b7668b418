/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FUZZ_SYSFS_H
#define _FUZZ_SYSFS_H

int sysfs_emit_at(char *page, int at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
