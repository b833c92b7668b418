/* SPDX-License-Identifier: GPL-2.0-only */
/* A page of HTML, which needs nothing else, out of a recording.  Pure. */
#ifndef HYBRIDCTL_REPORT_H
#define HYBRIDCTL_REPORT_H

#include <stdio.h>
#include <jansson.h>

/* @lines: an array of at least two, as record_read() gives it. */
void report_print(FILE *out, const json_t *lines);

#endif
