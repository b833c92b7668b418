/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MEM2MCTL_H
#define MEM2MCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ROOT "/sys/kernel/config/mem2m"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

/* sysfile.c: the module's files; writes return 0 or an errno, which attr_error() puts into words */
int setup(void);
void attr_path(char *path, size_t size, const char *dev, const char *attr);
int attr_write(const char *dev, const char *attr, const char *text);
int attr_write_patiently(const char *dev, const char *attr, const char *text);
char *attr_read(const char *dev, const char *attr);
char *attr_error(const char *dev, int err);
char **device_names(size_t *count);
void free_names(char **names, size_t count);

/* info.c: what the module says of a device, line by line */
const char *info_get(const char *info, const char *key, char *value, size_t size);
uint64_t info_number(const char *info, const char *key);

/* wait.c: a command that may take long, with progress and an end on a signal */
int attr_write_waiting(const char *dev, const char *attr, const char *text, bool patient,
		       bool progress);

/* owner.c: who has what is in use, as text to append, or "" */
void owner_of_range(uint64_t start, uint64_t bytes, char *text, size_t size);
void owner_of_device(const char *path, char *text, size_t size);

/* list.c, main.c */
int cmd_list(int argc, char **argv);
__attribute__((format(printf, 1, 2))) int complain(const char *fmt, ...);

#endif
