/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is typed and shown: key=value, and values with their units.
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_WORDS_H
#define NAMELESS_WORDS_H

#include "geometry.h"

int nl_word(char **args, char **key, char **value);
int nl_parse(enum nl_unit unit, const char *text, u64 *value);
ssize_t nl_emit(char *page, ssize_t at, enum nl_unit unit, u64 value);

#endif
