/* SPDX-License-Identifier: GPL-2.0-only */
/* Reserved memory, named as mount's options name it: phys=START,size=SIZE. */
#ifndef EVENKEEL_SCMFS_PHYS_H
#define EVENKEEL_SCMFS_PHYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct phys {
	uint64_t start;
	uint64_t bytes;
};

bool phys_is_name(const char *text);	/* a file of such a name has ./ before it */
const char *phys_parse(const char *text, struct phys *p);	/* NULL, or what is wrong */

/*
 * Is all of it set aside, and nobody's?  @iomem: as /proc/iomem.
 * Return: NULL, or what is wrong, which the next call overwrites.
 */
const char *phys_check(const struct phys *p, FILE *iomem);

#endif
