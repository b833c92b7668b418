/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths in what is said: on one line, and nothing that a terminal obeys. */
#ifndef NLSTORE_SAY_H
#define NLSTORE_SAY_H

#include <stdio.h>

/* Of the tree; its top is ".". */
void say_path(FILE *out, const char *path);
/* To standard error, with what is wrong with it; returns 1. */
int say_of(const char *path, const char *what);

#endif
