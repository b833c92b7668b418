/* SPDX-License-Identifier: GPL-2.0-only */
/* Names come from whoever could make a file: what is printed of them is one line, and no more. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* With control characters, and the backslash, as \ooo, as in /proc/mounts. */
void text_put(FILE *out, const char *text, size_t len);

#endif
