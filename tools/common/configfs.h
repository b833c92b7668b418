/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A module's folder in configfs, as the command line tools for its devices use it: one folder a
 * device, in which "info" says what it is and "error" why the last write failed.
 */
#ifndef COMMON_CONFIGFS_H
#define COMMON_CONFIGFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CONFIGFS_MOUNT
#define CONFIGFS_MOUNT "/sys/kernel/config"
#endif

/* What the tool says of itself. */
struct configfs {
	const char *tool;	/* its name in messages */
	const char *about;	/* what they are about for now; NULL: the command line */
	const char *module;	/* to be loaded, and the folder's name */
	long patience_ms;	/* how long what is busy is tried again */
	unsigned int name_max;	/* of a device */
	bool keeps_folders;	/* some can't be removed, only emptied */
	/* Has the folder no device? NULL: it always has. */
	bool (*is_empty)(const char *dev);
	/* No use trying again, although it is busy; NULL: there always is. */
	bool (*hopeless)(const char *dev);
};

extern struct configfs configfs;

/* To standard error; returns 1. */
__attribute__((format(printf, 1, 2))) int complain(const char *fmt, ...);

/* Loads the module and mounts configfs where that is missing; 0, or 1 after saying why not. */
int setup(void);
/* Where it can't be mounted, wait so long for somebody else to. */
int setup_within(long patience_ms);

/* The file @attr of a device, that of the folder (@dev NULL), or the device itself (@attr NULL). */
void attr_path(char *path, size_t size, const char *dev, const char *attr);
/* To be freed; NULL: can't be read. */
char *attr_read(const char *dev, const char *attr);
/* 0 or an errno, without a word. */
int attr_write(const char *dev, const char *attr, const char *text);
/* For what must wait until nobody has the device open: udev looks at every disk for a moment. */
int attr_write_patiently(const char *dev, const char *attr, const char *text);
/**
 * struct open_file - one that the module is told by the number it has in this process
 * @number: text of that
 * @path: what people call it; NULL: there is none
 */
struct open_file {
	char number[16];
	const char *path;
};

/* What the module says of a number it is said of the path. */
extern struct open_file open_file;
void open_file_is(int fd, const char *path);
/* Why the last write failed, to be freed: in the module's words if it has any. */
char *attr_error(const char *dev, int err);
/* Complains about @err, if it isn't 0; 0 or 1. */
int attr_explain(const char *dev, int err);

/* Sorted; to be freed by free_names(). */
char **device_names(size_t *count);
void free_names(char **names, size_t count);

/* info.c: what the module says of a device, lines of a key and its value */
const char *info_get(const char *info, const char *key, char *value, size_t size);
uint64_t info_number(const char *info, const char *key);

#endif
