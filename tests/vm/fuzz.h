/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of the program. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define FUZZ_LINE	60000

/* What is being tried, as text. */
extern char fuzz_input[FUZZ_LINE];

/* Print and exit with 1. */
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t rnd(uint64_t n);
uint64_t odd_number(void);
uint64_t hurt_word(uint64_t w);
void log_mark(void);
bool log_says_why(const char *who);
uint64_t written(char *const *disk, int nr);

/* fuzz_media.c */
void disk_blank(const char *path);
/* All of it can be read and some of it written; with @strict no error is allowed. 0 or -1 with errno. */
int device_works(const char *node, uint64_t seed, bool strict);
int media(time_t deadline, char **disk, int nr);

/* fuzz_scmfs.c: the numbers as text */
int image(time_t deadline, const char *phys, const char *size, const char *head);

/* fuzz_status.c: 0 if the line keeps the grammar, by hybridctl's parser. */
int status_grammar(const char *line);

#endif
