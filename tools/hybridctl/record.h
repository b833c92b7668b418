/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording of a volume: lines of JSON, each what `status --json` prints and besides "time"
 * (seconds since 1970), "at" (seconds since it began) and "io": requests and bytes that were read
 * and written until now.
 */
#ifndef HYBRIDCTL_RECORD_H
#define HYBRIDCTL_RECORD_H

#include <stdio.h>
#include <jansson.h>

/* Write to @out for @seconds (0: until a signal comes); prints what fails. */
int record_volume(FILE *out, const char *name, double interval, double seconds);
/* A regular file or a FIFO; NULL with the reason printed. */
FILE *record_open(const char *path);
/* Into an array of lines; NULL with the reason printed.  A last one that was cut is left out. */
json_t *record_read(FILE *in, const char *path);

#endif
