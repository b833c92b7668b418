// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "configfs.h"
#include "words.h"

bool take_flag(int *argc, char **argv, const char *flag)
{
	int i;

	for (i = 0; i < *argc; i++) {
		if (strcmp(argv[i], flag))
			continue;
		memmove(argv + i, argv + i + 1, (*argc - i) * sizeof(*argv));
		(*argc)--;
		return true;
	}
	return false;
}

int take_option(int *argc, char **argv, const char *opt, const char **value)
{
	size_t len = strlen(opt);
	int i, n;

	for (i = 0; i < *argc; i++) {
		if (strncmp(argv[i], opt, len) || (argv[i][len] && argv[i][len] != '='))
			continue;
		n = argv[i][len] ? 1 : 2;
		if (n == 2 && i + 1 >= *argc)
			return complain("%s needs a value", opt), -1;
		*value = n == 1 ? argv[i] + len + 1 : argv[i + 1];
		memmove(argv + i, argv + i + n, (*argc - i - n + 1) * sizeof(*argv));
		*argc -= n;
		return 0;
	}
	return 0;
}

char *join(char **words, int count)
{
	size_t len = 1;
	char *text;
	int i;

	for (i = 0; i < count; i++)
		len += strlen(words[i]) + 1;
	text = calloc(1, len);
	for (i = 0; i < count; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, words[i]);
	}
	return text;
}
