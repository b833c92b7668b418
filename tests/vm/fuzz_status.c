// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "../../tools/hybridctl/status.h"
#include "fuzz.h"

int status_grammar(const char *line)
{
	const char *words = strstr(line, " hybrid ");
	struct status st;
	char why[96];

	if (!words)
		return -1;
	if (!status_parse(words + 8, &st, why, sizeof(why))) {
		printf("# %s\n", why);
		return -1;
	}
	status_free(&st);
	return 0;
}
