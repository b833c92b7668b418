/* SPDX-License-Identifier: GPL-2.0-only */
/* What the linker puts in a function's place, and the function. */
#ifndef HYBRIDCTL_WRAPPED_H
#define HYBRIDCTL_WRAPPED_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

int __wrap_open(const char *path, int flags, mode_t mode);
int __real_open(const char *path, int flags, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
uid_t __wrap_geteuid(void);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);
int __wrap_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
int __real_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
DIR *__wrap_opendir(const char *path);
DIR *__real_opendir(const char *path);
ssize_t __wrap_readlink(const char *path, char *buf, size_t len);
ssize_t __real_readlink(const char *path, char *buf, size_t len);
int __wrap_mlockall(int flags);
int __wrap_munlockall(void);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
bool __wrap_bdev_is_snapshot(dev_t rdev);
bool __wrap_bdev_is_above(dev_t upper, dev_t lower);
void __wrap_bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx);
char *__wrap_bdev_path(dev_t rdev);
const char *__wrap_bdev_stalled(dev_t rdev);
bool __wrap_udev_db_is_to_come(dev_t rdev);
struct bdev;
int __wrap_bdev_open(struct bdev *dev, const char *path, unsigned int flags);
int __real_bdev_open(struct bdev *dev, const char *path, unsigned int flags);
int __wrap_bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags);
struct dm_dev;
int __wrap_dm_list_hybrid(struct dm_dev **devs, unsigned int *nr);
int __wrap_dm_list_unfinished(struct dm_dev **devs, unsigned int *nr);
int __wrap_dm_get_table(const char *name, char **params, uint64_t *sectors);

const char *__asan_default_options(void);
/* main() of the program. */
int tool_main(int argc, char **argv);

#endif
