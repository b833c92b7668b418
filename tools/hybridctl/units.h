/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sizes and times as people write and read them.  Pure.
 */
#ifndef HYBRIDCTL_UNITS_H
#define HYBRIDCTL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNIT_TEXT	24

/* "128K": a decimal number with at most one of KMGTP (1024s, "KiB" too). */
bool parse_size(const char *text, uint64_t *bytes);
/* A canonical decimal number: digits only, no leading zero, no overflow. */
bool parse_u64(const char *text, uint64_t *value);

/* Into @buf of UNIT_TEXT bytes; return @buf. */
char *human_bytes(char *buf, uint64_t bytes);
char *human_ns(char *buf, uint64_t ns);
char *human_count(char *buf, uint64_t count);

/* A bar of @width cells, @part_ppm filled, a mark at @mark_ppm (above 1000000: none). */
void bar(char *buf, unsigned int width, uint64_t part_ppm, uint64_t mark_ppm);

#endif
