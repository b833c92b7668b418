// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "emuctl.h"

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
