/* SPDX-License-Identifier: GPL-2.0-only */
/* A program's commands: which there are, and what they say of themselves. */
#ifndef COMMON_COMMAND_H
#define COMMON_COMMAND_H

#include <stdbool.h>

enum {
	EXIT_OK,
	EXIT_FAILED,		/* refused or failed; of a check: something was found */
	EXIT_USAGE,		/* wrong command line; of a check: it could not run */
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	bool needs_module;	/* it is loaded first */
	const char *synopsis;	/* after the name */
	const char *summary;	/* a lower case letter first, no stop */
	const char *help;	/* options, a line each; may be "" */
};

/* What the program says of itself. */
struct tool {
	const char *name;
	const char *about;	/* a line */
	const char *notes;	/* below the commands */
	const struct command *commands;		/* ends with a NULL name */
};

extern const struct tool tool;
/* The one that runs. */
extern const struct command *command_current;

/* NULL: there is none of that name */
const struct command *command_find(const char *name);
/* Both return EXIT_OK. */
int tool_help(void);
int command_help(void);
/* Says how the current command is called; returns EXIT_USAGE. */
int usage(void);

#endif
