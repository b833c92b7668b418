// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmt: what the tests ask of dmsetup a thousand times, in a static program.
 *
 * Starting one with shared libraries takes 0.4 s on the debug kernel of an
 * emulated machine, which would be most of the tests' time.  Command lines are
 * dmsetup's, and whatever is not known here is handed to dmsetup itself.
 * hybrid_basic.sh and the documentation's examples use the real one throughout.
 *
 * In bash (vm/builtins.c) the status is DMT_UNKNOWN then.
 *
 *   dmt field NAME KEY   one field of the status line of a hybrid target, see
 *			  hybrid_field()
 *   dmt events NAME	  how many it has raised
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm.h"

static char line[DM_LINE_ROOM];

static bool is(const char *word, const char *what)
{
	return word && !strcmp(word, what);
}

static int fail(const char *name)
{
	fprintf(stderr, "dmt: %s: %s\n", name, strerror(errno));
	return 1;
}

static void node_path(char *path, size_t len, const char *name)
{
	snprintf(path, len, "/dev/mapper/%s", name);
}

static int create(const char *name, const char *table)
{
	char node[32], path[256];
	struct stat st;

	if (dm_make(name, table, node, sizeof(node)))
		return fail(name);
	node_path(path, sizeof(path), name);
	unlink(path);
	if (stat(node, &st) || mknod(path, S_IFBLK | 0600, st.st_rdev))
		return fail(path);
	return 0;
}

static int remove_device(const char *name, bool retry)
{
	char path[256];

	if (dm_unmake(name, retry))
		return fail(name);
	node_path(path, sizeof(path), name);
	unlink(path);
	return 0;
}

static int print(const char *name, uint32_t flags)
{
	if (dm_line(name, flags, line, sizeof(line)))
		return fail(name);
	puts(line);
	return 0;
}

static int message(char **words)
{
	static char answer[DM_LINE_ROOM];

	*line = 0;
	for (char **w = words + 2; *w; w++) {
		if (w != words + 2)
			strcat(line, " ");
		if (strlen(line) + strlen(*w) + 2 > sizeof(line))
			return 1;
		strcat(line, *w);
	}
	if (dm_ask(words[0], line, answer, sizeof(answer)))
		return fail(words[0]);
	fputs(answer, stdout);
	if (*answer && answer[strlen(answer) - 1] != '\n')
		puts("");
	return 0;
}

static int print_field(const char *name, const char *key)
{
	char value[64];

	if (dm_line(name, 0, line, sizeof(line)))
		return fail(name);
	if (hybrid_field(line, key, value, sizeof(value)))
		snprintf(value, sizeof(value), "no %s", key);
	puts(value);
	return 0;
}

#ifdef BUILTIN
static int unknown(char **argv)
{
	(void)argv;
	return DMT_UNKNOWN;
}
#else
static int unknown(char **argv)
{
	execvp("dmsetup", argv);
	return fail("dmsetup");
}
#endif

static int print_events(const char *name)
{
	long nr = dm_events(name);

	if (nr < 0)
		return fail(name);
	printf("%ld\n", nr);
	return 0;
}

int main(int argc, char **argv)
{
	char **a = argv + 1;
	bool last = argc == 3;

	if (argc > 4 && is(a[0], "message") && is(a[1], "--")) {
		a++;
		argc--;
		a[0] = "message";
	}
	if (argc == 5 && is(a[2], "--table")) {
		if (is(a[0], "create"))
			return create(a[1], a[3]);
		if (is(a[0], "load"))
			return dm_load(a[1], a[3]) ? fail(a[1]) : 0;
	}
	if (argc > 1 && is(a[0], "remove") && (last || (argc == 4 && is(a[1], "--retry"))))
		return remove_device(a[argc - 2], !last);
	if (argc == 4 && is(a[0], "suspend") && is(a[1], "--noflush"))
		return dm_suspend(a[2], DM_NOFLUSH_FLAG) ? fail(a[2]) : 0;
	if (argc == 4 && is(a[0], "field"))
		return print_field(a[1], a[2]);
	if (argc > 4 && is(a[0], "message") && is(a[2], "0") && *a[1] != '-')
		return message(a + 1);
	if (last && *a[1] != '-') {
		if (is(a[0], "suspend"))
			return dm_suspend(a[1], 0) ? fail(a[1]) : 0;
		if (is(a[0], "resume"))
			return dm_resume(a[1]) ? fail(a[1]) : 0;
		if (is(a[0], "clear"))
			return dm_clear(a[1]) ? fail(a[1]) : 0;
		if (is(a[0], "events"))
			return print_events(a[1]);
		if (is(a[0], "table"))
			return print(a[1], DM_STATUS_TABLE_FLAG);
		if (is(a[0], "status"))
			return print(a[1], 0);
	}
	return unknown(argv);
}
