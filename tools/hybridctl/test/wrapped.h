/* SPDX-License-Identifier: GPL-2.0-only */
/* What the linker puts in a function's place, and the function. */
#ifndef HYBRIDCTL_WRAPPED_H
#define HYBRIDCTL_WRAPPED_H

#include <stdbool.h>
#include <sys/types.h>

int __wrap_open(const char *path, int flags, mode_t mode);
int __real_open(const char *path, int flags, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
uid_t __wrap_geteuid(void);
bool __wrap_bdev_is_snapshot(dev_t rdev);

#endif
