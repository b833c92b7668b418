// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emuctl.h"

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

/* --opt VALUE or --opt=VALUE, removed from argv; -1 when the value is missing */
static int take_option(int *argc, char **argv, const char *opt, const char **value)
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

int parse_survival(struct survival *s, int *argc, char **argv, bool replay)
{
	int i;

	s->tear = take_flag(argc, argv, "--tear");
	s->all = !replay && take_flag(argc, argv, "--all");
	if (take_option(argc, argv, "--keep", &s->keep) ||
	    take_option(argc, argv, "--seed", &s->seed) ||
	    (replay && take_option(argc, argv, "--to", &s->to)))
		return 1;
	for (i = 0; i < *argc; i++)
		if (argv[i][0] == '-')
			return complain("unknown option %s", argv[i]);
	return 0;
}

char *survival_text(const struct survival *s)
{
	char *text = NULL;

	if (asprintf(&text, "keep=%s seed=%s tear=%d%s%s", s->keep ? s->keep : "none",
		     s->seed ? s->seed : "1", s->tear, s->to ? " to=" : "", s->to ? s->to : "") < 0)
		abort();
	return text;
}
