/* SPDX-License-Identifier: GPL-2.0-only */
/* Names come from whoever could make a file: what is printed of them is one line, and no more. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Is the byte at @i of @len a control character, or the last one of it in UTF-8?  One of eight bits
 * is one wherever it is not in a character of UTF-8 that is whole.
 */
bool text_is_control(const char *text, size_t len, size_t i);

/* With control characters, and the backslash, as \ooo, as in /proc/mounts. */
void text_put(FILE *out, const char *text, size_t len);

#endif
