/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCMFSCTL_H
#define SCMFSCTL_H

#include <evenkeel/scmfs.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "../common/devices.h"
#include "../common/words.h"
#include "../hybridctl/units.h"
#include "spread.h"

#define BLOCK	4096u

/**
 * struct place - a path on a mounted scmfs
 * @path: as it was given
 * @fd: opened to be read
 * @st: what it is: a file or a directory
 */
struct place {
	const char *path;
	int fd;
	struct stat st;
};

/* mounted.c: all of them say what is wrong, and return false then */
bool place_open(struct place *p, const char *path);
bool place_refused(const struct place *p);	/* errno says why */
bool ask_info(const struct place *p, struct scmfs_info *info);
bool ask_file(const struct place *p, struct scmfs_file_info *info);
bool ask_room(const struct place *p, uint64_t *bytes, uint64_t *files);
/* @word has room for SCMFS_LOOK_MAX; @w->from and @w->first and so on are as the module has them */
bool ask_words(const struct place *p, unsigned long cmd, uint64_t from, __u64 *word,
	       struct scmfs_words *w);

/*
 * What a command shows: look() makes an object of it, or says what is wrong and returns NULL;
 * print() is for people. To be repeated with --watch.
 */
struct view {
	json_t *(*look)(const struct place *p);
	void (*print)(json_t *seen);
};

int view_run(int argc, char **argv, const struct view *view);

json_t *number_of(uint64_t n);
uint64_t number(json_t *object, const char *key);
/* Bytes in @key of @object as people read them; for a single printf() */
const char *bytes_at(json_t *object, const char *key);
double percent(uint64_t part, uint64_t all);

json_t *usage_look(const struct place *p);
void usage_print(json_t *seen);
json_t *windows_look(const struct place *p);
void windows_print(json_t *seen);
json_t *wear_look(const struct place *p);
void wear_print(json_t *seen);
json_t *frag_look(const struct place *p);
void frag_print(json_t *seen);
/* What is to be changed, from the command line; it is done by the first look. False: no sense. */
bool gc_take(int *argc, char **argv);
json_t *gc_look(const struct place *p);
void gc_print(json_t *seen);

#endif
