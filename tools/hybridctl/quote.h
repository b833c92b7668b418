/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names and paths that others made, so that a line stays one, a terminal does nothing, and JSON has
 * them all.
 */
#ifndef HYBRIDCTL_QUOTE_H
#define HYBRIDCTL_QUOTE_H

#include <jansson.h>
#include <stdbool.h>

/* What a volume's name is made of. */
#define NAME_CHARACTERS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
			"#+-.:=@_"

/*
 * Characters at @name that belong to one, 0: none.  libdevmapper writes \xNN for those that
 * device-mapper's names have besides.
 */
unsigned int name_takes(const char *name);
/* A label's name, which anybody can have written: in place, '_' for what is in no name. */
char *name_clean(char *name);

/* As in /proc/mounts, \ooo for what does not print and for \; @all: not ASCII, either; free(). */
char *quoted(const char *text, bool all);
/* A string as it is, and if it is not UTF-8 quoted() all. */
json_t *text_json(const char *text);

#endif
