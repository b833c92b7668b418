/* SPDX-License-Identifier: GPL-2.0-only */
/* Tools whose devices are folders of configfs: their folders, and such a tool's main(). */
#ifndef COMMON_DEVICES_H
#define COMMON_DEVICES_H

#include <stdbool.h>

#include "command.h"
#include "configfs.h"

/*
 * Of those who make a device in a folder, or delete one and then its folder, one at a time for each
 * name. Until it is unlocked, or the process ends.
 */
void device_lock(const char *name);
void device_unlock(const char *name);

/* EXIT_OK when there is a folder without a device. *@made: it was not there before. */
int device_dir_make(const char *name, bool *made);
int device_dir_remove(const char *name);
/* Make a device by writing @text to its file @attr: it is there afterwards, or nothing is. */
int device_make(const char *name, const char *attr, const char *text);
/* The command "delete NAME...". */
int cmd_delete(int argc, char **argv);

int devices_main(int argc, char **argv);

#endif
