// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

const struct command *command_current;

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = tool.commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

int tool_help(void)
{
	const struct command *c;

	printf("Usage: %s COMMAND [ARGUMENT]...\n%s\n\n", tool.name, tool.about);
	for (c = tool.commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	printf("\n'%s COMMAND --help' tells more.  %s\n", tool.name, tool.notes);
	return EXIT_OK;
}

int command_help(void)
{
	const struct command *c = command_current;

	printf("Usage: %s %s %s\n%c%s.\n%s%s", tool.name, c->name, c->synopsis,
	       toupper(c->summary[0]), c->summary + 1, *c->help ? "\n" : "", c->help);
	return EXIT_OK;
}

int usage(void)
{
	fprintf(stderr, "usage: %s %s %s\n", tool.name, command_current->name,
		command_current->synopsis);
	return EXIT_USAGE;
}
