/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line's words. */
#ifndef COMMON_WORDS_H
#define COMMON_WORDS_H

#include <stdbool.h>

/* Was it there? It is removed. */
bool take_flag(int *argc, char **argv, const char *flag);
/* --opt VALUE or --opt=VALUE, removed from argv; -1 when the value is missing */
int take_option(int *argc, char **argv, const char *opt, const char **value);
/* With blanks in between; to be freed. */
char *join(char **words, int count);

#endif
