/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MEM2MCTL_H
#define MEM2MCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/devices.h"

/**
 * struct create - a device that is to be made
 * @name: what it is to be called
 * @size: that of it, or of the memory
 * @phys: where its memory begins; NULL: not in reserved memory
 * @dax: the pmem device; NULL: not on one
 * @unit: RAM is got in pieces of; NULL: the usual ones
 * @force: whatever is in the memory
 * @progress: say how far it is
 * @configured: a file asks for it, which can't ask for @force
 */
struct create {
	const char *name, *size, *phys, *dax, *unit;
	bool force, progress, configured;
};

/* main.c: @c->name is locked. Says why not. */
int create_device(const struct create *c);

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
