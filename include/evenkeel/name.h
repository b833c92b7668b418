/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_NAME_H
#define EVENKEEL_NAME_H

#include <linux/ctype.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * ek_name_ok - may a device be called that?
 * @name: of its directory, and of its node below /dev
 * @most: characters
 *
 * Letters, digits, '-', '_' and '.', of which it begins with a letter, a digit or '_': what is
 * safe in a path, on a command line and in a table.
 * Context: any.
 * Return: true if it may.
 */
static inline bool ek_name_ok(const char *name, size_t most)
{
	const char *c;

	if (*name == '.' || *name == '-' || strlen(name) > most)
		return false;
	for (c = name; *c; c++)
		if (!(isascii(*c) && isalnum(*c)) && *c != '-' && *c != '_' && *c != '.')
			return false;
	return true;
}

#endif /* EVENKEEL_NAME_H */
