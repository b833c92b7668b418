/* SPDX-License-Identifier: GPL-2.0-only */
/* What --json prints. */
#ifndef HYBRIDCTL_JSON_PRINT_H
#define HYBRIDCTL_JSON_PRINT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/*
 * A line, or more with JSON_INDENT() among @flags, as jansson's; @json is given away.  EXIT_OK, or
 * EXIT_FAILED: printed if there is no such JSON, @json being NULL, or it can't be written out.
 * What is wrong with @out itself is its owner's to tell, as main() does of stdout.
 */
int json_print(FILE *out, json_t *json, size_t flags);

#endif
