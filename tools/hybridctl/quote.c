// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/text.h"
#include "msg.h"
#include "quote.h"

unsigned int name_takes(const char *name)
{
	if (*name && strchr(NAME_CHARACTERS, *name))
		return 1;
	return name[0] == '\\' && name[1] == 'x' && isxdigit((unsigned char)name[2]) &&
	       isxdigit((unsigned char)name[3]) ? 4 : 0;
}

char *name_clean(char *name)
{
	char *c = name;
	unsigned int n;

	while (*c) {
		n = name_takes(c);
		if (!n) {
			*c = '_';
			n = 1;
		}
		c += n;
	}
	return name;
}

char *quoted(const char *text, bool all)
{
	size_t i, len = strlen(text);
	char *quoted = xcalloc(4, len + 1), *out = quoted;

	for (i = 0; i < len; i++) {
		unsigned char c = text[i];

		if (text_is_control(text, len, i) || c == '\\' || (all && c >= 0x80))
			out += sprintf(out, "\\%03o", c);
		else
			*out++ = c;
	}
	return quoted;
}

json_t *text_json(const char *text)
{
	json_t *json = json_string(text);
	char *ascii;

	if (json)
		return json;
	ascii = quoted(text, true);
	json = json_string(ascii);
	free(ascii);
	return json;
}
