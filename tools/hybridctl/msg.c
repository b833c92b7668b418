// SPDX-License-Identifier: GPL-2.0-only
/* Messages, and memory that is there or ends the program. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"

const char *msg_command;
int no_memory_status = EXIT_FAILED;

static void say(const char *kind, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "hybridctl: ");
	if (msg_command)
		fprintf(stderr, "%s: ", msg_command);
	fputs(kind, stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try 'hybridctl %s%s--help'.\n", msg_command ? msg_command : "",
		msg_command ? " " : "");
	return EXIT_USAGE;
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void no_memory(void)
{
	fail("out of memory");
	exit(no_memory_status);
}

static void *must(void *p)
{
	if (!p)
		no_memory();
	return p;
}

void *xcalloc(unsigned long nr, unsigned long size)
{
	return must(calloc(nr ? nr : 1, size ? size : 1));
}

void *xrealloc(void *old, unsigned long size)
{
	return must(realloc(old, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return must(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return must(n < 0 ? NULL : s);
}
