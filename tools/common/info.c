// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configfs.h"

const char *info_get(const char *info, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);
	const char *line;

	for (line = info; line && *line; line = strchr(line, '\n'), line += !!line) {
		if (strncmp(line, key, len) || line[len] != ' ')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
		return value;
	}
	*value = 0;
	return NULL;
}

uint64_t info_number(const char *info, const char *key)
{
	char value[64];

	return info_get(info, key, value, sizeof(value)) ? strtoull(value, NULL, 0) : 0;
}
