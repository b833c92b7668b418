// SPDX-License-Identifier: GPL-2.0-only
/* scmfsctl: what a mounted scmfs is doing. */
#include <stdlib.h>

#include "scmfsctl.h"

struct configfs configfs = {
	.tool = "scmfsctl",
};

static int cmd_usage(int argc, char **argv)
{
	static const struct view view = { usage_look, usage_print };

	return view_run(argc, argv, &view);
}

static int cmd_windows(int argc, char **argv)
{
	static const struct view view = { windows_look, windows_print };

	return view_run(argc, argv, &view);
}

static int cmd_wear(int argc, char **argv)
{
	static const struct view view = { wear_look, wear_print };

	return view_run(argc, argv, &view);
}

static int cmd_frag(int argc, char **argv)
{
	static const struct view view = { frag_look, frag_print };

	return view_run(argc, argv, &view);
}

static int cmd_gc(int argc, char **argv)
{
	static const struct view view = { gc_look, gc_print };

	return gc_take(&argc, argv) ? view_run(argc, argv, &view) : usage();
}

#define OPTIONS	"[--json] [--watch SECONDS [--count N]]"
#define ABOUT_OPTIONS \
	"  --json           as JSON; with --watch each time on a line of its own\n" \
	"  --watch SECONDS  again and again, with so long in between\n" \
	"  --count N        so often, after which it ends\n"

static const struct command commands[] = {
	{ "usage", cmd_usage, false, "PATH " OPTIONS, "how full it is, and of what",
	  "PATH is the mount point, or anything below; of a file it tells what that takes, too.\n"
	  "Room ahead, and what is mapped, is for root only.\n"
	  "\n" ABOUT_OPTIONS },
	{ "windows", cmd_windows, false, "PATH " OPTIONS, "what is mapped in the kernel",
	  "Of files in many pieces, for their readers, and of nvmalloc().  For root only.\n"
	  "\n" ABOUT_OPTIONS },
	{ "wear", cmd_wear, false, "PATH " OPTIONS,
	  "how often the blocks of each 2 MiB were allocated",
	  "For root only.\n"
	  "\n" ABOUT_OPTIONS },
	{ "frag", cmd_frag, false, "PATH " OPTIONS, "in how many pieces free memory is, or a file",
	  "Of a directory: the file system's free memory, for root only.  Of a file: where it lies.\n"
	  "\n" ABOUT_OPTIONS },
	{ "gc", cmd_gc, false,
	  "PATH [--on | --off] [--start | --stop | --run] [--low PERCENT] [--high PERCENT]\n"
	  "       [--whole PERCENT] [--cold SECONDS] " OPTIONS,
	  "garbage collection: what it did, and what it is to do",
	  "For root only.\n"
	  "\n"
	  "  --on, --off      by itself, when a threshold asks for it\n"
	  "  --start          once, until there is nothing left to do; whatever the thresholds say\n"
	  "  --stop           what was started\n"
	  "  --run            --start, and wait until it has ended\n"
	  "  --low PERCENT    with so little free room ahead is given back, of cold files first\n"
	  "  --high PERCENT   until so much is free\n"
	  "  --whole PERCENT  of what is free should be in whole units of 2 MiB\n"
	  "  --cold SECONDS   not modified for so long, a file is cold\n"
	  ABOUT_OPTIONS },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

const struct tool tool = {
	.name = "scmfsctl",
	.about = "What a mounted scmfs is doing.",
	.notes = "Nothing is changed, but by gc.\n"
		 "Exit status: 0 done, 1 refused or failed, 2 wrong command line.",
	.commands = commands,
};

/* What is missing in JSON would be taken for what isn't there. */
static void *json_memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	return p;
}

int main(int argc, char **argv)
{
	json_set_alloc_funcs(json_memory, free);
	return devices_main(argc, argv);
}
