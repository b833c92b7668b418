/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MEM2MCTL_H
#define MEM2MCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/devices.h"

/* wait.c: a command that may take long, with progress and an end on a signal */
int attr_write_waiting(const char *dev, const char *attr, const char *text, bool patient,
		       bool progress);

/* owner.c: who has what is in use, as text to append, or "" */
void owner_of_range(uint64_t start, uint64_t bytes, char *text, size_t size);
void owner_of_device(const char *path, char *text, size_t size);

/* configured.c */
int cmd_configured(int argc, char **argv);

/* list.c */
int cmd_list(int argc, char **argv);

#endif
