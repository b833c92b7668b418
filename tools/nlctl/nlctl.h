/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NLCTL_H
#define NLCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/devices.h"
#include "../common/words.h"

/* stat.c: what there is to see of a device; NULL: it is not there */
json_t *stat_object(const char *name);
/* How many flash operations of this kind, for this or for all (NULL), there were */
uint64_t stat_count(json_t *stat, const char *op, const char *cause);
uint64_t stat_number(json_t *stat, const char *group, const char *key);

/* save.c: write device @name to @path, which is absolute; @save_over: also to a block device */
extern bool save_over;
int save(const char *name, const char *path);

int cmd_stat(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_names(int argc, char **argv);
int cmd_migrations(int argc, char **argv);
int print_json(json_t *object);
void human(char *text, size_t size, uint64_t bytes);

#endif
