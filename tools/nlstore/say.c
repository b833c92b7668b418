// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "../common/configfs.h"
#include "../common/text.h"
#include "say.h"

void say_path(FILE *out, const char *path)
{
	if (*path)
		text_put(out, path, strlen(path));
	else
		putc('.', out);
}

int say_of(const char *path, const char *what)
{
	fprintf(stderr, "%s: ", configfs.tool);
	say_path(stderr, path);
	fprintf(stderr, ": %s\n", what);
	return 1;
}
